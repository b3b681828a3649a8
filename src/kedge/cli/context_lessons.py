"""What the knowledge bank has to say to those who look at what was handed over."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.handoff import snapshots, views
from kedge.handoff.context import Context
from kedge.handoff.desk import Desk
from kedge.model.ids import TaskId
from kedge.model.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOKENS = 600


def lessons(desk: Desk, context: Context, name: str) -> list[dict[str, Any]]:
    """Those that matter for what was asked and for the paths that were changed."""
    from kedge.knowledge import recall
    from kedge.knowledge.bank import Bank

    if not views.needs(name, "lessons"):
        return []
    asked = context.immutable["task_snapshot"]
    task = Task(
        TaskId(context.task_id),
        asked["title"],
        description=asked["description"],
        acceptance=tuple(asked["acceptance_criteria"]),
        scope_in=tuple(context.immutable["repo_paths"]),
    )
    bank = Bank(desk.project, desk.settings)
    found = recall.recall(bank, recall.asked(task, _changed(desk, context)), _TOKENS)
    desk.warnings += found.warnings
    told = [one.data() for one in found.lessons]
    if told and not found.whole:
        more = f"kedge knowledge list --task {context.task_id}"
        told[-1]["text"] += f"\n[… more was left out; `{more}` prints it]"
    return told


def _changed(desk: Desk, context: Context) -> list[str]:
    """The paths that differ from the start in what was left last."""
    if not context.snapshots:
        return []
    _, kept = context.snapshots[-1]
    try:
        base = str(context.git["base_tree"])
        return [one.path for one in snapshots.compare(desk.project, base, kept.tree)]
    except KedgeError as error:
        desk.warnings.append(f"lessons are chosen without the changed paths: {error.message}")
        return []
