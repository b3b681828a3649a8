"""A task at work in its own work tree: a run of its own there, heard line by line."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from contextlib import ExitStack
from dataclasses import fields, replace
from queue import SimpleQueue

from kedge.host import running
from kedge.host.project import Project
from kedge.host.running import Ended, Line
from kedge.host.text import shortened
from kedge.model.task import Task
from kedge.run.spent import Spent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GRACE = 10.0  # seconds that a run has to finish its records
Heard = SimpleQueue[tuple["Lane", Line | None]]


class Lane:
    """`heard` gets each line of the run, and None for its end.

    `spent` is what it has said so far; `calls` are those of agents that it was granted.
    """

    def __init__(
        self,
        task: Task,
        there: Project,
        argv: list[str],
        env: dict[str, str],
        spent: Spent,
        calls: int,
        heard: Heard,
    ) -> None:
        self.task = task
        self.there = there
        self.spent = spent
        self.calls = calls
        self._heard = heard
        self._summary: dict[str, Any] | None = None
        self._rest: list[bytes] = []
        self._told: set[int] = set()
        self._open = ExitStack()
        self._child = self._open.enter_context(
            running.start(argv, cwd=there.root, env=env, grace=_GRACE)
        )
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        try:
            for line in self._child.lines():
                self._heard.put((self, line))
        finally:
            self._heard.put((self, None))

    def event(self, line: Line) -> dict[str, Any] | None:
        """What a line tells; None for one that is no event."""
        if line.error:
            return None
        try:
            found = json.loads(line.data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or "event" not in found:
            self._rest.append(line.data)
            return None
        self._count(found)
        return found

    def _count(self, event: dict[str, Any]) -> None:
        if event["event"] == "iteration":
            self.spent = replace(self.spent, iterations=self.spent.iterations + 1)
        elif event["event"] == "used":  # all that its run has used: in and out together
            tokens, cost = event.get("tokens", 0), event.get("cost", 0.0)
            self.spent = replace(self.spent, tokens_in=tokens, tokens_out=0, cost=cost)
        elif event["event"] == "summary":
            self._summary = event
            known = {one.name for one in fields(Spent)}
            self.spent = Spent(**{k: v for k, v in event["spent"].items() if k in known})

    def signal(self, number: int, *, again: bool = False) -> None:
        """Signal the run, and nothing that it has started; once, unless it is meant again."""
        if again or number not in self._told:
            self._told.add(number)
            if self._child.ended is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._child.pid, number)

    def close(self) -> Ended:
        """End what is left of it, at once if need be."""
        if self._child.ended is None:
            self._child.stop()
        self._thread.join()
        self._open.close()
        return self._child.end()

    def result(self, ended: Ended) -> dict[str, Any]:
        """What became of the task, by the run's own account or by how it ended."""
        for one in (self._summary or {}).get("results", ()):
            if one.get("task") == self.task.id:
                return dict(one)
        return {"task": self.task.id, "state": "left", "reason": self._why(ended), "fatal": False}

    def _why(self, ended: Ended) -> str:
        if self._summary is not None:
            return str(self._summary.get("said"))
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            said = json.loads(b"\n".join(self._rest)).get("error")
            if said:
                return str(said)
        errors = ended.errors.decode("utf-8", "replace").splitlines()
        said = next((one for one in errors if one.startswith("error: ")), "")
        if ended.code < 0:
            return f"its run was ended by signal {-ended.code}"
        return shortened(said.removeprefix("error: "), 300) or f"its run ended with {ended.code}"
