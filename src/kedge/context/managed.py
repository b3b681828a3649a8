"""The one section of a user's file that kedge writes, between two marker lines.

Everything outside of it is the user's, byte by byte: functions here take a file's bytes and give
the bytes to write. What was joined to the user's text can be told from the bytes alone, so that
removing the section restores the file as it was:

- a file that ends with a line break gets one more, and the section ends with one;
- a file that does not gets two, and the section ends without one;
- a file that ends inside of a code fence or a comment gets the section on top, with a line that
  says so, and a blank line below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.errors import BrokenSection, FileError
from kedge.host.digest import digest
from kedge.host.record import NamedTuple

VERSION = 1
END = "<!-- END KEDGE MANAGED SECTION -->"
_ABOVE = "<!-- It stands here because the text below ends inside a code fence or a comment. -->"
_NOTE = "<!-- kedge writes this section ({}); `kedge update` refreshes it. Write outside of it. -->"
_BOM = b"\xef\xbb\xbf"
_BEGIN_LINE = re.compile(rb" {0,3}<!-- BEGIN KEDGE MANAGED SECTION v([0-9]{1,6}) -->[ \t]*\Z")
_END_LINE = re.compile(rb" {0,3}<!-- END KEDGE MANAGED SECTION -->[ \t]*\Z")
_FENCE = re.compile(rb"[ \t]*(`{3,}(?=[^`]*\Z)|~{3,})(.*)\Z", re.DOTALL)
_SEAL = re.compile(rb"<!-- kedge writes this section \(([0-9a-f]{8})\)")


class Section(NamedTuple):
    """Where the section is: `start` to `stop` are its bytes, without the last line break."""

    start: int
    stop: int
    version: int
    text: bytes
    eol: bytes

    @property
    def edited(self) -> bool:
        """Whether somebody else wrote in it."""
        found = _SEAL.search(self.text)
        return found is None or _seal(_inside(self.text)) != found[1].decode()


class _Marker(NamedTuple):
    """A marker line: its version for a beginning, None for an end."""

    start: int
    stop: int
    line: int
    version: int | None


def find(data: bytes) -> Section | None:
    """The section, or None. Markers that do not make one section raise BrokenSection."""
    marks = _markers(data)
    if not marks:
        return None
    if len(marks) != 2 or marks[0].version is None or marks[1].version is not None:
        raise BrokenSection(_wrong(marks), hint="kedge update --repair, or mend the lines by hand")
    first, last = marks
    eol = re.match(rb"\r\n|\n|\r", data[first.stop :])
    text = data[first.start : last.stop]
    return Section(first.start, last.stop, first.version or 0, text, eol[0] if eol else b"\n")


def put(data: bytes | None, body: str) -> bytes:
    """The file with the section saying `body`; the same bytes when it says so already."""
    if data is None:
        return _render(body, b"\n") + b"\n"
    _check_text(data)
    section = find(data)
    if section is not None:
        if section.version > VERSION:
            raise BrokenSection(
                f"the section has version {section.version}, which a newer kedge wrote",
                hint="update kedge",
            )
        eol = _eol(data[: section.start] + data[section.stop :], section.eol)
        new = _render(body, eol, above=_ABOVE.encode() in section.text)
        return data[: section.start] + new + data[section.stop :]
    eol = _eol(data)
    if not _ends_plainly(data):
        at = _top(data)
        return data[:at] + _render(body, eol, above=True) + eol + eol + data[at:]
    if data.endswith(eol):
        return data + eol + _render(body, eol) + eol
    return data + (eol + eol if data else b"") + _render(body, eol)


def drop(data: bytes) -> bytes | None:
    """The file as it was without the section; None when there was none."""
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
    if before.endswith(eol + eol) or before == eol:
        before = before.removesuffix(eol)
    return before + after


def repair(data: bytes, body: str) -> bytes:
    """One whole section in place of what the markers make; no line of the user's is dropped.

    What goes are marker lines, and the lines behind a beginning that are kedge's, up to the first
    that is not.
    """
    _check_text(data)
    if data.startswith(_BOM):
        return _BOM + repair(data[len(_BOM) :], body)
    own = {line.strip() for line in _render(body, b"\n").split(b"\n") if line.strip()}
    own.add(_ABOVE.encode())
    marks = {mark.start: mark for mark in _markers(data)}
    kept: list[bytes] = []
    blank: list[bytes] = []  # between two lines of kedge's it is kedge's, too
    inside, position = False, 0
    for line in data.splitlines(keepends=True):
        mark, words = marks.get(position), line.strip()
        position += len(line)
        if mark is not None:
            inside, blank = mark.version is not None, []
        elif inside and not words:
            blank.append(line)
        elif inside and (words in own or _SEAL.match(words)):
            blank = []
        else:
            kept += [*blank, line]
            inside, blank = False, []
    return put(b"".join(kept), body)


def lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines outside of code fences, comments and front matter, with their offsets."""
    yield from ((start, line) for start, _, line in _plain(data, []))


def _markers(data: bytes) -> list[_Marker]:
    found = []
    for start, number, line in _plain(data, []):
        stop = start + len(line)
        if begin := _BEGIN_LINE.match(line):
            found.append(_Marker(start, stop, number, int(begin[1])))
        elif _END_LINE.match(line):
            found.append(_Marker(start, stop, number, None))
    return found


def _ends_plainly(data: bytes) -> bool:
    open_at_end: list[bytes] = []
    for _ in _plain(data, open_at_end):
        pass
    return not open_at_end


def _plain(data: bytes, open_at_end: list[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Offset, number and text of each line that is no code and no comment.

    `open_at_end` gets what is still open when the file ends.
    """
    top = _top(data)
    position, fence, comment = 0, b"", False
    for number, whole in enumerate(data.splitlines(keepends=True), 1):
        start, line = position, whole.rstrip(b"\r\n")
        position += len(whole)
        if start < top and not (top == len(_BOM) and start == 0):
            continue  # front matter
        if start == 0 and line.startswith(_BOM):
            start, line = len(_BOM), line[len(_BOM) :]
        found = _FENCE.match(line)
        if comment:
            comment = b"-->" not in line
        elif fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = b""
        elif found:
            fence = found[1]
        elif line.lstrip().startswith(b"<!--") and b"-->" not in line:
            comment = True
        else:
            yield start, number, line
    if fence or comment:
        open_at_end.append(fence or b"<!--")


def _top(data: bytes) -> int:
    """Where text begins: behind the byte order mark and the front matter."""
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


def _eol(data: bytes, otherwise: bytes = b"\n") -> bytes:
    """The line break that the file uses most."""
    both = data.count(b"\r\n")
    counts = {b"\n": data.count(b"\n") - both, b"\r\n": both, b"\r": data.count(b"\r") - both}
    best = max(counts, key=lambda eol: counts[eol])
    return best if counts[best] else otherwise


def _render(body: str, eol: bytes, *, above: bool = False) -> bytes:
    head = [f"<!-- BEGIN KEDGE MANAGED SECTION v{VERSION} -->", _NOTE.format(_seal(body.encode()))]
    head += [_ABOVE] if above else []
    return eol.join("\n".join([*head, body.strip("\n"), END]).encode().split(b"\n"))


def _inside(section: bytes) -> bytes:
    """The body, as it was given: without markers and notes, line breaks as `\\n`."""
    rows = section.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[2:-1]
    return b"\n".join(rows[1:] if rows[:1] == [_ABOVE.encode()] else rows)


def _seal(body: bytes) -> str:
    return digest([body.strip(b"\n")])[:8]


def _check_text(data: bytes) -> None:
    if b"\0" in data or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(
            "it is not text in UTF-8 or another encoding that includes ASCII",
            hint="save it as UTF-8; kedge has changed nothing",
        )


def _wrong(marks: list[_Marker]) -> str:
    said = [f"line {m.line} {'ends' if m.version is None else 'begins'} a section" for m in marks]
    return "its markers do not make one section: " + ", ".join(said[:6])
