"""Parse commands: lists, pipelines, compound commands, redirections.

The parser is forgiving: it notes what a shell would refuse as a problem, and reads on.
"""

from __future__ import annotations

import re

from kedge.drift.shell.syntax import CommandBlock, CommandTooLarge, Redirect, Simple
from kedge.drift.shell.words import WordParser
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.syntax import Node, Word

MOST_CHARACTERS = 1_000_000

_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|select|while|until|do(?:ne)?|case|esac|function|coproc"
    r"|time|\{|\}|!|\[\[)(?=[\s;&|()<>]|$)"
)
_REDIRECT = re.compile(r"(\d+|\{\w+\})?(>>|>\||>&|<<<|<<-|<<|<>|<&|>|<)|(&>>|&>)")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\n]{0,100}\])?(\+?)=")
_FUNCTION = re.compile(r"\([ \t]*\)\s*")
_STRAY = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_NONE: frozenset[str] = frozenset()


class ParsedCommand(NamedTuple):
    """`problems` are syntax errors; `unread` says why the rest of the text was not read."""

    block: CommandBlock
    problems: list[str]
    unread: str = ""


def parse(text: str, depth: int = 0) -> ParsedCommand:
    """Parse the commands of a text."""
    parser = CommandParser(text[:MOST_CHARACTERS], depth)
    block = CommandBlock("list", [])
    unread = ""
    if len(text) > MOST_CHARACTERS:
        unread = f"only the first {MOST_CHARACTERS} characters are read"
    try:
        parser.read_block(_NONE, block)
    except CommandTooLarge as reason:
        unread = f"the command is {reason}: the rest is not read"
    return ParsedCommand(block, parser.problems, unread)


class CommandParser(WordParser):
    """Reads commands; `WordParser` reads the words in them."""

    __slots__ = ()

    def read_inner(self, closer: str) -> CommandBlock:
        self.descend()
        found = self.read_block(frozenset({closer}) if closer else _NONE)
        if closer and not self._accept(closer):
            self.problems.append(f"no closing {closer}")
        self.depth -= 1
        return found

    def read_block(self, closers: frozenset[str], kept: CommandBlock | None = None) -> CommandBlock:
        """Read commands up to one of the closers, and stop before it."""
        found = kept or CommandBlock("list", [])
        while True:
            self._skip_blanks(lines=True)
            if self.at >= self.end:
                return found
            sign = self.text[self.at]
            if sign == ")":
                if ")" in closers:
                    return found
                self.problems.append("a ) that closes nothing")
                self.at += 1
            elif sign == ";":
                if ";;" in closers and self.text[self.at + 1 : self.at + 2] in (";", "&"):
                    return found
                self.at += 1
            elif sign in "&|":
                self.at += 1
            else:
                word = self._peek_reserved()
                if word in closers:
                    return found
                if word in _STRAY:
                    self.count_pieces()
                    self.problems.append(f"a {word} out of place")
                    self.at += len(word)
                else:
                    found.nodes.append(self._chain())

    def _skip_blanks(self, lines: bool = False) -> None:
        text = self.text
        while self.at < self.end:
            sign = text[self.at]
            if sign in " \t\\\r":
                found = _BLANK.match(text, self.at)
                if found is None:
                    return
                self.at = found.end()
            elif sign == "#":
                self.at = _COMMENT.match(text, self.at).end()  # type: ignore[union-attr]
            elif sign == "\n" and lines:
                self.at += 1
                if self.pending:
                    self.read_documents()
            else:
                return

    def _peek_reserved(self) -> str:
        found = _RESERVED.match(self.text, self.at)
        return found[0] if found else ""

    def _accept(self, expected: str) -> bool:
        """Skip a sign or a reserved word, after blanks and newlines; False if it is not there."""
        self._skip_blanks(lines=True)
        while expected.isalpha() and self.text.startswith(";", self.at):
            self.at += 1
            self._skip_blanks(lines=True)
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def _chain(self) -> Node:
        """Read pipelines joined by `&&` and `||`, perhaps in the background."""
        nodes, signs = [self._pipeline()], ""
        while True:
            self._skip_blanks()
            pair = self.text[self.at : self.at + 2]
            if pair not in ("&&", "||"):
                break
            self.at += 2
            self._skip_blanks(lines=True)
            signs += pair[0]
            nodes.append(self._pipeline())
        node = nodes[0] if not signs else CommandBlock("chain", nodes, name=signs)
        if self.text.startswith("&", self.at):
            self.at += 1
            return CommandBlock("background", [node])
        return node

    def _pipeline(self) -> Node:
        while self._peek_reserved() in ("!", "time"):
            self.at += len(self._peek_reserved())
            self._skip_blanks()
            if self.text.startswith("-p ", self.at):
                self.at += 3
        nodes = [self._command()]
        while True:
            self._skip_blanks()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                return nodes[0] if len(nodes) == 1 else CommandBlock("pipe", nodes)
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._skip_blanks(lines=True)
            nodes.append(self._command())

    def _command(self) -> Node:
        self.count_pieces()
        self._skip_blanks()
        text = self.text
        if text.startswith("(", self.at):
            end = self.find_arithmetic_end(self.at)
            if end:
                self.at = end
                return Simple()
            self.at += 1
            block = CommandBlock("subshell", [self.read_inner(")")])
            self._redirects(block.redirects)
            return block
        word = self._peek_reserved()
        if not word or word in _STRAY or word in ("!", "time"):
            return self._simple()
        self.at += len(word)
        self.descend()
        if word == "function":
            self._skip_blanks()
            name = self.read_word()
            found = _FUNCTION.match(text, self.at)
            self.at = found.end() if found else self.at
            node: Node = self._function(name if isinstance(name, str) else "")
        elif word == "coproc":
            node = CommandBlock("background", [self._command()])
        elif word == "[[":
            node = self._test()
        else:
            node = self._compound(word)
        self.depth -= 1
        return node

    def _compound(self, word: str) -> CommandBlock:
        if word == "{":
            block = CommandBlock("group", [self.read_block(frozenset("}"))])
            self._expect("}")
        elif word in ("while", "until"):
            block = CommandBlock("while", [self.read_block(frozenset({"do"})), self._do()])
        elif word in ("for", "select"):
            block = self._for()
        elif word == "case":
            block = self._case()
        else:
            block = self._if()
        self._redirects(block.redirects)
        return block

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            self.problems.append(f"no closing {word}")

    def _do(self) -> CommandBlock:
        self._expect("do")
        body = self.read_block(frozenset({"done"}))
        self._expect("done")
        return body

    def _if(self) -> CommandBlock:
        block = CommandBlock("if", [])
        while True:
            block.nodes.append(self.read_block(frozenset({"then"})))
            self._expect("then")
            block.nodes.append(self.read_block(frozenset({"elif", "else", "fi"})))
            if not self._accept("elif"):
                break
        if self._accept("else"):
            block.nodes.append(self.read_block(frozenset({"fi"})))
        self._expect("fi")
        return block

    def _for(self) -> CommandBlock:
        self._skip_blanks()
        end = self.find_arithmetic_end(self.at, "\n")
        if end:
            self.at = end
            return CommandBlock("for", [self._do()], words=[])
        name = self.read_word()
        words: list[Word] | None = None
        self._skip_blanks(lines=True)
        if self.text.startswith("in", self.at) and self.text[self.at + 2 : self.at + 3].isspace():
            self.at += 2
            words = self._until_line()
        variable = name if isinstance(name, str) else ""
        return CommandBlock("for", [self._do()], name=variable, words=words)

    def _until_line(self, closer: str = "") -> list[Word]:
        """Read words up to the end of the command, or across lines up to the closer."""
        words: list[Word] = []
        while True:
            self._skip_blanks(lines=bool(closer))
            sign = self.text[self.at : self.at + 1]
            if not sign or sign in "\n;&|)(":
                return words
            if sign in "<>" and not self.text.startswith("(", self.at + 1):
                return words
            words.append(self.read_word())

    def _case(self) -> CommandBlock:
        self._skip_blanks()
        word = self.read_word()
        block = CommandBlock("case", [], words=[word])
        self._accept("in")
        while True:
            self._skip_blanks(lines=True)
            if self.at >= self.end or self._peek_reserved() == "esac":
                break
            place = self.at
            self._accept("(")
            self._until_line()
            while self._accept("|"):
                self._until_line()
            if not self._accept(")"):
                self.problems.append("a case without its pattern")
            block.nodes.append(self.read_block(frozenset({";;", "esac"})))
            if self.text.startswith(";", self.at):
                self.at += 3 if self.text.startswith(";;&", self.at) else 2
            if self.at == place:
                self.at += 1
        self._expect("esac")
        return block

    def _test(self) -> Simple:
        """Read `[[ … ]]`, whose signs mean something else; only its substitutions matter."""
        node = Simple()
        node.words.append("[[")
        while self.at < self.end:
            self._skip_blanks(lines=True)
            if self.text.startswith("]]", self.at):
                self.at += 2
                break
            if self.text[self.at : self.at + 1] in tuple("&|<>();"):
                self.at += 1
            elif self.at < self.end:
                node.words.append(self.read_word())
        self._redirects(node.redirects)
        return node

    def _function(self, name: str) -> CommandBlock:
        self._skip_blanks(lines=True)
        return CommandBlock("function", [self._command()], name=name)

    def _redirects(self, found: list[Redirect]) -> None:
        while True:
            self._skip_blanks()
            if not self._redirect(found):
                return

    def _redirect(self, found: list[Redirect]) -> bool:
        sign = _REDIRECT.match(self.text, self.at)
        if sign is None or (sign[2] in ("<", ">") and self.text.startswith("(", sign.end())):
            return False
        self.at = sign.end()
        self._skip_blanks()
        op = sign[2] or sign[3]
        start = self.at
        target = self.read_word()
        each = Redirect(sign[1] or "", op, target)
        if op in ("<<", "<<-"):
            each.verbatim = not isinstance(target, str)
            each.tabs = op == "<<-"
            each.target = _mark(target, self.text[start : self.at])
            each.op = "<<"
            self.pending.append(each)
        found.append(each)
        return True

    def _simple(self) -> Node:
        node = Simple()
        text = self.text
        while True:
            self._skip_blanks()
            sign = text[self.at : self.at + 1]
            if not sign or sign in "\n;|)" or (sign == "&" and not text.startswith("&>", self.at)):
                break
            if (sign in "<>&{" or sign.isdigit()) and self._redirect(node.redirects):
                continue
            if not node.words:
                named = _ASSIGNMENT.match(text, self.at)
                if named:
                    self.at = named.end()
                    node.assigns.append((named[1], self._value()))
                    continue
            place = self.at
            node.words.append(self.read_word())
            if text.startswith("(", self.at):
                made = self._parenthesis(node)
                if made:
                    return made
            if self.at == place:  # a sign that starts no word
                self.at += 1
        return node

    def _parenthesis(self, node: Simple) -> Node | None:
        """Read an opening parenthesis after a word: a function, an array, or plain text."""
        word = node.words[-1]
        name = word if isinstance(word, str) else "".join(part.text for part in word)
        found = _FUNCTION.match(self.text, self.at)
        if found and len(node.words) == 1:
            self.at = found.end()
            self.descend()
            made = self._function(name)
            self.depth -= 1
            return made
        self.at += 1
        words = self._until_line(")")
        if not self._accept(")"):
            self.problems.append("no closing )")
        if name.endswith("="):
            node.assigns.append((name[:-1], words))
            node.words.pop()
        else:
            self.problems.append("a ( out of place")
        return None

    def _value(self) -> list[Word]:
        if self.text.startswith("(", self.at):
            self.at += 1
            words = self._until_line(")")
            self._accept(")")
            return words
        sign = self.text[self.at : self.at + 1]
        return [self.read_word() if sign and not sign.isspace() and sign not in ";&|)" else ""]


def _mark(target: Word, raw: str) -> str:
    """Return the delimiter of a here-document, without quotes and with nothing expanded."""
    if isinstance(target, str):
        return target
    if all(part.kind == "text" for part in target):
        return "".join(part.text for part in target)
    return raw
