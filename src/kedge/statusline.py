"""Entry point of Claude Code's status line: the goal, the score and the last verdict of a session.

Claude Code runs it at every change of a session, with a JSON object on standard input, and shows
what it prints. The user's own status line is run too, and stands first. Whatever goes wrong, kedge
prints nothing and the exit code is 0. Importing it needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 2.0  # seconds for kedge's line
THEIR_LIMIT = 4.0  # seconds for the user's own
_LARGEST = 1 << 20  # bytes of the input, and of the user's line
_GOAL, _ACTION, _REASON = 48, 32, 60  # characters
_ON_COURSE = 8  # the score from which on a step is never corrected
_OPTIONS = ("--in-place-of", "--beside")  # the user's own command, as a JSON string


def main(args: list[str]) -> int:
    """Print the user's status line, if there is one, and kedge's."""
    data = sys.stdin.buffer.read(_LARGEST)
    child = _start_own(args, data)
    line = ""
    try:
        signal.signal(signal.SIGALRM, _time_out)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        line = describe(json.loads(data))
    except Exception:  # noqa: BLE001 - a status line is no place for faults
        line = ""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    theirs = child.finish() if child is not None else b""
    if theirs and line and not theirs.endswith(b"\n"):
        theirs += b"\n"
    try:
        sys.stdout.buffer.write(theirs + line.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except OSError:  # nobody reads it any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _time_out(*_: object) -> None:
    raise TimeoutError


def describe(given: dict[str, Any]) -> str:
    """Describe the session that Claude Code names, in one line; "" if it names none."""
    from kedge.host.text import clean

    session = given.get("session_id")
    place = given.get("workspace") or {}
    start = place.get("project_dir") or given.get("cwd") or place.get("current_dir")
    if not isinstance(session, str) or not isinstance(start, str):
        return ""
    from kedge.hook import locate_project

    row, step = _read_session(locate_project(start)[1], session[:100])
    return clean(_describe_row(row, step))


def _read_session(home: str, session: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the session and its last step, as far as they are recorded."""
    path = os.path.join(home, "kedge.db")
    if not os.path.exists(path) or os.path.islink(path):
        return None, None
    import _sqlite3 as sqlite3

    from kedge.store import sessions

    db = sqlite3.connect(path, timeout=LIMIT / 4, isolation_level=None)
    try:
        db.execute("PRAGMA query_only = 1")
        rows = sessions.select(
            db, "SELECT task, goal, policy, score, course FROM session WHERE id = ?", (session,)
        )
        steps = sessions.select(
            db,
            "SELECT action_type, files, command, drift_score, level, rules, decision FROM step"
            " WHERE session = ? ORDER BY number DESC LIMIT 1",
            (session,),
        )
    finally:
        db.close()
    return (rows[0] if rows else None), (steps[0] if steps else None)


def _describe_row(row: dict[str, Any] | None, step: dict[str, Any] | None) -> str:
    from kedge.host.text import shorten

    if row is None:
        return "kedge: this session is not watched yet (kedge doctor checks the hooks)"
    if row["policy"] == "off":
        return "kedge: off"
    name = "kedge" if row["policy"] == "advise" else f"kedge ({row['policy']})"
    goal = shorten(row["goal"], _GOAL) or "nothing asked yet"
    about = f"{row['task']}: {goal}" if row["task"] else goal
    course = "on course" if row["course"] == "NORMAL" else row["course"]
    parts = [f"{name} {about}", f"{row['score']:.2g}/10 {course}"]
    if step is not None:
        parts.append(_describe_verdict(step))
    return " · ".join(parts)


def _describe_verdict(step: dict[str, Any]) -> str:
    from kedge.host.text import shorten

    about = step["command"] or ", ".join(step["files"])
    what = shorten(f"{step['action_type']} {about}", _ACTION)
    if step["drift_score"] >= _ON_COURSE:
        return f"last: {what}, fine"
    rules = step["rules"]
    reason = f": {shorten(f'{rules[0][0]}, {rules[0][1]}', _REASON)}" if rules else ""
    verdict = "denied" if step["decision"] == "deny" else step["level"]
    return f"last: {what}, {step['drift_score']}/10 {verdict}{reason}"


class _Child:
    """The user's own status line, which runs while kedge makes its line."""

    def __init__(self, command: str, data: bytes) -> None:
        theirs, self._in = os.pipe()
        self._out, output = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, theirs, 0), (os.POSIX_SPAWN_DUP2, output, 1)]
        self._data = data
        try:
            # in a group of its own, so that all of it can be ended
            self._pid = os.posix_spawn(
                "/bin/sh", ["sh", "-c", command], os.environ, file_actions=actions, setpgroup=0
            )
        finally:
            os.close(theirs)
            os.close(output)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end)

    def finish(self) -> bytes:
        """Return what it prints within its limit."""
        import select
        import time

        late = time.monotonic() + THEIR_LIMIT
        os.set_blocking(self._in, False)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        parts, size, writing = [], 0, [self._in]
        while size < _LARGEST and (left := late - time.monotonic()) > 0:
            ready, free, _ = select.select([self._out], writing, [], left)
            if free and not self._feed():
                writing = []
            if ready:
                part = os.read(self._out, 1 << 16)
                if not part:
                    break
                parts.append(part)
                size += len(part)
        else:
            self._kill()
        return b"".join(parts)

    def _feed(self) -> bool:
        """Write some of the input; False if no more is to be written."""
        try:
            self._data = self._data[os.write(self._in, self._data[: 1 << 16]) :]
        except BlockingIOError:
            return True
        except OSError:  # it does not read its input
            self._data = b""
        if not self._data:
            os.close(self._in)
        return bool(self._data)

    def _kill(self) -> None:
        with suppress(OSError):
            os.killpg(self._pid, signal.SIGKILL)

    def _end(self, *_: object) -> None:
        self._kill()
        os._exit(0)


def _start_own(args: list[str], data: bytes) -> _Child | None:
    """Start the user's own status line, if the arguments have one."""
    if len(args) != 2 or args[0] not in _OPTIONS:
        return None
    try:
        command = json.loads(args[1])
        return _Child(command, data) if isinstance(command, str) else None
    except (ValueError, OSError):
        return None


if __name__ == "__main__":
    import gc

    gc.disable()  # the process ends in a moment
    # Started by path with `python -I`, so the directory of kedge is not on sys.path.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    main(sys.argv[1:])
    os._exit(0)  # skip the interpreter's shutdown
