"""Parsing references in all the ways that people write them."""

from __future__ import annotations

import pytest
from features.reference_documents import BY_TYPE, KNOWN
from hypothesis import example, given
from hypothesis import strategies as st
from support import in_time

from kedge.features.reference_parser import parse_references
from kedge.features.resolve import resolve_reference


def read(value: str, field: str = "why") -> list[str]:
    return [f"{one.type} {one.id}" for one in parse_references(value, KNOWN, field).references]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (
            "Implements Plan Step 1.1 / Design Component C1, Interface 1",
            "plan 1.1|design C1|design I1",
        ),
        (
            "Design C1, C3; Plan Steps 1.1, 1.2 and 1.20",
            "design C1|design C3|plan 1.1|plan 1.2|plan 1.20",
        ),
        ("Design C1–C3, Plan 1.1-1.2", "design C1|design C2|design C3|plan 1.1|plan 1.2"),
        ("Plan 1A–1B", "plan 1a|plan 1b"),
        ("C1 to C3 & TD-1", "design C1|design C2|design C3|design TD-1"),
        ("AC-17/18", "spec AC-17|spec AC-18"),
        ("Component 2 + Components 1 and 3", "design C2|design C1|design C3"),
        ("Design § Token bucket, §4.2", "design Token bucket|design 4.2"),
        ('Design "Token bucket"', "design Token bucket"),
        ("Design Component Service-Limiter", "design Service-Limiter"),
        ("Design Component D (limits), Plan 1A", "design Component D|plan 1a"),
        ("Design > Components > C3", "design C3"),
        ("design.md#component-2, [C1](design.md#c1-store)", "design C2|design C1"),
        ("[](design.md#x), [ ](plan.md#step-1.2)", "design x|plan 1.2"),
        ("design.md § Token bucket; plan.md", "design Token bucket|plan plan.md"),
        ("Plan 1.1 / C3 — replaces C1 in part, speaks FTS5", "plan 1.1|design C3"),
        ("Plan item 3 — 14 guards", "plan Plan item 3"),
        ("keeps state where TD-1 puts it (see Design Component 2)", "design TD-1|design C2"),
        ("Step 1.1 (steps 5-7) of the plan", "plan 1.1"),
        ("Ensures that the design is safe, no 3 tests fail, SHA-256 and T5 hold", ""),
        ("after Task 1.1 and T2", ""),
    ],
)
def test_forms_of_references(value: str, wanted: str) -> None:
    assert read(value) == [one for one in wanted.split("|") if one]


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("plan ref", "1.1, 1.2", ["plan 1.1", "plan 1.2"]),
        ("components", "1, 2 and 4", ["design C1", "design C2", "design C4"]),
        ("requirements", "2.2", ["spec 2.2"]),
        ("design", "Token bucket, C2", ["design Token bucket", "design C2"]),
        ("plan", "Task 3", ["plan T3"]),
        ("implements", "Token bucket", ["design Token bucket"]),
    ],
)
def test_the_name_of_a_field_tells_what_its_numbers_mean(
    field: str, value: str, wanted: list[str]
) -> None:
    assert read(value, field) == wanted


PIECES = st.sampled_from(
    [
        *("Design ", "Plan ", "C1", "Step ", "1.1", ", ", " / ", "–", "-", "(", ")", "§ ", '"'),
        *("[", "](design.md#x)", " to ", "and ", "AC-4", "design.md", "#", "word ", "— ", ";"),
        *("Component ", "D", "`", "*", "_", "T1", ":"),
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=40).map("".join))
@example("[](design.md#x)")
def test_every_text_can_be_parsed_and_resolved(value: str) -> None:
    for one in parse_references(value, KNOWN, "why").references:
        assert one.raw
        assert one.id
        if artifact := BY_TYPE.get(one.type):
            for passage in resolve_reference(one, artifact).passages:
                assert 1 <= passage.line <= passage.last <= len(artifact.document.lines)


@pytest.mark.parametrize("piece", ["C1 ", "Design C1, ", "(", '"', "a.", "[x](y) ", "– "])
def test_long_values_are_parsed_in_linear_time(piece: str) -> None:
    with in_time(2):
        parse_references(piece * 50_000, KNOWN, "why")
