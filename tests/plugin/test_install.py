"""`kedge init --plugin`: install from the package, update, and remove without a trace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import Kedge, assert_clear, git

from kedge.context import plugin_files
from kedge.host import project
from kedge.plugin import roles

FOLDER = Path(plugin_files.FOLDER)


def tree(root: Path) -> dict[str, bytes | str]:
    """Return the files and folders in a directory, without `.git`."""
    return {
        path.relative_to(root).as_posix(): "folder" if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if ".git" not in path.relative_to(root).parts
    }


@pytest.fixture
def used_repo(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with its own skill and settings."""
    (repo / "app.py").write_text("x = 1\n")
    (repo / ".claude" / "skills" / "mine").mkdir(parents=True)
    (repo / ".claude" / "skills" / "mine" / "SKILL.md").write_bytes(b"---\r\nname: mine\r\n---\r\n")
    (repo / ".claude" / "settings.json").write_text('{"model": "opus"}')
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return kedge


def write_old_version(root: Path, name: str, text: str) -> None:
    """Write a file as an older kedge would have written it."""
    record = root / FOLDER / plugin_files.RECORD
    (root / FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
    (root / FOLDER / name).write_text(text)
    seals = json.loads(record.read_text())
    seals[name] = plugin_files._seal(text.encode())
    record.write_text(json.dumps(seals))


def test_plugin_is_installed_and_removed_without_a_trace(used_repo: Kedge) -> None:
    root = used_repo.directory
    before = tree(root)
    ran = used_repo("init", "--plugin")
    for name, data in roles.read_files().items():
        assert (root / FOLDER / name).read_bytes() == data
    assert f"git add AGENTS.md CLAUDE.md .kedge {FOLDER.as_posix()} share it" in (
        " ".join(ran.out.split())
    )
    assert "note: Claude Code loads the plugin only in trusted folders" in ran.out
    assert str(root) not in "".join(
        path.read_text() for path in (root / FOLDER).rglob("*") if path.is_file()
    )
    installed = tree(root)
    assert used_repo("init", "--plugin").out == "everything is set up already\n"
    assert used_repo("init").out == "everything is set up already\n"
    assert used_repo("update").out == "everything is up to date\n"
    assert tree(root) == installed
    used_repo("uninstall", "--yes")
    assert tree(root) == before
    assert git(root, "status", "--porcelain") == ""


def test_plugin_is_not_installed_by_default(used_repo: Kedge) -> None:
    used_repo("init")
    assert not (used_repo.directory / FOLDER).exists()


def test_dry_run_writes_nothing(used_repo: Kedge) -> None:
    before = tree(used_repo.directory)
    shown = used_repo("init", "--plugin", "--dry-run").out
    assert f"+++ b/{FOLDER.as_posix()}/commands/implement.md" in shown
    assert tree(used_repo.directory) == before


def test_update_refreshes_unedited_files(used_repo: Kedge) -> None:
    root = used_repo.directory
    used_repo("init", "--plugin")
    installed = tree(root)
    write_old_version(root, "commands/design.md", "of last year\n")
    write_old_version(root, "commands/gone.md", "no longer part of it\n")
    stale = used_repo("update", "--check", code=4)
    assert f"{FOLDER.as_posix()}/commands/design.md" in stale.err
    assert f"{FOLDER.as_posix()}/commands/gone.md\tremoved" in used_repo("update").out
    assert tree(root) == installed
    assert used_repo("update", "--check").code == 0


def test_edited_files_stay_and_are_listed(used_repo: Kedge) -> None:
    root = used_repo.directory
    used_repo("init", "--plugin")
    mine, own = root / FOLDER / "agents" / "implementer.md", root / FOLDER / "commands" / "own.md"
    mine.write_text("Sing while you work.\n")
    own.write_text("My own.\n")
    record_data = f"note: {FOLDER.as_posix()}/agents/implementer.md was edited, and stays"
    for args in (["update"], ["init", "--plugin"], ["uninstall", "--yes"]):
        assert record_data in used_repo(*args).out
        assert mine.read_text() == "Sing while you work.\n"
        assert own.read_text() == "My own.\n"
    left = [path for path in (root / FOLDER).rglob("*") if path.is_file()]
    assert sorted(left) == [mine, own]


def test_line_endings_changed_by_git_are_not_an_edit(used_repo: Kedge) -> None:
    root = used_repo.directory
    used_repo("init", "--plugin")
    for path in (root / FOLDER).rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert used_repo("update").out == "everything is up to date\n"
    used_repo("uninstall", "--yes")
    assert not (root / FOLDER).exists()


def test_missing_file_is_restored(used_repo: Kedge) -> None:
    used_repo("init", "--plugin")
    path = used_repo.directory / FOLDER / "hooks" / "hooks.json"
    path.unlink()
    used_repo("update")
    assert path.read_bytes() == roles.read_files()["hooks/hooks.json"]


def test_interrupted_install_is_completed(used_repo: Kedge) -> None:
    """The record is written last and removed last."""
    root = used_repo.directory
    used_repo("init", "--plugin")
    installed = tree(root)
    (root / FOLDER / plugin_files.RECORD).unlink()
    (root / FOLDER / "README.md").unlink()
    used_repo("init", "--plugin")
    assert tree(root) == installed


@pytest.mark.parametrize("name", ["SKILL.md", "commands/design.md", "agents/other.md"])
def test_folder_of_another_tool_is_refused(used_repo: Kedge, name: str) -> None:
    path = used_repo.directory / FOLDER / name
    path.parent.mkdir(parents=True)
    path.write_text("theirs\n")
    before = tree(used_repo.directory)
    ran = used_repo("init", "--plugin", code=1)
    assert_clear(ran, code=1, says="kedge did not write it")
    assert tree(used_repo.directory) == before
    used_repo("init")
    used_repo("uninstall", "--yes")
    assert tree(used_repo.directory) == before


def test_symlinks_are_not_followed(used_repo: Kedge, tmp_path: Path) -> None:
    root = used_repo.directory
    (root / ".claude" / "skills" / "kedge").symlink_to(tmp_path)
    assert_clear(used_repo("init", "--plugin", code=1), code=1, says="leads out of")
    (root / ".claude" / "skills" / "kedge").unlink()
    used_repo("init", "--plugin")
    seal = plugin_files._seal(b"x = 1\n")
    for name in ("README.md", "commands/gone.md"):
        path = root / FOLDER / name
        path.unlink(missing_ok=True)
        path.symlink_to(os.path.relpath(root / "app.py", path.parent))
        record = json.loads((root / FOLDER / plugin_files.RECORD).read_text()) | {name: seal}
        (root / FOLDER / plugin_files.RECORD).write_text(json.dumps(record))
    for args in (["update"], ["uninstall", "--yes"]):
        assert_clear(used_repo(*args, code=1), code=1, says="is a symbolic link")
    assert (root / "app.py").read_text() == "x = 1\n"


def test_forged_record_cannot_reach_outside_the_folder(used_repo: Kedge) -> None:
    root = used_repo.directory
    used_repo("init", "--plugin")
    installed, seal = tree(root), plugin_files._seal(b"x = 1\n")
    names = [
        "../../../app.py",
        "/app.py",
        "a/../../../../app.py",
        "..",
        "",
        "a\x00b",
        "./README.md",
    ]
    record = json.loads((root / FOLDER / plugin_files.RECORD).read_text())
    lies = {**record, **dict.fromkeys(names, seal), "agents/x.md": 7, "b": None}
    (root / FOLDER / plugin_files.RECORD).write_text(json.dumps(lies))
    used_repo("update")
    assert tree(root) == installed
    (root / FOLDER / plugin_files.RECORD).write_text("{broken")
    assert_clear(used_repo("update", code=1), code=1, says="is damaged")


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()) | st.lists(st.text()))
def test_any_record_names_only_files_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory, record_data: object
) -> None:
    root = tmp_path_factory.mktemp("any", numbered=True)
    file = root / FOLDER / plugin_files.RECORD
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(record_data))
    folder = (root / FOLDER).resolve()
    for change in plugin_files.plan_removal(project.Project(root, None)).changes:
        assert (root / change.path).resolve().is_relative_to(folder)
    for name in plugin_files._read_record(project.Project(root, None)) or {}:
        assert (folder / name).resolve().is_relative_to(folder)
