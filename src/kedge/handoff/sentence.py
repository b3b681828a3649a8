"""The first sentence of Markdown text, without its markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

_LINES = 400  # that are looked at
_LENGTH = 2000  # of a paragraph
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


def plain(text: str) -> str:
    """One line of Markdown as it reads when it is shown."""
    for pattern, instead in _LINKS:
        text = pattern.sub(instead, text)
    parts = _CODE.split(text)
    for place in range(0, len(parts), 2):  # the others are code, in which every sign is text
        for pattern, instead in _MARKUP:
            parts[place] = pattern.sub(instead, parts[place])
    return " ".join("".join(parts).split())


def first_sentence(lines: Iterable[str | None]) -> str:
    """The first sentence in the lines, None for one that is no text; empty where there is none."""
    paragraph: list[str] = []
    for line in islice(lines, _LINES):
        text = line[:_LENGTH] if line else ""
        text = text[quote.end() :] if (quote := _QUOTE.match(text)) else text
        item = _ITEM.match(text)
        shown = "" if _NO_TEXT.match(text) else plain(text[item.end() :] if item else text)
        if paragraph and (item or not shown):
            break
        if shown:
            paragraph.append(shown)
        if sum(map(len, paragraph)) > _LENGTH:
            break
    words = " ".join(paragraph)
    for stop in _STOP.finditer(words):
        if not _ABBREVIATION.search(words, max(stop.end() - 12, 0), stop.end()):
            return words[: stop.end()]
    return words
