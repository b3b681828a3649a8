"""One task: what is asked, the attempts at it with their proof, its sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.errors import KedgeError
from kedge.handoff.context_store import ContextStore
from kedge.handoff.snapshot import snapshots
from kedge.model.ids import TaskId, is_id
from kedge.store import overview
from kedge.tasks import rules
from kedge.web.pages.tasks import build_columns
from kedge.web.patches import read_patch
from kedge.web.routes import Refused

if TYPE_CHECKING:
    from kedge.model.attempt import Attempt
    from kedge.web.patches import PatchedFile
    from kedge.web.routes import Target
    from kedge.web.source import Source

_SESSIONS = 20


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    name = target.item
    task = source.tasks.get(TaskId(name)) if is_id(name) else None
    if task is None:
        raise Refused(404, "there is no such task")
    attempts, warnings = source.ledger.read(name)
    source.warnings += warnings
    number = target.number("attempt")
    chosen = next((one for one in attempts if one.number == number), None)
    files, cut, why = read_diff(source, chosen) if chosen else ([], False, "")
    columns = build_columns(source.tasks, [task])
    place = next((column for column in columns if column.cards), None)
    return "task.html", {
        "title": task.title,
        "task": task,
        "place": place.name if place else "epic",
        "note": place.cards[0].note if place else "",
        "unproven": rules.UNPROVEN in task.labels,
        "children": rules.children(source.tasks, task.id),
        "needed_by": [one for one in source.tasks.values() if task.id in one.depends_on],
        "tasks": source.tasks,
        "attempts": attempts[::-1],
        "cost": sum(one.cost_usd or 0 for one in attempts),
        "tokens": sum((one.tokens_in or 0) + (one.tokens_out or 0) for one in attempts),
        "chosen": chosen,
        "files": files,
        "cut": cut,
        "why": why,
        "has_handoff": ContextStore(source.project).exists(name),
        "sessions": [
            source.describe_session(row)
            for row in overview.list_of_task(source.db, name, _SESSIONS)
        ],
    }


def read_diff(source: Source, attempt: Attempt) -> tuple[list[PatchedFile], bool, str]:
    """Return what an attempt changed, whether that was cut, and why it is not known."""
    if not attempt.start_tree or not attempt.end_tree:
        return [], False, "This attempt has no trees: it was recorded by hand."
    try:
        patch = snapshots.diff(source.project, attempt.start_tree, attempt.end_tree)
    except KedgeError as error:
        return [], False, f"{error.message}: {error.hint}" if error.hint else error.message
    files, cut = read_patch(patch)
    return files, cut, "" if files else "This attempt changed nothing."
