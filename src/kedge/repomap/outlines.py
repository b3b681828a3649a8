"""Definitions found by regular expressions: in languages without a grammar here, and in what a
grammar could not place.

A rule is a kind and the beginning of a line, with the group `name` where the name is. Comments are
blanked first, so lines stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from kedge.repomap.languages import BY_NAME, Language
from kedge.repomap.outline_rules import RULES
from kedge.repomap.signatures import cut
from kedge.repomap.symbols import Extract, Symbol, extract

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
_MATTER = re.compile(r"---[ \t]*\n(?:.{0,500}\n){0,200}?---[ \t]*\n")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_SCRIPT = re.compile(rb"<script(\s[^>]{0,300})?>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_TYPED = re.compile(rb"""\blang\s*=\s*["']?(tsx?)\b""")
_LONG = re.compile(r"[^\n]{4000,}")  # made by a program, and slow to search
_SPACES = re.compile(r"[^\n]")


def outline(language: Language, source: bytes, path: str) -> Extract:
    if not language.outline:
        return Extract(())
    if language.name in ("vue", "svelte"):
        return _component(source, path)
    text = source.decode(errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    text = _LONG.sub("", text)
    found = _headings(text) if language.name == "markdown" else _listed(language, text)
    return Extract(tuple(found))


def lost(language: Language, source: bytes, known: set[str]) -> Iterator[Symbol]:
    """What a broken file seems to define besides what is known: its types, and functions where the
    grammar often fails."""
    text = source.decode(errors="replace")
    found = _listed(language, text) if language.name == "shell" else _types(language.name, text)
    for symbol in found:
        if symbol.name not in known:
            known.add(symbol.name)
            yield symbol._replace(parent=None)


def _types(language: str, text: str) -> Iterator[Symbol]:
    place, line = 0, 1
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
        line += text.count("\n", place, begin)
        place = begin
        yield Symbol(name, kind, line, cut(_BODY.sub("", before + match[0])), None)


def _listed(language: Language, text: str) -> Iterator[Symbol]:
    blanked = _blanked(text, language)
    return _by_rules(_compiled(language.name), text, blanked, flat=language.name in _FLAT)


def _by_rules(
    rules: Iterable[tuple[str, re.Pattern[str]]], text: str, blanked: str, *, flat: bool
) -> Iterator[Symbol]:
    found = [(kind, match) for kind, pattern in rules for match in pattern.finditer(blanked)]
    found.sort(key=lambda one: one[1].start("name"))  # at one place, the first rule first
    holders: list[tuple[int, str, bool]] = []  # indentation, name, whether it is a type
    place, line, last = 0, 1, -1
    for kind, match in found:
        start = match.start("name")
        line += text.count("\n", place, start)
        place = start
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
        told = "method" if kind == "function" and in_type else kind
        yield Symbol(name, told, line, cut(_BODY.sub("", shown)), parent)
        if holds:
            holders.append((indent, name, kind in _TYPES))


@cache
def _compiled(name: str) -> list[tuple[str, re.Pattern[str]]]:
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


def _blanked(text: str, language: Language) -> str:
    return _comments(language).sub(lambda m: m[1] or _SPACES.sub(" ", m[0]), text)


def _headings(text: str) -> Iterator[Symbol]:
    fence = ""
    before = ""
    matter = _MATTER.match(text)
    first = text.count("\n", 0, matter.end()) if matter else 0
    for number, line in enumerate(text.split("\n")[first:], first + 1):
        if match := _FENCE.match(line):
            if not fence:
                fence = match[1]
            elif match[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif fence:
            continue
        elif (match := _HEADING.match(line)) and match[2]:
            yield Symbol(match[2], "heading", number, cut(f"{match[1]} {match[2]}"), None)
        elif before and (match := _UNDERLINE.match(line)):
            level = "#" if match[1][0] == "=" else "##"
            yield Symbol(before, "heading", number - 1, cut(f"{level} {before}"), None)
        text_line = line.strip()
        before = text_line if text_line and text_line[0] not in "#>|-*+`~=" else ""


def _component(source: bytes, path: str) -> Extract:
    """A component is named after its file; what its scripts define belongs to it."""
    name = path.rpartition("/")[2].partition(".")[0]
    symbols = [Symbol(name, "component", 1, f"component {name}", None)]
    for script in _SCRIPT.finditer(source):
        typed = _TYPED.search(script[1] or b"")
        language = {b"ts": "typescript", b"tsx": "tsx"}[typed[1]] if typed else "javascript"
        found = extract(BY_NAME[language], script[2], path)
        if found.failed is not None:
            return Extract(tuple(symbols), found.failed)
        first = source.count(b"\n", 0, script.start(2))
        symbols += (symbol._replace(line=symbol.line + first) for symbol in found.symbols)
    return Extract(tuple(symbols))
