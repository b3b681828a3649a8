"""`kedge retro`: what is known of finished work, as one text for an agent."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from support import Kedge, assert_clear, git

from kedge.host import project, tokens
from kedge.knowledge.reviews import records
from kedge.knowledge.reviews.records import Finding, Review
from kedge.store import sessions
from kedge.store.sqlite import connect

BANK = "docs/knowledge-bank"
TASKS = """# Import queue

### Task 1.1: Retry the importer
**Status:** done
With a growing delay, in `src/queue.py`.

### Task 1.2: Count what failed
**Status:** done
"""
LOG = """# Implementation Log

## Task 1.1: Retry the importer
- **Files changed:** src/queue.py
- **Decisions:** jitter, since all clients woke at once
- **Deviations:** none
- **Concerns:** none
<!-- kedge: report 0123456789ab of 012-1.1, attempt 1 -->
"""
NOTES = """# Heuristics

### Heuristic: Retry with backoff
Immediate retries took the queue down.
- Source: Feature #003
- Confidence: high
- Last observed: Feature #003
- Observation count: 1

### Heuristic: Label every field
Screen readers need it.
- Source: Feature #004
- Last observed: Feature #004
- Observation count: 1
"""


def commit(repo: Path, message: str) -> str:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", message)
    return git(repo, "rev-parse", "--short", "HEAD").strip()


def write(repo: Path, path: str, text: str) -> None:
    (repo / path).parent.mkdir(parents=True, exist_ok=True)
    (repo / path).write_text(text)


@pytest.fixture
def queue(repo: Path, kedge: Kedge) -> Kedge:
    """A feature with its documents, three commits, a lesson that it learned and two of before."""
    write(repo, "src/queue.py", "def pull(): ...\n")
    write(repo, "docs/features/003-old/.meta.json", '{"status": "completed"}')
    commit(repo, "Before")
    write(repo, "docs/features/012-queue/tasks.md", TASKS)
    commit(repo, "Plan the queue")
    write(repo, "src/queue.py", "def pull(): ...\n\n\ndef retry(): ...\n")
    commit(repo, "Retry")
    write(repo, "src/queue.py", "def pull(): ...\n\n\ndef retry(times=3): ...\n")
    commit(repo, "Retry less often")
    write(repo, f"{BANK}/heuristics.md", NOTES)
    text = ["--text", "The clock of a runner may go back."]
    kedge("knowledge", "add", "Monotonic time", "--type", "pattern", *text, "--in", "12")
    return kedge


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no {title!r} in {text}"
    return found[1].strip()


def test_bundle_of_a_feature(queue: Kedge) -> None:
    root = queue.directory
    write(root, "docs/features/012-queue/implementation-log.md", LOG)
    queue("task", "reopen", "012-1.2")
    queue("task", "claim", "012-1.2", "--as", "ada")
    block = ["--type", "tooling", "--reason", "no metrics here", "--tried", "statsd"]
    queue("task", "block", "012-1.2", *block, "--avoid", "a global counter")
    here = project.find(root)
    draft = Review("012-queue", "spec-reviewer", "failed", "1" * 40, phase="specify")
    first = Finding("", "major", "no limit for retries", "spec.md:4")
    second = Finding("", "blocker", "who pays for them is open")
    records.record_review(here, replace(draft, findings=(first, second)))
    records.record_review(here, replace(draft, tree="2" * 40, findings=(second,)))
    queue_text = queue("retro", "012-queue").out
    assert queue_text.startswith("# Retro: 012-queue, Import queue\n")
    assert section(queue_text, "Tasks") == (
        "1 done, 1 blocked; 1 attempt on record.\n"
        "- 012-1.1: Retry the importer (done)\n"
        "- 012-1.2: Count what failed (blocked — no metrics here)\n"
        "  - #1 blocked, implementer ada: tooling: no metrics here\n"
        "    - tried: statsd\n"
        "    - avoid: a global counter"
    )
    assert section(queue_text, "Reviews") == (
        "- spec-reviewer, 012-queue, specify: FAILED at iteration 2/3; 2 iterations, 2 findings,"
        " 1 unresolved\n"
        "  - F1 (major, resolved): no limit for retries [spec.md:4]\n"
        "  - F2 (blocker, unresolved): who pays for them is open"
    )
    log = section(queue_text, "Implementation log")
    assert log.startswith("### Task 1.1: Retry the importer\n- **Files changed:** src/queue.py\n")
    assert "jitter, since all clients woke at once" in log
    assert "kedge: report" not in log
    lessons = section(queue_text, "Lessons to judge")
    assert "so do not judge them: Monotonic time." in lessons
    assert "**Heuristic: Retry with backoff** (confidence high, observed 1×, last in" in lessons
    assert f"[{BANK}/heuristics.md:3]\n  Immediate retries took the queue down." in lessons
    assert lessons.index("Retry with backoff") < lessons.index("Label every field")
    answer = section(queue_text, "Your answer")
    shape = json.loads(answer.split("```json\n")[1].split("```")[0])
    assert list(shape) == ["new", "confirmed", "challenged", "skipped"]


def test_feature_commits_start_with_the_commit_that_added_its_folder(queue: Kedge) -> None:
    root = queue.directory
    *_, first, _ = git(root, "log", "--format=%h").split()
    text = section(queue("retro", "12").out, "Commits")
    assert (
        f"from {git(root, 'rev-parse', first)[:10]}, which added docs/features/012-queue." in text
    )
    assert "3 commits, 2 files, +12 −1 lines." in text
    assert "- src/queue.py: 2 commits, +4 −1" in text
    subjects = re.findall(r"^- [0-9a-f]{7,} (.*)$", text, re.MULTILINE)
    assert subjects == ["Retry less often", "Retry", "Plan the queue"]
    assert f"Not committed: {BANK}/." in text
    data = queue.json("retro", "12", "--since", "HEAD~1")["parts"]["git"]
    assert [one["subject"] for one in data["commits"]] == ["Retry less often"]
    assert [(one["path"], one["added"], one["deleted"]) for one in data["files"]] == [
        ("src/queue.py", 1, 1)
    ]
    assert_clear(queue("retro", "12", "--since", "nope", code=1), code=1, says="no commit 'nope'")
    assert_clear(queue("retro", "12", "--since=--all", code=1), code=1, says="no commit '--all'")


def test_work_may_start_with_the_root_commit(repo: Path, kedge: Kedge) -> None:
    write(repo, "docs/features/001-a/tasks.md", TASKS)
    assert "There are no commits yet." in kedge("retro", "1").out
    for name in ("a b\tc.txt", "new\nline", "\x1e\x1f", "é"):
        write(repo, name, "x\n")
    (repo / "binary").write_bytes(b"\x00\xff")
    commit(repo, "All\x1e of\x1f it\n\n" + "a" * 40 + "\n1\t2\tno")
    git(repo, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
    data = kedge.json("retro", "1")["parts"]["git"]
    assert [one["subject"] for one in data["commits"]] == ["", "All\x1e of\x1f it"]
    assert {one["path"]: one["added"] for one in data["files"]} == {
        "docs/features/001-a/tasks.md": 8,
        **dict.fromkeys(("a b\tc.txt", "new\nline", "\x1e\x1f", "é"), 1),
        "binary": 0,
    }
    assert "2 commits, 6 files, +12 −0 lines." in kedge("retro", "1").out


def test_task_commits_start_at_its_handoff_or_its_start_time(repo: Path, kedge: Kedge) -> None:
    write(repo, "a.py", "x = 1\n")
    commit(repo, "Before")
    asked = ["--description", "Sum it up.", "--accept", "it adds up", "--check", "sh check.sh"]
    kedge("task", "add", "Sum", "--id", "t1", *asked)
    text = section(kedge("retro", "t1").out, "Commits")
    assert text == "The commit on which the work started is unknown: give it with --since COMMIT."
    kedge("task", "claim", "t1", "--as", "ada")
    assert "when the work started." in kedge("retro", "t1", "--part", "git").out
    kedge("context", "init", "t1")
    base = git(repo, "rev-parse", "HEAD")[:10]
    write(repo, "check.sh", "exit 1\n")
    qa = ["context", "record-qa", "t1", "--agent", "implementer"]
    kedge(*qa)
    write(repo, "check.sh", "exit 0\n")
    kedge(*qa)
    commit(repo, "Sum")
    for closed in (False, True):  # an open handoff, then an archived one
        if closed:
            kedge("task", "close", "t1")
            assert (repo / ".kedge" / "handoffs" / "t1.jsonl").exists()
        text = kedge("retro", "t1").out
        assert f"since {base}, where the work started.\n1 commit, 1 file," in text
        assert section(text, "Checks") == (
            "- t1: `sh check.sh`: first exit 1, last passed (2 runs, 1 failed)"
        )


def test_drift_of_sessions_handoffs_and_attempts_is_listed(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Sum", "--id", "t1")
    assert section(kedge("retro", "t1").out, "Drift") == "None is on record."
    here = project.find(repo)
    with closing(connect(here.home())[0]) as db:
        row = {"agent": "claude", "project": str(repo), "policy": "advise"}
        row |= {
            "task": "t1",
            "goal": "sum it up",
            "started_at": "2026-01-01",
            "checked_at": "2026-01-02",
        }
        sessions.add(db, "s-1", **row, steps=40, summary={"alarms": 2, "worst": "correct"})
        sessions.add(db, "s-2", **{**row, "task": "t2"})
    text = section(kedge("retro", "t1").out, "Drift")
    assert text.startswith(
        "- t1, session s-1: goal: sum it up, actions: 40, alarms: 2, worst: corr"
    )
    assert "s-2" not in text
    line = {"drift": [{"since": "implementer", "state": "accepted", "note": "I mended b", "at": 1}]}
    write(repo, ".kedge/handoffs/t1.jsonl", json.dumps(line))
    kedge("task", "claim", "t1", "--as", "ada")
    kedge("task", "block", "t1", "--type", "tooling", "--reason", "none")
    ledger = repo / ".kedge" / "ledger" / "t1.jsonl"
    ledger.write_text(json.dumps({**json.loads(ledger.read_text()), "drift": {"score": 4}}))
    rows = section(kedge("retro", "t1").out, "Drift").splitlines()
    assert rows[0] == "- t1, attempt 1: score: 4"
    assert rows[2] == "- t1, handoff: since: implementer, state: accepted, note: I mended b"


def test_empty_parts_say_so_in_one_line(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Sum", "--id", "t1")
    text = kedge("retro", "t1").out
    assert section(text, "Implementation log") == "There is no implementation log."
    assert section(text, "Reviews") == "None is on record."
    assert section(text, "Checks") == "No check run is on record."
    assert section(text, "Lessons to judge") == "There are none."
    assert "## Lessons that age" not in text
    assert "warning: not finished yet: t1" in kedge("retro", "t1").err


def test_stale_lessons_are_listed_for_the_user_to_decide(queue: Kedge) -> None:
    for number in range(13, 24):
        meta = json.dumps({"status": "completed", "completed": f"2030-02-{number}T00:00:00Z"})
        write(queue.directory, f"docs/features/{number:03}-x/.meta.json", meta)
    text = section(queue("retro", "12").out, "Lessons that age")
    assert "`kedge knowledge stale --keep NAME --in 012-queue`" in text
    assert f"- Retry with backoff [{BANK}/heuristics.md:3]: stale, " in text
    queue("knowledge", "stale", "--keep", "Retry with backoff", "--in", "023-x")
    assert "Retry with backoff [" not in queue("retro", "12", "--part", "stale").out


def test_only_relevant_lessons_of_a_large_bank_are_judged(queue: Kedge) -> None:
    rows = [
        f"### Pattern: Ship {n}\nBerth {n} by tide and draught.\n- Used in: Feature #001\n"
        for n in range(80)
    ]
    write(queue.directory, f"{BANK}/patterns.md", "# Patterns\n\n" + "\n".join(rows))
    data = queue.json("retro", "12")["parts"]
    assert [one["name"] for one in data["knowledge"]] == ["Retry with backoff"]
    assert data["passed_over"] == 81
    assert "81 others do not seem relevant for this work: `kedge knowledge list`" in (
        queue("retro", "12").out
    )
    write(queue.directory, f"{BANK}/patterns.md", "# Patterns\n\n" + "\n".join(rows[:48]))
    assert len(queue.json("retro", "12")["parts"]["knowledge"]) == 50


def test_budget_is_respected_and_cuts_name_the_command_for_the_rest(queue: Kedge) -> None:
    root = queue.directory
    long = LOG + "".join(f"- **Concerns:** number {n} about the harbour\n" for n in range(3000))
    write(root, "docs/features/012-queue/implementation-log.md", long)
    for number in range(10):
        write(root, f"src/m{number}.py", "x\n")
        commit(root, f"Step {number} of the work")
    whole = queue.json("retro", "12")
    assert whole["budget"] == 8000
    for budget in (700, 2000, 8000):
        data = queue.json("retro", "12", "--tokens", str(budget))
        assert data["tokens"] <= budget
        assert tokens.count(data["text"]) == data["tokens"]
        assert '"challenged": [' in data["text"]
        assert "number 2999" not in data["text"]
    commands = re.findall(r"tokens left out; `(kedge retro [^`]*)` prints all", whole["text"])
    (command,) = [one for one in commands if "--part log" in one]
    assert "number 2999 about the harbour" in queue(*command.split()[1:]).out
    small = queue("retro", "12", "--tokens", "700").out
    (again,) = re.findall(
        r"^\[No room for .*; `(kedge retro [^`]*)` prints all\]$", small, re.MULTILINE
    )
    assert "number 2999 about the harbour" in queue(*again.split()[1:]).out


def test_output_is_deterministic(queue: Kedge) -> None:
    first = queue("retro", "12").out
    assert queue("retro", "012-queue", env={"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}).out == first
    assert queue("retro", "docs/features/012-queue/").out == first
    assert queue("retro", "Feature #12").out == first


def test_parts_can_be_selected(queue: Kedge) -> None:
    text = queue("retro", "12", "--part", "git", "--part", "tasks").out
    assert re.findall(r"^## .*", text, re.MULTILINE) == ["## Tasks", "## Commits"]
    data = queue.json("retro", "12", "--part", "answer")
    assert [one["source"] for one in data["sections"]] == ["answer"]
    assert data["work"] == {
        "kind": "feature",
        "id": "012-queue",
        "title": "Import queue",
        "label": "Feature #012",
    }


def test_unknown_subject_is_refused(queue: Kedge) -> None:
    assert queue.json("retro", "012-1.1")["work"]["kind"] == "task"
    assert queue.json("retro", "task 012-1.1")["work"]["label"] == "Task 012-1.1"
    assert_clear(queue("retro", "77", code=1), code=1, says="no feature or task '77'")
    for name in ("../012-queue-x", "012-1.9", "../012-queue", "/etc", "", "\udcff", "a" * 5000):
        assert_clear(queue("retro", name, code=1), code=1, says="no feature or task")


def test_archived_log_is_included(queue: Kedge) -> None:
    write(queue.directory, ".kedge/archive/012-queue/implementation-log.md", LOG)
    assert "jitter, since all clients woke at once" in queue("retro", "12").out


def test_secrets_are_redacted(queue: Kedge) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    write(queue.directory, "docs/features/012-queue/implementation-log.md", LOG + f"- {key}\n")
    write(queue.directory, "src/k.py", "x\n")
    commit(queue.directory, f"Use {key}")
    for options in ([], ["--json"]):
        ran = queue("retro", "12", *options)
        assert key not in ran.out + ran.err


def test_damaged_records_are_warnings(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Sum", "--id", "t1", "--check", "true")
    for name in ("ledger", "reviews", "handoffs", "retros"):
        write(repo, f".kedge/{name}/t1.jsonl", '{"checks": 3, "new": [1]}\n[]\n{torn')
    ran = kedge("retro", "t1")
    assert "- t1: Sum (open)" in ran.out
    for name in ("ledger", "reviews", "handoffs"):
        assert f".kedge/{name}/t1.jsonl:3: skipped" in ran.err
    answer_data = {"new": [{"type": "pattern", "name": "Sums", "text": "Add from the smallest."}]}
    done = kedge("retro", "t1", "--apply", "-", input=json.dumps(answer_data))
    assert "added: Sums" in done.out
    assert ".kedge/retros/t1.jsonl:3: skipped" in done.err


def test_retro_works_outside_git(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    (root / ".kedge").mkdir(parents=True)
    kedge = Kedge(root)
    kedge("task", "add", "Sum", "--id", "t1")
    assert "The project is not in git." in kedge("retro", "t1").out


def test_lesson_is_added_confirmed_and_stays_fresh(queue: Kedge) -> None:
    """A lesson is added, offered, confirmed, and stays fresh while another goes stale."""
    write(queue.directory, "docs/features/012-queue/.meta.json", '{"status": "completed"}')
    text = queue("retro", "12").out
    assert "Retry with backoff" in section(text, "Lessons to judge")
    answer_data = {
        "new": [{"type": "anti-pattern", "name": "Silent retries", "text": "Log each of them."}],
        "confirmed": [{"entry": "Retry with backoff", "evidence": "Retry less often"}],
        "skipped": ["Label every field"],
    }
    queue("retro", "12", "--apply", "-", input=f"Here:\n```json\n{json.dumps(answer_data)}\n```\n")
    again = queue("retro", "12").out
    assert "do not judge them: Silent retries, Monotonic time." in again
    for number in range(13, 23):
        meta = json.dumps({"status": "completed", "completed": f"2030-02-{number}T00:00:00Z"})
        write(queue.directory, f"docs/features/{number:03}-x/.meta.json", meta)
    ages = {one["name"]: one["age"] for one in queue.json("knowledge", "list")}
    assert ages["Retry with backoff"] == ages["Silent retries"] == 10
    stale = [one["name"] for one in queue.json("knowledge", "stale", "--after", "11")]
    assert stale == ["Label every field"]
