"""The one section of a user's file that kedge writes, between two marker lines.

Every byte outside it belongs to the user. The functions take a file's bytes and return the bytes to
write. Removing the section restores the original file, because its bytes show how it was joined:

- after a file that ends with a line break: one more line break before it, and one after it;
- after a file that does not: two line breaks before it, and none after it;
- in a file that ends inside a code fence or a comment: on top, with a line that says so, and a
  blank line below.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from kedge.errors import BrokenSection, FileError
from kedge.host.digest import digest
from kedge.text.fences import FenceReader

VERSION = 1
END = "<!-- END KEDGE MANAGED SECTION -->"
_ABOVE = "<!-- It stands here because the text below ends inside a code fence or a comment. -->"
_NOTE = "<!-- kedge writes this section ({}); `kedge update` refreshes it. Write outside of it. -->"
_BOM = b"\xef\xbb\xbf"
_BEGIN_LINE = re.compile(rb" {0,3}<!-- BEGIN KEDGE MANAGED SECTION v([0-9]{1,6}) -->[ \t]*\Z")
_END_LINE = re.compile(rb" {0,3}<!-- END KEDGE MANAGED SECTION -->[ \t]*\Z")
_SEAL = re.compile(rb"<!-- kedge writes this section \(([0-9a-f]{8})\)")


@dataclass(frozen=True, slots=True)
class ManagedSection:
    """The section at bytes `start` to `stop`, without its last line break."""

    start: int
    stop: int
    version: int
    text: bytes
    eol: bytes

    @property
    def edited(self) -> bool:
        """True if someone other than kedge changed its text."""
        found = _SEAL.search(self.text)
        return found is None or _seal(_extract_body(self.text)) != found[1].decode()


@dataclass(frozen=True, slots=True)
class _Marker:
    """A marker line. `version` is None for an end marker."""

    start: int
    stop: int
    line: int
    version: int | None


def find(data: bytes) -> ManagedSection | None:
    """Find the section; BrokenSection if the markers do not form exactly one."""
    marks = _find_markers(data)
    if not marks:
        return None
    if len(marks) != 2 or (version := marks[0].version) is None or marks[1].version is not None:
        raise BrokenSection(
            _describe_markers(marks), hint="kedge update --repair, or correct the lines by hand"
        )
    first, last = marks
    eol = re.match(rb"\r\n|\n|\r", data[first.stop :])
    text = data[first.start : last.stop]
    return ManagedSection(first.start, last.stop, version, text, eol[0] if eol else b"\n")


def put(data: bytes | None, body: str) -> bytes:
    """Return the file with `body` as its section; the same bytes if it already is."""
    if data is None:
        return _render(body, b"\n") + b"\n"
    _check_text(data)
    section = find(data)
    if section is not None:
        if section.version > VERSION:
            raise BrokenSection(
                f"the section was written by a newer kedge (version {section.version})",
                hint="update kedge",
            )
        eol = _most_used_eol(data[: section.start] + data[section.stop :], section.eol)
        new = _render(body, eol, above=_ABOVE.encode() in section.text)
        return data[: section.start] + new + data[section.stop :]
    eol = _most_used_eol(data)
    if _read_plain(data)[1]:
        at = _find_top(data)
        return data[:at] + _render(body, eol, above=True) + eol + eol + data[at:]
    if data.endswith(eol):
        return data + eol + _render(body, eol) + eol
    return data + (eol + eol if data else b"") + _render(body, eol)


def drop(data: bytes) -> bytes | None:
    """Return the file as it was before the section was added; None if there was no file."""
    section = find(data)
    if section is None:
        return data
    before, after, eol = data[: section.start], data[section.stop :], section.eol
    if _ABOVE.encode() in section.text:
        return before + after.removeprefix(eol).removeprefix(eol)
    if not after:
        return before.removesuffix(eol + eol)
    after = re.sub(rb"\A(?:\r\n|\n|\r)", b"", after)
    if not before and not after:
        return None
    if before.endswith(eol + eol):
        before = before.removesuffix(eol)
    return before + after


def repair(data: bytes, body: str) -> bytes:
    """Replace broken markers by one whole section, and drop no line of the user's.

    Marker lines are dropped, and kedge's own lines after a begin marker, or before an end marker
    without one, up to the first other line. A file that has no others was kedge's.
    """
    if data.startswith(_BOM):
        return _BOM + repair(data[len(_BOM) :], body)
    own = {line.strip() for line in _render(body, b"\n").split(b"\n") if line.strip()}
    own.add(_ABOVE.encode())
    marks = {mark.start: mark for mark in _find_markers(data)}
    kept: list[bytes] = []
    blank: list[bytes] = []  # a blank line between two of kedge's lines is also kedge's
    joint = None  # how many lines are above the first section
    inside, position = False, 0
    for line in data.splitlines(keepends=True):
        mark, words = marks.get(position), line.strip()
        position += len(line)
        if mark is not None:
            if mark.version is None and not inside:
                _drop_own_end(kept, own)
            joint = len(kept) if joint is None else min(joint, len(kept))
            inside, blank = mark.version is not None, []
        elif inside and not words:
            blank.append(line)
        elif inside and _is_own(words, own):
            blank = []
        else:
            kept += [*blank, line]
            inside, blank = False, []
    ended = data.endswith((b"\n", b"\r"))
    if joint and not kept[joint - 1].strip():  # the blank line that joined the section
        del kept[joint - 1]
        if not ended and kept[joint - 1 :] == [] and joint > 1:
            kept[-1] = kept[-1].rstrip(b"\r\n")
    left = b"".join(kept)
    return put(left if left.strip() or not ended else None, body)


def _drop_own_end(lines: list[bytes], own: Collection[bytes]) -> None:
    """Drop kedge's lines at the end, with the blank ones among them."""
    last = len(lines)
    for at in range(len(lines) - 1, -1, -1):
        if _is_own(lines[at].strip(), own):
            last = at
        elif lines[at].strip():
            break
    del lines[last:]


def _is_own(words: bytes, own: Collection[bytes]) -> bool:
    return words in own or _SEAL.match(words) is not None


def list_plain_lines(data: bytes) -> list[tuple[int, bytes]]:
    """Return the offset and text of each line outside code fences, comments and front matter."""
    return [(start, line) for start, _, line in _read_plain(data)[0]]


def _find_markers(data: bytes) -> list[_Marker]:
    marks = []
    for start, number, line in _read_plain(data)[0]:
        stop = start + len(line)
        if begin := _BEGIN_LINE.match(line):
            marks.append(_Marker(start, stop, number, int(begin[1])))
        elif _END_LINE.match(line):
            marks.append(_Marker(start, stop, number, None))
    return marks


def _read_plain(data: bytes) -> tuple[list[tuple[int, int, bytes]], bool]:
    """Return offset, number and text of each line outside code fences, comments and front matter.

    The second value is true if the file ends inside a fence or a comment.
    """
    top = _find_top(data)
    plain = []
    position, fences, comment = 0, FenceReader(), False
    for number, whole in enumerate(data.splitlines(keepends=True), 1):
        start, line = position, whole.rstrip(b"\r\n")
        position += len(whole)
        if start == 0 and line.startswith(_BOM):
            start, line = len(_BOM), line[len(_BOM) :]
        if start < top:
            continue  # front matter
        if comment:
            comment = b"-->" not in line
        elif fences.read(line.decode("latin-1")):  # one character for each byte
            pass
        elif line.lstrip().startswith(b"<!--") and b"-->" not in line:
            comment = True
        else:
            plain.append((start, number, line))
    return plain, comment or bool(fences.fence)


def _find_top(data: bytes) -> int:
    """Return the offset where text begins, after the byte order mark and the front matter."""
    start = len(_BOM) if data.startswith(_BOM) else 0
    first, _, rest = data[start:].partition(b"\n")
    if first.rstrip() != b"---":
        return start
    position = start + len(first) + 1
    for line in rest.splitlines(keepends=True):
        position += len(line)
        if line.rstrip() in (b"---", b"..."):
            return position if line.endswith((b"\n", b"\r")) else start
    return start


def _most_used_eol(data: bytes, otherwise: bytes = b"\n") -> bytes:
    """Return the line break that the file uses most."""
    both = data.count(b"\r\n")
    counts = {b"\n": data.count(b"\n") - both, b"\r\n": both, b"\r": data.count(b"\r") - both}
    best = max(counts, key=lambda eol: counts[eol])
    return best if counts[best] else otherwise


def _render(body: str, eol: bytes, *, above: bool = False) -> bytes:
    head = [f"<!-- BEGIN KEDGE MANAGED SECTION v{VERSION} -->", _NOTE.format(_seal(body.encode()))]
    head += [_ABOVE] if above else []
    return eol.join("\n".join([*head, body.strip("\n"), END]).encode().split(b"\n"))


def _extract_body(section: bytes) -> bytes:
    """Return the body that was rendered: no markers, no notes, line breaks as `\\n`."""
    rows = section.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[2:-1]
    return b"\n".join(rows[1:] if rows[:1] == [_ABOVE.encode()] else rows)


def _seal(body: bytes) -> str:
    return digest([body.strip(b"\n")])[:8]


def _check_text(data: bytes) -> None:
    if b"\0" in data or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(
            "it is not text in UTF-8 or another encoding based on ASCII",
            hint="save it as UTF-8; kedge has changed nothing",
        )


def _describe_markers(marks: list[_Marker]) -> str:
    rows = [f"line {m.line} {'ends' if m.version is None else 'begins'} a section" for m in marks]
    return "its markers do not make one section: " + ", ".join(rows[:6])
