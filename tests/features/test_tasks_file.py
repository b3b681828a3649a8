"""Reading tasks.md: which lines are tasks, and where each task ends."""

from __future__ import annotations

import pytest

from kedge.features.tasks_file import parse_tasks

TASKS = """\
# Tasks: Mooring

Intro, with **Status:** of its own.

## Phase 1

### Task 1.1: Tie up `the ship`

Why it matters.

**Done when:**
- [ ] it is tied
- [x] it stays tied

#### Notes
```bash
### Task 9.9: not a task
**Status:** done
```

---

#### Task 1.2: Cast off ##
- **Depends on:** 1.1
- **Files:** `src/quay.py`
- **Done when:** the rope is loose
  and dry
- not a criterion

## Phase 2

## Task 2: Sail
**Depends on:** Task 1.1, Task 1.2 (both)
**Acceptance criteria:** it sails
"""


def test_tasks_have_a_number_a_title_and_lines() -> None:
    found = parse_tasks("\ufeff" + TASKS.replace("\n", "\r\n"))
    assert [(s.number, s.title, s.line, s.end_line) for s in found] == [
        ("1.1", "Tie up `the ship`", 7, 21),
        ("1.2", "Cast off", 23, 28),
        ("2", "Sail", 32, 34),
    ]
    assert found == parse_tasks(TASKS)
    assert found[1].body == "\n".join(TASKS.split("\n")[23:28])
    assert parse_tasks("") == []


@pytest.mark.parametrize(
    "text",
    [
        "# Task 1: too high",
        "###Task 1: no space",
        "### Task one: no number",
        "## Tasks 1-3: several",
        "### Task 1 and 2: several",
        "    ### Task 1: code",
        "```\n### Task 1: fenced\n```",
        "~~~~ md\n```\n### Task 1: fenced\n~~~\n### Task 2: fenced too\n~~~~",
        "```` md\n``` \n### Task 1: fenced\n",
        "- item\n  ```\n### Task 1: fenced\n  ```",
        "Task 1: text",
    ],
)
def test_lines_that_are_not_tasks(text: str) -> None:
    assert parse_tasks(text) == []


def test_tasks_in_code_do_not_count_and_nested_fences_are_code() -> None:
    text = "```\n### Task 1: no\n```\n### Task 2: yes\n``` not ` a fence\n  ### Task 3.1b: yes\n"
    assert [section.number for section in parse_tasks(text)] == ["2", "3.1b"]
    nested = "```md\n## Task 9: no\n```json\n{}\n```\n## Task 8: no\n```\n## Task 1: yes\n"
    assert [section.number for section in parse_tasks(nested)] == ["1"]


FORMS = [
    ("### Task 1.1: Tie\n\n### Task 1.2: Cast", ["1.1 Tie", "1.2 Cast"]),
    ("#### Task 1.1 - Tie\n#### Task 1.2 — Cast", ["1.1 Tie", "1.2 Cast"]),
    ("Task 1: Tie\n-----------\n\nTask 2: Cast\n------------\n", ["1 Tie", "2 Cast"]),
    ("### T1.1: Tie\n### T1.2 Cast", ["T1.1 Tie", "T1.2 Cast"]),
    ("### T-01 Tie\n### T-02 Cast", ["T-01 Tie", "T-02 Cast"]),
    ("### TASK-007: Tie\n### TASK-008: Cast", ["TASK-007 Tie", "TASK-008 Cast"]),
    ("### TA.1 — Tie\n### TA.2 — Cast", ["TA.1 Tie", "TA.2 Cast"]),
    ("### Task 1A.2: Tie\n### Task 1A.3: Cast", ["1A.2 Tie", "1A.3 Cast"]),
    ("### [ ] Task 3: Tie\n### ✅ Task 4: Cast\n### Task 5", ["3 Tie", "4 Cast", "5 Task 5"]),
    ("- [ ] **1.1** Tie\n- [x] **1.2** Cast", ["1.1 Tie", "1.2 Cast"]),
    ("- [ ] **T1: Tie** — with a rope\n- [ ] **T2: Cast**", ["T1 Tie", "T2 Cast"]),
    ("- [x] 1.1 Tie\n- [ ]* 1.2 Cast\n  - [ ] done", ["1.1 Tie", "1.2 Cast"]),
    (
        "## 1. Dock\n- [ ] 1.1 Tie\n- [ ] 1.2 Cast\n## 2. Go\n- [ ] 2.1 Sail",
        ["1.1 Tie", "1.2 Cast", "2.1 Sail"],
    ),
    (
        "- [x] 1. Dock\n  - [x] 1.1 Tie\n  - [ ] 1.2 Cast\n- [ ] 2. Sail\n  - _Refs: C1_",
        ["1.1 Tie", "1.2 Cast", "2 Sail"],
    ),
    (
        "### 1.1 Tie\n**Why:** x\n1. do\n2. do\n### 1.2. Cast\n- [ ] 1.5 s at most",
        ["1.1 Tie", "1.2 Cast"],
    ),
    ("## 1. Overview\n\n## 2. Tie\n**Files:** x\n\n## 3. Cast\n**Files:** y", ["2 Tie", "3 Cast"]),
    ("**Task 1.1: Tie**\nWhy: x\n\n**Task 1.2: Cast**\n", ["1.1 Tie", "1.2 Cast"]),
    ("# Tasks\n\n1. Tie\n   - Files: x\n2. Cast\n   - Files: y\n", ["1 Tie", "2 Cast"]),
    (
        "| # | Task | Refs |\n|---|---|---|\n| 1 | Tie | C1 |\n| 2 | Cast | C2 |",
        ["1 Tie", "2 Cast"],
    ),
    (
        "| State | Task ID | What |\n|---|---|---|\n| open | FE-1 | Tie |\n| open | FE-2 | Cast |",
        ["FE-1 Tie", "FE-2 Cast"],
    ),
    (
        "## Groups\n- Task 1: brief\n- Task 2: brief\n## Task 1: Tie\n## Task 2: Cast",
        ["1 Tie", "2 Cast"],
    ),
    ("## T1: Dock\n### T1.1: Tie\n### T1.2: Cast", ["T1.1 Tie", "T1.2 Cast"]),
    (
        "## Phase 1\n### Step 1.1: Tie\n**Why:** x\n### Step 1.2: Cast\n**Why:** y",
        ["1.1 Tie", "1.2 Cast"],
    ),
    ("### ~~Task 1: Old~~\n### Task 2: Cast\n## Out of scope\n### Task 3: Sail", ["2 Cast"]),
    (
        "<!-- ### Task 9: x -->\n<!--\n### Task 8: x\n-->\n<pre>\n### Task 7: x\n</pre>\n"
        "### Task 1: Tie",
        ["1 Tie"],
    ),
    ("---\nid: 1\n---\n### Task 1: Tie", ["1 Tie"]),
]


@pytest.mark.parametrize(("text", "wanted"), FORMS)
def test_forms_of_a_task(text: str, wanted: list[str]) -> None:
    assert [f"{section.number} {section.title}" for section in parse_tasks(text)] == wanted


@pytest.mark.parametrize(
    "text",
    [
        "# Tasks\n\n## Phase 1\n\n## Milestone 2\n- [ ] ask somebody\n",
        "# Tasks\n\n## 1. What we know\n\n## 2. What we do not know\n",
        "# Notes\n\n## 1. Overview\n## 2. Background\n## 3. Risks\n",
        "- [ ] write it\n- [ ] test it\n",
        "2026-01-02 came first\n\n### 2026-01-03 Meeting\n### 2026-01-04 Meeting\n",
    ],
)
def test_phases_and_chapters_are_not_tasks(text: str) -> None:
    assert parse_tasks(text) == []
