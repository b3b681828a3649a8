"""`kedge init --plugin`: it comes from the package, stays fresh, and goes without a trace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import Kedge, assert_clear, git

from kedge.context import plugin
from kedge.host import project
from kedge.plugin import roles

FOLDER = Path(plugin.FOLDER)


def tree(root: Path) -> dict[str, bytes | str]:
    """All that is in a directory but git's own; folders too, as a folder."""
    return {
        path.relative_to(root).as_posix(): "folder" if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if ".git" not in path.relative_to(root).parts
    }


@pytest.fixture
def lived_in(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with a skill, an agent and settings of its own."""
    (repo / "app.py").write_text("x = 1\n")
    (repo / ".claude" / "skills" / "mine").mkdir(parents=True)
    (repo / ".claude" / "skills" / "mine" / "SKILL.md").write_bytes(b"---\r\nname: mine\r\n---\r\n")
    (repo / ".claude" / "settings.json").write_text('{"model": "opus"}')
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return kedge


def old(root: Path, name: str, text: str) -> None:
    """Make a file what an older kedge wrote."""
    record = root / FOLDER / plugin.RECORD
    (root / FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
    (root / FOLDER / name).write_text(text)
    seals = json.loads(record.read_text())
    seals[name] = plugin._seal(text.encode())
    record.write_text(json.dumps(seals))


def test_the_plugin_is_added_and_every_byte_comes_back(lived_in: Kedge) -> None:
    root = lived_in.directory
    before = tree(root)
    ran = lived_in("init", "--plugin")
    for name, data in roles.files().items():
        assert (root / FOLDER / name).read_bytes() == data
    assert f"git add AGENTS.md CLAUDE.md .kedge {FOLDER.as_posix()} share it" in (
        " ".join(ran.out.split())
    )
    assert "note: Claude Code loads the plugin in folders that you trust" in ran.out
    assert str(root) not in "".join(
        path.read_text() for path in (root / FOLDER).rglob("*") if path.is_file()
    )
    made = tree(root)
    assert lived_in("init", "--plugin").out == "all is set up already\n"
    assert lived_in("init").out == "all is set up already\n"
    assert lived_in("update").out == "all is up to date\n"
    assert tree(root) == made
    lived_in("uninstall", "--yes")
    assert tree(root) == before
    assert git(root, "status", "--porcelain") == ""


def test_without_being_asked_for_it_is_not_added(lived_in: Kedge) -> None:
    lived_in("init")
    assert not (lived_in.directory / FOLDER).exists()


def test_a_dry_run_writes_nothing(lived_in: Kedge) -> None:
    before = tree(lived_in.directory)
    shown = lived_in("init", "--plugin", "--dry-run").out
    assert f"+++ b/{FOLDER.as_posix()}/commands/implement.md" in shown
    assert tree(lived_in.directory) == before


def test_update_refreshes_what_nobody_edited(lived_in: Kedge) -> None:
    root = lived_in.directory
    lived_in("init", "--plugin")
    made = tree(root)
    old(root, "commands/design.md", "of last year\n")
    old(root, "commands/gone.md", "no longer part of it\n")
    stale = lived_in("update", "--check", code=4)
    assert f"{FOLDER.as_posix()}/commands/design.md" in stale.err
    assert f"{FOLDER.as_posix()}/commands/gone.md\tremoved" in lived_in("update").out
    assert tree(root) == made
    assert lived_in("update", "--check").code == 0


def test_what_was_edited_stays_and_is_named(lived_in: Kedge) -> None:
    root = lived_in.directory
    lived_in("init", "--plugin")
    mine, own = root / FOLDER / "agents" / "implementer.md", root / FOLDER / "commands" / "own.md"
    mine.write_text("Sing while you work.\n")
    own.write_text("My own.\n")
    said = f"note: {FOLDER.as_posix()}/agents/implementer.md was edited, and stays"
    for args in (["update"], ["init", "--plugin"], ["uninstall", "--yes"]):
        assert said in lived_in(*args).out
        assert mine.read_text() == "Sing while you work.\n"
        assert own.read_text() == "My own.\n"
    left = [path for path in (root / FOLDER).rglob("*") if path.is_file()]
    assert sorted(left) == [mine, own]


def test_line_ends_that_git_changed_are_no_edit(lived_in: Kedge) -> None:
    root = lived_in.directory
    lived_in("init", "--plugin")
    for path in (root / FOLDER).rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert lived_in("update").out == "all is up to date\n"
    lived_in("uninstall", "--yes")
    assert not (root / FOLDER).exists()


def test_a_file_that_is_missing_comes_back(lived_in: Kedge) -> None:
    lived_in("init", "--plugin")
    path = lived_in.directory / FOLDER / "hooks" / "hooks.json"
    path.unlink()
    lived_in("update")
    assert path.read_bytes() == roles.files()["hooks/hooks.json"]


def test_what_was_cut_off_is_finished(lived_in: Kedge) -> None:
    """The record is written last, and goes last."""
    root = lived_in.directory
    lived_in("init", "--plugin")
    made = tree(root)
    (root / FOLDER / plugin.RECORD).unlink()
    (root / FOLDER / "README.md").unlink()
    lived_in("init", "--plugin")
    assert tree(root) == made


@pytest.mark.parametrize("name", ["SKILL.md", "commands/design.md", "agents/other.md"])
def test_a_folder_of_somebody_else_is_refused(lived_in: Kedge, name: str) -> None:
    path = lived_in.directory / FOLDER / name
    path.parent.mkdir(parents=True)
    path.write_text("theirs\n")
    before = tree(lived_in.directory)
    ran = lived_in("init", "--plugin", code=1)
    assert_clear(ran, code=1, says="kedge did not write it")
    assert tree(lived_in.directory) == before
    lived_in("init")
    lived_in("uninstall", "--yes")
    assert tree(lived_in.directory) == before


def test_no_link_is_followed(lived_in: Kedge, tmp_path: Path) -> None:
    root = lived_in.directory
    (root / ".claude" / "skills" / "kedge").symlink_to(tmp_path)
    assert_clear(lived_in("init", "--plugin", code=1), code=1, says="leads out of")
    (root / ".claude" / "skills" / "kedge").unlink()
    lived_in("init", "--plugin")
    seal = plugin._seal(b"x = 1\n")
    for name in ("README.md", "commands/gone.md"):
        path = root / FOLDER / name
        path.unlink(missing_ok=True)
        path.symlink_to(os.path.relpath(root / "app.py", path.parent))
        record = json.loads((root / FOLDER / plugin.RECORD).read_text()) | {name: seal}
        (root / FOLDER / plugin.RECORD).write_text(json.dumps(record))
    for args in (["update"], ["uninstall", "--yes"]):
        assert_clear(lived_in(*args, code=1), code=1, says="is a link")
    assert (root / "app.py").read_text() == "x = 1\n"


def test_a_record_that_lies_reaches_nothing_outside(lived_in: Kedge) -> None:
    root = lived_in.directory
    lived_in("init", "--plugin")
    made, seal = tree(root), plugin._seal(b"x = 1\n")
    names = [
        "../../../app.py",
        "/app.py",
        "a/../../../../app.py",
        "..",
        "",
        "a\x00b",
        "./README.md",
    ]
    record = json.loads((root / FOLDER / plugin.RECORD).read_text())
    lies = {**record, **dict.fromkeys(names, seal), "agents/x.md": 7, "b": None}
    (root / FOLDER / plugin.RECORD).write_text(json.dumps(lies))
    lived_in("update")
    assert tree(root) == made
    (root / FOLDER / plugin.RECORD).write_text("{broken")
    assert_clear(lived_in("update", code=1), code=1, says="is not what kedge wrote")


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()) | st.lists(st.text()))
def test_any_record_names_files_of_the_folder_alone(
    tmp_path_factory: pytest.TempPathFactory, said: object
) -> None:
    root = tmp_path_factory.mktemp("any", numbered=True)
    file = root / FOLDER / plugin.RECORD
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(said))
    folder = (root / FOLDER).resolve()
    for change in plugin.removed(project.Project(root, None)).changes:
        assert (root / change.path).resolve().is_relative_to(folder)
    for name in plugin._record(project.Project(root, None)) or {}:
        assert (folder / name).resolve().is_relative_to(folder)
