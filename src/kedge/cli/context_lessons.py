"""Lessons from the knowledge bank for a role that reads a handoff."""

from __future__ import annotations

from typing import Any

from kedge.errors import KedgeError
from kedge.handoff import role_views
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.snapshot import snapshots
from kedge.handoff.task_context import TaskContext
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.recall import selection
from kedge.model.ids import TaskId
from kedge.model.task import Task

_TOKENS = 600


def select_lessons(
    handoff: HandoffOperations, context: TaskContext, name: str
) -> list[dict[str, Any]]:
    """Return the lessons that are relevant to the task and to the changed paths."""
    if not role_views.has_part(name, "lessons"):
        return []
    asked = context.immutable["task_snapshot"]
    task = Task(
        TaskId(context.task_id),
        asked["title"],
        description=asked["description"],
        acceptance=tuple(asked["acceptance_criteria"]),
        scope_in=tuple(context.immutable["repo_paths"]),
    )
    bank = Bank(handoff.project, handoff.settings)
    selected = selection.select_lessons(
        bank, selection.query_for_task(task, _changed_paths(handoff, context)), _TOKENS
    )
    handoff.warnings += selected.warnings
    lessons = [one.data() for one in selected.lessons]
    if lessons and not selected.whole:
        more = f"kedge knowledge list --task {context.task_id}"
        lessons[-1]["text"] += f"\n[… more was left out; `{more}` prints it]"
    return lessons


def _changed_paths(handoff: HandoffOperations, context: TaskContext) -> list[str]:
    """Return the paths that differ between the base and the last snapshot."""
    if not context.snapshots:
        return []
    _, kept = context.snapshots[-1]
    try:
        base = str(context.git["base_tree"])
        return [one.path for one in snapshots.compare(handoff.project, base, kept.tree)]
    except KedgeError as error:
        handoff.warnings.append(f"lessons were selected without the changed paths: {error.message}")
        return []
