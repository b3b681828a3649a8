"""What a note is about: a path or a definition, and the content that it was written for.

`src/auth.py#hash_password (sha 1f3a5c7e9b0d)`: the digits are the first of the SHA-256 of the
file, or of the definition's lines up to the next definition of the same level, with `\\n` as line
break. A directory has no content, only a place.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath

from kedge.errors import FileError, InvalidValue
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.repomap import files
from kedge.repomap.symbols import Symbol

CURRENT, DRIFTED, ORPHANED, UNKNOWN = "current", "drifted", "orphaned", "unknown"
DIGITS = 12
_SHA = re.compile(r"\(sha(?:256)?[ :]{1,2}(?P<sha>[0-9a-fA-F]{6,64})(?:…|\.\.\.)?\)\Z")
_BEHIND = re.compile(r"\s*(?:@|#\[|#(?!!)|//|/\*|\*|--|;)|\s*\Z")  # of the definition that follows


class Anchor(NamedTuple):
    path: str
    symbol: str = ""
    sha: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}#{self.symbol}" if self.symbol else self.path

    def __str__(self) -> str:
        return f"{self.place} (sha {self.sha})" if self.sha else self.place


def parse(value: str) -> Anchor:
    """An anchor as it is written in a note."""
    value = value.strip().replace("`", "")
    sha = ""
    if found := _SHA.search(value, max(0, len(value) - 90)):
        sha, value = found["sha"].lower(), value[: found.start()].rstrip()
    path, _, symbol = value.partition("#")
    return Anchor(path.strip(), symbol.strip().rstrip("()"), sha)


def make(project: Project, named: str) -> Anchor:
    """An anchor to what is there now; refused where there is nothing."""
    given = parse(named)
    path = _inside(project, given.path)
    anchor = Anchor(path, given.symbol)
    if (project.root / path).is_dir():
        if anchor.symbol:
            raise InvalidValue(f"{path} is a directory: it defines nothing", hint="name a file")
        return anchor._replace(path=path.rstrip("/") + "/")
    source = files.read(project.root, path)
    if source is None:
        raise FileError(
            f"no file {path}", hint="anchor a note at a file, or a directory, that is there"
        )
    sha, failed = content(path, anchor.symbol, source)
    if sha is None:
        raise InvalidValue(
            f"no definition {anchor.symbol!r} in {path}" + (f": {failed}" if failed else ""),
            hint=_hint(path, source),
        )
    return anchor._replace(sha=sha)


def state(project: Project, anchor: Anchor) -> str:
    """Whether what the note is about is as it was."""
    try:
        path = _inside(project, anchor.path)
        if (project.root / path).is_dir():
            return CURRENT
        source = files.read(project.root, path)
    except (FileError, InvalidValue, OSError, ValueError):
        return ORPHANED
    if source is None:
        return ORPHANED
    sha, failed = content(path, anchor.symbol, source)
    if sha is None:
        return UNKNOWN if failed else ORPHANED
    if not anchor.sha:
        return UNKNOWN
    size = min(len(anchor.sha), DIGITS)
    return CURRENT if sha[:size] == anchor.sha[:size] else DRIFTED


def content(path: str, symbol: str, source: bytes) -> tuple[str | None, str]:
    """The hash of what is anchored at; None where there is none, with the reason if not that."""
    import hashlib

    source = source.replace(b"\r\n", b"\n")
    if symbol:
        spans, failed = _spans(path, symbol, source)
        if not spans:
            return None, failed
        lines = source.split(b"\n")
        source = b"\n".join(b"\n".join(lines[first:last]) for first, last in spans)
    return hashlib.sha256(source, usedforsecurity=False).hexdigest()[:DIGITS], ""


def _spans(path: str, symbol: str, source: bytes) -> tuple[list[tuple[int, int]], str]:
    """From which line to before which each definition of that name goes, lines from 0."""
    found, failed = _symbols(path, source)
    parts = re.split(r"\.|::|#|/", symbol)
    name, owner = parts[-1], parts[-2] if len(parts) > 1 else None
    depths = _depths(found)
    total = source.count(b"\n") + 1
    lines = source.split(b"\n")
    spans = []
    for at, one in enumerate(found):
        if one.name != name or (owner is not None and one.parent != owner):
            continue
        later = (n for n in range(at + 1, len(found)) if depths[n] <= depths[at])
        stop = next((found[n].line - 1 for n in later if found[n].line > one.line), total)
        spans.append((one.line - 1, _trimmed(lines, one.line, stop)))
    return spans, failed


def _symbols(path: str, source: bytes) -> tuple[tuple[Symbol, ...], str]:
    from kedge.repomap.languages import language_of
    from kedge.repomap.symbols import extract

    language = language_of(path, source.partition(b"\n")[0])
    if language is None or not language.readable:
        return (), "kedge knows no definitions in such files"
    made = extract(language, source, path)
    return made.symbols, made.failed or ""


def _depths(found: tuple[Symbol, ...]) -> list[int]:
    """How many definitions stand around each."""
    known: dict[str, int] = {}
    depths = []
    for one in found:
        depth = known.get(one.parent, 0) + 1 if one.parent is not None else 0
        known[one.name] = depth
        depths.append(depth)
    return depths


def _trimmed(lines: list[bytes], first: int, stop: int) -> int:
    """Without what stands before the next definition and belongs to it."""
    while stop > first and _BEHIND.match(lines[stop - 1].decode("utf-8", "replace")):
        stop -= 1
    return stop


def _inside(project: Project, path: str) -> str:
    """The path from the root, as git has it; refused where it leads out."""
    if not path or "\0" in path:
        raise InvalidValue("an anchor needs a path", hint="for example src/auth.py#hash_password")
    parts = PurePosixPath(os.path.normpath(path))
    if parts.is_absolute() or ".." in parts.parts:
        raise FileError(f"{path} leads out of the project", hint="give a path from its root")
    project.path(str(parts))
    return str(parts)


def _hint(path: str, source: bytes) -> str:
    names = [one.name for one in _symbols(path, source)[0]]
    return "there is " + ", ".join(names[:8]) if names else "anchor the note at the file itself"
