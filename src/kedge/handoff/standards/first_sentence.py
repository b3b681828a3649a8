"""The first sentence of Markdown text, without its markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

_MAX_LINES = 400
_MAX_LENGTH = 2000  # characters of a paragraph
_LINKS = (
    (re.compile(r"!\[[^\]]{0,300}\]\([^)]{0,600}\)"), " "),
    (re.compile(r"\[([^\]]{1,300})\](?:\([^)]{0,600}\)|\[[^\]]{0,100}\])"), r"\1"),
)
_CODE = re.compile(r"`{1,3}([^`]{1,400})`{1,3}")
_MARKUP = (
    (re.compile(r"</?[A-Za-z][^<>]{0,300}>|~~|`+"), ""),
    (re.compile(r"(?<!\\)(?:\*{2,}|(?<!\w)\*(?=\w)|(?<=[\w.!?)])\*(?!\w))"), ""),
    (re.compile(r"(?<![\w\\])_{1,3}(?=\w)|(?<=[\w.!?)])_{1,3}(?!\w)"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
_QUOTE = re.compile(r"[ \t]*>[ \t]?(?:\[![A-Za-z]{1,20}\])?")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_NO_TEXT = re.compile(r"[ \t]*(?:\||\[[^\]]{1,100}\]:|[=*_-]{3,}[ \t]*\Z)")
_STOP = re.compile(r"[.!?][\"'”’)\]]{0,3}(?=\s|\Z)|[。！？]")
_ABBREVIATION = re.compile(r"(?:\A|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|No|Nr|[A-Z])\.\Z")


def strip_markup(text: str) -> str:
    """Return a line of Markdown as it reads when rendered."""
    for pattern, instead in _LINKS:
        text = pattern.sub(instead, text)
    parts = _CODE.split(text)
    for place in range(0, len(parts), 2):  # the others are code, which has no markup
        for pattern, instead in _MARKUP:
            parts[place] = pattern.sub(instead, parts[place])
    return " ".join("".join(parts).split())


def find_first_sentence(lines: Iterable[str | None]) -> str:
    """Return the first sentence of the lines, of which None is not prose; empty without one."""
    paragraph: list[str] = []
    for line in islice(lines, _MAX_LINES):
        text = line[:_MAX_LENGTH] if line else ""
        text = text[quote.end() :] if (quote := _QUOTE.match(text)) else text
        item = _ITEM.match(text)
        words = "" if _NO_TEXT.match(text) else strip_markup(text[item.end() :] if item else text)
        if paragraph and (item or not words):
            break
        if words:
            paragraph.append(words)
        if sum(map(len, paragraph)) > _MAX_LENGTH:
            break
    prose = " ".join(paragraph)
    for stop in _STOP.finditer(prose):
        if not _ABBREVIATION.search(prose, max(stop.end() - 12, 0), stop.end()):
            return prose[: stop.end()]
    return prose
