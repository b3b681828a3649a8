"""`kedge knowledge`, `review`, `retro` and `prompt --role`, as a person uses them in a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Kedge, git

BANK = "docs/knowledge-bank/heuristics.md"


def _add_feature(repo: Path, number: int, done: str | None = None) -> Path:
    folder = repo / "docs" / "features" / f"00{number}-f{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.md").write_text("# T\n\n### Task 1.1: Do it\n\n- **Why:** Plan 1.1\n")
    (folder / "plan.md").write_text(
        "# Plan\n\n## 1.1 Step\n\nTie the knot.\n\n## 1.2 Other\n\nNo.\n"
    )
    (folder / "spec.md").write_text(f"# Spec {number}\n")
    meta = {"status": "completed", "completed": done} if done else {"status": "active"}
    (folder / ".meta.json").write_text(json.dumps(meta))
    return folder


def _commit(repo: Path, text: str) -> None:
    git(repo, "add", ".")
    git(repo, "commit", "-qm", text)


@pytest.fixture
def bank(repo: Path, kedge: Kedge) -> Path:
    for number in (1, 2, 3):
        _add_feature(repo, number, f"2024-01-0{number}T10:00:00Z")
    (repo / "docs" / "knowledge-bank").mkdir(parents=True)
    _commit(repo, "features")
    kedge("knowledge", "add", "Retry", "--type", "heuristic", "--text", "At once.", "--in", "001")
    return repo / BANK


def _state(kedge: Kedge) -> str:
    (one,) = kedge.json("knowledge", "list")
    assert isinstance(one["state"], str)
    return one["state"]


# Lessons


def test_two_confirmations_in_one_feature_count_once(bank: Path, kedge: Kedge) -> None:
    confirm = ("knowledge", "confirm", "Retry", "--in")
    kedge(*confirm, "002", "--evidence", "one")
    kedge(*confirm, "002", "--evidence", "two")
    assert "Observation count: 2" in bank.read_text()
    assert bank.read_text().count("- Confirmed: ") == 2
    kedge(*confirm, "003", "--evidence", "three")
    assert "Observation count: 3" in bank.read_text()


def test_a_challenged_entry_is_not_fresh_until_it_is_confirmed(bank: Path, kedge: Kedge) -> None:
    assert _state(kedge) == "fresh"
    kedge("knowledge", "challenge", "Retry", "--in", "002", "--evidence", "no")
    assert _state(kedge) == "challenged"
    assert kedge("knowledge", "list").out.endswith("challenged\n")
    kedge("knowledge", "confirm", "Retry", "--in", "003", "--evidence", "yes")
    assert _state(kedge) == "fresh"


def test_the_text_of_a_stale_entry_is_updated(bank: Path, kedge: Kedge) -> None:
    bank.write_text(
        bank.read_text() + "\n### Heuristic: Other\nKept as it is.\n- Confidence: low\n"
    )
    assert [one["name"] for one in kedge.json("knowledge", "stale", "--after", "1")] == ["Retry"]
    ran = kedge(
        "knowledge", "update", "Retry", "--in", "003", "--text", "-", input="A pause.\n\nJitter.\n"
    )
    assert ran.out.startswith("updated: Retry")
    text = bank.read_text()
    assert "### Heuristic: Retry\nA pause.\n\nJitter.\n- Source: Feature #001\n" in text
    assert "At once." not in text
    assert "Kept as it is." in text
    assert kedge.json("knowledge", "stale", "--after", "1") == []
    kedge("knowledge", "update", "Retry", "--in", "003", "--text", "# A heading\n", code=1)
    assert bank.read_text() == text


def test_only_stale_entries_are_listed_unless_all_are_asked_for(bank: Path, kedge: Kedge) -> None:
    bank.write_text(bank.read_text() + "\n### Heuristic: Other\nSome day.\n- Confidence: low\n")
    ran = kedge("knowledge", "stale", "--after", "1")
    assert [line.split("\t")[2] for line in ran.out.splitlines()] == ["Retry"]
    assert "the age of 1 entry is not known: kedge knowledge stale --all" in ran.err
    names = [one["name"] for one in kedge.json("knowledge", "stale", "--all")]
    assert names == ["Retry", "Other"]


# Reviews


def test_a_verdict_on_the_same_tree_can_be_corrected(bank: Path, kedge: Kedge) -> None:
    del bank
    record = ("review", "record", "001-f1", "--reviewer", "spec-reviewer", "--result")
    kedge(*record, "failed", "--finding", "major the knot slips")
    assert "--correct" in kedge(*record, "approved", code=1).err
    ran = kedge(*record, "approved", "--correct")
    assert "APPROVED at iteration 1/3" in ran.out
    shown = kedge("review", "outcome", "001-f1").out
    assert "APPROVED at iteration 1/3" in shown
    assert "the knot slips" not in shown
    rows = kedge("review", "list", "001-f1").out.splitlines()
    assert [row.split("\t")[0] for row in rows] == ["1/3", "1/3 corrected"]


def test_a_correction_is_of_the_same_tree(bank: Path, kedge: Kedge) -> None:
    record = ("review", "record", "001-f1", "--reviewer", "spec-reviewer", "--result")
    assert "no review to correct" in kedge(*record, "approved", "--correct", code=1).err
    kedge(*record, "failed")
    (bank.parent / "more.txt").write_text("x\n")
    assert "the tree has changed" in kedge(*record, "approved", "--correct", code=1).err
    assert "iteration 2/3" in kedge(*record, "approved").out


# Roles


def test_a_phase_reviewer_is_given_the_phase_the_outcome_and_the_documents(
    bank: Path, kedge: Kedge
) -> None:
    del bank
    record = ("review", "record", "001-f1", "--reviewer", "spec-reviewer", "--phase", "specify")
    kedge(*record, "--result", "failed", "--finding", "major the knot slips")
    text = kedge("prompt", "001-f1", "--role", "phase-reviewer").out
    assert "## Phase\n\nspecify: " in text
    assert "## Domain Reviewer Outcome\n- Reviewer: spec-reviewer\n" in text
    assert "F1 (major): the knot slips" in text
    assert "docs/features/001-f1/spec.md:" in text
    assert "# Spec 1" in text
    other = kedge("prompt", "001-f1", "--role", "phase-reviewer", "--phase", "create-plan").out
    assert "## Phase\n\ncreate-plan: " in other
    assert "Tie the knot." in other
    assert kedge("prompt", "001-f1", "--role", "phase-reviewer", "--phase", "pln", code=2).err


def test_an_implementer_is_given_the_scope_of_the_task(bank: Path, kedge: Kedge) -> None:
    del bank
    text = kedge("prompt", "001-1.1", "--role", "implementer").out
    assert "You implement one task" in text
    assert "Tie the knot." in text


def test_a_task_without_documents_brings_its_own_prompt(repo: Path, kedge: Kedge) -> None:
    del repo
    kedge("task", "add", "Sail", "--id", "t", "--accept", "it sails", "--description", "d")
    assert "it sails" in kedge("prompt", "t", "--role", "implementer").out


# Retros


def test_a_retro_reads_all_archived_logs(bank: Path, kedge: Kedge) -> None:
    del bank
    for number, text in enumerate(("First.", "Second.", "Third.")):
        kedge(
            "log",
            "append",
            "1.1",
            "--feature",
            "docs/features/001-f1",
            input=f"Decisions: {text}\n",
        )
        if number < 2:
            kedge("log", "archive", "docs/features/001-f1")
    text = kedge("retro", "001-f1", "--part", "log", "--tokens", "8000").out
    assert [one in text for one in ("First.", "Second.", "Third.")] == [True, True, True]
    assert text.index("First.") < text.index("Second.") < text.index("Third.")


def test_a_retro_of_an_older_feature_ends_where_it_ended(repo: Path, kedge: Kedge) -> None:
    _add_feature(repo, 1)
    _commit(repo, "begin one")
    (repo / "one").write_text("1\n")
    _commit(repo, "work on one")
    stamp = git(repo, "log", "-1", "--format=%cI").strip()
    _add_feature(repo, 1, stamp)
    _commit(repo, "finish one")
    _add_feature(repo, 2)
    (repo / "two").write_text("2\n")
    _commit(repo, "work on two")
    data = kedge.json("retro", "001-f1")
    subjects = [one["subject"] for one in data["parts"]["git"]["commits"]]
    assert subjects == ["finish one", "work on one", "begin one"]
    assert "with which it was finished" in data["parts"]["git"]["range"]
    latest = kedge.json("retro", "002-f2")["parts"]["git"]["range"]
    assert "with which it was finished" not in latest
    whole = kedge.json("retro", "001-f1", "--until", "HEAD")
    assert whole["parts"]["git"]["commits"][0]["subject"] == "work on two"
    assert "no commit" in kedge("retro", "001-f1", "--until", "nope", code=1).err
