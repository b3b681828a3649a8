"""The tree spends its lines where the code is."""

from __future__ import annotations

from kedge.repomap.tree import branches

SCORES = {
    "src/port/quay/a.py": 5.0,
    "src/port/quay/b.py": 4.0,
    "src/port/tide/c.py": 2.0,
    "src/port/d.py": 1.0,
    "tools/e.py": 3.0,
    "f.py": 9.0,
}


def lines(most: int) -> list[str]:
    return [f"{'  ' * one.depth}{one.name} {one.files}" for one in branches(SCORES, most)]


def test_the_heaviest_come_first_and_children_below_their_parents() -> None:
    assert lines(9) == ["src/port 4", "  quay 2", "  tide 1", "tools 1"]


def test_there_are_no_more_lines_than_asked_for() -> None:
    assert lines(2) == ["src/port 4", "  quay 2"]
    assert lines(0) == []
    assert branches({}, 5) == []


def test_what_weighs_next_to_nothing_is_left_out() -> None:
    heavy = {**SCORES, "dust/g.py": 0.01}
    assert "dust" not in [one.name for one in branches(heavy, 9)]
