"""Imports as keys: the last two parts of what a file imports, and of what it can be imported as.

Two files are joined where a key of the one is a key of the other. That needs no knowledge of
how each language looks for its modules, and a key that many files answer to is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_QUOTED = re.compile(rb"""[ \t(]*["']([^"'\n]{1,200})["']""")
_FROM = re.compile(rb"[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]{0,4000}\)|[^\n;]+)")
_PLAIN = re.compile(rb"[ \t]*import[ \t]+([\w., \t]+)")
_GO = re.compile(rb"[ \t]*(\([^)]{0,20000}\)|[^\n]*)")
_GO_PATH = re.compile(rb'"([^"\n]+)"')
_PATH = re.compile(rb"[ \t]*(?:static[ \t]+|function[ \t]+|const[ \t]+)?([\w.:\\]+)")
_INCLUDE = re.compile(rb"[ \t]*[<\"]([^>\"\n]+)")
_FILE = re.compile(rb"[ \t]*[\"']?([^\s;&|\"']+)")
_SCRIPT = ((b"from", b"import", b"require"), _QUOTED)
# By language: the words that come before, and what is then taken.
_SIMPLE = {
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte", "astro"), _SCRIPT),
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), ((b"\nimport ",), _PATH)),
    **dict.fromkeys(("c", "cpp", "objc"), ((b"#include", b"# include", b"#import"), _INCLUDE)),
    **dict.fromkeys(("ruby", "lua"), ((b"require_relative", b"require"), _QUOTED)),
    "php": ((b"\nuse ",), _PATH),
    "shell": ((b"\nsource ", b"\n. "), _FILE),
}
_ROOTS = frozenset({"src", "lib", "include", "main", "app", "crates", "packages"})
_WHOLE = frozenset({"__init__", "index", "mod", "lib", "main"})  # a file that is its directory
_COMMENT = re.compile(rb"#[^\n]*")


def imports(language: str, text: bytes) -> list[str]:
    """What the file imports, as it says; `text` begins with a line break."""
    if language in _SIMPLE:
        words, shape = _SIMPLE[language]
        found: Iterable[bytes] = (m[1] for word in words for m in _after(text, word, shape))
    elif language == "python":
        found = _python(text)
    elif language == "go":
        blocks = _after(text, b"\nimport", _GO)
        found = (path for block in blocks for path in _GO_PATH.findall(block[1]))
    elif language == "rust":
        verbs = (b"use", b"mod")
        found = (
            verb + b"::" + match[1] for verb in verbs for match in _after(text, verb + b" ", _PATH)
        )
    else:
        return []
    return list(dict.fromkeys(name.decode("utf-8", "replace") for name in found))


def _after(text: bytes, word: bytes, shape: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    size, place = len(word), text.find(word)
    while place >= 0:
        if found := shape.match(text, place + size):
            yield found
        place = text.find(word, place + size)


def _python(text: bytes) -> Iterator[bytes]:
    place = text.find(b"import ")
    while place >= 0:
        start = text.rfind(b"\n", 0, place) + 1
        if found := _FROM.match(text, start):
            base, names = found.groups()
            yield base
            for name in _COMMENT.sub(b"", names).strip(b"()").split(b","):
                if word := name.split()[:1]:
                    yield base + (b"" if base.endswith(b".") else b".") + word[0]
        elif found := _PLAIN.match(text, start):
            for name in found[1].split(b","):
                yield from name.split()[:1]
        place = text.find(b"import ", place + 7)


def answers_to(path: str) -> list[str]:
    """The keys under which others can import this file."""
    parts = path.split("/")
    stem, dot, suffix = parts.pop().rpartition(".")
    parts = [part for part in parts if part not in _ROOTS]
    if suffix in ("h", "hpp", "hh", "hxx"):
        return [_key([*parts, stem + dot + suffix]), f"/{stem}{dot}{suffix}"]
    if suffix == "go":
        return [_key(parts)] if parts and parts[-1] == stem else []
    return [_key([*parts, stem])] if stem not in _WHOLE else [_key(parts)] if parts else []


def asked_for(path: str, names: Iterable[str]) -> list[str]:
    """The keys that the imports of this file mean."""
    folder, _, file = path.rpartition("/")
    stem, _, suffix = file.rpartition(".")
    here = [part for part in folder.split("/") if part]
    found: dict[str, None] = {}
    for name in names:
        for parts in _parts(name, here, stem, suffix):
            if own := [part for part in parts if part not in _ROOTS]:
                found[_key(own)] = None
    return list(found)


def _parts(name: str, here: list[str], stem: str, suffix: str) -> Iterator[list[str]]:
    if suffix in ("py", "pyi", "pyx"):
        up = len(name) - len(name.lstrip("."))
        rest = [part for part in name.split(".") if part]
        yield here[: len(here) - up + 1] + rest if up else rest
    elif suffix == "rs":
        verb, *rest = [part for part in name.split("::") if part]
        if verb == "mod":
            yield [*here, *([] if stem in _WHOLE else [stem]), *rest]
            return
        if rest[:1] == ["crate"]:
            rest = rest[1:]
        elif rest[:1] == ["super"]:
            rest = here[: len(here) - (stem in _WHOLE)] + rest[1:]
        yield rest
        yield rest[:-1]
    elif suffix in ("java", "kt", "kts", "scala", "groovy", "lua"):
        yield re.split(r"[./]", name)
    elif suffix == "php":
        yield name.split("\\")
    elif suffix in ("h", "hpp", "hh", "hxx", "c", "cc", "cpp", "cxx", "m", "mm"):
        yield [part for part in name.split("/") if part not in (".", "..")]
    elif suffix == "go":
        yield name.split("/")
    else:
        yield from _relative(name, here)


def _relative(name: str, here: list[str]) -> Iterator[list[str]]:
    """As scripts import: from the file's own directory, or from a root with at least two parts."""
    parts = name.split("/")
    base = here if parts[0] in (".", "..") else []
    if not base and len(parts) < 2:
        return
    whole = list(base)
    for part in parts:
        if part == "..":
            whole = whole[:-1]
        elif part not in (".", "", "@", "~"):
            whole.append(part)
    if whole:
        last = whole.pop()
        stem, dot, suffix = last.rpartition(".")
        last = stem if dot and len(suffix) < 5 else last
        yield whole if last == "index" else [*whole, last]


def _key(parts: list[str]) -> str:
    return "/".join(parts[-2:]) if len(parts) > 1 else f"/{parts[0]}"
