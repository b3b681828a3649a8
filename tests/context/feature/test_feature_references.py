"""References in all the ways that people write them, and the sections that they lead to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.context.feature import artifact as artifacts
from kedge.context.feature.resolve import resolve
from kedge.tasks.feature_docs import reading
from kedge.tasks.feature_docs.references import Lexicon
from kedge.tasks.feature_docs.scan import scan

DESIGN = """\
# Design
## Overview
## Components
### C1: Store
### C10: Notices
### Component 2: Cache
#### Keys
#### Error handling and retries
### C-3 — Queue (AC-9)
### 🚦 Component D: Service-Limiter
## Token bucket
## 4. Decisions
### TD-1: Redis
### 4.2 Rollout
- **D7: Small steps** first
  more of it
- **D8:** all at once
| Id | Choice |
|---|---|
| DD-2 | closures |
**E1 Limits.** They hold.

Still E1.

**E2 Quotas.** They do not.
## Lexer [DC-1]
"""
PLAN = """\
# Plan
## Phase 1: Dock
### Step 1.1: Tie
### Step 1.2: Cast
### Step 1.20: Late
## Phase 2: Go
### Step 1: Sail
### Step 2: Land
### 1A: Rope
## Risks
- **Step 9:** may be late
"""
SPEC = "# Spec\n- **AC-4:** it holds\n### 2.2 Safe\n"
ALL = [
    artifacts.read("design", "design.md", DESIGN),
    artifacts.read("plan", "plan.md", PLAN),
    artifacts.read("spec", "spec.md", SPEC),
]
KNOWN = artifacts.lexicon(ALL)


def read(value: str, field: str = "why") -> list[str]:
    return [f"{one.type} {one.id}" for one in scan(value, KNOWN, field).references]


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
        ("C1 to C3 & TD-1", "design C1|design C2|design C3|design TD-1"),
        ("AC-17/18", "spec AC-17|spec AC-18"),
        ("Component 2 + Components 1 and 3", "design C2|design C1|design C3"),
        ("Design § Token bucket, §4.2", "design Token bucket|design 4.2"),
        ('Design "Token bucket"', "design Token bucket"),
        ("Design Component Service-Limiter", "design Service-Limiter"),
        ("Design Component D (limits), Plan 1A", "design Component D|plan 1a"),
        ("Design > Components > C3", "design C3"),
        ("design.md#component-2, [C1](design.md#c1-store)", "design C2|design C1"),
        ("design.md § Token bucket; plan.md", "design Token bucket|plan plan.md"),
        ("Plan 1.1 / C3 — replaces C1 in part, speaks FTS5", "plan 1.1|design C3"),
        ("Plan item 3 — 14 guards", "plan Plan item 3"),
        ("keeps state where TD-1 puts it (see Design Component 2)", "design TD-1|design C2"),
        ("Step 1.1 (steps 5-7) of the plan", "plan 1.1"),
        ("Ensures that the design is safe, no 3 tests fail, SHA-256 and T5 hold", ""),
        ("after Task 1.1 and T2", ""),
    ],
)
def test_the_ways_to_refer(value: str, wanted: str) -> None:
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
def test_a_field_s_name_counts(field: str, value: str, wanted: list[str]) -> None:
    assert read(value, field) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "### Task 1: x\n**Why:** Design C1",
        "### Task 1: x\n**Source**: Design C1",
        "### Task 1: x\n- Refs: Design C1",
        "### Task 1: x\n* _Implements: Design C1_",
        "### Task 1: x\n_Design C1_",
        "### Task 1: x\n(Source: Design C1)",
        "### Task 1: x\n> Traces to: C1",
        "### Task 1: x\n**Traces to:**\n- Design\n  C1",
        "### Task 1: x\n**Size:** M | **Design:** C1 | **Owner:** me",
        "### Task 1: x\n#### References\n- Design C1",
        "### Task 1: x\nImplements Design C1 so that it holds.",
        "### Task 1: x (Design C1)",
        "### Task 1: x [C1]",
        "### Task 1: x — Design C1",
        "### Task 1: x\nUse what Design C1 says.",
        "- [ ] **1** x\n  - Satisfies: Design C1",
        "| # | Task | Design |\n|---|---|---|\n| 1 | x | C1 |",
        "### Task 1: x\n\n## Matrix\n| Task | Design |\n|---|---|\n| 1 | C1 |",
    ],
)
def test_the_places_of_a_trace(text: str) -> None:
    (task,) = reading.read(text, KNOWN)
    assert [(one.type, one.id) for one in task.references] == [("design", "C1")]


def test_what_else_a_task_says() -> None:
    (task,) = reading.read(
        "### Task 1: Tie `src/quay.py`\n- Files: `src/rope.py:12`, docs/knots.md\n"
        "- DoD: it holds\n- Verify: `make test`\n",
        KNOWN,
    )
    assert task.done_criteria == ("it holds", "`make test`")
    assert task.files == ("src/rope.py", "src/quay.py")
    (task,) = reading.read("### Task 1: x\n- [ ] a\n- [x] b\n", KNOWN)
    assert task.done_criteria == ("a", "b")


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
        ("design.md:7", "why", ["Keys"]),
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
def test_where_a_reference_leads(value: str, field: str, wanted: list[str]) -> None:
    found = scan(value, KNOWN, field).references
    by_type = {one.type: one for one in ALL}
    places = [place for one in found for place in resolve(one, by_type[one.type]).places]
    assert [place.text for place in places] == wanted


def test_what_a_place_holds() -> None:
    texts = {p.text: ALL[0].lines(p.line, p.last) for p in ALL[0].places if p.kind == "item"}
    assert texts["D7: Small steps"] == "- **D7: Small steps** first\n  more of it"
    assert texts["E1 Limits."] == "**E1 Limits.** They hold.\n\nStill E1."


def test_two_that_fit_are_both_given_unless_the_phase_decides() -> None:
    text = "## Phase 1\n### Step 1: a\n## Phase 2\n### Step 1: b\n"
    plan = artifacts.read("plan", "plan.md", text)
    (one,) = scan("Plan Step 1", Lexicon(), "why").references
    assert resolve(one, plan).ambiguous
    assert [p.text for p in resolve(one, plan).places] == ["Step 1: a", "Step 1: b"]
    (near,) = scan("Phase 2", Lexicon(), "plan").references
    assert near.key is not None
    assert [p.text for p in resolve(one, plan, [near.key]).places] == ["Step 1: b"]


def test_an_id_at_the_end_of_many_headings_is_a_remark() -> None:
    (one,) = scan("Design DC-1", Lexicon(), "why").references
    for count, found in ((1, 1), (2, 2), (3, 0)):
        text = "".join(f"## Rope {n} of it [DC-1]\n" for n in range(count))
        assert len(resolve(one, artifacts.read("design", "design.md", text)).places) == found


PIECES = st.sampled_from(
    [
        *("Design ", "Plan ", "C1", "Step ", "1.1", ", ", " / ", "–", "-", "(", ")", "§ ", '"'),
        *("[", "](design.md#x)", " to ", "and ", "AC-4", "design.md", "#", "word ", "— ", ";"),
        *("Component ", "D", "`", "*", "_", "T1", ":"),
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=40).map("".join))
def test_any_value_can_be_read(value: str) -> None:
    for one in scan(value, KNOWN, "why").references:
        assert one.raw
        assert one.id
        by_type = {artifact.type: artifact for artifact in ALL}
        if one.type in by_type:
            for place in resolve(one, by_type[one.type]).places:
                assert 1 <= place.line <= place.last <= len(by_type[one.type].document.lines)


def test_hostile_documents_take_no_time() -> None:
    with in_time(10):
        for value in (
            "C1 " * 50_000,
            "Design C1, " * 50_000,
            "(" * 50_000,
            '"' * 50_000,
            "a." * 50_000,
        ):
            scan(value, KNOWN, "why")
            reading.read(f"### Task 1: {value}\n**Why:** {value}\n- [ ] {value}\n", KNOWN)
            artifacts.read(
                "design", "design.md", f"# {value}\n- **{value}**\n| {value} |\n|---|\n| {value} |"
            )
        many = "".join(f"## C{n}: a b\n- **D{n}:** x\n" for n in range(3000))
        design = artifacts.read("design", "design.md", many + "## C1: x\n" * 3000)
        tasks = "".join(f'### Task {n}: x\n**Design:** C{n}, "Title {n}"\n' for n in range(3000))
        for task in reading.read(tasks, artifacts.lexicon([design])):
            for one in task.references[:1]:
                resolve(one, design)
