"""The run of one task in its own work tree: a process whose events are read line by line."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from contextlib import ExitStack
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from kedge.host import running
from kedge.host.project import Project
from kedge.host.running import Ended, Line
from kedge.host.text import shorten
from kedge.model.task import Task
from kedge.run.limits import RunUsage, parse_usage
from kedge.run.outcomes import TaskOutcome

_GRACE = 10.0  # seconds that a run has to finish its records
LineQueue = SimpleQueue[tuple["WorktreeRun", Line | None]]


class WorktreeRun:
    """Starts the run. `lines` gets each line of its output, and None for its end.

    `usage` is what the run has used, by its own events. `iterations` is the number of agent calls
    that it may make.
    """

    def __init__(
        self,
        task: Task,
        worktree: Project,
        argv: list[str],
        env: dict[str, str],
        usage: RunUsage,
        iterations: int,
        lines: LineQueue,
    ) -> None:
        self.task = task
        self.worktree = worktree
        self.usage = usage
        self.iterations = iterations
        self._lines = lines
        self._summary: dict[str, Any] | None = None
        self._other_lines: list[bytes] = []
        self._signals: set[int] = set()
        self._open = ExitStack()
        self._child = self._open.enter_context(
            running.start(argv, cwd=worktree.root, env=env, grace=_GRACE)
        )
        self._thread = threading.Thread(target=self._read_lines)
        self._thread.start()

    def _read_lines(self) -> None:
        try:
            for line in self._child.lines():
                self._lines.put((self, line))
        finally:
            self._lines.put((self, None))

    def parse_event(self, line: Line) -> dict[str, Any] | None:
        """Return the event in a line, and count what it says was used; None for other lines."""
        if line.error:
            return None
        try:
            event = json.loads(line.data)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or "event" not in event:
            self._other_lines.append(line.data)
            return None
        self._count(event)
        return event

    def _count(self, event: dict[str, Any]) -> None:
        if event["event"] == "iteration":
            self.usage = replace(self.usage, iterations=self.usage.iterations + 1)
        elif event["event"] == "used":  # the total of the run; the event does not split tokens
            tokens, cost = event.get("tokens", 0), event.get("cost", 0.0)
            self.usage = replace(self.usage, tokens_in=tokens, tokens_out=0, cost=cost)
        elif event["event"] == "summary":
            self._summary = event
            self.usage = parse_usage(event["spent"])

    def signal(self, number: int, *, again: bool = False) -> None:
        """Send a signal to the run alone, not to its processes; only once unless `again`."""
        if again or number not in self._signals:
            self._signals.add(number)
            if self._child.ended is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._child.pid, number)

    def close(self) -> Ended:
        """End the run if it still goes on, and release its resources."""
        if self._child.ended is None:
            self._child.stop()
        self._thread.join()
        self._open.close()
        return self._child.end()

    def find_result(self, ended: Ended) -> dict[str, Any]:
        """Return what became of the task, by the run's summary or by how its process ended."""
        for one in (self._summary or {}).get("results", ()):
            if one.get("task") == self.task.id:
                return dict(one)
        row = {"task": self.task.id, "state": TaskOutcome.LEFT, "fatal": False}
        return {**row, "reason": self._explain_end(ended)}

    def _explain_end(self, ended: Ended) -> str:
        if self._summary is not None:
            return str(self._summary.get("said"))
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            error = json.loads(b"\n".join(self._other_lines)).get("error")
            if error:
                return str(error)
        errors = ended.errors.decode("utf-8", "replace").splitlines()
        error = next((one for one in errors if one.startswith("error: ")), "")
        if ended.code < 0:
            return f"its run was ended by signal {-ended.code}"
        reason = shorten(error.removeprefix("error: "), 300)
        return reason or f"its run ended with exit code {ended.code}"
