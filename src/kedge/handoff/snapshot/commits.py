"""Snapshots as commits under `refs/kedge/<task>/` in the user's repository."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kedge.errors import InvalidValue
from kedge.handoff.snapshot import nested, refs, shadow_git, tree_changes, working_tree
from kedge.handoff.snapshot.shadow_git import ShadowGit, TreeId, check_object_id
from kedge.handoff.snapshot.tree_changes import LINK, TreeEntry
from kedge.handoff.task_context import WORKTREE_MARK
from kedge.host import files
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.model.ids import RULE, is_id

REFS = "refs/kedge/"
SAVED_WORK = (f"{REFS}set-aside/", f"{REFS}before-revert/")  # of an agent, kept for the user
_AUTHOR = "kedge <kedge@localhost>"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The working tree at one moment. `clean` means, as in git, that there is nothing to commit."""

    tree: TreeId
    commit: str
    head: str | None
    branch: str | None
    clean: bool
    warnings: tuple[str, ...] = ()


def take(project: Project, ref: str, *, also: Collection[str] = ()) -> Snapshot:
    """Take a snapshot of the working tree under `refs/kedge/<task>/<name>`.

    `also` names ignored files to include. The user's index, HEAD, stash, reflogs, settings and
    files are not touched.
    """
    name = check_ref(ref)
    shadow = shadow_git.open_shadow(project)
    with shadow.lock():
        head = shadow.repo.head()
        reading = working_tree.read(shadow, keep=True, also=[os.fsencode(path) for path in also])
        commit = _store_commit(project, shadow, reading.tree, head, name)
        clean = is_clean(shadow, head, reading.tree)
        nested.protect(project, reading.nested, name)
    return Snapshot(reading.tree, commit, head, shadow.repo.branch(), clean, reading.warnings)


def read_tree(project: Project) -> TreeId:
    """Return the working tree as a git tree, without writing to the user's repository."""
    shadow = shadow_git.open_shadow(project)
    with shadow.lock():
        return working_tree.read(shadow, keep=False).tree


def take_base(project: Project, ref: str, commit: str | None) -> Snapshot:
    """Take a snapshot of the commit with the bytes that its files have in this work tree.

    Where git converts files (line endings, filters), an unchanged file has other bytes on the disk
    than in the commit. Compared with this snapshot, only real changes differ.
    """
    name = check_ref(ref)
    shadow = shadow_git.open_shadow(project)
    with shadow.lock():
        start = read_commit_tree(project, commit)
        now = working_tree.read(shadow, keep=False)
        same = _find_converted(shadow, commit, start, now.tree) if commit else []
        shadow.keep_objects(one.oid for one in same)
        tree = _replace_entries(shadow, start, same) if same else start
        stored = _store_commit(project, shadow, tree, commit, name)
        clean = is_clean(shadow, commit, now.tree)
    return Snapshot(tree, stored, commit, shadow.repo.branch(), clean, now.warnings)


def forget_objects(project: Project) -> None:
    """Delete the private copies of files; the next reading of the tree makes them again."""
    shadow = shadow_git.open_shadow(project)
    with shadow.lock():
        shadow.forget_objects()


def read_commit_tree(project: Project, commit: str | None) -> TreeId:
    """Return the tree of a commit; the empty tree for None."""
    shadow = shadow_git.open_shadow(project)
    if commit is None:
        empty = shadow.repo.git("hash-object", "-t", "tree", "--stdin", input=b"")
        return TreeId(empty.decode().strip())
    name = f"{check_object_id(commit)}^{{tree}}"
    return TreeId(shadow.repo.git("rev-parse", "--verify", name).decode().strip())


def drop(project: Project, prefix: str) -> int:
    """Delete the refs of a task, or one named ref; return how many were deleted."""
    name = prefix.removeprefix(REFS).rstrip("/")
    if not 1 <= len(name.split("/")) <= 2 or not all(is_id(part) for part in name.split("/")):
        raise InvalidValue(
            f"{prefix[:80]!r} is not the name of a snapshot", hint=f"an id has {RULE}"
        )
    names = list_refs(project, name)
    _delete_refs(project, names)
    return len(names)


def finish_dropping(project: Project) -> None:
    """Remove the locks of a git that was killed over the last of the refs."""
    refs.finish(project.home(), shadow_git.open_shadow(project).repo)


def drop_all(project: Project) -> None:
    """Delete every ref of kedge's in the repository."""
    _delete_refs(project, list_refs(project, ""))


def list_saved_work(project: Project) -> list[tuple[str, str]]:
    """List the refs that keep unfinished or reverted work of an agent, each with its commit."""
    return [
        (ref, _read_commit(project, ref))
        for ref in list_refs(project, "")
        if ref.startswith(SAVED_WORK)
    ]


def _read_commit(project: Project, ref: str) -> str:
    output = shadow_git.open_shadow(project).repo.git("rev-parse", "--verify", ref)
    return output.decode().strip()


def _delete_refs(project: Project, names: Collection[str]) -> None:
    shadow = shadow_git.open_shadow(project)
    for one in names:
        nested.release(project, _list_links(shadow, one), one)
    refs.delete(project.home(), shadow.repo, list(names))


def _list_links(shadow: ShadowGit, ref: str) -> list[bytes]:
    """Return the paths of the nested repositories in a snapshot."""
    listed = shadow.repo.ask("ls-tree", "-r", "-z", ref) or b""
    lines = [line for line in listed.split(b"\0") if line.startswith(LINK.encode())]
    return [line.partition(b"\t")[2] for line in lines]


def list_refs(project: Project, prefix: str) -> list[str]:
    """List the refs at or below `refs/kedge/<prefix>`."""
    repo = shadow_git.open_shadow(project).repo
    out = repo.git("for-each-ref", "--format=%(refname)", REFS + prefix)
    return out.decode("utf-8", "surrogateescape").splitlines()


def make_ref(project: Project, task: str, name: str) -> str:
    """Return the ref of a snapshot. Work trees share refs but not contexts, so each has its own."""
    return check_ref(f"{task}/{name}{_worktree_suffix(project)}")


def _worktree_suffix(project: Project) -> str:
    repo = project.repo
    if repo is None or not repo.linked:
        return ""
    return f"{WORKTREE_MARK}{digest([os.fsencode(repo.git_dir)])[:8]}"


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A snapshot in git; `at` is when it was taken."""

    ref: str
    commit: str
    tree: str
    at: str


def list_snapshots(project: Project, task: str) -> list[tuple[str, SnapshotRef]]:
    """Return the names and refs of a task's snapshots in this work tree, oldest first."""
    form = (
        "%(refname)%00%(objectname)%00%(tree)%00%(committerdate:format:%Y-%m-%dT%H:%M:%S.000000Z)"
    )
    repo = shadow_git.open_shadow(project).repo
    out = repo.git("for-each-ref", f"--format={form}", REFS + check_ref(f"{task}/x").split("/")[2])
    rows = [line.split("\0") for line in out.decode("utf-8", "surrogateescape").splitlines()]
    pairs = []
    for one in (SnapshotRef(*row) for row in rows if len(row) == 4):
        name, mark, tail = one.ref.rsplit("/", 1)[1].partition(WORKTREE_MARK)
        if mark + tail == _worktree_suffix(project):
            pairs.append((name, one))
    return sorted(pairs, key=lambda pair: pair[1].at)


def check_ref(ref: str) -> str:
    """Return the full ref of `<task>/<name>`, given with or without `refs/kedge/`."""
    parts = ref.removeprefix(REFS).split("/")
    if len(parts) != 2 or not all(is_id(part) for part in parts):
        raise InvalidValue(
            f"{ref[:80]!r} cannot name a snapshot", hint=f"use <task>/<name>, each with {RULE}"
        )
    return REFS + "/".join(parts)


def is_clean(shadow: ShadowGit, commit: str | None, tree: str) -> bool:
    """True if git sees no change between the commit and the work tree, whose tree this is."""
    if commit is None:
        return not shadow.git("ls-tree", tree)
    changes = tree_changes.find_differences(shadow, commit, tree)
    if any(one.status in "AD" or LINK in (one.old.mode, one.new.mode) for one in changes):
        return False
    # A file that differs only by a conversion is unchanged to git.
    return not changes or not _find_changed(shadow, commit)


def _find_changed(shadow: ShadowGit, commit: str) -> set[bytes]:
    """Return the paths that the user's own git calls changed, conversions included.

    Filters are not run: git compares a file with a filter by its stat data only.
    """
    options = ["--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"]
    options += ["--ignore-submodules=dirty", commit, "--"]
    with _index_copy(shadow) as env:
        out = shadow.repo.git("diff", *options, env=env)
    return {path for path in out.split(b"\0") if path and not path.startswith(b".kedge/")}


@contextlib.contextmanager
def _index_copy(shadow: ShadowGit) -> Iterator[dict[str, str]]:
    """Yield the environment for a copy of the user's index: `git diff` rewrites its index."""
    own = shadow.repo.git_dir / "index"
    copy = shadow.path / f"index.theirs-{os.getpid()}"
    try:
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(own, copy)  # with its time, which tells git what to read again
        yield {"GIT_INDEX_FILE": str(copy)}
    except OSError as error:
        raise files.file_error("copy", own, error) from error
    finally:
        copy.unlink(missing_ok=True)


def _find_converted(shadow: ShadowGit, commit: str, start: str, now: str) -> list[TreeEntry]:
    """Return the entries that differ by a conversion alone."""
    changes = tree_changes.find_differences(shadow, start, now)
    modified = [one.new for one in changes if one.status in "MT"]
    changed = _find_changed(shadow, commit) if modified else set()
    return [one for one in modified if one.path not in changed and one.mode != LINK]


def _replace_entries(shadow: ShadowGit, tree: str, entries: list[TreeEntry]) -> TreeId:
    index = shadow.path / "index.base"
    try:
        shadow.git("read-tree", tree, index=index)
        lines = b"".join(one.line + b"\0" for one in entries)
        shadow.git("update-index", "-z", "--index-info", input=lines, index=index)
        written = shadow.git("write-tree", "--missing-ok", index=index, keep=True)
    finally:
        index.unlink(missing_ok=True)
    return TreeId(written.decode().strip())


def _store_commit(
    project: Project, shadow: ShadowGit, tree: str, head: str | None, ref: str
) -> str:
    """Store a commit under the ref, which saves the tree and HEAD from garbage collection."""
    author = f"{_AUTHOR} {int(time.time())} +0000"
    lines = [f"tree {tree}"]
    lines += [f"parent {head}"] if head else []
    lines += [f"author {author}", f"committer {author}", "", f"{ref}\n"]
    text = "\n".join(lines).encode()
    out = shadow.git("hash-object", "-t", "commit", "-w", "--stdin", input=text, keep=True)
    commit = out.decode().strip()
    refs.write(project.home(), shadow.repo, ref, commit)
    return commit
