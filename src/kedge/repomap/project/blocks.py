"""YAML as settings are mostly written: blocks of keys and items, texts, short lists.

Either it gives what PyYAML gives or it raises `Unusual`. Importing and running PyYAML takes
longer than all else that the structure of a repository needs.
"""

from __future__ import annotations

import re

from kedge.repomap.project.formats import MAX_DEPTH, MAX_NODES, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_KEY = 1000
# what a text without quotes cannot begin with
_INDICATORS = frozenset("!&*|>'\"%@`#,[]{}")
# what ends a line, or is refused, though it is no line feed
_STRANGE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"  # fmt: skip
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\[\"\\/nt])*\"")
_SIMPLE_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,80}):(?: +|$)")
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,80}): +([A-Za-z0-9_./$][A-Za-z0-9_./$@+=-]*) *")
_ANCHOR = r"&([A-Za-z0-9_-]+)(?: +|$)"
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\/": "/", "\\n": "\n", "\\t": "\t"}


class Unusual(Exception):
    """The text has something that is left to PyYAML: to read it, or to say what is wrong."""


def parse(text: str) -> Any:
    """The first document, with the values of `formats.parse_yaml`."""
    if not text.replace("\n", "").isprintable() and re.search(_STRANGE, text):
        raise Unusual
    return Reader(text.split("\n")).document()


class Reader:
    """Goes through the lines once; every method leaves it at the line that it has not read."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.left = MAX_NODES
        self.anchors: dict[str, Any] = {}

    def document(self) -> Any:
        if self._indent() is None:
            return None
        if self.lines[self.at].rstrip(" ") == "---":
            self.at += 1
        if any(line.startswith(("---", "...", "%")) for line in self.lines[self.at :]):
            raise Unusual
        indent = self._indent()
        if indent is None:
            raise Unusual
        found = self._block(indent, 1)
        if self._indent() is not None:
            raise Unusual
        return found

    def text(self, value: str, line: int) -> Text:
        self.left -= 1
        if self.left < 0:
            raise Unusual
        text = Text(value)
        text.line = line
        return text

    def count(self, more: int) -> None:
        self.left -= more
        if self.left < 0:
            raise Unusual

    def _indent(self) -> int | None:
        """The column of the next line that says something, None at the end."""
        lines = self.lines
        while self.at < len(lines):
            line = lines[self.at]
            plain = line.lstrip(" ")
            if plain and plain[0] != "#":
                if plain[0] == "\t":
                    raise Unusual
                return len(line) - len(plain)
            self.at += 1
        return None

    def _block(self, indent: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Unusual
        self.count(1)
        is_list = _is_item(self.lines[self.at][indent:])
        found = self._sequence(indent, depth) if is_list else self._mapping(indent, depth)
        after = self._indent()
        if after is not None and after > indent:
            raise Unusual
        return found

    def _sequence(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while self._indent() == indent:
            content = self.lines[self.at][indent:]
            if not _is_item(content):
                break
            rest = content[1:].lstrip(" ")
            if rest and (_is_item(rest) or _key_end(rest)):
                # `- name: x` is a block that begins in this line
                inner = len(self.lines[self.at]) - len(rest)
                self.lines[self.at] = " " * inner + rest
                found.append(self._block(inner, depth + 1))
            else:
                found.append(self._value(rest, indent, depth, is_key=False))
        return found

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lines = self.lines
        after = self._indent()
        while after == indent:
            line = lines[self.at]
            number = self.at + 1
            if pair := _PAIR.fullmatch(line, indent):
                # most lines are a name and a word
                self.at += 1
                after = self._indent()
                if after is None or after <= indent:
                    found.pop(pair.group(1), None)
                    found[self.text(pair.group(1), number)] = self.text(pair.group(2), number)
                    continue
                self.at = number - 1
            if simple := _SIMPLE_KEY.match(line, indent):
                name, rest = self.text(simple.group(1), self.at + 1), line[simple.end() :]
            else:
                content = line[indent:]
                if _is_item(content):
                    break
                end = _key_end(content)
                if not end:
                    raise Unusual
                name = self.text(unquoted(content[:end].rstrip(" ")), self.at + 1)
                rest = content[end + 1 :].lstrip(" ")
            value = self._value(rest, indent, depth, is_key=True)
            if name == "<<" and isinstance(value, dict):
                self.count(len(value))
                found.update({key: item for key, item in value.items() if key not in found})
            else:
                found.pop(name, None)
                found[name] = value
            after = self._indent()
        return found

    def _value(self, rest: str, indent: int, depth: int, *, is_key: bool) -> Any:
        """What follows a key or a dash, in its line or in those below."""
        first = rest[:1]
        if first in ("", "#"):
            return self._below(indent, depth, is_key=is_key)
        if first == "&":
            return self._anchored(rest, indent, depth, is_key=is_key)
        if first in "|>":
            return self._scalar(rest, indent)
        if first in "[{":
            from kedge.repomap.project.flows import Flow

            return Flow(self, rest).whole(depth)
        if first == "*":
            name = _without_comment(rest)[1:]
            if name not in self.anchors:
                raise Unusual
            self.at += 1
            return self.anchors[name]
        if first in "'\"":
            quoted = _QUOTED.match(rest)
            if quoted is None or _without_comment(rest[quoted.end() :]):
                raise Unusual
            self.at += 1
            return self.text(unquoted(quoted.group()), self.at)
        return self._plain(rest, indent)

    def _below(self, indent: int, depth: int, *, is_key: bool) -> Any:
        self.at += 1
        number = self.at
        after = self._indent()
        if after is None or after < indent:
            return self.text("", number)
        content = self.lines[self.at][after:]
        if after == indent and not (is_key and _is_item(content)):
            return self.text("", number)
        if _is_item(content) or _key_end(content):
            return self._block(after, depth + 1)
        if content[0] in "&*|>":
            raise Unusual
        return self._value(content, indent, depth, is_key=False)

    def _anchored(self, rest: str, indent: int, depth: int, *, is_key: bool) -> Any:
        anchor = re.match(_ANCHOR, rest)
        if anchor is None:
            raise Unusual
        rest = rest[anchor.end() :]
        if rest[:1] in ("&", "*") or (rest and _key_end(rest)):
            raise Unusual
        value = self._value(rest, indent, depth, is_key=is_key)
        if rest[:1] in ("", "#") and isinstance(value, Text) and value:
            raise Unusual  # PyYAML lets such a text begin at its anchor
        self.anchors[anchor.group(1)] = value
        return value

    def _plain(self, rest: str, indent: int) -> Text:
        """A text without quotes, which may go on in deeper lines."""
        if rest[0] in _INDICATORS or (rest[0] in "-?:" and rest[1:2] in ("", " ")):
            raise Unusual
        words = _without_comment(rest)
        may_go_on = len(words) == len(rest.rstrip(" "))
        self.at += 1
        number = self.at
        parts = [words]
        blanks = 0
        lines = self.lines
        while self.at < len(lines):
            line = lines[self.at]
            plain = line.lstrip(" ")
            if plain:
                if len(line) - len(plain) <= indent:
                    break
                plain = plain.rstrip(" ")
                if not may_go_on or plain[0] == "#" or " #" in plain:
                    raise Unusual
                parts += ["\n" * blanks or " ", plain]
                blanks = 0
            else:
                blanks += 1
            self.at += 1
        for part in parts:
            if ": " in part or part[-1:] == ":" or "\t" in part:
                raise Unusual
        return self.text("".join(parts), number)

    def _scalar(self, rest: str, indent: int) -> Text:
        """A text in lines of its own: `|` keeps them, `>` makes one of them."""
        header = _without_comment(rest)
        kind, chomping = header[0], header[1:]
        if chomping not in ("", "-", "+"):
            raise Unusual
        lines = self.lines
        self.at += 1
        start = end = self.at
        while end < len(lines) and not lines[end].strip(" "):
            end += 1
        first = lines[end] if end < len(lines) else ""
        column = len(first) - len(first.lstrip(" "))
        is_odd = first[column : column + 1] == "\t" or any(
            len(line) > column for line in lines[start:end]
        )
        if column <= indent or is_odd:
            raise Unusual
        margin = " " * column
        last = end
        while end < len(lines):
            line = lines[end]
            if line.startswith(margin):
                # blanks beyond the margin are text too
                last = end if len(line) > column else last
            elif line.strip(" "):
                break
            end += 1
        body = [line[column:] for line in lines[start : last + 1]]
        self.at = end
        joined = "\n".join(body) if kind == "|" else _folded(body)
        # the last line of a file may have no end
        breaks = end - last - (1 if end == len(lines) else 0)
        if chomping != "-":
            joined += "\n" * (breaks if chomping else min(breaks, 1))
        return self.text(joined, start + 1)


def _is_item(content: str) -> bool:
    return content[0] == "-" and content[1:2] in ("", " ")


def _key_end(content: str) -> int:
    """Where the colon after the key is, 0 where the line does not begin with a key."""
    if simple := _SIMPLE_KEY.match(content):
        return simple.end(1)
    first = content[0]
    if first in "'\"":
        quoted = _QUOTED.match(content)
        end = quoted.end() if quoted else len(content)
        end += len(content) - end - len(content[end:].lstrip(" "))
        return (
            end if content[end : end + 1] == ":" and content[end + 1 : end + 2] in ("", " ") else 0
        )
    if first in "[{|>":
        return 0
    plain = _without_comment(content)
    end = plain.find(": ")
    if end < 0:
        if plain[-1:] != ":":
            return 0
        end = len(plain) - 1
    is_plain = first not in _INDICATORS and "\t" not in plain[:end] and end <= MAX_KEY
    if not is_plain or (first in "-?:" and plain[1:2] in ("", " ")):
        raise Unusual
    return end


def _without_comment(rest: str) -> str:
    """The line without its comment, which begins after a blank."""
    end = rest.find(" #")
    return (rest if end < 0 else rest[:end]).rstrip(" ")


def unquoted(words: str) -> str:
    if words[0] == "'":
        return words[1:-1].replace("''", "'")
    if words[0] == '"':
        return re.sub(r"\\.", lambda found: _ESCAPES[found.group()], words[1:-1])
    return words


def _folded(body: list[str]) -> str:
    """Lines as one line: breaks stay beside deeper lines, and all but one of several."""
    parts: list[str] = []
    blanks = 0
    before = ""
    for line in body:
        if not line:
            blanks += 1
            continue
        if before:
            if before[0] in " \t" or line[0] in " \t":
                parts.append("\n")
            elif not blanks:
                parts.append(" ")
        parts += ["\n" * blanks, line]
        blanks = 0
        before = line
    return "".join(parts)
