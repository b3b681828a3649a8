"""A small scanner for Python, JavaScript, Ruby, PHP and Perl: tokens, calls and plain values.

It follows variables set to a literal string, and paths that are joined, and nothing else.
"""

from __future__ import annotations

import re

from kedge.drift.shell.values import UNKNOWN, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 100_000
MOST_TOKENS = 10_000
_MOST_ARGUMENT = 400  # tokens of one call that are looked at
_MOST_STATEMENT = 60  # and of an assignment
_MOST_CHOICES = 50
_TOKEN = re.compile(r"[A-Za-z_$@][\w$]*|\d[\w.]*|\s+|.", re.DOTALL)
_PREFIX = frozenset({"r", "b", "f", "u", "rb", "br", "fr", "rf", "R", "B", "F", "U", "q", "qq"})
_ENDS = {
    "'": re.compile(r"[^'\\]*(?:\\.[^'\\]*)*'", re.DOTALL),
    '"': re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL),
    "`": re.compile(r"[^`\\]*(?:\\.[^`\\]*)*`", re.DOTALL),
}
_HOLES = re.compile(r"\$\{[^{}]*\}|#\{[^{}]*\}|\{[^{}]*\}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
# calls that return the path they get
_SAME = frozenset(
    {"Path", "PurePath", "PosixPath", "str", "resolve", "normpath", "abspath", "expanduser",
     "sorted", "list", "fspath"}
)  # fmt: skip
_OPEN, _CLOSE = "([{", ")]}"


class Code:
    """`kinds[i]` is `s` for a string, `n` for a name, `l` for a newline, `o` for any other sign."""

    __slots__ = ("args", "kinds", "match", "names", "texts")

    def __init__(self, text: str, slashes: bool, args: list[Value]) -> None:
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.names: dict[str, list[Value]] = {}
        self.args = args
        self._scan(text[:LONGEST], slashes)
        self.match = self._match_brackets()

    def _add(self, kind: str, text: str) -> None:
        self.kinds.append(kind)
        self.texts.append(text)

    def _scan(self, text: str, slashes: bool) -> None:
        at, end = 0, len(text)
        while at < end and len(self.kinds) < MOST_TOKENS:
            sign = text[at]
            if sign in "'\"`":
                at = self._read_string(text, at)
            elif (sign == "#" and not slashes) or (slashes and text.startswith("//", at)):
                at = _find_line_end(text, at)
            elif slashes and text.startswith("/*", at):
                close = text.find("*/", at)
                at = close + 2 if close >= 0 else end
            else:
                token = _TOKEN.match(text, at)
                word = token[0] if token else sign
                at += len(word)
                if word.isspace():
                    if "\n" in word:
                        self._add("l", "\n")
                else:
                    self._add("n" if word[0].isidentifier() or word[0] in "$@" else "o", word)

    def _read_string(self, text: str, at: int) -> int:
        quote = text[at]
        prefix = self._take_prefix(text, at)
        if text.startswith(quote * 3, at) and quote != "`":
            close = text.find(quote * 3, at + 3)
            close = close if close >= 0 else len(text)
            self._add_text(text[at + 3 : close], prefix, quote)
            return close + 3
        found = _ENDS[quote].match(text, at + 1)
        if found is None:
            return at + 1
        self._add_text(found[0][:-1], prefix, quote)
        return found.end()

    def _take_prefix(self, text: str, at: int) -> str:
        """Take back the letters before a quote, which were read as a name."""
        if self.kinds and self.kinds[-1] == "n" and self.texts[-1] in _PREFIX:
            word = self.texts[-1]
            if text.startswith(word, at - len(word)):
                self.kinds.pop()
                return self.texts.pop().lower()
        return ""

    def _add_text(self, raw: str, prefix: str, quote: str) -> None:
        text = raw if "r" in prefix or "\\" not in raw else _ESCAPE.sub(_unescape, raw)
        if "f" in prefix:
            text = _HOLES.sub(UNKNOWN, text)
        elif quote == "`" or (quote == '"' and "#{" in text):
            text = re.sub(r"[$#]\{[^{}]*\}", UNKNOWN, text)
        self._add("s", text)

    def _match_brackets(self) -> dict[int, int]:
        pairs: dict[int, int] = {}
        stack: list[int] = []
        for place, text in enumerate(self.texts):
            if self.kinds[place] != "o":
                continue
            if text in _OPEN:
                stack.append(place)
            elif text in _CLOSE and stack:
                start = stack.pop()
                pairs[start] = place
                pairs[place] = start
        return pairs

    def sign(self, place: int) -> str:
        """Return the sign or name at a position; an empty string for strings and out of range."""
        if 0 <= place < len(self.texts) and self.kinds[place] != "s":
            return self.texts[place]
        return ""

    def split_arguments(self, place: int) -> list[tuple[int, int]]:
        """Return the spans of the arguments of a call whose parenthesis is at `place`."""
        end = self.match.get(place)
        if end is None:
            return []
        return self.split_spans(place + 1, min(end, place + _MOST_ARGUMENT))

    def split_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        found, first = [], start
        for at, text in self._walk(start, end):
            if text == ",":
                found.append((first, at))
                first = at + 1
        found.append((first, end))
        return [span for span in found if any(self.kinds[i] != "l" for i in range(*span))]

    def find_statement_end(self, start: int) -> int:
        """Return where the statement that contains `start` ends."""
        end = min(len(self.texts), start + _MOST_STATEMENT)
        return next((at for at, text in self._walk(start, end) if text in ("\n", ";", ":")), end)

    def _walk(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield each position outside of brackets, with its sign."""
        at = start
        while at < end:
            text = self.sign(at)
            if text and text in _OPEN:
                at = min(self.match.get(at, end), end)
            else:
                yield at, text
            at += 1

    def evaluate(self, start: int, end: int, depth: int = 0) -> list[Value] | None:
        """Return the values of an expression, or None if it is not plain."""
        while start < end and self.kinds[start] == "l":
            start += 1
        while end > start and self.kinds[end - 1] == "l":
            end -= 1
        if start >= end or depth > 6:
            return None
        pieces = self._split_operands(start, end)
        if len(pieces) > 1:
            return self._join(pieces, depth)
        if end - start == 1:
            if self.kinds[start] == "s":
                return [Value(self.texts[start])]
            return self.names.get(self.texts[start]) or None
        first = self.sign(start)
        if first and first in "([" and self.match.get(start) == end - 1:
            return self._read_all(self.split_spans(start + 1, end - 1), depth)
        return self._read_call(start, end, depth)

    def _split_operands(self, start: int, end: int) -> list[tuple[str, int, int]]:
        """Return the operands of `+` and `/`, each with the sign before it."""
        found: list[tuple[str, int, int]] = []
        first, sign = start, ""
        for at, text in self._walk(start, end):
            if text in ("+", "/") and at > first:
                found.append((sign, first, at))
                first, sign = at + 1, text
        found.append((sign, first, end))
        return found

    def _join(self, pieces: list[tuple[str, int, int]], depth: int) -> list[Value] | None:
        found, known = [Value("")], False
        for sign, start, end in pieces[:_MOST_STATEMENT]:
            values = self.evaluate(start, end, depth + 1)
            known = known or values is not None
            found = [
                _append(head, sign, tail) for head in found for tail in values or [Value(UNKNOWN)]
            ][:_MOST_CHOICES]
        return found if known else None

    def _read_all(self, spans: list[tuple[int, int]], depth: int) -> list[Value] | None:
        found: list[Value] = []
        for start, end in spans[:100]:
            values = self.evaluate(start, end, depth + 1)
            if values is None:
                return None
            found += values
        return found

    def _read_call(self, start: int, end: int, depth: int) -> list[Value] | None:
        """Evaluate `Path('x')`, `os.path.join('a', 'b')`, `sys.argv[1]`, `root.glob('*.py')`."""
        last = end - 1
        head = self.match.get(last)
        if head is None or head <= start:
            return None
        name = self.sign(head - 1)
        if self.texts[head] == "[":
            return self._read_argument(head, name)
        spans = self.split_arguments(head)
        if name in _SAME and head - 1 - start <= 4:
            if not spans:
                return self.evaluate(start, head - 2, depth + 1)
            return self.evaluate(*spans[0], depth + 1)
        if name in ("join", "joinpath") and spans:
            pieces = [("/" if place else "", *span) for place, span in enumerate(spans)]
            if name == "joinpath":
                pieces = [("", start, head - 2), *(("/", *span) for span in spans)]
            elif self.sign(start) not in ("os", "path", "File", "osp"):
                return None
            return self._join(pieces, depth)
        if name in ("glob", "rglob", "iglob", "globSync") and spans:
            return self._read_glob(start, head, name, spans, depth)
        return None

    def _read_glob(
        self, start: int, head: int, name: str, spans: list[tuple[int, int]], depth: int
    ) -> list[Value] | None:
        pattern = self.evaluate(*spans[0], depth + 1)
        if pattern is None:
            return None
        base = self.evaluate(start, head - 2, depth + 1) if head - 2 > start else None
        if head - 2 > start and base is None and self.sign(start) not in ("glob", "Dir"):
            return None
        text = ("**/" if name == "rglob" else "") + pattern[0].text
        if base and base[0].text not in (".", ""):
            text = f"{base[0].text.rstrip('/')}/{text}"
        return [Value(text, True)]

    def _read_argument(self, head: int, name: str) -> list[Value] | None:
        number = self.texts[head + 1] if head + 1 < len(self.texts) else ""
        if name not in ("argv", "ARGV") or not number.isdigit() or len(number) > 3:
            return None
        place = int(number) - (
            0 if name == "ARGV" else 2 if self.sign(head - 3) == "process" else 1
        )
        return [self.args[place]] if 0 <= place < len(self.args) else None


def _append(head: Value, sign: str, tail: Value) -> Value:
    slash = "/" if sign == "/" and head.text and not head.text.endswith("/") else ""
    return Value(head.text + slash + tail.text, head.glob or tail.glob)


def _find_line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return found if found >= 0 else len(text)


def _unescape(found: re.Match[str]) -> str:
    return _SIGNS.get(found[1], found[1])
