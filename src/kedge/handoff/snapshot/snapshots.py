"""Exact snapshots of the working tree: take, read, compare, restore, and describe HEAD."""

from __future__ import annotations

from enum import StrEnum

from kedge.handoff.snapshot import shadow_git
from kedge.handoff.snapshot.commits import (
    Snapshot,
    drop,
    finish_dropping,
    forget_objects,
    is_clean,
    list_snapshots,
    make_ref,
    read_commit_tree,
    read_tree,
    take,
    take_base,
)
from kedge.handoff.snapshot.restore import RestoreResult, restore
from kedge.handoff.snapshot.shadow_git import ShadowGit, TreeId, check_object_id
from kedge.handoff.snapshot.tree_changes import (
    LineCounts,
    PathChange,
    compare,
    count_lines,
    diff,
    find_differences,
    list_files,
    read_blob,
)
from kedge.host.project import Project

__all__ = [
    "LineCounts",
    "PathChange",
    "RepoStatus",
    "RestoreResult",
    "Snapshot",
    "TreeId",
    "compare",
    "count_lines",
    "describe",
    "diff",
    "drop",
    "finish_dropping",
    "forget_objects",
    "list_files",
    "list_snapshots",
    "make_ref",
    "read_blob",
    "read_commit_tree",
    "read_tree",
    "restore",
    "take",
    "take_base",
]


class RepoStatus(StrEnum):
    """How the repository differs from a snapshot."""

    CLEAN = "clean"  # unchanged, and HEAD holds all of it
    SAME = "unchanged"
    CHANGED = "changed"
    REVERTED = "reverted to base"  # same HEAD, and the work tree equals it
    COMMITTED = "committed"  # a new HEAD holds exactly the snapshot
    AMENDED = "amended"
    ADVANCED = "new commits"
    REBASED = "rebased or switched"


def describe(project: Project, tree: str, head: str | None, now: str | None = None) -> RepoStatus:
    """Return what happened since snapshot `tree` was taken at `head`; `now` is the present tree."""
    shadow = shadow_git.open_shadow(project).prepare()
    current = read_tree(project) if now is None else check_object_id(now)
    moved_to = shadow.repo.head()
    clean = is_clean(shadow, moved_to, current)
    if moved_to == head:
        if current == tree:
            return RepoStatus.CLEAN if clean else RepoStatus.SAME
        return RepoStatus.REVERTED if clean else RepoStatus.CHANGED
    if head is None or _is_ancestor(shadow, head, moved_to):
        committed = (current == tree and clean) or _holds_tree(shadow, moved_to, tree)
        return RepoStatus.COMMITTED if committed else RepoStatus.ADVANCED
    amended = _parents(shadow, head) == _parents(shadow, moved_to) and not _is_held(shadow, head)
    return RepoStatus.AMENDED if amended else RepoStatus.REBASED


def _holds_tree(shadow: ShadowGit, commit: str | None, tree: str) -> bool:
    return commit is not None and not find_differences(shadow, commit, tree)


def _is_ancestor(shadow: ShadowGit, commit: str, of: str | None) -> bool:
    if of is None:
        return False
    return shadow.repo.ask("merge-base", "--is-ancestor", check_object_id(commit), of) is not None


def _is_held(shadow: ShadowGit, commit: str) -> bool:
    """True if a branch or tag still contains the commit, so that it was not amended away."""
    places = ["refs/heads", "refs/remotes", "refs/tags"]
    ref = shadow.repo.ask("for-each-ref", "--count=1", f"--contains={commit}", *places)
    return bool(ref)


def _parents(shadow: ShadowGit, commit: str | None) -> list[str] | None:
    """Return the parents of the commit; None if it is missing."""
    line = shadow.repo.ask("rev-list", "--parents", "-n1", commit, "--") if commit else None
    return line.decode().split()[1:] if line else None
