"""Finding the passages that references mean."""

from __future__ import annotations

import pytest
from features.reference_documents import BY_TYPE, KNOWN
from support import in_time

from kedge.features.artifact import build_lexicon, parse_artifact
from kedge.features.feature_tasks import read_tasks
from kedge.features.reference_parser import parse_references
from kedge.features.references import Lexicon
from kedge.features.resolve import resolve_reference


@pytest.mark.parametrize(
    ("value", "field", "wanted"),
    [
        ("Design C1", "why", ["C1: Store"]),
        ("Design C2", "why", ["Component 2: Cache"]),
        ("Component 3", "why", ["C-3 — Queue (AC-9)"]),
        ("Design Component d", "why", []),
        ("Design Component D", "why", ["🚦 Component D: Service-Limiter"]),
        ("Design service-limiter", "design", ["🚦 Component D: Service-Limiter"]),
        ("Design DC-1", "why", ["Lexer [DC-1]"]),
        ("Design C2.4", "why", ["Component 2: Cache"]),
        ("Design C2 § Keys", "why", ["Keys"]),
        ("Design § Component 2 § Retries", "why", ["Error handling and retries"]),
        ("Design § Component 2 § Nothing", "why", ["Component 2: Cache"]),
        ("design.md#token-bucket", "why", ["Token bucket"]),
        ("design.md#component-2", "why", ["Component 2: Cache"]),
        ("Design D7", "why", ["D7: Small steps"]),
        ("Design DD-2", "why", ["DD-2"]),
        ("Design E1", "why", ["E1 Limits."]),
        ("Design C9", "why", []),
        ("Design AC-9", "why", []),
        ("Plan Step 1.2", "why", ["Step 1.2: Cast"]),
        ("Plan 1.20", "why", ["Step 1.20: Late"]),
        ("Plan 1A.1", "why", ["1A: Rope"]),
        ("Plan 2.1", "why", ["Step 1: Sail"]),
        ("Plan Phase 2 Step 2", "why", ["Step 2: Land"]),
        ("Plan Step 9", "why", []),
        ("Plan 1.3", "why", ["Phase 1: Dock"]),
    ],
)
def test_passages_of_references(value: str, field: str, wanted: list[str]) -> None:
    passages = [
        passage
        for one in parse_references(value, KNOWN, field).references
        for passage in resolve_reference(one, BY_TYPE[one.type]).passages
    ]
    assert [passage.text for passage in passages] == wanted


def test_a_passage_ends_before_the_next_item_or_bold_paragraph() -> None:
    design = BY_TYPE["design"]
    texts = {p.text: design.lines(p.line, p.last) for p in design.passages if p.kind == "item"}
    assert texts["D7: Small steps"] == "- **D7: Small steps** first\n  more of it"
    assert texts["E1 Limits."] == "**E1 Limits.** They hold.\n\nStill E1."


def test_two_steps_of_the_same_number_are_ambiguous_unless_the_phase_decides() -> None:
    text = "## Phase 1\n### Step 1: a\n## Phase 2\n### Step 1: b\n"
    plan = parse_artifact("plan", "plan.md", text)
    (one,) = parse_references("Plan Step 1", Lexicon(), "why").references
    assert resolve_reference(one, plan).ambiguous
    assert [p.text for p in resolve_reference(one, plan).passages] == ["Step 1: a", "Step 1: b"]
    (near,) = parse_references("Phase 2", Lexicon(), "plan").references
    assert near.key is not None
    assert [p.text for p in resolve_reference(one, plan, [near.key]).passages] == ["Step 1: b"]


def test_an_id_at_the_end_of_many_headings_defines_none_of_them() -> None:
    (one,) = parse_references("Design DC-1", Lexicon(), "why").references
    for count, found in ((1, 1), (2, 2), (3, 0)):
        text = "".join(f"## Rope {n} of it [DC-1]\n" for n in range(count))
        design = parse_artifact("design", "design.md", text)
        assert len(resolve_reference(one, design).passages) == found


def test_references_to_many_sections_are_resolved_in_linear_time() -> None:
    many = "".join(f"## C{n}: a b\n- **D{n}:** x\n" for n in range(3000))
    text = "".join(f'### Task {n}: x\n**Design:** C{n}, "Title {n}"\n' for n in range(3000))
    with in_time(8):
        design = parse_artifact("design", "design.md", many + "## C1: x\n" * 3000)
        for task in read_tasks(text, build_lexicon([design])):
            for one in task.references[:1]:
                resolve_reference(one, design)


@pytest.mark.parametrize("piece", ["C1 ", "Design C1, ", "(", '"', "a."])
def test_long_headings_items_and_rows_are_read_in_linear_time(piece: str) -> None:
    value = piece * 50_000
    text = f"# {value}\n- **{value}**\n| {value} |\n|---|\n| {value} |"
    with in_time(2):
        parse_artifact("design", "design.md", text)
