"""Apply an answer to a retro: all of it or nothing, once, and on record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kedge.errors import InvalidValue, KedgeError
from kedge.host.redact import redact
from kedge.knowledge import retro_records
from kedge.knowledge.bank import anchors, operations, titles
from kedge.knowledge.bank.bank import Bank, PageEntry, StagedBank
from kedge.knowledge.bank.drafts import Draft
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import PROVENANCE
from kedge.knowledge.bank.operations import EntryChange, SimilarEntry
from kedge.knowledge.bank.view import locations, printable
from kedge.knowledge.retro.answer import (
    CHALLENGED,
    CONFIRMED,
    NEW,
    SKIPPED,
    NewEntry,
    Observation,
    Problem,
    RetroAnswer,
)
from kedge.knowledge.retro.subject import Subject

if TYPE_CHECKING:
    T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AppliedItem:
    """One applied item of the answer: the entry after it, and whether that changed it."""

    kind: str  # the key in the answer
    item: NewEntry | Observation
    entry: Entry
    changed: bool


@dataclass(frozen=True, slots=True)
class ApplyResult:
    steps: tuple[AppliedItem, ...]
    problems: tuple[Problem, ...]
    recorded: bool
    warnings: tuple[str, ...]

    @property
    def changed(self) -> bool:
        return any(step.changed for step in self.steps)


def apply_answer(
    bank: Bank,
    subject: Subject,
    answer: RetroAnswer,
    *,
    partial: bool = False,
    allow: Collection[str] = (),
) -> ApplyResult:
    """Write what the answer says. Any problem refuses all of it, unless `partial`."""
    with bank.lock():
        staged = StagedBank(bank, subject.label)
        done = _Application(staged, subject, answer, allow)
        problems = (*answer.problems, *done.problems)
        if problems and not (partial and done.steps):
            count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise InvalidValue(
                f"the answer has {count}",
                hint="nothing was written; fix them, or use --partial to apply the rest",
                data=[asdict(one) for one in problems],
            )
        bank.write(staged.changes())
        recorded = retro_records.append_record(
            bank.project, subject.id, _record(subject, answer, done.steps)
        )
    warnings = (*answer.warnings, *done.warnings, *staged.warnings)
    return ApplyResult(tuple(done.steps), problems, recorded, warnings)


class _Application:
    """Applies an answer to a staged bank, and collects the steps and the problems."""

    def __init__(
        self, staged: StagedBank, subject: Subject, answer: RetroAnswer, allow: Collection[str]
    ) -> None:
        self.staged = staged
        self.subject = subject
        self.allow = allow
        self.steps: list[AppliedItem] = []
        self.problems: list[Problem] = []
        past, self.warnings = retro_records.read_records(staged.project, subject.id)
        self.past = [one for record in past for one in retro_records.object_list(record, NEW)]
        new_names = {titles.name_key(one.name) for one in answer.new}
        observed = [
            (kind, one, found)
            for kind, items in ((CONFIRMED, answer.confirmed), (CHALLENGED, answer.challenged))
            for one in items
            if (found := self._find_entry(one, new_names)) is not None
        ]
        self._drop_repeated(observed)
        for kind, one, found in observed:
            self._observe(kind, one, found)
        for new in answer.new:
            self._add(new)
        self._check_skipped(answer.skipped)

    def _find_entry(self, one: Observation, new_names: Collection[str]) -> PageEntry | None:
        if titles.name_key(titles.parse_title(one.entry).name) in new_names:
            self._add_problem(one.where, f"{one.entry[:80]!r} is new in this answer", "remove it")
            return None
        return self._attempt(one.where, lambda: self.staged.find(one.entry))

    def _drop_repeated(self, observed: list[tuple[str, Observation, PageEntry]]) -> None:
        """Remove all but the first observation of each entry."""
        first: dict[tuple[str, int], str] = {}
        for row in list(observed):
            _, one, found = row
            where = first.setdefault((found.page.file, found.index), one.where)
            if where != one.where:
                observed.remove(row)
                name = printable(found.entry.name)
                self._add_problem(one.where, f"{name!r} is already judged by {where}", "keep one")

    def _observe(self, kind: str, one: Observation, before: PageEntry) -> None:
        if kind == CONFIRMED and self.subject.is_origin_of(before.entry):
            message = f"{printable(before.entry.name)!r} was learned in this work"
            self._add_problem(one.where, message, "remove it: it is not a second observation")
            return
        # Earlier steps may have moved the entry's lines, but not its index on the page.
        page = self.staged.page(before.page.file) or before.page
        entry = page.entries[before.index]
        if self._is_recorded(kind, one, entry):
            self.steps.append(AppliedItem(kind, one, entry, changed=False))
            return
        place = locations(entry)[0]
        act = operations.confirm if kind == CONFIRMED else operations.challenge
        self._run_step(
            kind, one, lambda: act(self.staged, place, "", one.evidence, allow=self.allow)
        )

    def _is_recorded(self, kind: str, one: Observation, entry: Entry) -> bool:
        """True if the entry has this evidence already: then its anchors must not be renewed."""
        value = f"{self.subject.label} — {' '.join(one.evidence.split())}"
        return any(field.value.replace("&#124;", "|") == value for field in entry.all(kind))

    def _add(self, new: NewEntry) -> None:
        existing = self._find_added(new)
        if existing is not None:
            self.steps.append(AppliedItem(NEW, new, existing, changed=False))
            return

        def act() -> EntryChange:
            places = dict.fromkeys(str(anchors.make(self.staged.project, p)) for p in new.paths)
            label = self.subject.label
            draft = Draft(new.type, new.name, new.text, label, new.confidence, label, tuple(places))
            return operations.add(self.staged, draft, force=new.anyway, allow=self.allow)

        self._run_step(NEW, new, act)

    def _find_added(self, new: NewEntry) -> Entry | None:
        """Return the entry that an earlier retro added for this one, also if it was edited."""
        key = titles.name_key(new.name)
        wanted = (new.name, new.text)
        recorded = any((one.get("name"), one.get("text")) == wanted for one in self.past)
        text = new.text.replace("\r\n", "\n").strip()
        for entry in (one.entry for one in self.staged.entries()):
            if titles.name_key(entry.name) == key and entry.type == new.type:
                mine = entry.value(PROVENANCE) == self.subject.label
                if recorded or (mine and entry.text == text):
                    return entry
        return None

    def _check_skipped(self, names: Sequence[str]) -> None:
        known = {titles.name_key(one.entry.name) for one in self.staged.entries()}
        unknown = [
            name for name in names if titles.name_key(titles.parse_title(name).name) not in known
        ]
        if unknown:
            names_text = ", ".join(unknown[:5])
            self.warnings.append(redact(f"skipped entries that do not exist: {names_text}"))

    def _run_step(
        self, kind: str, item: NewEntry | Observation, act: Callable[[], EntryChange]
    ) -> None:
        done = self._attempt(item.where, act)
        if done is not None:
            self.warnings += done.warnings
            self.steps.append(AppliedItem(kind, item, done.entry, done.changed))

    def _attempt(self, where: str, act: Callable[[], T]) -> T | None:
        """Return the result; if it is refused, add a problem and return None."""
        try:
            return act()
        except SimilarEntry as error:
            self._add_problem(where, error.message, 'confirm that entry, or set "anyway": true')
        except KedgeError as error:
            self._add_problem(where, error.message, error.hint or "")
        return None

    def _add_problem(self, where: str, message: str, hint: str) -> None:
        self.problems.append(Problem(where, redact(message), hint))


def _record(subject: Subject, answer: RetroAnswer, steps: Sequence[AppliedItem]) -> dict[str, Any]:
    """Return the record of what was applied; equal for the same answer applied again."""
    rows: dict[str, list[dict[str, Any]]] = {NEW: [], CONFIRMED: [], CHALLENGED: []}
    for step in steps:
        row = asdict(step.item)
        del row["where"]
        if step.kind == CHALLENGED:
            row["reason"] = row.pop("evidence")
        rows[step.kind].append(row)
    about = {"kind": subject.kind, "id": subject.id, "label": subject.label}
    return {**about, **rows, SKIPPED: list(answer.skipped)}
