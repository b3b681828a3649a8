"""The hooks' side of the watch: where its settings, its task and its record come from."""

from __future__ import annotations

from contextlib import closing

from kedge.drift.watch import Watch
from kedge.store import sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kedge.drift.charter import Charter
    from kedge.host.project import Project
    from kedge.model.task import Task


def hear(
    root: str, home: str, agent: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> tuple[dict[str, Any] | None, list[str]]:
    """The answer to an event of a session, bound to a task or not; and what went wrong aside.

    `root` is the project's, `home` where its database is.
    """
    from kedge.repomap.neighbours import Neighbours

    source = _Source(root, task)
    db, source.faults = sqlite.connect(home)
    with closing(db):
        near = Neighbours(db, root)
        watch = Watch(
            db,
            root,
            agent,
            policy=source.policy,
            charter=source.charter,
            checks=source.checks,
            neighbours=lambda: near,
            unattended=unattended,
        )
        answer = watch.answer(event)
    return answer, [*source.faults, *watch.faults, *near.warnings]


class _Source:
    """What is read only when it is asked for. A fault in it does not end the watch."""

    def __init__(self, root: str, task: str | None) -> None:
        self.root = root
        self.named = task
        self.faults: list[str] = []

    def policy(self) -> str:
        from kedge import config
        from kedge.errors import KedgeError
        from kedge.settings import DriftSettings

        try:
            return config.load(self._project()).settings.drift.policy
        except KedgeError as error:
            self.faults.append(error.message)
            return DriftSettings().policy

    def charter(self) -> Charter | None:
        from kedge.drift.charter import bound

        task = self._task()
        return bound(task) if task is not None else None

    def checks(self) -> Sequence[str]:
        task = self._task()
        return task.checks if task is not None else ()

    def _project(self) -> Project:
        from pathlib import Path

        from kedge.host import project

        return project.find(Path(self.root))

    def _task(self) -> Task | None:
        from kedge import config
        from kedge.errors import KedgeError
        from kedge.tasks import choose
        from kedge.tasks.board import Board

        if self.named is None:
            return None
        try:
            settings = config.load(self._project()).settings.tasks
            return Board(choose.backend(self._project(), settings)).get(self.named)
        except KedgeError as error:
            self.faults.append(error.message)
            return None


def label(project: Project, session: str) -> None:
    """Mark the task of a session that strayed, so that somebody looks at it."""
    from dataclasses import replace

    from kedge import config
    from kedge.drift import ending
    from kedge.store import sessions
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    with closing(sqlite.connect(project.home())[0]) as db:
        row = sessions.get(db, session)
        if row is None or not row["task"]:
            return
        wanted = ending.labels(ending.account(db, row))
    if not wanted:
        return
    settings = config.load(project).settings.tasks
    board = Board(choose.backend(project, settings))
    task = board.get(row["task"])
    if not set(wanted) <= set(task.labels):
        board.update(task.id, lambda one: replace(one, labels=_joined(one.labels, wanted)))


def _joined(labels: tuple[str, ...], more: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*labels, *more)))
