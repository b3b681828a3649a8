"""A prompt holds all that a feature's task names; beyond its ceiling, whole sections go."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import Kedge

if TYPE_CHECKING:
    from prompts import NamedTask

CEILING = 20_000
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def tasks(repo: Path, monkeypatch: pytest.MonkeyPatch) -> list[NamedTask]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import prompts

    return prompts.write_features(repo)


@pytest.fixture
def find(tasks: list[NamedTask]) -> Callable[[str], NamedTask]:
    return lambda id_: next(one for one in tasks if one.id == id_)


def assert_sections_are_whole(text: str, repo: Path, folder: str) -> None:
    """Each paragraph of a document is there in full, or not at all."""
    lines = set(text.split("\n"))
    for path in (repo / "docs" / "features" / folder).glob("*.md"):
        for line in path.read_text().split("\n"):
            begun = [one for one in lines if one != line and len(one) > 60 and one[:60] in line]
            assert not [one for one in begun if line.startswith(one.rstrip(" …"))], line


def test_nothing_that_a_task_names_is_missing_by_default(
    tasks: list[NamedTask], kedge: Kedge
) -> None:
    assert len(tasks) == 30
    for task in tasks:
        data = kedge.json("prompt", task.id)
        assert data["tokens"] <= data["budget"] == CEILING
        missing = [name for name, section in task.sections if section not in data["text"]]
        assert not missing, task.id
        assert "\n=== left out (tokens): kedge feature scope " in data["text"]


def test_the_default_has_all_of_the_scope_that_is_below_the_ceiling(
    tasks: list[NamedTask], kedge: Kedge
) -> None:
    for task in tasks[0], tasks[10], tasks[19]:
        data = kedge.json("prompt", task.id)
        assert task.spec in data["text"]
        assert "## Goals" in data["text"]
        assert [one["cut"] for one in data["sections"]] == [0] * len(data["sections"])
        feature, number = task.id.split("-")
        whole = kedge.json("feature", "scope", feature, number)
        assert whole["text"].strip() in data["text"]


def test_above_the_ceiling_whole_sections_are_left_out_and_listed(
    repo: Path, find: Callable[[str], NamedTask], kedge: Kedge
) -> None:
    text = kedge("prompt", "033-3.1").out
    assert "## Problem" in text
    assert "## Goals" in text
    listed = re.search(r"^spec\.md: (?P<names>.+)$", text, re.MULTILINE)
    assert listed
    names = re.findall(r"(AC-\d+): [^;(]+\(\d+\)", listed["names"])
    shown = re.findall(r"^### (AC-\d+)", text, re.MULTILINE)
    assert sorted([*names, *shown]) == sorted(f"AC-{n}" for n in range(1, 11))
    assert "AC-3" in shown
    assert names
    assert_sections_are_whole(text, repo, "033-fleet-tracking")


@pytest.mark.parametrize("budget", [1500, 3000, 6000])
def test_a_small_budget_never_cuts_inside_a_section(
    budget: int, repo: Path, find: Callable[[str], NamedTask], kedge: Kedge
) -> None:
    task = find("033-3.1")
    data = kedge.json("prompt", task.id, "--tokens", str(budget))
    text = data["text"]
    assert data["tokens"] <= budget
    assert_sections_are_whole(text, repo, "033-fleet-tracking")
    assert "\n=== left out (tokens): kedge feature scope " in text
    for name, section in task.sections:
        whole, begun = section in text, section.split("\n\n")[1] in text
        assert whole == begun
        if not whole:
            reason = {"design.md": "Component", "plan.md": "Plan 3.1", "spec.md": "AC-3"}[name]
            note = rf"^=== too long for this text, read it: {name}: .*{reason}"
            assert re.search(note, text, re.MULTILINE)


def test_a_document_without_headings_is_listed_when_it_has_no_room(
    repo: Path, kedge: Kedge
) -> None:
    folder = repo / "docs" / "features" / "001-login"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text("# Login\n\n### Task 1.1: Hash\n\nUse scrypt.\n")
    (folder / "spec.md").write_text("No heading at all, and many words.\n" * 4000)
    text = kedge("prompt", "001-1.1").out
    assert "Use scrypt." in text
    assert "No heading at all" not in text
    assert re.search(r"^spec\.md: spec\.md \(\d+\)$", text, re.MULTILINE)
