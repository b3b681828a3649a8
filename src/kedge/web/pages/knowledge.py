"""Lessons, those that need somebody first: challenged, orphaned, stale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kedge.knowledge.bank import observations, staleness
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.bank.view import entry_data, locations

if TYPE_CHECKING:
    from kedge.knowledge.bank.bank import PageEntry
    from kedge.web.routes import Target
    from kedge.web.source import Source

CHALLENGED, ORPHANED = "challenged", "orphaned"
STATES = (
    CHALLENGED, ORPHANED, staleness.STALE, staleness.UNKNOWN, staleness.MISSING, staleness.FRESH,
)  # fmt: skip
_MOST = 200


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson; `state` is what a reader should know first, `why` the reason."""

    data: dict[str, Any]
    state: str
    why: str
    anchors: tuple[tuple[str, str], ...]
    place: str


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    bank = Bank(source.project, source.settings)
    words, state = target.text("q").lower().split(), target.choice("state", STATES)
    lessons = [_read_lesson(bank, one) for one in bank.entries()]
    source.warnings += bank.warnings
    shown = [
        one
        for one in lessons
        if state in ("", one.state)
        and all(word in f"{one.data['name']} {one.data['text']}".lower() for word in words)
    ]
    shown.sort(key=lambda one: (STATES.index(one.state), str(one.data["name"]).lower()))
    return "knowledge.html", {
        "title": "Knowledge",
        "lessons": shown[:_MOST],
        "found": len(shown),
        "count": len(lessons),
        "counts": {name: sum(one.state == name for one in lessons) for name in STATES},
        "state": state,
        "words": target.text("q"),
    }


def _read_lesson(bank: Bank, one: PageEntry) -> Lesson:
    age = staleness.assess_staleness(one.entry, bank.completions, bank.stale_after)
    state, why = age.state, age.why
    if bank.is_orphaned(one.entry):
        state, why = ORPHANED, "the code that it is about is gone"
    elif observations.is_challenged(one.entry):
        state, why = CHALLENGED, "an observation contradicts it"
    anchors = tuple((str(anchor.place), was) for anchor, was in bank.anchor_states(one.entry))
    return Lesson(entry_data(one.entry), state, why, anchors, locations(one.entry)[0])
