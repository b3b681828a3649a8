"""The parts of a shell command: words, redirections, simple commands and blocks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Node: TypeAlias = "Simple | Block"
    Word: TypeAlias = "str | tuple[Part, ...]"


class TooMuch(Exception):
    """The command is longer or deeper than is read."""


class Part:
    """A piece of a word: text, var, command, process or arithmetic; `body` is what is run."""

    __slots__ = ("body", "kind", "quoted", "text")

    def __init__(
        self, kind: str, text: str, quoted: bool = False, body: Block | None = None
    ) -> None:
        self.kind = kind
        self.text = text
        self.quoted = quoted
        self.body = body


class Redirect:
    """`target` is a word; of a here-document it holds the body, once that has been read."""

    __slots__ = ("fd", "op", "tabs", "target", "verbatim")

    def __init__(self, fd: str, op: str, target: Word) -> None:
        self.fd = fd
        self.op = op
        self.target = target
        self.verbatim = False
        self.tabs = False


class Simple:
    """Assignments, words and redirections; a value of an array is a tuple of words."""

    __slots__ = ("assigns", "redirects", "words")

    def __init__(self) -> None:
        self.assigns: list[tuple[str, list[Word]]] = []
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []


class Block:
    """kind: list, chain, pipe, background, group, subshell, for, while, case, function.

    `words` are those of `for` and `case`; `name` is the variable, the function, or the operators
    of a chain, one sign each.
    """

    __slots__ = ("kind", "name", "nodes", "redirects", "words")

    def __init__(
        self,
        kind: str,
        nodes: list[Node],
        *,
        name: str = "",
        words: list[Word] | None = None,
    ) -> None:
        self.kind = kind
        self.nodes = nodes
        self.name = name
        self.words = words
        self.redirects: list[Redirect] = []
