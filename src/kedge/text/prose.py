"""Prose in sentences of words. Code blocks, quoted lines and logs are not the writer's prose."""

from __future__ import annotations

import re

from kedge.host.record import NamedTuple
from kedge.text.fences import FenceReader

MOST_WORDS = 3_000  # of one text
MOST_IN_SENTENCE = 100

_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\(?\d{1,3}[.)]|[a-z][.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_LOG = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|\S+:\d+:\d+[: ]|\S{1,200}:\d+:|at \S+ ?\(|"
    r"(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|FAIL|PASS|error|fatal|remote|warning)\b[ \[:(]|"
    r"---? |\+\+\+ |@@ |[$❯>│⎿⏺|] ?|[{}<]|//|===)"
)
_BOLD = re.compile(r"(?<![\w/*.])\*\*(?=\S)|(?<=[\w.!:,)`])\*\*(?![\w/.*])|(?<!\w)__(?=[A-Z])")
_EMPHASIS = re.compile(r"(?<![\w/*.])\*([A-Za-z][^*\n]{0,80})\*(?![\w/.*])")
_WORD = re.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|[\"“](?P<quote>[^\"“”\n]{1,400})[\"”]"
    r"|(?P<mark>[,;:!?()…]|[—–]|-{1,3}(?=\s|\Z)|=(?=\s)|\.(?=\s|\Z))"
    r"|(?P<word>[^\s,;!?()\"“”`—–…:]+(?::(?=[\w/])[^\s,;!?()\"“”`—–…:]+)*)"
)
_ABBREVIATIONS = frozenset(("e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "incl.", "eg.", "ie."))
_ENDS = frozenset(".!?")


class Word(NamedTuple):
    """`low` is what it is compared by; `kind` is word, code, quote or mark."""

    text: str
    low: str
    start: int
    end: int
    kind: str


class Sentence(NamedTuple):
    """`start` and `end` in the text; `label` is the introduction of the list it is an item of."""

    words: tuple[Word, ...]
    start: int
    end: int
    asks: bool  # ends in a question mark
    label: tuple[Word, ...] = ()


def sentences(text: str) -> list[Sentence]:
    """All sentences of the text, in order."""
    found: list[Sentence] = []
    count = 0
    label: tuple[Word, ...] = ()
    for start, end, item, heading in _blocks(text):
        for words in _split(text, start, end):
            last = words[-1]
            intro = label if item else ()
            label = label if item or heading else ()
            if (last.low == ":" or heading) and len(words) <= 16:
                colon = () if last.low == ":" else (Word(":", ":", last.end, last.end, "mark"),)
                label = (*words, *colon)
            if heading:
                continue
            found.append(Sentence(tuple(words), words[0].start, last.end, last.low == "?", intro))
            count += len(words)
            if count > MOST_WORDS:
                return found
    return found


def _blocks(text: str) -> list[tuple[int, int, bool, bool]]:
    """Paragraphs, list items and headings as spans; the last two say which are what."""
    found: list[tuple[int, int, bool, bool]] = []
    fences = FenceReader()
    place = 0
    joined = False  # whether the next line may go on with the last block
    for line in text.split("\n"):
        start, place = place, place + len(line) + 1
        if fences.read(line):
            joined = False
            continue
        if not line.strip() or (_LOG.match(line) and not _ITEM.match(line)):
            joined = False
            continue
        item = _ITEM.match(line)
        heading = _HEADING.match(line)
        lead = item or heading
        first = line.lstrip()[0]
        if lead is None and joined and (first.islower() or first == "`"):
            found[-1] = (found[-1][0], start + len(line), found[-1][2], False)
        else:
            begin = start + (lead.end() if lead else 0)
            found.append((begin, start + len(line), bool(item), bool(heading)))
        joined = heading is None and len(line) > 55
    return found


def _split(text: str, start: int, end: int) -> list[list[Word]]:
    """The sentences of one block. Marks of emphasis are blanked, so that places stay."""
    block = text[start:end]
    if "**" in block or "__" in block:
        block = _BOLD.sub("  ", block)
    if "*" in block:
        block = _EMPHASIS.sub(r" \1 ", block)
    found: list[list[Word]] = [[]]
    for match in _WORD.finditer(block):
        kind = match.lastgroup or "word"
        here = match[kind]
        at, to = start + match.start(), start + match.end()
        stop = False
        if kind == "word":
            here = here.lstrip("'‘[").rstrip("'’]")
            if here.lower() not in _ABBREVIATIONS:
                bare = here.rstrip(".")
                if bare != here and bare:
                    to -= len(here) - len(bare)
                    here, stop = bare, True
            if not here:
                continue
        elif kind == "quote" and " " not in here and ("/" in here or "." in here):
            kind = "code"
        low = here.lower().replace("’", "'")
        if not low.isascii():
            low = low.replace("´", "'")
        found[-1].append(Word(here, low, at, to, kind))
        if stop or low in _ENDS or len(found[-1]) >= MOST_IN_SENTENCE:
            found.append([])
    return [words for words in found if words]
