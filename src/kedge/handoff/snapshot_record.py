"""Take a snapshot of the working tree, and record it with its diff. Secrets are refused."""

from __future__ import annotations

from collections.abc import Collection

from kedge.errors import SecretFound
from kedge.handoff.artifacts import MAX_BYTES, Artifacts
from kedge.handoff.canonical_form import sha256
from kedge.handoff.foreign_changes import drop_own
from kedge.handoff.scope import scopes
from kedge.handoff.snapshot import added_text, snapshots
from kedge.handoff.task_context import SnapshotRecord, TaskContext
from kedge.handoff.verification import escape_path
from kedge.host import clock
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.host.secrets import name_branch, refuse

_LARGE_DIFF = 10_000_000  # bytes; a larger diff gets a warning


def take(
    project: Project,
    context: TaskContext,
    ref: str,
    actor: str,
    artifacts: Artifacts,
    allow: Collection[str],
) -> tuple[SnapshotRecord, list[str]]:
    """Keep the working tree under a ref; return its record, and warnings."""
    base = str(context.git["base_tree"])
    refuse_secrets(project, base, {*allow, *context.audit.get("allowed_secrets", ())})
    taken = snapshots.take(project, ref)
    diff = snapshots.diff(project, base, taken.tree)
    changes = snapshots.compare(project, base, taken.tree)
    lines = snapshots.count_lines(project, base, taken.tree)
    paths = context.immutable["repo_paths"]
    in_scope = scopes.make_matcher(paths)
    outside = [
        escape_path(one.path) for one in drop_own(project, changes) if not in_scope(one.path)
    ]
    record = SnapshotRecord(
        tree=taken.tree,
        commit=taken.commit,
        ref=ref,
        at=clock.now(),
        actor=actor,
        head=taken.head,
        branch=name_branch(taken.branch),
        diff_sha=sha256(diff) if len(diff) > MAX_BYTES else artifacts.put(diff),
        diff_bytes=len(diff),
        files=len(changes),
        added=sum(one.added or 0 for one in lines),
        deleted=sum(one.deleted or 0 for one in lines),
        outside=tuple(outside) if paths else (),
        vanished=tuple(scopes.find_vanished(project, paths)),
    )
    return record, [*taken.warnings, *_find_oddities(diff)]


def refuse_secrets(project: Project, base: str, known: Collection[str]) -> None:
    """Raise SecretFound for a secret in what the working tree adds, and keep no copy of it."""
    now = snapshots.read_tree(project)
    try:
        for path, text in added_text.find_added_text(project, base, now):
            refuse(f"the diff of {redact(path)}", f"{path}\n{text}", known)
    except SecretFound:
        added_text.forget_text(project, base, now)
        raise


def _find_oddities(diff: bytes) -> list[str]:
    if len(diff) <= _LARGE_DIFF:
        return []
    return [f"the diff has {len(diff) / 1e6:.0f} MB: check that it holds no build output"]
