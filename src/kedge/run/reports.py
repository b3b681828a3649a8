"""Reports that implementers write about tasks of a feature, kept in the feature's log."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.features.layouts import get_layout
from kedge.handoff.snapshot import snapshots
from kedge.knowledge import topic
from kedge.knowledge.log import implementation_log
from kedge.knowledge.log.file_check import ChangedFiles
from kedge.model.task import Task
from kedge.run.run_state import RunState
from kedge.tasks import choose

INSTRUCTIONS = """\
## REPORT

End with a report under these headings, "none" where there is nothing to say:

- Implemented
- Tested
- Files changed
- Self-review
- Decisions
- Deviations
- Concerns"""


def is_due(state: RunState, task: Task) -> bool:
    """True if the task belongs to a feature, whose log later tasks read."""
    return get_layout(state.board().backend.name) is not None and task.epic is not None


def keep(state: RunState, task: Task, text: str, attempt: int, start: str, after: str) -> None:
    """Add a report to the feature's log, checked against the files that really changed.

    If it is empty or cannot be kept, warn; the work goes on.
    """
    changes = snapshots.compare(state.project, start, after)
    paths = tuple((one.path, one.old_path) for one in changes)
    try:
        home = choose.task_project(state.project)
        about = topic.find_topic(home, task.id, settings=state.settings.tasks)
        changed = ChangedFiles(paths, "the task's start")
        entry = implementation_log.append(home, about, text, attempt=attempt, changed=changed)
    except KedgeError as error:
        state.warn(f"the report of {task.id} is not in the log: {error.message}")
        return
    event = {"task": task.id, "log": entry.log, "partial": entry.report.partial}
    if entry.check is not None:
        event["unchanged"] = list(entry.check.unchanged)
        event["unreported"] = list(entry.check.unreported)
    state.emit("report", event)
    for warning in entry.warnings:
        state.warn(warning)
