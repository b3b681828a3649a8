"""The changes between two trees that are not kedge's own edits of the project's documents."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.handoff.snapshot import snapshots
from kedge.handoff.snapshot.tree_changes import PathChange
from kedge.host.own_edits import OwnEdits
from kedge.host.project import Project


def list_foreign(project: Project, before: str, after: str) -> list[PathChange]:
    """Return every path that differs, except where edits of kedge alone explain the difference."""
    return drop_own(project, snapshots.compare(project, before, after))


def drop_own(project: Project, changes: Sequence[PathChange]) -> list[PathChange]:
    """Return the changes without those that kedge made itself."""
    if not changes:
        return []
    own = OwnEdits(project.root)
    return [one for one in changes if not (own and _is_own(own, one))]


def _is_own(own: OwnEdits, one: PathChange) -> bool:
    if one.change not in ("added", "changed", "deleted"):
        return False
    return own.explain(one.path, one.old_blob, one.new_blob)
