"""Tasks of a feature with their references, criteria and files."""

from __future__ import annotations

import pytest
from features.reference_documents import KNOWN
from support import in_time

from kedge.features.feature_tasks import read_tasks
from kedge.features.layouts import LAYOUTS, Layout


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
def test_places_of_a_reference_in_a_task(text: str) -> None:
    (task,) = read_tasks(text, KNOWN)
    assert [(one.type, one.id) for one in task.references] == [("design", "C1")]


def test_a_task_has_criteria_and_files() -> None:
    (task,) = read_tasks(
        "### Task 1: Tie `src/quay.py`\n- Files: `src/rope.py:12`, docs/knots.md\n"
        "- DoD: it holds\n- Verify: `make test`\n",
        KNOWN,
    )
    assert task.done_criteria == ("it holds", "`make test`")
    assert task.files == ("src/rope.py", "src/quay.py")
    (task,) = read_tasks("### Task 1: x\n- [ ] a\n- [x] b\n", KNOWN)
    assert task.done_criteria == ("a", "b")


@pytest.mark.parametrize("piece", ["C1 ", "Design C1, ", "(", '"', "a.", "a(", "T1 depend "])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_long_tasks_are_read_in_linear_time(piece: str, layout: Layout) -> None:
    value = piece * 50_000
    with in_time(3):
        read_tasks(f"### Task 1: {value}\n**Why:** {value}\n- [ ] {value}\n", KNOWN, layout)
        read_tasks(f"- [ ] T1 {value}\n  {value}\n", KNOWN, layout)
