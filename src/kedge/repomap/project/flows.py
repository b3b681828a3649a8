"""Lists and tables of YAML that are written in brackets, as `blocks` needs them."""

from __future__ import annotations

import re

from kedge.repomap.project.blocks import Reader, Unusual, unquoted
from kedge.repomap.project.formats import MAX_DEPTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# a sign, a text in quotes, a plain text, a comment
_TOKEN = re.compile(
    r" *(?:([\[\]{},]|:(?= |$)|\*(?=[A-Za-z0-9_-]+ *(?:[,\]}]|$)))|"
    r"('(?:[^']|'')*'|\"(?:[^\"\\]|\\[\"\\/nt])*\")|"
    r"((?:[^\s,\[\]{}:#'\"&*!|>%@`?-]|-(?=[^\s,\[\]{}]))"
    r"(?:[^\s,\[\]{}:]|:(?=[^\s,\[\]{}])| +(?=[^\s,\[\]{}:#]))*)|(#.*)) *"
)


class Flow:
    """What is between two brackets, in the reader's line and in those that follow."""

    def __init__(self, reader: Reader, rest: str) -> None:
        self._reader = reader
        self._rest = rest
        self._at = 0

    def whole(self, depth: int) -> Any:
        found = self._value(*self._next(), depth)
        after = self._rest[self._at :]
        if after and not (after[0] == "#" and self._rest[self._at - 1] == " "):
            raise Unusual
        self._reader.at += 1
        return found

    def _next(self) -> tuple[str, str]:
        """A sign and nothing, or nothing and a text."""
        reader = self._reader
        while True:
            if self._at >= len(self._rest):
                reader.at += 1
                if reader.at >= len(reader.lines):
                    raise Unusual
                self._rest, self._at = reader.lines[reader.at].strip(" "), 0
                continue
            token = _TOKEN.match(self._rest, self._at)
            if token is None:
                raise Unusual
            sign, quoted, plain, comment = token.groups()
            if comment is not None and self._rest[: token.start(4)][-1:] not in ("", " "):
                raise Unusual
            self._at = token.end()
            if comment is None:
                return sign or "", unquoted(quoted) if quoted else plain or ""

    def _value(self, sign: str, text: str, depth: int) -> Any:
        reader = self._reader
        if depth > MAX_DEPTH:
            raise Unusual
        if sign == "[":
            return self._list(depth)
        if sign == "{":
            return self._table(depth)
        if sign == "*":
            name = self._next()[1]
            if name in reader.anchors:
                return reader.anchors[name]
        if sign:
            raise Unusual
        return reader.text(text, reader.at + 1)

    def _list(self, depth: int) -> list[Any]:
        self._reader.count(1)
        found: list[Any] = []
        sign, text = self._next()
        while sign != "]":
            found.append(self._value(sign, text, depth + 1))
            sign, text = self._next()
            if sign == ",":
                sign, text = self._next()
            elif sign != "]":
                raise Unusual
        return found

    def _table(self, depth: int) -> dict[str, Any]:
        reader = self._reader
        reader.count(1)
        found: dict[str, Any] = {}
        sign, text = self._next()
        while sign != "}":
            name, line = reader.text(text, reader.at + 1), reader.at
            if sign or name == "<<" or self._next()[0] != ":" or reader.at != line:
                raise Unusual  # a name has its colon in the same line
            value = self._value(*self._next(), depth + 1)
            found.pop(name, None)
            found[name] = value
            sign, text = self._next()
            if sign == ",":
                sign, text = self._next()
            elif sign != "}":
                raise Unusual
        return found
