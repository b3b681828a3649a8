"""Corrections say what was seen, quote what was asked, and keep within their budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.corrections import write_correction
from kedge.drift.scoring import Penalty
from kedge.host.tokens import count

LEVELS = ("nudge", "correct", "intervene", "halt")
LIMITS = {"nudge": 480, "correct": 480, "intervene": 800, "halt": 800}  # bytes
TOKENS = {"nudge": 120, "correct": 120, "intervene": 200, "halt": 200}
GOAL = "Let the importer skip rows without a price"
RULE = Penalty("limit", "changes db/schema.sql: “don't touch the schema”", 7)

texts = st.text(max_size=600) | st.sampled_from(
    ["x" * 3000, "ß漢字🙂 " * 400, "a.b/c_d-e " * 300, "\n\n- [ ] todo\n" * 80]
)
rules = st.lists(
    st.builds(
        Penalty,
        st.sampled_from(["limit", "topic", "repetition", "pushes", "weakened check"]),
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
    assert text.index("limit") < text.find("unrelated") or "unrelated" not in text


@pytest.mark.parametrize(
    ("level", "shown"), [("nudge", 1), ("correct", 1), ("intervene", 2), ("halt", 2)]
)
def test_serious_corrections_show_a_second_rule(level: str, shown: int) -> None:
    rules = [Penalty("topic", f"seen {weight}", weight) for weight in (2, 5, 3, 4)]
    lines = write_correction(level, GOAL, rules).text.splitlines()
    assert [line for line in lines if line.startswith("Seen: ")] == [
        f"Seen: topic: seen {weight}" for weight in (5, 4)[:shown]
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_only_halt_says_stop(level: str) -> None:
    assert ("Stop." in write_correction(level, GOAL, [RULE]).text) == (level == "halt")


@pytest.mark.parametrize("level", LEVELS)
def test_the_agent_may_go_on_after_a_light_correction_and_must_ask_after_a_serious_one(
    level: str,
) -> None:
    last = write_correction(level, GOAL, [RULE]).text.splitlines()[-1]
    assert ("then go on" in last) == (level in ("nudge", "correct"))
    assert ("let the user decide" in last) == (level in ("intervene", "halt"))


# The bytes that a goal and a piece of evidence may take at each level.
QUOTES = [
    ("nudge", 136, 120),
    ("correct", 136, 120),
    ("intervene", 200, 128),
    ("halt", 176, 112),
]


def quote(size: int) -> str:
    """Words of so many bytes in all; the size is a multiple of eight."""
    return " ".join(["costing"] * (size // 8)) + "s"


@pytest.mark.parametrize(("level", "goal", "evidence"), QUOTES)
def test_what_fits_is_quoted_whole_and_what_does_not_is_cut(
    level: str, goal: int, evidence: int
) -> None:
    whole = write_correction(level, quote(goal), [Penalty("topic", quote(evidence), 4)]).text
    assert f"Asked: “{quote(goal)}”\n" in whole
    assert f"Seen: topic: {quote(evidence)}\n" in whole
    rule = Penalty("topic", f"{quote(evidence)}!", 4)
    long = write_correction(level, f"{quote(goal)}!", [rule]).text
    assert f"Asked: “{quote(goal)[:-9]} …”\n" in long
    assert f"Seen: topic: {quote(evidence)[:-9]} …\n" in long


def test_a_text_without_spaces_is_cut_between_characters() -> None:
    (asked,) = [
        line for line in write_correction("nudge", "漢" * 200, []).text.split("\n") if "A" in line
    ]
    assert asked == f"Asked: “{'漢' * 44} …”"


@pytest.mark.parametrize("level", ["intervene", "halt"])
def test_the_steps_to_go_back_to_are_cut_as_well(level: str) -> None:
    assert f"Last on course: {quote(80)}\n" in write_correction(level, GOAL, [], [quote(80)]).text
    cut = write_correction(level, GOAL, [], [f"{quote(80)}!"]).text
    assert f"Last on course: {quote(80)[:-9]} …\n" in cut
    steps = write_correction(level, GOAL, [], ["read a.py", "edit b.py", "edit c.py"]).text
    assert "Last on course: read a.py; edit b.py\n" in steps


def test_only_the_first_600_characters_of_a_text_are_read() -> None:
    for length, end in [(600, "end”"), (601, "…”")]:
        goal = f"Skip{' ' * (length - 7)}end"
        assert len(goal) == length
        (asked,) = [
            line
            for line in write_correction("nudge", goal, []).text.splitlines()
            if "Asked" in line
        ]
        assert asked.endswith(end), asked


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
    assert len(correction.text.encode()) <= LIMITS[level]


@pytest.mark.parametrize("level", LEVELS)
def test_a_correction_in_plain_words_costs_few_tokens(level: str) -> None:
    long = "The importer must skip every row that has no price in src/shop/import_prices.py. " * 5
    rules = [Penalty("limit", f"changes db/schema.sql, against “{long}”", 7)] * 2
    text = write_correction(level, long, rules, ["edit src/shop/import_prices.py"] * 2).text
    assert count(text) <= TOKENS[level]
