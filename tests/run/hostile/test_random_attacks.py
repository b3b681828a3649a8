"""Runs with an agent that attacks at random: nothing that was promised may break."""

from __future__ import annotations

import pytest
from run.hostile.attacks import TRICKS
from run.hostile.driver import play


@pytest.mark.parametrize("seed", ["calm", "squall"])
def test_promises_hold_against_random_attacks(seed: str) -> None:
    report = play(1, seed)
    assert report.runs == 1
    assert report.tricks.total() > 0
    assert not report.broken


@pytest.mark.long
def test_promises_hold_against_many_random_attacks() -> None:
    report = play(40, "gale")
    assert len(report.tricks) > len(TRICKS) // 2
    assert report.proven > 0
    assert not report.broken, report.show()
