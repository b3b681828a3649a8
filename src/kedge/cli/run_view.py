"""A run as it goes: a live line on a terminal, plain lines in a pipe, events with `--json`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from kedge.cli.edge import Edge, tell, write
from kedge.cli.plain import clean
from kedge.host.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.run.bench import Ending
    from kedge.run.wanted import Wanted

_QUIET = ("used", "said", "call", "started")  # shown in the live line only
_STEP = 0.1  # seconds between two live lines
_MARKS = {"done": "✓", "failed": "✗", "blocked": "■", "left": "·"}


class View:
    """Hears of everything that happens in a run. Of `many` tasks at once, each has its line."""

    def __init__(self, here: Edge, *, many: bool = False) -> None:
        self._here = here
        self._many = many
        self._live = sys.stderr.isatty() and not here.json and not here.quiet
        self._begin = time.monotonic()
        self._next = 0.0
        self._now: dict[str, dict[str, Any]] = {}  # by task
        self._drawn = 0  # lines

    def opening(self, run: str, wanted: Wanted, root: Path) -> None:
        """Who works, where, and what it may do: nothing is widened without a word."""
        data = {"event": "run", "run": run, "wanted": wanted.data()}
        if self._here.json:
            self._here.line(data)
            return
        roles = ", ".join(wanted.roles)
        self._say(f"run {run}: {wanted.agent} as {roles} in {root}")
        if wanted.worktree:
            self._say("each task has a work tree of its own below .kedge/worktrees")
        if wanted.agent == "command":
            self._say("what your program may do is up to it")
        elif wanted.full_access:
            self._say("it may do anything that you may (--full-access); a container confines it")
        else:
            self._say("it may edit files here, and run the checks and the project's own commands")

    def tell(self, event: str, data: dict[str, Any]) -> None:
        if self._here.json:
            self._here.line(
                {"event": event, "at": round(time.monotonic() - self._begin, 3), **data}
            )
            return
        self._note(event, data)
        if event == "task":
            checks = (
                ", ".join(f"`{one}`" for one in data["checks"]) or "none: only the change counts"
            )
            self._say(f"{data['task']}: {data['title']}  (checks: {checks})")
        elif event == "warning":
            self._here.warn(data["text"])
        elif event not in _QUIET:
            whose = f"{data['task']}: " if self._many and "task" in data else ""
            self._say(f"  {whose}{_line(event, data)}")
        self._draw()

    def _note(self, event: str, data: dict[str, Any]) -> None:
        """Keep what the live lines show."""
        task = str(data.get("task") or next(iter(self._now), ""))
        self._now.setdefault(task, {}).update(data)
        if event == "result":
            del self._now[task]

    def ended(self, data: dict[str, Any]) -> None:
        self.close()
        if self._here.json:
            self._here.line(data)
            return
        for one in data["results"]:
            told = f"{one['state']}: {one['reason']}{_drifted(one)}"
            self._out(f"{_MARKS[one['state']]} {one['task']}  {told}")
        for one in data["remaining"]:
            if not any(one["task"] == other["task"] for other in data["results"]):
                self._out(f"· {one['task']}  not begun: {one['why']}")
        if not data["results"]:
            self._out(f"nothing was done: {data['said']}")
        for one in data["merge"]:
            self._out(f"to take it over: git merge {one}")
        self._out(_spent(data["spent"]))

    def hint(self, ending: Ending) -> str:
        states = {one["state"]: one["task"] for one in ending.results}
        if "failed" in states:
            name = states["failed"]
            return (
                f"kedge log show {name} tells what was tried; kedge task reopen {name} begins anew"
            )
        if "blocked" in states:
            name = states["blocked"]
            return f"answer it in the task, then kedge task reopen {name}"
        return "kedge run --resume goes on with it"

    def close(self) -> None:
        if self._drawn:
            up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
            sys.stderr.write(f"\r{up}\x1b[J")
            sys.stderr.flush()
            self._drawn = 0

    def _say(self, text: str) -> None:
        """Progress goes to standard error: what is printed at the end is the answer."""
        if not self._here.quiet:
            self.close()
            tell(clean(text) + "\n")

    def _out(self, text: str) -> None:
        write(clean(text) + "\n")

    def _draw(self) -> None:
        if not self._live or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _STEP
        lines = [self._live_line(task, now) for task, now in self._now.items()]
        self.close()
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
        return clean(shortened("  ".join(part for part in parts if part), _width()))


def summary(run: str, ending: Ending) -> dict[str, Any]:
    """What a run came to: what is done with its proof, what is not and why, and what it cost."""
    counts = {
        state: sum(one["state"] == state for one in ending.results)
        for state in ("done", "failed", "blocked", "left")
    }
    return {
        "run": run,
        "why": ending.why,
        "said": ending.said,
        **counts,
        "results": list(ending.results),
        "remaining": list(ending.left),
        "merge": list(ending.merge),
        "spent": ending.spent,
    }


# How an event reads; one that is not here is told by its name.
_LINES = {
    "iteration": "{role}, attempt {attempt}",
    "check": "running `{command}`",
    "decision": "{outcome}: {reason}",
    "denied": "not allowed: {tool} ({reason:.100})",
    "waiting": "waiting {seconds:g} s: {reason}",
    "drift": "drift: {score} of 10, {course}",
    "commit": "committed as {commit:.12}",
    "aside": "what was left unfinished is kept as {ref}",
    "retro": "what it teaches: {path}; kedge retro --apply takes an agent's answer",
    "report": "reported in {log}",
    "kept": "{worktree} stays: {why}",
    "result": "{state}",
}


def _line(event: str, data: dict[str, Any]) -> str:
    if event == "retry":
        seconds = data["seconds"]
        return f"waiting {f'{seconds:g} s' if seconds else 'a while'}: {data['reason']}"
    return _LINES.get(event, event).format(**data)


def _drifted(result: dict[str, Any]) -> str:
    drift = result.get("drift")
    if not drift:
        return ""
    review = ", needs review" if drift["needs_review"] else ""
    return f"  (drift: {drift['alarms']}, at worst {drift['worst']}{review})"


def _spent(spent: dict[str, Any]) -> str:
    seconds = int(spent["seconds"])
    tokens = f"{spent['tokens_in']:,} tokens in, {spent['tokens_out']:,} out"
    cost = f", {spent['cost']:.2f} USD" if spent["cost"] else ""
    unknown = " (some agents do not say what they cost)" if spent["unpriced"] else ""
    calls = f"{spent['iterations']} call{'s' if spent['iterations'] != 1 else ''}"
    return f"{calls}, {seconds // 60} min {seconds % 60} s, {tokens}{cost}{unknown}"


def _width() -> int:
    import shutil

    return max(20, shutil.get_terminal_size().columns - 1)
