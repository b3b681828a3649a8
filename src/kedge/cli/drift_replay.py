"""`kedge drift replay`: past sessions, and what kedge would have said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.errors import FileError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.agents.transcripts.read import File, Recorded

_AGENTS = ("claude", "codex")
_LEVELS = ("nudge", "correct", "intervene", "halt")
_GOAL = 200  # characters that are shown
_MEGABYTE = 1_000_000


@syntax.command(
    "Replay past sessions of Claude Code and Codex, and show what kedge would have said."
)
@syntax.argument("paths", nargs=-1, metavar="[PATH]...", type=syntax.Path())
@syntax.option("--all", "every", is_flag=True, help="All sessions of this project on this machine.")
@syntax.option(
    "--since", metavar="DATE", help="Only sessions that went on at this time (UTC) or later."
)
@syntax.option("--agent", type=syntax.Choice(_AGENTS), help="Only sessions of this agent.")
@syntax.option(
    "--min-level",
    "least",
    type=syntax.Choice(_LEVELS),
    default="correct",
    show_default=True,
    help="Leave out what is below.",
)
def replay(
    here: Edge,
    paths: tuple[Path, ...],
    every: bool,
    since: str | None,
    agent: str | None,
    least: str,
) -> Reply:
    from kedge.agents.transcripts import read

    if every == bool(paths):
        raise UsageError("give paths or --all", hint="kedge drift replay --all")
    begin = _time(since) if since is not None else None
    files = _of_project(here, agent) if every else _named(here, paths)
    found = [
        each
        for each in read.sessions(files)
        if agent in (None, each.agent) and (begin is None or _changed(each) >= begin.timestamp())
    ]
    told = list(_replayed(here, found, begin, least))
    return Reply(told, lambda: _text(here, told))


def _time(since: str) -> datetime:
    try:
        found = datetime.fromisoformat(since)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--since: {since!r} is no date", hint="--since 2026-01-31") from error


def _named(here: Edge, paths: Iterable[Path]) -> list[File]:
    """The transcripts that were named, and those in the directories that were."""
    from kedge.agents.transcripts import read

    given = [here.directory / path for path in paths]
    found = []
    for path in read.find(given):
        try:
            file = read.look(path)
        except FileError as error:
            if path in given:
                raise
            here.warn(error.message)
            continue
        if file is not None:
            found.append(file)
        elif path in given:
            raise FileError(
                f"{path} is no transcript of Claude Code or Codex",
                hint="give the .jsonl file of a session, or a directory of them",
            )
    return found


def _of_project(here: Edge, agent: str | None) -> list[File]:
    from kedge.agents.transcripts import history, read

    root = here.project().root
    places = history.directories(root, (agent,) if agent else _AGENTS)
    found = []
    for path in read.find(places):
        try:
            file = history.of_project(path, root)
        except FileError as error:
            here.warn(error.message)
            continue
        if file is not None:
            found.append(file)
    return found


def _changed(recorded: Recorded) -> float:
    """When its files were last written: nothing in them is later."""
    return max(file.changed for file in recorded.files)


def _replayed(
    here: Edge, found: list[Recorded], begin: datetime | None, least: str
) -> Iterator[dict[str, Any]]:
    from kedge.agents.transcripts import history, read
    from kedge.drift.replay import replay as run
    from kedge.host.redact import redact_value

    progress = here.progress("MB replayed")
    total = sum(file.size for each in found for file in each.files)
    done = 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        progress(done // _MEGABYTE, max(done, total) // _MEGABYTE)

    counted: set[str] = set()
    after = begin.strftime("%Y-%m-%dT%H:%M:%S") if begin else ""
    try:
        for each in found:
            events = read.events(each, count, here.warn)
            try:
                told = run(events, history.work_tree(each.cwd), counted=counted)
            except FileError as error:
                here.warn(error.message)
                continue
            if told.ended >= after:
                data = told.data(least)
                data["session"] = each.id
                data["started"] = each.files[0].at or told.started
                data["files"] = [str(file.path) for file in each.files]
                yield redact_value(data)
    finally:
        progress.close()


def _text(here: Edge, told: list[dict[str, Any]]) -> str:
    alarmed = [each for each in told if each["alarms"]]
    blocks = [_block(each, here.verbose) for each in alarmed]
    actions = sum(each["actions"] for each in told)
    alarms = sum(len(each["alarms"]) for each in told)
    rate = f", {100 * alarms / actions:.1f} per 100 actions" if actions else ""
    blocks.append(
        f"{_count(len(told), 'session')}, {_count(actions, 'action')}: "
        f"{_count(len(alarmed), 'session')} with alarms, {_count(alarms, 'alarm')}{rate}"
    )
    return "\n\n".join(blocks)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _block(told: dict[str, Any], verbose: bool) -> str:
    goal = told["goal"]
    done = f"{_count(told['actions'], 'action')}, {told['modifying']} modifying"
    lines = [
        f"{told['agent']} {told['session']}  {told['started']}  {done}",
        f"  asked: {_line(goal)}",
    ]
    for alarm in told["alarms"]:
        who = f" (subagent {alarm['agent_id']})" if alarm["agent_id"] else ""
        lines.append(
            f"  step {alarm['step']}  {alarm['score']} {alarm['level']}  {alarm['tool']}{who}  "
            f"{alarm['at']}"
        )
        if alarm["goal"] != goal:
            goal = alarm["goal"]
            lines.append(f"    asked by then: {_line(goal)}")
        lines += [f"    {rule['rule']}: {_line(rule['evidence'])}" for rule in alarm["rules"]]
        if verbose and alarm["correction"]:
            lines += [f"    | {line}" for line in alarm["correction"].splitlines()]
    course = told["course"]
    lines.append(f"  ended {course['state']} at {course['score']}")
    lines += [f"  needs review: {_line(why)}" for why in told["why"]]
    return "\n".join(map(clean, lines))


def _line(text: str) -> str:
    from kedge.host.text import shortened

    return shortened(text, _GOAL)
