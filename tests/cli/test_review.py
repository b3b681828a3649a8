"""`kedge review`: reviews of a tree, in iterations, and what the next reviewer is told."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, assert_clear, git

FEATURE = "docs/features/014-limits"


@pytest.fixture
def boat(repo: Path, kedge: Kedge) -> Path:
    """A repository with a task, `boat`, and a file to change."""
    words = ("--description", "Tie it up.", "--accept", "it holds")
    kedge("task", "add", "Moor the boat", "--id", "boat", *words)
    (repo / "a.py").write_text("1\n")
    git(repo, "add", "a.py")
    git(repo, "commit", "--quiet", "-m", "start")
    return repo


def change(repo: Path) -> None:
    with (repo / "a.py").open("a") as file:
        file.write("more\n")


def record(
    kedge: Kedge, result: str, *more: str, reviewer: str = "spec-reviewer", **how: Any
) -> Any:
    words = ("review", "record", "boat", "--reviewer", reviewer, "--result", result, *more)
    return kedge(*words, **how) if how else kedge.json(*words)


def block(kedge: Kedge, *more: str) -> list[str]:
    return kedge("review", "outcome", "boat", *more).out.splitlines()


def test_the_outcome_of_an_approval_names_iteration_and_tree(boat: Path, kedge: Kedge) -> None:
    assert record(kedge, "failed", "--finding", "major no test", "--of", "5")["iteration"] == 1
    change(boat)
    made = record(kedge, "approved")
    assert (made["iteration"], made["cap"]) == (2, 5)
    git(boat, "add", "a.py")
    assert made["tree"] == git(boat, "write-tree").strip()
    lines = block(kedge)
    assert lines[:4] == [
        "## Domain Reviewer Outcome",
        "- Reviewer: spec-reviewer",
        "- Result: APPROVED at iteration 2/5",
        "- Unresolved issues: none",
    ]
    assert lines[4:] == [f"- Tree: approved tree {made['tree'][:12]}"]


def test_without_reviews_the_outcome_is_empty(boat: Path, kedge: Kedge) -> None:
    ran = kedge("review", "outcome", "boat")
    assert (ran.out, ran.err) == ("", "")
    record(kedge, "approved", "--phase", "design")
    assert kedge("review", "outcome", "boat", "--phase", "specify").out == ""
    assert kedge("review", "outcome", "boat", "--reviewer", "other").out == ""


def test_the_same_tree_is_not_reviewed_twice_by_the_same_reviewer(boat: Path, kedge: Kedge) -> None:
    record(kedge, "failed")
    before = (boat / ".kedge/reviews/boat.jsonl").read_bytes()
    refused = record(kedge, "approved", code=None)
    assert_clear(refused, code=1, says="spec-reviewer has reviewed this tree already")
    assert (boat / ".kedge/reviews/boat.jsonl").read_bytes() == before
    record(kedge, "approved", reviewer="design-reviewer")
    record(kedge, "approved", "--phase", "implement")
    change(boat)
    assert record(kedge, "approved")["iteration"] == 2


def test_a_review_beyond_the_cap_is_refused(boat: Path, kedge: Kedge) -> None:
    for _ in range(3):
        change(boat)
        record(kedge, "failed", "--finding", "F1 blocker the knot slips (a.py:1)")
    assert block(kedge)[2:] == [
        "- Result: FAILED at iteration cap (3/3)",
        "- Unresolved issues: F1 (blocker): the knot slips (a.py:1)",
    ]
    change(boat)
    refused = record(kedge, "approved", code=None)
    assert_clear(refused, code=1, says="the cap of 3 iterations is reached")
    assert "--of 4" in refused.err
    assert record(kedge, "approved", "--of", "4")["iteration"] == 4


def test_a_change_after_approval_is_reported(boat: Path, kedge: Kedge) -> None:
    tree = record(kedge, "approved")["tree"]
    kedge("log", "append", "boat", input="Implemented: it\nDecisions: one\n")
    kedge("task", "claim", "boat")  # what kedge keeps of the work is no change of it
    assert not any("now" in line for line in block(kedge))
    change(boat)
    line = next(one for one in block(kedge) if one.startswith("- Tree"))
    now = kedge.json("review", "outcome", "boat")["reviews"][0]
    assert now["changed"]
    assert line == f"- Tree: approved tree {tree[:12]}; the tree is {now['tree_now'][:12]} now"


def test_kedges_own_records_do_not_change_the_tree(repo: Path, kedge: Kedge) -> None:
    folder = repo / FEATURE
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text("# Limits\n\n### Task 1.1: Token bucket\n")
    words = ("review", "record", FEATURE, "--reviewer", "r", "--phase", "implement")
    kedge(*words, "--result", "failed")
    kedge("task", "claim", "014-1.1")
    kedge("log", "append", "014-1.1", input="Implemented: it")
    refused = kedge(*words, "--result", "approved", code=None)
    assert_clear(refused, code=1, says="reviewed this tree already")
    (repo / "src.py").write_text("")
    kedge(*words, "--result", "approved")
    assert "APPROVED at iteration 2/3" in kedge("review", "outcome", "14").out
    path = repo / ".kedge" / "reviews" / "014-limits.jsonl"
    assert len(path.read_text().splitlines()) == 2
    assert ".kedge/reviews/014-limits.jsonl" in git(repo, "status", "--porcelain", "-uall")


def test_a_named_tree_is_checked(boat: Path, kedge: Kedge) -> None:
    kedge("context", "init", "boat")
    kedge("context", "begin", "boat", "--agent", "implementer")
    kedge("context", "snapshot", "boat", "--agent", "implementer")
    kept = kedge.json("context", "show", "boat")["coordination"]["implementer"]["snapshot"]["tree"]
    change(boat)
    assert record(kedge, "failed", "--tree", kept)["tree"] == kept
    ran = record(kedge, "failed", "--tree", kept, reviewer="other", code=0)
    assert "1 path differs" in ran.err
    wrong = record(kedge, "failed", "--tree", "0" * 39 + "1", reviewer="x", code=None)
    assert_clear(wrong, code=1, says="no tree 0000")
    wrong = record(kedge, "failed", "--tree", "--all", reviewer="x", code=None)
    assert_clear(wrong, code=1, says="not a tree")


def test_a_review_can_be_read_from_an_answer(boat: Path, kedge: Kedge) -> None:
    answer = {
        "approved": False,
        "issues": [
            {"severity": "high", "description": "unbounded retry", "location": "a.py:3"},
            {"severity": "nit", "description": "name"},
        ],
        "summary": "Not yet.",
    }
    (boat / "answer.txt").write_text(f"My review:\n```json\n{json.dumps(answer)}\n```\n")
    words = ("review", "record", "boat", "--reviewer", "plan-reviewer", "--from")
    made = kedge.json(*words, "answer.txt", "--finding", "X1 minor one more")
    assert made["result"] == "failed"
    assert made["summary"] == "Not yet."
    assert [(one["id"], one["severity"]) for one in made["findings"]] == [
        ("F1", "major"),
        ("F2", "note"),
        ("X1", "minor"),
    ]
    unresolved = kedge("review", "outcome", "boat").out.splitlines()[3]
    assert unresolved == (
        "- Unresolved issues: F1 (major): unbounded retry (a.py:3); X1 (minor): one more"
    )
    change(boat)
    ran = kedge(*words, "-", input="Hm, interesting.", code=None)
    assert_clear(ran, code=2, says="no verdict given")
    assert_clear(kedge(*words, "-", input=" ", code=None), code=1, says="is empty")
    ran = kedge(*words, "-", "--result", "approved", input="Verdict: rejected")
    assert "warning: the answer says failed, but --result approved is recorded" in ran.err


def claims(kedge: Kedge) -> str:
    found = [line for line in block(kedge) if line.startswith("- External claims: ")]
    return found[-1].partition(": ")[2] if found else ""


def test_unverified_claims_are_marked(boat: Path, kedge: Kedge) -> None:
    made = record(
        kedge, "approved", "--unverified", "TLS 1.0 is off", "--tool-missing", "Context7",
        "--tool-missing", "WebSearch", reviewer="security-reviewer",
    )  # fmt: skip
    assert made["kind"] == "security"
    assert made["verification"] == "unverified"
    assert made["result"] == "approved"  # tools that are missing hold nothing up
    assert (
        claims(kedge) == "unverified, 1 flagged for human review (Context7, WebSearch unavailable)"
    )
    change(boat)
    made = record(
        kedge, "approved", "--verified", "bcrypt cuts at 72 bytes | https://example.org",
        reviewer="security-reviewer",
    )  # fmt: skip
    assert made["verification"] == "verified"
    assert made["verified"] == [
        {"claim": "bcrypt cuts at 72 bytes", "source": "https://example.org"}
    ]
    assert claims(kedge) == "1 verified"


def test_no_external_claims_is_recorded(boat: Path, kedge: Kedge) -> None:
    made = record(kedge, "approved", "--no-external-claims", reviewer="implementation-reviewer")
    assert made["verification"] == "none"
    assert claims(kedge) == "no external claims to verify"
    both = ("--no-external-claims", "--unverified", "x")
    change(boat)
    assert_clear(record(kedge, "approved", *both, code=None), code=2, says="--no-external-claims")
    bare = ("--verified", "a claim")
    assert_clear(record(kedge, "approved", *bare, code=None), code=2, says="has no source")
    made = record(kedge, "approved", "--kind", "security")
    assert made["verification"] == "not-stated"
    assert claims(kedge) == "not stated"
    change(boat)
    record(kedge, "approved", reviewer="design-reviewer")
    assert not any("External" in line for line in block(kedge, "--reviewer", "design-reviewer"))


def test_the_history_is_listed(boat: Path, kedge: Kedge) -> None:
    first = record(kedge, "failed", "--finding", "major no test", "--phase", "design")
    change(boat)
    record(kedge, "approved", "--phase", "design", "--summary", "fine")
    rows = [line.split("\t") for line in kedge("review", "list", "boat").out.splitlines()]
    assert rows[0] == [
        *("1/3", "design", "spec-reviewer", "failed"),
        *(first["tree"][:12], "F1 (major): no test"),
    ]
    assert rows[1][0] == "2/3"
    assert rows[1][5] == "fine"
    data = kedge.json("review", "list", "boat")
    assert data[0] == first


def test_reviews_are_redacted_and_only_appended(boat: Path, kedge: Kedge) -> None:
    key = "sk-ant-" + "a1B2" * 8
    record(kedge, "failed", "--finding", f"blocker the key {key} is in a.py")
    path = boat / ".kedge" / "reviews" / "boat.jsonl"
    before = path.read_bytes()
    assert key.encode() not in before
    assert b"[redacted:anthropic-key]" in before
    change(boat)
    record(kedge, "approved")
    assert path.read_bytes().startswith(before)


def test_concurrent_reviews_are_all_recorded(boat: Path, kedge: Kedge) -> None:
    def one(number: int) -> None:
        record(kedge, "failed", "--finding", f"major {number} things", reviewer=f"r{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    found = kedge.json("review", "list", "boat")
    assert len({row["reviewer"] for row in found}) == 8
    assert sorted(row["findings"][0]["id"] for row in found) == [f"F{n}" for n in range(1, 9)]


def test_unknown_subjects_are_refused(boat: Path, kedge: Kedge) -> None:
    words = ("review", "record", "nobody", "--reviewer", "r", "--result", "approved")
    assert_clear(kedge(*words, code=None), code=1, says="'nobody'")
    assert_clear(kedge("review", "outcome", "../x", code=None), code=1, says="'../x'")
    assert_clear(record(kedge, "approved", reviewer=" ", code=None), code=1, says="a reviewer")
    assert_clear(record(kedge, "maybe", code=None), code=2, says="maybe")
    assert not (boat / ".kedge" / "reviews").exists()


def test_reviews_of_a_deleted_subject_are_still_listed(boat: Path, kedge: Kedge) -> None:
    record(kedge, "approved")
    (boat / ".kedge" / "tasks.jsonl").write_text("")
    assert "APPROVED at iteration 1/3" in kedge("review", "outcome", "boat").out
