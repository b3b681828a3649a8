"""Uses of a file by the names that it defines, in languages whose imports name no file.

A name counts if only one file defines it where the user looks for it: in the package or namespace
that the user declares or imports, or in the whole repository if the language has no imports. It
counts in code only, not in comments and strings, and in a form that a local name does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kedge.repomap.code import strip_comments, strip_strings
from kedge.repomap.imports import find_imports
from kedge.repomap.symbol import Symbol

_TYPES = frozenset(
    {"class", "interface", "trait", "struct", "enum", "type", "object", "record", "protocol"}
    | {"module", "actor", "delegate", "annotation", "union"}
)
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".ipp", ".tpp", ".cuh")
_SCOPE = {
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), rb"(?m)^[ \t]*package[ \t]+([\w.]+)"),
    "php": rb"(?m)^[ \t]*(?:<\?php[ \t]+)?namespace[ \t]+([\w\\]+)",
    "csharp": rb"(?m)^[ \t]*namespace[ \t]+([\w.]+)",
    "go": rb"(?m)^package[ \t]+(\w+)",
}
_USING = rb"(?m)^[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?([\w.]+)[ \t]*;"
_GO_IMPORT = rb'(?m)^[ \t]*(?:import[ \t]+)?(?:([\w.]+)[ \t]+)?"([^"\n]{1,200})"'
_BY_NAME = frozenset({"swift", "elixir", "objc", "dart", "haskell", "julia", "erlang", "groovy"})


@dataclass(frozen=True)
class Source:
    """A file's text, and what it says about names."""

    path: str
    language: str
    data: bytes

    @cached_property
    def text(self) -> bytes:
        return strip_comments(self.language, self.data)

    @cached_property
    def code(self) -> bytes:
        return strip_strings(self.language, self.data)

    @cached_property
    def scope(self) -> str:
        """The package or namespace that the file declares; Scala's may be in several clauses."""
        shape = _SCOPE.get(self.language)
        found = re.findall(shape, self.code) if shape else []
        if self.language == "scala":
            return b".".join(found).decode("utf-8", "replace")
        return found[0].decode("utf-8", "replace") if found else ""

    @cached_property
    def specs(self) -> list[str]:
        """The names that the file imports."""
        if self.language == "csharp":
            return [one.decode("utf-8", "replace") for one in re.findall(_USING, self.code)]
        return [one.rstrip(".\\") for one in find_imports(self.language, b"\n" + self.text)]


@dataclass(frozen=True)
class Definitions:
    """What a file defines: its symbols, and the other files that seem to define the same names
    (None if there are many)."""

    source: Source
    symbols: Sequence[Symbol]
    rivals: Mapping[str, Sequence[str] | None]
    package: str = ""  # the path by which Go imports it

    def is_sole(self, name: str) -> bool:
        """True if no other file defines the name. A header only declares a function of C."""
        rivals = self.rivals.get(name)
        if rivals is None:
            return False
        return all(path.endswith(_HEADERS) for path in rivals) if self._is_c else not rivals

    def has_no_rival_in(self, name: str, folder: str) -> bool:
        rivals = self.rivals.get(name)
        return rivals is not None and all(_folder(path) != folder for path in rivals)

    @property
    def _is_c(self) -> bool:
        return self.source.language in ("c", "cpp") and not self.source.path.endswith(_HEADERS)


def is_distinctive(name: str) -> bool:
    """True if the name has several parts, so that it is hardly a common word or a local name."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    return len(name) > 5 and len(parts) > 1


def has_mention(user: Source, used: Definitions) -> bool:
    """True if the user certainly means a definition of the other file."""
    language = used.source.language
    if language in ("java", "kotlin", "scala", "php", "csharp"):
        return _mentions_in_scope(user, used)
    if language == "go":
        return _mentions_in_directory(user, used)
    if language in ("c", "cpp"):
        return _calls_function(user, used)
    if language == "ruby":
        return _mentions_constant(user, used)
    return language in _BY_NAME and _mentions_type(user, used)


def _mentions_in_scope(user: Source, used: Definitions) -> bool:
    mark = "\\" if used.source.language == "php" else "."
    scope = used.source.scope
    if not scope:
        return False
    own = user.scope == scope or (user.language == "csharp" and user.scope.startswith(f"{scope}."))
    visible = own or (user.language != "php" and scope in user.specs)
    for symbol in used.symbols:
        name = symbol.name
        if symbol.parent is not None or symbol.kind in ("namespace", "package"):
            continue
        if not used.has_no_rival_in(name, _folder(used.source.path)):
            continue
        whole = f"{scope}{mark}{name}"
        if any(spec == whole or spec.startswith(whole + mark) for spec in user.specs):
            return True
        if not used.is_sole(name) or any(spec.endswith(mark + name) for spec in user.specs):
            continue
        bare = rb"(?<![\w.$\\@])%s(?!\w)" % name.encode()
        if symbol.kind not in _TYPES:
            bare += rb"\s?\("
        is_clear = symbol.kind in _TYPES or is_distinctive(name)
        if visible and is_clear and re.search(bare, user.code):
            return True
        if re.search(rb"(?<![\w.\\])\\?%s(?!\w)" % re.escape(whole.encode()), user.code):
            return True
    return False


def _mentions_in_directory(user: Source, used: Definitions) -> bool:
    """Go: a name of the same package, or one behind the name of an imported package."""
    folder = _folder(used.source.path)
    names = {
        symbol.name: symbol.kind
        for symbol in used.symbols
        if symbol.parent is None and used.has_no_rival_in(symbol.name, folder)
    }
    if _folder(user.path) == folder:
        if user.scope != used.source.scope:
            return False
        clear = (one for one in names if is_distinctive(one) and used.is_sole(one))
        return any(re.search(_go_use(name), user.code) for name in clear)
    for alias in _go_aliases(user, used):
        found = re.findall(rb"(?<![\w.])%s\.(\w+)" % alias.encode(), user.code)
        if not names.keys().isdisjoint(one.decode("utf-8", "replace") for one in found):
            return True
    return False


def _go_use(name: str) -> bytes:
    """A call, a pointer, a literal or a list; not a field, a method or a local variable."""
    word = name.encode()
    start = rb"(?<![\w.])" if name[0].islower() else rb"(?<![\w.\n\t])"  # a method of an interface
    call = start + rb"(?<!func )(?<!\) )%s\(" % word
    return call + rb"|(?<=[*\]&])%s(?![\w.])|(?<![\w.])%s\{" % (word, word)


def _go_aliases(user: Source, used: Definitions) -> set[str]:
    """The names under which the user imports the package of the other file."""
    found = {
        alias.decode("utf-8", "replace") or used.source.scope
        for alias, path in re.findall(_GO_IMPORT, user.text)
        if path == used.package.encode()
    }
    return found - {"_", "."}


def _calls_function(user: Source, used: Definitions) -> bool:
    """C: a call of a function that only this file has, wherever it is declared.

    A name of one word, such as `getpagesize`, may be that of a function of the system.
    """
    if user.path.endswith(_HEADERS) or used.source.path.endswith(_HEADERS):
        return False
    for symbol in used.symbols:
        if symbol.kind != "function" or symbol.parent or symbol.signature.startswith("static "):
            continue
        if is_distinctive(symbol.name) and used.is_sole(symbol.name):
            word = symbol.name.encode()  # looking for the bare word first is much quicker
            if word in user.code and re.search(rb"(?<![\w.>:])%s\s?\(" % word, user.code):
                return True
    return False


def _mentions_constant(user: Source, used: Definitions) -> bool:
    """Ruby: `Sea::Tide`, or `Tide` inside of `module Sea`."""
    for symbol in used.symbols:
        name, outer = symbol.name.rpartition("::")[2], symbol.parent
        word = name.encode()
        if symbol.kind not in _TYPES or word not in user.code or not used.is_sole(name):
            continue
        if outer is None:
            if is_distinctive(name) and re.search(rb"(?<![\w:])(?:::)?%s\b" % word, user.code):
                return True
            continue
        around = outer.rpartition("::")[2].encode()
        if re.search(rb"\b%s::%s\b" % (around, word), user.code):
            return True
        inside = re.search(rb"\b(?:module|class) (?:\w+::)*%s\b" % around, user.code)
        if inside and re.search(rb"(?<![\w:])%s\b" % word, user.code):
            return True
    return False


def _mentions_type(user: Source, used: Definitions) -> bool:
    for symbol in used.symbols:
        is_whole = "." in symbol.name  # `defmodule Sea.Gauge`
        if symbol.kind not in _TYPES or not (is_whole or used.is_sole(symbol.name)):
            continue
        mention = rb"(?<![\w.])%s(?!\w)" % re.escape(symbol.name.encode())
        if (
            is_distinctive(symbol.name)
            and symbol.name.encode() in user.code
            and re.search(mention, user.code)
        ):
            return True
    return False


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
