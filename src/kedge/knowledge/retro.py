"""Applying what a retro found: all of it or nothing, once, and on record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from kedge.errors import InvalidValue, KedgeError
from kedge.host.record import NamedTuple
from kedge.host.redact import redact
from kedge.knowledge import anchors, lessons, retros, titles
from kedge.knowledge.answer import (
    CHALLENGED,
    CONFIRMED,
    NEW,
    SKIPPED,
    Answer,
    New,
    Observed,
    Problem,
)
from kedge.knowledge.bank import Bank, Found
from kedge.knowledge.entries import Entry
from kedge.knowledge.fields import PROVENANCE
from kedge.knowledge.handoffs import rows
from kedge.knowledge.lessons import Written
from kedge.knowledge.staged import Staged
from kedge.knowledge.view import places, plain
from kedge.knowledge.work import Work
from kedge.knowledge.write import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


class Step(NamedTuple):
    """One thing that the answer asks for: the entry after it, and whether that is a change."""

    kind: str  # as the answer's key
    item: New | Observed
    entry: Entry
    changed: bool


class Applied(NamedTuple):
    steps: tuple[Step, ...]
    problems: tuple[Problem, ...]
    recorded: bool
    warnings: tuple[str, ...]

    @property
    def changed(self) -> bool:
        return any(step.changed for step in self.steps)


def apply(
    bank: Bank,
    work: Work,
    answer: Answer,
    *,
    partial: bool = False,
    allow: Collection[str] = (),
) -> Applied:
    """Write what the answer says; with anything wrong nothing, or in part what is right."""
    with bank.locked():
        staged = Staged(bank, work.label)
        done = _Applying(staged, work, answer, allow)
        problems = (*answer.problems, *done.problems)
        if problems and not (partial and done.steps):
            raise refused(problems)
        bank.write(staged.changes())
        recorded = retros.append(bank.project, work.id, _record(work, answer, done.steps))
    warnings = (*answer.warnings, *done.warnings, *staged.warnings)
    return Applied(tuple(done.steps), problems, recorded, warnings)


def refused(problems: Sequence[Problem]) -> InvalidValue:
    many = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    return InvalidValue(
        f"the answer has {many}",
        hint="nothing was written; mend them, or --partial applies the rest",
        data=[one._asdict() for one in problems],
    )


class _Applying:
    """The answer done on a bank that is not written: its steps, and what could not be done."""

    def __init__(self, staged: Staged, work: Work, answer: Answer, allow: Collection[str]) -> None:
        self.staged = staged
        self.work = work
        self.allow = allow
        self.steps: list[Step] = []
        self.problems: list[Problem] = []
        past, self.warnings = retros.read(staged.project, work.id)
        self.past = [one for record in past for one in rows(record, NEW)]
        fresh = {titles.key(one.name) for one in answer.new}
        observed = [
            (kind, one, found)
            for kind, items in ((CONFIRMED, answer.confirmed), (CHALLENGED, answer.challenged))
            for one in items
            if (found := self._found(one, fresh)) is not None
        ]
        self._once(observed)
        for kind, one, found in observed:
            self._observe(kind, one, found)
        for new in answer.new:
            self._add(new)
        self._skipped(answer.skipped)

    def _found(self, one: Observed, fresh: Collection[str]) -> Found | None:
        if titles.key(titles.read(one.entry).name) in fresh:
            self._problem(one.where, f"{one.entry[:80]!r} is new in this answer", "leave it out")
            return None
        return self._tried(one.where, lambda: self.staged.find(one.entry))

    def _once(self, observed: list[tuple[str, Observed, Found]]) -> None:
        """Take out what is said of an entry twice."""
        first: dict[tuple[str, int], str] = {}
        for row in list(observed):
            _, one, found = row
            where = first.setdefault((found.page.file, found.at), one.where)
            if where != one.where:
                observed.remove(row)
                name = plain(found.entry.name)
                self._problem(one.where, f"{name!r} is judged by {where} already", "leave one")

    def _observe(self, kind: str, one: Observed, before: Found) -> None:
        if kind == CONFIRMED and self.work.first_saw(before.entry):
            message = f"{plain(before.entry.name)!r} was learned in this very work"
            self._problem(one.where, message, "leave it out: that is no second observation")
            return
        # Lines move as others are written; an entry's place among those of its file does not.
        page = self.staged.page(before.page.file) or before.page
        entry = page.entries[before.at]
        if self._is_recorded(kind, one, entry):
            self.steps.append(Step(kind, one, entry, changed=False))
            return
        place = places(entry)[0]
        act = lessons.confirm if kind == CONFIRMED else lessons.challenge
        self._done(kind, one, lambda: act(self.staged, place, "", one.told, allow=self.allow))

    def _is_recorded(self, kind: str, one: Observed, entry: Entry) -> bool:
        """Whether the entry says so. Old evidence must not anchor it to what is there today."""
        told = f"{self.work.label} — {' '.join(one.told.split())}"
        return any(field.value.replace("&#124;", "|") == told for field in entry.all(kind))

    def _add(self, new: New) -> None:
        same = self._same(new)
        if same is not None:
            self.steps.append(Step(NEW, new, same, changed=False))
            return

        def act() -> Written:
            made = dict.fromkeys(str(anchors.make(self.staged.project, p)) for p in new.paths)
            label = self.work.label
            draft = Draft(new.type, new.name, new.text, label, new.confidence, label, tuple(made))
            return lessons.add(self.staged, draft, force=new.anyway, allow=self.allow)

        self._done(NEW, new, act)

    def _same(self, new: New) -> Entry | None:
        """The entry that this one has become already, which may have been edited since."""
        key = titles.key(new.name)
        told = (new.name, new.text)
        recorded = any((one.get("name"), one.get("text")) == told for one in self.past)
        text = new.text.replace("\r\n", "\n").strip()
        for entry in (one.entry for one in self.staged.found()):
            if titles.key(entry.name) == key and entry.type == new.type:
                mine = entry.value(PROVENANCE) == self.work.label
                if recorded or (mine and entry.text == text):
                    return entry
        return None

    def _skipped(self, names: Sequence[str]) -> None:
        known = {titles.key(one.entry.name) for one in self.staged.found()}
        strange = [name for name in names if titles.key(titles.read(name).name) not in known]
        if strange:
            self.warnings.append(redact(f"skipped, but in no file: {', '.join(strange[:5])}"))

    def _done(self, kind: str, item: New | Observed, act: Callable[[], Written]) -> None:
        done = self._tried(item.where, act)
        if done is not None:
            self.warnings += done.warnings if done.changed else ()
            self.steps.append(Step(kind, item, done.entry, done.changed))

    def _tried(self, where: str, act: Callable[[], T]) -> T | None:
        """What came of it; None where it was refused, which is a problem of that item."""
        try:
            return act()
        except KedgeError as error:
            hint = error.hint or ""
            if "--force" in hint:
                hint = 'confirm that one, or say "anyway": true'
            self._problem(where, error.message, hint)
            return None

    def _problem(self, where: str, message: str, hint: str) -> None:
        self.problems.append(Problem(where, redact(message), hint))


def _record(work: Work, answer: Answer, steps: Sequence[Step]) -> dict[str, Any]:
    """What was applied, to be looked up: the same for the same answer, whenever it is applied."""
    new = [one.item._asdict() for one in steps if isinstance(one.item, New)]
    seen = [(one.kind, one.item) for one in steps if isinstance(one.item, Observed)]
    return {
        "kind": work.kind,
        "id": work.id,
        "label": work.label,
        NEW: [{name: one[name] for name in one if name != "where"} for one in new],
        CONFIRMED: [{"entry": o.entry, "evidence": o.told} for k, o in seen if k == CONFIRMED],
        CHALLENGED: [{"entry": o.entry, "reason": o.told} for k, o in seen if k == CHALLENGED],
        SKIPPED: list(answer.skipped),
    }
