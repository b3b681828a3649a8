"""The compressed form of an anchor: its facts and criteria, and of prose the first sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kedge.context.budget import TextPart
from kedge.host import tokens
from kedge.text.fences import FenceReader
from kedge.text.markdown import ITEM

_PROSE = frozenset(("prompt", "agent", "task", "epic"))  # sources that people write
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z\"'`(\[*])")
_FACT = re.compile(r"[A-Z][\w ]{0,30}: ")  # a line such as `Status: open`
_MARKS = re.compile(r"^(\s*)(?:#{1,6} +|- \[ \] +|[*+] +)")
_LEAST = 12  # tokens; a note costs more than less saves


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, an item of a list, or a line that keeps every word."""

    text: str
    is_verbatim: bool = False

    @property
    def first_sentence(self) -> str:
        return self.text if self.is_verbatim else _SENTENCE.split(self.text, maxsplit=1)[0]


def compress(part: TextPart) -> TextPart:
    """Return the part with less markup and, of each paragraph and item, the first sentence.

    Code, facts and criteria keep every word. A note says how much was left out.
    """
    blocks = list(_read_blocks(part.text, joins=part.source in _PROSE))
    whole = "\n".join(one.text for one in blocks)
    kept = "\n".join(one.text for one in _read_blocks(part.kept, joins=False))
    short = "\n".join(one.first_sentence for one in blocks)
    left = tokens.count(whole) - tokens.count(short)
    if part.source not in _PROSE or left < _LEAST:
        return replace(part, text=whole, kept=kept)
    more = f"; `{part.more}` prints all" if part.more else ""
    note = f"[… about {left:,} tokens of detail left out{more}]"
    why = "; ".join(one for one in (part.why, "only first sentences, by anchor.form") if one)
    text = f"{short}\n{note}"
    return replace(part, text=text, kept=kept, left_out=part.left_out + left, why=why)


def _read_blocks(text: str, *, joins: bool) -> Iterator[_Block]:
    """Yield the text without blank lines, emphasis and repeated spaces outside code.

    With `joins`, the lines of a paragraph or an item become one block.
    """
    fences, open_ = FenceReader(), ""
    for line in text.split("\n"):
        is_code = fences.read(line)
        is_fact = not is_code and (_FACT.match(line) is not None or line.startswith(("#", "[…")))
        starts = not line.strip() or is_code or is_fact or ITEM.match(line) is not None
        if open_ and (starts or not joins):
            yield _Block(open_)
            open_ = ""
        if is_code or (is_fact and line.strip()):
            yield _Block(line if is_code else _squeeze(line), is_verbatim=True)
        elif line.strip():
            open_ = f"{open_} {_squeeze(line).strip()}" if open_ else _squeeze(line)
    if open_:
        yield _Block(open_)


def _squeeze(line: str) -> str:
    bare = _MARKS.sub(r"\1- ", line.rstrip())
    return re.sub(r"(?<=\S)\s{2,}", " ", re.sub(r"\*\*|__", "", bare))
