"""How far work is from the goal and from the work before it, and whether a change departs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import log1p
from typing import Any

import pytest

from kedge.drift.evidence.distance import (
    Distance,
    Odds,
    find_key,
    find_relevance,
    is_companion,
    measure,
)
from kedge.drift.evidence.memory import SessionMemory, WorkStep

WORDS = [f"{a}{b}{c}" for a in "bcdfg" for b in "aeiou" for c in "lmnpr"]
FAR = ("far/x.py",)


def pairs(count: int) -> dict[str, None]:
    return dict.fromkeys(f"{one} {other}" for one in WORDS for other in WORDS[:count])


def make_memory(**more: Any) -> SessionMemory:
    """A session with 40 words and 20 pairs in its goal, after six changes."""
    steps = tuple(
        WorkStep(words=tuple(WORDS[60 + n : 70 + n]), files=(f"far/{n}.py",)) for n in range(3)
    )
    given_ = {
        "words": dict.fromkeys(WORDS[:40]),
        "pairs": dict.fromkeys(list(pairs(1))[:20]),
        "known": dict.fromkeys(WORDS[40:60]),
        "files": {"src/a.py": None},
        "window": steps,
        "modified": 6,
    }
    return SessionMemory(**{**given_, **more})


def step(memory: SessionMemory, **more: Any) -> SessionMemory:
    """The memory with another last step of its window."""
    return memory._replace(window=(*memory.window[:-1], memory.window[-1]._replace(**more)))


def name(count: int) -> list[str]:
    return [f"name{n}" for n in range(count)]


class Chart:
    """A map of a few files, with the relevance of each and its neighbours."""

    lacks: tuple[str, ...] = ()

    def __init__(
        self,
        relevance: Mapping[str, float] | None = None,
        near: Mapping[str, Collection[str]] | None = None,
        leaders: Collection[str] = (),
        terms: Mapping[str, float] | None = None,
    ) -> None:
        self.terms = terms or {}
        self.known = relevance or {}
        self.neighbours = near or {}
        self.leaders = leaders

    def expect(self, goal: str) -> None:
        pass

    def has_path(self, path: str) -> bool:
        return True

    def near(self, path: str) -> Collection[str]:
        return self.neighbours.get(path, ())

    def relevance(self, path: str) -> float | None:
        return self.known.get(path)


def find_goal(memory: SessionMemory, names: int = 0) -> Odds:
    found = measure(memory, name(names), FAR).goal
    assert found is not None
    return found


def find_work(memory: SessionMemory, names: int = 0, code_map: Chart | None = None) -> Odds:
    found = measure(memory, name(names), FAR, code_map).work
    assert found is not None
    return found


# The sums


def test_odds_are_the_sum_of_the_terms_that_they_show() -> None:
    for odds in (find_goal(make_memory()), find_work(make_memory())):
        assert odds.total == pytest.approx(sum(value for _, value in odds.terms))
    assert [term for term, _ in find_goal(make_memory()).terms] == [
        "size of the request", "changes so far", "its words met", "files named like it",
        "files expected for it",
    ]  # fmt: skip
    assert [term for term, _ in find_work(make_memory()).terms] == [
        "size of the request", "words new to the session", "files near the work",
        "words of the request", "files expected for it",
    ]  # fmt: skip
    assert str(Odds(1.25, (("a", 2.0), ("b", -0.75)))) == "a +2.0, b -0.8 = 1.2"


def test_the_size_of_the_request_raises_the_odds() -> None:
    def size(names: int = 0, **more: Any) -> float:
        return dict(find_goal(make_memory(**more), names).terms)["size of the request"]

    assert size() == pytest.approx(1.25 * log1p(20) + 2.25 * log1p(40) - 7.25)
    assert size(5) - size() == pytest.approx(1.75 * log1p(5))
    assert size(20) == size(40)
    assert size(pairs=dict.fromkeys(list(pairs(5))[:120])) == size(pairs=pairs(9))
    assert size(pairs=dict.fromkeys(list(pairs(5))[:119])) < size(pairs=pairs(9))
    # below about twenty words the request is short, and how short it is does not count here
    few, fewer = (size(words=dict.fromkeys(WORDS[:count])) for count in (10, 5))
    assert few == fewer == pytest.approx(1.25 * log1p(20) + 2.25 * 3 - 7.25)


def test_files_whose_names_are_words_of_the_request_lower_the_odds() -> None:
    def measure_titles(count: int) -> float:
        return find_goal(make_memory(titles=dict.fromkeys(WORDS[:count]))).total

    assert measure_titles(0) - measure_titles(3) == pytest.approx(1.5 * log1p(3))


def test_terms_of_a_short_request_count_by_how_rare_they_are() -> None:
    chart = Chart(terms={"clock": 6.0, "skew": 3.0, "add": 1.0})

    def find_share(count: int, *reached: str, code_map: Chart = chart) -> float | None:
        made = make_memory(words=dict.fromkeys(WORDS[:count]), reached_terms=dict.fromkeys(reached))
        goal = measure(made, (), FAR, code_map).goal
        assert goal is not None
        assert goal.total == pytest.approx(sum(value for _, value in goal.terms))
        return dict(goal.terms).get("share of its terms met")

    short = 3 - log1p(5)
    assert find_share(5) == pytest.approx(4 * short * 0.11)
    assert find_share(5, "clock", "add", "other") == pytest.approx(4 * short * (0.11 - 0.7))
    assert find_share(5, "skew") == pytest.approx(4 * short * (0.11 - 0.3))
    assert find_share(2, "skew") == pytest.approx(4 * (3 - log1p(2)) * (0.11 - 0.3))
    assert find_share(40, "clock") is None, "a long request has better evidence"
    assert find_share(5, "clock", code_map=Chart()) is None, "nothing is known of the terms"


def test_each_change_raises_the_odds() -> None:
    assert find_goal(make_memory(modified=9)).total - find_goal(
        make_memory(modified=4)
    ).total == pytest.approx(0.75 * (log1p(9) - log1p(4)))


def test_words_of_the_request_that_the_work_meets_lower_the_odds() -> None:
    def gain(**more: Any) -> float:
        return find_goal(make_memory()).total - find_goal(make_memory(**more)).total

    reached = dict.fromkeys(WORDS[:10])
    assert gain(reached_words=reached) == pytest.approx(2.25 * log1p(10))
    assert gain(reached_pairs=dict.fromkeys("abc")) == pytest.approx(1.5 * log1p(3))
    assert gain(reached_names=dict.fromkeys("abc")) == pytest.approx(2.25 * log1p(3))
    assert gain(reached_words=reached, placed=reached) == 0.0, "words of paths prove little"


def test_words_in_paths_are_the_best_sign_for_a_short_request() -> None:
    def total(count: int, placed: int) -> float:
        found = dict.fromkeys(WORDS[:placed])
        memory = make_memory(words=dict.fromkeys(WORDS[:count]))
        return find_goal(memory._replace(reached_words=found, placed=found)).total

    assert total(5, 0) - total(5, 2) == pytest.approx(2.0 * (3 - log1p(5)) * log1p(2))
    assert total(40, 0) == total(40, 2)


@pytest.mark.parametrize(
    ("relevance", "surprise"), [(0.5, -2.5), (0.0, 0.0), (-0.1, 0.5), (-0.5, 2.5)]
)
def test_files_that_the_map_expects_lower_the_odds(relevance: float, surprise: float) -> None:
    def term(count: int, expected: float | None) -> float:
        memory = make_memory(words=dict.fromkeys(WORDS[:count]), expected=expected)
        return dict(find_goal(memory).terms)["files expected for it"]

    assert term(40, relevance) == pytest.approx(0.5 * surprise)
    short = 3 - log1p(5)
    assert term(5, relevance) == pytest.approx((0.5 + 0.35 * short) * surprise), "counts more"
    assert term(40, None) == term(5, None) == -1.5


@pytest.mark.parametrize(("relevance", "surprise"), [(1.2, -5.0), (-0.7, 3.0)])
def test_the_log_odds_of_a_ranking_are_bounded(relevance: float, surprise: float) -> None:
    odds = find_goal(make_memory(expected=relevance))
    assert dict(odds.terms)["files expected for it"] == pytest.approx(0.5 * surprise)


def test_the_terms_of_the_distance_from_the_work() -> None:
    def term(title: str, names: int = 0, **more: Any) -> float:
        return dict(find_work(make_memory(**more), names).terms)[title]

    size = "size of the request"
    assert term(size) == pytest.approx(0.5 * log1p(20) + 0.25)
    assert term(size, 5) - term(size) == pytest.approx(log1p(5))
    assert term(size, 20) == term(size, 40)
    new = "words new to the session"
    assert term(new) == pytest.approx(2.0 * 12 / 13)
    assert term(new, known=dict.fromkeys(WORDS)) == 0.0
    assert term(new, words=dict.fromkeys(WORDS)) == 0.0
    near = "files near the work"
    assert term(near) == 0.0
    assert term(near, files={"src/1.py": None}) == pytest.approx(-1 / 3), "the same name"
    assert term(near, files={"far/x.py": None}) == pytest.approx(-1.0), "the same folder"
    assert term(near, files={"far/1.py": None}) == pytest.approx(-4 / 3)
    met = "words of the request"
    assert term(met) == 0.0
    assert term(met, words=dict.fromkeys(WORDS[60:70])) == pytest.approx(-0.75 * log1p(10))


def test_work_that_mentions_pairs_and_names_of_the_goal_is_nearer() -> None:
    def work(**more: Any) -> float:
        window = tuple(each._replace(**more) for each in make_memory().window)
        return find_work(make_memory(window=window)).total

    mentioned = ("one", "two", "three")
    assert work() - work(pairs=mentioned) == pytest.approx(0.5 * log1p(3))
    assert work() - work(names=mentioned) == pytest.approx(0.75 * log1p(3))


def test_neighbours_on_the_map_are_near_the_work() -> None:
    chart = Chart(near={"far/1.py": ["src/a.py"]})
    odds = find_work(make_memory(), code_map=chart)
    assert dict(odds.terms)["files near the work"] == pytest.approx(-1 / 3)


def test_the_most_relevant_of_the_last_changes_counts() -> None:
    def term(*relevance: float | None) -> float:
        steps = zip(make_memory().window, relevance, strict=True)
        window = tuple(each._replace(relevance=value) for each, value in steps)
        return dict(find_work(make_memory(window=window)).terms)["files expected for it"]

    assert term(None, None, None) == -1.25
    assert term(-0.2, 0.4, None) == pytest.approx(0.5 * -2.0)
    assert term(-0.2, -0.4, None) == pytest.approx(0.5 * 1.0)


@pytest.mark.parametrize(("place", "counts"), [(0, False), (99, False), (100, True)])
def test_a_word_in_one_of_the_first_hundred_paths_is_not_mentioned(
    place: int, counts: bool
) -> None:
    def work(paths: list[str]) -> Odds | None:
        quiet = WorkStep(words=("quay",))
        window = (WorkStep(words=("lamp",), files=tuple(paths)), quiet, quiet)
        return measure(make_memory(words={"lamp": None}, window=window), (), FAR).work

    paths = [f"far/{n}.py" for n in range(101)]
    elsewhere = work(paths)
    paths[place] = "far/lamp.py"
    assert (work(paths) == elsewhere) == counts


def test_what_cannot_be_measured() -> None:
    def measured(*names: str, files: tuple[str, ...] = FAR, **more: Any) -> tuple[bool, bool]:
        found = measure(make_memory(**more), names, files)
        return found.goal is not None, found.work is not None

    few: dict[str, Any] = {"pairs": {"a b": None}, "words": {}}
    assert measured() == (True, True)
    assert measured(pairs={"a b": None}) == (False, False)
    assert measured(pairs=dict.fromkeys(["a b", "b c"])) == (True, True)
    assert measured(pairs={"a b": None}, expected=0.1) == (True, True), "the map can tell"
    assert measured(**few, expected=0.1) == (False, False)
    assert measured("one", **few, expected=0.1) == (False, False)
    assert measured("one", "two", **few, expected=0.1) == (True, True)
    assert measured(modified=1) == (False, False)
    assert measured(modified=2) == (True, False)
    assert measured(modified=4) == (True, False)
    assert measured(modified=5) == (True, True)
    assert measured(modified=6, turned_at=1) == (True, True)
    assert measured(modified=6, turned_at=2) == (True, False)
    assert measured(elsewhere=True) == (True, False)
    assert measured(window=()) == (True, False)
    assert measured(window=make_memory().window[:1]) == (True, False)
    assert measured(files=("README.md",)) == (True, False)
    assert measured(files=("README.md", "far/x.py")) == (True, True)


# Departures


CHART = Chart({"far/2.py": -0.1}, leaders=("src/leader.py",))


def make_departure(**more: Any) -> SessionMemory:
    """Work on the request, and one change that has nothing in common with it."""
    given_ = {"on_course": {"src/a.py": None}, "reached_words": {WORDS[0]: None}, "expected": 0.3}
    return step(make_memory(**{**given_, **more}), relevance=0.05)


def departs(
    memory: SessionMemory, chart: Chart | None = CHART, files: tuple[str, ...] = ("far/2.py",)
) -> bool:
    return measure(memory, (), files, chart).departs


def test_a_change_without_anything_in_common_departs() -> None:
    assert departs(make_departure())
    assert departs(make_departure(), files=("far/2.py", "README.md"))


def test_a_departure_needs_work_on_the_request_before_it() -> None:
    assert not departs(make_departure(on_course={}))
    assert not departs(make_departure(reached_words={}))
    assert not departs(make_departure(expected=0.29))
    assert not departs(make_departure(expected=None))


def test_a_goal_of_one_word_is_departed_from() -> None:
    assert departs(make_departure(pairs={}, words={WORDS[0]: None}))


def test_only_a_map_can_tell_a_departure() -> None:
    assert not departs(make_departure(), None)
    assert not departs(step(make_departure(), relevance=None))


@pytest.mark.parametrize(
    ("path", "alone"),
    [
        ("far/2.ts", True), ("far/2.css", True), ("far/2.html", True), ("far/2.vue", True),
        ("README.md", False), ("far/2.md", False), ("docs/2.rst", False), ("far/2.json", False),
        (".github/2.yml", False), ("far/2.stderr", False), ("far/2", False),
    ],
)  # fmt: skip
def test_documents_and_data_depart_only_after_another_departure(path: str, alone: bool) -> None:
    assert departs(make_departure(), files=(path,)) is alone
    assert departs(make_departure(run=1), files=(path,))
    assert not departs(make_departure(run=1, on_course={path: None}), files=(path,))


def test_a_file_of_unknown_relevance_departs_only_after_another_departure() -> None:
    assert not departs(step(make_departure(), relevance=None))
    assert departs(step(make_departure(run=1), relevance=None))
    assert not departs(step(make_departure(run=1), relevance=None, names=("Quay",)))


def test_code_in_a_top_folder_that_the_session_creates_departs_at_once() -> None:
    memory = step(make_departure(made={"charts": None}), relevance=None)
    assert departs(memory, files=("charts/bars/Bar.tsx",))
    for path in ("charts/NOTES.md", "charts/test_bar.py", "far/2.py", "bar.py"):
        assert not departs(memory, files=(path,)), path
    assert not departs(memory, files=("charts/Bar.tsx", "far/2.py"))
    assert not departs(step(memory, words=(WORDS[39],)), files=("charts/Bar.tsx",))


def test_a_name_that_a_language_prescribes_is_no_relation() -> None:
    chart = Chart(near={"far/2.ts": ["lib/index.ts"]}, leaders=("web/index.ts",))
    assert departs(make_departure(), chart, ("far/2.ts",))
    assert departs(make_departure(on_course={"src/index.ts": None}), chart, ("far/index.ts",))
    assert not departs(make_departure(on_course={"lib/index.ts": None}), chart, ("far/2.ts",))
    assert not departs(make_departure(), chart, ("web/index.test.ts",))


def test_only_the_nearest_neighbours_relate_a_change_to_the_work() -> None:
    others = [f"lib/{n}.py" for n in range(20)]
    for place, related in ((11, True), (12, False)):
        near = [*others[:place], "src/a.py", *others[place:]]
        assert departs(make_departure(), Chart(near={"far/2.py": near})) is not related


@pytest.mark.parametrize(
    "shared",
    [
        {"relevance": 0.06},
        {"pairs": ("quay wall",)},
        {"names": ("Quay",)},
        {"words": (WORDS[99], WORDS[39])},
    ],
    ids=lambda shared: next(iter(shared)),
)
def test_a_change_that_shares_something_with_the_request_does_not_depart(
    shared: dict[str, Any],
) -> None:
    assert not departs(step(make_departure(), **shared))
    assert departs(step(make_departure(), words=(WORDS[99], WORDS[40])))


@pytest.mark.parametrize(
    "path", ["src/other.py", "test/test_a.py", "lib/leader.py", "near_work.py", "near_leader.py"]
)
def test_a_file_beside_the_work_or_near_the_first_files_does_not_depart(path: str) -> None:
    near = {"near_work.py": ["src/a.py"], "near_leader.py": ["src/leader.py"]}
    chart = Chart(near=near, leaders=("src/leader.py",))
    assert not departs(make_departure(), chart, (path,))
    assert not departs(make_departure(), chart, ("far/2.py", path))
    assert departs(make_departure(), chart, ("far/2.py", "other/2.py"))


# Relevance, names, kinds of files


def test_the_relevance_of_several_files_is_that_of_the_most_relevant() -> None:
    known = {"a.py": -0.2, "b.py": 0.3, "go.mod": 0.9, "README.md": 0.5, "docs/conf.py": 0.8}
    chart = Chart(known)
    assert find_relevance(["a.py", "b.py", "c.py"], chart) == 0.3
    assert find_relevance(["a.py"], chart) == -0.2
    assert find_relevance(["c.py"], chart) is None
    assert find_relevance([], chart) is None
    assert find_relevance(["b.py"], None) is None
    assert find_relevance(["go.mod", "docs/conf.py"], chart) is None, "they go with any change"
    assert find_relevance(["a.py", "README.md"], chart) == 0.5, "the map ranks documents"


def test_a_change_of_a_named_file_is_not_measured() -> None:
    memory = make_departure()
    assert measure(memory, ("far/2.py",), ("far/2.py",), CHART) == Distance(named=True)


@pytest.mark.parametrize(
    ("named", "path", "near"),
    [
        ("src/port.py", "src/port.py", True),
        ("src/port.py", "tests/test_port.py", True),
        ("src/port.py", "src/quay.py", False),
        ("port.py", "lib/port.rb", True),
        ("src/harbour/", "src/harbour/quay.py", True),
        ("src/harbour/", "src/quay.py", False),
        ("portName", "portName", False),
        ("v1.2", "v1.2", False),
        ("v1.2b", "v1.2b", False),
        ("main.c", "src/main.c", True),
        ("port.schema", "lib/port.schema", True),
        ("port.harbour", "lib/port.harbour", False),
    ],
)
def test_files_that_the_user_named(named: str, path: str, near: bool) -> None:
    found = measure(make_memory(), (named,), (path,))
    assert found.named is near
    assert (found.goal is None) is near


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("src/port.py", "port"), ("tests/test_port.py", "port"), ("port.test.ts", "port"),
        ("src/PortTest.java", "port"), ("port_spec.rb", "port"), (".port.yml", "port"),
        ("tests/test_.py", "test_"), ("Test.java", "test"),
    ],
)  # fmt: skip
def test_a_file_and_its_test_have_the_same_key(path: str, key: str) -> None:
    assert find_key(path) == key


@pytest.mark.parametrize(
    ("path", "companion"),
    [
        ("README.md", True), ("a/b.rst", True), ("yarn.lock", True), ("go.sum", True),
        ("package.json", True), ("pyproject.toml", True), ("package-lock.json", True),
        ("pnpm-lock.yaml", True), ("docs/conf.py", True), ("changelog.d/1.txt", True),
        ("src/a.py", False), ("src/locker.py", False), ("data.json", False), ("mydocs/a.py", False),
    ],
)  # fmt: skip
def test_files_that_change_along_with_others(path: str, companion: bool) -> None:
    assert is_companion(path) is companion
