"""Grammars and their queries: loaded when first needed, compiled once per process.

The queries are in `queries/*.scm`. In them, a capture names the kind of the definition that it
covers, except for these:

    @name        what it is called
    @in          what it belongs to, where that is not the definition around it
    @declarator  C and C++: the declarator that holds the name
    @head        the statement that begins the signature: `const` of `const a = 1, b = 2`
    @body        where the signature ends, if not at the node's own body
    @made        the function that a name is given: the signature ends at its body
    @last        the last thing in the signature
    @value       the value of a constant
    @fold        shown as {…}
    @inside      what is defined in there belongs to it, though it is no type
    @scope       not a definition; what is defined in there belongs to its @name
    @opaque      not a definition; what is defined in there is local
    @_…          used by the query alone

Where two patterns match one node, the one that comes first counts.

A parent is written as `_` where its fields and tokens tell what it is: to compile a pattern,
tree-sitter goes through all that the grammar allows inside each parent with a name.
"""

from __future__ import annotations

import re
import time
from functools import cache
from operator import itemgetter
from pathlib import Path

from kedge.host.record import NamedTuple
from kedge.repomap.languages import Language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Parser, Query, QueryCursor

QUERIES = Path(__file__).with_name("queries")
_HELPERS = frozenset(
    {"name", "in", "declarator", "head", "body", "made", "last", "value", "fold", "inside"}
)
_CAPTURE = re.compile(rb"@([a-z]+)")
# How deep in the tree definitions for others to use are looked for: measured on public code, these
# lose less than one in a thousand, and save up to half of the query's time.
_LEVELS = {"ruby": 20, "cpp": 14, "javascript": 14, "lua": 14, "scala": 14}
_LEVELS |= dict.fromkeys(("c", "csharp", "java", "kotlin", "shell"), 10)
_OTHERWISE = 8
_CROWD = 2000  # tokens in a row that no rule of the grammar could place
# Brackets that are never closed: for thousands, some parsers take gigabytes.
_UNCLOSED = ((b"(", b")", 1000), (b"[", b"]", 1000), (b"{", b"}", 1000), (b"<", b">", 4000))
_RUNS = (b"`" * 5000, b"#" * 5000)  # a scanner goes back over them again and again
SECONDS = 2.0  # that one file may take
_LATE = f"took longer than {SECONDS:g} s to parse"
_CONFUSED = "too many errors to make sense of"


class Unreadable(Exception):
    """Why a file's definitions cannot be listed, in words for the user."""


class Match(NamedTuple):
    kind: str
    node: Node
    captures: dict[str, list[Node]]


class Reading(NamedTuple):
    matches: list[Match]  # in document order, the outer before the inner
    broken: bool  # whether the grammar could not place some of the text


class Reader:
    """A grammar with its query."""

    def __init__(self, parser: Parser, cursor: QueryCursor, kinds: list[str]) -> None:
        self._parser = parser
        self._cursor = cursor
        self._kinds = kinds

    def read(self, source: bytes) -> Reading:
        if any(source.count(left) - source.count(right) > most for left, right, most in _UNCLOSED):
            raise Unreadable(_CONFUSED)
        if any(run in source for run in _RUNS):
            raise Unreadable(_CONFUSED)
        try:
            root = self._parser.parse(source).root_node
        except ValueError as error:  # the time is up
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
        matches = [Match(kind, captures[kind][0], captures) for *_, kind, captures in found]
        return Reading(matches, root.has_error)


@cache  # failures raise, so they are not kept
def reader(language: Language) -> Reader:
    try:
        from tree_sitter import Language as Grammar
        from tree_sitter import Query

        grammar = Grammar(getattr(_binding(str(language.grammar)), language.function)())
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
    parser, cursor = _limited(grammar, query)
    cursor.set_max_start_depth(_LEVELS.get(language.name, _OTHERWISE))
    return Reader(parser, cursor, _kinds(query, text.encode()))


def _binding(package: str) -> ModuleType:
    """The module that has the grammar. The package around it would load a dozen modules more, for
    queries that kedge does not use."""
    from importlib import import_module
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    around = PathFinder.find_spec(package)
    places = around.submodule_search_locations if around else None
    found = PathFinder.find_spec(f"{package}._binding", places) if places else None
    if found is None or found.loader is None:
        return import_module(package)
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _limited(grammar: Grammar, query: Query) -> tuple[Parser, QueryCursor]:
    """tree-sitter 0.26 has no limit of time but a callback that crashes: hence 0.25."""
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
    """The capture of each pattern that is the definition itself."""
    found = []
    for pattern in range(query.pattern_count):  # type: ignore[call-overload]  # the stub is wrong
        start, end = query.start_byte_for_pattern(pattern), query.end_byte_for_pattern(pattern)
        captures = (name.decode() for name in _CAPTURE.findall(text, start, end))
        found.append(next(name for name in captures if name not in _HELPERS))
    return found


def _is_crowded(root: Node) -> bool:
    """Whether there are thousands of tokens in a row that found no place: a query over such a tree
    takes time that grows with their square."""
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
