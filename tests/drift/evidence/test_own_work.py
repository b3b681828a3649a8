"""What counts as the session's own work: with a working tree to ask, and without."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.drift.engine import Session
from kedge.drift.evidence.memory import SessionMemory
from kedge.drift.evidence.own_work import has_changed, is_own, may_delete

GOAL = "Make the parser faster"
TEST = "def test_a():\n    assert parse() == 1\n"


class Tree(set[str]):
    """The paths that exist; a test adds what an action creates."""

    def has(self, path: str) -> bool:
        return any(each == path or each.startswith(f"{path}/") for each in self)


def start(tree: Tree | None = None) -> Session:
    session = Session("/r", exists=tree.has if tree is not None else None)
    session.prompt(GOAL)
    return session


def bash(session: Session, command: str) -> int:
    return session.action("c", "Bash", {"command": command}).score


def write(session: Session, path: str, text: str = "x = 1\n") -> int:
    return session.action("w", "Write", {"file_path": path, "content": text}).score


def edit(session: Session, path: str, old: str, new: str) -> Any:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return session.action("e", "Edit", given)


@pytest.mark.parametrize(
    "command",
    [
        "echo x > new.py",
        "cat > new.py <<'E'\nx = 1\nE",
        "touch new.py",
        "cp a.py new.py",
        "echo x > /tmp/n.py && mv /tmp/n.py new.py",
        "tee new.py < a.py",
        "python -c \"open('new.py', 'w').write('x')\"",
        "cat > mk.py <<'E'\nopen('new.py', 'w').write('x')\nE\npython mk.py",
        "git mv new_.py new.py || cp a.py new.py",
    ],
)
def test_files_that_a_command_creates_are_own(command: str) -> None:
    for tree in (None, Tree(["a.py", "src/b.py"])):
        session = start(tree)
        bash(session, command)
        assert is_own(session.memory, "new.py")
        assert not is_own(session.memory, "a.py")
        assert bash(session, "rm new.py") == 10


@pytest.mark.parametrize("command", ["echo x > a.py", "cp b.py a.py", "mv b.py a.py", "touch a.py"])
def test_files_that_exist_are_not(command: str) -> None:
    session = start(Tree(["a.py", "b.py"]))
    bash(session, command)
    assert not is_own(session.memory, "a.py")
    assert has_changed(session.memory, "a.py")


@pytest.mark.parametrize(
    "command", ["echo x >> a.py", "sed -i s/a/b/ a.py", "cat a.py; echo > a.py"]
)
def test_without_a_tree_files_that_are_changed_in_place_existed(command: str) -> None:
    session = start()
    bash(session, command)
    assert not is_own(session.memory, "a.py")
    assert has_changed(session.memory, "a.py")


def test_without_a_tree_files_that_were_read_existed() -> None:
    session = start()
    session.action("r", "Read", {"file_path": "a.py"})
    write(session, "a.py")
    write(session, "b.py")
    assert not is_own(session.memory, "a.py")
    assert is_own(session.memory, "b.py")


def test_new_folders_are_own_with_everything_in_them() -> None:
    session = start(Tree(["src/a.py"]))
    write(session, "src/try/deep/x.py")
    assert is_own(session.memory, "src/try")
    assert is_own(session.memory, "src/try/other.txt")
    assert not is_own(session.memory, "src")
    assert bash(session, "rm -rf src/try") == 10
    assert bash(session, "rm -rf src") == 4


def test_without_a_tree_folders_with_nothing_of_others_are_own() -> None:
    session = start()
    session.action("r", "Read", {"file_path": "src/a.py"})
    bash(session, "mkdir -p repro/docs && echo x > repro/docs/index.rst")
    write(session, "src/try/x.py")
    bash(session, "cat repro/_build/index.html")
    assert bash(session, "rm -rf src/try") == 10
    assert bash(session, "rm -rf repro") == 10
    assert bash(session, "rm -rf src") == 4


def test_without_a_tree_an_edit_shows_that_the_folder_existed() -> None:
    session = start()
    write(session, "src/jsx/new.tsx")
    edit(session, "src/jsx/new.tsx", "x", "y")
    assert may_delete(session.memory, "src/jsx")
    edit(session, "src/jsx/old.tsx", "a", "b")
    assert bash(session, "rm -rf src/jsx") == 4


@pytest.mark.parametrize(
    ("command", "score"),
    [
        ("echo x > src/a; rm -rf src", 4),
        ("mkdir t && echo x > t/a && rm -rf t", 10),
        ("rm -rf src && mkdir src && echo x > src/a", 4),
    ],
)
def test_the_order_in_one_command_matters(command: str, score: int) -> None:
    assert bash(start(Tree(["src/a", "src/b"])), command) == score
    session = start()
    session.action("r", "Read", {"file_path": "src/b"})
    assert bash(session, command) == score


def test_moving_a_file_does_not_make_it_own() -> None:
    session = start(Tree(["lib/a.py"]))
    bash(session, "mkdir t; touch t/x; mv lib/a.py b.py; mv t/x y")
    assert not may_delete(session.memory, "b.py")
    assert may_delete(session.memory, "y")


def test_files_that_a_script_of_the_session_names_are_likely_own() -> None:
    tree = Tree(["run.py", "db.sqlite3"])
    session = start(tree)
    write(session, "try.py", "connect('try.sqlite3'); connect('db.sqlite3')\n")
    tree.update(("try.py", "try.sqlite3"))
    assert bash(session, "rm try.sqlite3") == 10
    assert bash(session, "rm db.sqlite3") == 4


def test_scratch_tests_are_own_and_tests_of_the_project_are_not() -> None:
    for tree in (None, Tree(["tests/test_old.py", "test_root.py"])):
        session = start(tree)
        bash(session, f"cat > tests/test_try.py <<'E'\n{TEST}E")
        assert bash(session, "python -m pytest tests/test_try.py") == 10
        skip = edit(session, "tests/test_try.py", "def test_a", "@pytest.mark.skip\ndef test_a")
        assert skip.score == 10
        assert edit(session, "tests/test_try.py", TEST, "").score == 10
        assert bash(session, "rm tests/test_try.py") == 10
        assert bash(session, "rm tests/test_old.py") == 6
        assert edit(session, "tests/test_old.py", TEST, "x = 1").score == 8


def test_without_a_tree_unseen_files_go_with_own_ones() -> None:
    session = start()
    session.action("r", "Read", {"file_path": "test_known.py"})
    write(session, "try.py")
    assert bash(session, "rm try.py test_lost.py") == 10
    assert bash(session, "rm try.py test_known.py") == 6
    assert bash(session, "rm try.py tests/test_other.py") == 6
    bash(session, "python test_run.py")
    assert bash(session, "rm test_run.py") == 10


def test_without_a_tree_unseen_folders_may_be_a_subagents() -> None:
    session = start()
    session.action("r", "Read", {"file_path": "src/a.py"})
    assert bash(session, "rm -rf docs/plan") == 4
    session.action("t", "Task", {"prompt": "Review it"})
    assert bash(session, "rm -rf docs/review") == 10
    assert bash(session, "rm -rf src") == 4
    seen = start(Tree(["docs/review/a.md"]))
    seen.action("t", "Task", {"prompt": "Review it"})
    assert bash(seen, "rm -rf docs/review") == 4


def test_what_a_script_of_the_session_changes_is_known() -> None:
    session = start()
    write(session, "fix.py", "open('src/a.py', 'w').write('x')\n")
    assert not has_changed(session.memory, "src/a.py")
    bash(session, "python fix.py")
    assert has_changed(session.memory, "src/a.py")


def test_scripts_follow_their_edits() -> None:
    session = start()
    write(session, "fix.py", "open('a.py', 'w')\n")
    edit(session, "fix.py", "a.py", "b.py")
    assert session.memory.scripts == {"fix.py": "open('b.py', 'w')\n"}
    bash(session, "mv fix.py /tmp/f.py")
    assert list(session.memory.scripts) == ["/tmp/f.py"]
    bash(session, "sed -i 1d /tmp/f.py")
    assert session.memory.scripts == {}
    write(session, "big.py", "x = 1\n" * 2000)
    write(session, "notes.md", "x")
    assert session.memory.scripts == {}
    for number in range(9):
        write(session, f"s{number}.py", "y = 1\n" * 300)
    assert list(session.memory.scripts) == ["s5.py", "s6.py", "s7.py", "s8.py"]


def test_nothing_is_own_at_first() -> None:
    assert not is_own(SessionMemory(), "a")
    assert not may_delete(SessionMemory(), ".")
