"""Fit the parts of a text into a token budget: parts of greater weight keep more.

Every cut leaves a note with the number of tokens left out and the command that prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kedge.host import tokens
from kedge.host.text import clean
from kedge.text.fences import FenceReader

_SPARE = 0.03  # share of the budget kept free, because token counts are estimates
_LEAST = 24  # tokens; a shorter beginning of a text says nothing


@dataclass(frozen=True, slots=True)
class TextPart:
    """One part of a text. `text` may be cut at its end; `kept`, which follows it, never is.

    `left_out` counts the tokens that the source left out itself, and `why` says for what reason.
    `shorten` makes a shorter version of the text with at most this many tokens, which says itself
    what it leaves out; it returns None if there is none.
    """

    source: str
    title: str  # in Markdown, such as `### Git State`
    text: str = ""
    kept: str = ""
    more: str = ""  # the command that prints the whole part
    shorten: Callable[[int], str | None] | None = None
    left_out: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class FittedPart:
    """A part after fitting: the text that is left, its tokens, and the tokens that did not fit."""

    part: TextPart
    text: str
    tokens: int
    excess: int

    @property
    def cut(self) -> int:
        """The tokens left out in all, by the source itself and for the budget."""
        return self.excess + self.part.left_out

    def data(self) -> dict[str, Any]:
        return {"source": self.part.source, "tokens": self.tokens, "cut": self.cut}

    @property
    def why(self) -> str:
        """Why something was cut, in words; empty if nothing was."""
        short = "no room for it" if not self.text else "longer than its share"
        reasons = [self.part.why] if self.part.left_out else []
        return "; ".join([*reasons, short] if self.excess else reasons)


@dataclass(frozen=True, slots=True)
class FittedText:
    """The fitted parts, and a last line that names the parts without room."""

    parts: list[FittedPart]
    tail: str

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.parts) + self.tail


def fit_parts(
    parts: Sequence[TextPart], budget: int, weights: Mapping[str, int], head: str, more: str
) -> FittedText:
    """Fit the parts into the budget, in their order, below the text `head`.

    Where there is no room for a beginning of each, the parts of least weight are dropped first;
    `more` is the command that prints them. What is never cut may alone exceed the budget.
    """
    parts = [
        replace(part, title=clean(part.title), text=clean(part.text), kept=clean(part.kept))
        for part in parts
    ]
    most = int(budget * (1 - _SPARE))
    room = most
    while True:
        fitted = _fit_into(parts, room, weights, head, more)
        over = tokens.count(head + fitted.text) - most
        if over <= 0 or fitted == _fit_into(parts, 0, weights, head, more):
            return _restore_whole(fitted, most, weights, head, more)
        room -= over


def _restore_whole(
    fitted: FittedText, most: int, weights: Mapping[str, int], head: str, more: str
) -> FittedText:
    """Give back parts that fit after all: shares count a note for each part, cut or not."""
    short = [i for i, one in enumerate(fitted.parts) if one.excess]
    for i in sorted(short, key=lambda i: -weights.get(fitted.parts[i].part.source, 1)):
        part = fitted.parts[i].part
        text = _frame(part, _close_fence(part.text))
        parts = [*fitted.parts]
        parts[i] = FittedPart(part, text, tokens.count(text), 0)
        gone = [(one.part.source, one.excess) for one in parts if one.excess and not one.text]
        fuller = FittedText(parts, _tail(gone, more))
        if tokens.count(head + fuller.text) <= most:
            fitted = fuller
    return fitted


def suggest_budget(parts: Sequence[TextPart]) -> int:
    """Return a round budget with room for all parts in full."""
    whole = sum(tokens.count(_frame(part, part.text)) + 60 for part in parts)
    return min(100_000, -(-int(whole / (1 - _SPARE)) // 500) * 500)


def _fit_into(
    parts: Sequence[TextPart], room: int, weights: Mapping[str, int], head: str, more: str
) -> FittedText:
    kept = set(range(len(parts)))
    needs = [tokens.count(part.text) for part in parts]
    frames = [tokens.count(_frame(part, _note(part, 10_000))) for part in parts]
    ranks = [weights.get(part.source, 1) for part in parts]
    while True:
        tail = _tail(
            [(parts[i].source, needs[i]) for i in range(len(parts)) if i not in kept], more
        )
        left = room - tokens.count(head + tail) - sum(frames[i] for i in kept)
        shares = _divide({i: needs[i] for i in kept}, {i: ranks[i] for i in kept}, left)
        starved = any(shares[i] < min(needs[i], _LEAST) for i in kept)
        idle = [i for i in kept if starved and not parts[i].kept]
        if not idle:
            break
        kept.remove(min(idle, key=lambda i: (ranks[i], -i)))
    fitted = []
    for number, part in enumerate(parts):
        if number not in kept:
            fitted.append(FittedPart(part, "", 0, needs[number]))
            continue
        body, cut = _cut(part, needs[number], shares[number])
        text = _frame(part, body)
        fitted.append(FittedPart(part, text, tokens.count(text), cut))
    return FittedText(fitted, tail)


def _tail(dropped: Sequence[tuple[str, int]], more: str) -> str:
    if not dropped:
        return ""
    names = ", ".join(f"{source} (about {need:,} tokens)" for source, need in dropped)
    return f"[No room for {names}; `{more}` prints all]\n"


def _divide(needs: Mapping[int, int], weights: Mapping[int, int], room: int) -> dict[int, int]:
    """Divide the room: each gets all it needs, or its share by weight of what the others leave.

    Where the room is negative, so is every share.
    """
    shares: dict[int, int] = {}
    open_ = dict(needs)
    while open_:
        total = sum(weights[i] for i in open_)
        small = {i: n for i, n in open_.items() if n * total <= room * weights[i]}
        if not small:
            return shares | {i: room * weights[i] // total for i in open_}
        shares |= small
        room -= sum(small.values())
        open_ = {i: n for i, n in open_.items() if i not in small}
    return shares


def _cut(part: TextPart, need: int, room: int) -> tuple[str, int]:
    """Return the text, or its beginning with a note, and the number of tokens left out."""
    if not need or need <= room:
        return _close_fence(part.text), 0
    shorter = part.shorten(room) if part.shorten is not None and room >= _LEAST else None
    if shorter is not None:
        shorter = _close_fence(clean(shorter))
        return shorter, max(1, need - tokens.count(shorter))
    body = _close_fence(_take_beginning(part.text, room)) if room >= _LEAST else ""
    left = need - tokens.count(body)
    return "\n".join(piece for piece in (body, _note(part, left)) if piece), left


def _close_fence(text: str) -> str:
    """Close a code fence that the text leaves open: it would swallow what follows."""
    fences = FenceReader()
    for line in text.split("\n"):
        fences.read(line)
    return f"{text.rstrip()}\n{fences.fence.mark}" if fences.fence else text


def _take_beginning(text: str, room: int) -> str:
    """Return the first whole lines, and the start of the next one where that is long."""
    body = tokens.cut(text, room - 2)
    left = room - 2 - tokens.count(body)
    if left >= max(_LEAST, room // 4):
        body += tokens.cut(text[len(body) :].partition("\n")[0], left)
    torn = not body.endswith("\n") and text[len(body) : len(body) + 1] != "\n"
    return body.rstrip() + (" …" if torn else "")


def _note(part: TextPart, left: int) -> str:
    rest = f"; `{part.more}` prints all" if part.more else ""
    return f"[… about {left:,} tokens left out{rest}]"


def _frame(part: TextPart, body: str) -> str:
    top = [part.title] if part.title else []
    top += [body.strip("\n")] if body.strip() else []
    kept = [part.kept] if part.kept else []
    return ("\n\n" if body.strip() else "\n").join(["\n".join(top), *kept]).lstrip() + "\n\n"
