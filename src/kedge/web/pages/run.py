"""One run: its limits, its tasks and their attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.model.ids import TaskId
from kedge.web.pages.runs import list_cards
from kedge.web.routes import Refused

if TYPE_CHECKING:
    from kedge.model.attempt import Attempt
    from kedge.web.routes import Target
    from kedge.web.source import Source


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    card = next((one for one in list_cards(source) if one.record.id == target.item), None)
    if card is None:
        raise Refused(404, "there is no such run")
    record = card.record
    names = dict.fromkeys(str(one["task"]) for one in record.results)
    if record.at is not None:
        names[record.at.task] = None
    results = {str(one["task"]): one for one in record.results}
    return "run.html", {
        "title": f"Run {record.id}",
        "card": card,
        "tasks": [
            (
                name,
                source.tasks.get(TaskId(name)),
                results.get(name),
                _list(source, name, record.id),
            )
            for name in names
        ],
    }


def _list(source: Source, task: str, run: str) -> list[Attempt]:
    """Return the attempts of a run at a task."""
    try:
        return [one for one in source.ledger.read(task)[0] if one.run == run]
    except ValueError:
        return []
