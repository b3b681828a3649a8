"""Reports of implementers in a run: what a task of a feature is asked for, and where it is kept."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.handoff import snapshots
from kedge.knowledge import implementation_log, topic
from kedge.knowledge.report_check import Changed
from kedge.model.task import Task
from kedge.tasks import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.run.bench import Bench

ASKED = """\
## REPORT

End with a report under these headings, "none" where there is nothing to say:

- Implemented
- Tested
- Files changed
- Self-review
- Decisions
- Deviations
- Concerns"""


def is_due(bench: Bench, task: Task) -> bool:
    """Whether the task is one of a feature, whose log those who come later read."""
    return bench.board().backend.name == "feature_docs" and task.epic is not None


def keep(bench: Bench, task: Task, text: str, attempt: int, start: str, after: str) -> None:
    """Add a report to the feature's log, checked against what really changed.

    One that is empty or cannot be kept is told about, and the work goes on.
    """
    changes = snapshots.compare(bench.project, start, after)
    paths = tuple((one.path, one.old_path) for one in changes)
    try:
        home = choose.keeper(bench.project)
        about = topic.find(home, task.id, settings=bench.settings.tasks)
        changed = Changed(paths, "the task's start")
        made = implementation_log.append(home, about, text, attempt=attempt, changed=changed)
    except KedgeError as error:
        bench.tell(
            "warning", {"text": f"the report of {task.id} is not in the log: {error.message}"}
        )
        return
    told = {"task": task.id, "log": made.log, "partial": made.report.partial}
    if made.check is not None:
        told |= {"unchanged": list(made.check.unchanged), "unreported": list(made.check.unreported)}
    bench.tell("report", told)
    for one in made.warnings:
        bench.tell("warning", {"text": one})
