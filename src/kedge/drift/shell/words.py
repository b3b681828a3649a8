"""Parse words: quotes, escapes, parameters, substitutions, here-documents.

Every character is read a bounded number of times: the inside of a substitution is parsed in place,
and what must be read twice (backquotes, `${…}`) is nested only to a bounded depth.
"""

from __future__ import annotations

import re
from contextlib import contextmanager

from kedge.drift.shell.syntax import CommandBlock, CommandTooLarge, Redirect, WordPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kedge.drift.shell.syntax import Word

DEEPEST = 32
MOST_PIECES = 20_000  # words, and the quoted and expanded pieces that they are made of

_PLAIN = re.compile(r"""[^ \t\r\n'"\\$`|&;<>()]+""")
_BETWEEN_QUOTES = re.compile(r'[^"\\$`]+')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$-]")
_ANSI = r"(?s)\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.)"
_ANSI_QUOTED = re.compile(r"[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL)
_ANSI_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b",
               "f": "\f", "v": "\v"}  # fmt: skip
_ENDS = " \t\r\n|&;<>)"
_BACKQUOTED = re.compile(r"[^`\\]*+(?:\\.[^`\\]*+)*+", re.DOTALL)


class WordParser:
    """Reads words from `text` at `at`; `read_inner` reads the commands inside them."""

    __slots__ = ("at", "depth", "end", "pending", "pieces", "problems", "text")

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.end = len(text)
        self.at = 0
        self.depth = depth
        self.pieces = 0
        self.pending: list[Redirect] = []  # here-documents whose bodies come after the line
        self.problems: list[str] = []

    def read_inner(self, closer: str) -> CommandBlock:
        """Read the commands up to `closer`, and skip it."""
        raise NotImplementedError

    def descend(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise CommandTooLarge(f"nested more than {DEEPEST} deep")

    def count_pieces(self, pieces: int = 1) -> None:
        self.pieces += pieces
        if self.pieces > MOST_PIECES:
            raise CommandTooLarge(f"more than {MOST_PIECES} words and pieces")

    def read_word(self) -> Word:
        """Read one word; a plain unquoted one is a string."""
        self.count_pieces()
        text, parts = self.text, []
        plain = _PLAIN.match(text, self.at)
        if plain:
            self.at = plain.end()
            if self.at == self.end or text[self.at] in _ENDS:
                return plain[0]
            parts.append(WordPart("text", plain[0]))
        while self.at < self.end:
            sign = text[self.at]
            if sign == "(":
                if not parts or not self._pattern(parts):
                    break
            elif sign in "<>" and not parts and text.startswith("(", self.at + 1):
                self.at += 2
                parts.append(WordPart("process", sign, False, self.read_inner(")")))
            elif sign in _ENDS:
                break
            else:
                self._piece(sign, parts)
        if len(parts) == 1 and parts[0].kind == "text" and not parts[0].quoted:
            return parts[0].text
        return tuple(parts)

    def _pattern(self, parts: list[WordPart]) -> bool:
        """`@(a|b)` belongs to a word; any other opening parenthesis ends it."""
        if parts[-1].quoted or not parts[-1].text.endswith(("@", "!", "*", "+", "?")):
            return False
        end = self.text.find(")", self.at, self.at + 1000)
        if end < 0:
            return False
        parts.append(WordPart("text", self.text[self.at : end + 1]))
        self.at = end + 1
        return True

    def _piece(self, sign: str, parts: list[WordPart]) -> None:
        self.count_pieces()
        text, at = self.text, self.at
        if sign == "'":
            end = self._find("'", at + 1)
            parts.append(WordPart("text", text[at + 1 : end], True))
            self.at = end + 1
        elif sign == '"':
            self.at += 1
            self._double(parts)
        elif sign == "\\":
            if not text.startswith("\n", at + 1):
                parts.append(WordPart("text", text[at + 1 : at + 2] or "\\", True))
            self.at += 2
        elif sign == "$":
            self._dollar(parts, quoted=False)
        elif sign == "`":
            self._backquotes(parts, quoted=False)
        else:
            plain = _PLAIN.match(text, at)
            parts.append(WordPart("text", plain[0] if plain else sign))
            self.at = plain.end() if plain else at + 1

    def _find(self, sign: str, start: int) -> int:
        end = self.text.find(sign, start)
        if end < 0:
            self.problems.append(f"no closing {sign}")
            return self.end
        return end

    def _double(self, parts: list[WordPart], whole: bool = False) -> None:
        """Read up to the closing double quote and skip it; with `whole`, read all of the text."""
        text = self.text
        parts.append(WordPart("text", "", True))
        while self.at < self.end:
            self.count_pieces()
            some = _BETWEEN_QUOTES.match(text, self.at)
            if some:
                parts.append(WordPart("text", some[0], True))
                self.at = some.end()
                continue
            sign = text[self.at]
            if sign == '"' and whole:
                parts.append(WordPart("text", sign, True))
                self.at += 1
            elif sign == '"':
                self.at += 1
                return
            elif sign == "\\":
                follows = text[self.at + 1 : self.at + 2]
                kept = follows if follows in '$`"\\' else "" if follows == "\n" else "\\" + follows
                parts.append(WordPart("text", kept, True))
                self.at += 2
            elif sign == "$":
                self._dollar(parts, quoted=True)
            else:
                self._backquotes(parts, quoted=True)
        if not whole:
            self.problems.append('no closing "')

    def _dollar(self, parts: list[WordPart], quoted: bool) -> None:
        text, at = self.text, self.at
        follows = text[at + 1 : at + 2]
        if follows == "(":
            end = self.find_arithmetic_end(at + 1)
            if end:
                parts.append(WordPart("arithmetic", text[at:end], quoted))
                self.at = end
                return
            self.at += 2
            parts.append(WordPart("command", "", quoted, self.read_inner(")")))
        elif follows == "{":
            self._parameter(parts, quoted)
        elif follows == "'" and not quoted:
            self._ansi(parts)
        elif follows == '"' and not quoted:
            self.at += 2
            self._double(parts)
        else:
            name = _NAME.match(text, at + 1)
            parts.append(
                WordPart("var", name[0], quoted) if name else WordPart("text", "$", quoted)
            )
            self.at = name.end() if name else at + 1

    def find_arithmetic_end(self, at: int, ends: str = "\n;`'\"") -> int:
        """Return where `((…))` at `at` ends, or 0 if these are two nested subshells."""
        text = self.text
        if not text.startswith("((", at):
            return 0
        depth, place = 0, at
        while place < min(self.end, at + 400):
            sign = text[place]
            if sign == "(":
                depth += 1
            elif sign == ")":
                depth -= 1
                if depth == 1:
                    return place + 2 if text.startswith("))", place) else 0
            elif sign in ends and depth < 3:
                return 0
            place += 1
        return 0

    def _parameter(self, parts: list[WordPart], quoted: bool) -> None:
        """Read `${…}`: its inner text, and the commands that it may run."""
        text, start = self.text, self.at + 2
        depth, place = 1, start
        while place < self.end:
            sign = text[place]
            if sign == "\\":
                place += 1
            elif sign == "'" and not quoted:
                place = text.find("'", place + 1)
                if place < 0:
                    break
            elif sign == "{":
                depth += 1
            elif sign == "}":
                depth -= 1
                if not depth:
                    break
            place += 1
        if not start <= place < self.end:
            self.problems.append("no closing }")
            place = self.end
        inner, self.at = text[start:place], place + 1
        body = self._commands_in(inner) if "$(" in inner or "`" in inner else None
        parts.append(WordPart("var", inner, quoted, body))

    def _commands_in(self, inner: str) -> CommandBlock:
        """Read the substitutions in text that is quoted like a here-document."""
        return CommandBlock("list", [part.body for part in self._quoted(inner) if part.body])

    def _quoted(self, text: str) -> list[WordPart]:
        """Read text as the body of a here-document."""
        parts: list[WordPart] = []
        with self._nested(text) as reader:
            reader._double(parts, whole=True)
        return parts

    @contextmanager
    def _nested(self, text: str) -> Iterator[WordParser]:
        """Give a parser of an inner text; its problems and pieces count here."""
        self.descend()
        reader = type(self)(text, self.depth)
        yield reader
        self.problems += reader.problems
        self.count_pieces(reader.pieces)
        self.depth -= 1

    def _backquotes(self, parts: list[WordPart], quoted: bool) -> None:
        found = _BACKQUOTED.match(self.text, self.at + 1)
        inner = found[0] if found else ""
        self.at += len(inner) + 2
        inner = re.sub(r"\\([`\\$])", r"\1", inner)
        with self._nested(inner) as reader:
            parts.append(WordPart("command", "", quoted, reader.read_inner("")))

    def _ansi(self, parts: list[WordPart]) -> None:
        r"""Read `$'…'`, with `\n` and other escapes."""
        found = _ANSI_QUOTED.match(self.text, self.at + 2)
        inner = found[0] if found else ""
        parts.append(WordPart("text", re.sub(_ANSI, _ansi_sign, inner), True))
        self.at += len(inner) + 3

    def read_documents(self) -> None:
        """Read the bodies of the here-documents that the line before named."""
        for each in self.pending:
            each.target = self._document(each)
        self.pending = []

    def _document(self, each: Redirect) -> Word:
        mark = each.target if isinstance(each.target, str) else ""
        body, self.at = _read_until(self.text, self.at, mark, each.tabs)
        if each.tabs:
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
        parts = [WordPart("text", body, True)]
        if not each.verbatim and ("$" in body or "`" in body or "\\" in body):
            parts = self._quoted(body)
        return tuple(parts)


def _read_until(text: str, start: int, mark: str, tabs: bool) -> tuple[str, int]:
    """Return the lines before the mark, and where the text continues."""
    almost = -1
    at = start
    while at <= len(text):
        head = at
        while tabs and text.startswith("\t", head):
            head += 1
        end = head + len(mark)
        if text.startswith(mark, head):
            if end >= len(text) or text[end] == "\n":
                return text[start:at], min(end + 1, len(text))
            if almost < 0 and text.startswith(")", end):
                almost = at  # agents write the closing parenthesis right after the mark
        at = text.find("\n" if tabs else f"\n{mark}", at) + 1
        if not at:
            break
    if almost >= 0:
        return text[start:almost], text.index(mark, almost) + len(mark)
    return text[start:], len(text)


def _ansi_sign(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else ""
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI_SIGNS.get(code, code if code in "'\"\\?" else "\\" + code)
