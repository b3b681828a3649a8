"""Sharing a budget of tokens among parts of a text: what matters more keeps more.

Every cut is said where it was made, with how much is left out and the command that prints it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.host import tokens
from kedge.host.record import NamedTuple
from kedge.host.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SPARE = 0.03  # of the budget, since tokens are estimated
_LEAST = 24  # tokens of a text below which a beginning says nothing


class Part(NamedTuple):
    """One part: `text` may be cut from its end, `kept` behind it never is."""

    source: str
    title: str  # with its marks, as `### Git State`
    text: str = ""
    kept: str = ""
    more: str = ""  # the command that prints all of it


class Given(NamedTuple):
    """A part as it is given: what it says, what that costs, what of it is left out."""

    part: Part
    text: str
    tokens: int
    cut: int

    def data(self) -> dict[str, Any]:
        return {"source": self.part.source, "tokens": self.tokens, "cut": self.cut}

    @property
    def why(self) -> str:
        """Why something is left out, for people."""
        if not self.cut:
            return ""
        return "no room for it" if not self.text else "longer than its share"


class Shared(NamedTuple):
    """The parts as they are given, and a last line on those that had no room."""

    given: list[Given]
    tail: str

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.given) + self.tail


def share(
    parts: Sequence[Part], budget: int, weights: Mapping[str, int], head: str, more: str
) -> Shared:
    """The parts within the budget, in their order; `head` is what stands before them all.

    Parts of little weight go first when there is no room for a beginning of each; `more` is the
    command that prints them. What is never cut may exceed the budget by itself.
    """
    parts = [
        part._replace(title=clean(part.title), text=clean(part.text), kept=clean(part.kept))
        for part in parts
    ]
    most = int(budget * (1 - _SPARE))
    room = most
    while True:
        made = _shared(parts, room, weights, head, more)
        over = tokens.count(head + made.text) - most
        if over <= 0 or room <= 0:
            return made
        room -= over + 1


def enough(parts: Sequence[Part]) -> int:
    """A budget that has room for all of it, in round numbers."""
    whole = sum(tokens.count(_frame(part, part.text)) + 60 for part in parts)
    return min(100_000, -(-int(whole / (1 - _SPARE)) // 500) * 500)


def _shared(
    parts: Sequence[Part], room: int, weights: Mapping[str, int], head: str, more: str
) -> Shared:
    kept = set(range(len(parts)))
    needs = [tokens.count(part.text) for part in parts]
    frames = [tokens.count(_frame(part, _note(part, 10_000))) for part in parts]
    ranks = [weights.get(part.source, 1) for part in parts]
    while True:
        tail = _tail(
            [(parts[i].source, needs[i]) for i in range(len(parts)) if i not in kept], more
        )
        left = room - tokens.count(head + tail) - sum(frames[i] for i in kept)
        shares = _poured({i: needs[i] for i in kept}, {i: ranks[i] for i in kept}, max(0, left))
        starved = [i for i in kept if shares[i] < min(needs[i], _LEAST)]
        idle = [i for i in kept if not parts[i].kept and (starved or left < 0)]
        if not idle:
            break
        kept.remove(min(idle, key=lambda i: (ranks[i], -i)))
    given = []
    for number, part in enumerate(parts):
        if number not in kept:
            given.append(Given(part, "", 0, needs[number]))
            continue
        body, cut = _cut(part, needs[number], shares[number])
        text = _frame(part, body)
        given.append(Given(part, text, tokens.count(text), cut))
    return Shared(given, tail)


def _tail(gone: Sequence[tuple[str, int]], more: str) -> str:
    if not gone:
        return ""
    names = ", ".join(f"{source} (about {need:,} tokens)" for source, need in gone)
    return f"[No room for {names}; `{more}` prints all]\n"


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
        return _closed(part.text), 0
    body = _closed(_beginning(part.text, room)) if room >= _LEAST else ""
    left = need - tokens.count(body)
    return "\n".join(piece for piece in (body, _note(part, left)) if piece), left


def _closed(text: str) -> str:
    """The text with no fence left open, which would swallow what follows."""
    fences = sum(line.lstrip().startswith("```") for line in text.split("\n"))
    return f"{text.rstrip()}\n```" if fences % 2 else text


def _beginning(text: str, room: int) -> str:
    """Whole lines, and where the next one is long, a part of it."""
    body = tokens.cut(text, room - 2)
    left = room - 2 - tokens.count(body)
    if left >= max(_LEAST, room // 4):
        body += tokens.cut(text[len(body) :].partition("\n")[0], left)
    torn = not body.endswith("\n") and text[len(body) : len(body) + 1] != "\n"
    return body.rstrip() + (" …" if torn else "")


def _note(part: Part, left: int) -> str:
    rest = f"; `{part.more}` prints all" if part.more else ""
    return f"[… about {left:,} tokens left out{rest}]"


def _frame(part: Part, body: str) -> str:
    top = [part.title] if part.title else []
    top += [body.strip("\n")] if body.strip() else []
    kept = [part.kept] if part.kept else []
    return ("\n\n" if body.strip() else "\n").join(["\n".join(top), *kept]).lstrip() + "\n\n"
