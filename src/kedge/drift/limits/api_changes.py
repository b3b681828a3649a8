"""Exported definitions that a change removes, or whose signature it changes.

Where a language, a file or a change cannot be read, nothing is found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kedge.repomap.languages import language_of
from kedge.repomap.symbols import extract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kedge.repomap.symbol import Symbol

    ReadFile = Callable[[str], bytes | None]

_LARGEST = 400_000  # bytes of a file
_VALUES = frozenset(("constant", "variable", "property"))  # their value may change
_HIDDEN = r"\b(?:file)?private\b|\binternal\b|\bprotected\b"
# how a signature says that a definition is exported
_EXPORTED = {
    "javascript": r"^(?:@\S+ )*export\b|^(?:module\.)?exports\b",
    "typescript": r"^(?:@\S+ )*export\b",
    "tsx": r"^(?:@\S+ )*export\b",
    "rust": r"^(?:#\S+ )*pub\b(?!\()",
    "java": r"\b(?:public|protected)\b",
    "csharp": r"\b(?:public|protected)\b",
    "swift": r"\b(?:public|open)\b",
}
_UNLESS_HIDDEN = frozenset(("kotlin", "php", "scala"))
_METHODS = frozenset(("javascript", "typescript", "tsx"))  # methods carry no `export`


class ApiChange(NamedTuple):
    path: str
    reason: str


def find_api_change(
    changes: Iterable[Any], deleted: Iterable[str], read: ReadFile
) -> ApiChange | None:
    """Return how an action changes what its files export, or None."""
    for path in deleted:
        exports = _list_exports(path, read(path))
        if exports:
            return ApiChange(path, f"removes {_name(next(iter(exports)))} with {path}")
    texts: dict[str, tuple[bytes, bytes]] = {}
    for change in changes:
        old, now = texts.get(change.path) or (read(change.path) or b"", b"")
        new = apply_change(now or old, change)
        if old and new is not None:
            texts[change.path] = old, new
    for path, (old, new) in texts.items():
        before, after = _list_exports(path, old), _list_exports(path, new)
        if before is None or after is None:
            continue
        for key, signatures in before.items():
            if key not in after:
                return ApiChange(path, f"removes {_name(key)} from {path}")
            if not signatures <= after[key]:
                return ApiChange(path, f"changes the signature of {_name(key)} in {path}")
    return None


def apply_change(text: bytes, change: Any) -> bytes | None:
    """Return the file after a change, or None if the change does not fit it."""
    added, removed = str(change.added).encode(), str(change.removed).encode()
    if change.whole:
        return added
    if not removed:
        return None  # what is added changes no definition that exists
    if removed in text:  # an edit replaces a text that is there once, or every such text
        return text.replace(removed, added)
    return _replace_lines(text, removed, added)


def _replace_lines(text: bytes, removed: bytes, added: bytes) -> bytes | None:
    """Replace lines that a patch removes in several places, in their order."""
    lines, wanted = text.split(b"\n"), removed.rstrip(b"\n").split(b"\n")
    kept: list[bytes] = []
    place = -1
    for line in lines:
        if wanted and line == wanted[0]:
            place = len(kept) if place < 0 else place
            wanted.pop(0)
        else:
            kept.append(line)
    if wanted:
        return None
    return b"\n".join([*kept[:place], *added.rstrip(b"\n").split(b"\n"), *kept[place:]])


Key = tuple[str | None, str]  # the enclosing type and the name


def _list_exports(path: str, source: bytes | None) -> dict[Key, set[str]] | None:
    """Return the signatures of what a file exports; None if that is not known."""
    language = language_of(path) if source and len(source) <= _LARGEST else None
    if language is None or source is None or not _can_tell(language.name):
        return None
    found = extract(language, source, path)
    if found.failed is not None:
        return None
    exports: dict[Key, set[str]] = {}
    types = {each.name for each in found.symbols if _is_exported(each, language.name, frozenset())}
    for symbol in found.symbols:
        if _is_exported(symbol, language.name, types):
            signature = "" if symbol.kind in _VALUES else " ".join(symbol.signature.split())
            exports.setdefault((symbol.parent, symbol.name), set()).add(signature)
    return exports


def _can_tell(language: str) -> bool:
    return language in ("python", "go", "c", "cpp") or (
        language in _EXPORTED or language in _UNLESS_HIDDEN
    )


def _is_exported(symbol: Symbol, language: str, types: set[str] | frozenset[str]) -> bool:
    if symbol.parent is not None and symbol.parent not in types:
        return False
    if language == "python":
        return not symbol.name.startswith("_") or symbol.name == "__init__"
    if language == "go":
        return symbol.name[:1].isupper()
    if language in ("c", "cpp"):
        return re.search(r"\bstatic\b", symbol.signature) is None
    hidden = re.search(_HIDDEN, symbol.signature) is not None or symbol.name.startswith("#")
    if language in _UNLESS_HIDDEN or (symbol.parent and language in _METHODS):
        return not hidden
    return re.search(_EXPORTED[language], symbol.signature) is not None


def _name(key: Key) -> str:
    parent, name = key
    return f"{parent}.{name}" if parent else name
