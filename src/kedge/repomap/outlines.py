"""Definitions found by regular expressions: in languages without a grammar, and in files with
syntax errors.

A rule is a kind and a pattern for the beginning of a line, with a group `name`. Comments are
blanked first, so that line numbers stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile

from kedge.repomap.languages import Language
from kedge.repomap.outline_rules import RULES
from kedge.repomap.signatures import shorten, tidy
from kedge.repomap.symbol import Extract, Symbol
from kedge.text import markdown

_TYPES = frozenset({"class", "interface", "struct", "trait"})
_LOCAL = frozenset({"constant", "function", "macro", "method", "opaque"})  # hold only locals
_FLAT = frozenset({"objc", "perl"})  # members are not indented
_ONCE = frozenset({"elm"})  # a definition may follow its type
_CASELESS = frozenset({"commonlisp", "sql"})
_BODY = re.compile(
    r"(?:(?<!->)(?<! :)(?: =)? \{[^{}]*\}?| do| as| where|\s*[{(,]|\s*[=-]>|"
    r"\s*[:=]\s*(?:struct|sig|function|object(?: \(\w+\))?))\s*$|[\s;:=]+$",
    re.IGNORECASE,
)
_ARROW = re.compile(r"\s+=>.*;\s*$")  # a body of one expression
_UNFINISHED = ("(", "[", ",", "...")  # ends of a head's first line
_TYPED_BELOW = frozenset({"elm", "haskell", "ocaml"})  # `name :` and the type on the next lines
_HEAD, _LINES = 800, 12  # characters and lines that a head goes on for
_TYPE = re.compile(
    r"(class|interface|protocol|struct|enum|trait|object|fun)[ \t]+([A-Za-z_]\w*)([^\n]*)"
)
_KEYWORDS = {"c": {"struct", "enum"}, "cpp": {"class", "struct", "enum"}}
_KEYWORDS["kotlin"] = {"class", "interface", "object", "fun"}
_OTHERS = {"class", "interface", "protocol", "struct", "enum", "trait", "object"}
_MODIFIERS = re.compile(r"[ \t]*(?:[a-z@][\w()]*[ \t]+){0,4}")
_OPENS = (re.compile(r"[ \t]*[:{<(]?[^;=]*$"), re.compile(r"[ \t]*\("))
_LONG = re.compile(r"^[^\n]{4000,}", re.MULTILINE)  # generated, and slow to search
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
        yield Symbol(name, kind, line, shorten(_BODY.sub("", before + match[0])), None, line)


def _apply_all_rules(language: Language, text: str) -> Iterator[Symbol]:
    blanked = _blank_comments(text, language)
    found = _find_ends(list(_apply_rules(language.name, blanked)), text)
    if language.name not in _ONCE:
        return iter(found)
    once: dict[str, Symbol] = {}
    for symbol in found:
        once.setdefault(symbol.name, symbol)
    return iter(once.values())


def _find_ends(symbols: list[Symbol], text: str) -> list[Symbol]:
    """Let each definition end before the next one that is not inside it."""
    last = text.rstrip().count("\n") + 1
    ends = [last] * len(symbols)
    around: list[int] = []
    for place, symbol in enumerate(symbols):
        while around and symbols[around[-1]].name != symbol.parent:
            ends[around.pop()] = symbol.line - 1
        around.append(place)
    return [replace(one, end=max(end, one.line)) for one, end in zip(symbols, ends, strict=True)]


@dataclass(slots=True)
class _Holder:
    """A definition that may enclose the next ones."""

    indent: int
    name: str
    kind: str
    read: int  # its body goes on at least to here


def _apply_rules(language: str, text: str) -> Iterator[Symbol]:
    rules, flat = _compile_rules(language), language in _FLAT
    found = [(kind, match) for kind, pattern in rules for match in pattern.finditer(text)]
    found.sort(key=lambda one: one[1].start("name"))  # stable: the first rule wins
    holders: list[_Holder] = []
    line, place, last, before = 1, 0, 0, ""
    for rule, match in found:
        kind = before if rule == "same" else rule
        start = match.start("name")
        line, place = line + text.count("\n", place, start), start
        if line == last:
            continue
        last = line
        begin = text.rfind("\n", 0, start) + 1
        indent = len(match[0]) - len(match[0].lstrip()) if match.start() == begin else 0
        holds = kind in _TYPES or kind == "module"
        while holders and holders[-1].indent >= indent and (holds or not flat):
            holders.pop()
        if kind == "end":
            holders.clear()
            continue
        if holders and holders[-1].kind in _LOCAL:
            if _continues(holders[-1], text, begin):
                continue
            holders.pop()
        before = kind
        name = ".".join(part for part in (match["name"], match.groupdict().get("tail")) if part)
        name = name.strip('"`[]')
        if kind != "opaque":
            around = holders[-1] if holders else None
            in_type = kind == "function" and around is not None and around.kind in _TYPES
            head = _read_head(text, begin, language if kind in _LOCAL else "")
            signature = shorten(_BODY.sub("", _ARROW.sub("", head) if kind in _LOCAL else head))
            parent = around.name if around else None
            yield Symbol(name, "method" if in_type else kind, line, signature, parent, line)
        if holds or (kind in _LOCAL and not flat):
            holders.append(_Holder(indent, name, kind, start))


def _continues(holder: _Holder, text: str, place: int) -> bool:
    """True if no word or Lisp form before this place is indented as little as the holder."""
    less = re.compile(rf"\n[ \t]{{0,{holder.indent}}}[\w(]").search(text, holder.read, place)
    holder.read = place - 1
    return less is None


def _read_head(text: str, begin: int, language: str) -> str:
    """The line that begins here. If a language is given, also the next lines if the parameters or
    the type end there."""
    end = text.find("\n", begin)
    if end < 0:
        return text[begin:]
    head = text[begin:end].rstrip()
    if not language:
        return head
    below = text[end + 1 : end + _HEAD].split("\n", _LINES)[:_LINES]
    if language in _TYPED_BELOW and head.endswith(":"):
        deeper = head[: len(head) - len(head.lstrip())] + " "
        for line in takewhile(lambda line: line.startswith(deeper) and line.strip(), below):
            head = f"{head} {line.strip()}"
    elif head.endswith(_UNFINISHED):
        lines, depth = [head], _count_open(head)
        while depth > 0 and below:
            lines.append(below.pop(0).strip())
            depth += _count_open(lines[-1])
        head = tidy(" ".join(line.removesuffix("...").rstrip() for line in lines))
    return head


def _count_open(line: str) -> int:
    return line.count("(") + line.count("[") - line.count(")") - line.count("]")


@cache
def _compile_rules(name: str) -> list[tuple[str, re.Pattern[str]]]:
    return [
        (
            kind,
            re.compile(f"^{pattern}", re.MULTILINE | (re.IGNORECASE if name in _CASELESS else 0)),
        )
        for kind, pattern in RULES[name]
    ]


@cache
def _comments(language: Language) -> re.Pattern[str]:
    parts = [r'"""[\s\S]*?"""'] if language.name != "matlab" else []  # a doubled quote there
    markers = map(re.escape, language.block_comment)
    for start, end in zip(markers, markers, strict=True):
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
            yield Symbol(heading.text, "heading", heading.line, signature, None, heading.line)
