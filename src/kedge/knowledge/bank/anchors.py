"""Anchors: the path or definition that an entry is about, with a hash of its content.

`src/auth.py#hash_password (sha 1f3a5c7e9b0d)`: the digits begin the SHA-256 of the file, or of the
definition's lines up to the next definition of the same level, with `\\n` as line ending. An anchor
at a directory has no hash.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from kedge.errors import FileError, InvalidValue
from kedge.host.project import Project
from kedge.repomap import files
from kedge.repomap.languages import language_of
from kedge.repomap.symbol import Symbol
from kedge.repomap.symbols import extract

CURRENT, DRIFTED, ORPHANED, UNKNOWN = "current", "drifted", "orphaned", "unknown"
DIGITS = 12
_SHA = re.compile(r"\(sha(?:256)?[ :]{1,2}(?P<sha>[0-9a-fA-F]{6,64})(?:…|\.\.\.)?\)\Z")
# Decorators, comments and blank lines that belong to the next definition.
_LEADING = re.compile(r"\s*(?:@|#\[|#(?!!)|//|/\*|\*|--|;)|\s*\Z")


@dataclass(frozen=True, slots=True)
class CodeAnchor:
    path: str
    symbol: str = ""
    sha: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}#{self.symbol}" if self.symbol else self.path

    def __str__(self) -> str:
        return f"{self.place} (sha {self.sha})" if self.sha else self.place


def parse(value: str) -> CodeAnchor:
    """Parse an anchor as entries write it."""
    value = value.strip().replace("`", "")
    sha = ""
    if match := _SHA.search(value, max(0, len(value) - 90)):
        sha, value = match["sha"].lower(), value[: match.start()].rstrip()
    path, _, symbol = value.partition("#")
    return CodeAnchor(path.strip(), symbol.strip().rstrip("()"), sha)


def make(project: Project, named: str) -> CodeAnchor:
    """Create an anchor with the current hash; refuse a path or definition that is not there."""
    parsed = parse(named)
    path = _relative_path(project, parsed.path)
    anchor = CodeAnchor(path, parsed.symbol)
    if (project.root / path).is_dir():
        if anchor.symbol:
            raise InvalidValue(f"{path} is a directory and has no definitions", hint="name a file")
        return replace(anchor, path=path.rstrip("/") + "/")
    source = files.read(project.root, path)
    if source is None:
        raise FileError(
            f"no file {path}", hint="anchor the entry at a file or directory that exists"
        )
    sha, failed = hash_content(path, anchor.symbol, source)
    if sha is None:
        names = ", ".join(one.name for one in _symbols(path, source)[0][:8])
        raise InvalidValue(
            f"no definition {anchor.symbol!r} in {path}" + (f": {failed}" if failed else ""),
            hint=f"it defines {names}" if names else "anchor the entry at the file itself",
        )
    return replace(anchor, sha=sha)


def check(project: Project, anchor: CodeAnchor) -> str:
    """Return the state of an anchor: CURRENT, DRIFTED, ORPHANED or UNKNOWN."""
    try:
        path = _relative_path(project, anchor.path)
        if (project.root / path).is_dir():
            return CURRENT
        source = files.read(project.root, path)
    except (FileError, InvalidValue, OSError, ValueError):
        return ORPHANED
    if source is None:
        return ORPHANED
    sha, failed = hash_content(path, anchor.symbol, source)
    if sha is None:
        return UNKNOWN if failed else ORPHANED
    if not anchor.sha:
        return UNKNOWN
    size = min(len(anchor.sha), DIGITS)
    return CURRENT if sha[:size] == anchor.sha[:size] else DRIFTED


def hash_content(path: str, symbol: str, source: bytes) -> tuple[str | None, str]:
    """Return the hash of the file or definition; None, and why, if it cannot be computed."""
    source = source.replace(b"\r\n", b"\n")
    if symbol:
        spans, failed = _spans(path, symbol, source)
        if not spans:
            return None, failed
        lines = source.split(b"\n")
        source = b"\n".join(b"\n".join(lines[first:last]) for first, last in spans)
    return hashlib.sha256(source, usedforsecurity=False).hexdigest()[:DIGITS], ""


def _spans(path: str, symbol: str, source: bytes) -> tuple[list[tuple[int, int]], str]:
    """Return the first line and the end of each definition with that name; lines from 0."""
    symbols, failed = _symbols(path, source)
    parts = re.split(r"\.|::|#|/", symbol)
    name, owner = parts[-1], parts[-2] if len(parts) > 1 else None
    depths = _depths(symbols)
    total = source.count(b"\n") + 1
    lines = source.split(b"\n")
    spans = []
    for at, one in enumerate(symbols):
        if one.name != name or (owner is not None and one.parent != owner):
            continue
        later = (n for n in range(at + 1, len(symbols)) if depths[n] <= depths[at])
        stop = next((symbols[n].line - 1 for n in later if symbols[n].line > one.line), total)
        spans.append((one.line - 1, _trim_end(lines, one.line, stop)))
    return spans, failed


def _symbols(path: str, source: bytes) -> tuple[tuple[Symbol, ...], str]:
    language = language_of(path, source.partition(b"\n")[0])
    if language is None or not language.readable:
        return (), "kedge cannot find definitions in such files"
    extracted = extract(language, source, path)
    return extracted.symbols, extracted.failed or ""


def _depths(symbols: tuple[Symbol, ...]) -> list[int]:
    """Return how many definitions enclose each."""
    known: dict[str, int] = {}
    depths = []
    for one in symbols:
        depth = known.get(one.parent, 0) + 1 if one.parent is not None else 0
        known[one.name] = depth
        depths.append(depth)
    return depths


def _trim_end(lines: list[bytes], first: int, stop: int) -> int:
    """Return the end without the lines that belong to the next definition."""
    while stop > first and _LEADING.match(lines[stop - 1].decode("utf-8", "replace")):
        stop -= 1
    return stop


def _relative_path(project: Project, path: str) -> str:
    """Return the normalised path; refuse one that is not inside the project."""
    if not path or "\0" in path:
        raise InvalidValue("an anchor needs a path", hint="for example src/auth.py#hash_password")
    parts = PurePosixPath(os.path.normpath(path))
    if parts.is_absolute() or ".." in parts.parts:
        raise FileError(f"{path} is outside the project", hint="give a path relative to its root")
    project.path(str(parts))
    return str(parts)
