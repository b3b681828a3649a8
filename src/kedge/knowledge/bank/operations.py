"""The operations on a knowledge bank: each reads, changes and writes under the bank's lock."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from kedge.errors import InvalidValue
from kedge.host import clock
from kedge.host.secrets import refuse
from kedge.knowledge.bank import anchors, drafts, edits, entries, observations, similarity
from kedge.knowledge.bank.anchors import CodeAnchor
from kedge.knowledge.bank.bank import Bank, PageEntry
from kedge.knowledge.bank.entries import BankPage, Entry
from kedge.knowledge.bank.fields import ANCHOR, COUNT, LAST, RETIRED
from kedge.knowledge.bank.observations import PageChange
from kedge.knowledge.bank.staleness import infer_observation
from kedge.knowledge.bank.view import entry_data, locations, printable

RETIRED_FILE = "retired.md"
_MAX_CHARACTERS = 2000  # of a line that is added
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class SimilarEntry(InvalidValue):
    """An entry that is similar to one in the bank."""


@dataclass(frozen=True, slots=True)
class EntryChange:
    """An entry after an operation, and whether the operation wrote anything."""

    entry: Entry
    changed: bool
    warnings: tuple[str, ...] = ()


def add(
    bank: Bank, draft: drafts.Draft, *, force: bool = False, allow: Collection[str] = ()
) -> EntryChange:
    """Add an entry. Refuse one that is similar to another, unless forced."""
    draft = replace(
        draft,
        name=_clean_line("the name", draft.name, allow),
        text=_clean_text(draft.text, allow),
        confidence=_clean_line("the confidence", draft.confidence, allow),
    )
    refuse("an anchor", draft.anchors, allow)
    with bank.lock():
        near = similarity.find_similar(
            [one.entry for one in bank.entries()], draft.name, draft.text
        )
        if near and not force:
            entry = near[0][0]
            raise SimilarEntry(
                f"{locations(entry)[0]} is similar: {printable(entry.name)!r}",
                hint="kedge knowledge confirm adds to that entry; --force adds yours anyway",
                data=[{**entry_data(one), "similarity": round(score, 3)} for one, score in near],
            )
        file, old = bank.target_page(draft.type)
        page = old or drafts.empty_page(file, draft.type)
        after = drafts.append_entry(page, draft)
        bank.write([(old, after)])
        warnings = [f"similar to {printable(entry.name)!r}" for entry, _ in near]
        return EntryChange(after.entries[len(page.entries)], True, tuple(warnings))


def confirm(
    bank: Bank,
    named: str,
    where: str,
    evidence: str,
    at: tuple[str, ...] = (),
    *,
    allow: Collection[str] = (),
) -> EntryChange:
    """Record that the entry was seen to hold, and renew its anchors."""
    label, evidence = bank.label(where), _clean_line("the evidence", evidence, allow)
    fresh = [anchors.make(bank.project, one) for one in at]
    refuse("an anchor", at, allow)

    def change(one: PageEntry) -> PageChange:
        done = observations.confirm(one.page, one.index, label, evidence, bank.completions)
        return PageChange(_renew_anchors(bank, done.page, one.index, fresh), done.warnings)

    return _change_entry(bank, named, change)


def challenge(
    bank: Bank, named: str, where: str, evidence: str, *, allow: Collection[str] = ()
) -> EntryChange:
    """Record that the entry was contradicted."""
    label, evidence = bank.label(where), _clean_line("the evidence", evidence, allow)
    return _change_entry(
        bank, named, lambda one: observations.challenge(one.page, one.index, label, evidence)
    )


def keep(
    bank: Bank, named: str, where: str, reason: str = "", *, allow: Collection[str] = ()
) -> EntryChange:
    """Record that the entry is still wanted although it is stale."""
    label, reason = bank.label(where), _clean_line("the reason", reason, allow) if reason else ""
    return _change_entry(
        bank, named, lambda one: observations.keep(one.page, one.index, label, reason)
    )


def retire(bank: Bank, named: str, reason: str, *, allow: Collection[str] = ()) -> EntryChange:
    """Move an entry to the file of retired entries, with reason and date."""
    reason = _clean_line("the reason", reason, allow)
    with bank.lock():
        found = bank.find(named)
        page, index = found.page, found.index
        folder, _, name = page.file.rpartition("/")
        value = f"{clock.now()[:10]} from {name} — {reason}"
        _, lines = edits.remove_entry(edits.append_field(page, index, RETIRED, value), index)
        rest, _ = edits.remove_entry(page, index)
        target = f"{folder}/{RETIRED_FILE}"
        old = bank.page(target)
        start = "".join(old.lines) if old else f"# Retired{page.ending}"
        gap = "" if start.endswith(("\n\n", "\n\r\n")) else page.ending
        start += "" if start.endswith("\n") else page.ending
        lines += "" if lines.endswith("\n") else page.ending
        # The target is written first, so that an interruption cannot lose the entry. After one,
        # the entry is there already.
        moved = start.rstrip().endswith(lines.rstrip())
        added = [] if moved else [(old, entries.parse_page(start + gap + lines, target))]
        bank.write([*added, (page, rest)])
        return EntryChange(found.entry, True)


def update(
    bank: Bank, named: str, where: str, text: str, *, allow: Collection[str] = ()
) -> EntryChange:
    """Replace the entry's text by one that holds again."""
    label, text = bank.label(where), _clean_text(text, allow)

    def change(one: PageEntry) -> PageChange:
        done = observations.update(one.page, one.index, label, text)
        return PageChange(_renew_anchors(bank, done.page, one.index, []), done.warnings)

    return _change_entry(bank, named, change)


def backfill(bank: Bank) -> list[tuple[BankPage, BankPage]]:
    """Return each page with missing metadata: as it is, and with the metadata added."""
    changed = []
    for page in bank.pages():
        missing: dict[int, list[tuple[str, str]]] = {}
        after = page
        for index, entry in enumerate(page.entries):
            last, count = infer_observation(entry, bank.completions, clock.now()[:10])
            for field, value in ((LAST, last), (COUNT, str(count))):
                if entry.field(field) is None:
                    missing.setdefault(index, []).append((field, value))
                elif not entry.value(field):
                    after = edits.set_field(after, index, field, value)
        after = edits.append_fields(after, missing) if missing else after
        if after is not page:
            changed.append((page, after))
    return changed


def _renew_anchors(bank: Bank, page: BankPage, index: int, fresh: list[CodeAnchor]) -> BankPage:
    """Update the hashes. New anchors replace the orphaned ones."""
    for anchor, state in bank.anchor_states(page.entries[index]):
        fields = page.entries[index].all(ANCHOR)
        field = next(one for one in fields if anchors.parse(one.value) == anchor)
        again = any(one.place == anchor.place for one in fresh)
        if again or (state == anchors.ORPHANED and fresh):
            page = edits.remove_field(page, index, field)
        elif state == anchors.DRIFTED:
            renewed = anchors.make(bank.project, anchor.place)
            page = edits.replace_field(page, index, field, str(renewed))
    for one in dict.fromkeys(fresh):
        page = edits.append_field(page, index, ANCHOR, str(one))
    return page


def _change_entry(bank: Bank, named: str, change: Callable[[PageEntry], PageChange]) -> EntryChange:
    with bank.lock():
        found = bank.find(named)
        done = change(found)
        changed = done.page is not found.page
        if changed:
            bank.write([(found.page, done.page)])
        return EntryChange(done.page.entries[found.index], changed, done.warnings)


def _clean_line(what: str, text: str, allow: Collection[str]) -> str:
    line = " ".join(text.split())
    if not line:
        raise InvalidValue(f"{what} is empty", hint="say it in a few words")
    if len(line) > _MAX_CHARACTERS:
        raise InvalidValue(
            f"{what} has {len(line)} characters; the limit is {_MAX_CHARACTERS}", hint="shorten it"
        )
    if "<!--" in line:
        raise InvalidValue(f"{what} contains the start of a comment", hint="remove <!--")
    return _refuse_unsafe(what, line, allow)


def _clean_text(text: str, allow: Collection[str]) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InvalidValue("the text is empty", hint="say what was learned, and why")
    return _refuse_unsafe("the text", text, allow)


def _refuse_unsafe(what: str, text: str, allow: Collection[str]) -> str:
    """Return the text; refuse control characters and secrets."""
    control = _CONTROL.search(text)
    if control:
        raise InvalidValue(
            f"{what} contains a control character (U+{ord(control[0]):04X})",
            hint="kedge stores UTF-8 text without control characters",
        )
    refuse(what, text, allow)
    return text
