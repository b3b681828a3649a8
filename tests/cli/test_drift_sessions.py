"""`kedge drift status`, `explain` and `report`, as a user runs them."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from drift.recorded import EVIDENCE, FIRST, GOAL, OTHER, QUOTE, TOLD, Recorded
from support import Kedge, assert_clear, git

import kedge as package
from kedge.store import sessions

KEY = "ghp_" + "a1B2c3D4e5F6" * 3
HOSTILE = "<script>alert(1)</script>\n\x1b[31mred\x1b]0;title\x07 \"'&"


@pytest.fixture
def record(repo: Path) -> Iterator[Recorded]:
    with closing(Recorded(repo)) as made:
        yield made


def terminal(repo: Path, *args: str, columns: int = 120) -> str:
    """What a command shows on a terminal."""
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "kedge", *args]
    env = {**os.environ, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(command, cwd=repo, stdout=writer, env=env) as running:
        os.close(writer)
        parts = []
        try:
            while part := os.read(reader, 65536):
                parts.append(part)
        except OSError as error:  # how a terminal ends on Linux
            assert error.errno == errno.EIO
        finally:
            os.close(reader)
        assert running.wait(60) == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_status_without_a_database_creates_none(kedge: Kedge, repo: Path) -> None:
    ran = kedge("drift", "status")
    assert ran.out == ""
    assert "no session is being watched" in ran.err
    assert "kedge init" in ran.err
    assert "kedge doctor" in ran.err
    assert kedge("drift", "status", "--json").document["data"] == []
    assert not (repo / ".git" / "kedge").exists()


def test_status_shows_active_sessions(kedge: Kedge, record: Recorded) -> None:
    at = record.add_drift()
    record.live()
    record.add_drift(OTHER)  # silent since long
    (row,) = kedge.json("drift", "status")
    assert row["id"] == FIRST
    assert FIRST.startswith(row["short"])
    assert not OTHER.startswith(row["short"])
    assert (row["agent"], row["goal"], row["task"]) == ("claude", GOAL, None)
    assert (row["status"], row["course"], row["steps"]) == ("active", "NORMAL", 5)
    last = row["last_correction"]
    assert (last["step"], last["level"], last["text"]) == (at, "intervene", TOLD)
    assert last["recovered"] == f"at step {at + 1}"
    (line,) = kedge("drift", "status").out.splitlines()
    cells = line.split("\t")
    assert cells[0] == row["short"]
    assert cells[-1] == GOAL
    assert cells[-2].endswith(f"This goes against what was asked. Back on course at step {at + 1}.")
    assert "[kedge]" not in line


def test_explain_says_whether_the_session_came_back(kedge: Kedge, record: Recorded) -> None:
    def course() -> str:
        return kedge("drift", "explain", FIRST).out.partition("\ncourse:")[2].partition("\n")[0]

    at = record.add_drift()
    assert course().endswith(f"; back on course at step {at + 1}")
    record.step("src/grammar.py", score=6)
    assert course().endswith("; not back on course yet")
    record.step("src/grammar.py", score=3, decision="deny")
    assert course().endswith(" steps"), "what was denied was not done"


def test_status_all_adds_ended_and_silent_sessions(kedge: Kedge, record: Recorded) -> None:
    record.add_drift()
    record.add_drift(OTHER)
    record.end(OTHER)
    found = {row["id"]: row for row in kedge.json("drift", "status", "--all")}
    assert {name: row["status"] for name, row in found.items()} == {
        FIRST: "abandoned",
        OTHER: "completed",
    }
    assert found[OTHER]["needs_review"]
    assert found[OTHER]["why"] == [f"limit: {EVIDENCE}"]
    ran = kedge("drift", "status")
    assert ran.out == ""
    assert "--all shows 2" in ran.err


def test_status_shows_only_this_project(kedge: Kedge, record: Recorded) -> None:
    record.session(project="/elsewhere")
    record.live()
    assert kedge.json("drift", "status", "--all") == []
    assert kedge.json("drift", "explain", FIRST)["id"] == FIRST


def test_status_warns_of_guard_errors(kedge: Kedge, record: Recorded) -> None:
    for number in (1, 2):
        sessions.add_error(
            record.db, at=f"2026-01-31T12:00:0{number}.000000Z", agent="claude", session=FIRST,
            event="PreToolUse", kedge="0", error=f"HookTimeout: {number} {KEY}",
        )  # fmt: skip
    (told,) = [line for line in kedge("drift", "status").err.splitlines() if "guard" in line]
    assert "2 guard errors" in told
    assert "12:00:02" in told
    assert "HookTimeout: 2" in told
    assert "kedge doctor" in told
    assert KEY not in told


def test_a_binding_is_shown(kedge: Kedge, record: Recorded, repo: Path) -> None:
    record.session(task="k-1", bound="claimed", limits=["out of scope: db/"])
    record.live()
    assert (kedge.json("drift", "status")[0]["bound"]) == "claimed"
    line = "bound to k-1 (claimed here)"
    assert f"\t{line}\t" in kedge("drift", "status").out
    assert f"{FIRST[:8]} is {line}\n" in terminal(repo, "drift", "status")
    described = kedge("drift", "explain", "last").out
    assert f"task:      {line}\n" in described
    assert "In force:\n- “out of scope: db/”\n" in described
    sessions.change(record.db, FIRST, bound="ended")
    assert "task:      k-1\n" in kedge("drift", "explain", "last").out


def test_limits_of_a_task_come_and_go_between_messages(kedge: Kedge, record: Recorded) -> None:
    record.session(task="k-1", bound="claimed")
    record.add_message(GOAL, forbids=[("no_touch", QUOTE), ("no_touch", "out of scope: db/")])
    sessions.change(record.db, FIRST, limits=[QUOTE, "out of scope: src/"])
    held = [each["quote"] for each in kedge.json("drift", "explain", "last")["limits"]]
    assert held == [QUOTE, "out of scope: src/"]


def test_status_on_a_terminal(record: Recorded, repo: Path) -> None:
    record.add_drift()
    record.live()
    text = terminal(repo, "drift", "status")
    assert text.splitlines()[0].split() == [
        "session", "agent", "task", "state", "score", "steps", "review", "goal"
    ]  # fmt: skip
    assert "\t" not in text
    assert "Make the lexer faster." in text
    assert re.search(r"was told: intervene, .*: This goes against what was asked\.", text)


def test_explain_a_session(kedge: Kedge, record: Recorded) -> None:
    at = record.add_drift()
    record.add_message("Take the table out again.", forbids=[("no_touch", QUOTE)])
    record.step("src/grammar.py", score=2, rules=[["limit", EVIDENCE, 8]], decision="deny")
    found = kedge.json("drift", "explain", FIRST)
    assert [each["said"] for each in found["revisions"]] == [GOAL, "Take the table out again."]
    (limit,) = found["limits"]
    assert (limit["kind"], limit["quote"], limit["revision"]) == ("no_touch", QUOTE, 1)
    assert found["scores"] == [10, 10, 10, 3, 10, 2]
    first, second = found["events"]
    assert first["evidence"] == [{"rule": "limit", "evidence": EVIDENCE, "weight": 7}]
    assert (first["position"], first["decision"], first["correction"]) == (at, "ask", TOLD)
    assert first["recovered"] == f"at step {at + 1}"
    assert (second["decision"], second["recovered"]) == ("deny", "")
    assert found["decisions"][0]["reasoning"] == "a table instead of a chain"
    assert found["files"] == ["src/grammar.py", "src/lexer.py"]
    assert found["needs_review"]
    assert found["why"]
    text = kedge("drift", "explain", FIRST).out
    for part in (
        GOAL, f"no touch: “{QUOTE}” (message 1)", "10×3 3 10 2", f"step {at}: intervene, 3 of 10",
        f"limit (−7): {EVIDENCE}", "the user was asked", "the call was denied",
        f"recovered: at step {at + 1}", "not recovered", "a table instead of a chain",
        "- src/lexer.py", "did not come back on course",
    ):  # fmt: skip
        assert part in text, part


def test_explain_draws_the_scores_on_a_terminal(record: Recorded, repo: Path) -> None:
    record.add_drift()
    (line,) = [
        line for line in terminal(repo, "drift", "explain", "last").splitlines() if "scores" in line
    ]
    assert line.split()[1] == "███▂█"


def test_explain_a_step(kedge: Kedge, record: Recorded) -> None:
    at = record.add_drift()
    found = kedge.json("drift", "explain", f"last:{at}")
    assert found == kedge.json("drift", "explain", f"{FIRST}:toolu_{at:04}")
    assert found["what"] == "edit src/grammar.py"
    assert (found["score"], found["level"], found["decision"]) == (3, "intervene", "ask")
    assert found["rules"] == [{"rule": "limit", "evidence": EVIDENCE, "weight": 7}]
    assert [each["why"] for each in found["recalled"]] == ["same folder"]
    assert (found["correction"], found["result"]) == (TOLD, "done")
    assert (found["event"]["before"], found["event"]["after"]) == ("NORMAL", "DRIFTED")
    text = kedge("drift", "explain", f"last:{at}").out
    for part in (
        "edit src/grammar.py", "3 of 10, intervene", f"limit (−7): {EVIDENCE}",
        "step 1: read src/lexer.py (same folder)", *TOLD.splitlines(), "the grammar is slow",
        "NORMAL → DRIFTED", "the user was asked",
    ):  # fmt: skip
        assert part in text, part
    assert "nothing against it" in kedge("drift", "explain", "last:1").out


def test_an_unknown_session_is_reported_with_candidates(kedge: Kedge, record: Recorded) -> None:
    assert_clear(kedge("drift", "explain", "last", code=1), code=1, says="no session is recorded")
    record.add_drift()
    record.add_drift(OTHER)
    ran = kedge("drift", "explain", "3f2a", code=1)
    assert_clear(ran, code=1, says="2 sessions start with '3f2a'")
    for row in kedge.json("drift", "status", "--all"):
        assert row["short"] in ran.err
        assert kedge.json("drift", "explain", row["short"])["id"] == row["id"]
    for absent in ("zz", ":1", "\x1b[31m", "\udcff" * 200):
        ran = kedge("drift", "explain", absent, code=1)
        assert_clear(ran, code=1, says="no session starts with")
        assert FIRST[:8] in ran.err
        assert "\x1b" not in ran.err
    for step in ("6", ""):
        ran = kedge("drift", "explain", f"{FIRST}:{step}", code=1)
        assert_clear(ran, code=1, says=f"has no step {step!r}")
        assert "1 to 5" in ran.err


def test_an_id_that_is_a_prefix_of_another_is_found(kedge: Kedge, record: Recorded) -> None:
    for name in ("run:1", "run:12"):
        record.session(name)
        record.step(name=name)
    assert kedge.json("drift", "explain", "run:1")["id"] == "run:1"
    assert kedge.json("drift", "explain", "run:12")["id"] == "run:12"
    assert kedge.json("drift", "explain", "run:12:1")["position"] == 1


def test_the_report_is_not_in_git(kedge: Kedge, record: Recorded, repo: Path) -> None:
    record.add_drift()
    ran = kedge("drift", "report")
    page = repo.resolve() / ".git" / "kedge" / "drift.html"
    assert ran.out == f"{page}: 1 session\n"
    assert EVIDENCE in unescape(page.read_text(encoding="utf-8"))
    assert git(repo, "status", "--porcelain") == ""


def test_the_report_is_written_to_the_given_file(
    kedge: Kedge, record: Recorded, repo: Path
) -> None:
    record.add_drift()
    record.add_drift(OTHER)
    data = kedge.json("drift", "report", "--output", "out/page.html")
    assert sorted(data["sessions"]) == [FIRST, OTHER]
    whole = (repo / "out" / "page.html").read_bytes()
    assert data["bytes"] == len(whole)
    assert kedge("drift", "report", "--output", "-").out.encode() == whole
    assert kedge.json("drift", "report", "--output", "-")["html"].encode() == whole
    assert kedge.json("drift", "report", "--last", "1", "--output", "-")["sessions"] == [OTHER]
    chosen = kedge.json("drift", "report", "--session", FIRST, "--session", FIRST, "--output", "-")
    assert chosen["sessions"] == [FIRST]
    assert OTHER not in chosen["html"]
    assert_clear(
        kedge("drift", "report", "--session", "zz", code=1), code=1, says="no session starts with"
    )


def test_a_report_without_sessions_is_refused(kedge: Kedge, repo: Path) -> None:
    assert_clear(kedge("drift", "report", code=1), code=1, says="no session is recorded")
    assert not (repo / ".git" / "kedge").exists()


def test_the_same_record_gives_the_same_page(kedge: Kedge, record: Recorded) -> None:
    record.add_drift()
    pages = [
        kedge("drift", "report", "--output", "-", env={"PYTHONHASHSEED": seed}).out
        for seed in ("1", "2")
    ]
    assert pages[0] == pages[1]
    assert "active" in pages[0]  # as of the last that was heard, whenever it is asked


def test_hostile_text_is_escaped_and_secrets_are_redacted(kedge: Kedge, record: Recorded) -> None:
    record.session(agent=HOSTILE, task=HOSTILE)
    record.add_message(f"{HOSTILE} {KEY}", forbids=[("no_touch", HOSTILE)])
    at = record.step(
        HOSTILE, score=2, id=HOSTILE, tool=HOSTILE, command=f"{HOSTILE} {KEY}", reasoning=KEY,
        rules=[[HOSTILE, f"{HOSTILE} {KEY}", 8]], correction_given=f"{HOSTILE} {KEY}",
    )  # fmt: skip
    record.live()
    for args in (["status"], ["explain", "last"], ["explain", f"last:{at}"]):
        for more in ([], ["--json"]):
            out = kedge("drift", *args, *more).out
            assert "\x1b" not in out
            assert "\x07" not in out
            assert KEY not in out
            assert "redacted:github-token" in out
    assert len(kedge("drift", "status").out.splitlines()) == 1
    page = kedge("drift", "report", "--output", "-").out
    assert page.count("<script>") == 1
    assert "&lt;script&gt;alert(1)" in page
    assert KEY not in page
    assert "\x1b" not in page


def test_a_goal_of_a_megabyte(kedge: Kedge, record: Recorded) -> None:
    record.session()
    record.add_message("long " * 200_000)
    record.step("x" * 9_000, score=3, command="y " * 500_000, rules=[["topic", "z" * 9_000, 7]])
    record.live()
    assert len(kedge("drift", "status").out) < 1_000
    assert len(kedge("drift", "explain", "last").out) < 10_000
    assert len(kedge("drift", "explain", "last:1").out) < 20_000
    assert len(kedge("drift", "report", "--output", "-").out) < 100_000
    assert kedge.json("drift", "status")[0]["goal"].count("long") == 200_000


def test_long_sessions_are_cut_with_a_note(kedge: Kedge, record: Recorded) -> None:
    record.session()
    with sessions.transaction(record.db):
        for number in range(300):
            record.step(f"src/{number}.py", score=3, rules=[["topic", "far", 7]])
    text = kedge("drift", "explain", "last").out
    assert "270 before these: --json shows all" in text
    assert "step 300:" in text
    assert "step 270:" not in text
    assert len(kedge.json("drift", "explain", "last")["events"]) == 300


def test_an_unreadable_database_is_reported(kedge: Kedge, record: Recorded) -> None:
    record.add_drift()
    record.db.execute("ALTER TABLE step RENAME TO gone")
    assert_clear(kedge("drift", "explain", "last", code=1), code=1, says="cannot read")


def test_a_session_recorded_by_hooks_is_shown(kedge: Kedge, repo: Path) -> None:
    (repo / "src").mkdir()
    hook = Path(package.__file__).parent / "hook.py"
    calls: list[tuple[str, str]] = [("a1", "src/lexer.py"), ("a2", "src/grammar.py")]
    asked = "Speed up src/lexer.py. Don't touch src/grammar.py."
    events: list[dict[str, Any]] = [{"hook_event_name": "UserPromptSubmit", "prompt": asked}]
    for name, path in calls:
        given = {"file_path": str(repo / path), "old_string": "a", "new_string": "b"}
        call = {"tool_name": "Edit", "tool_input": given, "tool_use_id": name}
        events.append({"hook_event_name": "PreToolUse", **call})
        events.append({"hook_event_name": "PostToolUse", **call, "tool_response": {}})
    for event in events:
        done = subprocess.run(
            [sys.executable, "-I", str(hook), "claude"],
            input=json.dumps({"session_id": FIRST, "cwd": str(repo), **event}).encode(),
            cwd=repo,
            capture_output=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b"")
    (row,) = kedge.json("drift", "status")
    assert (row["id"], row["agent"], row["steps"]) == (FIRST, "claude", 2)
    assert "src/grammar.py" in row["last_correction"]["text"]
    found = kedge.json("drift", "explain", "last")
    assert "Don't touch src/grammar.py" in found["limits"][0]["quote"]
    assert [each["position"] for each in found["events"]] == [2]
    step = kedge.json("drift", "explain", "last:a2")
    assert step["rules"][0]["rule"] == "limit"
    assert step["result"] == "done"
    page = kedge("drift", "report", "--output", "-").out
    assert "src/grammar.py" in page
