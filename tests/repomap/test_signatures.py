"""Long signatures are folded: parameters first, then the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap.signatures import fold


@pytest.mark.parametrize(
    ("signature", "width", "folded"),
    [
        ("def moor(ship)", 14, "def moor(ship)"),
        ("def moor(ship, line) -> bool", 20, "def moor(…) -> bool"),
        ("func (s *Ship) Moor(line string, berth int) error", 30, "func (s *Ship) Moor(…) error"),
        ("def moor(ship=(1, 2), line=(3, 4)) -> None", 24, "def moor(…) -> None"),
        ("def moor(ship, line", 12, "def moor(…)"),
        ("def a_very_long_name_of_a_function()", 20, "def a_very_long_nam…"),
        ("def a_very_long_name(ship, line, berth)", 20, "def a_very_long_nam…"),
        ("class Ship", 5, "clas…"),
    ],
)
def test_a_signature_is_folded_to_fit(signature: str, width: int, folded: str) -> None:
    assert fold(signature, width) == folded


@given(st.text(st.sampled_from("ab(),: ")), st.integers(1, 30))
def test_any_signature_fits_and_a_short_one_stays(signature: str, width: int) -> None:
    found = fold(signature, width)
    assert len(found) <= width
    assert found == signature or len(signature) > width
