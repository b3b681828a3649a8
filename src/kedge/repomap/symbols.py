"""What a file defines: names, kinds and signatures, without bodies and without locals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kedge.repomap.languages import Language, refine

if TYPE_CHECKING:
    from kedge.repomap.grammars import Match

SECONDS = 5.0  # that one file may take to parse
_DEEPEST = 40  # definitions around a definition

_TYPES = frozenset({"class", "enum", "extension", "interface", "object", "struct", "trait"})
_VALUES = frozenset({"constant", "property", "variable"})
_PRIVATE = re.compile(r"\b(?:file)?private\b(?![(\[])")
_STATIC = re.compile(r"static\b(?!.*\bconst)")
_CONSTANT = re.compile(
    r"\bconst(?:expr)?\b|\bstatic\b.*\bfinal\b|\bfinal\b.*\bstatic\b|\bstatic readonly\b|"
    r"\bstatic let\b|\breadonly [A-Z_]+="
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


def extract(language: Language, source: bytes, path: str, *, seconds: float = SECONDS) -> Extract:
    """The definitions of a file in document order."""
    language = refine(language, path, source)
    if language.grammar is None:
        from kedge.repomap.outlines import outline

        return Extract(tuple(outline(language, source, path, seconds)))
    from kedge.repomap.grammars import Unreadable, reader
    from kedge.repomap.naming import without_macros

    if language.name in ("c", "cpp"):
        source = without_macros(source)
    try:
        matches = reader(language).matches(source, seconds)
    except Unreadable as error:
        return Extract((), str(error))
    return Extract(tuple(_once(_symbols(matches, source, language.name))))


def _symbols(
    matches: Iterable[Match], source: bytes, language: str
) -> Iterator[tuple[Symbol, bool]]:
    """Each with whether it has a body elsewhere, as the prototype of a function has."""
    from kedge.repomap.naming import Named, named
    from kedge.repomap.signatures import signature

    stack: list[_Around] = []
    seen: set[tuple[int, int, int]] = set()
    for match in matches:
        span = (match.node.start_byte, match.node.end_byte)
        while stack and (stack[-1].span[1] <= span[0] or stack[-1].span == span):
            stack.pop()
        around = stack[-1] if stack else None
        if (around and around.opaque) or len(stack) > _DEEPEST:
            continue
        if match.kind == "opaque":
            stack.append(_Around(span, True, None, False))
            continue
        found: Named | None = named(match, source, language)
        if found is None or (key := (*span, found.position)) in seen:
            continue
        seen.add(key)
        outer = around.name if around else None
        if match.kind in ("scope", "namespace"):
            name = found.name if match.kind == "scope" else outer
            stack.append(_Around(span, False, name, bool(name)))
        else:
            holds = found.kind in _TYPES or found.kind == "module" or "inside" in match.captures
            stack.append(_Around(span, not holds, found.name, found.kind != "module"))
        if match.kind == "scope" or not found.name:
            continue
        kind, parent = found.kind, found.parent or outer
        if kind == "function" and found.parent is None and around and around.name and around.is_type:
            kind = "method"
        elif kind == "method" and parent is None:
            kind = "function"
        line = signature(match, source)
        if kind in _VALUES:
            if _is_private(found.name, line, language):
                continue
            if kind != "constant" and (found.name.isupper() or _CONSTANT.search(line)):
                kind = "constant"
        row = found.node.start_point.row + 1
        yield Symbol(found.name, kind, row, line, parent), match.kind == "prototype"


def _is_private(name: str, line: str, language: str) -> bool:
    if language in ("c", "cpp"):
        return _STATIC.match(line) is not None
    return name.startswith("#") or _PRIVATE.search(line) is not None


def _once(found: Iterator[tuple[Symbol, bool]]) -> Iterator[Symbol]:
    """Without the prototypes of functions that the same file defines."""
    symbols = list(found)
    defined = {(symbol.name, symbol.parent) for symbol, prototype in symbols if not prototype}
    for symbol, prototype in symbols:
        if not (prototype and (symbol.name, symbol.parent) in defined):
            yield symbol
