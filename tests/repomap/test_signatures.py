"""Long signatures are folded: parameters first, then the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap.signatures import fold


@pytest.mark.parametrize(
    ("signature", "name", "width", "folded"),
    [
        ("def moor(ship)", "moor", 14, "def moor(ship)"),
        ("def moor(ship, line) -> bool", "moor", 20, "def moor(…) -> bool"),
        (
            "func (s *Ship) Moor(line string, berth int) error",
            "Moor",
            30,
            "func (s *Ship) Moor(…) error",
        ),
        ("def moor(ship=(1, 2), line=(3, 4)) -> None", "moor", 24, "def moor(…) -> None"),
        ("def moor(ship, line", "moor", 12, "def moor(…)"),
        ("public static final Map<Key, Value> moor(Ship ship)", "moor", 16, "moor(…)"),
    ],
)
def test_a_signature_is_folded_to_fit(signature: str, name: str, width: int, folded: str) -> None:
    assert fold(signature, width, name) == folded


@given(st.text(st.sampled_from("ab(),: ")), st.integers(1, 30))
def test_any_signature_nearly_fits_and_a_short_one_stays(signature: str, width: int) -> None:
    found = fold(signature, width, "ab")
    assert len(found) <= width + width // 4
    assert found == signature or len(signature) > width
