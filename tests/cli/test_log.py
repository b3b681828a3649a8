"""`kedge log append`, `read` and `archive`: what implementers report, as a user keeps it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import Kedge, assert_clear, git

FEATURE = "docs/features/014-limits"
LOG = f"{FEATURE}/implementation-log.md"
REPORT = """## What I implemented
A token bucket.

## What I tested
pytest, 4 passed

## Files changed
- src/bucket.py
- src/limits.py

## Implementation Decisions
A monotonic clock: NTP steps would hand out free tokens.

## Deviations
none

## Concerns
Two workers let twice as much through.
"""


@pytest.fixture
def feature(repo: Path) -> Path:
    """A feature of two tasks, committed."""
    folder = repo / FEATURE
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text(
        "# Limits\n\n### Task 1.1: Token bucket\n**Done when:** it holds\n\n### Task 1.2: Headers\n"
    )
    (folder / ".meta.json").write_text(json.dumps({"id": "014"}))
    (repo / "src").mkdir()
    (repo / "src" / "bucket.py").write_text("rate = 1\n")
    (repo / "src" / "limits.py").write_text("most = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "start")
    return folder


def body(text: str) -> str:
    """A log without the lines that mark its entries."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("<!-- kedge"))


def test_a_report_goes_into_the_log_of_its_feature(repo: Path, kedge: Kedge, feature: Path) -> None:
    for name in ("bucket", "limits"):
        (repo / "src" / f"{name}.py").write_text("rate = 2\n")
    (repo / "report.md").write_text(REPORT)
    (repo / ".git" / "info" / "exclude").write_text("report.md\n")
    ran = kedge("log", "append", "014-1.1", "--report", "report.md")
    assert ran.out == f"logged: {LOG}\n"
    assert body((repo / LOG).read_text()) == (
        "# Implementation Log\n"
        "\n"
        "## Task 1.1: Token bucket\n"
        "- **Files changed:** src/bucket.py, src/limits.py\n"
        "- **Decisions:** A monotonic clock: NTP steps would hand out free tokens.\n"
        "- **Deviations:** none\n"
        "- **Concerns:** Two workers let twice as much through.\n"
    )
    second = kedge.json(
        *("log", "append", "1.2", "--feature", FEATURE), input='{"decisions": ["RFC names"]}'
    )
    assert second["task"] == "014-1.2"
    assert "\n## Task 1.2: Headers\n" in (repo / LOG).read_text()
    assert "project" not in (repo / LOG).read_text().lower()  # it belongs to none


def test_a_task_without_a_feature_is_logged_below_dot_kedge(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Moor the boat", "--id", "boat")
    made = kedge.json("log", "append", "boat", input=REPORT)
    assert made["log"] == ".kedge/implementation-log.md"
    assert made["decisions"].startswith("A monotonic clock")
    assert made["self_review"] is None
    kept = (repo / made["report"]).read_text()
    assert kept == REPORT
    assert made["report"] in git(repo, "status", "--porcelain", "-uall")  # git can have it


def test_a_feature_can_be_in_any_directory(repo: Path, kedge: Kedge) -> None:
    folder = repo / "specs" / "auth"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text("- [ ] **1.1** Log in\n- [ ] **1.2** Log out\n")
    made = kedge.json("log", "append", "1.1", "--feature", "specs/auth", input=REPORT)
    assert made["log"] == "specs/auth/implementation-log.md"
    again = kedge("log", "append", "T1.2", "--feature", "auth", input=REPORT, cwd=repo / "specs")
    assert "implementation-log.md" not in again.out.partition("\n")[2]
    assert kedge("log", "read", "specs/auth").out.count("\n## Task 1.") == 2


def test_the_same_report_of_the_same_attempt_is_recognised(
    repo: Path, kedge: Kedge, feature: Path
) -> None:
    assert kedge.json("log", "append", "014-1.1", input=REPORT)["added"]
    before = (repo / LOG).read_bytes()
    ran = kedge("log", "append", "014-1.1", input=REPORT)
    assert "already logged" in ran.out
    assert (repo / LOG).read_bytes() == before
    assert kedge.json("log", "append", "014-1.1", "--attempt", "2", input=REPORT)["added"]


def test_the_attempt_number_comes_from_the_ledger(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Moor the boat", "--id", "boat")
    kedge("task", "claim", "boat")
    assert kedge.json("log", "append", "boat", input=REPORT)["attempt"] == 1
    kedge("task", "close", "boat", "--failed")
    assert not kedge.json("log", "append", "boat", input=REPORT)["added"]  # it was that attempt's
    kedge("task", "reopen", "boat")
    assert kedge.json("log", "append", "boat", input=REPORT)["attempt"] == 2


def test_a_partial_report_is_logged_as_partial(repo: Path, kedge: Kedge, feature: Path) -> None:
    made = kedge.json("log", "append", "014-1.1", input="It works now, see src/bucket.py.\n")
    assert made["partial"]
    assert made["missing"] == ["tested", "decisions", "deviations", "concerns"]
    assert made["decisions"] == made["deviations"] == made["concerns"] == "none"
    text = (repo / LOG).read_text()
    assert "- **Files changed:** src/bucket.py\n- **Decisions:** none\n" in text
    assert "- **Not reported:** tested, decisions, deviations, concerns\n" in text
    ran = kedge("log", "append", "014-1.2", input="Implemented: headers")
    assert "not reported: tested, files, decisions" in ran.out


def test_no_report_is_refused_and_the_next_one_is_taken(
    repo: Path, kedge: Kedge, feature: Path
) -> None:
    for nothing in ("", "  \n\n", "```\n```\n"):
        refused = kedge("log", "append", "014-1.1", input=nothing, code=None)
        assert_clear(refused, code=1, says="the report is empty")
        assert "again" in refused.err
        assert "continue without it" in refused.err
    assert not (repo / LOG).exists()
    assert not (repo / ".kedge" / "reports").exists()
    assert kedge.json("log", "append", "014-1.1", input=REPORT)["added"]


def test_reported_files_are_compared_with_the_working_tree(
    repo: Path, kedge: Kedge, feature: Path
) -> None:
    (repo / "src" / "bucket.py").write_text("rate = 2\n")
    (repo / "src" / "extra.py").write_text("")
    made = kedge.json("log", "append", "014-1.1", input=REPORT)
    assert made["check"]["unchanged"] == ["src/limits.py"]
    assert made["check"]["unreported"] == ["src/extra.py"]
    line = "reported but unchanged: src/limits.py; changed but unreported: src/extra.py"
    assert f"- **Files differ:** {line}\n" in (repo / LOG).read_text()
    ran = kedge("log", "append", "014-1.1", "--attempt", "2", input=REPORT)
    assert f"{line} (since HEAD)" in ran.out


def test_commits_since_the_start_of_the_task_count_as_changes(
    repo: Path, kedge: Kedge, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "a.py").write_text("a")
    git(repo, "add", "-A")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
    git(repo, "commit", "--quiet", "-m", "before")
    kedge("task", "add", "Moor the boat", "--id", "boat")
    kedge("task", "claim", "boat")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2090-01-01T00:00:00Z")
    (repo / "b.py").write_text("b")
    git(repo, "add", "b.py")
    git(repo, "commit", "--quiet", "-m", "work")
    text = "Implemented: it\nFiles changed: b.py, a.py"
    made = kedge.json("log", "append", "boat", input=text)
    assert made["check"]["unchanged"] == ["a.py"]
    assert made["check"]["unreported"] == []


def test_files_are_not_checked_without_a_known_start(
    repo: Path, kedge: Kedge, feature: Path
) -> None:
    assert kedge.json("log", "append", "014-1.1", input=REPORT)["check"] is None


def test_reported_files_are_compared_with_the_implementers_snapshot(
    repo: Path, kedge: Kedge, feature: Path
) -> None:
    kedge("context", "init", "014-1.1")
    kedge("context", "begin", "014-1.1", "--agent", "implementer")
    (repo / "src" / "bucket.py").write_text("rate = 2\n")
    kedge("context", "snapshot", "014-1.1", "--agent", "implementer")
    git(repo, "commit", "--quiet", "-am", "somebody commits")
    (repo / "src" / "limits.py").write_text("the reviewer's\n")
    made = kedge.json("log", "append", "014-1.1", input=REPORT)
    assert made["check"]["unchanged"] == ["src/limits.py"]
    assert made["check"]["unreported"] == []
    assert "implementer left" in made["check"]["since"]


def test_concurrent_reports_are_all_logged(repo: Path, kedge: Kedge, feature: Path) -> None:
    (repo / LOG).write_text("# Implementation Log\n\nWritten by hand.\n")
    before = (repo / LOG).read_bytes()

    def one(number: int) -> None:
        text = f"Implemented: part {number}\nDecisions: choice {number}\n"
        kedge("log", "append", f"014-1.{1 + number % 2}", input=text)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    after = (repo / LOG).read_bytes()
    assert after.startswith(before)
    text = after.decode()
    assert text.count("\n## Task 1.") == 8
    for number in range(8):
        assert text.count(f"- **Decisions:** choice {number}\n") == 1
    assert len(list((repo / ".kedge" / "reports").rglob("*.md"))) == 8


def test_read_prints_the_log_or_says_that_there_is_none(
    repo: Path, kedge: Kedge, feature: Path
) -> None:
    assert kedge("log", "read", "014").out == f"no implementation log for {FEATURE}\n"
    assert kedge.json("log", "read", "014-1.1")["text"] is None
    kedge("log", "append", "014-1.1", input=REPORT)
    kedge("log", "append", "014-1.2", input="Implemented: headers")
    for name in ("014", "14", "014-limits", FEATURE):
        assert kedge("log", "read", name).out == (repo / LOG).read_text()
    mine = kedge("log", "read", "014-1.2").out
    assert mine.startswith("## Task 1.2: Headers\n")
    assert "Task 1.1" not in mine


def test_archive_moves_the_log_and_says_where(repo: Path, kedge: Kedge, feature: Path) -> None:
    kedge("log", "append", "014-1.1", input=REPORT)
    text = (repo / LOG).read_text()
    ran = kedge("log", "archive", "14")
    place = ".kedge/archive/014-limits/implementation-log.md"
    assert ran.out == f"archived: {place}\n"
    assert (repo / place).read_text() == text
    assert not (repo / LOG).exists()
    assert place in git(repo, "status", "--porcelain", "-uall")  # git can have it
    assert place in kedge("log", "read", "14").out
    kedge("log", "append", "014-1.2", input=REPORT)
    second = kedge.json("log", "archive", FEATURE)["archived"]
    assert second == ".kedge/archive/014-limits/implementation-log-2.md"
    assert (repo / place).read_text() == text
    assert kedge("log", "archive", "14").out == f"no implementation log for {FEATURE}\n"


def test_unknown_tasks_and_features_are_refused(repo: Path, kedge: Kedge, feature: Path) -> None:
    ran = kedge("log", "append", "014-9", input=REPORT, code=None)
    assert_clear(ran, code=1, says="'014-9'")
    ran = kedge("log", "append", "9.9", "--feature", "14", input=REPORT, code=None)
    assert_clear(ran, code=1, says="'9.9'")
    ran = kedge("log", "append", "1.1", "--feature", "../..", input=REPORT, code=None)
    assert_clear(ran, code=1, says="../.. is outside")
    ran = kedge("log", "append", "014", input=REPORT, code=None)
    assert_clear(ran, code=1, says="is a feature")
    ran = kedge("log", "append", "014-1.1", "--report", "no.md", code=None)
    assert_clear(ran, code=1, says="no file no.md")
    ran = kedge("log", "append", "014-1.1", input=b"caf\xe9", code=None)
    assert_clear(ran, code=2, says="not UTF-8")
    assert_clear(kedge("log", "archive", "99", code=None), code=1, says="no feature '99'")
    assert not (repo / LOG).exists()


def test_a_symlink_out_of_the_project_is_not_followed(
    repo: Path, kedge: Kedge, feature: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("mine")
    (repo / LOG).symlink_to(outside)
    ran = kedge("log", "append", "014-1.1", input=REPORT, code=None)
    assert_clear(ran, code=1, says="leads out")
    assert outside.read_text() == "mine"
