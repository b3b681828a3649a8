"""Exact snapshots of the working tree: take, look, compare, put back, and what became of HEAD."""

from __future__ import annotations

from enum import StrEnum

from kedge.handoff import private_index, shadow_git
from kedge.handoff.changes import Change, Lines, compare, diff, stat
from kedge.handoff.keeping import (
    Snapshot,
    base,
    drop,
    is_clean,
    kept,
    look,
    ref_of,
    take,
    tree_of,
)
from kedge.handoff.restore import Restored, restore
from kedge.handoff.shadow_git import ShadowGit, TreeId, object_id
from kedge.host.project import Project

__all__ = [
    "Change",
    "Lines",
    "Restored",
    "Snapshot",
    "State",
    "TreeId",
    "base",
    "compare",
    "describe",
    "diff",
    "drop",
    "kept",
    "look",
    "ref_of",
    "restore",
    "stat",
    "take",
    "tree_of",
]


class State(StrEnum):
    """How the repository stands to a snapshot."""

    CLEAN = "clean"  # as it was, and all of it is in HEAD
    SAME = "unchanged"
    CHANGED = "changed"
    REVERTED = "reverted to base"  # HEAD is as it was, and nothing differs from it any more
    COMMITTED = "committed"  # HEAD has moved on to exactly the snapshot
    AMENDED = "amended"
    ADVANCED = "new commits"
    REBASED = "rebased or switched"


def describe(project: Project, tree: str, head: str | None, now: str | None = None) -> State:
    """What happened since the snapshot `tree` was taken at `head`; `now` is what `look` says."""
    shadow = shadow_git.of(project).ready()
    current = look(project) if now is None else object_id(now)
    moved_to = shadow.repo.head()
    clean = is_clean(shadow, moved_to, current)
    if moved_to == head:
        if current == tree:
            return State.CLEAN if clean else State.SAME
        return State.REVERTED if clean else State.CHANGED
    if head is None or _is_ancestor(shadow, head, moved_to):
        committed = (current == tree and clean) or _is(shadow, moved_to, tree)
        return State.COMMITTED if committed else State.ADVANCED
    amended = _parents(shadow, head) == _parents(shadow, moved_to) and not _held(shadow, head)
    return State.AMENDED if amended else State.REBASED


def _is(shadow: ShadowGit, commit: str | None, tree: str) -> bool:
    return commit is not None and private_index.differing(shadow, commit, object_id(tree)) == []


def _is_ancestor(shadow: ShadowGit, commit: str, of: str | None) -> bool:
    if of is None:
        return False
    return shadow.repo.ask("merge-base", "--is-ancestor", object_id(commit), of) is not None


def _held(shadow: ShadowGit, commit: str) -> bool:
    """Whether a branch or tag still has the commit: it was left for another, then."""
    places = ["refs/heads", "refs/remotes", "refs/tags"]
    found = shadow.repo.ask("for-each-ref", "--count=1", f"--contains={commit}", *places)
    return bool(found)


def _parents(shadow: ShadowGit, commit: str | None) -> list[str] | None:
    """None where the commit is gone, which is nobody's equal."""
    found = shadow.repo.ask("rev-list", "--parents", "-n1", commit, "--") if commit else None
    return found.decode().split()[1:] if found else None
