"""What a file defines: names, kinds and signatures, without bodies and without locals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import attrgetter

from kedge.host.record import NamedTuple
from kedge.repomap.languages import Language, refine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.repomap.grammars import Match
    from kedge.repomap.naming import Named

_DEEPEST = 40  # definitions around a definition

_TYPES = frozenset({"class", "enum", "extension", "interface", "object", "struct", "trait"})
_VALUES = frozenset({"constant", "property", "variable"})
_PRIVATE = r"\b(?:file)?private\b(?![(\[])"
_STATIC = r"static\b(?!.*\bconst)"
_CONSTANT = (
    r"\bconst(?:expr)?\b|\bstatic\b.*\bfinal\b|\bfinal\b.*\bstatic\b|\bstatic readonly\b|"
    r"\bstatic let\b|\bstatic [A-Z][A-Z0-9_]+\b"
)


class Symbol(NamedTuple):
    name: str
    kind: str
    line: int  # from 1
    signature: str
    parent: str | None  # the type or module that it belongs to


class Extract(NamedTuple):
    symbols: tuple[Symbol, ...]
    failed: str | None = None  # why nothing could be read; errors of syntax are no reason


class _Around(NamedTuple):
    """A definition, or a region, that the next ones may be inside of."""

    span: tuple[int, int]
    opaque: bool
    name: str | None
    is_type: bool
    typedef: str | None = None  # in C, the name that the type inside is given


class _Lines:
    """Line numbers of places that mostly come in order. Reading `Point.row` crashes in tree-sitter
    0.26.0."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._place, self._line = 0, 1

    def at(self, place: int) -> int:
        if place < self._place:
            self._place, self._line = 0, 1
        self._line += self._source.count(b"\n", self._place, place)
        self._place = place
        return self._line


def extract(language: Language, source: bytes, path: str) -> Extract:
    """The definitions of a file in document order."""
    language = refine(language, path, source)
    if language.grammar is None:
        from kedge.repomap.outlines import outline

        return outline(language, source, path)
    from kedge.repomap.grammars import Unreadable, reader
    from kedge.repomap.naming import readable

    try:
        matches, broken = reader(language).read(readable(source, language.name))
    except Unreadable as error:
        return Extract((), str(error))
    symbols = list(_once(_symbols(matches, source, language.name)))
    if broken:
        from kedge.repomap.outlines import lost

        symbols += lost(language, source, {symbol.name for symbol in symbols})
        symbols.sort(key=attrgetter("line"))
    return Extract(tuple(symbols))


def _symbols(
    matches: Iterable[Match], source: bytes, language: str
) -> Iterator[tuple[Symbol, bool]]:
    """Each with whether it has a body elsewhere, as the prototype of a function has."""
    from kedge.repomap.naming import named
    from kedge.repomap.signatures import signature

    stack: list[_Around] = []
    seen: set[tuple[int, ...]] = set()
    namespaces: set[str] = set()
    lines = _Lines(source)
    for match in matches:
        span = (match.node.start_byte, match.node.end_byte)
        while stack and stack[-1].span[1] <= span[0]:
            stack.pop()
        around = next((outer for outer in reversed(stack) if outer.span != span), None)
        if span in seen or (around and around.opaque) or len(stack) > _DEEPEST:
            continue
        if match.kind == "opaque":
            seen.add(span)
            stack.append(_Around(span, True, None, False))
            continue
        found = named(match, source, language)
        if found is None or (key := (*span, found.position)) in seen:
            continue
        seen.add(key)
        outer = around.name if around else None
        stack.append(_around(match, found, span, outer, language))
        if match.kind == "scope" or (around and around.typedef == found.name):
            continue
        if match.kind == "namespace":
            namespaces.update(found.name.split("::"))
        elif found.parent in namespaces:
            found = found._replace(parent=None, kind="function")
        kind, parent = found.kind, found.parent or outer
        if kind == "function" and found.parent is None and around and around.is_type:
            kind = "method"
        elif kind == "method" and parent is None:
            kind = "function"
        line = signature(match, source)
        if kind in _VALUES:
            if _is_private(found.name, line, language):
                continue
            kind = _valued(kind, found.name, line)
        number = lines.at(found.position)
        yield Symbol(found.name, kind, number, line, parent), match.kind == "prototype"


def _around(
    match: Match, found: Named, span: tuple[int, int], outer: str | None, language: str
) -> _Around:
    if found.kind == "namespace":
        return _Around(span, False, outer, False)
    if language in ("c", "cpp") and found.kind in ("type", "variable"):
        return _Around(span, False, outer, False, found.name)
    is_type = found.kind in _TYPES or found.kind == "scope" or "inside" in match.captures
    opaque = not is_type and found.kind != "module"
    return _Around(span, opaque, found.name, is_type)


def _valued(kind: str, name: str, line: str) -> str:
    shouted = name.isupper() and ("_" in name or (kind == "variable" and len(name) > 1))
    return "constant" if shouted or re.search(_CONSTANT, line) else kind


def _is_private(name: str, line: str, language: str) -> bool:
    if language in ("c", "cpp"):
        return re.match(_STATIC, line) is not None
    return name.startswith("#") or re.search(_PRIVATE, line) is not None


def _once(found: Iterator[tuple[Symbol, bool]]) -> Iterator[Symbol]:
    """Without the prototypes of functions that the same file defines."""
    symbols = list(found)
    defined = {(symbol.name, symbol.parent) for symbol, prototype in symbols if not prototype}
    for symbol, prototype in symbols:
        if not (prototype and (symbol.name, symbol.parent) in defined):
            yield symbol
