"""Lessons where they are needed: those that matter for a task or a change, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.host import tokens
from kedge.host.record import NamedTuple
from kedge.host.redact import redact
from kedge.knowledge import anchors, relevance
from kedge.knowledge.bank import Bank
from kedge.knowledge.entries import Entry
from kedge.knowledge.relevance import Asked
from kedge.knowledge.view import places, plain
from kedge.model.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = 5


class Lesson(NamedTuple):
    """An entry as an agent is given it, why, and whether what it is about has changed."""

    entry: Entry
    text: str
    why: str
    drifted: bool
    cut: bool = False

    def data(self) -> dict[str, Any]:
        return {
            "name": plain(self.entry.name),
            "type": self.entry.type,
            "place": places(self.entry)[0],
            "text": self.text,
            "why": self.why,
            "drifted": self.drifted,
        }


class Recalled(NamedTuple):
    lessons: tuple[Lesson, ...] = ()
    left: int = 0  # how many more matter, for which there was no room
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.lessons)

    @property
    def whole(self) -> bool:
        """Whether nothing that matters was left out."""
        return not self.left and not any(one.cut for one in self.lessons)


def asked(task: Task, paths: Iterable[str] = ()) -> Asked:
    """What a task asks for; its title counts twice."""
    words = (task.title, task.title, task.description, *task.acceptance, *task.labels)
    return relevance.of_text("\n".join(words), (*task.scope_in, *paths))


def recall(bank: Bank, wanted: Asked, budget: int, most: int = _MOST) -> Recalled:
    """The first lessons that matter. Those about something that is gone are left out."""
    entries = [one.entry for one in bank.found()]
    if not entries:
        return Recalled(warnings=tuple(bank.warnings))
    found = []
    for match in relevance.relevant(entries, **wanted._asdict(), budget=None):
        changed = _drifted(bank, match.entry)
        if changed is not None:
            text = redact(plain(_marked(relevance.shown(match.entry), changed)))
            found.append(Lesson(match.entry, text, match.why, bool(changed)))
    kept = _within(found[:most], budget)
    return Recalled(tuple(kept), len(found) - len(kept), tuple(bank.warnings))


def _drifted(bank: Bank, entry: Entry) -> list[str] | None:
    """What the entry is about and has changed since; None where all of that is gone."""
    states = bank.states(entry)
    if states and all(state == anchors.ORPHANED for _, state in states):
        return None
    return [anchor.place for anchor, state in states if state == anchors.DRIFTED]


def _marked(text: str, changed: Sequence[str]) -> str:
    if not changed:
        return text
    head, _, body = text.partition("\n")
    mark = f"{head} — may no longer hold: {', '.join(changed)} has changed since"
    return f"{mark}\n{body}" if body else mark


def _within(found: Sequence[Lesson], budget: int) -> list[Lesson]:
    """Those that have room, in their order. None takes more than half of it: of a long one, the
    beginning is given."""
    kept: list[Lesson] = []
    left = budget
    for one in found:
        text = one.text
        if tokens.count(text + "\n") > budget // 2:
            text = f"{tokens.cut(text, budget // 2 - 3).rstrip()} …"
        size = tokens.count(text + "\n")
        if size <= left:
            kept.append(one._replace(text=text, cut=text != one.text))
            left -= size
    return kept
