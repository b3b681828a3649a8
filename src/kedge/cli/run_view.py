"""Output of `kedge run`: a live line on a terminal, plain lines in a pipe, events with `--json`."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kedge.cli.edge import Edge, tell, write
from kedge.cli.plain import clean
from kedge.cli.run_approval import RunCommands
from kedge.host.text import count_noun, shorten
from kedge.run.options import RunOptions
from kedge.run.outcomes import RunEnd, TaskOutcome

RESUME = "kedge run --resume continues it"
_QUIET = ("used", "said", "call", "started")  # shown in the live line only
_STEP = 0.1  # seconds between two live lines
_CLOCK = 1.0  # seconds until the live lines are drawn again
_MOST_FILES = 20  # in the summary
_MARKS = {"done": "✓", "failed": "✗", "blocked": "■", "left": "·"}


class View:
    """Shows the events of a run. With `many` tasks at once, each has its own live line."""

    def __init__(self, edge: Edge, *, many: bool = False) -> None:
        self._edge = edge
        self._many = many
        self._live = sys.stderr.isatty() and not edge.json and not edge.quiet
        self._begin = time.monotonic()
        self._next = 0.0
        self._now: dict[str, dict[str, Any]] = {}  # by task
        self._task = ""  # the one that --task names
        self._drawn = 0  # lines
        self._lock = threading.RLock()  # the clock draws from a thread of its own
        self._ended = threading.Event()
        if self._live:
            threading.Thread(target=self._run_clock, daemon=True).start()

    def _run_clock(self) -> None:
        """Draw the live lines again each second, also while an agent is silent."""
        while not self._ended.wait(_CLOCK):
            with self._lock:
                if self._now and not self._ended.is_set():
                    self._draw()

    def show_start(self, run: str, wanted: RunOptions, root: Path, commands: RunCommands) -> None:
        """Show who works where, what the agent may do, and what kedge runs."""
        data = {"event": "run", "run": run, "wanted": wanted.data(), **asdict(commands)}
        if self._edge.json:
            self._edge.stream(data)
            return
        self._task = wanted.task or ""
        roles = ", ".join(wanted.roles)
        self._say(f"run {run}: {wanted.agent} as {roles} in {root}")
        if wanted.worktree:
            self._say("each task has its own work tree below .kedge/worktrees")
        if wanted.agent == "command":
            self._say("kedge does not limit what your program may do")
        elif wanted.full_access:
            self._say("it may do anything that you can do (--full-access): use a container")
        else:
            more = "".join(f", `{one}`" for one in commands.allowed if one not in commands.checks)
            self._say(f"it may edit files here and run the checks{more}")
        if commands.checks:
            self._say(f"checks: {', '.join(f'`{one}`' for one in commands.checks)}")

    def tell(self, event: str, data: dict[str, Any]) -> None:
        if self._edge.json:
            self._edge.stream(
                {"event": event, "at": round(time.monotonic() - self._begin, 3), **data}
            )
            return
        with self._lock:
            self._show(event, data)

    def _show(self, event: str, data: dict[str, Any]) -> None:
        self._remember(event, data)
        if event == "task":
            checks = (
                ", ".join(f"`{one}`" for one in data["checks"]) or "none: any change is accepted"
            )
            self._say(f"{data['task']}: {data['title']}  (checks: {checks})")
        elif event == "warning":
            self._edge.warn(data["text"])
        elif event not in _QUIET:
            whose = f"{data['task']}: " if self._many and "task" in data else ""
            self._say(f"  {whose}{_describe_event(event, data)}")
        self._draw()

    def _remember(self, event: str, data: dict[str, Any]) -> None:
        """Remember what the live lines show."""
        task = str(data.get("task") or next(iter(self._now), ""))
        self._now.setdefault(task, {}).update(data)
        if event == "result":
            del self._now[task]

    def show_end(self, data: dict[str, Any]) -> None:
        self.close()
        if self._edge.json:
            self._edge.stream(data)
            return
        for one in data["results"]:
            text = f"{one['state']}: {one['reason']}{_describe_drift(one)}"
            self._out(f"{_MARKS[one['state']]} {one['task']}  {text}")
        for one in data["remaining"]:
            if not any(one["task"] == other["task"] for other in data["results"]):
                self._out(f"· {one['task']}  not started: {one['why']}")
        if not data["results"]:
            is_done = self._task and not data["remaining"]
            why = f"{self._task} is done already" if is_done else data["said"]
            self._out(f"nothing was done: {why}")
        if data["files"]:
            more = len(data["files"]) - _MOST_FILES
            names = ", ".join(data["files"][:_MOST_FILES])
            self._out(f"changed: {names}{f' and {more:,} more' if more > 0 else ''}")
        for one in data["merge"]:
            self._out(f"to merge it: git merge {one}")
        self._out(_describe_usage(data["spent"]))

    def hint(self, end: RunEnd) -> str:
        states = {one["state"]: one["task"] for one in end.results}
        if "failed" in states:
            name = states["failed"]
            return (
                f"kedge log show {name} shows what was tried; kedge task reopen {name} tries again"
            )
        if "blocked" in states:
            name = states["blocked"]
            return f"resolve the reason, then kedge task reopen {name}"
        return RESUME

    def close(self) -> None:
        """Erase the live lines, and stop the clock."""
        self._ended.set()
        with self._lock:
            self._erase()

    def _erase(self) -> None:
        if self._drawn:
            up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
            sys.stderr.write(f"\r{up}\x1b[J")
            sys.stderr.flush()
            self._drawn = 0

    def _say(self, text: str) -> None:
        """Print progress on standard error; standard output is for the result."""
        if not self._edge.quiet:
            self._erase()
            tell(clean(text) + "\n")

    def _out(self, text: str) -> None:
        write(clean(text) + "\n")

    def _draw(self) -> None:
        if not self._live or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _STEP
        lines = [self._live_line(task, now) for task, now in self._now.items()]
        self._erase()
        self._drawn = len(lines)
        sys.stderr.write("\n".join(lines))
        sys.stderr.flush()

    def _live_line(self, task: str, now: dict[str, Any]) -> str:
        seconds = int(time.monotonic() - self._begin)
        parts = [
            task,
            str(now.get("role", "")),
            f"#{now.get('iteration', 0)}",
            f"{seconds // 60}:{seconds % 60:02d}",
            f"{now.get('tokens', 0):,} tokens",
            f"${now.get('cost', 0.0):.2f}",
            f"drift {now['score']}" if now.get("score", 10) < 8 else "",
            str(now.get("command") or now.get("summary") or now.get("text") or ""),
        ]
        return clean(shorten("  ".join(part for part in parts if part), _width()))


def summarise(run: str, end: RunEnd) -> dict[str, Any]:
    """Return the result of a run: what is done, what is not and why, and the cost."""
    states = [one["state"] for one in end.results]
    return {
        "run": run,
        "why": end.stop.code,
        "said": end.stop.text,
        **{state: states.count(state) for state in TaskOutcome},
        "files": sorted({path for one in end.results for path in one.get("files", ())}),
        "results": list(end.results),
        "remaining": list(end.remaining),
        "merge": list(end.merge),
        "spent": end.usage,
    }


# Other events are shown by their name.
_LINES = {
    "iteration": "{role}, attempt {attempt}",
    "check": "running `{command}`",
    "output": "| {text}",
    "decision": "{outcome}: {reason}",
    "denied": "not allowed: {tool} ({reason:.100})",
    "waiting": "waiting {seconds:g} s: {reason}",
    "drift": "drift: {score} of 10, {course}",
    "commit": "committed as {commit:.12}",
    "aside": "unfinished work is saved as {ref}",
    "retro": "retro: {path}; kedge retro --apply takes an agent's answer",
    "report": "reported in {log}",
    "kept": "{worktree} is not removed: {why}",
    "result": "{state}",
}


def _describe_event(event: str, data: dict[str, Any]) -> str:
    if event == "uncommitted":
        return _describe_taken_back(data)
    if event == "retry":
        seconds = data["seconds"]
        return f"waiting {f'{seconds:g} s' if seconds else 'a while'}: {data['reason']}"
    return _LINES.get(event, event).format(**data)


def _describe_taken_back(data: dict[str, Any]) -> str:
    """Say what an unsuccessful attempt had committed, and how to get it back."""
    where = data["branch"] or "HEAD"
    left = f"HEAD was on {data['other']} and is back on {where}; " if data["other"] else ""
    if data["ref"] is None:
        return left.removesuffix("; ")
    commits = count_noun(data["count"], "commit")
    return (
        f"{left}{commits} of this attempt taken off {where}, and kept as {data['ref']} "
        f"(git branch NAME {data['ref']} makes a branch of it)"
    )


def _describe_drift(result: dict[str, Any]) -> str:
    drift = result.get("drift")
    if not drift:
        return ""
    review = ", needs review" if drift["needs_review"] else ""
    return f"  (drift: {drift['alarms']}, at worst {drift['worst']}{review})"


def _describe_usage(spent: dict[str, Any]) -> str:
    seconds = int(spent["seconds"])
    tokens = f"{spent['tokens_in']:,} tokens in, {spent['tokens_out']:,} out"
    cost = f", {spent['cost']:.2f} USD" if spent["cost"] else ""
    unknown = " (some agents do not report their cost)" if spent["unpriced"] else ""
    calls = count_noun(spent["iterations"], "call")
    return f"{calls}, {seconds // 60} min {seconds % 60} s, {tokens}{cost}{unknown}"


def _width() -> int:
    return max(20, shutil.get_terminal_size().columns - 1)
