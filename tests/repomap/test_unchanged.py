"""`kedge map` answers at once while nothing has changed, and never when anything has."""

from __future__ import annotations

import contextlib
import marshal
import os
import random
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from repomap.test_shadow import fill, name
from support import Kedge, git

from kedge.errors import GitError
from kedge.host import git as host_git
from kedge.host import plain_git, project
from kedge.repomap import neighbours, shadow, unchanged
from kedge.repomap.cache import VERSION

GIT = shutil.which("git")
SHIP = "quay7/" + name(7)


def ran(root: Path, *, cwd: str = ".", env: dict[str, str] | None = None) -> tuple[bool, str]:
    """Whether `kedge map` loaded no more of kedge than it had to, and what it said."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kedge", "map"],
        cwd=root / cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return "kedge.cli" not in done.stderr, done.stdout


def settled(root: Path) -> str:
    """A map that is found to be as it was, by files that are not new."""
    for _ in range(20):  # it is written, it is found as it should be, it is answered at once
        time.sleep(0.12)
        quick, said = ran(root)
        if quick:
            return said
    pytest.fail("the map is never found unchanged")


def fresh(root: Path) -> str:
    return Kedge(root)("map", "--no-cache", "--output", "-").out


@pytest.fixture(params=["few files", "many files"])
def tree(request: pytest.FixtureRequest, repo: Path) -> Path:
    """Of many files git's index is copied, with notes on directories."""
    fill(repo)
    (repo / "README.md").write_text("Ships\n\nThey sail.\n")
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "all")
    if request.param == "few files":
        git(repo, "rm", "--quiet", "-r", *(f"quay{number}" for number in range(7)))
        git(repo, "commit", "--quiet", "-m", "few")
    (repo / SHIP).write_text("def changed(): pass\n")
    (repo / "dock").mkdir()
    (repo / "dock" / "new.py").write_text("def moored(): pass\n")
    (repo / "dock" / ".gitignore").write_text(".gitignore\n")
    (repo / "empty").mkdir()
    (repo / ".git" / "info" / "exclude").write_text("*.tmp\n")
    return repo


def rewrite(path: str, text: str) -> Callable[[Path], object]:
    return lambda root: (root / path).write_text(text)


def same_size(root: Path) -> None:
    """Another content in the same file, of the same size, with the same time."""
    path = root / "quay7" / name(15)
    before = path.stat()
    path.write_text(path.read_text().replace("ship_15", "shap_15"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def set_up(root: Path) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "kedge", "config.toml")
    path.parent.mkdir(parents=True)
    path.write_text("[map]\ntokens = 300\n")


def ignore(_: Path) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "git", "ignore")
    path.parent.mkdir(parents=True)
    path.write_text("new.py\n")


def link(root: Path) -> None:
    (root / "dock").rename(root / "dry")
    (root / "dock").symlink_to("dry")


def plan(root: Path) -> None:
    folder = root / "docs" / "features" / "001-moor"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text("# Tasks\n\n## Task 1: Moor\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a tracked file": same_size,
    "a changed file": rewrite(SHIP, "def changes(): pass\n"),
    "a changed file back": lambda root: git(root, "checkout", "--quiet", SHIP),
    "a file gone": lambda root: (root / "quay7" / name(15)).unlink(),
    "a new file": rewrite("dock/newer.py", "def anchored(): pass\n"),
    "an untracked file": rewrite("dock/new.py", "def anchored(): pass\n"),
    "a file added": lambda root: git(root, "add", "dock"),
    "a commit": lambda root: git(root, "commit", "--quiet", "--allow-empty", "-m", "moored"),
    "a soft reset": lambda root: git(root, "reset", "--quiet", "--soft", "HEAD~1"),
    "refs packed, and a reset": lambda root: (
        git(root, "pack-refs", "--all"),
        git(root, "reset", "--quiet", "--soft", "HEAD~1"),
    ),
    "what is ignored": rewrite(".git/info/exclude", "new.py\n"),
    "what the user ignores": ignore,
    "rules that ignore themselves": rewrite("dock/.gitignore", ".gitignore\nnew.py\n"),
    "a file in an empty folder": rewrite("empty/hull.py", "def caulked(): pass\n"),
    "a file under another name": lambda root: (root / SHIP).rename(root / "quay7" / "hulk.py"),
    "a repository inside": lambda root: git(root / "dock", "init", "--quiet"),
    "a folder that is a link": link,
    "the project's settings": rewrite(".kedge/config.toml", "[map]\ntokens = 300\n"),
    "the user's settings": set_up,
    "the map": rewrite(".kedge/map.md", "mine\n"),
    "the map gone": lambda root: (root / ".kedge" / "map.md").unlink(),
    "a task": lambda root: Kedge(root)("task", "add", "Moor"),
    "tasks of another kind": plan,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_seen(
    tree: Path, change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    settled(tree)
    CHANGES[change](tree)
    quick, said = ran(tree)
    assert not quick
    assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)
    assert ran(tree)[1] == said


def test_tasks_that_go_on_are_seen(tree: Path) -> None:
    kedge = Kedge(tree)
    kedge("task", "add", "Moor", "--id", "t1")
    settled(tree)
    kedge("task", "claim", "t1")
    assert not ran(tree)[0]
    settled(tree)
    kedge("task", "close", "t1", "--reason", "moored")
    assert not ran(tree)[0]
    assert "attempts: 1 done" in (tree / ".kedge" / "map.md").read_text()
    settled(tree)


def test_the_environment_is_part_of_it(tree: Path) -> None:
    said = settled(tree)
    assert ran(tree, env={"KEDGE_MAP_TOKENS": "300"})[0] is False
    assert (tree / ".kedge" / "map.md").read_text() != fresh(tree)
    assert ran(tree) == (False, said)
    settled(tree)
    home = tree.parent / "elsewhere"
    assert ran(tree, env={"KEDGE_HOME": str(home)})[0] is False
    assert (home / "kedge.db").exists()
    assert ran(tree, env={"GIT_EDITOR": "vi", "GIT_DIR": "/nowhere"}) == (True, said)


def test_it_is_answered_below_the_root_and_in_work_trees(tree: Path) -> None:
    said = settled(tree)
    assert ran(tree, cwd="quay7") == (True, said)
    other = tree.parent / "other"
    git(tree, "worktree", "add", "--quiet", str(other))
    settled(other)
    (other / "README.md").write_text("Boats\n")
    assert not ran(other)[0]
    assert ran(tree) == (True, said)


def test_of_many_files_git_is_not_asked(tree: Path) -> None:
    said = settled(tree)
    many = (tree / ".git" / "index").stat().st_size >= shadow.LEAST
    spy = tree.parent / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(
        f'#!/bin/sh\necho asked >> {shlex.quote(str(tree.parent))}/asked\nexec {GIT} "$@"\n'
    )
    spy.chmod(0o755)
    env = {"PATH": f"{spy.parent}:{os.environ['PATH']}"}
    assert ran(tree, env=env) == (True, said)
    assert (tree.parent / "asked").exists() != many
    (tree / "old.tmp").write_text("ignored")  # in a directory that is then not as it was
    for _ in range(2):
        (tree.parent / "asked").unlink(missing_ok=True)
        assert ran(tree, env=env) == (True, said)
        assert (tree.parent / "asked").exists()
    note = tree / ".git" / "kedge" / unchanged.FILE
    assert note.read_bytes().count(b"\0") == 0  # from now on git is asked


def test_a_copy_of_the_repository_is_another_one(tree: Path) -> None:
    settled(tree)
    copy = tree.parent / "copy"
    shutil.copytree(tree, copy, symlinks=True)
    (copy / "README.md").write_text("Boats\n")
    assert not ran(copy)[0]
    assert (copy / ".kedge" / "map.md").read_text() == fresh(copy)


def test_what_has_just_changed_is_not_relied_upon(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "at_hand", lambda *_: True)
    file, note = tree / "dock" / "new.py", tree / ".git" / "kedge" / unchanged.FILE
    place = unchanged.Tree(str(tree), str(tree / ".git"), str(tree / ".git"), "")

    def noted(after: int, *, whole: bool = True) -> bool:
        """Whether the file, by all that is known of it or by its time alone, is noted by a command
        that began so many nanoseconds after it."""
        changed = max(file.stat().st_mtime_ns, file.stat().st_ctime_ns)
        paths, places = ([str(file)], []) if whole else ([], [[b"dock", b"new.py"]])
        rests, said = unchanged.Grounds(places, set()), unchanged.Asked("", b"")
        unchanged.keep(place, changed + after, paths, said, rests, 7)
        there = note.exists() and (whole or note.read_bytes().endswith(b"\0dock\0new.py"))
        note.unlink(missing_ok=True)
        return there

    file.write_text("def sunk(): pass\n")
    for whole in (True, False):
        assert not noted(-(10**9), whole=whole)
        assert not noted(0, whole=whole)
        assert not noted(5 * 10**7, whole=whole)
        assert noted(2 * 10**8, whole=whole)
    later = file.stat().st_ctime_ns // 10**9 * 10**9 + 10**10
    os.utime(file, ns=(later, later))  # of a file system that knows whole seconds only
    assert not noted(10**9)
    assert noted(3 * 10**9)


def sealed(value: tuple[int, ...] | None) -> bytes:
    data = marshal.dumps(value)
    return zlib.crc32(data).to_bytes(4, "big") + data


DAMAGES = {
    "empty": b"",
    "short": b"x",
    "one byte": None,
    "none": sealed(None),
    "else": sealed((1,)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_note_is_passed_over(tree: Path, damage: bytes | None) -> None:
    said = settled(tree)
    note = tree / ".git" / "kedge" / unchanged.FILE
    data = bytearray(note.read_bytes())
    data[data.find(b"\0") // 2] ^= 1
    note.write_bytes(bytes(data) if damage is None else damage)
    assert ran(tree) == (False, said)
    settled(tree)


def test_what_stands_behind_a_link_is_seen(
    tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    real = tmp_path / "dotfiles.toml"
    real.write_text("[map]\ntokens = 300\n")
    (tmp_path / "settings" / "kedge").mkdir(parents=True)
    (tmp_path / "settings" / "kedge" / "config.toml").symlink_to(real)
    settled(tree)
    real.write_text("[map]\ntokens = 900\n")
    assert not ran(tree)[0]
    assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)


@pytest.mark.parametrize("tree", ["many files"], indirect=True)
def test_folders_that_git_does_not_look_into_are_watched(tree: Path) -> None:
    (tree / ".git" / "info" / "exclude").write_text("/built/\n")
    one, two = (tree / "built" / name / "core.py" for name in ("one", "two"))
    for path in (one, two):
        path.parent.mkdir(parents=True)
        path.write_text(f"def of_{path.parent.name}(): pass\n")
    git(tree, "add", "--force", "built")
    for _ in range(50):  # git writes many files at one time
        shutil.rmtree(tree / "built")
        git(tree, "checkout", "--quiet", "--", "built")
        if one.stat().st_ctime_ns == two.stat().st_ctime_ns:
            break
    settled(tree)
    one.parent.rename(tree / "built" / "none")
    two.parent.rename(one.parent)
    (tree / "built" / "none").rename(two.parent)
    assert not ran(tree)[0]
    assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)


def test_what_a_link_to_a_link_says_is_seen(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    rules = tmp_path / "settings" / "git" / "ignore"
    rules.parent.mkdir(parents=True)
    for number, text in enumerate(("*.none\n", "new.py\n")):
        (tmp_path / f"v{number}").write_text(text)
    rules.symlink_to(tmp_path / "current")
    (tmp_path / "current").symlink_to("v0")
    settled(tree)
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("v1")
    assert not ran(tree)[0]
    assert "dock/new.py" not in (tree / ".kedge" / "map.md").read_text()
    assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)


@pytest.mark.parametrize("tree", ["many files"], indirect=True)
def test_a_work_tree_inside_that_is_none_any_more_is_seen(tree: Path) -> None:
    git(tree, "worktree", "add", "--quiet", "slip")
    (tree / "slip" / "launch.py").write_text("def launched(): pass\n")
    settled(tree)
    shutil.rmtree(tree / ".git" / "worktrees")
    assert not ran(tree)[0]
    assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)


@pytest.mark.parametrize("tree", ["many files"], indirect=True)
def test_a_folder_that_git_could_not_note_is_seen(tree: Path) -> None:
    settled(tree)
    (copy,) = (tree / ".git" / "kedge").glob(f"{shadow.COPY}*")
    copy.with_name(f"{copy.name}.lock").touch()  # so that nothing more is noted
    (tree / "slip" / "inner").mkdir(parents=True)
    (tree / "README.md").write_text("Boats\n")
    settled(tree)
    (tree / "slip" / "inner" / "launch.py").write_text("def launched(): pass\n")
    assert not ran(tree)[0]
    assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)


@pytest.mark.parametrize("tree", ["many files"], indirect=True)
def test_rules_that_git_could_not_note_are_seen(tree: Path) -> None:
    (tree / ".gitignore").write_text("/slip/\n")
    (tree / "slip" / "inner").mkdir(parents=True)
    settled(tree)
    (copy,) = (tree / ".git" / "kedge").glob(f"{shadow.COPY}*")
    copy.with_name(f"{copy.name}.lock").touch()  # so that nothing more is noted
    (tree / ".gitignore").write_text("/other/\n")  # in place
    settled(tree)
    (tree / "slip" / "inner" / "launch.py").write_text("def launched(): pass\n")
    assert not ran(tree)[0]
    assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)


@pytest.mark.parametrize("tree", ["many files"], indirect=True)
def test_what_is_gone_or_touched_is_left_to_git(tree: Path) -> None:
    (tree.parent / "other").mkdir()
    git(tree.parent / "other", "init", "--quiet")
    git(tree.parent / "other", "commit", "--quiet", "--allow-empty", "-m", "first")
    git(tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other")
    git(tree, "commit", "--quiet", "-m", "a submodule")
    shutil.rmtree(tree / "other")
    said = settled(tree)
    (tree / "README.md").touch()
    assert ran(tree) == (True, said)


def test_a_database_in_use_is_no_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(tree)
    with contextlib.closing(sqlite3.connect(tree / ".git" / "kedge" / "kedge.db")) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(neighbours, "_WAIT", 0.01)
        assert not neighbours.at_hand(str(tree), str(tree / ".git"), "")


@pytest.mark.parametrize("harm", ["UPDATE map_tree SET version = 'damaged'", ""])
def test_what_hooks_need_of_the_map_is_made_again(tree: Path, harm: str) -> None:
    settled(tree)
    database = tree / ".git" / "kedge" / "kedge.db"
    if harm:
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            db.execute(harm)
    else:
        database.unlink()
    assert not ran(tree)[0]
    with contextlib.closing(sqlite3.connect(database)) as db:
        assert (
            db.execute("SELECT count(*) FROM map_tree WHERE version = ?", [VERSION]).fetchone()[0]
            == 2
        )


def test_files_that_git_may_not_compare_are_no_ground_to_stand_on(tree: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "README.md")
    for _ in range(3):
        time.sleep(0.12)
        assert not ran(tree)[0]


def test_a_note_that_cannot_be_written_is_no_error(tree: Path) -> None:
    Kedge(tree)("map")
    (tree / ".git" / "kedge" / unchanged.FILE).mkdir()
    time.sleep(0.25)
    assert "tokens" in Kedge(tree)("map").out


def test_with_signals_of_children_ignored(tree: Path) -> None:
    settled(tree)
    (tree / "README.md").write_text("Boats\n")
    code = "import os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    code += "os.execv(sys.executable, [sys.executable, '-m', 'kedge', 'map'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def hanging(place: Path) -> dict[str, str]:
    """A git that says nothing and does not end."""
    program = place / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ >{place}/pid\nexec sleep 600\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize("tree", ["few files"], indirect=True)  # git is asked
def test_an_interrupt_leaves_no_git(tree: Path, tmp_path: Path) -> None:
    settled(tree)
    env, pid = hanging(tmp_path), tmp_path / "pid"
    child = subprocess.Popen([sys.executable, "-m", "kedge", "map"], cwd=tree, env=env)
    while not (pid.exists() and pid.read_text().strip()):
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_git_that_takes_too_long_is_ended(tree: Path, tmp_path: Path) -> None:
    env, pid = hanging(tmp_path), tmp_path / "pid"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", env["PATH"])
        with pytest.raises(TimeoutError):
            plain_git.said(str(tree), ["status"], {}, 0.5)
        patch.setattr(host_git, "TIMEOUT", 0.5)
        with pytest.raises(GitError, match=r"git status took more than 0\.5 s"):
            project.find(tree).repo.quick("status")  # type: ignore[union-attr]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_without_commits_there_is_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.py").write_text("def f(): pass\n")
    for _ in range(3):
        time.sleep(0.12)
        assert not ran(tmp_path)[0]


def test_with_warnings_there_is_none(repo: Path) -> None:
    (repo / "a.py").write_text("def f(): pass\n")
    (repo / "pyproject.toml").write_text("[broken")
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "a")
    for _ in range(3):
        time.sleep(0.12)
        assert not ran(repo)[0]
    assert "pyproject.toml" in Kedge(repo)("map").err


def test_it_goes_with_kedge(tree: Path) -> None:
    Kedge(tree)("init")
    settled(tree)
    assert "stays" not in Kedge(tree)("uninstall", "--yes").out
    assert not (tree / ".git" / "kedge").exists()


def test_it_goes_with_kedge_from_a_work_tree(tree: Path) -> None:
    other = tree.parent / "other"
    git(tree, "worktree", "add", "--quiet", str(other))
    settled(tree)
    Kedge(other)("init")
    settled(other)
    place = Path(git(other, "rev-parse", "--absolute-git-dir").strip(), "kedge")
    assert place.exists()
    Kedge(other)("uninstall", "--yes")
    assert not place.exists()
    assert (tree / ".git" / "kedge" / unchanged.FILE).exists()


@pytest.mark.parametrize("tree", ["few files"], indirect=True)  # git is asked
def test_a_closed_output_and_a_missing_git_are_told_as_ever(tree: Path) -> None:
    settled(tree)
    command = f"{sys.executable} -m kedge map"
    closed = subprocess.run(f"{command} >&-", shell=True, cwd=tree, capture_output=True)
    full = subprocess.run(f"{command} >/dev/full", shell=True, cwd=tree, capture_output=True)
    assert (closed.returncode, full.returncode) == (0, 1)
    assert b"cannot write the answer" in full.stderr
    alone = Kedge(tree)("map", env={"PATH": "/nowhere"}, code=None)
    assert "git is not installed" in alone.err


def test_any_row_of_changes(tree: Path) -> None:
    chance = random.Random(3)
    settled(tree)
    others = ("the user's settings", "what the user ignores", "a task")
    choices = [one for one in CHANGES if one not in others]
    for _ in range(25):
        if chance.random() < 0.4:
            time.sleep(0.12)
            Kedge(tree)("map")
            Kedge(tree)("map")
        try:
            CHANGES[chance.choice(choices)](tree)
        except (OSError, subprocess.CalledProcessError):
            continue  # not twice
        if chance.random() < 0.5:
            ran(tree)
        said = ran(tree)[1]
        assert (tree / ".kedge" / "map.md").read_text() == fresh(tree)
        assert ran(tree)[1] == said
