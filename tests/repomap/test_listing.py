"""A listing has the files that git would list, each identified by its content on disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import git

from kedge.host import project
from kedge.repomap.listing import Listing, list_files

SHIPS = 24
SHIP = "quay3/ship_7.py"


def fill(root: Path) -> None:
    for number in range(SHIPS):
        path = root / f"quay{number % 4}" / f"ship_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def ship_{number}(): pass\n")
    (root / ".gitignore").write_text("*.log\n/build/\n")
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", "all ships")


@pytest.fixture
def fleet(repo: Path) -> Path:
    fill(repo)
    return repo


def listing_of(root: Path) -> Listing:
    return list_files(project.find(root))


def sources(root: Path) -> set[str]:
    """The listed Python files, after comparing all keys with the files on disk."""
    listing = listing_of(root)
    keys = {file.path: file.key for file in listing.files}
    assert keys == keys_by_git(root)
    assert listing.find([*keys, "missing.py"]) == {file.path: file for file in listing.files}
    assert listing_of(root).state == listing.state
    return {path for path in keys if path.endswith(".py")}


def keys_by_git(root: Path) -> dict[str, str]:
    names = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    paths = [
        name
        for name in sorted(set(names) - {""})
        if (root / name).is_file() and (root / name).resolve() == root.resolve() / name
    ]
    done = subprocess.run(
        ["git", "hash-object", "--no-filters", "--stdin-paths"],
        cwd=root,
        input="\n".join(paths),
        capture_output=True,
        check=True,
        text=True,
    )
    return dict(zip(paths, done.stdout.split(), strict=True))


def test_each_change_is_seen_at_once(fleet: Path) -> None:
    assert len(sources(fleet)) == SHIPS
    new = fleet / "quay3" / "new.py"
    new.write_text("x = 1\n")
    assert "quay3/new.py" in sources(fleet)
    deep = fleet / "quay3" / "deep" / "er" / "there.py"
    deep.parent.mkdir(parents=True)
    deep.write_text("x = 1\n")
    assert "quay3/deep/er/there.py" in sources(fleet)
    new.unlink()
    assert "quay3/new.py" not in sources(fleet)
    (fleet / SHIP).unlink()
    assert SHIP not in sources(fleet)
    (fleet / SHIP).write_text("def other(): pass\n")
    assert SHIP in sources(fleet)
    shutil.rmtree(fleet / "quay2")
    assert not any(path.startswith("quay2/") for path in sources(fleet))
    (fleet / "quay2").symlink_to("quay1")
    assert not any(path.startswith("quay2/") for path in sources(fleet))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a tracked file": lambda root: (root / SHIP).write_text("def shap_7(): pass\n"),
    "an untracked file": lambda root: (root / "new.py").write_text("def anchored(): pass\n"),
    "a file removed": lambda root: (root / SHIP).unlink(),
    "a file renamed": lambda root: (root / SHIP).rename(root / "quay3" / "hulk.py"),
    "a file staged": lambda root: git(root, "add", "new.py"),
    "a commit": lambda root: git(root, "commit", "--quiet", "--allow-empty", "-m", "moored"),
    "a reset": lambda root: git(root, "reset", "--quiet", "--soft", "HEAD~1"),
    "an ignore rule": lambda root: (root / ".git" / "info" / "exclude").write_text("new.py\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_state_changes_with_the_files_and_the_commit(fleet: Path, change: str) -> None:
    (fleet / "new.py").write_text("def moored(): pass\n")
    git(fleet, "commit", "--quiet", "--allow-empty", "-m", "second")
    before = listing_of(fleet).state
    assert listing_of(fleet).state == before
    CHANGES[change](fleet)
    assert listing_of(fleet).state != before


def test_a_change_of_the_same_size_in_the_same_moment_is_seen(fleet: Path) -> None:
    for letter in "abcdef":
        (fleet / SHIP).write_text(f"def ship_{letter}(): pass\n")
        git(fleet, "add", SHIP)
        before = listing_of(fleet).state
        (fleet / SHIP).write_text(f"def ship_{letter.upper()}(): pass\n")
        sources(fleet)
        assert listing_of(fleet).state != before


def test_every_kind_of_ignore_rule_is_obeyed(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one.log", "two.tmp.py", "three.py"):
        (fleet / "quay1" / name).write_text("x = 1\n")
    assert {"quay1/two.tmp.py", "quay1/three.py"} <= sources(fleet)
    (fleet / ".gitignore").write_text("*.log\n*.tmp.py\n")
    assert "quay1/two.tmp.py" not in sources(fleet)
    (fleet / "quay1" / ".gitignore").write_text("three.py\n")
    assert "quay1/three.py" not in sources(fleet)
    (fleet / "quay1" / ".gitignore").unlink()
    assert "quay1/three.py" in sources(fleet)
    (fleet / ".git" / "info" / "exclude").write_text("three.py\n")
    assert "quay1/three.py" not in sources(fleet)
    (fleet / ".git" / "info" / "exclude").write_text("")
    rules, config = tmp_path / "rules", tmp_path / "config"
    config.write_text(f"[core]\n\texcludesFile = {rules}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    rules.write_text("three.py\n")
    assert "quay1/three.py" not in sources(fleet)


def test_the_users_index_is_never_written(fleet: Path) -> None:
    index = fleet / ".git" / "index"
    git(fleet, "status")
    before = (index.read_bytes(), index.stat())
    os.utime(fleet / SHIP)
    (fleet / "new.py").write_text("x = 1\n")
    listing_of(fleet)
    assert (index.read_bytes(), index.stat()) == before
    assert not (fleet / ".git" / "index.lock").exists()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_files_that_git_is_told_not_to_compare_are_compared(fleet: Path, flag: str) -> None:
    git(fleet, "update-index", flag, SHIP)
    before = listing_of(fleet).state
    (fleet / SHIP).write_text("def other(): pass\n")
    assert SHIP in sources(fleet)
    assert listing_of(fleet).state != before
    (fleet / SHIP).unlink()
    assert SHIP not in sources(fleet)


def test_intended_additions_and_conflicts(fleet: Path) -> None:
    (fleet / "soon.py").write_text("x = 1\n")
    git(fleet, "add", "--intent-to-add", "soon.py")
    assert "soon.py" in sources(fleet)
    git(fleet, "reset", "--quiet", "--hard")
    git(fleet, "checkout", "--quiet", "-b", "other")
    (fleet / SHIP).write_text("def theirs(): pass\n")
    git(fleet, "commit", "--quiet", "-am", "theirs")
    git(fleet, "checkout", "--quiet", "main")
    (fleet / SHIP).write_text("def ours(): pass\n")
    git(fleet, "commit", "--quiet", "-am", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(fleet, "merge", "other")
    assert SHIP in sources(fleet)


def test_a_split_index(fleet: Path) -> None:
    git(fleet, "update-index", "--split-index")
    (fleet / "new.py").write_text("x = 1\n")
    assert "new.py" in sources(fleet)


def test_a_sparse_checkout(fleet: Path) -> None:
    git(fleet, "sparse-checkout", "set", "--cone", "quay1")
    assert {path.partition("/")[0] for path in sources(fleet)} == {"quay1"}
    with contextlib.suppress(subprocess.CalledProcessError):  # not in every git
        git(fleet, "sparse-checkout", "reapply", "--sparse-index")
    (fleet / "quay1" / "new.py").write_text("x = 1\n")
    assert "quay1/new.py" in sources(fleet)
    git(fleet, "sparse-checkout", "disable")
    assert len(sources(fleet)) == SHIPS + 1


def test_repositories_inside_are_left_out(fleet: Path, tmp_path: Path) -> None:
    module = tmp_path / "module"
    module.mkdir()
    git(module, "init", "--quiet")
    (module / "inner.py").write_text("x = 1\n")
    git(module, "add", "-A")
    git(module, "commit", "--quiet", "-m", "inner")
    git(fleet, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(module), "m")
    git(fleet, "clone", "--quiet", str(module), "nested")
    paths = sources(fleet)
    assert not {"m/inner.py", "nested/inner.py"} & paths
    (fleet / "m" / "inner.py").write_text("x = 2\n")
    git(fleet / "m", "commit", "--quiet", "-am", "moved on")
    assert sources(fleet) == paths
    shutil.rmtree(fleet / "nested" / ".git")
    assert "nested/inner.py" in sources(fleet)


def test_a_repository_with_sha256(tmp_path: Path) -> None:
    root = tmp_path / "sha256"
    root.mkdir()
    try:
        git(root, "init", "--quiet", "--object-format=sha256")
    except subprocess.CalledProcessError:
        pytest.skip("this git has no sha256")
    fill(root)
    (root / "new.py").write_text("x = 1\n")
    paths = [file.path for file in listing_of(root).files]
    assert {"new.py", SHIP} <= set(paths)


def test_each_work_tree_has_its_own_files(fleet: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(fleet, "worktree", "add", "--quiet", "--detach", str(other))
    (other / "there.py").write_text("x = 1\n")
    (fleet / "here.py").write_text("x = 1\n")
    assert {"here.py", "there.py"} & sources(fleet) == {"here.py"}
    assert {"here.py", "there.py"} & sources(other) == {"there.py"}


def test_no_program_from_the_settings_is_run(fleet: Path, tmp_path: Path) -> None:
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    hooks = fleet / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    shutil.copy(program, hooks / "post-index-change")
    git(fleet, "config", "core.fsmonitor", str(program))
    git(fleet, "config", "filter.x.clean", str(program))
    git(fleet, "config", "filter.y.process", str(program))
    (fleet / ".gitattributes").write_text("quay1/* filter=x\nquay3/* filter=y\n")
    for path in fleet.glob("quay*/*.py"):
        os.utime(path)  # git has to compare its content
    (fleet / "new.py").write_text("x = 1\n")
    assert "new.py" in {file.path for file in listing_of(fleet).files}
    assert not ran.exists()


@pytest.mark.parametrize("kind", ["clean", "process"])
def test_no_filter_of_the_repository_is_run(fleet: Path, tmp_path: Path, kind: str) -> None:
    """Git runs filters to compare a changed file of the same size with the index."""
    ran = tmp_path / "ran"
    git(fleet, "config", f"filter.x.{kind}", f"touch {ran}; cat")
    git(fleet, "config", "filter.x.required", "true")
    (fleet / ".git" / "info" / "attributes").write_text("*.py filter=x\n")
    before = listing_of(fleet).state
    (fleet / SHIP).write_text("def ship_8(): pass\n")
    assert listing_of(fleet).state != before
    assert SHIP in sources(fleet)
    assert not ran.exists()


def test_a_commit_that_cannot_be_read(fleet: Path) -> None:
    (fleet / ".git" / "HEAD").write_text("1" * 40 + "\n")
    (fleet / "new.py").write_text("x = 1\n")
    assert "new.py" in sources(fleet)


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


@settings(max_examples=8)
@given(st.lists(STEPS, min_size=3, max_size=9))
def test_any_sequence_of_changes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    root = tmp_path_factory.mktemp("fleet") / "repo"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    fill(root)
    try:
        for number, (what, name) in enumerate(steps):
            change(root, what, root / name, number)
            sources(root)
    finally:
        shutil.rmtree(root.parent)


def change(root: Path, what: str, path: Path, number: int) -> None:
    """Change a work tree in one way; skip what is impossible."""
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
