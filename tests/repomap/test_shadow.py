"""What git noted of the directories changes no answer: each is the one that git gives without."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge, git

from kedge.host import git as host_git
from kedge.host import project
from kedge.repomap import build, documents, files, shadow
from kedge.repomap.cache import Cache
from kedge.repomap.index import Index
from kedge.repomap.shadow import LEAST

SHIPS = 230


def name(number: int) -> str:
    return f"ship_{number:03}_{'o' * 230}.py"


def fill(root: Path) -> None:
    """Files with names that are long enough that the index is worth a copy."""
    for number in range(SHIPS):
        path = root / f"quay{number % 8}" / name(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def ship_{number}(): pass\n")
    (root / ".gitignore").write_text("*.log\n/build/\n")
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", "all ships")
    assert (root / ".git" / "index").stat().st_size > LEAST


@pytest.fixture
def fleet(repo: Path) -> Path:
    fill(repo)
    return repo


@contextlib.contextmanager
def cached(root: Path) -> Iterator[Cache]:
    with contextlib.closing(Cache(project.find(root).home())) as cache:
        yield cache
        assert cache.warnings == []


def seen(root: Path) -> set[str]:
    """The sources of a listing with a cache, which is in all the same as one without."""
    here = project.find(root)
    with cached(root) as cache:
        first, again = files.listing(here, cache), files.listing(here, cache)
        plain = files.listing(here)
        assert first.lines == again.lines == plain.lines
        assert first.state == again.state == plain.state
        assert first.files == plain.files
        paths = [file.path for file in plain.files]
        assert again.find(paths[::20]) == plain.find(paths[::20])
    return {path for path in paths if path.endswith(".py")}


TIMES = itertools.count(1_500_000_000)


def rest(root: Path) -> None:
    """As if time had passed: git trusts its notes of a directory that has not just changed."""
    for folder, inner, _ in os.walk(root):
        if ".git" in inner:
            inner.remove(".git")
        if Path(folder).stat().st_mtime > 1_600_000_000:
            os.utime(folder, (0, next(TIMES)))


def copies(git_dir: Path) -> list[Path]:
    return sorted((git_dir / "kedge").glob("index-*"))


SHIP = f"quay7/{name(7)}"


def test_each_change_is_seen_at_once(fleet: Path) -> None:
    rest(fleet)
    assert len(seen(fleet)) == SHIPS
    assert copies(fleet / ".git")
    new = fleet / "quay3" / "new.py"
    new.write_text("x = 1\n")
    assert "quay3/new.py" in seen(fleet)
    rest(fleet)
    (fleet / "quay3" / "deep" / "er").mkdir(parents=True)
    assert len(seen(fleet)) == SHIPS + 1
    (fleet / "quay3" / "deep" / "er" / "there.py").write_text("x = 1\n")
    assert "quay3/deep/er/there.py" in seen(fleet)
    new.unlink()
    assert "quay3/new.py" not in seen(fleet)
    (fleet / SHIP).unlink()
    assert SHIP not in seen(fleet)
    (fleet / SHIP).write_text("def other(): pass\n")
    assert SHIP in seen(fleet)
    shutil.rmtree(fleet / "quay6")
    assert not any(path.startswith("quay6/") for path in seen(fleet))
    (fleet / "quay6").symlink_to("quay5")
    assert not any(path.startswith("quay6/") for path in seen(fleet))


def test_a_change_of_the_same_size_in_the_same_moment_is_seen(fleet: Path) -> None:
    for letter in "abcdef":
        (fleet / SHIP).write_text(f"def ship_{letter}(): pass\n")
        git(fleet, "add", SHIP)
        before = state(fleet)
        (fleet / SHIP).write_text(f"def ship_{letter.upper()}(): pass\n")
        seen(fleet)
        assert state(fleet) != before


def test_such_a_change_is_seen_later_too(fleet: Path) -> None:
    """By the time of the index git tells that a file may have changed after it."""
    ship, index = fleet / SHIP, fleet / ".git" / "index"
    while True:
        ship.write_text("def one(): pass\n")
        git(fleet, "add", SHIP)
        ship.write_text("def two(): pass\n")
        if int(ship.stat().st_mtime) == int(index.stat().st_mtime):
            break
    time.sleep(1.1)
    seen(fleet)
    assert SHIP in git(fleet, "diff", "--name-only")


def state(root: Path) -> str:
    with cached(root) as cache:
        return files.listing(project.find(root), cache).state


def test_rules_that_change_are_obeyed_at_once(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one.log", "two.tmp.py", "three.py"):
        (fleet / "quay1" / name).write_text("x = 1\n")
    rest(fleet)
    assert {"quay1/two.tmp.py", "quay1/three.py"} <= seen(fleet)
    (fleet / ".gitignore").write_text("*.log\n*.tmp.py\n")
    assert "quay1/two.tmp.py" not in seen(fleet)
    (fleet / "quay1" / ".gitignore").write_text("three.py\n")
    assert "quay1/three.py" not in seen(fleet)
    (fleet / "quay1" / ".gitignore").unlink()
    assert "quay1/three.py" in seen(fleet)
    (fleet / ".git" / "info" / "exclude").write_text("three.py\n")
    assert "quay1/three.py" not in seen(fleet)
    (fleet / ".git" / "info" / "exclude").write_text("")
    assert "quay1/three.py" in seen(fleet)
    rules, own = tmp_path / "rules", tmp_path / "settings"
    own.write_text(f"[core]\n\texcludesFile = {rules}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    rules.write_text("three.py\n")
    assert "quay1/three.py" not in seen(fleet)
    rules.write_text("nine.py\n")
    assert "quay1/three.py" in seen(fleet)
    (fleet / "build").mkdir()
    (fleet / "build" / "made.py").write_text("x = 1\n")
    assert "build/made.py" in seen(fleet)  # its rule is gone


def test_the_users_index_is_never_written(fleet: Path) -> None:
    index = fleet / ".git" / "index"
    git(fleet, "status")
    before = (index.read_bytes(), index.stat())
    os.utime(fleet / SHIP)
    (fleet / "new.py").write_text("x = 1\n")
    seen(fleet)
    seen(fleet)
    assert (index.read_bytes(), index.stat()) == before
    assert not (fleet / ".git" / "index.lock").exists()
    assert b"UNTR" not in index.read_bytes()
    assert b"UNTR" in copies(fleet / ".git")[0].read_bytes()


def test_the_copy_is_renewed_when_the_index_changes(fleet: Path) -> None:
    for number in range(4):
        (fleet / f"new{number}.py").write_text("x = 1\n")
        git(fleet, "add", "-A")
        assert f"new{number}.py" in seen(fleet)
    git(fleet, "commit", "--quiet", "-m", "more")
    git(fleet, "checkout", "--quiet", "HEAD~1")
    assert "new0.py" not in seen(fleet)
    git(fleet, "rm", "--quiet", "--cached", SHIP)
    assert SHIP in seen(fleet)  # untracked
    assert len(copies(fleet / ".git")) <= 2


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_is_told_to_overlook(fleet: Path, flag: str) -> None:
    git(fleet, "update-index", flag, SHIP)
    before = state(fleet)
    (fleet / SHIP).write_text("def other(): pass\n")
    assert SHIP in seen(fleet)
    assert state(fleet) != before
    (fleet / SHIP).unlink()
    assert SHIP not in seen(fleet)


def test_intended_additions_and_conflicts(fleet: Path) -> None:
    (fleet / "soon.py").write_text("x = 1\n")
    git(fleet, "add", "--intent-to-add", "soon.py")
    assert "soon.py" in seen(fleet)
    git(fleet, "reset", "--quiet", "--hard")
    git(fleet, "checkout", "--quiet", "-b", "other")
    (fleet / SHIP).write_text("def theirs(): pass\n")
    git(fleet, "commit", "--quiet", "-am", "theirs")
    git(fleet, "checkout", "--quiet", "main")
    (fleet / SHIP).write_text("def ours(): pass\n")
    git(fleet, "commit", "--quiet", "-am", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(fleet, "merge", "other")
    assert SHIP in seen(fleet)


def test_an_index_in_two_files_has_no_shadow(fleet: Path) -> None:
    git(fleet, "update-index", "--split-index")
    (fleet / "new.py").write_text("x = 1\n")
    assert "new.py" in seen(fleet)
    assert copies(fleet / ".git") == []


def test_a_sparse_checkout(fleet: Path) -> None:
    git(fleet, "sparse-checkout", "set", "--cone", "quay1")
    assert {path.partition("/")[0] for path in seen(fleet)} == {"quay1"}
    with contextlib.suppress(subprocess.CalledProcessError):  # not in every git
        git(fleet, "sparse-checkout", "reapply", "--sparse-index")
    (fleet / "quay1" / "new.py").write_text("x = 1\n")
    assert "quay1/new.py" in seen(fleet)
    git(fleet, "sparse-checkout", "disable")
    assert len(seen(fleet)) == SHIPS + 1


def test_repositories_within(fleet: Path, tmp_path: Path) -> None:
    module = tmp_path / "module"
    module.mkdir()
    git(module, "init", "--quiet")
    (module / "inner.py").write_text("x = 1\n")
    git(module, "add", "-A")
    git(module, "commit", "--quiet", "-m", "inner")
    git(fleet, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(module), "m")
    git(fleet, "clone", "--quiet", str(module), "nested")
    rest(fleet)
    paths = seen(fleet)
    assert not {"m/inner.py", "nested/inner.py"} & paths
    (fleet / "m" / "inner.py").write_text("x = 2\n")
    (fleet / "nested" / "more.py").write_text("x = 2\n")
    assert seen(fleet) == paths
    git(fleet / "m", "commit", "--quiet", "-am", "moved on")
    assert seen(fleet) == paths
    shutil.rmtree(fleet / "nested" / ".git")
    assert "nested/inner.py" in seen(fleet)
    (fleet / "wharf" / "deep").mkdir(parents=True)
    (fleet / "wharf" / "deep" / "n.py").write_text("x = 1\n")
    rest(fleet)
    assert "wharf/deep/n.py" in seen(fleet)
    git(fleet / "wharf", "init", "--quiet")
    assert "wharf/deep/n.py" not in seen(fleet)


def test_other_names_of_objects(tmp_path: Path) -> None:
    root = tmp_path / "sha256"
    root.mkdir()
    try:
        git(root, "init", "--quiet", "--object-format=sha256")
    except subprocess.CalledProcessError:
        pytest.skip("this git has no sha256")
    fill(root)
    (root / "new.py").write_text("x = 1\n")
    assert "new.py" in seen(root)
    assert copies(root / ".git")


def test_each_work_tree_has_its_own_and_takes_it_along(fleet: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(fleet, "worktree", "add", "--quiet", "--detach", str(other))
    (other / "there.py").write_text("x = 1\n")
    (fleet / "here.py").write_text("x = 1\n")
    assert {"here.py", "there.py"} & seen(fleet) == {"here.py"}
    assert {"here.py", "there.py"} & seen(other) == {"there.py"}
    assert len(copies(fleet / ".git")) == 1
    assert len(copies(fleet / ".git" / "worktrees" / "other")) == 1
    git(fleet, "worktree", "remove", "--force", str(other))
    assert not (fleet / ".git" / "worktrees" / "other").exists()


def test_no_program_of_the_settings_is_run(fleet: Path, tmp_path: Path) -> None:
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    hooks = fleet / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    shutil.copy(program, hooks / "post-index-change")
    git(fleet, "config", "core.fsmonitor", str(program))
    (fleet / "new.py").write_text("x = 1\n")
    assert "new.py" in seen(fleet)
    assert not ran.exists()
    assert copies(fleet / ".git")


@pytest.mark.parametrize("harm", ["empty", "cut", "no entries", "another", "locked"])
def test_a_copy_that_is_harmed_harms_nothing(fleet: Path, harm: str) -> None:
    seen(fleet)
    (copy,) = copies(fleet / ".git")
    whole = copy.read_bytes()
    if harm == "empty":
        copy.write_bytes(b"")
    elif harm == "cut":
        copy.write_bytes(whole[:5000])
    elif harm == "no entries":
        env = {**os.environ, "GIT_INDEX_FILE": str(copy)}
        subprocess.run(["git", "read-tree", "--empty"], cwd=fleet, env=env, check=True)
    elif harm == "another":
        copy.write_bytes(b"DIRC" + bytes(len(whole) - 4))
    else:
        copy.with_name(f"{copy.name}.lock").touch()
    (fleet / "new.py").write_text("x = 1\n")
    assert len(seen(fleet)) == SHIPS + 1
    (fleet / "newer.py").write_text("x = 1\n")
    assert len(seen(fleet)) == SHIPS + 2


def test_a_copy_that_goes_while_it_is_used(fleet: Path) -> None:
    seen(fleet)
    here = project.find(fleet)
    with cached(fleet) as cache:
        cache._run("DELETE FROM map_memo WHERE kind = 'lines'", [])
        listing = files.listing(here, cache)
        copies(fleet / ".git")[0].unlink()
        assert listing.lines == files.listing(here).lines


def test_a_commit_that_cannot_be_read(fleet: Path) -> None:
    (fleet / ".git" / "HEAD").write_text("1" * 40 + "\n")
    (fleet / "new.py").write_text("x = 1\n")
    assert "new.py" in seen(fleet)


def test_through_the_command(fleet: Path, kedge: Kedge) -> None:
    def first() -> str:
        found: str = kedge.json("map", "--for", "lighthouse")["files"][0]["path"]
        return found

    kedge("map", "--no-cache", "--output", "-")
    assert copies(fleet / ".git") == []
    assert "lighthouse" not in first()
    (fleet / "quay5" / "lighthouse.py").write_text("def lighthouse(): pass\n")
    assert first() == "quay5/lighthouse.py"
    with (fleet / ".git" / "info" / "exclude").open("a") as rules:
        rules.write("lighthouse.py\n")
    assert "lighthouse" not in first()
    assert copies(fleet / ".git")
    elsewhere = fleet.parent / "elsewhere"
    kedge("map", "--output", "-", env={"KEDGE_HOME": str(elsewhere)})
    assert list(elsewhere.glob("index-*"))


def test_several_processes_at_once(fleet: Path) -> None:
    children = []
    for number in range(6):
        (fleet / f"new{number}.py").write_text("x = 1\n")
        if number % 2:
            git(fleet, "add", f"new{number}.py")
        children.append(
            subprocess.Popen(
                [sys.executable, "-m", "kedge", "map", "--output", "-"],
                cwd=fleet,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
    for child in children:
        out, err = child.communicate(timeout=120)
        assert child.returncode == 0, err
        assert out.startswith(b"# Map of the code")
    assert {f"new{number}.py" for number in range(6)} <= seen(fleet)


NAMES = st.sampled_from(["quay1/n.py", "quay1/sub/n.py", "wharf/n.py", "wharf/deep/n.py", SHIP])
STEPS = st.one_of(
    st.tuples(
        st.sampled_from(
            ["write", "delete", "drop", "ignore", "add", "unstage", "link", "touch", "nest", "flat"]
        ),
        NAMES,
    ),
    st.tuples(st.sampled_from(["commit", "forget", "status"]), st.just("")),
)


@settings(max_examples=12)
@given(st.lists(STEPS, min_size=3, max_size=9))
def test_whatever_happens(
    fleet_template: Path, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    root = tmp_path_factory.mktemp("fleet") / "repo"
    shutil.copytree(fleet_template, root, symlinks=True)
    try:
        for number, (what, name) in enumerate(steps):
            step(root, what, root / name, number)
            rest(root)
            seen(root)
    finally:
        shutil.rmtree(root.parent)


def step(root: Path, what: str, path: Path, number: int) -> None:
    """What somebody may do to a work tree; what cannot be done is left."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        if what == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"x = {number}\n")
        elif what == "touch":
            os.utime(path)
        elif what == "delete":
            path.unlink()
        elif what == "drop":
            shutil.rmtree(path.parent)
        elif what == "link":
            path.unlink(missing_ok=True)
            path.symlink_to("../.gitignore")
        elif what == "nest":
            git(path.parent, "init", "--quiet")
        elif what == "flat":
            shutil.rmtree(path.parent / ".git")
        elif what == "ignore":
            with (path.parent / ".gitignore").open("a") as rules:
                rules.write(f"{path.name}\n")
        elif what == "forget":
            (root / ".gitignore").write_text("")
        elif what == "commit":
            git(root, "commit", "--quiet", "--all", "-m", "a step")
        elif what == "unstage":
            git(root, "reset", "--quiet")
        else:
            git(root, "add", "-A", "--", str(path)) if what == "add" else git(root, "status")


@pytest.fixture(scope="module")
def fleet_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("template") / "repo"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    fill(root)
    yield root
    shutil.rmtree(root.parent)


def test_the_lock_of_a_git_that_was_killed_goes(repo: Path) -> None:
    fill(repo)
    own = host_git.find(repo)
    made = shadow.of(own, repo / ".git" / "kedge")
    assert made is not None
    lock = made.path.with_name(f"{made.path.name}.lock")
    lock.touch()
    assert shadow.of(own, repo / ".git" / "kedge") == made
    assert lock.exists()
    os.utime(lock, (0, 0))
    assert shadow.of(own, repo / ".git" / "kedge") == made
    assert not lock.exists()


@pytest.mark.parametrize("wait", [0.0, 0.15], ids=["new files", "older files"])
@pytest.mark.parametrize("harm", ["none", "a change", "a file gone", "folders swapped"])
def test_an_index_is_kept_only_of_files_that_stayed_as_they_were(
    repo: Path, monkeypatch: pytest.MonkeyPatch, wait: float, harm: str
) -> None:
    fill(repo)
    one, two = repo / "one", repo / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "core.py").write_text(f"def of_{folder.name}(): pass\n")
    time.sleep(wait)
    read, ship = documents.read, repo / "quay7" / name(7)

    def late(*values: Any) -> Any:
        if harm == "a file gone":
            ship.unlink()
        found = read(*values)
        if harm == "a change":
            ship.write_text("def sunk(): pass\n")
        elif harm == "folders swapped":
            one.rename(repo / "none")
            two.rename(one)
            (repo / "none").rename(two)
        return found

    monkeypatch.setattr(documents, "read", late)
    place, cache = project.find(repo), Cache(repo / ".git" / "kedge")
    listing = files.listing(place, cache)
    made = build.make(place, build.Ask("ships"), cache)
    kept = cache.memo("index", listing.state, Index.load)
    assert (kept is not None) == (harm == "none") == made.settled
