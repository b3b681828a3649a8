"""Evidence by hash: a file, a part of one, or bytes from elsewhere, named by what is in it.

A context holds the id and the hash in place of the text. What was attached can be compared with
what is there.
"""

from __future__ import annotations

import re

from kedge.errors import FileError, InvalidValue
from kedge.handoff import places
from kedge.handoff.artifacts import Artifacts, Stored
from kedge.handoff.normalise import sha256
from kedge.handoff.places import Unreadable, shown
from kedge.handoff.sections import Sections
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.host.text import clean, shortened

__all__ = ["Artifacts", "Evidence", "Stored", "bytes_", "changed", "excerpt", "file", "lines_of"]

MAX_BYTES = 64 << 20
MAX_EXCERPT = 256 << 10
_MAX_SEARCHED = 256 << 20  # bytes that are hashed to find an excerpt that moved
_HEAD = 4096
_SPAN = re.compile(r"L([0-9]{1,9})-L([0-9]{1,9})\Z")


class Evidence(NamedTuple):
    """`kind` is file, excerpt or bytes. An excerpt has lines, and a section if it is a whole one.

    The hash is that of the very bytes, with a newline added to the last line of an excerpt that
    has none. `first_line` is empty for what is no text.
    """

    id: str
    kind: str
    path: str
    section: str
    line_span: str
    sha256: str
    bytes: int
    first_line: str


def file(project: Project, path: str) -> Evidence:
    """A whole file of the repository, text or not."""
    name = places.relative(path)
    return _evidence("file", name, _there(project, name))


def excerpt(
    project: Project,
    path: str,
    *,
    heading: str | None = None,
    lines: tuple[int, int] | None = None,
) -> Evidence:
    """The section under a heading of a Markdown file, or lines from one to another, inclusive."""
    if (heading is None) == (lines is None):
        raise InvalidValue("an excerpt needs a heading or lines", hint="give one of both")
    name = places.relative(path)
    data = _there(project, name)
    slug = ""
    if heading is not None:
        found = Sections(places.decoded(data, name)).find(heading)
        if found.section is None:
            raise InvalidValue(
                f"{shown(name)}#{shown(heading)}: {found.why}",
                hint="give the heading's text, or its name in a link",
            )
        slug, lines = found.section.slug, (found.section.first, found.section.last)
    first, last = lines or (0, 0)
    count = len(_lines(data))
    if not 1 <= first <= last <= count:
        raise InvalidValue(
            f"{shown(name)} has no lines {first} to {last}",
            hint=f"it has {count}, and they count from 1",
        )
    part = lines_of(data, first, last)
    if len(part) > MAX_EXCERPT:
        raise InvalidValue(
            f"lines {first} to {last} of {shown(name)} are more than {MAX_EXCERPT >> 10} KiB",
            hint="attach fewer lines, or the whole file",
        )
    return _evidence("excerpt", name, part, slug, f"L{first}-L{last}")


def bytes_(name: str, data: bytes) -> Evidence:
    """Bytes from outside the repository, under a plain name: they are not watched."""
    places.relative(name, what="name")
    if "/" in name or name == "." or not name.isprintable():
        raise InvalidValue(f"{shown(name)!r} is no plain file name", hint="such as test.log")
    if len(data) > MAX_BYTES:
        raise InvalidValue(
            f"{shown(name)} has more than {MAX_BYTES >> 20} MiB", hint="keep the part that matters"
        )
    return _evidence("bytes", name, data)


def changed(project: Project, evidence: Evidence) -> str | None:
    """What became of it; None while it is there, if on other lines."""
    if evidence.kind == "bytes":
        return None
    name = evidence.path
    try:
        data = places.read(project, name, MAX_BYTES)
    except Unreadable as error:
        return error.message
    if data is None:
        return f"{shown(name)} is gone"
    if evidence.kind == "file":
        return None if sha256(data) == evidence.sha256 else f"{shown(name)} has changed"
    return None if _holds(data, evidence) else f"{_place(evidence)} has changed"


def lines_of(data: bytes, first: int, last: int) -> bytes:
    """The bytes of lines that count from 1, the last one with a newline."""
    part = b"\n".join(_lines(data)[first - 1 : last])
    return part + b"\n"


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _holds(data: bytes, evidence: Evidence) -> bool:
    """Whether as many lines with that hash are anywhere in the file."""
    span = _SPAN.match(evidence.line_span)
    if not span:
        return False
    first, last = int(span[1]), int(span[2])
    if sha256(lines_of(data, first, last)) == evidence.sha256:
        return True
    lines = _lines(data)
    count, size, searched = last - first + 1, evidence.bytes, 0
    if not 0 < count <= len(lines) or size <= 0:
        return False
    length = sum(len(line) + 1 for line in lines[:count])
    for start in range(len(lines) - count + 1):
        if length == size and _may_start(lines[start], evidence.first_line):
            if sha256(b"\n".join(lines[start : start + count]) + b"\n") == evidence.sha256:
                return True
            searched += size
            if searched > _MAX_SEARCHED:
                return False
        if start + count < len(lines):
            length += len(lines[start + count]) - len(lines[start])
    return False


def _may_start(line: bytes, first_line: str) -> bool:
    return not first_line or not line.strip() or _first_line(line) == first_line


def _there(project: Project, name: str) -> bytes:
    data = places.read(project, name, MAX_BYTES)
    if data is None:
        raise FileError(f"there is no {shown(name)}", hint="name a file of the repository")
    return data


def _evidence(kind: str, path: str, data: bytes, section: str = "", span: str = "") -> Evidence:
    sha = sha256(data)
    return Evidence(f"ev-{sha[:8]}", kind, path, section, span, sha, len(data), _first_line(data))


def _first_line(data: bytes) -> str:
    """The first line that is not blank, to be recognised by; empty where it is no text."""
    head = data[:_HEAD]
    line = next((line for line in head.split(b"\n") if line.strip()), b"")
    try:
        # a character may be cut in two where the head ends
        text = line.decode(errors="ignore" if head.endswith(line) else "strict")
    except UnicodeDecodeError:
        return ""
    return "" if b"\0" in head else shortened(clean(text.removeprefix("\ufeff").strip()), 140)


def _place(evidence: Evidence) -> str:
    what = f"#{shown(evidence.section)}" if evidence.section else f":{evidence.line_span}"
    return f"{shown(evidence.path)}{what}"
