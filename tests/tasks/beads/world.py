"""A project whose tasks are in the fake bd."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from fake_bd.commands import import_issues
from fake_bd.database import FILE, IssueDatabase

from kedge.tasks.beads.backend import Beads
from kedge.tasks.board import Board

AT = "2026-03-01T10:00:00Z"


def line(**fields: Any) -> str:
    """Return a line of an export."""
    return json.dumps({"id": "kx-1", "title": "x", **fields})


class World:
    """A project with issues in bd."""

    def __init__(self, root: Path, program: Path) -> None:
        self.root = root
        self.program = program

    def bd(self, *args: str) -> Any:
        done = subprocess.run(
            [self.program, *args, "--json"], cwd=self.root, capture_output=True, timeout=60
        )
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    @contextmanager
    def store(self) -> Iterator[IssueDatabase]:
        """Open bd's database, to prepare and to inspect it without a process."""
        store = IssueDatabase(self.root / FILE)
        with closing(store.db):
            yield store

    def seed(self, *issues: dict[str, Any]) -> None:
        with self.store() as store:
            import_issues(
                store, [{"title": "x", "created_at": AT, "updated_at": AT, **i} for i in issues]
            )

    def issue(self, issue_id: str) -> dict[str, Any]:
        """Return the issue's line in the export."""
        with self.store() as store:
            return store.to_json(store.get(issue_id), whole=True)

    def ready(self) -> set[str]:
        """Return what bd lists as ready, without epics, which kedge never lists."""
        return {i["id"] for i in self.bd("ready") if i["issue_type"] != "epic"}

    def beads(self, program: Path | None = None, **more: Any) -> Beads:
        return Beads(self.root, program=str(program or self.program), **more)

    @property
    def board(self) -> Board:
        return Board(self.beads())

    def spy(self) -> tuple[Board, Callable[[], list[str]]]:
        """Return a board whose bd logs its commands, and a function that returns the new ones."""
        log = self.root / "log"
        board = Board(self.beads(self.script(f'echo "$*" >> {log}\nexec {self.program} "$@"')))

        def commands() -> list[str]:
            lines = log.read_text().splitlines() if log.exists() else []
            log.unlink(missing_ok=True)
            return [line.removesuffix(" --json") for line in lines if line != "export"]

        return board, commands

    def script(self, text: str) -> Path:
        program = self.root / "other" / "bd"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        return program

    def assert_ready(self, *ids: str) -> None:
        """Assert that kedge and bd list exactly these tasks as ready."""
        assert {task.id for task in self.board.ready()} == set(ids)
        assert self.ready() == set(ids)
