"""Scopes of the corpus in benchmarks/scope meet their targets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from scope.measure import Tally

TOP = Path(__file__).resolve().parents[2]
HALVES = ["dev", "held_out"]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOP / "benchmarks"))


def find_misses(tally: Tally) -> Iterator[str]:
    """Yield the figures that miss their target, without details that would reveal held_out."""
    if tally.found < 0.99 * tally.tasks:
        yield f"found {tally.found} of {tally.tasks} tasks"
    if len(tally.false) > 0.01 * tally.tasks:
        yield f"{len(tally.false)} false tasks"
    if tally.resolved < 0.95 * tally.references:
        yield f"resolved {tally.resolved} of {tally.references} explicit references"
    if tally.wrong:
        yield f"{len(tally.wrong)} wrong sections"
    if tally.lost:
        yield f"lost {len(tally.lost)} of {tally.needed} needed sections"
    if tally.saving < 0.60:
        yield f"mean saving {tally.saving:.3f}"


@pytest.mark.parametrize("half", HALVES)
def test_scopes_have_what_tasks_need_and_little_else(half: str) -> None:
    from scope import measure

    tally = measure.measure(half)
    assert tally.folders >= 16
    assert tally.tasks >= 90
    assert tally.references >= 200
    assert list(find_misses(tally)) == []


@pytest.mark.parametrize("half", HALVES)
def test_every_gold_section_exists_exactly_once(half: str) -> None:
    from scope import _gold

    for folder in _gold.read_folders(half):
        for task in folder.tasks:
            named = {ref.section for ref in task.references if ref.section} | set(task.needed)
            for place in sorted(named):
                found = _gold.find_sections(folder.path, place)
                assert len(found) == 1, f"{folder.path.name} {task.number}: {place}"


@pytest.mark.parametrize("half", HALVES)
def test_gold_files_are_formatted(half: str) -> None:
    for path in (TOP / "benchmarks/scope/corpus" / half).rglob("gold.json"):
        text = path.read_text(encoding="utf-8")
        same = json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        assert text == same, path.parent.name
