"""Sharing a budget of tokens among parts of a text: what matters more keeps more.

Every cut is said where it was made, with how much is left out and the command that prints it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kedge.host import tokens

_SPARE = 0.03  # of the budget, since tokens are estimated
_LEAST = 24  # tokens of a text below which a beginning says nothing


class Part(NamedTuple):
    """One part: `text` may be cut from its end, `kept` behind it never is."""

    source: str
    title: str
    text: str = ""
    kept: str = ""
    more: str = ""  # the command that prints all of it


class Given(NamedTuple):
    """A part as it is given: what it says, what that costs, what of it is left out."""

    part: Part
    text: str
    tokens: int
    cut: int

    @property
    def why(self) -> str:
        """Why something is left out, for people."""
        if not self.cut:
            return ""
        return "no room for it" if not self.text else "longer than its share"


def share(parts: Sequence[Part], budget: int, weights: Mapping[str, int], head: str) -> list[Given]:
    """The parts within the budget, their order kept; `head` is what stands before them all.

    Parts of little weight go first when not even the headings have room. What is never cut may
    exceed the budget by itself.
    """
    room = int(budget * (1 - _SPARE))
    kept = _kept(parts, room, weights, head)
    while True:
        given = _filled(parts, kept, room, weights, head)
        over = tokens.count(head + "".join(one.text for one in given)) - int(budget * (1 - _SPARE))
        if over <= 0 or room <= 0:
            return given
        room -= over + 1


def _kept(
    parts: Sequence[Part], room: int, weights: Mapping[str, int], head: str
) -> frozenset[int]:
    """The parts that have room for their heading, what is never cut, and the note of a cut."""
    costs = [tokens.count(_frame(part, _note(part, 10_000))) for part in parts]
    left = room - tokens.count(head)
    found = set()
    for number in sorted(range(len(parts)), key=lambda i: (-_weight(parts[i], weights), i)):
        if costs[number] <= left or parts[number].kept:
            left -= costs[number]
            found.add(number)
    return frozenset(found)


def _filled(
    parts: Sequence[Part],
    kept: frozenset[int],
    room: int,
    weights: Mapping[str, int],
    head: str,
) -> list[Given]:
    frames = {i: tokens.count(_frame(parts[i], _note(parts[i], 10_000))) for i in kept}
    needs = {i: tokens.count(parts[i].text) for i in kept}
    left = max(0, room - tokens.count(head) - sum(frames.values()))
    shares = _poured(needs, {i: _weight(parts[i], weights) for i in kept}, left)
    given = []
    for number, part in enumerate(parts):
        if number not in kept:
            given.append(Given(part, "", 0, tokens.count(part.text)))
            continue
        body, cut = _cut(part, needs[number], shares[number])
        text = _frame(part, body)
        given.append(Given(part, text, tokens.count(text), cut))
    return given


def _poured(needs: Mapping[int, int], weights: Mapping[int, int], room: int) -> dict[int, int]:
    """What each gets: all that it needs, or its share by weight of what the others leave."""
    found: dict[int, int] = {}
    open_ = dict(needs)
    while open_:
        total = sum(weights[i] for i in open_)
        small = {i: n for i, n in open_.items() if n * total <= room * weights[i]}
        if not small:
            return found | {i: room * weights[i] // total for i in open_}
        found |= small
        room -= sum(small.values())
        open_ = {i: n for i, n in open_.items() if i not in small}
    return found


def _cut(part: Part, need: int, room: int) -> tuple[str, int]:
    """The text or its beginning with a note, and how many tokens are left out."""
    if need <= room:
        return part.text, 0
    body = _beginning(part.text, room) if room >= _LEAST else ""
    if sum(line.lstrip().startswith("```") for line in body.split("\n")) % 2:
        body += "\n```"
    left = need - tokens.count(body)
    return "\n".join(piece for piece in (body, _note(part, left)) if piece), left


def _beginning(text: str, room: int) -> str:
    """Whole lines, and where the next one is long, a part of it."""
    body = tokens.cut(text, room)
    left = room - tokens.count(body)
    if left >= max(_LEAST, room // 4):
        line = text[len(body) :].partition("\n")[0]
        body += tokens.cut(line, left - 2) + " …"
    return body.rstrip()


def _note(part: Part, left: int) -> str:
    rest = f"; `{part.more}` prints all" if part.more else ""
    return f"[… about {left:,} tokens left out{rest}]"


def _frame(part: Part, body: str) -> str:
    top = [f"### {part.title}"] if part.title else []
    top += [body.strip("\n")] if body.strip() else []
    kept = [part.kept] if part.kept else []
    return ("\n\n" if body.strip() else "\n").join(["\n".join(top), *kept]).lstrip() + "\n\n"


def _weight(part: Part, weights: Mapping[str, int]) -> int:
    return weights.get(part.source, 1)
