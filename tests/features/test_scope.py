"""`kedge feature tasks` and `kedge feature scope`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge, assert_clear

from kedge.features import render
from kedge.features.feature import load_feature
from kedge.host import tokens
from kedge.host.project import Project

TOP = Path(__file__).resolve().parents[2]
FILLER = "\n".join(f"This is sentence {n} of a text that says little." for n in range(30))
FILES = {
    "tasks.md": """\
# Tasks: Mooring

### Task 1.1: Tie up

**Why:** Plan Step 1.1 / Design C1, TD-2
**Files:** `src/quay.py`
**Done when:** it holds

### Task 1.2: Cast off
- [ ] the rope is loose

### Task 2: Repaint the zebra crossing
Zebra stripes on the crossing, in white.

### Task 3: Tidy
Names.

### Task 4: Go
**Why:** Plan Step 7.7, Design C9
""",
    "design.md": f"""\
# Design: Mooring

## Components

All of them.

### C1: Rope

The rope is long.

#### Knots

Two of them.

### C10: Anchor

{FILLER}

## Decisions

| Id | Choice |
|---|---|
| TD-1 | hemp |
| TD-2 | nylon |

## Zebra crossing

Stripes for the zebra crossing, white paint on asphalt. {FILLER}

## Other

{FILLER}

## More

{FILLER}
""",
    "plan.md": f"""\
# Plan

## Phase 1

### Step 1.1: Splice

Splice it. {FILLER}

### Step 1.2: Untie

Untie what Design C10 ties.

## Phase 2

### Step 1.20: Paint

{FILLER}

## Phase 3

{FILLER}
""",
    "spec.md": "# Spec\n\n- **AC-1:** it holds\n\n## Appendix\n\nAll of it.\n",
    "prd.md": (
        "# PRD\n\n## 1. Problem\n\nShips drift.\n\n## Goals (revised)\n\n- Moor\n\n"
        f"## Non-goals\n\n{FILLER}\n"
    ),
}


@pytest.fixture
def feature(repo: Path) -> Path:
    path = repo / "docs" / "features" / "014-mooring"
    path.mkdir(parents=True)
    for name, text in FILES.items():
        (path / name).write_text(text)
    return path


def headings_of(data: dict[str, Any], artifact: str) -> list[str | None]:
    return [one["heading"] for one in data["sections"] if one["artifact"] == artifact]


def test_tasks_are_listed_with_references_criteria_and_files(kedge: Kedge, feature: Path) -> None:
    found = kedge.json("feature", "tasks", "014-mooring")
    assert found[0] == {
        "number": "1.1",
        "title": "Tie up",
        "line": 3,
        "done_criteria": ["it holds"],
        "references": [
            {"type": "plan", "id": "1.1", "raw": "Plan Step 1.1"},
            {"type": "design", "id": "C1", "raw": "Design C1"},
            {"type": "design", "id": "TD-2", "raw": "TD-2"},
        ],
        "files": ["src/quay.py"],
    }
    assert found[1]["done_criteria"] == ["the rope is loose"]
    lines = kedge("feature", "tasks", "14").out.splitlines()
    assert lines[0] == "1.1\tTie up\tplan 1.1, design C1, design TD-2"
    assert len(lines) == 5


def test_a_scope_has_what_the_task_refers_to_and_nothing_else(kedge: Kedge, feature: Path) -> None:
    data = kedge.json("feature", "scope", "14", "1.1")
    assert headings_of(data, "design.md") == ["C1: Rope", "TD-2"]
    assert headings_of(data, "plan.md") == ["Step 1.1: Splice"]
    assert headings_of(data, "spec.md") == [None]
    assert headings_of(data, "prd.md") == ["1. Problem", "Goals (revised)"]
    assert data["sections"][0] == {
        "artifact": "design.md",
        "heading": "C1: Rope",
        "line": 7,
        "reason": "Design C1",
        "ambiguous": False,
    }
    text = data["text"]
    assert FILES["spec.md"].strip() in text
    for part in ("### Task 1.1: Tie up", "**Done when:** it holds", "#### Knots\n\nTwo of them."):
        assert part in text
    assert "## Components\n### C1: Rope" in text, "the headings above, without their bodies"
    assert "| Id | Choice |\n|---|---|\n| TD-2 | nylon |" in text
    for part in ("All of them.", "C10: Anchor\n", "TD-1", "Cast off", "Step 1.20: Paint\n"):
        assert part not in text
    assert data["tokens"] == tokens.count(text)
    assert data["full_tokens"] == sum(tokens.count(one) for one in FILES.values())
    assert data["tokens"] < 0.4 * data["full_tokens"]
    out = kedge("feature", "scope", "14", "1.1").out
    assert out == text


def test_every_section_that_is_left_out_can_be_printed(kedge: Kedge, feature: Path) -> None:
    data = kedge.json("feature", "scope", "14", "1.1")
    left = {(one["artifact"], one["heading"]): one["tokens"] for one in data["left_out"]}
    assert list(left) == [
        ("design.md", "C10: Anchor"),
        ("design.md", "Zebra crossing"),
        ("design.md", "Other"),
        ("design.md", "More"),
        ("plan.md", "Step 1.2: Untie"),
        ("plan.md", "Phase 2"),
        ("plan.md", "Phase 3"),
        ("prd.md", "Non-goals"),
    ]
    notes = data["text"].split("=== left out")[1]
    for (artifact, heading), count in left.items():
        assert f"{heading} ({count})" in notes
        named = f"{artifact}#{heading}"
        got = kedge.json("feature", "scope", "14", "1.1", "--section", named)
        assert got["tokens"] == count
        assert got["text"] in FILES[artifact]
        assert got["text"].splitlines()[0].endswith(heading)
    whole = kedge("feature", "scope", "14", "1.1", "--section", "design.md")
    assert whole.out == FILES["design.md"]
    command = re.search(r"kedge (feature scope .*) --section", notes)
    assert command
    assert kedge(*shlex.split(command[1])).out == data["text"]


def test_without_references_number_then_words_then_everything_decide(
    kedge: Kedge, feature: Path
) -> None:
    data = kedge.json("feature", "scope", "14", "1.2")
    assert headings_of(data, "plan.md") == ["Step 1.2: Untie"]
    assert headings_of(data, "design.md") == ["C10: Anchor"], "which the step of the plan names"
    reasons = {one["artifact"]: one["reason"] for one in data["sections"]}
    assert reasons["plan.md"] == "the number of the task, 1.2"
    assert reasons["design.md"] == "Design C10, named in the text of the plan"

    data = kedge.json("feature", "scope", "14", "2")
    assert "Zebra crossing" in headings_of(data, "design.md")
    assert "Other" not in headings_of(data, "design.md")
    assert {one["reason"] for one in data["sections"] if one["artifact"] == "design.md"} == {
        "the words of the task: by relevance"
    }

    data = kedge.json("feature", "scope", "14", "3")
    assert headings_of(data, "design.md") == [None]
    assert FILES["design.md"].strip() in data["text"]


def test_a_step_of_the_same_number_loses_to_one_with_the_words_of_the_task(
    kedge: Kedge, feature: Path
) -> None:
    (feature / "tasks.md").write_text(
        "### Task 5: Paint the zebra crossing\nWhite zebra stripes.\n"
    )
    steps = [f"### Step {n}: Rope {n}\nTie rope {n} to the quay.\n" for n in range(1, 6)]
    zebra = "### Step 6: Zebra crossing\nPaint white zebra stripes on the crossing.\n"
    (feature / "plan.md").write_text("# Plan\n" + "".join(steps) + zebra)
    data = kedge.json("feature", "scope", "14", "5")
    assert headings_of(data, "plan.md") == ["Step 6: Zebra crossing"]
    (feature / "plan.md").write_text("# Plan\n" + "".join(steps))
    data = kedge.json("feature", "scope", "14", "5")
    assert headings_of(data, "plan.md") == ["Step 5: Rope 5"]


def test_a_reference_that_leads_nowhere_is_a_warning(kedge: Kedge, feature: Path) -> None:
    ran = kedge("feature", "scope", "14", "4", "--json")
    assert headings_of(ran.data, "design.md") == [None]
    assert "=== design.md has no section for 'Design C9'" in ran.data["text"]
    assert ran.document["warnings"] == [
        "014-mooring/tasks.md:18: 'Plan Step 7.7' leads nowhere in plan.md",
        "014-mooring/tasks.md:18: 'Design C9' leads nowhere in design.md",
    ]


@pytest.mark.parametrize("named", ["docs/features/014-mooring", "014-mooring", "014", "14"])
@pytest.mark.parametrize("number", ["1.1", "T1.1", "Task 1.1", "task-1.1"])
def test_ways_to_name_a_feature_and_a_task(
    kedge: Kedge, feature: Path, named: str, number: str
) -> None:
    assert kedge.json("feature", "scope", named, number)["text"].startswith("=== tasks.md:3 ")


def test_a_path_is_relative_to_the_current_directory(kedge: Kedge, feature: Path) -> None:
    assert kedge("feature", "tasks", ".", cwd=feature).out.startswith("1.1\t")
    assert kedge("-C", str(feature.parent), "feature", "tasks", "014-mooring").out


def test_unknown_names_and_links_out_of_the_repository_are_refused(
    kedge: Kedge, repo: Path, feature: Path
) -> None:
    assert_clear(kedge("feature", "tasks", "15", code=None), code=1, says="no feature '15'")
    (feature.parent / "014-other").mkdir()
    (feature.parent / "014-other" / "tasks.md").write_text("# Other\n")
    assert_clear(
        kedge("feature", "tasks", "14", code=None), code=1, says="may be 014-mooring, 014-other"
    )
    assert_clear(
        kedge("feature", "scope", "014-mooring", "9", code=None), code=1, says="no task '9'"
    )
    assert_clear(
        kedge("feature", "scope", "014-other", "1", code=None), code=1, says="no tasks found in"
    )
    assert_clear(
        kedge("feature", "scope", "014-mooring", "1.1", "--section", "x.md", code=None),
        code=2,
        says="no document 'x.md'",
    )
    assert_clear(
        kedge("feature", "scope", "014-mooring", "1.1", "--section", "plan.md#X", code=None),
        code=1,
        says="no section 'X' in plan.md",
    )
    outside = repo.parent / "outside"
    outside.mkdir()
    (outside / "design.md").write_text("# secret\n")
    assert_clear(kedge("feature", "tasks", "../outside", code=None), code=1, says="is outside")
    (feature / "design.md").unlink()
    (feature / "design.md").symlink_to(outside / "design.md")
    ran = kedge("feature", "scope", "014-mooring", "1.1", code=None)
    assert_clear(ran, code=1, says="leads out of the repository")
    assert "secret" not in ran.err
    (feature.parent / "015-link").symlink_to(outside)
    assert_clear(kedge("feature", "tasks", "015-link", code=None), code=1, says="leads out")
    (feature / "design.md").unlink()
    (feature / "design.md").write_bytes(b"# D\n\xff\n")
    ran = kedge("feature", "tasks", "014-mooring", code=None)
    assert_clear(ran, code=1, says="014-mooring/design.md:2: it is not UTF-8")


def test_documents_may_be_missing(kedge: Kedge, feature: Path) -> None:
    for name in ("design.md", "plan.md", "spec.md", "prd.md"):
        (feature / name).unlink()
    ran = kedge("feature", "scope", "14", "1.1", "--json")
    assert ran.data["sections"] == []
    assert ran.data["left_out"] == []
    assert "Tie up" in ran.data["text"]
    assert "it refers to design.md, which is missing" in "\n".join(ran.document["warnings"])
    (feature / "tasks.md").unlink()
    assert kedge.json("feature", "tasks", "14") == []


def test_a_number_that_is_used_twice_is_a_warning(kedge: Kedge, feature: Path) -> None:
    (feature / "tasks.md").write_text("### Task 1: a\n### Task 1: b\n")
    ran = kedge("feature", "scope", "14", "1", "--json")
    assert ran.document["warnings"] == [
        "014-mooring/tasks.md: task 1 is in lines 1, 2; this is the first"
    ]


def test_the_output_does_not_depend_on_the_hash_seed(kedge: Kedge, feature: Path) -> None:
    outs = {
        kedge("feature", "scope", "14", "2", env={"PYTHONHASHSEED": seed}).out for seed in "123"
    }
    assert len(outs) == 1


def test_no_control_character_reaches_the_terminal(kedge: Kedge, feature: Path) -> None:
    (feature / "tasks.md").write_text("### Task 1: a\x1b[31m\n**Why:** Design C\x9b1\n")
    for command in (("tasks", "14"), ("scope", "14", "1"), ("lint", "14")):
        ran = kedge("feature", *command, code=None)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out + ran.err)


def test_the_commands_of_the_guide_run(kedge: Kedge, feature: Path) -> None:
    guide = (TOP / "docs/guides/features.md").read_text()
    commands = re.findall(r"^\$ kedge (feature .*)$", guide, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        kedge(*shlex.split(command), code=4 if " lint" in command else 0)


LINES = st.sampled_from(
    [
        *(
            "# A",
            "## C1: x",
            "### C2: y",
            "### 1.1 z",
            "## Phase 1",
            "```",
            "text",
            "",
            "- **C3:** i",
        ),
        *(
            "| C4 | row |",
            "|---|---|",
            "| Id | x |",
            "1. **b** c",
            "Title\n===",
            "<!--",
            "-->",
            "**C5 p.** q",
        ),
    ]
)


@given(st.lists(LINES, max_size=30), st.lists(LINES, max_size=20))
@settings(max_examples=150)
def test_sections_are_verbatim_and_all_others_are_listed(
    tmp_path_factory: pytest.TempPathFactory, design: list[str], plan: list[str]
) -> None:
    root = tmp_path_factory.getbasetemp() / "any"
    path = root / "docs" / "features" / "1-x"
    path.mkdir(parents=True, exist_ok=True)
    refs = ", ".join(f"C{n}" for n in range(1, 6))
    (path / "tasks.md").write_text(f"### Task 1.1: x\n**Why:** Design {refs}; Plan 1.1\n")
    (path / "design.md").write_text("\n".join(design))
    (path / "plan.md").write_text("\n".join(plan))
    feature = load_feature(Project(root, None), path)
    made = render.render_scope(feature, feature.tasks[0], None)
    for one in made.data()["sections"]:
        lines = (path / one["artifact"]).read_text().split("\n")
        if one["heading"] is not None:
            assert one["heading"] in re.sub(r"\*\*", "", lines[one["line"] - 1]) or (
                one["heading"] in lines[one["line"] - 1]
            )
            assert lines[one["line"] - 1] in made.text
        else:
            assert "\n".join(lines).strip("\n") in made.text
    for one in made.data()["left_out"]:
        assert f"{one['heading']} ({one['tokens']})" in made.text
    (path / "tasks.md").unlink()
