"""What the pages read from: the project, its settings, its database. Used in threads only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from kedge import config
from kedge.drift.report import account
from kedge.host import agent_process, clock
from kedge.store import sessions, sqlite
from kedge.tasks import choose
from kedge.tasks.board import Board
from kedge.tasks.ledger import Ledger

if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from kedge.drift.report.account import SessionStatus
    from kedge.host.project import Project
    from kedge.model.ids import TaskId
    from kedge.model.task import Task
    from kedge.settings import Settings


class Source:
    """One request's view of the project. What was read once is not read again."""

    def __init__(self, project: Project, db: sqlite3.Connection) -> None:
        self.project = project
        self.db = db
        self.now = clock.now()
        self.since = account.day_before(self.now)
        self.warnings: list[str] = []

    @cached_property
    def settings(self) -> Settings:
        return config.load(self.project).settings

    @cached_property
    def short(self) -> dict[str, str]:
        """The shortest unique prefix of each session's id."""
        return account.shorten_ids(sessions.find_ids(self.db, ""))

    @cached_property
    def tasks(self) -> dict[TaskId, Task]:
        board = Board(choose.open_backend(self.project, self.settings.tasks, patience=2.0))
        tasks = board.tasks()
        self.warnings += board.warnings
        return tasks

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.project)

    def describe_session(self, row: dict[str, Any]) -> SessionStatus:
        gone = row["status"] == account.ACTIVE and agent_process.is_gone(row["process"])
        return account.build_status(row, self.since, self.short.get(row["id"], ""), gone=gone)


@contextlib.contextmanager
def open_source(project: Project) -> Iterator[Source]:
    """Open the database for reading alone."""
    with sqlite.read(project.home() / sqlite.FILE) as db:
        yield Source(project, db)
