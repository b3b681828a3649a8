"""The map in hooks, as it was stored for a session, and in past sessions, ranked at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from drift.mapped import FILES, GOAL, fill
from drift.recorded import FIRST, OTHER, Recorded
from support import git

from kedge.drift import expected_scope
from kedge.drift.code_map import MapSource, StoredMap
from kedge.drift.engine import Session
from kedge.drift.evidence.distance import measure
from kedge.host import project
from kedge.repomap.neighbours import Neighbours
from kedge.store import sessions
from kedge.text.words import weigh_terms

GOALS = (GOAL, "Draw the axis of the pie charts", "Rename `BarChart` in src/app.py")
PATHS = (*FILES, "src/auth/new.py", "src/charts/svg/new.py", "other/new.py", "new.py")


@pytest.fixture
def recorded(repo: Path) -> Iterator[Recorded]:
    with closing(Recorded(fill(repo))) as made:
        made.session(FIRST)
        yield made


@pytest.fixture
def source(recorded: Recorded) -> Iterator[MapSource]:
    with closing(MapSource(project.find(recorded.repo))) as made:
        yield made


def open_stored(recorded: Recorded, session: str = FIRST) -> StoredMap:
    return StoredMap(recorded.db, Neighbours(recorded.db, str(recorded.repo)), session)


def test_the_same_goals_give_the_same_answers_in_hooks_and_for_past_sessions(
    recorded: Recorded, source: MapSource
) -> None:
    past = source.open_session()
    for goal in GOALS:
        past.expect(goal)
        sessions.change(recorded.db, FIRST, goal=goal)
        expected_scope.save(project.find(recorded.repo), FIRST)
        stored = open_stored(recorded)
        assert stored.leaders == past.leaders
        assert stored.lacks == past.lacks == ()
        assert stored.terms == past.terms
        assert set(weigh_terms(goal)) <= set(past.terms)
        for path in PATHS:
            assert stored.relevance(path) == past.relevance(path), path
            assert dict.fromkeys(stored.near(path)) == dict.fromkeys(past.near(path)), path
    assert past.relevance("src/auth/new.py") is not None
    assert past.relevance("other/new.py") is None
    assert list(past.near("src/charts/pie.py")) == ["src/charts/bar.py"]


def test_common_words_of_a_short_request_are_met(source: MapSource) -> None:
    """Words such as "update" say nothing in general, but this request consists of them."""

    def play(text: str) -> float:
        session = Session(code_map=source.open_session())
        session.prompt("Update the list of the tide tables in two steps")
        for number in range(2):
            given = {"file_path": f"src/charts/{number}.py", "content": text}
            session.action(f"a{number}", "Write", given)
        found = measure(session.memory, (), ("src/charts/1.py",), session.code_map).goal
        assert found is not None
        return dict(found.terms)["share of its terms met"]

    assert play("def update_list(steps): ...\n") < 0 < play("def other(): ...\n")


def test_a_stored_map_ranks_nothing(recorded: Recorded, source: MapSource) -> None:
    stored = open_stored(recorded)
    stored.expect(GOAL)
    assert stored.leaders == []
    assert stored.terms == {}
    assert stored.relevance("src/auth/token.py") is None
    assert list(stored.near("src/charts/pie.py")) == ["src/charts/bar.py"]


def test_each_session_has_files_of_its_own(recorded: Recorded, source: MapSource) -> None:
    one, other = source.open_session(), source.open_session()
    one.expect(GOAL)
    assert one.leaders
    assert other.leaders == []
    assert other.relevance("src/auth/token.py") is None
    sessions.change(recorded.db, FIRST, goal=GOAL)
    expected_scope.save(project.find(recorded.repo), FIRST)
    assert open_stored(recorded, OTHER).leaders == []


def test_opening_a_map_makes_what_hooks_need(recorded: Recorded) -> None:
    assert open_stored(recorded).lacks == ("map",)
    assert not open_stored(recorded).near("src/charts/pie.py")
    with closing(MapSource(project.find(recorded.repo))):
        assert open_stored(recorded).lacks == ()
        assert open_stored(recorded).near("src/charts/pie.py")


def test_a_map_of_an_earlier_commit_is_lacking(recorded: Recorded, source: MapSource) -> None:
    git(recorded.repo, "commit", "--quiet", "--allow-empty", "-m", "later")
    assert source.open_session().lacks == open_stored(recorded).lacks == ("map",)
    with closing(MapSource(project.find(recorded.repo))) as later:
        assert later.open_session().lacks == ()


# Departures


class Work:
    """A session on the repository, whose map is the one of a past session."""

    def __init__(self, root: Path, source: MapSource | None) -> None:
        self.root = root
        code_map = source.open_session() if source is not None else None
        self.session = Session(str(root), code_map=code_map)
        self.session.prompt(GOAL)

    def edit(self, path: str, text: str) -> int:
        given = {"file_path": str(self.root / path), "old_string": "", "new_string": text}
        verdict = self.session.action(f"e{self.session.memory.modified}", "Edit", given)
        self.rules = [(rule.rule, rule.evidence) for rule in verdict.rules]
        return verdict.score


ON_GOAL = ("src/auth/token.py", "if claim['exp'] < now(): raise Expired\n")
BACK = ("src/auth/claims.py", "def has_passed(exp): return exp < now()\n")
AWAY = (
    ("src/charts/pie.py", "radius = 12\n"),
    ("src/charts/svg/path.py", "sweep = 360\n"),
    ("src/charts/svg/new.py", "stroke = 'navy'\n"),
)


@pytest.fixture
def work(recorded: Recorded, source: MapSource) -> Work:
    return Work(recorded.repo, source)


def test_a_departure_is_a_nudge_and_the_next_a_correction_until_the_work_is_back(
    work: Work,
) -> None:
    assert work.edit(*ON_GOAL) == 10
    assert work.edit(*AWAY[0]) == 7
    shares = "src/charts/pie.py: shares no file, folder or word with the request or the work on it"
    assert work.rules == [("topic", shares)]
    assert work.edit(*AWAY[1]) == 6
    assert work.edit(*AWAY[2]) == 6
    assert work.edit(*BACK) == 10
    assert work.session.memory.run == 0
    assert work.edit(*AWAY[1]) == 7
    assert [each.level for each in work.session.deliver()] == ["nudge", "correct", "correct"]


def test_departures_with_work_between_them_are_not_in_a_row(work: Work) -> None:
    scores = [work.edit(*each) for each in (ON_GOAL, AWAY[0], BACK, AWAY[1], ON_GOAL, AWAY[2])]
    assert scores == [10, 7, 10, 7, 10, 7]


def test_without_a_map_no_departure_is_seen(recorded: Recorded) -> None:
    work = Work(recorded.repo, None)
    work.edit(*ON_GOAL)
    assert work.edit(*AWAY[0]) == 10


def test_the_first_change_cannot_depart(work: Work) -> None:
    assert work.edit(*AWAY[0]) == 10


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/auth/new.py", "radius = 12\n"),  # a folder of expected files
        ("src/charts/pie.py", "verification = 12\n"),  # a word of the request
        ("src/charts/login.go", "radius = 12\n"),  # the name of an expected file
        ("README.md", "radius = 12\n"),  # goes with any change
        ("new.py", "radius = 12\n"),
    ],
)
def test_a_change_that_shares_one_thing_is_no_departure(work: Work, path: str, text: str) -> None:
    work.edit(*ON_GOAL)
    assert work.edit(path, text) == 10


def test_code_in_a_new_top_folder_is_a_departure(work: Work) -> None:
    work.edit(*ON_GOAL)
    assert work.edit("other/new.py", "radius = 12\n") == 7


def test_a_file_in_a_folder_of_the_work_is_no_departure(work: Work) -> None:
    work.edit(*ON_GOAL)
    assert work.edit("src/auth/rules/style.py", "radius = 12\n") == 7
    assert work.edit("src/auth/rules/nonce.py", "reject(token)\n") == 10
    assert work.edit("src/auth/rules/style.py", "radius = 13\n") == 10


def test_a_neighbour_of_the_work_is_no_departure(work: Work) -> None:
    """The application uses both subjects."""
    work.edit(*ON_GOAL)
    assert work.edit("src/app.py", "radius = 12\n") == 10
    assert work.edit("src/charts/bar.py", "radius = 12\n") == 10
    assert work.edit(*AWAY[1]) == 7


def test_a_new_goal_of_the_user_is_no_departure(work: Work) -> None:
    work.edit(*ON_GOAL)
    assert work.edit(*AWAY[0]) == 7
    work.session.prompt("Now draw the slices and the axis of the pie charts.")
    assert work.edit(*AWAY[0]) == 10
