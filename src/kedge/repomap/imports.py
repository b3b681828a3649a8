"""Import keys: the last two parts of a path that a file imports, or can be imported by.

A file that imports a key depends on the files that have it. This needs no knowledge of how each
language resolves modules; a key that many files have is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_QUOTED = rb"""[ \t(]*["']([^"'\n]{1,200})["']"""
_PYTHON_LINE = (
    rb"\n[ \t]*(?:from[ \t]+([.\w]+)[ \t]+)?import[ \t]+"
    rb"(\([^()#]*+(?:#[^\n]*+[^()#]*+)*\)|[\w., \t*]+)"
)
_LONGEST_FROM = 300  # bytes between `from` and `import`
_GO_LINES = rb"([^\n]*+(?:\r?\n[ \t][^\n]*+|\r?\n(?=\r?\n))*)"
_GO_PATH = rb'"([^"\n]+)"'
_RUST_LINE = (
    rb"\n([ \t]*+)(?=[pum])(?:pub[^\n ]*+ )?(use|mod) ([\w:]++(?:\{[^;]{0,2000}+)?)"
    rb"(?:\*|[ \t]as[ \t]\w+)?;"
)
_PATH = rb"[ \t]*(?:static[ \t]+|function[ \t]+|const[ \t]+)?([\w.:\\]+(?:\{[^;{}]{0,2000}\})?)"
_PIECE = rb"(?:as|=>)[ \t]+\w+|[\w.:\\]+|[{},]"
_INCLUDE = rb"[ \t]*[<\"]([^>\"\n]{1,200})"
# `"$(dirname "$0")/lib/tide.sh"`: variables and commands are skipped.
_SOURCE = (
    rb"\n[ \t]*+(?:source|\.)[ \t]++[\"']?(?:[^\n;&|]{0,200}(?:[)}]|\$\w{1,80})[\"']*/)?([\w./+-]+)"
)
_SCRIPT = ((b"from", b"import", b"require"), _QUOTED)
# By language: the words before an import, and the pattern of what follows them.
_SIMPLE = {
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte", "astro"), _SCRIPT),
    **dict.fromkeys(("c", "cpp", "objc"), ((b"#include", b"# include", b"#import"), _INCLUDE)),
    "lua": ((b"require",), _QUOTED),
    "go": ((b"\nimport",), _GO_LINES),
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), ((b"\nimport ",), _PATH)),
    "php": ((b"\nuse ",), _PATH),
}
_COMMENT = rb"#[^\n]*"

_ROOTS = frozenset({"src", "lib", "include", "main", "app", "crates", "packages"})
_PYTHON = frozenset({"py", "pyi", "pyw", "pyx"})
_SCRIPTS = frozenset("js jsx mjs cjs es6 ts tsx mts cts vue svelte astro".split())  # noqa: SIM905
_HEADERS = frozenset("h hh hpp hxx h++ inl ipp tpp cuh".split())  # noqa: SIM905
_C = _HEADERS | frozenset("c cc cpp cxx c++ cppm ixx cu ino m mm".split())  # noqa: SIM905
_DOTTED = frozenset("java kt kts scala sc groovy lua".split())  # noqa: SIM905
_SHELLS = frozenset({"sh", "bash", "zsh", "ksh", "bats", ""})
_NAMED = _SCRIPTS | _SHELLS | {"json", "rb"}  # suffixes that an import may have or lack
# Files that are imported by the name of their directory.
_WHOLE = {
    **dict.fromkeys(_PYTHON, ("__init__",)),
    **dict.fromkeys(_SCRIPTS, ("index",)),
    "rs": ("mod", "lib", "main"),
    "lua": ("init",),
}
_RUST_ROOTS = ("tests", "examples", "benches", "bin")  # where each file is a crate


def find_imports(language: str, text: bytes) -> list[str]:
    """The imports of a file as it spells them. `text` begins with a line break."""
    if language in _SIMPLE:
        words, shape = _SIMPLE[language]
        found: Iterable[bytes] = (name for word in words for name in _after(text, word, shape))
        if shape is _PATH:
            found = (path for group in found for path in _expand_braces(group))
        elif shape is _GO_LINES:
            found = (path for lines in found for path in re.findall(_GO_PATH, lines))
    elif language == "python":
        found = _python(text)
    elif language == "rust":
        found = _rust(text)
    elif language == "ruby":
        near = (b"./" + name for name in _after(text, b"require_relative", _QUOTED))
        found = [*near, *_after(text, b"require", _QUOTED)]
    elif language == "shell":
        found = re.findall(_SOURCE, text)
    else:
        return []
    return list(dict.fromkeys(name.decode("utf-8", "replace") for name in found))


def _after(text: bytes, word: bytes, shape: bytes) -> Iterator[bytes]:
    size, place = len(word), text.find(word)
    match = re.compile(shape).match
    while place >= 0:
        if found := match(text, place + size):
            yield found[1]
        place = text.find(word, place + size)


def _expand_braces(path: bytes) -> Iterator[bytes]:
    """Expand `a::{b, c::{d, e}}` to `a::b`, `a::c::d` and `a::c::e`."""
    if b"{" not in path:
        yield path
        return
    heads, now = [b""], b""
    for piece in re.findall(_PIECE, path):
        if piece == b"{":
            heads.append(now)
        elif piece in b",}":
            if now != heads[-1]:
                yield now
            if piece == b"}" and len(heads) > 1:
                heads.pop()
            now = heads[-1]
        elif not piece.startswith((b"as ", b"as\t", b"=>")):
            now = heads[-1] + piece


def _python(text: bytes) -> Iterator[bytes]:
    match = re.compile(_PYTHON_LINE).match
    place = text.find(b"import ")
    while place >= 0:
        after = place + 7
        start = text.rfind(b"\n", max(0, place - _LONGEST_FROM), place)
        if start >= 0 and (found := match(text, start)):
            after = found.end()
            base, names = found.groups(b"")
            if base:
                yield base
                base += b"." if base[-1:] != b"." else b""
            if b"#" in names:
                names = re.sub(_COMMENT, b"", names)
            for name in names.strip(b"()").split(b","):
                if word := name.split():
                    yield base + word[0]
        place = text.find(b"import ", max(after, place + 7))


def _rust(text: bytes) -> Iterator[bytes]:
    for indent, verb, path in re.findall(_RUST_LINE, text):
        if not (indent and path.startswith(b"super")):  # in a module within the file
            for name in _expand_braces(path):
                yield verb + b"::" + name


def find_own_keys(path: str) -> list[str]:
    """The keys by which other files can import this one."""
    here, stem, suffix = _split_path(path)
    if suffix in _HEADERS:
        keys = [_key([*here, f"{stem}.{suffix}"]), _key([f"{stem}.{suffix}"])]
    elif suffix == "go":
        keys = [_key(here)] if here and here[-1] == stem else []
    elif stem in _WHOLE.get(suffix, ()):
        keys = [_key(here)] if here else []
        if own := [part for part in here if part not in _ROOTS]:
            keys.append(_key(own))
    else:
        keys = [_key([*here, stem.removesuffix(".d") if suffix == "ts" else stem])]
    if suffix == "rs":
        keys = [key.replace("-", "_") for key in keys]
    return list(dict.fromkeys(keys))


def find_import_keys(path: str, names: Iterable[str]) -> list[str]:
    """The keys of what this file imports."""
    here, stem, suffix = _split_path(path)
    found: dict[str, None] = {}
    for name in names:
        for parts in _parts(name, here, stem, suffix):
            if parts:
                found[_key(parts)] = None
    return list(found)


def _split_path(path: str) -> tuple[list[str], str, str]:
    *here, file = path.split("/")
    stem, dot, suffix = file.rpartition(".")
    return (here, stem, suffix) if dot else (here, file, "")


def _parts(name: str, here: list[str], stem: str, suffix: str) -> Iterator[list[str]]:
    if suffix in _PYTHON:
        rest = [part for part in name.split(".") if part]
        up = len(name) - len(name.lstrip("."))
        yield here[: max(0, len(here) - up + 1)] + rest if up else rest
    elif suffix == "rs":
        yield from _crates(name, here, stem)
    elif suffix in _DOTTED:
        rest = name.replace("/", ".").strip("._").rsplit(".", 3)
        yield rest[:-1] if suffix != "lua" and rest[-1][:1].islower() else rest  # of a member
    elif suffix == "php":
        rest = [part for part in name.split("\\") if part]
        yield rest[1:] if rest[:1] == ["App"] else rest
    elif suffix in _C:
        yield [part for part in name.split("/") if part not in ("", ".", "..")]
    elif suffix == "go":
        parts = name.split("/")
        if len(parts) > 1:
            yield parts
        if "." in parts[0]:
            yield parts[2:][-1:]  # a directory at the root of the module
    else:
        yield from _paths(name, here, suffix)


def _crates(name: str, here: list[str], stem: str) -> Iterator[list[str]]:
    """The paths of a Rust import. Directories have dashes where crates have underscores."""
    verb, *rest = [part for part in name.replace("-", "_").split("::") if part]
    here = [part.replace("-", "_") for part in here]
    whole = stem in _WHOLE["rs"] or (here and here[-1] in _RUST_ROOTS)
    own = here if whole else [*here, stem]
    if verb == "mod":
        yield own + rest
        return
    if rest[:1] == ["crate"]:
        rest = here[: len(here) - here[::-1].index("src")] + rest[1:] if "src" in here else rest[1:]
    elif rest[:1] == ["self"]:
        rest = own + rest[1:]
    elif rest[:1] == ["super"]:
        while rest[:1] == ["super"]:
            own, rest = own[:-1], rest[1:]
        rest = own + rest
    yield rest
    yield rest[:-1]


def _paths(name: str, here: list[str], suffix: str) -> Iterator[list[str]]:
    """The path of a script's import: relative to its directory, or at least two parts long."""
    parts = name.split("/")
    if parts[0] in (".", ".."):
        ways = [here + parts]
    elif suffix in _SHELLS:
        ways = [here + parts, parts]
    elif parts[0][:1] == "@":  # a scope of packages, or short for a directory
        ways = [parts[1:], [parts[0][1:], *parts[1:]]]
    else:
        ways = [parts] if len(parts) > 1 or suffix == "rb" else []
    for way in ways:
        whole: list[str] = []
        for part in way:
            if part == "..":
                del whole[-1:]
            elif part not in ("", ".", "~"):
                whole.append(part)
        if whole:
            stem, _, end = whole[-1].rpartition(".")
            whole[-1] = stem if stem and end in _NAMED else whole[-1]
            yield whole[:-1] if whole[-1] == "index" and suffix in _SCRIPTS else whole


def _key(parts: list[str]) -> str:
    """The last two parts, without directories that every repository has (src, lib)."""
    last = [part for part in parts[:-1] if part not in _ROOTS][-1:]
    key = f"{last[0] if last else ''}/{parts[-1]}"
    return key if key.isascii() else key.encode("ascii", "backslashreplace").decode()
