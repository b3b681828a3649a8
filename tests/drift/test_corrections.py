"""Corrections say what was seen, quote what was asked, and keep within their budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.corrections import write_correction
from kedge.drift.scoring import Penalty
from kedge.host.tokens import count

LEVELS = ("nudge", "correct", "intervene", "halt")
LIMITS = {"nudge": 120, "correct": 120, "intervene": 200, "halt": 200}
GOAL = "Let the importer skip rows without a price"
RULE = Penalty("constraint", "changes db/schema.sql: “don't touch the schema”", 7)

texts = st.text(max_size=600) | st.sampled_from(
    ["x" * 3000, "ß漢字🙂 " * 400, "a.b/c_d-e " * 300, "\n\n- [ ] todo\n" * 80]
)
rules = st.lists(
    st.builds(
        Penalty,
        st.sampled_from(["constraint", "topic", "repetition", "pushes", "weakened check"]),
        texts,
        st.integers(1, 9),
    ),
    max_size=5,
)


@pytest.mark.parametrize("level", LEVELS)
def test_a_correction_has_evidence_goal_and_a_way_to_object(level: str) -> None:
    text = write_correction(level, GOAL, [RULE]).text
    assert "db/schema.sql" in text
    assert GOAL in text
    assert "Way back: " in text
    assert "say why" in text


@pytest.mark.parametrize("level", LEVELS)
def test_a_correction_shows_the_heaviest_rule(level: str) -> None:
    text = write_correction(level, GOAL, [Penalty("topic", "unrelated", 3), RULE]).text
    assert "db/schema.sql" in text
    assert text.index("constraint") < text.find("unrelated") or "unrelated" not in text


def test_halt_names_the_first_thing_to_do() -> None:
    assert "kedge anchor" in write_correction("halt", GOAL, [RULE]).text
    assert "kedge anchor" not in write_correction("intervene", GOAL, [RULE]).text


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("topic", "different work"),
        ("repetition", "in circles"),
        ("weakened check", "weakens a check"),
        ("pushes", "Nobody asked"),
        ("deletes a folder", "Nobody asked"),
    ],
)
def test_the_first_line_says_what_is_wrong(rule: str, says: str) -> None:
    assert (
        says in write_correction("correct", GOAL, [Penalty(rule, "seen", 4)]).text.splitlines()[0]
    )


def test_serious_corrections_name_steps_to_go_back_to() -> None:
    assert (
        "src/import.py"
        in write_correction("intervene", GOAL, [RULE], ["edited src/import.py"]).text
    )
    assert (
        "src/import.py"
        not in write_correction("nudge", GOAL, [RULE], ["edited src/import.py"]).text
    )


def test_a_correction_without_a_goal_invents_none() -> None:
    assert "Asked" not in write_correction("correct", " ", [RULE]).text


@given(st.sampled_from(LEVELS), texts, rules, st.lists(texts, max_size=3))
def test_a_correction_keeps_within_its_budget(
    level: str, goal: str, told: list[Penalty], earlier: list[str]
) -> None:
    correction = write_correction(level, goal, told, earlier)
    assert correction.level == level
    assert count(correction.text) <= LIMITS[level]
