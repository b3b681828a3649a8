"""Grammars and their queries: loaded when first needed, compiled once per process.

The queries are in `queries/*.scm`. In them, a capture names the kind of the definition that it
covers, except for these:

    @name        the name of the definition
    @in          the name of its parent, if that is not the enclosing definition
    @declarator  C and C++: the declarator that holds the name
    @head        the statement that begins the signature: `const` of `const a = 1, b = 2`
    @body        where the signature ends, if not at the node's own body
    @made        the function that is assigned to the name: the signature ends at its body
    @last        the last thing in the signature
    @value       the value of a constant
    @fold        shown as {…}
    @inside      definitions inside belong to it, although it is not a type
    @scope       not a definition; definitions inside belong to its @name
    @opaque      not a definition; definitions inside are local
    @_…          only used by the query itself

If two patterns match one node, the first one counts.

A parent is written as `_` where its fields and tokens identify it: for a named parent, tree-sitter
compiles everything that the grammar allows inside it, which takes much longer.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.repomap.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Parser, Query, QueryCursor


QUERIES = Path(__file__).with_name("queries")
_HELPERS = frozenset(
    {"name", "in", "declarator", "head", "body", "made", "last", "value", "fold", "inside"}
)
_CAPTURE = re.compile(rb"@([a-z]+)")
# The depth in the tree to which definitions are searched. On public code these limits lose less
# than one definition in a thousand, and save up to half of the query's time.
_LEVELS = {"ruby": 20, "cpp": 14, "javascript": 14, "lua": 14, "scala": 14}
_LEVELS |= dict.fromkeys(("c", "csharp", "java", "kotlin", "shell"), 10)
_OTHERWISE = 8
_CROWD = 2000  # consecutive tokens that no grammar rule matches
# Unclosed brackets: for thousands of them, some parsers take gigabytes.
_UNCLOSED = ((b"(", b")", 1000), (b"[", b"]", 1000), (b"{", b"}", 1000), (b"<", b">", 4000))
_RUNS = (b"`" * 5000, b"#" * 5000)  # scanners backtrack over them
SECONDS = 2.0  # time limit per file
_LATE = f"took longer than {SECONDS:g} s to parse"
_CONFUSED = "too many syntax errors"


class Unreadable(Exception):
    """A file cannot be parsed; the message is for the user."""


@dataclass(frozen=True, slots=True)
class QueryMatch:
    kind: str
    node: Node
    captures: dict[str, list[Node]]


@dataclass(frozen=True, slots=True)
class ParseResult:
    matches: list[QueryMatch]  # in document order, outer before inner
    broken: bool  # True if the file has syntax errors


class GrammarReader:
    """A grammar with its query."""

    def __init__(self, parser: Parser, cursor: QueryCursor, kinds: list[str]) -> None:
        self._parser = parser
        self._cursor = cursor
        self._kinds = kinds

    def read(self, source: bytes) -> ParseResult:
        if any(source.count(left) - source.count(right) > most for left, right, most in _UNCLOSED):
            raise Unreadable(_CONFUSED)
        if any(run in source for run in _RUNS):
            raise Unreadable(_CONFUSED)
        try:
            root = self._parser.parse(source).root_node
        except ValueError as error:  # the time limit
            self._parser.reset()
            raise Unreadable(_LATE) from error
        if root.has_error and _is_crowded(root):
            raise Unreadable(_CONFUSED)
        found: list[tuple[Any, ...]] = []
        start = time.monotonic()
        for pattern, captures in self._cursor.matches(root):
            kind = self._kinds[pattern]
            node = captures[kind][0]
            found.append((node.start_byte, -node.end_byte, pattern, len(found), kind, captures))
        if time.monotonic() - start > SECONDS:
            raise Unreadable(_LATE)
        found.sort(key=itemgetter(0, 1, 2, 3))
        matches = [QueryMatch(kind, captures[kind][0], captures) for *_, kind, captures in found]
        return ParseResult(matches, root.has_error)


@cache  # failures raise, so they are not cached
def load_reader(language: Language) -> GrammarReader:
    try:
        from tree_sitter import Language as Grammar
        from tree_sitter import Query

        grammar = Grammar(getattr(import_module(str(language.grammar)), language.function)())
    except ImportError as error:
        raise Unreadable(f"the grammar is not installed ({error.name})") from error
    except (AttributeError, ValueError) as error:
        raise Unreadable(f"the grammar does not fit this tree-sitter ({error})") from error
    names = (language.query or language.name).split()
    try:
        text = "\n".join((QUERIES / f"{name}.scm").read_text(encoding="utf-8") for name in names)
        query = Query(grammar, text)
    except (OSError, ValueError) as error:
        raise Unreadable(f"the query does not fit the grammar ({error})") from error
    parser, cursor = _make_parser(grammar, query)
    cursor.set_max_start_depth(_LEVELS.get(language.name, _OTHERWISE))
    return GrammarReader(parser, cursor, _kinds(query, text.encode()))


def _make_parser(grammar: Grammar, query: Query) -> tuple[Parser, QueryCursor]:
    """A parser and a cursor with time limits. In tree-sitter 0.26 the only time limit is a callback
    that crashes, so kedge uses 0.25."""
    import warnings

    from tree_sitter import Parser, QueryCursor

    micros = int(SECONDS * 1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return (
            Parser(grammar, timeout_micros=micros),
            QueryCursor(query, timeout_micros=micros),
        )


def _kinds(query: Query, text: bytes) -> list[str]:
    """For each pattern, the name of the capture that is the definition itself."""
    found = []
    for pattern in range(query.pattern_count):  # type: ignore[call-overload]  # the stub is wrong
        start, end = query.start_byte_for_pattern(pattern), query.end_byte_for_pattern(pattern)
        captures = (name.decode() for name in _CAPTURE.findall(text, start, end))
        found.append(next(name for name in captures if name not in _HELPERS))
    return found


def _is_crowded(root: Node) -> bool:
    """True if thousands of consecutive tokens are unmatched: a query would take quadratic time."""
    cursor = root.walk()
    going = cursor.goto_first_child()
    run = 0
    while going and (node := cursor.node) is not None:
        run = 0 if node.is_named else run + 1
        if run > _CROWD:
            return True
        if node.has_error and cursor.goto_first_child():
            run = 0
            continue
        while not (going := cursor.goto_next_sibling()) and cursor.goto_parent():
            run = 0
    return False
