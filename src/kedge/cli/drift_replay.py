"""`kedge drift replay`: show what kedge would have said in past sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from kedge.agents.transcripts import locations, sessions
from kedge.agents.transcripts.sessions import RecordedSession, TranscriptFile
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.drift.code_map import MapSource, RankedMap
from kedge.drift.replay import replay as replay_events
from kedge.errors import FileError, KedgeError, NoRepository, ProgramError, UsageError
from kedge.host import zstd
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.host.text import count_noun, shorten

_LEVELS = ("nudge", "correct", "intervene", "halt")
_MAX_TEXT = 200  # characters of a goal or of evidence
_MEGABYTE = 1_000_000
_TITLES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "copilot": "Copilot CLI",
    "opencode": "opencode",
}
_ALL = "Claude Code, Codex, Gemini CLI, Copilot CLI or opencode"


@click.command(cls=KedgeCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("--all", "every", is_flag=True, help="All sessions of this project on this machine.")
@click.option(
    "--since", metavar="DATE", help="Only sessions that were active at this time (UTC) or later."
)
@click.option("--agent", type=click.Choice(sessions.AGENTS), help="Only sessions of this agent.")
@click.option(
    "--min-level",
    "least",
    type=click.Choice(_LEVELS),
    default="correct",
    show_default=True,
    help="Show only alarms of this level and above.",
)
def replay(
    edge: Edge,
    paths: tuple[Path, ...],
    every: bool,
    since: str | None,
    agent: str | None,
    least: str,
) -> Reply:
    """Show what kedge would have said in past sessions of your agents.

    It reads the transcripts of Claude Code, Codex, Gemini CLI, Copilot CLI and opencode.
    """
    if every == bool(paths):
        raise UsageError("give either PATH or --all", hint="kedge drift replay --all")
    begin = _parse_time(since) if since is not None else None
    files = _find_project_files(edge, agent) if every else _find_named(edge, paths)
    found = sessions.group_sessions(files)
    selected = [
        each
        for each in found
        if agent in (None, each.agent)
        and (begin is None or max(file.changed for file in each.files) >= begin.timestamp())
    ]
    replays = list(_replay_sessions(edge, selected, begin, least))
    if not replays:
        edge.warn(_explain_nothing(edge, paths, agent, len(found)))
    return Reply(replays, lambda: _summarise(edge, replays) if replays else None)


def _explain_nothing(edge: Edge, paths: tuple[Path, ...], agent: str | None, found: int) -> str:
    """Say why no session was replayed, and where kedge looked for them."""
    if found:
        what = f"{count_noun(found, 'session')} found, but none as --since and --agent ask for"
    else:
        what = f"no session of {_TITLES[agent] if agent else _ALL} was found"
    if paths:
        return f"{what}; looked in {', '.join(map(str, paths))}"
    root = edge.project().root
    places = locations.describe_places(root, (agent,) if agent else sessions.AGENTS)
    return f"{what} that ran in {root}; looked in {', '.join(places)}"


def _parse_time(since: str) -> datetime:
    try:
        time = datetime.fromisoformat(since)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        hint = "--since 2026-01-31"
        raise UsageError(f"--since: {since!r} is not a date", hint=hint) from error


def _find_named(edge: Edge, paths: Iterable[Path]) -> list[TranscriptFile]:
    """Return the transcripts at the paths and in directories among them."""
    given = [edge.directory / path for path in paths]
    for path in given:
        if path.is_file() and not sessions.inspect_files(path):
            raise FileError(
                f"{path} is not a transcript of {_ALL}",
                hint="give the .jsonl file of a session, opencode.db, or a directory of them",
            )
    return _inspect_files(edge, given, sessions.inspect_files)


def _find_project_files(edge: Edge, agent: str | None) -> list[TranscriptFile]:
    root = edge.project().root
    places = locations.list_places(root, (agent,) if agent else sessions.AGENTS)
    return _inspect_files(edge, places, lambda path: locations.inspect_project_files(path, root))


def _inspect_files(
    edge: Edge, paths: Iterable[Path], inspect: Callable[[Path], list[TranscriptFile]]
) -> list[TranscriptFile]:
    files: list[TranscriptFile] = []
    compressed = 0
    for path in sessions.find_files(paths):
        try:
            files += inspect(path)
        except FileError as error:
            edge.warn(error.message)
        except ProgramError:
            compressed += 1
    if compressed:
        left = count_noun(compressed, "compressed transcript")
        edge.warn(f"{left} left out, because zstd is not on PATH: {zstd.INSTALL}")
    return files


def _replay_sessions(
    edge: Edge, selected: list[RecordedSession], begin: datetime | None, least: str
) -> Iterator[dict[str, Any]]:
    progress = edge.progress("MB replayed")
    total = sum(file.size for each in selected for file in each.files)
    done = 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        progress(done // _MEGABYTE, max(done, total) // _MEGABYTE)

    counted: set[str] = set()
    maps = _ProjectMap(edge)
    after = begin.strftime("%Y-%m-%dT%H:%M:%S") if begin else ""
    try:
        for each in selected:
            events = sessions.read_events(each, count, edge.warn)
            root = locations.find_work_tree(each.cwd)
            try:
                result = replay_events(
                    events, root, code_map=maps.open_session(root), counted=counted
                )
            except FileError as error:
                edge.warn(error.message)
                continue
            if result.ended >= after:
                data = result.data(least)
                data["session"] = each.id
                data["cwd"] = each.cwd
                data["started"] = each.files[0].at or result.started
                data["files"] = [str(file.path) for file in each.files]
                yield redact_value(data)
    finally:
        progress.close()
        maps.close()


class _ProjectMap:
    """The map of the current project, made when the first of its sessions is replayed."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._source: MapSource | None = None
        try:
            self._project: Project | None = edge.project()
        except NoRepository:
            self._project = None

    def open_session(self, root: str | None) -> RankedMap | None:
        """Return the map for a session in this work tree; None if it is not the project's."""
        if self._project is None or root is None or Path(root).resolve() != self._project.root:
            return None
        try:
            if self._source is None:
                self._source = MapSource(self._project)
        except KedgeError as error:
            self._project = None
            self._edge.warn(f"replayed without a map: {error.message}")
            return None
        return self._source.open_session()

    def close(self) -> None:
        if self._source is not None:
            self._source.close()


def _summarise(edge: Edge, replays: list[dict[str, Any]]) -> str:
    alarmed = [each for each in replays if each["alarms"]]
    blocks = [_describe_session(each, edge.verbose) for each in alarmed]
    actions = sum(each["actions"] for each in replays)
    alarms = sum(len(each["alarms"]) for each in replays)
    rate = f", {100 * alarms / actions:.1f} per 100 actions" if actions else ""
    blocks.append(
        f"{count_noun(len(replays), 'session')}, {count_noun(actions, 'action')}: "
        f"{count_noun(len(alarmed), 'session')} with alarms, {count_noun(alarms, 'alarm')}{rate}"
    )
    return "\n\n".join(blocks)


def _describe_session(replay: dict[str, Any], verbose: bool) -> str:
    goal = replay["goal"]
    work = f"{count_noun(replay['actions'], 'action')}, {replay['modifying']} modifying"
    lines = [
        f"{replay['agent']} {replay['session']}  {replay['started']}  {work}",
        f"  asked: {shorten(goal, _MAX_TEXT)}",
    ]
    for alarm in replay["alarms"]:
        who = f" (subagent {alarm['agent_id']})" if alarm["agent_id"] else ""
        lines.append(
            f"  step {alarm['step']}  {alarm['score']} {alarm['level']}  {alarm['tool']}{who}  "
            f"{alarm['at']}"
        )
        if alarm["goal"] != goal:
            goal = alarm["goal"]
            lines.append(f"    asked by then: {shorten(goal, _MAX_TEXT)}")
        lines += [
            f"    {rule['rule']}: {shorten(rule['evidence'], _MAX_TEXT)}" for rule in alarm["rules"]
        ]
        if verbose and alarm["correction"]:
            lines += [f"    | {line}" for line in alarm["correction"].splitlines()]
    course = replay["course"]
    lines.append(f"  ended {course['state']} at {course['score']}")
    lines += [f"  needs review: {shorten(why, _MAX_TEXT)}" for why in replay["why"]]
    return "\n".join(map(clean, lines))
