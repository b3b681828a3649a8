"""Kiro's specs: requirements, groups and boxes are read, and only states are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Kedge

from kedge.features.layouts import KIRO
from kedge.tasks.backend import Backend
from kedge.tasks.feature_docs import FeatureDocs
from kedge.testing.tasks import StateSuite

REQUIREMENTS = """\
# Requirements Document

## Introduction

Ships moor by themselves.

## Requirements

### Requirement 1

**User Story:** As a captain, I want ropes tied, so that the ship stays.

#### Acceptance Criteria

1. WHEN the ship arrives THEN the system SHALL tie the bow
2. WHEN the bow is tied THEN the system SHALL tie the stern,
   with two ropes
3. IF a rope breaks THEN the system SHALL call for help

### Requirement 2: Casting off

**User Story:** As a captain, I want to leave in time.

#### Acceptance Criteria

1. WHEN the tide turns THEN the system SHALL cast off

### Requirement 12

#### Acceptance Criteria

1. THE system SHALL ring a bell
"""
DESIGN = """\
# Design Document

## Overview

Winches everywhere.

## Components and Interfaces

### Winch

It pulls.

## Correctness Properties

### Property 1: A tied ship stays

*For any* tide the ship stays.

### Property 2: Ropes are found again

*For any* rope, it is found.
"""
TASKS = """\
# Implementation Plan: Mooring

- [x] 1. Set up the harbour
  - Create `src/harbour.py`
  - _Requirements: 12.1_

- [ ] 2. Tie up
  - [x] 2.1 Tie the bow
    - _Requirements: 1.1_

  - [-] 2.2 Tie the stern
    - Use two ropes
    - _Requirements: 1.2, 1.3_

  - [ ]* 2.3 Write property tests
    - **Property 2: Ropes are found again**
    - **Validates: Requirements 1.2**

- [ ] 3. Checkpoint - Ensure all tests pass

- [ ] 4. Cast off
  - _Requirements: 2_
"""


class TestKiro(StateSuite):
    def write(self, root: Path) -> tuple[str, str]:
        path = root / ".kiro" / "specs" / "x" / "tasks.md"
        path.parent.mkdir(parents=True)
        path.write_text(
            "- [ ] 1. Moor\n  - [ ] 1.1 Tie\n  - [ ] 1.2 Cast off\n    - Depends on: 1.1\n"
        )
        return "x-1.1", "x-1.2"

    def make(self, root: Path) -> Backend:
        return FeatureDocs(root, KIRO)


@pytest.fixture
def tasks(repo: Path) -> Path:
    folder = repo / ".kiro" / "specs" / "mooring"
    folder.mkdir(parents=True)
    for name, text in (("requirements", REQUIREMENTS), ("design", DESIGN), ("tasks", TASKS)):
        (folder / f"{name}.md").write_text(text)
    return folder / "tasks.md"


def test_tasks_and_groups_are_found(kedge: Kedge, tasks: Path) -> None:
    ran = kedge("-v", "task", "list", "--json")
    assert "tasks are kept by the kiro backend" in ran.err
    assert [(one["id"], one["type"], one["status"], one["epic"]) for one in ran.data] == [
        ("mooring", "epic", "open", None),
        ("mooring-1", "task", "done", "mooring"),
        ("mooring-2", "epic", "open", "mooring"),
        ("mooring-2.1", "task", "done", "mooring-2"),
        ("mooring-2.2", "task", "in_progress", "mooring-2"),
        ("mooring-2.3", "task", "open", "mooring-2"),
        ("mooring-3", "task", "open", "mooring"),
        ("mooring-4", "task", "open", "mooring"),
    ]
    ready = [one["id"] for one in kedge.json("task", "ready")]
    assert ready == ["mooring-3", "mooring-4", "mooring-2.3"], "what is optional comes last"
    optional = kedge.json("task", "show", "mooring-2.3")
    assert (optional["labels"], optional["priority"]) == (["optional"], "P4")


def test_references_give_the_criteria_of_requirements(kedge: Kedge, tasks: Path) -> None:
    assert kedge.json("task", "show", "mooring-2.2")["acceptance"] == [
        "1.2: WHEN the bow is tied THEN the system SHALL tie the stern, with two ropes",
        "1.3: IF a rope breaks THEN the system SHALL call for help",
    ]
    assert kedge.json("task", "show", "mooring-4")["acceptance"] == [
        "2.1: WHEN the tide turns THEN the system SHALL cast off"
    ]
    assert kedge.json("task", "show", "mooring-1")["acceptance"] == [
        "12.1: THE system SHALL ring a bell"
    ]
    assert "1.3: IF a rope breaks" in kedge("anchor", "mooring-2.2").out
    tasks.with_name("requirements.md").write_text(REQUIREMENTS.replace("the bow\n", "the keel\n"))
    assert "tie the keel" in kedge.json("task", "show", "mooring-2.1")["acceptance"][0]


def test_a_prompt_has_the_requirement_and_not_the_others(kedge: Kedge, tasks: Path) -> None:
    text = kedge("prompt", "mooring-2.3").out.split("=== left out")[0]
    for part in ("Task ID: mooring-2.3", "I want ropes tied", "Property 2: Ropes are found again"):
        assert part in text
    for part in ("leave in time", "ring a bell", "A tied ship stays", "Winches everywhere"):
        assert part not in text
    data = kedge.json("feature", "scope", "mooring", "1")
    requirement = [one["heading"] for one in data["sections"] if one["artifact"] != "design.md"]
    assert requirement == ["Requirement 12"]
    whole = kedge.json("feature", "scope", "mooring", "3")
    assert None in [one["heading"] for one in whole["sections"]]


def test_a_state_is_a_box_as_kiro_writes_it(kedge: Kedge, tasks: Path) -> None:
    before = tasks.read_bytes()
    kedge("task", "claim", "mooring-3", "--as", "ada")
    line = b"- [-] 3. Checkpoint - Ensure all tests pass\n"
    assert line + b"  - **Status:** in progress (claimed by ada)\n" in tasks.read_bytes()
    kedge("task", "close", "mooring-3")
    assert tasks.read_bytes() == before.replace(b"- [ ] 3.", b"- [x] 3.")
    kedge("task", "reopen", "mooring-3")
    assert tasks.read_bytes() == before


def test_a_group_is_ticked_with_its_last_subtask(kedge: Kedge, tasks: Path) -> None:
    before = tasks.read_bytes()
    kedge("task", "close", "mooring-2.2")
    assert tasks.read_bytes() == before.replace(b"[-] 2.2", b"[x] 2.2")
    kedge("task", "close", "mooring-2.3")
    done = before.replace(b"[-] 2.2", b"[x] 2.2").replace(b"[ ]* 2.3", b"[x]* 2.3")
    assert tasks.read_bytes() == done.replace(b"[ ] 2. Tie", b"[x] 2. Tie")
    assert kedge.json("task", "show", "mooring-2")["status"] == "done"
    kedge("task", "reopen", "mooring-2.3")
    assert tasks.read_bytes() == before.replace(b"[-] 2.2", b"[x] 2.2")
    assert "epic" in kedge("task", "claim", "mooring-2", code=1).err


def test_a_ticked_group_stays_ticked_while_a_subtask_is_open(kedge: Kedge, tasks: Path) -> None:
    text = TASKS.replace("[ ] 2. Tie", "[x] 2. Tie")
    tasks.write_text(text)
    kedge("task", "close", "mooring-2.2")
    assert tasks.read_text() == text.replace("[-] 2.2", "[x] 2.2")


def test_subtasks_that_are_not_indented(kedge: Kedge, tasks: Path) -> None:
    tasks.write_text(
        "- [ ] 1. Has work of its own\n  - _Requirements: 1.1_\n- [ ] 1.1 Test it\n"
        "- [ ] 2. Only a title\n- [ ] 2.1 One\n- [ ] 2.2 Two\n"
    )
    found = kedge.json("task", "list")[1:]
    assert [(one["id"], one["type"], one["epic"]) for one in found] == [
        ("mooring-1", "task", "mooring"),
        ("mooring-1.1", "task", "mooring"),
        ("mooring-2", "epic", "mooring"),
        ("mooring-2.1", "task", "mooring-2"),
        ("mooring-2.2", "task", "mooring-2"),
    ]


def test_a_subtask_below_another_group_is_one(kedge: Kedge, tasks: Path) -> None:
    tasks.write_text("- [ ] 1. One\n  - [ ] 1.1 Part\n    - [ ] 1. a step\n  - [ ] 2.1 Late\n")
    found = [one["id"] for one in kedge.json("task", "list")]
    assert found == ["mooring", "mooring-1", "mooring-1.1", "mooring-2.1"]


def test_a_folder_whose_name_is_no_id_has_one(kedge: Kedge, repo: Path, tasks: Path) -> None:
    name = "größe & länge of everything that floats in the harbour"
    tasks.parent.rename(repo / ".kiro/specs" / name)
    epic, first, *_ = kedge.json("task", "list")
    assert len(epic["id"]) < 50
    assert first["id"] == f"{epic['id']}-1"
    kedge("task", "close", f"{epic['id']}-3")
    assert kedge.json("feature", "tasks", epic["id"])[0]["number"] == "1"
    assert "I want ropes tied" in kedge("prompt", f"{epic['id']}-2.1").out


def test_lint_finds_a_criterion_that_is_nowhere(kedge: Kedge, tasks: Path) -> None:
    assert "no problems" in kedge("feature", "lint", "mooring").out
    tasks.write_text(TASKS.replace("1.2, 1.3", "1.2, 1.4, 7.1"))
    ran = kedge("feature", "lint", code=4)
    assert [line.split(";")[0] for line in ran.out.splitlines()] == [
        ".kiro/specs/mooring/tasks.md:11: '1.4' in task 2.2 is nowhere in requirements.md",
        ".kiro/specs/mooring/tasks.md:11: '7.1' in task 2.2 is nowhere in requirements.md",
    ]
