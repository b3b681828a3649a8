"""Evidence by hash: a file of the repository, or an excerpt of one.

A context holds the id and the hash instead of the text, so that a later change is detected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate, islice

from kedge.errors import FileError, InvalidValue
from kedge.handoff import repo_files
from kedge.handoff.canonical_form import sha256
from kedge.handoff.repo_files import UnreadableFile, display_text
from kedge.handoff.standards.sections import SectionIndex
from kedge.host.project import Project
from kedge.host.text import clean, shorten

MAX_BYTES = 64 << 20
MAX_EXCERPT = 256 << 10
_MAX_SEARCHED = 256 << 20  # bytes to hash in search of an excerpt that moved
_HEAD = 4096
_SPAN = re.compile(r"L([0-9]{1,9})-L([0-9]{1,9})\Z")


@dataclass(frozen=True, slots=True)
class Evidence:
    """`kind` is file or excerpt. An excerpt has lines, and a section if it is a whole one.

    The hash is of the exact bytes, with a newline added to an excerpt that ends without one.
    `first_line` is empty if the bytes are not text.
    """

    id: str
    kind: str
    path: str
    section: str
    line_span: str
    sha256: str
    bytes: int
    first_line: str


def make_file_evidence(project: Project, path: str) -> Evidence:
    """Make evidence of a whole file, text or not."""
    name = repo_files.parse_relative(path)
    return _evidence("file", name, _read_existing(project, name))


def make_excerpt_evidence(
    project: Project,
    path: str,
    *,
    heading: str | None = None,
    lines: tuple[int, int] | None = None,
) -> Evidence:
    """Make evidence of a Markdown section, or of lines from the first to the last, inclusive."""
    if (heading is None) == (lines is None):
        raise InvalidValue("an excerpt needs either a heading or lines", hint="give one of them")
    name = repo_files.parse_relative(path)
    data = _read_existing(project, name)
    slug = ""
    if heading is not None:
        lookup = SectionIndex(repo_files.decode_text(data, name)).find(heading)
        if lookup.section is None:
            raise InvalidValue(
                f"{display_text(name)}#{display_text(heading)}: {lookup.why}",
                hint="give the heading's text, or its name in a link",
            )
        slug, lines = lookup.section.slug, (lookup.section.first, lookup.section.last)
    first, last = lines or (0, 0)
    count = len(_lines(data))
    if not 1 <= first <= last <= count:
        raise InvalidValue(
            f"{display_text(name)} has no lines {first} to {last}",
            hint=f"it has {count} lines, counted from 1",
        )
    part = slice_lines(data, first, last)
    if len(part) > MAX_EXCERPT:
        raise InvalidValue(
            f"lines {first}-{last} of {display_text(name)} have more than {MAX_EXCERPT >> 10} KiB",
            hint="attach fewer lines, or the whole file",
        )
    return _evidence("excerpt", name, part, slug, f"L{first}-L{last}")


def explain_change(project: Project, evidence: Evidence) -> str | None:
    """Return how the evidence has changed; None if it is still there, even on other lines."""
    name = evidence.path
    try:
        data = repo_files.read_file(project, name, MAX_BYTES)
    except UnreadableFile as error:
        return error.message
    if data is None:
        return f"{display_text(name)} is missing"
    if evidence.kind == "file":
        return None if sha256(data) == evidence.sha256 else f"{display_text(name)} has changed"
    return None if _holds(data, evidence) else f"{_place(evidence)} has changed"


def slice_lines(data: bytes, first: int, last: int) -> bytes:
    """Return the bytes of these lines, counted from 1, with a final newline."""
    part = b"\n".join(_lines(data)[first - 1 : last])
    return part + b"\n"


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _holds(data: bytes, evidence: Evidence) -> bool:
    """True if that many lines with that hash are anywhere in the file."""
    span = _SPAN.match(evidence.line_span)
    if not span:
        return False
    first, last = int(span[1]), int(span[2])
    if sha256(slice_lines(data, first, last)) == evidence.sha256:
        return True
    lines = _lines(data)
    ends = [0, *accumulate(len(line) + 1 for line in lines)]
    count, size = last - first + 1, max(evidence.bytes, 1)
    starts = (
        start
        for start in range(len(lines) - count + 1 if count > 0 else 0)
        if ends[start + count] - ends[start] == size
        and _may_start(lines[start], evidence.first_line)
    )
    return any(
        sha256(b"\n".join(lines[start : start + count]) + b"\n") == evidence.sha256
        for start in islice(starts, _MAX_SEARCHED // size)
    )


def _may_start(line: bytes, first_line: str) -> bool:
    return not first_line or not line.strip() or _first_line(line) == first_line


def _read_existing(project: Project, name: str) -> bytes:
    data = repo_files.read_file(project, name, MAX_BYTES)
    if data is None:
        raise FileError(
            f"there is no file {display_text(name)}", hint="name a file of the repository"
        )
    return data


def _evidence(kind: str, path: str, data: bytes, section: str = "", span: str = "") -> Evidence:
    sha = sha256(data)
    return Evidence(f"ev-{sha[:8]}", kind, path, section, span, sha, len(data), _first_line(data))


def _first_line(data: bytes) -> str:
    """Return the first line that is not blank, for people; empty if the bytes are not text."""
    head = data[:_HEAD]
    line = next((line for line in head.split(b"\n") if line.strip()), b"")
    try:
        # the end of the head may split a character
        text = line.decode(errors="ignore" if head.endswith(line) else "strict")
    except UnicodeDecodeError:
        return ""
    return "" if b"\0" in head else shorten(clean(text.removeprefix("\ufeff").strip()), 140)


def _place(evidence: Evidence) -> str:
    what = f"#{display_text(evidence.section)}" if evidence.section else f":{evidence.line_span}"
    return f"{display_text(evidence.path)}{what}"
