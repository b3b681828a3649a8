"""The task that a session is bound to, as the watch uses it. Hook path: no `typing`."""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.drift.charter import Charter
    from kedge.drift.engine import Session

ENDED = "ended"  # of a binding whose task has not got its labels yet


class SessionTask(NamedTuple):
    """The task that a session belongs to and how; without a task, `charter` is None."""

    how: str = ""
    charter: Charter | None = None
    checks: tuple[str, ...] = ()


def may_change_task(tool: str, given: object) -> bool:
    """True if a call may claim, close or release a task: a command, or a tool of kedge's server.

    The tasks tell whether it did.
    """
    if tool.endswith(("task_claim", "task_close")):
        return True
    command = given.get("command") if isinstance(given, dict) else None
    return isinstance(command, str) and "kedge" in command and "task" in command


def apply_task(session: Session, row: dict[str, Any], found: SessionTask) -> dict[str, Any]:
    """Bind the session to the task found, or unbind it; return the columns that change.

    The column `task` keeps the last task of the session.
    """
    task = found.charter.task if found.charter is not None else None
    if task is None and session.charter.task is None:
        return {}
    changes: dict[str, Any] = {"task": task, "bound": found.how}
    if found.charter is None:
        session.unbind()
        changes = {"bound": ENDED}
    elif task != session.charter.task:
        session.bind(found.charter)
        changes["turn"] = row["turn"] + 1  # the goal may be another
    return {name: value for name, value in changes.items() if row[name] != value}
