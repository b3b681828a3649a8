"""Compare two trees: the paths that differ, a patch from one to the other, line counts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kedge.errors import GitError
from kedge.handoff.snapshot import nested, shadow_git
from kedge.handoff.snapshot.shadow_git import ShadowGit, check_object_id
from kedge.host.project import Project

LINK, SYMLINK, PROGRAM = "160000", "120000", "100755"  # a link is a nested repository
_RENAMES = ("-M50%", "-l1000")
_RAW = ("-r", "-z", "--raw", "--no-abbrev")
_KINDS = {"A": "added", "D": "deleted", "T": "type", "R": "renamed"}


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a tree."""

    mode: str
    oid: str
    path: bytes

    @property
    def line(self) -> bytes:
        """The entry as `git ls-files --stage` prints it."""
        return f"{self.mode} {self.oid} 0\t".encode() + self.path


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """A path that differs: git's status, the old entry, and the new one."""

    status: str
    old: TreeEntry
    new: TreeEntry


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that differs. `change` is added, changed, deleted, renamed, mode, or type.

    A file that was renamed and edited is `renamed` with a similarity below 100. Modes are git's,
    `000000` if there is no file. `type` means, for example, that a file became a link.
    """

    path: str
    change: str
    old_path: str | None = None
    old_mode: str = "000000"
    new_mode: str = "000000"
    similarity: int | None = None
    old_blob: str = ""
    new_blob: str = ""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """The lines a file gained and lost; None for a binary file."""

    path: str
    added: int | None
    deleted: int | None


def compare(project: Project, before: str, after: str) -> list[PathChange]:
    """Return every path that differs except kedge's own, sorted by path."""
    if before == after:
        return []
    changes: list[PathChange] = []
    shadow = shadow_git.open_shadow(project)
    for one in find_differences(shadow, before, after, *_RENAMES):
        inside = _compare_nested(project, one)
        if inside:
            changes += inside
            continue
        kind = _KINDS.get(one.status[0], "changed")
        if kind == "changed" and one.old.oid == one.new.oid:
            kind = "mode"
        similarity = int(one.status[1:]) if kind == "renamed" else None
        old_path = None if kind == "added" else os.fsdecode(one.old.path)
        path = os.fsdecode(one.new.path)
        modes, blobs = (one.old.mode, one.new.mode), (one.old.oid, one.new.oid)
        changes.append(PathChange(path, kind, old_path, *modes, similarity, *blobs))
    return sorted(changes, key=lambda one: (os.fsencode(one.path), one.change))


def list_files(project: Project, tree: str) -> dict[str, str]:
    """Return the blob of each regular file in a tree."""
    shadow = shadow_git.open_shadow(project).prepare()
    listed = shadow.git("ls-tree", "-r", "-z", check_object_id(tree))
    rows = [line.partition(b"\t") for line in listed.split(b"\0") if line.startswith(b"100")]
    return {os.fsdecode(path): facts.split()[2].decode() for facts, _, path in rows}


def read_blob(project: Project, blob: str) -> bytes:
    """Return the bytes of a file in a tree."""
    shadow = shadow_git.open_shadow(project).prepare()
    return shadow.git("cat-file", "blob", check_object_id(blob))


def _compare_nested(project: Project, one: TreeDifference) -> list[PathChange]:
    """Return what differs inside a nested repository whose HEAD is the same in both trees."""
    repo = nested.open_repo(project, one.new.path) if one.old.mode == one.new.mode == LINK else None
    trees = nested.find_trees(repo, one.old.oid, one.new.oid) if repo is not None else None
    if repo is None or trees is None:
        return []
    top = os.fsdecode(one.new.path)
    return [
        replace(
            inner, path=f"{top}/{inner.path}", old_path=inner.old_path and f"{top}/{inner.old_path}"
        )
        for inner in compare(Project(repo.root, repo), *trees)
    ]


def diff(project: Project, before: str, after: str, paths: Sequence[str] | None = None) -> bytes:
    """Return a patch with which `git apply --binary` turns one tree into the other.

    With `paths`, only these paths.
    """
    if before == after or paths == []:
        return b""
    options = ["-r", "-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv"]
    shadow = shadow_git.open_shadow(project)
    return _diff_trees(shadow, [*options, *_RENAMES], before, after, paths or ())


def count_lines(project: Project, before: str, after: str) -> list[LineCounts]:
    """Count the lines that each file gained and lost, sorted by path."""
    if before == after:
        return []
    options = ["-r", "-z", "--numstat", "--no-ext-diff", "--no-textconv", *_RENAMES]
    fields = iter(_diff_trees(shadow_git.open_shadow(project), options, before, after).split(b"\0"))
    counts = []
    for facts in fields:
        if not facts:
            continue
        added, deleted, path = facts.split(b"\t", 2)
        if not path:  # renamed: both names follow
            next(fields)
            path = next(fields)
        counts.append(LineCounts(os.fsdecode(path), _parse_count(added), _parse_count(deleted)))
    return sorted(counts, key=lambda one: os.fsencode(one.path))


def find_differences(
    shadow: ShadowGit, before: str, after: str, *options: str
) -> list[TreeDifference]:
    """Return the entries that differ, without kedge's own.

    Unless an option asks for renames, a rename is a deletion and an addition.
    """
    fields = iter(_diff_trees(shadow, [*_RAW, *options], before, after).split(b"\0"))
    changes = []
    for facts in fields:
        if not facts:
            continue
        old_mode, mode, old_oid, oid, status = facts.decode().removeprefix(":").split(" ")
        first = next(fields)
        path = next(fields) if status[0] == "R" else first
        old, new = TreeEntry(old_mode, old_oid, first), TreeEntry(mode, oid, path)
        changes.append(TreeDifference(status, old, new))
    return changes


def _diff_trees(
    shadow: ShadowGit,
    options: Sequence[str],
    before: str,
    after: str,
    paths: Sequence[str] = (),
) -> bytes:
    trees = [check_object_id(before), check_object_id(after)]
    named = [f":(top,literal){path}" for path in paths]
    try:
        return shadow.prepare().git("diff-tree", *options, *trees, "--", *named, *shadow.exclude)
    except GitError as error:
        shadow.distrust_index()  # so that the next reading stores missing objects again
        raise GitError(
            f"the trees cannot be compared: {error.message}",
            hint="a tree without a ref is deleted in time: take a snapshot and compare again",
        ) from error


def _parse_count(text: bytes) -> int | None:
    return None if text == b"-" else int(text)
