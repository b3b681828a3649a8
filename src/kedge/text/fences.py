"""Fenced code blocks in Markdown: the only code in kedge that decides what a fence is.

The rules are CommonMark's. A fence opens with at least three backticks or tildes, indented by at
most three columns. The rest of the line is the info string; after backticks it has no backtick.
A line with the same character, at least as many of them and nothing else closes the fence. Without
such a line the fence runs to the end. In a list item the indentation counts from the column of the
item's text, and in a block quote from after the `>`. The end of a quote closes its fence.

One rule is more lenient than CommonMark's: code in a list item may be indented less than the item,
which would end the item and its fence.

This module is part of the hook path: it imports neither `typing` nor `dataclasses`, and compiles
no pattern when it is imported.
"""

from __future__ import annotations

import re

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The roles of a line; only TEXT is false.
TEXT, OPEN, CODE, CLOSE = "", "open", "code", "close"

_MOST_BLOCKS = 30  # list items and quotes that one line may open
_NUMBER = 9  # digits that an ordered list's marker may have


class Fence(NamedTuple):
    """An open fence: its mark (such as "```") and its info string.

    `column` is the column of the text of its list item, and `quotes` the number of block quotes
    that it is in.
    """

    mark: str
    info: str = ""
    column: int = 0
    quotes: int = 0


class FenceReader:
    """Reads the lines of a document in order, without the line breaks (a "\r" may be left).

    With `nested`, a fence with an info string inside another fence opens an inner one. CommonMark
    has no such rule, but documents that quote Markdown are often written like that.
    """

    __slots__ = ("_fences", "_items", "_nested", "_paragraph")

    def __init__(self, *, nested: bool = False) -> None:
        self._nested = nested
        self._fences: list[Fence] = []
        self._items: list[int] = []  # for each open list item, the column of its text
        self._paragraph = False  # whether the next line may continue a paragraph

    @property
    def fence(self) -> Fence | None:
        """The innermost fence that is open, or None."""
        return self._fences[-1] if self._fences else None

    def read(self, line: str) -> str:
        """Read the next line and return its role: TEXT, OPEN, CODE or CLOSE."""
        line = line.removesuffix("\r").expandtabs(4)
        if not self._fences:
            return self._read_text(line)
        code = _unquote(line, self._fences[-1].quotes)
        if code is None:
            self._fences.clear()
            return self._read_text(line)
        return self._read_code(code)

    def _read_code(self, line: str) -> str:
        fence = self._fences[-1]
        bare = line.lstrip(" ")
        mark = _fence_mark(bare)
        if not mark.startswith(fence.mark):
            return CODE
        indent = len(line) - len(bare)
        info = bare[len(mark) :].strip(" ")
        if not info and indent <= fence.column + 3:
            self._fences.pop()
            return CODE if self._fences else CLOSE
        if info and self._nested:
            self._fences.append(Fence(mark, info, indent, fence.quotes))
        return CODE

    def _read_text(self, line: str) -> str:
        bare = line.lstrip(" ")
        if not bare:
            self._paragraph = False
            return TEXT
        indent = len(line) - len(bare)
        if not self._paragraph or _starts_block(bare):
            self._leave_items(indent)
        at, column, base, quotes = self._enter_blocks(line, indent)
        if at - column > 3:  # indented code, or the next line of a paragraph
            return TEXT
        rest = line[at:]
        mark = _fence_mark(rest)
        if mark:
            self._paragraph = False
            info = rest[len(mark) :].strip(" ")
            self._fences.append(Fence(mark, info, column - base, quotes))
            return OPEN
        self._paragraph = bool(rest) and not _is_heading(rest) and not _is_rule(rest)
        return TEXT

    def _leave_items(self, indent: int) -> None:
        while self._items and self._items[-1] > indent:
            self._items.pop()
            self._paragraph = False

    def _enter_blocks(self, line: str, at: int) -> tuple[int, int, int, int]:
        """Pass the list markers and quote signs that the line begins with.

        Return the position of its text, the column that indentation counts from, the column after
        the last quote sign, and the number of quote signs.
        """
        column = self._items[-1] if self._items else 0
        base = quotes = 0
        for _ in range(_MOST_BLOCKS):
            if at - column > 3:
                break
            rest = line[at:]
            if rest.startswith(">"):
                quotes += 1
                at += 2 if rest.startswith("> ") else 1
                base = column = at
            elif (size := _marker_size(rest)) and not self._is_paragraph(rest, size):
                text = rest[size:].lstrip(" ")
                spaces = len(rest) - size - len(text)
                at = column = at + size + (spaces if text and spaces <= 4 else 1)
                self._items.append(column)
            else:
                break
            self._paragraph = False
            at = min(at, len(line))
            at = len(line) - len(line[at:].lstrip(" "))
        return at, column, base, quotes

    def _is_paragraph(self, rest: str, size: int) -> bool:
        """True if a list marker, such as "2.", only begins the next line of a paragraph."""
        is_first = rest[:size] in ("-", "*", "+", "1.", "1)")
        return self._paragraph and not (is_first and rest[size:].strip(" "))


def read_fences(lines: Iterable[str]) -> list[str]:
    """Return the role of each line of a document: TEXT, OPEN, CODE or CLOSE."""
    reader = FenceReader()
    return [reader.read(line) for line in lines]


def is_opening(line: str) -> bool:
    """True if the line, by itself, opens a fence."""
    return FenceReader().read(line) == OPEN


def mark_around(text: str, sign: str = "`") -> str:
    """Return a fence mark that is longer than any run of the sign in the text."""
    longest = max(map(len, re.findall(f"{sign}+", text)), default=0)
    return sign * max(3, longest + 1)


def _starts_block(rest: str) -> bool:
    if rest[0].isalpha():
        return False
    return bool(
        rest[0] == ">"
        or _is_heading(rest)
        or _is_rule(rest)
        or _marker_size(rest)
        or _fence_mark(rest)
    )


def _fence_mark(rest: str) -> str:
    """Return the backticks or tildes of a fence line; empty if it is none."""
    sign = rest[:1]
    if sign not in ("`", "~"):
        return ""
    info = rest.lstrip(sign)
    size = len(rest) - len(info)
    return sign * size if size >= 3 and not (sign == "`" and "`" in info) else ""


def _marker_size(rest: str) -> int:
    """Return the length of the list marker that a text begins with; 0 if there is none."""
    if rest[:1] in ("-", "*", "+"):
        size = 0 if _is_rule(rest) else 1
    else:
        digits = rest[: _NUMBER + 1]
        size = len(digits) - len(digits.lstrip("0123456789"))
        size = size + 1 if 0 < size <= _NUMBER and rest[size : size + 1] in (".", ")") else 0
    return size if rest[size : size + 1] in ("", " ") else 0


def _is_heading(rest: str) -> bool:
    text = rest.lstrip("#")
    return 0 < len(rest) - len(text) <= 6 and text[:1] in ("", " ")


def _is_rule(rest: str) -> bool:
    signs = rest.replace(" ", "")
    return len(signs) >= 3 and signs[0] in "*-_" and not signs.strip(signs[0])


def _unquote(line: str, quotes: int) -> str | None:
    """Return the line without this many quote signs; None if it has fewer."""
    for _ in range(quotes):
        line = line.lstrip(" ")
        if not line.startswith(">"):
            return None
        line = line[2:] if line.startswith("> ") else line[1:]
    return line
