"""Exact snapshots: what they hold, what they leave alone, and restoring them."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path

import pytest
from handoff.snapshot.snapshot_support import (
    BINARY,
    TEXT,
    apply_patches,
    assert_untouched,
    objects,
    open_project,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from support import git

from kedge.errors import FileError, GitError, InvalidValue, KedgeError, NoRepository
from kedge.handoff.snapshot import shadow_git, snapshots
from kedge.host.project import Project


def _tree_in_python(root: Path) -> str:
    """Compute the tree id of all files below a directory from git's documented format."""

    def blob(kind: bytes, data: bytes) -> bytes:
        return hashlib.sha1(b"%s %d\0" % (kind, len(data)) + data).digest()

    def tree(directory: str) -> bytes | None:
        rows = []
        for entry in os.scandir(os.fsencode(directory)):
            if entry.name == b".git":
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                target = os.readlink(entry.path)  # noqa: PTH115 - as bytes
                rows.append((entry.name, b"120000", blob(b"blob", target)))
            elif stat.S_ISDIR(mode):
                below = tree(os.fsdecode(entry.path))
                if below is not None:
                    rows.append((entry.name, b"40000", below))
            else:
                kind = b"100755" if mode & 0o100 else b"100644"
                data = Path(os.fsdecode(entry.path)).read_bytes()
                rows.append((entry.name, kind, blob(b"blob", data)))
        rows.sort(key=lambda row: row[0] + (b"/" if row[1] == b"40000" else b""))
        data = b"".join(b"%s %s\0%s" % (mode, name, oid) for name, mode, oid in rows)
        return blob(b"tree", data) if rows or directory == str(root) else None

    made = tree(str(root))
    assert made is not None
    return made.hex()


def _assert_whole(repo: Path, ref: str) -> None:
    """Assert that the user's repository has every object that the ref needs."""
    argv = ["git", "rev-list", "--objects", "--no-object-names", ref]
    done = subprocess.run(argv, cwd=repo, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    argv = ["git", "cat-file", "--batch-check"]
    said = subprocess.run(argv, cwd=repo, input=done.stdout, capture_output=True, text=True)
    assert "missing" not in said.stdout


# What a snapshot holds


def test_the_tree_holds_exactly_the_files(repo: Path) -> None:
    assert snapshots.read_tree(open_project(repo)) == _tree_in_python(repo)
    (repo / "a" / "b").mkdir(parents=True)
    (repo / "a" / "b" / "c").write_bytes(b"x\r\n")
    (repo / "a.b").write_text("sorts before a/\n")
    (repo / "run").write_text("")
    (repo / "run").chmod(0o700)
    (repo / "link").symlink_to("a")
    (repo / "hollow").mkdir()
    before = objects(repo)
    assert snapshots.read_tree(open_project(repo)) == _tree_in_python(repo)
    assert objects(repo) == before
    taken = snapshots.take(open_project(repo), "t-1/a")
    assert taken.tree == _tree_in_python(repo)
    assert (taken.head, taken.branch, taken.clean, taken.warnings) == (None, "main", False, ())
    _assert_whole(repo, "refs/kedge/t-1/a")


def test_an_empty_repository_is_clean(repo: Path) -> None:
    taken = snapshots.take(open_project(repo), "t-1/a")
    assert taken.clean
    assert (
        taken.tree == snapshots.read_commit_tree(open_project(repo), None) == _tree_in_python(repo)
    )
    assert snapshots.describe(open_project(repo), taken.tree, None) == "clean"


def test_a_snapshot_is_kept_by_a_ref_through_gc(work: Path) -> None:
    project = open_project(work)
    (work / "README").write_text("precious\n")
    (work / "new").write_bytes(BINARY)
    taken = snapshots.take(project, "t-1/a")
    assert git(work, "rev-parse", "refs/kedge/t-1/a").strip() == taken.commit
    assert git(work, "rev-parse", f"{taken.commit}^{{tree}}").strip() == taken.tree
    assert git(work, "rev-parse", f"{taken.commit}^").strip() == taken.head
    git(work, "stash", "--quiet", "--include-untracked")
    git(work, "stash", "drop", "--quiet")
    git(work, "commit", "--quiet", "--amend", "--message", "other")
    git(work, "reflog", "expire", "--expire=now", "--all")
    git(work, "gc", "--quiet", "--prune=now")
    shutil.rmtree(work / ".git" / "kedge")
    _assert_whole(work, "refs/kedge/t-1/a")
    snapshots.restore(project, taken.tree, "t-1/b")
    assert (work / "README").read_text() == "precious\n"
    assert (work / "new").read_bytes() == BINARY


def test_objects_deleted_by_gc_are_stored_again(work: Path) -> None:
    """The private index remembers a file whose object git has since deleted."""
    project = open_project(work)
    (work / "new").write_text("seen once by git add\n")
    git(work, "add", "new")
    tree = snapshots.read_tree(project)
    git(work, "reset", "--quiet")
    git(work, "gc", "--quiet", "--prune=now")
    assert snapshots.take(project, "t-1/a").tree == tree
    _assert_whole(work, "refs/kedge/t-1/a")
    snapshots.drop(project, "t-1")
    git(work, "gc", "--quiet", "--prune=now")
    assert snapshots.take(project, "t-1/b").tree == tree
    _assert_whole(work, "refs/kedge/t-1/b")


def test_a_snapshot_does_not_depend_on_private_objects(work: Path) -> None:
    """`read_tree` stores private objects; a snapshot must not rely on them."""
    project = open_project(work)
    for number in range(150):
        (work / f"new-{number}").write_text(f"{number}\n")
    tree = snapshots.read_tree(project)
    assert snapshots.take(project, "t-1/a").tree == tree
    shutil.rmtree(work / ".git" / "kedge")
    _assert_whole(work, "refs/kedge/t-1/a")


@pytest.mark.parametrize("command", ["", "sleep"])
def test_an_edit_within_the_same_second_is_seen(repo: Path, command: str) -> None:
    """Same size, same second, an old date: the stat data do not show the edit."""
    project = open_project(repo)
    path = repo / "file"
    seen = set()
    for number in range(40):
        path.write_text(f"{number:04}")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        tree = snapshots.read_tree(project)
        assert tree == _tree_in_python(repo)
        seen.add(tree)
        if command:
            time.sleep(0.03)
    assert len(seen) == 40


def test_a_directory_in_place_of_a_tracked_file(work: Path) -> None:
    """If the index has a file where the disk has a directory, the directory counts."""
    project = open_project(work)
    (work / "spot").mkdir()
    (work / "spot" / "file").write_text("x\n")
    time.sleep(1.1)  # so that the file is not read again
    tree = snapshots.take(project, "t-1/a").tree
    blob = git(work, "rev-parse", "HEAD:README").strip()
    git(work, "update-index", "--add", "--cacheinfo", f"100644,{blob},spot")
    assert snapshots.read_tree(project) == tree
    assert snapshots.take(project, "t-1/b").tree == tree
    git(work, "reset", "--quiet")
    assert snapshots.read_tree(project) == tree


@pytest.mark.parametrize("count", [3, 300])
def test_few_and_many_changes(work: Path, count: int) -> None:
    """A few private objects are copied one by one, many in a pack."""
    project = open_project(work)
    for number in range(count):
        (work / f"dir-{number % 7}").mkdir(exist_ok=True)
        (work / f"dir-{number % 7}" / f"file-{number}").write_text(f"{number}\n")
    before = snapshots.take(project, "t-1/a").tree
    for directory in work.glob("dir-*"):
        for path in directory.iterdir():
            path.write_text(path.read_text() + "more\n")
    now = snapshots.read_tree(project)
    assert len(snapshots.compare(project, before, now)) == count
    assert snapshots.take(project, "t-1/b").tree == now
    _assert_whole(work, "refs/kedge/t-1/b")
    for directory in work.glob("dir-*"):
        shutil.rmtree(directory)
    gone = snapshots.read_tree(project)
    kinds = {one.change for one in snapshots.compare(project, now, gone)}
    assert kinds == {"deleted"}
    shutil.rmtree(work / ".git" / "kedge")
    assert snapshots.read_tree(project) == gone


def test_files_that_did_not_change_are_not_read_again(work: Path) -> None:
    project = open_project(work)
    time.sleep(1.1)
    tree = snapshots.read_tree(project)
    index = shadow_git.open_shadow(project).path / "index"
    before = index.stat().st_mtime_ns
    assert snapshots.read_tree(project) == tree
    assert index.stat().st_mtime_ns == before


def test_snapshots_of_a_file_that_keeps_changing_are_complete(repo: Path) -> None:
    project = open_project(repo)
    path = repo / "busy"
    path.write_text("")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with path.open("a" if number % 100 else "w") as file:
                file.write(f"{number}\n" * 50)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(4):
            taken = snapshots.take(project, f"t-1/{number}")
            _assert_whole(repo, taken.commit)
    finally:
        stop.set()
        thread.join()
    assert snapshots.read_tree(project) == _tree_in_python(repo)


def test_a_big_file(repo: Path) -> None:
    project = open_project(repo)
    with (repo / "big").open("wb") as file:
        file.truncate(40 << 20)
        file.write(b"x")
    before = snapshots.take(project, "t-1/a")
    assert before.tree == _tree_in_python(repo)
    _assert_whole(repo, "refs/kedge/t-1/a")
    (repo / "big").write_text("small")
    snapshots.restore(project, before.tree, "t-1/b")
    assert (repo / "big").stat().st_size == 40 << 20
    assert snapshots.read_tree(project) == before.tree


def test_paths_that_git_cannot_store_are_left_out_with_a_warning(work: Path) -> None:
    project = open_project(work)
    (work / "README").unlink()
    os.mkfifo(work / "README")
    (work / ".GIT").mkdir()
    (work / ".GIT" / "x").write_text("")
    git(work, "init", "--quiet", "inner")
    (work / "sub" / "lib.txt").write_text("dirty\n")
    taken = snapshots.take(project, "t-1/a")
    assert [line.split(" ")[0] for line in sorted(taken.warnings)] == [
        ".GIT/x",
        "README",
        "inner",
    ]
    assert all("\n" not in line for line in taken.warnings)
    gone = {one.path for one in snapshots.compare(project, taken.head or "", taken.tree)}
    assert gone == {"README", "sub/lib.txt"}  # the second is changed, inside the submodule
    assert snapshots.take(project, "t-1/b").warnings == taken.warnings


_AS_USER = """
import sys
from pathlib import Path
from kedge.errors import KedgeError
from kedge.handoff.snapshot import snapshots
from kedge.host import project
for call in (snapshots.read_tree, lambda p: snapshots.take(p, "t-1/a")):
    try:
        print("tree", call(project.find(Path(sys.argv[1]))))
    except KedgeError as error:
        print(type(error).__name__, error.message, "|", error.hint)
"""


@pytest.mark.parametrize("what", ["file", "directory", "no search", "tracked directory"])
def test_an_unreadable_path_is_an_error(work: Path, what: str) -> None:
    """Run without the capabilities by which root ignores permissions."""
    argv = [sys.executable, "-c", _AS_USER, str(work)]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("no setpriv to give up the rights of root with")
        argv = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *argv]
    (work / "secret").mkdir()
    (work / "secret" / "key").write_text("key\n")
    places = {
        "file": (work / "secret" / "key", 0),
        "directory": (work / "secret", 0),
        "no search": (work / "secret", 0o400),
        "tracked directory": (work / "docs", 0),
    }
    if what == "tracked directory":
        snapshots.read_tree(open_project(work))
    path, mode = places[what]
    usual = path.stat().st_mode
    path.chmod(mode)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    finally:
        path.chmod(usual)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done
    for line in lines:
        assert line.startswith("FileError "), done
        assert path.name in line
        assert "permission denied" in line.lower()
        assert "ignore it" in line
    assert snapshots.read_tree(open_project(work))


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write", "delete", "move", "chmod", "link", "nest", "swap", "back"]),
            st.integers(0, 5),
            st.integers(0, 5),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_changes_give_the_tree_of_the_files(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    scratch = tmp_path_factory.mktemp("any")
    repo = scratch / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main")
    names = ["a", "b/c", "b/d/e", "ä\nö", os.fsdecode(b"\xff"), "b"]
    project = open_project(repo)
    first = snapshots.take(project, "t-1/first").tree
    trees, patches = [first], []
    for what, one, other in steps:
        _step(repo, what, repo / names[one], repo / names[other], one * 7 + other)
        trees.append(snapshots.read_tree(project))
        assert trees[-1] == _tree_in_python(repo)
        patches.append(snapshots.diff(project, trees[-2], trees[-1]))
    assert apply_patches(repo, first, patches, scratch) == trees[-1]
    assert snapshots.take(project, "t-1/last").tree == trees[-1]
    for tree in (trees[len(trees) // 2], first):
        snapshots.restore(project, tree, "t-1/before-restore")
        assert snapshots.read_tree(project) == tree == _tree_in_python(repo)


def _step(repo: Path, what: str, path: Path, other: Path, number: int) -> None:
    """Try the change; the file system may refuse it."""
    try:
        if what in ("write", "nest"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(BINARY[number:] if what == "nest" else f"{number:03}\r\n".encode())
            os.utime(path, (1, 1))
        elif what == "delete":
            path.unlink()
        elif what in ("move", "swap"):
            other.parent.mkdir(parents=True, exist_ok=True)
            path.rename(other)
        elif what == "chmod" and not path.is_symlink():
            path.chmod(path.stat().st_mode ^ 0o111 if path.is_file() else 0o755)
        elif what == "link":
            path.symlink_to(other.name)
        elif what == "back" and path.is_dir():
            shutil.rmtree(path)
    except OSError:
        pass


# Repositories of all kinds


def test_sha256(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "repo")
    repo = tmp_path / "repo"
    (repo / "file").write_text("x\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "x")
    project = open_project(repo)
    before = snapshots.take(project, "t-1/a")
    assert before.clean
    assert len(before.tree) == 64
    (repo / "file").write_text("y\n")
    (repo / "link").symlink_to("file")
    after = snapshots.take(project, "t-1/b")
    assert [one.change for one in snapshots.compare(project, before.tree, after.tree)] == [
        "changed",
        "added",
    ]
    snapshots.restore(project, before.tree, "t-1/c")
    assert snapshots.read_tree(project) == before.tree
    _assert_whole(repo, "refs/kedge/t-1/b")


def test_each_work_tree_has_its_own_snapshots(work: Path, tmp_path: Path) -> None:
    git(work, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "linked")
    linked = tmp_path / "linked"
    (linked / "README").write_text("in the linked one\n")
    (work / "README").write_text("in the main one\n")
    mine = snapshots.take(open_project(work), "t-1/main")
    theirs = snapshots.take(open_project(linked), "t-1/linked")
    assert (mine.branch, theirs.branch) == ("main", "linked")
    assert mine.tree != theirs.tree
    paths = [one.path for one in snapshots.compare(open_project(work), mine.tree, theirs.tree)]
    assert "README" in paths
    git(work, "worktree", "remove", "--force", str(linked))
    assert git(work, "rev-parse", "refs/kedge/t-1/linked^{tree}").strip() == theirs.tree
    _assert_whole(work, "refs/kedge/t-1/linked")


def test_a_shallow_clone_and_borrowed_objects(work: Path, tmp_path: Path) -> None:
    for name, options in (("shallow", ["--depth=1"]), ("borrowed", ["--shared"])):
        git(tmp_path, "clone", "--quiet", *options, f"file://{work}", name)
        project = open_project(tmp_path / name)
        before = snapshots.take(project, "t-1/a")
        assert before.clean
        (tmp_path / name / "README").write_text("edited\n")
        now = snapshots.read_tree(project)
        assert [one.path for one in snapshots.compare(project, before.tree, now)] == ["README"]
        assert snapshots.describe(project, before.tree, before.head, now) == "changed"


def test_the_tree_of_a_sparse_checkout_is_complete(work: Path) -> None:
    project = open_project(work)
    full = snapshots.take(project, "t-1/full").tree
    git(work, "status")  # git skips a file only if it knows that it is unchanged
    git(work, "sparse-checkout", "set", "--cone", "docs")
    assert not (work / "src").exists()
    (work / "docs" / "guide.md").write_text("edited\n")
    now = snapshots.take(project, "t-1/sparse")
    assert [one.path for one in snapshots.compare(project, full, now.tree)] == ["docs/guide.md"]
    snapshots.restore(project, full, "t-1/b")
    assert snapshots.read_tree(project) == full
    assert not (work / "src").exists()


def test_a_partial_clone_fetches_nothing(work: Path, tmp_path: Path) -> None:
    git(work, "config", "uploadpack.allowFilter", "true")
    options = ["--no-checkout", "--filter=blob:none"]
    git(tmp_path, "clone", "--quiet", *options, f"file://{work}", "partial")
    partial = tmp_path / "partial"
    git(partial, "sparse-checkout", "set", "--cone", "docs")
    git(partial, "checkout", "--quiet", "main")
    project = open_project(partial)
    with assert_untouched(partial):
        before = snapshots.take(project, "t-1/a")
    assert before.clean
    (partial / "docs" / "guide.md").write_text("edited\n")
    now = snapshots.read_tree(project)
    assert [one.path for one in snapshots.compare(project, before.tree, now)] == ["docs/guide.md"]


@pytest.mark.parametrize("place", ["elsewhere", "repo/state"])
def test_the_tree_does_not_depend_on_kedge_home(
    work: Path, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = snapshots.take(open_project(work), "t-1/a").tree
    shutil.rmtree(work / ".git" / "kedge")
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path / place))
    for name in ("t-1/b", "t-1/c"):
        assert snapshots.take(open_project(work), name).tree == expected
        assert snapshots.read_tree(open_project(work)) == expected
    assert not (work / ".git" / "kedge").exists()


def test_repositories_with_unusual_paths(tmp_path: Path) -> None:
    repo = tmp_path / 'a:b "c"\nd\\e ü'
    repo.mkdir()
    git(repo, "init", "--quiet")
    (repo / "file").write_text("x\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "x")
    project = open_project(repo)
    before = snapshots.take(project, "t-1/a")
    assert before.clean
    (repo / "file").write_text("y\n")
    now = snapshots.read_tree(project)
    assert b"+y" in snapshots.diff(project, before.tree, now)
    assert [one.path for one in snapshots.compare(project, before.tree, now)] == ["file"]


def test_very_deep_directories(repo: Path) -> None:
    deep = "/".join(["d"] * 1100)  # deeper than Python may recurse
    subprocess.run(["mkdir", "-p", repo / deep], check=True)
    (repo / deep / "file").write_text("x\n")
    project = open_project(repo)
    taken = snapshots.take(project, "t-1/a")
    (repo / deep / "file").unlink()
    assert [
        one.path for one in snapshots.compare(project, taken.tree, snapshots.read_tree(project))
    ] == [f"{deep}/file"]
    snapshots.restore(project, taken.tree, "t-1/b")
    assert (repo / deep / "file").read_text() == "x\n"
    subprocess.run(["rm", "-rf", repo / "d"], check=True)


def test_a_snapshot_needs_a_repository(tmp_path: Path) -> None:
    with pytest.raises(NoRepository):
        snapshots.read_tree(Project(tmp_path, None))


# Conversions


def test_the_base_is_what_git_calls_unchanged(work: Path) -> None:
    """With conversions, files have other bytes on the disk than in the commit."""
    (work / ".gitattributes").write_text("*.md text eol=crlf\n*.bin filter=pointer\n")
    git(work, "config", "filter.pointer.clean", "printf pointer")
    git(work, "config", "filter.pointer.smudge", "printf 'all the bytes'")
    (work / "README").write_text("committed\n")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--all", "--message", "converted")
    for name in ("docs/guide.md", "data.bin"):
        (work / name).unlink()
        git(work, "checkout", "--quiet", name)
    assert (work / "data.bin").read_bytes() == b"all the bytes"
    time.sleep(1.1)
    git(work, "status")  # so that git has read them
    project = open_project(work)
    (work / "README").write_text("edited\n")
    head = git(work, "rev-parse", "HEAD").strip()
    with assert_untouched(work):
        base = snapshots.take_base(project, "t-1/base", head)
    assert base.tree != snapshots.read_commit_tree(project, head)
    now = snapshots.take(project, "t-1/a")
    assert [one.path for one in snapshots.compare(project, base.tree, now.tree)] == ["README"]
    assert [one.path for one in snapshots.compare(project, head, now.tree)] == [
        "README",
        "data.bin",
        "docs/guide.md",
    ]
    (work / "README").write_text("committed\n")
    assert snapshots.take(project, "t-1/b").clean
    assert snapshots.read_tree(project) == base.tree
    _assert_whole(work, "refs/kedge/t-1/base")


def test_the_base_of_plain_files_is_the_commit(work: Path) -> None:
    project = open_project(work)
    head = git(work, "rev-parse", "HEAD").strip()
    (work / "README").write_text("edited\n")
    base = snapshots.take_base(project, "t-1/base", head)
    assert base.tree == snapshots.read_commit_tree(project, head)
    assert not base.clean
    assert base.head == head


# Patches and line counts


def test_lines_are_counted(work: Path) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/a").tree
    (work / "README").write_text(f"README\n{TEXT}one more\n")
    (work / "data.bin").write_bytes(b"\0")
    (work / "src/app.py").rename(work / "src/main.py")
    now = snapshots.read_tree(project)
    assert [astuple(one) for one in snapshots.count_lines(project, before, now)] == [
        ("README", 1, 0),
        ("data.bin", None, None),
        ("src/main.py", 0, 0),
    ]
    assert snapshots.count_lines(project, now, now) == []


def test_a_patch_of_some_paths(work: Path) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/a").tree
    (work / "README").write_text("x\n")
    (work / "docs" / "guide.md").write_text("y\n")
    (work / "*").write_text("z\n")
    now = snapshots.read_tree(project)
    patch = snapshots.diff(project, before, now, ["docs"])
    assert b"+y\n" in patch
    assert b"+x\n" not in patch
    assert snapshots.diff(project, before, now, ["*"]).count(b"diff --git") == 1
    assert snapshots.diff(project, before, now, []) == b""


def test_files_of_kedge_are_not_compared(work: Path) -> None:
    (work / ".kedge").mkdir()
    (work / ".kedge" / "config.toml").write_text("")
    git(work, "add", "--force", ".kedge")
    git(work, "commit", "--quiet", "--message", "kedge")
    project = open_project(work)
    taken = snapshots.take(project, "t-1/a")
    assert taken.clean
    assert ".kedge" not in git(work, "ls-tree", "--name-only", taken.tree).split()
    assert taken.head is not None
    assert snapshots.compare(project, taken.head, taken.tree) == []
    assert snapshots.diff(project, taken.head, taken.tree) == b""


@pytest.mark.parametrize("name", ["HEAD", "main", "--output=x", "", "0" * 39, "@{1}", "a" * 40])
def test_only_trees_can_be_compared(work: Path, name: str) -> None:
    project = open_project(work)
    tree = snapshots.read_tree(project)
    for call in (snapshots.compare, snapshots.diff, snapshots.count_lines):
        with pytest.raises((InvalidValue, GitError)) as caught:
            call(project, tree, name)
        assert caught.value.hint
    assert not (work / "x").exists()


# Restoring


def test_a_restore_keeps_ignored_files(work: Path) -> None:
    project = open_project(work)
    (work / "notes.txt").write_text("then\n")
    (work / ".env").write_text("ignored then\n")
    (work / ".gitignore").write_text("*.log\n.env\n/.kedge/\n")
    before = snapshots.take(project, "t-1/a")
    # The present rules ignore notes.txt and late.txt, and not .env.
    (work / ".gitignore").write_text("*.log\n*.txt\n/.kedge/\n")
    (work / "notes.txt").write_text("now, and ignored\n")
    (work / "late.txt").write_text("late\n")
    (work / "noise.log").write_text("noise\n")
    done = snapshots.restore(project, before.tree, "t-1/undo")
    assert snapshots.read_tree(project) == before.tree
    assert (work / "notes.txt").read_text() == "then\n"
    assert (work / ".env").read_text() == "ignored then\n"
    assert (work / "noise.log").read_text() == "noise\n"
    assert not (work / "late.txt").exists()
    kept = [git(work, "ls-tree", "-r", "--name-only", ref).splitlines() for ref in done.refs]
    assert any("late.txt" in names for names in kept)
    assert git(work, "show", f"{done.refs[0]}:notes.txt") == "now, and ignored\n"


def test_a_restore_does_not_write_through_a_link(work: Path, tmp_path: Path) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/a")
    outside = tmp_path / "outside"
    (work / "src").rename(outside)
    (outside / "app.py").write_text("outside\n")
    (work / "src").symlink_to(outside)
    (work / "docs" / "guide.md").unlink()
    (work / "docs" / "guide.md").symlink_to(outside / "app.py")
    snapshots.restore(project, before.tree, "t-1/b")
    assert snapshots.read_tree(project) == before.tree
    assert (outside / "app.py").read_text() == "outside\n"
    assert sorted(path.name for path in outside.iterdir()) == ["app.py", "deep"]
    assert not (work / "src").is_symlink()


def test_an_ignored_link_in_the_way_is_an_error(work: Path, tmp_path: Path) -> None:
    project = open_project(work)
    (work / "gen").mkdir()
    (work / "gen" / "x").write_text("x\n")
    before = snapshots.take(project, "t-1/a")
    shutil.rmtree(work / "gen")
    (tmp_path / "outside").mkdir()
    (work / "gen").symlink_to(tmp_path / "outside")
    (work / ".git" / "info" / "exclude").write_text("/gen\n")
    with pytest.raises(FileError, match="an ignored file is in its place"):
        snapshots.restore(project, before.tree, "t-1/b")
    assert [*(tmp_path / "outside").iterdir()] == []
    assert (work / "gen").is_symlink()


def test_directories_with_ignored_files_are_not_replaced(work: Path) -> None:
    project = open_project(work)
    (work / "spot").write_text("a file\n")
    before = snapshots.take(project, "t-1/a")
    (work / "spot").unlink()
    (work / "spot").mkdir()
    (work / "spot" / "dear.log").write_text("dear\n")
    with pytest.raises(FileError, match="an ignored file is in its place"):
        snapshots.restore(project, before.tree, "t-1/b")
    assert (work / "spot" / "dear.log").read_text() == "dear\n"
    (work / "spot" / "dear.log").rename(work / "dear.log")
    snapshots.restore(project, before.tree, "t-1/b")
    assert (work / "spot").read_text() == "a file\n"


_RESTORE = """
import os, sys
from pathlib import Path
from kedge.handoff.snapshot import restore, snapshots
from kedge.host import project
left = int(sys.argv[3])
def count(event, args):
    global left
    if event == "os.rename" and ".kedge-restore" in str(args[0]):
        left -= 1
        if left < 0:
            os._exit(9)
sys.addaudithook(count)
snapshots.restore(project.find(Path(sys.argv[1])), sys.argv[2], "t-1/undo")
"""


def test_a_restore_that_crashed_is_completed_by_the_next(work: Path) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/a")
    for name in ("README", "docs/guide.md", "lf.txt", "src/app.py"):
        (work / name).write_text("drifted\n")
    (work / "added").write_text("added\n")
    drifted = snapshots.read_tree(project)
    for left in (0, 1, 2):
        argv = [sys.executable, "-c", _RESTORE, str(work), before.tree, str(left)]
        assert subprocess.run(argv).returncode == 9
    done = snapshots.restore(project, before.tree, "t-1/undo")
    assert snapshots.read_tree(project) == before.tree
    assert done.refs == ("refs/kedge/t-1/undo-4",)
    assert git(work, "rev-parse", "refs/kedge/t-1/undo^{tree}").strip() == drifted
    assert [path.name for path in work.iterdir() if "kedge-restore" in path.name] == []


def test_a_restore_keeps_permissions(work: Path) -> None:
    project = open_project(work)
    (work / "README").chmod(0o600)
    before = snapshots.take(project, "t-1/a")
    (work / "README").write_text("drifted\n")
    (work / "run.sh").chmod(0o640)
    snapshots.restore(project, before.tree, "t-1/b")
    assert stat.S_IMODE((work / "README").stat().st_mode) == 0o600
    assert stat.S_IMODE((work / "run.sh").stat().st_mode) == 0o750


def test_a_restore_writes_only_what_differs(work: Path) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/a")
    (work / "lf.txt").write_text("drifted\n")
    inodes = {path.name: path.lstat().st_ino for path in work.iterdir()}
    snapshots.restore(project, before.tree, "t-1/b")
    changed = {p.name for p in work.iterdir() if p.lstat().st_ino != inodes[p.name]}
    assert changed == {"lf.txt"}


# Refs


BAD = ["", "t-1", "t-1/", "/a", "t-1/a/b", "../heads/main", "t-1/..", "t 1/a", "t-1/a.lock", "-x/a"]


@pytest.mark.parametrize("ref", [*BAD, "refs/heads/main", "refs/kedge/a", "t-1/a\n"])
def test_a_snapshot_cannot_use_another_ref(work: Path, ref: str) -> None:
    with assert_untouched(work), pytest.raises(InvalidValue):
        snapshots.take(open_project(work), ref)


@pytest.mark.parametrize(
    "prefix", ["", "/", "..", "*", "t-1/../../heads", "refs/kedge/", "refs/heads/main"]
)
def test_only_refs_of_kedge_can_be_dropped(work: Path, prefix: str) -> None:
    snapshots.take(open_project(work), "t-1/a")
    refs = git(work, "for-each-ref")
    with pytest.raises(InvalidValue):
        snapshots.drop(open_project(work), prefix)
    assert git(work, "for-each-ref") == refs


def test_drop_deletes_the_refs_of_one_task(work: Path) -> None:
    project = open_project(work)
    for ref in ("t-1/a", "t-1/b", "t-10/a", "t-2/a"):
        snapshots.take(project, ref)
    git(work, "pack-refs", "--all")
    with untouched_refs(work):
        assert snapshots.drop(project, "t-1") == 2
        assert snapshots.drop(project, "t-1") == 0
    left = git(work, "for-each-ref", "--format=%(refname)", "refs/kedge").split()
    assert left == ["refs/kedge/t-10/a", "refs/kedge/t-2/a"]
    assert snapshots.drop(project, "refs/kedge/t-2/a") == 1


class untouched_refs:
    """Branches, HEAD and reflogs are the same afterwards."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo

    def _state(self) -> list[str]:
        names = ["refs/heads", "refs/tags", "refs/remotes", "refs/stash"]
        return [
            git(self._repo, "for-each-ref", *names),
            git(self._repo, "reflog", "--all"),
            (self._repo / ".git" / "HEAD").read_text(),
        ]

    def __enter__(self) -> None:
        self._before = self._state()

    def __exit__(self, *_: object) -> None:
        assert self._state() == self._before


def test_a_planted_symbolic_ref_is_not_followed(work: Path) -> None:
    project = open_project(work)
    git(work, "symbolic-ref", "refs/kedge/t-1/a", "refs/heads/main")
    main = git(work, "rev-parse", "main")
    taken = snapshots.take(project, "t-1/a")
    assert git(work, "rev-parse", "main") == main
    assert git(work, "rev-parse", "refs/kedge/t-1/a").strip() == taken.commit
    git(work, "symbolic-ref", "refs/kedge/t-1/b", "refs/heads/main")
    assert snapshots.drop(project, "t-1") == 2
    assert git(work, "rev-parse", "main") == main


# Crashes, damage and concurrency


def test_leftovers_of_a_killed_process_do_no_harm(work: Path) -> None:
    project = open_project(work)
    tree = snapshots.read_tree(project)
    own = shadow_git.open_shadow(project).path
    (own / "index.lock").write_bytes(b"half")
    assert snapshots.read_tree(project) == tree
    for name in ("index", "config"):
        (own / name).write_bytes(b"half")
        if name == "config":
            shutil.rmtree(own)
        assert snapshots.read_tree(project) == tree
        assert snapshots.take(project, "t-1/a").tree == tree
    _assert_whole(work, "refs/kedge/t-1/a")


def test_a_damaged_index_is_rebuilt(work: Path) -> None:
    project = open_project(work)
    tree = snapshots.read_tree(project)
    index = shadow_git.open_shadow(project).path / "index"
    status = index.stat()
    with index.open("r+b") as file:
        file.write(b"JUNK")
    os.utime(index, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert snapshots.read_tree(project) == tree
    assert snapshots.take(project, "t-1/a").tree == tree


def test_concurrent_snapshots_agree(work: Path) -> None:
    project = open_project(work)
    for number in range(60):
        (work / f"new-{number}").write_text(f"{number}\n")

    def act(number: int) -> str:
        if number % 2:
            return snapshots.read_tree(project)
        return snapshots.take(project, f"t-1/{number}").tree

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(act, range(12)))) == 1
    assert len(git(work, "for-each-ref", "refs/kedge").splitlines()) == 6


def test_a_link_in_the_place_of_the_private_directory_is_refused(
    work: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (work / ".git" / "kedge").mkdir()
    (work / ".git" / "kedge" / "snapshots").symlink_to(tmp_path / "outside")
    with pytest.raises(KedgeError):
        snapshots.read_tree(open_project(work))
    assert [*(tmp_path / "outside").iterdir()] == []
