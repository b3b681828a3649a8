"""The acceptance criteria of a requirement, which tasks refer to by numbers such as 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.features import resolve
from kedge.features.artifact import LIST_ITEM, ORDERED, Artifact, Passage
from kedge.features.references import SPEC, Reference
from kedge.features.section_ids import Id
from kedge.text.markdown import ITEM


def find_criteria(spec: Artifact, references: Iterable[Reference]) -> tuple[str, ...]:
    """Return the criteria that the references name, each after its number.

    A reference to a whole requirement names all of its criteria.
    """
    found: dict[int, str] = {}
    for one in references:
        if one.type == SPEC and one.key:
            for number, passage in _find(spec, one.key):
                found.setdefault(passage.line, f"{number}: {_read(spec, passage)}")
    return tuple(found.values())


def find_criterion(spec: Artifact, wanted: Id) -> Passage | None:
    """Return the criterion with this number; None if there is not exactly one."""
    found = _find(spec, wanted)
    return found[0][1] if len(found) == 1 and wanted.parent else None


def _find(spec: Artifact, wanted: Id) -> list[tuple[str, Passage]]:
    """Return the criteria that an id names, each with its number."""
    named = [one for one in spec.passages if one.kind == LIST_ITEM and wanted in one.ids]
    if len(named) == 1:  # **1.2** WHEN …
        return [(wanted.number, named[0])]
    above, _, last = wanted.number.rpartition(".")
    targets = resolve.find_by_id(spec, Id(wanted.prefix, above or last)).passages
    if len(targets) != 1:
        return []
    items = [one for one in spec.passages if one.kind == ORDERED and targets[0].holds(one)]
    numbered = [(f"{above or last}.{one.ids[0].number}", one) for one in items]
    return [(number, one) for number, one in numbered if not above or number == wanted.number]


def _read(spec: Artifact, passage: Passage) -> str:
    first, *rest = spec.lines(passage.line, passage.last).split("\n")
    item = ITEM.match(first)
    text = " ".join([item["text"] if item else first, *rest])
    return re.sub(r"\s+", " ", text).strip()
