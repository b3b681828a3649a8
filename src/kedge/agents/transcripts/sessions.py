"""Sessions on disk: which agent wrote a transcript, which files make a session, and its events.

A file is recognised by its records, not by its name. A session consists of all files with its id:
its own and those of its subagents, in order of time. A record that occurs twice counts once.
opencode has all sessions in one database, of which each counts as a file.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kedge.agents.json_object import JsonObject
from kedge.agents.transcripts import gemini, opencode_database
from kedge.agents.transcripts.claude import ClaudeTranscript
from kedge.agents.transcripts.codex import CodexRollout
from kedge.agents.transcripts.copilot import CopilotLog
from kedge.agents.transcripts.events import (
    Event,
    PromptMessage,
    SessionFacts,
    ToolCall,
    TranscriptReader,
)
from kedge.agents.transcripts.gemini import GeminiChat
from kedge.agents.transcripts.lines import SUFFIXES, TranscriptLines, repair_line
from kedge.agents.transcripts.opencode import OpencodeSession
from kedge.errors import FileError
from kedge.host.files import file_error
from kedge.host.text import count_noun

_READERS: dict[str, Callable[[], TranscriptReader]] = {
    "claude": ClaudeTranscript,
    "codex": CodexRollout,
    "gemini": GeminiChat,
    "copilot": CopilotLog,
}
_OPENCODE = "opencode"
AGENTS = (*_READERS, _OPENCODE)
_PEEK = 400  # lines in which a file must be recognised
_STAMP = re.compile(rb'"timestamp":\s?"([^"\\]{10,40})"')


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript: the facts in its first records, the time of the first one, and its size.

    `part` is the id of the session in a database.
    """

    path: Path
    facts: SessionFacts
    at: str
    size: int
    changed: float
    part: str = ""


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A session on disk; its own files come before those of its subagents."""

    agent: str
    id: str
    cwd: str
    files: tuple[TranscriptFile, ...]


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the given files, and all transcripts below the given directories.

    Raises FileError for a path that is neither.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_file():
            files[path] = None
            continue
        if not path.is_dir():
            raise FileError(f"no file or directory {str(path)!r}", hint="check the path")
        for here, folders, names in os.walk(path):
            folders.sort()
            below = [Path(here, name) for name in sorted(names) if name.endswith(SUFFIXES)]
            files |= {each: None for each in below if each.is_file()}
    return list(files)


def inspect_files(path: Path) -> list[TranscriptFile]:
    """Return the transcript in a file, or those in a database; empty if there is none.

    Raises FileError if it cannot be read.
    """
    if opencode_database.is_database(path):
        return [_inspect_row(path, row) for row in opencode_database.list_sessions(path)]
    file = inspect_file(path)
    return [] if file is None else [file]


def _inspect_row(path: Path, row: opencode_database.SessionRow) -> TranscriptFile:
    reader = OpencodeSession()
    reader.read_record(JsonObject(row.record))
    at = opencode_database.format_time(row.created)
    return TranscriptFile(path, reader.facts, at, row.size, row.updated / 1000, row.id)


def inspect_file(path: Path) -> TranscriptFile | None:
    """Return what a file's first records say; None if it is not a transcript.

    Raises FileError if it cannot be read.
    """
    lines = TranscriptLines(path, last=_PEEK)
    readers = [make() for make in _READERS.values()]
    facts, at = None, ""
    for line in lines:
        stamp = None if at else _STAMP.search(line)
        at = stamp[1].decode("ascii", "replace") if stamp else at
        records = _parse_line(line, lines)
        for reader in readers:
            if [event for record in records for event in reader.read_record(record)]:
                readers, facts = [reader], reader.facts
                break
        if facts and facts.session and at and (facts.cwd or facts.agent == gemini.NAME):
            break
    if facts is None:
        return None
    if facts.agent == gemini.NAME:
        facts = gemini.complete_facts(facts, path, _read_root(path))
    try:
        about = path.stat()
    except OSError as error:  # it was there a moment ago
        raise file_error("read", path, error) from error
    return TranscriptFile(path, facts, at, about.st_size, about.st_mtime)


def _read_root(chat: Path) -> str:
    """Return the project's directory, as Gemini CLI notes it beside its chats."""
    try:
        return Path(gemini.find_root_file(chat)).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def group_sessions(files: Iterable[TranscriptFile]) -> list[RecordedSession]:
    """Group the files into sessions, the earliest first."""
    files = list(files)
    parents = {each.facts.subagent: each.facts.session for each in files if each.facts.parent}
    groups: dict[tuple[str, str], list[TranscriptFile]] = {}
    for each in files:
        session, seen = each.facts.session, {""}
        while session in parents and session not in seen:  # up to the first session
            seen.add(session)
            session = parents[session]
        groups.setdefault((each.facts.agent, session or str(each.path)), []).append(each)
    sessions = [_make_session(group, session) for (_, session), group in groups.items()]
    # A session that starts with a copy of another one comes after it.
    sessions.sort(key=lambda each: (each.files[0].at, each.files[0].changed, each.id))
    return sessions


def read_events(
    session: RecordedSession,
    on_read: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Iterator[Event]:
    """Yield the events of a session in order of time.

    `on_read` is called with the bytes read, `warn` with a warning for each damaged file. Raises
    FileError for a file that cannot be read.
    """
    prompts: set[str] = set()
    calls: set[str] = set()
    for event in _merge_events(session, on_read, warn):
        if isinstance(event, (ToolCall, PromptMessage)) and event.id:
            seen = calls if isinstance(event, ToolCall) else prompts
            if event.id in seen:
                continue
            seen.add(event.id)
        yield event


def _make_session(group: list[TranscriptFile], session: str) -> RecordedSession:
    group.sort(key=lambda each: (bool(each.facts.subagent), each.at, str(each.path)))
    facts = group[0].facts
    cwd = next((each.facts.cwd for each in group if each.facts.cwd), "")
    return RecordedSession(
        facts.agent, session if facts.session else group[0].path.stem, cwd, (*group,)
    )


def _merge_events(
    session: RecordedSession,
    on_read: Callable[[int], None] | None,
    warn: Callable[[str], None] | None,
) -> Iterator[Event]:
    """Yield the events of all files in order of time. A file is opened when it is needed."""
    if len(session.files) == 1:
        yield from _read_file(session.files[0], session.agent, on_read, warn)
        return
    waiting = sorted(enumerate(session.files), key=lambda pair: (pair[1].at, pair[0]))
    heap: list[tuple[str, int, Event, Iterator[tuple[str, Event]]]] = []
    while heap or waiting:
        if waiting and (not heap or waiting[0][1].at <= heap[0][0]):
            number, file = waiting.pop(0)
            stream = _add_times(_read_file(file, session.agent, on_read, warn))
        else:
            _, number, event, stream = heapq.heappop(heap)
            yield event
        if (following := next(stream, None)) is not None:
            heapq.heappush(heap, (following[0], number, following[1], stream))


def _read_file(
    file: TranscriptFile,
    agent: str,
    on_read: Callable[[int], None] | None,
    warn: Callable[[str], None] | None,
) -> Iterator[Event]:
    reader: TranscriptReader
    if agent == _OPENCODE:
        reader = OpencodeSession()
        for row in opencode_database.read_records(file.path, file.part, on_read, warn):
            yield from reader.read_record(JsonObject(row))
        warning = None
    else:
        lines, reader = TranscriptLines(file.path, on_read), _READERS[agent]()
        for line in lines:
            for record in _parse_line(line, lines):
                yield from reader.read_record(record)
        warning = lines.warning()
    if warn is None:
        return
    if warning:
        warn(warning)
    if reader.malformed:
        records = count_noun(reader.malformed, "record")
        warn(f"{file.path}: {records} of {agent} without what they should have, left out")


def _parse_line(line: bytes, lines: TranscriptLines) -> list[JsonObject]:
    """Return the records in a line. A damaged line is counted, and repaired if possible."""
    if (record := _decode(line)) is not None:
        return [JsonObject(record)]
    pieces, whole = repair_line(line) if lines.can_repair else ([], False)
    records = [JsonObject(record) for piece in pieces if (record := _decode(piece)) is not None]
    if not whole or len(records) < len(pieces):
        lines.count_damaged()
    return records


def _decode(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a line; None if there is none."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _add_times(events: Iterator[Event]) -> Iterator[tuple[str, Event]]:
    """Yield events with their time; one without a time has that of the event before it."""
    at = ""
    for event in events:
        at = getattr(event, "at", at) or at
        yield at, event
