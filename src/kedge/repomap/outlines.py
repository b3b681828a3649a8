"""Definitions found by regular expressions: in languages without a grammar, and in files with
syntax errors.

A rule is a kind and a pattern for the beginning of a line, with a group `name`. Comments are
blanked first, so that line numbers stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from kedge.repomap.languages import Language
from kedge.repomap.outline_rules import RULES
from kedge.repomap.signatures import shorten
from kedge.repomap.symbol import Extract, Symbol
from kedge.text import markdown

_TYPES = frozenset({"class", "interface", "struct", "trait"})
_FLAT = frozenset({"objc", "perl"})  # members are not indented
_BODY = re.compile(
    r"(?: \{[^{}]*\}?| do| as| where|\s*[{(,]|\s*->|\s+=>.*;)\s*$|[\s;:=]+$", re.IGNORECASE
)
_TYPE = re.compile(
    r"(class|interface|protocol|struct|enum|trait|object|fun)[ \t]+([A-Za-z_]\w*)([^\n]*)"
)
_KEYWORDS = {"c": {"struct", "enum"}, "cpp": {"class", "struct", "enum"}}
_KEYWORDS["kotlin"] = {"class", "interface", "object", "fun"}
_OTHERS = {"class", "interface", "protocol", "struct", "enum", "trait", "object"}
_MODIFIERS = re.compile(r"[ \t]*(?:[a-z@][\w()]*[ \t]+){0,4}")
_OPENS = (re.compile(r"[ \t]*[:{<(]?[^;=]*$"), re.compile(r"[ \t]*\("))
_LONG = re.compile(r"[^\n]{4000,}")  # generated, and slow to search
_SPACES = re.compile(r"[^\n]")


def outline(language: Language, source: bytes) -> Extract:
    if not language.outline:
        return Extract(())
    text = source.decode(errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    text = _LONG.sub("", text)
    found = _headings(text) if language.name == "markdown" else _apply_all_rules(language, text)
    return Extract(tuple(found))


def recover_symbols(language: Language, source: bytes, known: set[str]) -> Iterator[Symbol]:
    """Symbols of a file with syntax errors that are not in `known`: types, and shell functions."""
    text = source.decode(errors="replace")
    found = (
        _apply_all_rules(language, text)
        if language.name == "shell"
        else _types(language.name, text)
    )
    for symbol in found:
        if symbol.name not in known:
            known.add(symbol.name)
            yield replace(symbol, parent=None)


def _types(language: str, text: str) -> Iterator[Symbol]:
    for match in _TYPE.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        before, keyword, name, after = text[begin : match.start()], *match.groups()
        if (
            keyword not in _KEYWORDS.get(language, _OTHERS)
            or not _MODIFIERS.fullmatch(before)
            or not _OPENS[keyword == "fun"].match(after)
        ):
            continue
        kind = {"protocol": "interface", "fun": "function"}.get(keyword, keyword)
        line = text.count("\n", 0, begin) + 1
        yield Symbol(name, kind, line, shorten(_BODY.sub("", before + match[0])), None)


def _apply_all_rules(language: Language, text: str) -> Iterator[Symbol]:
    blanked = _blank_comments(text, language)
    return _apply_rules(_compile_rules(language.name), text, blanked, flat=language.name in _FLAT)


def _apply_rules(
    rules: Iterable[tuple[str, re.Pattern[str]]], text: str, blanked: str, *, flat: bool
) -> Iterator[Symbol]:
    found = [(kind, match) for kind, pattern in rules for match in pattern.finditer(blanked)]
    found.sort(key=lambda one: one[1].start("name"))  # stable: the first rule wins
    holders: list[tuple[int, str, bool]] = []  # indentation, name, whether it is a type
    last = -1
    for kind, match in found:
        start = match.start("name")
        line = text.count("\n", 0, start) + 1
        if line == last:
            continue
        last = line
        begin = text.rfind("\n", 0, start) + 1
        indent = len(match[0]) - len(match[0].lstrip()) if match.start() == begin else 0
        holds = kind in _TYPES or kind == "module"
        while holders and holders[-1][0] >= indent and (holds or not flat):
            holders.pop()
        if kind == "end":
            holders.clear()
            continue
        end = text.find("\n", start)
        shown = text[begin : end if end >= 0 else len(text)]
        name = ".".join(part for part in (match["name"], match.groupdict().get("tail")) if part)
        name = name.strip('"`[]')
        parent, in_type = holders[-1][1:] if holders else (None, False)
        symbol_kind = "method" if kind == "function" and in_type else kind
        yield Symbol(name, symbol_kind, line, shorten(_BODY.sub("", shown)), parent)
        if holds:
            holders.append((indent, name, kind in _TYPES))


@cache
def _compile_rules(name: str) -> list[tuple[str, re.Pattern[str]]]:
    return [
        (kind, re.compile(f"^{pattern}", re.MULTILINE | (re.IGNORECASE if name == "sql" else 0)))
        for kind, pattern in RULES[name]
    ]


@cache
def _comments(language: Language) -> re.Pattern[str]:
    parts = [r'"""[\s\S]*?"""']
    if language.block_comment is not None:
        start, end = map(re.escape, language.block_comment)
        parts.append(rf"{start}[\s\S]*?(?:{end}|\Z)")
    if language.line_comment:
        parts.append(rf"(?<![:\\$]){re.escape(language.line_comment)}[^\n]*")
    return re.compile("|".join((*parts, r'("(?:[^"\\\n]|\\.)*")')))


def _blank_comments(text: str, language: Language) -> str:
    return _comments(language).sub(lambda m: m[1] or _SPACES.sub(" ", m[0]), text)


def _headings(text: str) -> Iterator[Symbol]:
    for heading in markdown.read(text).headings:
        if heading.text:
            signature = shorten(f"{'#' * heading.level} {heading.text}")
            yield Symbol(heading.text, "heading", heading.line, signature, None)
