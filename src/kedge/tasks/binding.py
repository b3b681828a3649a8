"""Which task a session works on.

That is the task that the session's environment names, else the one that the session claimed, else
the only task in progress in its work tree that its user claimed. Where several could be meant, it
is none. A binding lasts until the task is closed, blocked or released.

Backends store who claimed a task; the database stores in which work tree.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from kedge.errors import KedgeError
from kedge.host import clock, user
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.store import claims, sqlite
from kedge.store.claims import Claim
from kedge.tasks import rules

NAMED, CLAIMED, IN_PROGRESS = "named", "claimed", "in_progress"  # how a session is bound
_SHOWN = 5  # tasks in a line
WORDS = {NAMED: "KEDGE_TASK", CLAIMED: "claimed here", IN_PROGRESS: "in progress here"}


@dataclass(frozen=True, slots=True)
class Binding:
    """The session's task and how it is bound to it.

    Where several tasks could be meant, `candidates` has them and `choice` says how to choose one.
    """

    task: Task | None = None
    how: str = ""
    candidates: tuple[Task, ...] = ()
    choice: str = ""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The work tree of a session, who works there, and where tasks were claimed."""

    root: str
    actor: str = ""  # the setting; without it, any name that claims a task here
    claims: Mapping[str, Claim] = field(default_factory=dict)

    @property
    def who(self) -> str:
        """The name that claims tasks here."""
        return self.actor or user.user_name()

    def find_claim(self, task: Task) -> Claim | None:
        """Return the recorded claim behind a task in progress, unless its work tree is gone."""
        claim = self.claims.get(task.id)
        if claim is None or claim.actor != task.assignee or not os.path.isdir(claim.project):  # noqa: PTH112
            return None
        return claim

    def is_elsewhere(self, task: Task) -> bool:
        """True if the task was claimed in another work tree."""
        claim = self.find_claim(task)
        return claim is not None and claim.project != self.root

    def is_here(self, task: Task) -> bool:
        """True if the task, which was not claimed elsewhere, belongs to who works here."""
        if self.find_claim(task) is not None and not self.actor:
            return True
        return task.assignee in (None, self.who)

    def claimed_at(self, task: Task) -> str:
        """Return when a task in progress was last claimed."""
        claim = self.find_claim(task)
        return max(task.started_at or "", claim.at if claim else "")


def choose_binding(
    tasks: Mapping[TaskId, Task],
    tree: WorkTree,
    *,
    named: str | None = None,
    bound: tuple[str, str] = ("", ""),
    since: str = "",
) -> Binding:
    """Return the binding of a session.

    `named` is the task that its environment names, `bound` its task and how it is bound to it so
    far. With `since`, a task that was claimed after this time was claimed by the session.
    """
    if named:
        task = rules.find(tasks, named)
        if task.status in (Status.OPEN, Status.IN_PROGRESS):
            return Binding(task, NAMED)
    started = [
        task
        for task in tasks.values()
        if task.status is Status.IN_PROGRESS and not tree.is_elsewhere(task)
    ]
    if since:
        fresh = [task for task in started if tree.claimed_at(task) >= since]
        if fresh:
            return Binding(max(fresh, key=tree.claimed_at), CLAIMED)
    kept = [task for task in started if task.id == bound[0]]
    if kept and bound[1] in (CLAIMED, IN_PROGRESS):
        return Binding(kept[0], bound[1])
    here = tuple(task for task in started if tree.is_here(task))
    if len(here) == 1:
        return Binding(here[0], IN_PROGRESS)
    return Binding(candidates=here, choice=_describe_choice(here, tree.who)) if here else Binding()


def _describe_choice(candidates: Sequence[Task], who: str) -> str:
    """Say in one line which tasks could be meant, and how to choose one."""
    some = ", ".join(task.id for task in candidates[:_SHOWN])
    more = f" and {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""
    others = any(task.assignee not in (None, who) for task in candidates)
    command = f"kedge task claim ID --again{' --as NAME' if others else ''}"
    return (
        f"{len(candidates)} tasks are in progress: {some}{more}. This session is bound to none "
        f"of them: `{command}` binds it to the one you work on."
    )


def describe_binding(task: str | None, how: str) -> str:
    """Say in a few words which task a session belongs to; "" for none."""
    return f"bound to {task} ({WORDS[how]})" if task and how in WORDS else ""


def record_claim(project: Project, task: Task) -> list[str]:
    """Record that a task was claimed in this work tree. A failure is a warning: it is claimed."""
    import sqlite3

    claim = Claim(str(project.root), task.assignee or "", clock.now())
    try:
        db, warnings = sqlite.connect(project.home())
        with closing(db):
            claims.save(db, task.id, claim)
        return warnings
    except (KedgeError, sqlite3.Error) as error:
        return [f"the work tree of this claim was not recorded: {error}"]
