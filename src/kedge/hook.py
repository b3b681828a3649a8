"""Entry point of agents' hooks: reads one event from standard input, answers on standard output.

It stands in the agent's path, so it fails open: whatever goes wrong, the answer is empty, the exit
code is 0, and the error is recorded. Importing it needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from kedge.host.project import Project

LARGEST = 10_000_000  # bytes of an event
_END = 10_000  # bytes that are kept of what is beyond
LIMIT = 6.0  # seconds for an answer
RECORD_LIMIT = 2.0  # seconds more to record an error; agents wait ten in all
_PROGRAMS = 0.75  # of the time that is left is for git and other programs
END_LIMITS = 1.2, 0.8  # the same for the end of a session of Codex, which waits three
WAIT = 0.5  # seconds to wait for a lock, and to record an error
PATIENCE = 3.0  # seconds to wait for the hooks of other calls, which write one after another
TASK = "KEDGE_TASK"  # names the task that the session is bound to
_NAMES = ("session_id", "agent_id", "tool_name", "tool_use_id")  # of an event, kept as they are
_NOTIFIES = ("claude", "codex", "gemini")  # their users see a line when a session starts
RUN = "KEDGE_RUN"  # set by `kedge run`, whose prompts are not the user's words
_ON_DUTY = "daemon.pid"  # as `kedge.host.daemon` names it
_BEGINNINGS = ("SessionStart", "UserPromptSubmit")
JUDGE = "KEDGE_JUDGE"  # set for a judge that kedge itself started


def main(agent: str) -> int:
    """Answer the event on standard input within the limit, or not at all."""
    if os.environ.get(JUDGE):
        sys.stdin.buffer.read(LARGEST)
        return 0
    from kedge.host import deadline

    event: dict[str, Any] = {}
    data, home, start = b"", "", time.monotonic()
    task, run = os.environ.get(TASK), bool(os.environ.get(RUN))
    limit, record_limit = LIMIT, RECORD_LIMIT
    dialect = None
    try:
        _limit_time(limit)
        from kedge.store import sqlite

        sqlite.BUSY_SECONDS = PATIENCE
        data = sys.stdin.buffer.read(LARGEST)
        dialect = load_dialect(agent)
        event = _read_event(agent, data, dialect)
        if not event:
            return 0
        if agent == "codex" and event.get("hook_event_name") == "SessionEnd":
            limit, record_limit = END_LIMITS
            _limit_time(limit)
        root, home = locate_project(_find_start(event))
        answer = answer_event(root, home, agent, event, task, unattended=run)
        if dialect is not None and not _refuses(answer) and dialect.has_lost_context(home, event):
            again = {**event, "source": "compact"}
            anchor = _start_session(root, home, agent, again, task, unattended=run)
            answer = _join_contexts(answer or {}, anchor)
        _print_answer(answer, event, dialect)
        finish_event(root, home, agent, event, task, unattended=run)
        begins = event.get("hook_event_name") in _BEGINNINGS
        if begins and os.path.exists(os.path.join(home, _ON_DUTY)):
            from pathlib import Path

            from kedge.host import daemon

            daemon.relieve_dead(Path(home))
    except (Exception, HookTimeout) as error:  # noqa: BLE001 - the agent goes on, whatever it is
        _limit_time(max(0.1, start + limit + record_limit - time.monotonic()))
        home = home or _find_home(_find_start(event))
        try:
            data += _read_end() if len(data) == LARGEST else b""
            answer = answer_unread(home, agent, event, data, error)
            _print_answer(answer, event, dialect)
        except (Exception, HookTimeout) as second:  # noqa: BLE001 - the first error is recorded
            sys.stderr.write(f"kedge: {second}\n")
        record_error(home, agent, event, error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        deadline.clear()
    return 0


class HookTimeout(BaseException):
    """The answer took longer than an agent should wait. Nothing on the way may catch it."""


def _limit_time(seconds: float) -> None:
    """Raise HookTimeout after so many seconds from now, and end programs shortly before that."""
    from kedge.host import deadline

    def time_out(*_: object) -> None:
        raise HookTimeout(f"no answer within {seconds:g} s")

    signal.signal(signal.SIGALRM, time_out)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    deadline.set_seconds(seconds * _PROGRAMS)


def _read_end() -> bytes:
    """Return the end of an event that is too large: its last fields may name the session."""
    end = b""
    while more := sys.stdin.buffer.read(1_000_000):
        end = (end + more)[-_END:]
    return end


def _read_event(agent: str, data: bytes, dialect: ModuleType | None) -> dict[str, Any]:
    """Return the event as Claude Code sends it; an empty one if kedge does not handle it."""
    event = parse_event(data)
    if dialect is not None:
        return dict(dialect.read_event(event))
    return {} if agent == "claude" and _is_of_copilot(event) else event


def _print_answer(
    answer: dict[str, Any] | None, event: dict[str, Any], dialect: ModuleType | None
) -> None:
    if dialect is not None and answer:
        answer = dialect.write_answer(event, answer)
    if answer:
        sys.stdout.write(json.dumps(answer))
        sys.stdout.flush()


def load_dialect(agent: str) -> ModuleType | None:
    """Return what translates the agent's events; None for those that speak like Claude Code."""
    if agent == "gemini":
        from kedge.agents.dialects import gemini

        return gemini
    if agent == "copilot":
        from kedge.agents.dialects import copilot

        return copilot
    if agent == "opencode":
        from kedge.agents.dialects import opencode

        return opencode
    return None


def _is_of_copilot(event: dict[str, Any]) -> bool:
    """True if Copilot runs a hook of Claude Code's settings, which it reads beside its own."""
    if "COPILOT_CLI" not in os.environ:
        return False
    from kedge.agents.dialects import copilot

    return copilot.is_its_event(event)


def _refuses(answer: dict[str, Any] | None) -> bool:
    return "permissionDecision" in ((answer or {}).get("hookSpecificOutput") or {})


def _join_contexts(answer: dict[str, Any], anchor: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with the context of another one."""
    output, more = answer.get("hookSpecificOutput") or {}, anchor.get("hookSpecificOutput")
    if not more:
        return answer
    texts = [one["additionalContext"] for one in (more, output) if "additionalContext" in one]
    return answer | {"hookSpecificOutput": {**output, "additionalContext": "\n\n".join(texts)}}


def answer_unread(
    home: str, agent: str, event: dict[str, Any], data: bytes, error: BaseException
) -> dict[str, Any] | None:
    """Under `enforce`, put a call to the user that was too large to read, or took too long."""
    if not home or not isinstance(error, (HookTimeout, ValueError, RecursionError)):
        return None
    from kedge.drift.watch import unread

    return unread.answer_call(home, agent, event, data)


def _find_start(event: dict[str, Any]) -> str:
    """Return the directory of the session: what the agent calls its project, or the event's."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or str(event.get("cwd") or ".")


def locate_project(start: str) -> tuple[str, str]:
    """Return the project's root, and the directory where kedge keeps its data."""
    from kedge.host import plain_repo

    plain = plain_repo.find(start)
    if plain is not None and not os.environ.get("KEDGE_HOME"):
        home = os.path.join(plain[2], "kedge")
        if not os.path.islink(home):
            return plain[0], home
    project = _find_project(start)
    return str(project.root), str(project.home())


def _find_project(start: str) -> Project:
    from pathlib import Path

    from kedge.host import files, project

    files.LOCK_TIMEOUT = WAIT
    return project.find(Path(start))


def parse_event(data: bytes) -> dict[str, Any]:
    """Return an event, fit to be stored. Raise ValueError if it is not a JSON object."""
    event = json.loads(data)
    if b"\\ud" in data or b"\\uD" in data:  # lone surrogates, which no file or database can hold
        event = json.loads(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))
    if not isinstance(event, dict):
        raise ValueError("the event is not an object")
    from kedge.host.redact import name_secrets

    names = [name for name in _NAMES if isinstance(event.get(name), str)]
    return event | {name: name_secrets(event[name]) for name in names}


def answer_event(
    root: str, home: str, agent: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> dict[str, Any] | None:
    """Return the answer to an event; `task` and `unattended` are from the agent's environment."""
    answers = _start_session if event.get("hook_event_name") == "SessionStart" else _watch_event
    return answers(root, home, agent, event, task, unattended=unattended)


def _start_session(
    root: str, home: str, agent: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> dict[str, Any]:
    """Return the context for the agent, and the line that tells the user what is watched."""
    from kedge.context import session
    from kedge.drift import summary
    from kedge.drift.watch import sensor
    from kedge.knowledge.recall import reminder

    source = str(event.get("source") or "startup")
    name = str(event.get("session_id") or "")[:100]
    brief = sensor.describe_session(root, home, name, task)
    for fault in brief.faults:
        record_error(home, agent, event, RuntimeError(fault))
    text = session.start(
        _find_project(root),
        agent,
        name,
        source,
        session.SessionContext(brief.binding, task, brief.goal, brief.limits),
        reminder.recall_for_task,
    )
    answer: dict[str, Any] = {}
    if text and (not unattended or source == "compact"):  # the run's prompt has it
        context = {"hookEventName": "SessionStart", "additionalContext": text}
        answer["hookSpecificOutput"] = context
    notice = summary.write_start_notice(
        brief.policy, brief.binding, [quote for quote, _ in brief.limits]
    )
    if notice and not unattended and source != "compact" and agent in _NOTIFIES:
        answer["systemMessage"] = notice
    return answer


def _watch_event(
    root: str, home: str, agent: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> dict[str, Any] | None:
    """Pass an event to the watch, record its faults, and return its answer."""
    from kedge.drift.watch import entry

    answer, faults = entry.answer_event(root, home, agent, event, task, unattended=unattended)
    for fault in faults:
        record_error(home, agent, event, RuntimeError(fault))
    return answer


def finish_event(
    root: str, home: str, agent: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> None:
    """Do the work that the answer does not have to wait for."""
    name, session_id = event.get("hook_event_name"), str(event.get("session_id") or "")
    if session_id and _may_change_goal(event):
        from kedge.drift.watch import aside

        aside.start(root, home, agent, session_id, unattended=unattended)
    elif session_id and name == "SessionEnd":
        from kedge.drift.watch import aside

        aside.end(home, session_id)
    if name == "SessionStart":
        _watch_event(root, home, agent, event, task, unattended=unattended)
        if event.get("source") != "compact":  # a session that starts reads the map next
            from kedge.context import session

            session.refresh_map(_find_project(root), agent)
    elif name in ("Stop", "SessionEnd"):
        from kedge.drift.watch import sensor

        sensor.label_task(_find_project(root), session_id, named=bool(task))


def _may_change_goal(event: dict[str, Any]) -> bool:
    """True for a message of the user, and for a command that may have claimed a task."""
    name = event.get("hook_event_name")
    if name != "PostToolUse":
        return name == "UserPromptSubmit"
    from kedge.drift.watch.bindings import may_change_task

    return may_change_task(str(event.get("tool_name")), event.get("tool_input"))


def _find_home(start: str) -> str:
    """Return the nearest directory that kedge keeps its data in, without asking git; or ""."""
    place = os.path.realpath(start)
    while True:
        home = os.environ.get("KEDGE_HOME") or os.path.join(place, ".git", "kedge")
        if os.path.isdir(home) and not os.path.islink(home):
            return home
        if place == os.path.dirname(place):
            return ""
        place = os.path.dirname(place)


def record_error(home: str, agent: str, event: dict[str, Any], error: BaseException) -> None:
    """Record an error in the project's database; outside of a project there is nothing to watch."""
    try:
        from pathlib import Path

        from kedge.context import session
        from kedge.errors import NoRepository
        from kedge.store import sqlite

        sqlite.BUSY_SECONDS = WAIT  # whoever holds the lock may hold it on; there is a log file
        try:
            directory = Path(home) if home else _find_project(_find_start(event)).home()
        except NoRepository:
            return
        origin = str(event.get("session_id") or ""), str(event.get("hook_event_name") or "")
        session.record_error(directory, agent, error, *origin)
    except (Exception, HookTimeout) as second:  # noqa: BLE001 - the last place that can report it
        sys.stderr.write(f"kedge: {error}; and it could not be recorded: {second}\n")


if __name__ == "__main__":
    import gc

    gc.disable()  # the process ends in a moment
    # Started by path with `python -I`, so the directory of kedge is not on sys.path.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    # An editable install has its dependencies elsewhere: in the environment of its Python.
    version = "python{}.{}".format(*sys.version_info)
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    sys.path.append(os.path.join(prefix, "lib", version, "site-packages"))
    main(sys.argv[1] if len(sys.argv) > 1 else "")
    os._exit(0)  # skip the interpreter's shutdown
