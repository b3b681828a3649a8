"""Transcripts on disk: which agent wrote a file, which files make a session, and what is in them.

What a file is, its records say; its name says nothing. A session is all files with its id: its own
and those of its subagents, in order of time. A record that is in them twice counts once.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from kedge.agents.transcripts.events import Call, Event, Facts, Prompt, Reader
from kedge.agents.transcripts.lines import Lines, mended
from kedge.errors import FileError
from kedge.host.files import file_error
from kedge.host.record import NamedTuple

AGENTS = ("claude", "codex")
_PEEK = 400  # lines in which a file must show what it is
_STAMP = re.compile(rb'"timestamp":\s?"([^"\\]{10,40})"')


class File(NamedTuple):
    """A transcript: what its first records say, when the very first was written, and its size."""

    path: Path
    facts: Facts
    at: str
    size: int
    changed: float


class Recorded(NamedTuple):
    """A session on disk; its own files come before those of its subagents."""

    agent: str
    id: str
    cwd: str
    files: tuple[File, ...]


def find(paths: Iterable[Path]) -> list[Path]:
    """The files that are named, and all JSON lines below the directories that are.

    Raises FileError for what is neither.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_file():
            found[path] = None
            continue
        if not path.is_dir():
            raise FileError(f"no file or directory {str(path)!r}", hint="check the path")
        for here, folders, names in os.walk(path):
            folders.sort()
            below = [Path(here, name) for name in sorted(names) if name.endswith(".jsonl")]
            found |= {each: None for each in below if each.is_file()}
    return list(found)


def look(path: Path) -> File | None:
    """What a file's first records say; None when no agent's transcript is in it.

    Raises FileError when it cannot be read.
    """
    lines = Lines(path)
    readers = [_reader(agent) for agent in AGENTS]
    facts, at, acted = Facts(""), "", False
    for line in islice(lines, _PEEK):
        stamp = None if at else _STAMP.search(line)
        at = stamp[1].decode("ascii", "replace") if stamp else at
        for reader in readers:
            if found := list(_taken([line], lines, reader)):
                readers, acted = [reader], True
                facts = next((one for one in reversed(found) if isinstance(one, Facts)), facts)
                break
        if facts.session and facts.cwd and at:
            break
    if not acted:
        return None
    try:
        about = path.stat()
    except OSError as error:  # it was there a moment ago
        raise file_error("read", path, error) from error
    return File(path, facts, at, about.st_size, about.st_mtime)


def sessions(files: Iterable[File]) -> list[Recorded]:
    """The sessions that the files are of, the earliest first."""
    files = list(files)
    parents = {each.facts.subagent: each.facts.session for each in files if each.facts.parent}
    groups: dict[tuple[str, str], list[File]] = {}
    for each in files:
        session, seen = each.facts.session, {""}
        while session in parents and session not in seen:  # up to the first of all
            seen.add(session)
            session = parents[session]
        groups.setdefault((each.facts.agent, session or str(each.path)), []).append(each)
    made = [_recorded(group, session) for (_, session), group in groups.items()]
    # One that begins with a copy of another comes after it.
    made.sort(key=lambda each: (each.files[0].at, each.files[0].changed, each.id))
    return made


def events(
    recorded: Recorded,
    read: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Iterator[Event]:
    """What happened in a session, in order of time.

    `read` is told how many bytes were read, `warn` of what is damaged, once for each file. Raises
    FileError for a file that cannot be read.
    """
    heard: set[str] = set()
    called: set[str] = set()
    for event in _merged(recorded, read, warn):
        if isinstance(event, (Call, Prompt)) and event.id:
            seen = called if isinstance(event, Call) else heard
            if event.id in seen:
                continue
            seen.add(event.id)
        yield event


def _recorded(group: list[File], session: str) -> Recorded:
    group.sort(key=lambda each: (bool(each.facts.subagent), each.at, str(each.path)))
    facts = group[0].facts
    cwd = next((each.facts.cwd for each in group if each.facts.cwd), "")
    return Recorded(facts.agent, session if facts.session else group[0].path.stem, cwd, (*group,))


def _merged(
    recorded: Recorded, read: Callable[[int], None] | None, warn: Callable[[str], None] | None
) -> Iterator[Event]:
    """The events of all files by their time. A file is opened when its time has come."""
    if len(recorded.files) == 1:
        yield from _file(recorded.files[0].path, recorded.agent, read, warn)
        return
    waiting = sorted(enumerate(recorded.files), key=lambda pair: (pair[1].at, pair[0]))
    heap: list[tuple[str, int, Event, Iterator[tuple[str, Event]]]] = []
    while heap or waiting:
        if waiting and (not heap or waiting[0][1].at <= heap[0][0]):
            number, file = waiting.pop(0)
            stream = _stamped(_file(file.path, recorded.agent, read, warn))
        else:
            _, number, event, stream = heapq.heappop(heap)
            yield event
        if (found := next(stream, None)) is not None:
            heapq.heappush(heap, (found[0], number, found[1], stream))


def _reader(agent: str) -> Reader:
    if agent == "codex":
        from kedge.agents.transcripts.codex import Rollout

        return Rollout()
    from kedge.agents.transcripts.claude import Transcript

    return Transcript()


def _file(
    path: Path,
    agent: str,
    read: Callable[[int], None] | None,
    warn: Callable[[str], None] | None,
) -> Iterator[Event]:
    lines = Lines(path, read)
    yield from _taken(lines, lines, _reader(agent))
    warning = lines.warning()
    if warning and warn is not None:
        warn(warning)


def _taken(given: Iterable[bytes], lines: Lines, reader: Reader) -> Iterator[Event]:
    """The events of the lines; what is damaged is counted, and mended where that can be done."""
    from msgspec import DecodeError

    broken = (DecodeError, UnicodeDecodeError, RecursionError)
    for line in given:
        try:
            found = reader.take(line)
        except broken:
            found = []
            pieces, whole = mended(line)
            for piece in pieces:
                try:
                    found += reader.take(piece)
                except broken:
                    whole = False
            if not whole:
                lines.spoil()
        yield from found


def _stamped(given: Iterator[Event]) -> Iterator[tuple[str, Event]]:
    """Events with their time; one without has that of the event before it."""
    at = ""
    for event in given:
        at = getattr(event, "at", at) or at
        yield at, event
