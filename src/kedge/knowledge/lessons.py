"""Working with the knowledge bank: each of these reads, changes and writes under its lock."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from kedge.errors import InvalidValue, KedgeError
from kedge.host import clock as time
from kedge.host.record import NamedTuple
from kedge.host.secrets import refuse
from kedge.knowledge import anchors, edit, entries, observe, similar, write
from kedge.knowledge.anchors import Anchor
from kedge.knowledge.bank import Bank, Found
from kedge.knowledge.entries import Entry, Page
from kedge.knowledge.fields import ANCHOR, COUNT, LAST, RETIRED
from kedge.knowledge.observe import Changed
from kedge.knowledge.view import data, places, plain

RETIRED_FILE = "retired.md"
_LONGEST = 2000  # letters of a line that is added
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Written(NamedTuple):
    """An entry after an operation, and whether anything was written."""

    entry: Entry
    changed: bool
    warnings: tuple[str, ...] = ()


def add(
    bank: Bank, draft: write.Draft, *, force: bool = False, allow: Collection[str] = ()
) -> Written:
    """Add an entry. One that says much the same as another is refused, unless by force."""
    draft = draft._replace(
        name=_line("the name", draft.name, allow),
        text=_text(draft.text, allow),
        confidence=_line("the confidence", draft.confidence, allow),
    )
    refuse("an anchor", draft.anchors, allow)
    with bank.locked():
        near = similar.near([one.entry for one in bank.found()], draft.name, draft.text)
        if near and not force:
            entry = near[0][0]
            raise InvalidValue(
                f"{places(entry)[0]} says much the same: {plain(entry.name)!r}",
                hint="kedge knowledge confirm adds to that one; --force adds yours anyway",
                data=[{**data(one), "similarity": round(score, 3)} for one, score in near],
            )
        file, old = bank.target(draft.type)
        page = old or write.empty(file, draft.type)
        after = write.with_entry(page, draft)
        bank.write([(old, after)])
        warnings = [f"much the same as {plain(entry.name)!r}" for entry, _ in near]
        return Written(after.entries[len(page.entries)], True, tuple(warnings))


def confirm(
    bank: Bank,
    named: str,
    where: str,
    evidence: str,
    at: tuple[str, ...] = (),
    *,
    allow: Collection[str] = (),
) -> Written:
    """It was seen to hold: so do its anchors, as they are now."""
    where, told = bank.where(where), _line("the evidence", evidence, allow)
    fresh = [anchors.make(bank.project, one) for one in at]
    refuse("an anchor", at, allow)

    def change(found: Found) -> Changed:
        done = observe.confirm(found.page, found.at, where, told, bank.clock)
        return Changed(_anchored(bank, done.page, found.at, fresh), done.warnings)

    return _changed(bank, named, change)


def challenge(
    bank: Bank, named: str, where: str, evidence: str, *, allow: Collection[str] = ()
) -> Written:
    """It was contradicted, which is recorded beside it."""
    where, told = bank.where(where), _line("the evidence", evidence, allow)
    return _changed(bank, named, lambda one: observe.challenge(one.page, one.at, where, told))


def keep(
    bank: Bank, named: str, where: str, reason: str = "", *, allow: Collection[str] = ()
) -> Written:
    """It is wanted although it is stale: no observation."""
    where, told = bank.where(where), _line("the reason", reason, allow) if reason else ""
    return _changed(bank, named, lambda one: observe.keep(one.page, one.at, where, told))


def retire(bank: Bank, named: str, reason: str, *, allow: Collection[str] = ()) -> Written:
    """Move an entry to the file of those that are retired, with reason and date."""
    reason = _line("the reason", reason, allow)
    with bank.locked():
        page, at = found = bank.find(named)
        folder, _, name = page.file.rpartition("/")
        told = f"{time.now()[:10]} from {name} — {reason}"
        _, lines = edit.without_entry(edit.with_more(page, at, RETIRED, told), at)
        left, _ = edit.without_entry(page, at)
        beside = f"{folder}/{RETIRED_FILE}"
        old = bank.page(beside)
        start = "".join(old.lines) if old else f"# Retired{page.ending}"
        gap = "" if start.endswith(("\n\n", "\n\r\n")) else page.ending
        start += "" if start.endswith("\n") else page.ending
        lines += "" if lines.endswith("\n") else page.ending
        # First where it goes, then where it was: nothing that happens in between can lose it.
        bank.write([(old, entries.parse(start + gap + lines, beside)), (page, left)])
        return Written(found.entry, True)


def backfill(bank: Bank) -> list[tuple[Page, Page]]:
    """Each page that lacks metadata, as it is and as it would be with it."""
    changed = []
    for page in bank.pages():
        days = _written(bank, page)
        missing: dict[int, list[tuple[str, str]]] = {}
        after = page
        for at, entry in enumerate(page.entries):
            day = days.get(entry.line, "")
            last, count = observe.provenance(entry, bank.clock, day, time.now()[:10])
            for field, value in ((LAST, last), (COUNT, str(count))):
                if entry.field(field) is None:
                    missing.setdefault(at, []).append((field, value))
                elif not entry.value(field):
                    after = edit.with_value(after, at, field, value)
        after = edit.with_all(after, missing) if missing else after
        if after is not page:
            changed.append((page, after))
    return changed


def write_backfill(bank: Bank) -> list[tuple[Page, Page]]:
    with bank.locked():
        changed = backfill(bank)
        bank.write(list(changed))
        return changed


def _anchored(bank: Bank, page: Page, at: int, fresh: list[Anchor]) -> Page:
    """With the hashes of today. New anchors take the place of those that are orphaned."""
    for anchor, state in bank.states(page.entries[at]):
        fields = page.entries[at].all(ANCHOR)
        field = next(one for one in fields if anchors.parse(one.value) == anchor)
        again = any(one.place == anchor.place for one in fresh)
        if again or (state == anchors.ORPHANED and fresh):
            page = edit.without_field(page, at, field)
        elif state == anchors.DRIFTED:
            made = anchors.make(bank.project, anchor.place)
            page = edit.replaced(page, at, field, str(made))
    for one in dict.fromkeys(fresh):
        page = edit.with_more(page, at, ANCHOR, str(one))
    return page


def _changed(bank: Bank, named: str, change: Callable[[Found], Changed]) -> Written:
    with bank.locked():
        found = bank.find(named)
        done = change(found)
        changed = done.page is not found.page
        if changed:
            bank.write([(found.page, done.page)])
        return Written(done.page.entries[found.at], changed, done.warnings)


def _line(what: str, text: str, allow: Collection[str]) -> str:
    line = " ".join(text.split())
    if not line:
        raise InvalidValue(f"{what} is empty", hint="say it in a few words")
    if len(line) > _LONGEST:
        raise InvalidValue(f"{what} has {len(line)} characters; at most {_LONGEST} are kept")
    if "<!--" in line:
        raise InvalidValue(f"{what} has the start of a comment in it", hint="write it otherwise")
    return _harmless(what, line, allow)


def _text(text: str, allow: Collection[str]) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InvalidValue("the text is empty", hint="say what was learned, and why")
    return _harmless("the text", text, allow)


def _harmless(what: str, text: str, allow: Collection[str]) -> str:
    found = _CONTROL.search(text)
    if found:
        raise InvalidValue(
            f"{what} has a character that is not text (U+{ord(found[0]):04X})",
            hint="kedge keeps UTF-8 text without control characters",
        )
    refuse(what, text, allow)
    return text


def _written(bank: Bank, page: Page) -> dict[int, str]:
    """The day on which each line was written, as far as git knows."""
    if bank.project.repo is None:
        return {}
    try:
        blame = bank.project.repo.git("blame", "--porcelain", "HEAD", "--", page.file)
    except KedgeError:
        return {}  # it was never committed
    return _days(blame.decode("utf-8", "surrogateescape"), page)


def _days(blame: str, page: Page) -> dict[int, str]:
    """By line of the page, from 0; lines are matched by what they say."""
    from datetime import UTC, datetime

    stamps: dict[str, str] = {}
    days: dict[str, str] = {}
    commit = ""
    for line in blame.split("\n"):
        if re.match(r"[0-9a-f]{40,64} [0-9]", line):
            commit = line.partition(" ")[0]
        elif line.startswith("committer-time "):
            when = datetime.fromtimestamp(int(line.split()[1]), UTC)
            stamps[commit] = when.strftime("%Y-%m-%d")
        elif line.startswith("\t"):
            days.setdefault(line[1:].rstrip("\r"), stamps.get(commit, ""))
    found = ((n, days.get(entries.bare(line), "")) for n, line in enumerate(page.lines))
    return {n: day for n, day in found if day}
