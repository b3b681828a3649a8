"""The hooks' side of the watch: connects it to settings, tasks and the database."""

from __future__ import annotations

from contextlib import closing

from kedge.drift.watch.events import Watch
from kedge.store import sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kedge.drift.charter import Charter
    from kedge.host.project import Project
    from kedge.model.task import Task


def answer_event(
    root: str, home: str, agent: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> tuple[dict[str, Any] | None, list[str]]:
    """Answer an event of a session, which may be bound to a task; return faults beside the answer.

    `root` is the project's root, `home` the directory of its database.
    """
    from kedge.drift.code_map import StoredMap
    from kedge.repomap.neighbours import Neighbours

    context = _Context(root, task)
    db, context.faults = sqlite.connect(home)
    with closing(db):
        near = Neighbours(db, root)
        watch = Watch(
            db,
            root,
            agent,
            policy=context.policy,
            charter=context.charter,
            checks=context.checks,
            code_map=lambda session: StoredMap(db, near, session),
            unattended=unattended,
        )
        answer = watch.answer(event)
    return answer, [*context.faults, *watch.faults, *near.warnings]


class _Context:
    """Settings and tasks, read only when needed. A fault in them does not end the watch."""

    def __init__(self, root: str, task: str | None) -> None:
        self.root = root
        self.task_id = task
        self.faults: list[str] = []

    def policy(self) -> str:
        from kedge import config
        from kedge.errors import KedgeError
        from kedge.settings import DriftSettings

        try:
            return config.load(self._find_project()).settings.drift.policy
        except KedgeError as error:
            self.faults.append(error.message)
            return DriftSettings().policy

    def charter(self) -> Charter | None:
        from kedge.drift.charter import charter_for_task

        task = self._load_task()
        return charter_for_task(task) if task is not None else None

    def checks(self) -> Sequence[str]:
        task = self._load_task()
        return task.checks if task is not None else ()

    def _find_project(self) -> Project:
        from pathlib import Path

        from kedge.host import project

        return project.find(Path(self.root))

    def _load_task(self) -> Task | None:
        from kedge import config
        from kedge.errors import KedgeError
        from kedge.tasks import choose
        from kedge.tasks.board import Board

        if self.task_id is None:
            return None
        try:
            settings = config.load(self._find_project()).settings.tasks
            return Board(choose.open_backend(self._find_project(), settings)).get(self.task_id)
        except KedgeError as error:
            self.faults.append(error.message)
            return None


def label_task(project: Project, session: str) -> None:
    """Label the task of a session that strayed, so that somebody reviews it."""
    from dataclasses import replace

    from kedge import config
    from kedge.drift import summary
    from kedge.store import sessions
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    with closing(sqlite.connect(project.home())[0]) as db:
        row = sessions.get(db, session)
        if row is None or not row["task"]:
            return
        labels = summary.choose_labels(summary.summarize(db, row))
    if not labels:
        return
    settings = config.load(project).settings.tasks
    board = Board(choose.open_backend(project, settings))
    task = board.get(row["task"])
    if not set(labels) <= set(task.labels):
        board.update(
            task.id, lambda one: replace(one, labels=tuple(dict.fromkeys((*one.labels, *labels))))
        )
