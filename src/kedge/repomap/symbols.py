"""The definitions of a source file: names, kinds and signatures, without bodies and locals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from kedge.repomap.languages import BY_NAME, Language, refine
from kedge.repomap.symbol import Extract, Symbol

if TYPE_CHECKING:
    from kedge.repomap.grammars import QueryMatch
    from kedge.repomap.naming import Definition


_SCRIPT = re.compile(rb"<script(\s[^>]{0,300})?>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_TYPED = re.compile(rb"""\blang\s*=\s*["']?(tsx?)\b""")
_DEEPEST = 40  # nested definitions

_TYPES = frozenset({"class", "enum", "extension", "interface", "object", "struct", "trait"})
_VALUES = frozenset({"constant", "property", "variable"})
_PRIVATE = r"\b(?:file)?private\b(?![(\[])"
_STATIC = r"static\b(?!.*\bconst)"
_CONSTANT = (
    r"\bconst(?:expr)?\b|\bstatic\b.*\bfinal\b|\bfinal\b.*\bstatic\b|\bstatic readonly\b|"
    r"\bstatic let\b|\bstatic [A-Z][A-Z0-9_]+\b"
)


@dataclass(frozen=True, slots=True)
class _Scope:
    """A definition or a region that may enclose the next definitions."""

    span: tuple[int, int]
    opaque: bool
    name: str | None
    is_type: bool
    typedef: str | None = None  # the name that a C typedef gives to the type inside it


def extract(language: Language, source: bytes, path: str) -> Extract:
    """The definitions of a file in document order."""
    language = refine(language, path, source)
    if language.name in ("vue", "svelte"):
        return _component(source, path)
    if language.grammar is None:
        from kedge.repomap.outlines import outline

        return outline(language, source)
    from kedge.repomap.grammars import Unreadable, load_reader
    from kedge.repomap.naming import make_parsable

    try:
        read = load_reader(language).read(make_parsable(source, language.name))
    except Unreadable as error:
        return Extract((), str(error))
    symbols = list(_drop_prototypes(_symbols(read.matches, source, language.name)))
    if read.broken:
        from kedge.repomap.outlines import recover_symbols

        symbols += recover_symbols(language, source, {symbol.name for symbol in symbols})
        symbols.sort(key=attrgetter("line"))
    return Extract(tuple(symbols))


def _component(source: bytes, path: str) -> Extract:
    """The definitions of a Vue or Svelte component, which has the name of its file."""
    name = path.rpartition("/")[2].partition(".")[0]
    last = source.rstrip().count(b"\n") + 1
    symbols = [Symbol(name, "component", 1, f"component {name}", None, last)]
    for script in _SCRIPT.finditer(source):
        typed = _TYPED.search(script[1] or b"")
        language = {b"ts": "typescript", b"tsx": "tsx"}[typed[1]] if typed else "javascript"
        found = extract(BY_NAME[language], script[2], path)
        if found.failed is not None:
            return Extract(tuple(symbols), found.failed)
        first = source.count(b"\n", 0, script.start(2))
        symbols += (
            replace(symbol, line=symbol.line + first, end=symbol.end + first)
            for symbol in found.symbols
        )
    return Extract(tuple(symbols))


def _symbols(
    matches: Iterable[QueryMatch], source: bytes, language: str
) -> Iterator[tuple[Symbol, bool]]:
    """Yield each symbol, and True if it is only the prototype of a function."""
    from kedge.repomap.naming import find_definition
    from kedge.repomap.signatures import build_signature

    stack: list[_Scope] = []
    seen: set[tuple[int, ...]] = set()
    namespaces: set[str] = set()
    for match in matches:
        span = (match.node.start_byte, match.node.end_byte)
        while stack and stack[-1].span[1] <= span[0]:
            stack.pop()
        around = next((outer for outer in reversed(stack) if outer.span != span), None)
        if span in seen or (around and around.opaque) or len(stack) > _DEEPEST:
            continue
        if match.kind == "opaque":
            seen.add(span)
            stack.append(_Scope(span, True, None, False))
            continue
        found = find_definition(match, source, language)
        if found is None or (key := (*span, found.position)) in seen:
            continue
        seen.add(key)
        outer = around.name if around else None
        stack.append(_open_scope(match, found, span, outer, language))
        if match.kind == "scope" or (around and around.typedef == found.name):
            continue
        if match.kind == "namespace":
            namespaces.update(found.name.split("::"))
        elif found.parent in namespaces:
            found = replace(found, parent=None, kind="function")
        kind, parent = found.kind, found.parent or outer
        if kind == "function" and found.parent is None and around and around.is_type:
            kind = "method"
        elif kind == "method" and parent is None:
            kind = "function"
        line = build_signature(match, source)
        if kind in _VALUES:
            if _is_private(found.name, line, language):
                continue
            kind = _kind_of_value(kind, found.name, line)
        # the name of a C typedef is at its end
        start = span[0] if "fold" in match.captures else found.position
        number = source.count(b"\n", 0, start) + 1
        end = number + source.count(b"\n", start, span[1])
        yield Symbol(found.name, kind, number, line, parent, end), match.kind == "prototype"


def _open_scope(
    match: QueryMatch, found: Definition, span: tuple[int, int], outer: str | None, language: str
) -> _Scope:
    if found.kind == "namespace":
        return _Scope(span, False, outer, False)
    if language in ("c", "cpp") and found.kind in ("type", "variable"):
        return _Scope(span, False, outer, False, found.name)
    is_type = found.kind in _TYPES or found.kind == "scope" or "inside" in match.captures
    opaque = not is_type and found.kind != "module"
    return _Scope(span, opaque, found.name, is_type)


def _kind_of_value(kind: str, name: str, line: str) -> str:
    shouted = name.isupper() and ("_" in name or (kind == "variable" and len(name) > 1))
    return "constant" if shouted or re.search(_CONSTANT, line) else kind


def _is_private(name: str, line: str, language: str) -> bool:
    if language in ("c", "cpp"):
        return re.match(_STATIC, line) is not None
    return name.startswith("#") or re.search(_PRIVATE, line) is not None


def _drop_prototypes(found: Iterator[tuple[Symbol, bool]]) -> Iterator[Symbol]:
    """Leave out the prototypes of functions that the same file defines."""
    symbols = list(found)
    defined = {(symbol.name, symbol.parent) for symbol, prototype in symbols if not prototype}
    for symbol, prototype in symbols:
        if not (prototype and (symbol.name, symbol.parent) in defined):
            yield symbol
