"""The files that the map expects for a session's goals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from drift.mapped import GOAL, fill
from drift.recorded import FIRST, OTHER, Recorded
from hypothesis import given
from hypothesis import strategies as st
from support import git

from kedge.drift import expected_scope
from kedge.drift.expected_scope import ExpectedScope
from kedge.host import project
from kedge.repomap.build import open_ranker
from kedge.repomap.cache import Cache
from kedge.store import sessions

OTHER_GOAL = "Draw the axis of the pie charts"
KNOWN = {
    "src/a.py": 0.9,
    "src/a.pyx": 0.7,
    "src/b.py": 0.5,
    "lib/src/a.py": 0.3,
    "src/deep/c.py": -0.1,
    "setup.py": -0.2,
    "src/c.py": -0.5,
}
SCOPE = ExpectedScope().merge(KNOWN)


@pytest.mark.parametrize("path", KNOWN)
def test_the_relevance_of_a_known_file(path: str) -> None:
    """Wherever it stands: on the first line, on the last, beside one that begins the same."""
    assert SCOPE.relevance(path) == KNOWN[path]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_first_and_the_last_line_are_found(count: int) -> None:
    some = dict(list(KNOWN.items())[:count])
    scope = ExpectedScope().merge(some)
    assert {path: scope.relevance(path) for path in some} == some


def test_a_new_file_has_the_average_of_its_directory_without_those_below() -> None:
    assert SCOPE.relevance("src/new.py") == pytest.approx((0.9 + 0.7 + 0.5 - 0.5) / 4)
    assert SCOPE.relevance("src/deep/new.py") == -0.1
    assert SCOPE.relevance("lib/src/new.py") == 0.3
    assert SCOPE.relevance("src/a") == SCOPE.relevance("src/new.py"), "no part of another name"
    assert SCOPE.relevance("src/a.p") == SCOPE.relevance("src/new.py")


def test_a_file_in_a_new_directory_has_the_average_below_the_next_known_one() -> None:
    assert SCOPE.relevance("lib/new.py") == 0.3
    assert SCOPE.relevance("src/deep/er/new.py") == -0.1
    assert SCOPE.relevance("src/new/er/new.py") == pytest.approx((0.9 + 0.7 + 0.5 - 0.1 - 0.5) / 5)


@pytest.mark.parametrize("path", ["new.py", "rc/new.py", "a.py", "sr/new.py", "rc/a.py", ""])
def test_nothing_is_known_of_other_directories_and_of_new_files_at_the_root(path: str) -> None:
    assert SCOPE.relevance(path) is None
    assert ExpectedScope().relevance(path) is None


def test_a_file_counts_as_what_it_is_to_the_goal_that_it_matters_more_to() -> None:
    scope = SCOPE.merge({"src/a.py": 0.1, "src/c.py": 0.4, "docs/new.md": 0.2})
    assert scope.relevance("src/a.py") == 0.9
    assert scope.relevance("src/c.py") == 0.4
    assert scope.relevance("docs/new.md") == 0.2
    assert scope.relevance("setup.py") == -0.2
    assert SCOPE.relevance("src/c.py") == -0.5, "the other scope stays as it is"


def test_the_leaders_are_the_ten_most_relevant_files() -> None:
    assert ExpectedScope().leaders == []
    assert SCOPE.leaders == list(KNOWN)[:4], "the others have nothing to do with the goals"
    assert ExpectedScope().merge({"a.py": 0.001, "b.py": 0.0}).leaders == ["a.py"]
    many = {f"src/{n:02}.py": n / 100 for n in range(30)}
    assert ExpectedScope().merge(many).leaders == [f"src/{n:02}.py" for n in range(29, 19, -1)]


def test_equal_files_are_in_the_order_of_their_paths() -> None:
    assert ExpectedScope().merge({"b.py": 0.1, "a.py": 0.1, "c.py": 0.1001}).leaders == [
        "a.py", "b.py", "c.py"
    ]  # fmt: skip


def test_the_least_relevant_files_of_a_large_repository_are_not_kept() -> None:
    many = {f"src/{n}.py": n / 1_000 for n in range(4_500)}
    scope = ExpectedScope().merge(many)
    assert len(scope.text.splitlines()) == 4_000
    assert scope.relevance("src/4499.py") == 4.499
    assert scope.relevance("src/500.py") == 0.5
    assert scope.relevance("src/499.py") == scope.relevance("src/new.py"), "as a new one"


PATHS = st.text("ab/.", min_size=1, max_size=6).filter(lambda path: not path.startswith("/"))
SCORES = st.integers(-500, 1_000).map(lambda number: number / 1_000)


@given(st.dictionaries(PATHS, SCORES, max_size=12), PATHS)
def test_relevance_is_what_a_table_would_give(known: dict[str, float], path: str) -> None:
    folder = path.rpartition("/")[0]
    beside = [each for other, each in known.items() if other.rpartition("/")[0] == folder]
    while folder and not beside:
        beside = [each for other, each in known.items() if other.startswith(f"{folder}/")]
        folder = folder.rpartition("/")[0]
    average = sum(beside) / len(beside) if path.rpartition("/")[0] and beside else None
    found = ExpectedScope().merge(known).relevance(path)
    assert found == pytest.approx(known.get(path, average))


# What is kept for a session


@pytest.fixture
def recorded(repo: Path) -> Iterator[Recorded]:
    with closing(Recorded(fill(repo))) as made:
        made.session(FIRST, goal=GOAL)
        yield made


def save(recorded: Recorded, session: str = FIRST) -> ExpectedScope:
    expected_scope.save(project.find(recorded.repo), session)
    return expected_scope.load(recorded.db, session)


def rank(recorded: Recorded, goal: str) -> ExpectedScope:
    found = project.find(recorded.repo)
    with closing(Cache(found.home())) as cache:
        return ExpectedScope().merge(open_ranker(found, cache).find_relevance(goal))


def test_the_files_are_ranked_for_the_goal_of_the_session(recorded: Recorded) -> None:
    assert expected_scope.load(recorded.db, FIRST).text == ""
    scope = save(recorded)
    assert scope.text == rank(recorded, GOAL).text
    assert set(scope.leaders[:2]) == {"src/auth/token.py", "src/auth/claims.py"}
    assert (scope.relevance("src/auth/token.py") or 0) > 0.5
    assert (scope.relevance("src/charts/pie.py") or 0) < 0
    assert expected_scope.load(recorded.db, OTHER).text == ""


def test_the_files_are_ranked_once_for_each_goal(recorded: Recorded) -> None:
    before = save(recorded).text
    (recorded.repo / "src/auth/verification.py").write_text("def reject(jwt, exp): pass\n")
    assert save(recorded).text == before
    sessions.change(recorded.db, FIRST, goal=f"{GOAL}, please")
    assert "src/auth/verification.py\t" in save(recorded).text


def test_the_files_of_the_next_goal_are_added(recorded: Recorded) -> None:
    first = save(recorded)
    sessions.change(recorded.db, FIRST, goal=OTHER_GOAL)
    both, second = save(recorded), rank(recorded, OTHER_GOAL)
    assert both.relevance("src/auth/token.py") == first.relevance("src/auth/token.py")
    assert both.relevance("src/charts/pie.py") == second.relevance("src/charts/pie.py")
    assert (first.relevance("src/charts/pie.py") or 0) < (both.relevance("src/charts/pie.py") or 0)


def test_nothing_is_kept_without_a_goal_or_a_session(recorded: Recorded) -> None:
    recorded.session(OTHER)
    for session in (OTHER, "nobody"):
        assert save(recorded, session).text == ""
    assert recorded.db.execute("SELECT COUNT(*) FROM session_scope").fetchone() == (0,)


def test_files_whose_names_break_lines_do_no_harm(recorded: Recorded) -> None:
    for name in ("src/auth/a\nb.py", "src/auth/a\tb.py", "src/auth/a\u2028b.py"):
        (recorded.repo / name).write_text("def reject(jwt): pass\n")
    git(recorded.repo, "add", "-A")
    scope = save(recorded)
    assert "src/auth/a" not in scope.text
    assert scope.relevance("src/auth/a\nb.py") == scope.relevance("src/auth/new.py")
    sessions.change(recorded.db, FIRST, goal=OTHER_GOAL)
    assert save(recorded).relevance("src/auth/token.py") == scope.relevance("src/auth/token.py")
