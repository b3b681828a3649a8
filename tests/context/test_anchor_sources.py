"""Lessons from the knowledge bank in anchors and in a reviewer's view."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import Kedge, assert_clear, git

from kedge.host import tokens

BANK = "docs/knowledge-bank"
MONEY = "Float arithmetic for prices"
SLOW = "Slow hashes for passwords"
NOTES = f"""# Anti-Patterns

### Anti-Pattern: {MONEY}
Totals were a cent off. Keep amounts as whole numbers.
- Observed in: Feature #001

### Anti-Pattern: Sleeping in tests
Poll a condition with a deadline.
- Observed in: Feature #002
"""


@pytest.fixture
def work(repo: Path, kedge: Kedge) -> Kedge:
    """Code, three lessons, one of them anchored, and a task for two of them."""
    (repo / "src").mkdir()
    (repo / "src" / "auth.py").write_text("def hash_password(text):\n    return text\n")
    (repo / BANK).mkdir(parents=True)
    (repo / BANK / "anti-patterns.md").write_text(NOTES)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    text = ["--text", "A table of plain digests was cracked in an hour."]
    add = ["knowledge", "add", SLOW, "--type", "heuristic", *text]
    kedge(*add, "--at", "src/auth.py#hash_password")
    told = ["--description", "Round the prices of the basket.", "--scope", "src/"]
    kedge("task", "add", "Prices with cents", "--id", "t1", *told)
    kedge("task", "add", "Tidy the changelog", "--id", "t2")
    return kedge


def lessons(kedge: Kedge, task: str = "t1", *options: str) -> str:
    """Return the anchor's text below that title."""
    text = kedge("anchor", task, *options).out
    found = re.search(r"^### Lessons\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def test_the_anchor_has_the_lessons_that_matter(work: Kedge) -> None:
    told = lessons(work)
    assert f"**Anti-Pattern: {MONEY}**" in told
    assert "\n  Totals were a cent off. Keep amounts as whole numbers.\n" in told
    assert "Sleeping in tests" not in told
    sources = [one["source"] for one in work.json("anchor", "t1")["sections"]]
    assert sources[-1] == "knowledge"
    assert lessons(work, "t1", "--sources", "task,git") == ""
    assert lessons(work, "t1", "--sources", "knowledge") == told.rstrip("\n") + "\n"


def test_no_lessons_section_when_no_lesson_matters(work: Kedge, repo: Path) -> None:
    assert "Lessons" not in work("anchor", "t2").out
    sources = [one["source"] for one in work.json("anchor", "t2")["sections"]]
    assert "knowledge" not in sources
    for path in (repo / BANK).iterdir():
        path.unlink()
    assert "Lessons" not in work("anchor", "t1").out


def test_no_lessons_without_a_task_or_a_bank(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Prices with cents", "--id", "t1")
    assert kedge.json("anchor", "t1", "--sources", "knowledge")["sections"] == []
    assert kedge.json("anchor", "--sources", "knowledge")["sections"] == []


def test_a_drifted_lesson_is_marked_and_one_whose_code_is_gone_is_left_out(
    work: Kedge, repo: Path
) -> None:
    task = ["--description", "Use scrypt in hash_password.", "--scope", "src/auth.py"]
    work("task", "add", "Hash passwords", "--id", "t3", *task)
    assert f"- **Heuristic: {SLOW}**" in lessons(work, "t3")
    assert "may no longer hold" not in lessons(work, "t3")
    path = repo / "src" / "auth.py"
    path.write_text("def hash_password(text):\n    return scrypt(text)\n")
    told = lessons(work, "t3")
    mark = "may no longer hold: src/auth.py#hash_password has changed since"
    assert mark in told.splitlines()[0]
    path.write_text("def other(): ...\n")
    assert SLOW not in work("anchor", "t3").out
    path.unlink()
    assert SLOW not in work("anchor", "t3").out


def test_lessons_stay_within_their_budget_and_name_what_is_left_out(
    work: Kedge, repo: Path
) -> None:
    page = repo / BANK / "patterns.md"
    long = "Round the basket to whole cents at the end. " * 100
    texts = {f"Rounding of baskets {n}": long + str(n) for n in range(4)}
    texts |= {f"Ships {n}": f"Berth {n} by tide and draught." for n in range(30)}
    rows = [
        f"### Pattern: {name}\n{text}\n- Used in: F{n}\n"
        for n, (name, text) in enumerate(texts.items())
    ]
    page.write_text("# Patterns\n\n" + "\n".join(rows))
    part = work.json("anchor", "t1", "--sources", "knowledge")
    assert part["tokens"] < 300
    assert part["text"].count("…") >= 2
    assert "[… more was left out; `kedge knowledge list --task t1` prints it]" in part["text"]
    assert tokens.count(lessons(work)) <= 290
    small = work.json("anchor", "t1", "--tokens", "200")
    assert small["tokens"] <= 200


def test_lessons_hold_no_secret_and_no_control_character(work: Kedge, repo: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    page = repo / BANK / "patterns.md"
    page.write_bytes(
        f"### Pattern: Prices with a key\nRound the prices \x1b[2J with {key}.\n".encode()
        + b"\xff prices\n- Used in: Feature #001\n"
    )
    ran = work("anchor", "t1", "--sources", "knowledge")
    assert "Prices with a key" in ran.out
    assert key not in ran.out
    assert "\x1b" not in ran.out


def test_an_unreadable_bank_is_reported_and_the_rest_is_printed(work: Kedge, repo: Path) -> None:
    page = repo / BANK / "patterns.md"
    page.symlink_to("/etc/hostname")
    ran = work("anchor", "t1")
    assert "leads out of" in ran.err
    assert MONEY in ran.out
    assert "ID: t1" in ran.out


def test_a_delta_holds_a_lesson_once(work: Kedge, repo: Path) -> None:
    delta = ["anchor", "t1", "--mode", "delta", "--session", "s"]
    assert MONEY in work(*delta).out
    data = work.json(*delta)
    assert MONEY not in data["text"]
    assert "knowledge" in data["unchanged"]
    work("knowledge", "confirm", MONEY, "--in", "t1", "--evidence", "seen again")
    assert MONEY in work(*delta).out


def test_a_session_gets_the_lessons_at_its_start(work: Kedge) -> None:
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
    event["cwd"] = str(work.directory)
    ran = work("hook", "claude", input=json.dumps(event), env={"KEDGE_TASK": "t1"})
    said = json.loads(ran.out)["hookSpecificOutput"]["additionalContext"]
    assert f"**Anti-Pattern: {MONEY}**" in said


# In a reviewer's view


def take_snapshots(work: Kedge) -> None:
    work("context", "init", "t1")
    work("context", "begin", "t1", "--agent", "implementer")
    path = work.directory / "src" / "auth.py"
    path.write_text(path.read_text() + "\n\ndef price(): ...\n")
    work("context", "snapshot", "t1", "--agent", "implementer")


def test_a_reviewer_gets_the_lessons_for_the_task_and_the_change(work: Kedge) -> None:
    take_snapshots(work)
    data = work.json("context", "show", "t1", "--role", "reviewer")
    names = [one["name"] for one in data["lessons"]]
    assert {MONEY, SLOW} <= set(names)  # one by the task's words, one by a changed path
    assert "Sleeping in tests" not in names
    text = work("context", "show", "t1", "--role", "reviewer").out
    assert text == data["text"]
    assert f"## Lessons\n\n- **{'Heuristic' if names[0] == SLOW else 'Anti-Pattern'}: " in text
    assert tokens.count(text) == data["tokens"]


@pytest.mark.parametrize("role", ["implementer", "validator"])
def test_other_roles_get_no_lessons(work: Kedge, role: str) -> None:
    take_snapshots(work)
    data = work.json("context", "show", "t1", "--role", role)
    assert "lessons" not in data
    assert "Lessons" not in data["text"]


def test_a_reviewer_gets_lessons_before_the_first_snapshot(work: Kedge, repo: Path) -> None:
    work("context", "init", "t1")
    names = [
        one["name"] for one in work.json("context", "show", "t1", "--role", "reviewer")["lessons"]
    ]
    assert MONEY in names
    for path in (repo / BANK).iterdir():
        path.unlink()
    assert "lessons" not in work.json("context", "show", "t1", "--role", "reviewer")
    assert_clear(work("context", "show", "t9", "--role", "reviewer", code=1), code=1, says="t9")
