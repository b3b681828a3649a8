"""spec-kit's documents: read as they are, and nothing but a task's state is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Kedge, git

from kedge.features.layouts import SPEC_KIT
from kedge.tasks.backend import Backend
from kedge.tasks.feature_docs import FeatureDocs
from kedge.testing.tasks import StateSuite

SPEC = """\
# Feature Specification: Tide tables

## User Scenarios & Testing *(mandatory)*

### User Story 1 - Look up a tide (Priority: P1)

A harbour master looks up the next high tide.

1. **Given** a harbour, **When** asked, **Then** the next high tide is shown

### User Story 2 - Be warned (Priority: P2)

A skipper is warned of a storm surge.

## Requirements *(mandatory)*

- **FR-001**: Tides MUST be cached
- **FR-002**: Warnings MUST be sent once
"""
PLAN = """\
# Implementation Plan: Tide tables

## Summary

Compute tides and warn skippers.

## Technical Context

**Language/Version**: Python 3.12

## Constitution Check

Nothing is against it.

## Project Structure

### Documentation (this feature)

```text
specs/003-tide-tables/
```

### Source Code (repository root)

```text
src/
└── tides/
    └── harmonics.py   # constituents
```

## Rollout

Harbour by harbour.
"""
DATA_MODEL = """\
# Data Model: Tide tables

## Harbour

A harbour has a name and a datum.

## Surge warning

A warning has a level and the skipper who gets it.
"""
TASKS = """\
# Tasks: Tide tables

**Input**: Design documents from `/specs/003-tide-tables/`

## Format: `[ID] [P?] [Story] Description`

- **[P]**: can run in parallel

## Phase 1: Setup

- [x] T001 Create the package in src/tides/
- [ ] T002 [P] Configure ruff in pyproject.toml

## Phase 3: User Story 1 - Look up a tide (Priority: P1)

### Tests for User Story 1

- [ ] T003 [P] [US1] Unit test of the harmonics in tests/test_harmonics.py

### Implementation for User Story 1

- [ ] T004 [US1] Sum the constituents in src/tides/harmonics.py (depends on T002, T003)
- [ ] T005 [US1] Show the next high tide with `GET /tides` in `src/tides/api.py`

## Phase 4: User Story 2 - Be warned (Priority: P2)

- [ ] T006 [P] [US2] Add the Surge warning model in src/tides/warning.py, see FR-002
- [ ] T007 [US2] Send warnings (depends on T004-T006)

## Dependencies & Execution Order

- T005 depends on T004 (needs the sum)

## Parallel Example: User Story 1

```bash
- [ ] T099 not a task
```
"""
FILES = {"spec.md": SPEC, "plan.md": PLAN, "data-model.md": DATA_MODEL, "tasks.md": TASKS}


class TestSpecKit(StateSuite):
    def write(self, root: Path) -> tuple[str, str]:
        path = root / "specs" / "001-x" / "tasks.md"
        path.parent.mkdir(parents=True)
        path.write_text("- [ ] T001 Tie\n- [ ] T002 Cast off (depends on T001)\n")
        return "001-T001", "001-T002"

    def make(self, root: Path) -> Backend:
        return FeatureDocs(root, SPEC_KIT)


@pytest.fixture
def tasks(repo: Path) -> Path:
    folder = repo / "specs" / "003-tide-tables"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder / "tasks.md"


def test_tasks_are_found_with_story_dependencies_and_state(kedge: Kedge, tasks: Path) -> None:
    ran = kedge("-v", "task", "list", "--json")
    assert "tasks are kept by the spec_kit backend" in ran.err
    epic, *found = ran.data
    assert (epic["id"], epic["type"], epic["title"]) == ("003", "epic", "Tide tables")
    numbers = ("T001", "T002", "T003", "T004", "T005", "T006", "T007")
    assert [one["id"] for one in found] == [f"003-{number}" for number in numbers]
    assert {one["id"]: one["depends_on"] for one in found if one["depends_on"]} == {
        "003-T004": ["003-T002", "003-T003"],
        "003-T005": ["003-T004"],
        "003-T007": ["003-T004", "003-T005", "003-T006"],
    }
    assert [one["labels"] for one in found[:4]] == [[], ["parallel"], ["US1", "parallel"], ["US1"]]
    assert found[2]["title"] == "Unit test of the harmonics in tests/test_harmonics.py"
    assert [one["status"] for one in found[:2]] == ["done", "open"]
    ready = [one["id"] for one in kedge.json("task", "ready")]
    assert ready == ["003-T002", "003-T003", "003-T006"]


def test_a_scope_has_the_story_and_what_the_task_names(kedge: Kedge, tasks: Path) -> None:
    data = kedge.json("feature", "scope", "3", "T004")
    assert [(one["artifact"], one["heading"]) for one in data["sections"]] == [
        ("plan.md", "Summary"),
        ("plan.md", "Technical Context"),
        ("plan.md", "Source Code (repository root)"),
        ("spec.md", "User Story 1 - Look up a tide (Priority: P1)"),
    ]
    for part in ("storm surge", "Rollout", "Nothing is against it", "A harbour has a name"):
        assert part not in data["text"].split("=== left out")[0]
    data = kedge.json("feature", "scope", "003-tide-tables", "T006")
    headings = [(one["artifact"], one["heading"]) for one in data["sections"]]
    assert ("data-model.md", "Surge warning") in headings
    assert ("spec.md", "User Story 2 - Be warned (Priority: P2)") in headings
    assert ("spec.md", "FR-002") in headings
    assert "Look up a tide" not in data["text"].split("=== left out")[0]
    whole = kedge.json("feature", "scope", "3", "T002")
    assert ("spec.md", None) in [(one["artifact"], one["heading"]) for one in whole["sections"]]


def test_files_need_no_backticks(kedge: Kedge, tasks: Path) -> None:
    found = {one["number"]: one["files"] for one in kedge.json("feature", "tasks", "003")}
    assert found == {
        "T001": ["src/tides/"],
        "T002": ["pyproject.toml"],
        "T003": ["tests/test_harmonics.py"],
        "T004": ["src/tides/harmonics.py"],
        "T005": ["src/tides/api.py"],
        "T006": ["src/tides/warning.py"],
        "T007": [],
    }


def test_the_prompt_and_the_anchor_of_a_task(kedge: Kedge, tasks: Path) -> None:
    text = kedge("prompt", "003-T005").out
    for part in ("Task ID: 003-T005", "A harbour master looks up", "Held up: waits for 003-T004"):
        assert part in text
    assert "A skipper is warned" not in text
    kedge("task", "claim", "003-T003")
    assert "003-T003" in kedge("anchor").out


def test_a_state_is_a_box_and_leaves_nothing_else(kedge: Kedge, tasks: Path) -> None:
    before = tasks.read_bytes()
    kedge("task", "claim", "003-T003", "--as", "ada")
    line = b"  - **Status:** in progress (claimed by ada)\n"
    head = b"- [ ] T003 [P] [US1] Unit test of the harmonics in tests/test_harmonics.py\n"
    assert tasks.read_bytes() == before.replace(head, head + line)
    kedge("task", "close", "003-T003")
    done = before.replace(head, head.replace(b"[ ]", b"[x]"))
    assert tasks.read_bytes() == done
    kedge("task", "block", "003-T002", "--type", "tooling", "--reason", "no ruff here")
    assert (
        b"T002 [P] Configure ruff in pyproject.toml\n  - **Status:** blocked (tooling): no ruff"
        in (tasks.read_bytes())
    )
    kedge("task", "reopen", "003-T002")
    kedge("task", "reopen", "003-T003")
    assert tasks.read_bytes() == before


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_endings_and_a_missing_last_one_survive(kedge: Kedge, tasks: Path, end: str) -> None:
    before = (
        b"\xef\xbb\xbf"
        + "# T\n\n* [ ] **T001** [P] one\n* [ ] T002 two".replace("\n", end).encode()
    )
    tasks.write_bytes(before)
    kedge("task", "claim", "003-T002", "--as", "ada")
    kedge("task", "claim", "003-T001", "--as", "bob")
    assert kedge.json("task", "show", "003-T002")["assignee"] == "ada"
    kedge("task", "close", "003-T001")
    kedge("task", "close", "003-T002")
    assert tasks.read_bytes() == before.replace(b"[ ]", b"[x]")


def test_a_line_of_the_user_stays_when_the_state_changes(kedge: Kedge, tasks: Path) -> None:
    tasks.write_text("- [ ] T001 one\n  - **Status:** open\n  - by hand\n")
    kedge("task", "close", "003-T001")
    assert tasks.read_text() == "- [x] T001 one\n  - **Status:** done\n  - by hand\n"


def test_a_long_task_has_a_short_title(kedge: Kedge, tasks: Path) -> None:
    tasks.write_text(f"- [ ] T001 {'word ' * 150}end\n")
    task = kedge.json("task", "show", "003-T001")
    assert len(task["title"]) == 500
    assert task["description"].endswith("word end")


def test_adding_says_where_to_write(kedge: Kedge, tasks: Path) -> None:
    ran = kedge("task", "add", "another", "--epic", "003", code=1)
    assert "write a line such as '- [ ] T001 Title' in specs/<id>-<name>/tasks.md" in ran.err


def test_folders_without_a_number_or_tasks(kedge: Kedge, repo: Path, tasks: Path) -> None:
    for name in ("plain", "20260401-101500-late", "004-spec-only"):
        (repo / "specs" / name).mkdir()
    (repo / "specs/plain/tasks.md").write_text("- [ ] T001 one\n")
    (repo / "specs/20260401-101500-late/tasks.md").write_text("- [ ] T001 one\n")
    (repo / "specs/004-spec-only/spec.md").write_text("# Feature Specification: Later\n")
    ran = kedge("task", "list", "--type", "epic")
    ids = [line.split("\t")[0] for line in ran.out.splitlines()]
    assert ids == ["003", "20260401", "plain"]
    assert ran.err == ""


def test_lint_finds_a_story_that_is_nowhere(kedge: Kedge, tasks: Path) -> None:
    assert "no problems" in kedge("feature", "lint", "003").out
    tasks.write_text(TASKS.replace("[US2]", "[US7]"))
    ran = kedge("feature", "lint", code=4)
    assert (
        "specs/003-tide-tables/tasks.md:27: '[US7]' in task T006 is nowhere in spec.md" in ran.out
    )


def test_a_story_in_another_language_is_found(kedge: Kedge, tasks: Path) -> None:
    text = SPEC.replace("User Story 1 -", "ユーザーストーリー 1 -")
    tasks.with_name("spec.md").write_text(text.replace("User Story 2 -", "ユーザーストーリー 2 -"))
    data = kedge.json("feature", "scope", "3", "T007")
    assert "ユーザーストーリー 2 - Be warned (Priority: P2)" in [
        one["heading"] for one in data["sections"]
    ]


def test_two_trackers_give_a_hint_until_one_is_chosen(
    kedge: Kedge, repo: Path, tasks: Path
) -> None:
    kiro = repo / ".kiro" / "specs" / "surge"
    kiro.mkdir(parents=True)
    (kiro / "tasks.md").write_text("- [ ] 1. Warn\n")
    ran = kedge("task", "ready")
    assert ran.err.startswith("warning: tasks are read from spec_kit, but kiro has some as well: ")
    assert "003-T002" in ran.out
    kedge("config", "set", "tasks.backend", "kiro")
    ran = kedge("task", "ready")
    assert (ran.out.split("\t")[0], ran.err) == ("surge-1", "")


def test_run_closes_a_task_in_its_document(kedge: Kedge, repo: Path, tasks: Path) -> None:
    agent = repo.parent / "agent"
    agent.write_text("#!/bin/sh\necho x > surge.txt\n")
    agent.chmod(0o755)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "-m", "specs")
    kedge("run", "--task", "003-T006", "--command", str(agent))
    assert "- [x] T006 [P] [US2]" in tasks.read_text()
