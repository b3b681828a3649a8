"""What the scripted agent does in each call of it: the same for every client.

A call plays the last part of its task whose `when` is in the prompt. So the agent does better only
because kedge told it what went wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from kedge.demo import project

COMPLETE = "<promise>COMPLETE</promise>"


class Act(NamedTuple):
    """One step of the agent: what it says, then a call of a tool, if it calls one.

    `edit` replaces whole lines of a file, `old` by `new`. With `if_told` the step is left out,
    unless the agent was told that text after its last step.
    """

    say: str
    kind: Literal["say", "edit", "run"] = "say"
    path: str = ""
    old: str = ""
    new: str = ""
    command: str = ""
    if_told: str = ""


@dataclass(frozen=True)
class Part:
    acts: tuple[Act, ...]
    when: str = ""  # a text in the prompt


def edit(say: str, path: str, old: str, new: str, *, if_told: str = "") -> Act:
    return Act(say, "edit", path, old, new, if_told=if_told)


def run(say: str, command: str) -> Act:
    return Act(say, "run", command=command)


def say(text: str) -> Act:
    return Act(text)


_PRICE = """\
    cents = tariff["cents_per_metre"] * metres * nights
    return max(cents, tariff["least_cents"])
"""
_TOO_CHEAP = """\
    cents = tariff["cents_per_metre"] * metres * nights
    return cents * 90 // 100 if nights >= 7 else cents
"""
_FROM_A_WEEK = """\
    cents = tariff["cents_per_metre"] * metres * nights
    if nights >= 7:
        cents = cents * 90 // 100
    return max(cents, tariff["least_cents"])
"""
_TEST = "    def test_smallest_fee(self):\n"
_SKIPPED = f'    @unittest.skip("the prices have changed")\n{_TEST}'
_BOOK = '    """Add a booking. Days are numbers."""\n'
_STRICTER = f"{_BOOK}    assert arrival < departure\n"
_NO_BOATS = "    raise NotImplementedError\n"
_SPLIT = """\
    rows = [line.split(";") for line in text.splitlines()[1:]]
    return [(row[0], int(row[1])) for row in rows]
"""
_APPEND = "    bookings.append((berth, arrival, departure))\n"
_TOO_STRICT = f"""\
    for other, first, last in bookings:
        if other == berth and arrival <= last and departure >= first:
            raise Taken(berth)
{_APPEND}"""
_STRICT = "        if other == berth and arrival <= last and departure >= first:\n"
_RIGHT = "        if other == berth and arrival < last and departure > first:\n"

_DISCOUNT = (
    Part(
        (
            edit(
                "Lower prices are simplest in the tariff.",
                "data/tariff.json",
                project.TARIFF,
                project.TARIFF.replace("250", "225"),
            ),
            edit("Bookings could check their days, too.", "berths/bookings.py", _BOOK, _STRICTER),
            edit(
                "That was not asked for; I take it back.",
                "berths/bookings.py",
                _STRICTER,
                _BOOK,
                if_told="[kedge]",
            ),
            edit("The discount belongs into fee().", "berths/fees.py", _PRICE, _TOO_CHEAP),
            run("I run the check.", "./check discount"),
            edit("This test is in the way.", "tests/test_fees.py", _TEST, _SKIPPED),
            run("Again.", "./check discount"),
            say(f"A week costs a tenth less, and all tests pass.\n\n{COMPLETE}"),
        )
    ),
    Part(
        (
            edit("The test comes back.", "tests/test_fees.py", _SKIPPED, _TEST),
            edit("The smallest fee stays.", "berths/fees.py", _TOO_CHEAP, _FROM_A_WEEK),
            run("I run the check.", "./check discount"),
            say(f"A week costs a tenth less, and the test is back.\n\n{COMPLETE}"),
        ),
        when="weakened check",
    ),
)
_BOATS = (
    Part((say(f"The export is read already.\n\n{COMPLETE}"),)),
    Part(
        (
            edit("Each line is split.", "berths/export.py", _NO_BOATS, _SPLIT),
            run("I run the check.", "./check boats"),
            say(f"The list of boats is read.\n\n{COMPLETE}"),
        ),
        when="nothing was changed",
    ),
)
_OVERLAP = (
    Part(
        (
            edit("A berth is given once.", "berths/bookings.py", _APPEND, _TOO_STRICT),
            say(f"Bookings cannot overlap any more.\n\n{COMPLETE}"),
        )
    ),
    Part(
        (
            edit("The day of departure is free.", "berths/bookings.py", _STRICT, _RIGHT),
            run("I run the check.", "./check overlap"),
            say(f"A boat may come on the day when another leaves.\n\n{COMPLETE}"),
        ),
        when="test_a_boat_may_come_when_another_leaves",
    ),
)
PARTS = {"discount": _DISCOUNT, "boats": _BOATS, "overlap": _OVERLAP}
_NOTHING_LEFT = say("I have nothing more to do.")


class Performance:
    """One call of the agent, step by step. `hear` what it is told, then ask for the next step."""

    def __init__(self, task: str, prompt: str) -> None:
        fitting = [part for part in PARTS.get(task, ()) if part.when in prompt]
        self._acts = list(fitting[-1].acts) if fitting else []
        self._last = _NOTHING_LEFT
        self._told = ""

    def hear(self, text: str) -> None:
        self._told += text

    def next_act(self) -> Act:
        """Return the next step; after the last one, the same words again."""
        told, self._told = self._told, ""
        while self._acts:
            act = self._acts.pop(0)
            if act.if_told in told:
                self._last = act if act.kind == "say" else _NOTHING_LEFT
                return act
        return self._last
