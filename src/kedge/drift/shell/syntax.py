"""The parts of a shell command: words, redirections, simple commands and blocks."""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Node: TypeAlias = "Simple | CommandBlock"
    Word: TypeAlias = "str | tuple[WordPart, ...]"


class CommandTooLarge(Exception):
    """The command is longer, or nested deeper, than kedge reads."""


class WordPart(NamedTuple):
    """A piece of a word: text, var, command, process or arithmetic; `body` is what it runs."""

    kind: str
    text: str
    quoted: bool = False
    body: CommandBlock | None = None


class Redirect:
    """`target` is a word; for a here-document it becomes the body once that was read."""

    __slots__ = ("fd", "op", "tabs", "target", "verbatim")

    def __init__(self, fd: str, op: str, target: Word) -> None:
        self.fd = fd
        self.op = op
        self.target = target
        self.verbatim = False
        self.tabs = False


class Simple:
    """A simple command: assignments, words and redirections; an array is assigned several words."""

    __slots__ = ("assigns", "redirects", "words")

    def __init__(self) -> None:
        self.assigns: list[tuple[str, list[Word]]] = []
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []


class CommandBlock:
    """Several commands; `kind` is list, chain, pipe, background, group, subshell, if, for, while,
    case or function.

    `words` belong to `for` and `case`; `name` is the variable, the function, or the operators of a
    chain, one sign each.
    """

    __slots__ = ("kind", "name", "nodes", "redirects", "words")

    def __init__(
        self, kind: str, nodes: list[Node], *, name: str = "", words: list[Word] | None = None
    ) -> None:
        self.kind = kind
        self.nodes = nodes
        self.name = name
        self.words = words
        self.redirects: list[Redirect] = []
