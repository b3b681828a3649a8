"""`kedge feature brief`: a project in at most 500 tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge

from kedge.features.artifact import parse_artifact
from kedge.features.brief import BUDGET, Brief, Dependency
from kedge.features.prd import find_problem_and_goals
from kedge.host import tokens


def put(repo: Path, path: str, text: str) -> None:
    target = repo / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def feature(repo: Path, name: str, **meta: Any) -> None:
    put(repo, f"docs/features/{name}/.meta.json", json.dumps(meta))


@pytest.fixture
def project(repo: Path) -> Path:
    put(
        repo,
        "docs/projects/P001-harbour/prd.md",
        "# PRD: Harbour\n\n## Problem Statement\n\nShips drift. Often.\n\n"
        "## Goals\n\n- **Moor** every ship\n  - in time\n- Lose none\n\n## Non-goals\n- sailing\n",
    )
    put(
        repo,
        "docs/projects/P001-harbour/roadmap.md",
        "# Roadmap\n\n## M1: Ropes\n- 013-ropes\n\n## M2: Ships\n- #14 mooring\n",
    )
    feature(repo, "013-ropes", status="Completed")
    feature(repo, "015-lamps", status="in-progress")
    feature(repo, "016-tide", status="on hold")
    feature(repo, "017-crew", status="todo")
    feature(repo, "018-kraken", status="cancelled")
    feature(repo, "019-odd", status="?")
    feature(repo, "020-a")
    feature(repo, "020-b")
    return repo


def test_a_brief_has_goals_dependencies_and_milestone(kedge: Kedge, project: Path) -> None:
    feature(
        project,
        "014-mooring",
        project_id="P001",
        depends_on_features=["013-ropes", "15", "016", "017-crew", "018", "019-odd", "020", "99"],
    )
    data = kedge.json("feature", "brief", "14")
    assert data["text"].split("\n") == [
        "## Project Context",
        "**Project:** Harbour | **This feature:** 014-mooring",
        "**Project goals:**",
        "- Moor every ship",
        "- Lose none",
        "**Feature dependencies:** completed: 013-ropes | in progress: 015-lamps"
        " | blocked: 016-tide | planned: 017-crew | abandoned: 018-kraken | unknown: 019-odd"
        " | ambiguous: 020 (020-a or 020-b) | missing: 99",
        "**Priority signal:** M2: Ships (2 of 2)",
    ]
    assert data["tokens"] == tokens.count(data["text"])
    assert kedge("feature", "brief", "14").out == data["text"] + "\n"
    put(project, "docs/features/014-mooring/tasks.md", "### Task 1: x\n")
    assert data["text"] in kedge.json("feature", "scope", "14", "1")["text"]


def test_a_dependency_prefers_the_folder_with_exactly_its_name(kedge: Kedge, project: Path) -> None:
    feature(project, "021", status="done")
    feature(project, "021-other", status="todo")
    feature(project, "014-mooring", project_id="P001", depends_on_features=["021"])
    assert kedge.json("feature", "brief", "14")["dependencies"] == [
        {"ref": "021", "name": "021", "status": "completed"}
    ]


def test_a_feature_without_a_project_has_no_brief(kedge: Kedge, project: Path) -> None:
    for meta in ({}, {"project_id": None}, {"project_id": ""}, {"project_id": ["x"]}):
        feature(project, "014-mooring", **meta)
        ran = kedge("feature", "brief", "14", "--json")
        assert ran.data is None
        assert ran.document["warnings"] == []
        assert kedge("feature", "brief", "14").out == ""


def test_an_unknown_or_ambiguous_project_is_a_warning(kedge: Kedge, project: Path) -> None:
    feature(project, "014-mooring", project_id="P009")
    ran = kedge("feature", "brief", "14", "--json")
    assert ran.data is None
    assert ran.document["warnings"] == [
        "014-mooring: its project 'P009' is not below docs/projects"
    ]
    (project / "docs/projects/P001-other").mkdir()
    feature(project, "014-mooring", project_id="P001")
    ran = kedge("feature", "brief", "14", "--json")
    assert "may be P001-harbour, P001-other" in ran.document["warnings"][0]
    feature(project, "014-mooring", project_id="../../secret")
    assert kedge("feature", "brief", "14", "--json").data is None


def test_a_project_without_documents_has_a_short_brief(kedge: Kedge, project: Path) -> None:
    (project / "docs/projects/P002-x").mkdir()
    feature(project, "014-mooring", project_id="P002", title="Mooring")
    assert kedge.json("feature", "brief", "14")["text"].split("\n") == [
        "## Project Context",
        "**Project:** P002-x | **This feature:** Mooring",
        "**Priority signal:** not on roadmap",
    ]
    put(project, "docs/features/014-mooring/.meta.json", "{")
    ran = kedge("feature", "brief", "14", "--json")
    assert ran.data is None
    assert ran.document["warnings"] == ["docs/features/014-mooring/.meta.json: it is not JSON"]


def test_many_dependencies_are_only_counted(kedge: Kedge, project: Path) -> None:
    refs = [f"{n:03}-a-feature-with-quite-a-long-name" for n in range(100, 160)]
    for ref in refs:
        feature(project, ref, status="completed")
    feature(project, "014-mooring", project_id="P001", depends_on_features=[*refs, "016"])
    data = kedge.json("feature", "brief", "14")
    assert "**Feature dependencies:** 60 completed, 1 blocked" in data["text"]
    assert data["tokens"] <= BUDGET


TEXT = st.text(max_size=2000)


@given(TEXT, TEXT, st.lists(TEXT, max_size=5), st.lists(TEXT, max_size=80), TEXT)
@settings(max_examples=60)
def test_a_brief_never_exceeds_its_budget(
    project: str, feature: str, goals: list[str], names: list[str], milestone: str
) -> None:
    dependencies = tuple(Dependency(name, name, "completed") for name in names)
    brief = Brief("P1", project, feature, tuple(goals), dependencies, milestone)
    assert tokens.count(brief.text) <= BUDGET


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# P\n## Problem Statement\n## Goals\n## Non-Goals\n", ["Problem Statement", "Goals"]),
        ("# P\n## 1. Problem\n## 2. Goals (revised)\n", ["1. Problem", "2. Goals (revised)"]),
        ("# P\n## Problem & Goals\n## Users\n", ["Problem & Goals"]),
        ("# P\n## The problem\n## Objectives\n", ["The problem", "Objectives"]),
        ("# P\n## Background\n## 🎯 Product goals\n", ["Background", "🎯 Product goals"]),
        ("# P\n## Overview\n### Problem\n### Goals\n", ["Problem", "Goals"]),
        ("# P\n## Context\n## Users\n", ["Context"]),
        ("# P\n## Users\n", []),
    ],
)
def test_problem_and_goals_have_many_titles(text: str, wanted: list[str]) -> None:
    prd = parse_artifact("prd", "prd.md", text)
    assert [passage.text for passage in find_problem_and_goals(prd)] == wanted
