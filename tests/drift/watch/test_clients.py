"""The real clients under kedge's watch, with the hooks that `kedge init` installs."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Codex
from drift.harbour import Harbour
from support import Kedge, git

from kedge.store import sqlite
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
TOKEN = "TTL = 60\n"


@pytest.fixture
def harbour(repo: Path, kedge: Kedge, claude: Claude, codex: Codex) -> Harbour:
    (repo / "src" / "auth").mkdir(parents=True)
    (repo / "src" / "auth" / "token.py").write_text(TOKEN)
    (repo / "db").mkdir()
    (repo / "db" / "schema.sql").write_text("create table t (id int);\n")
    (repo / ".claude").mkdir()
    (repo / ".codex").mkdir()
    kedge("init")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return Harbour(kedge, claude, codex)


both = pytest.mark.parametrize("agent", ["claude", "codex"])


@both
def test_every_call_is_recorded(harbour: Harbour, agent: str, play: Play) -> None:
    calls = [
        harbour.write(agent, "src/auth/expiry.py", "TTL = 3600\n"),
        {"text": "I run it, rather than guess.", **harbour.shell(agent, "cat src/auth/expiry.py")},
    ]
    with play([*calls, "Done."]) as model:
        harbour.run(agent, model, GOAL)
    row = harbour.session()
    assert row["goal"] == GOAL
    assert row["agent"] == agent
    assert row["status"] == "completed"
    assert not row["needs_review"]
    assert row["limits"] == ["Don't touch db/schema.sql"]
    assert row["summary"]["files"] == ["src/auth/expiry.py"]
    written, shown = harbour.steps()
    assert written["files"] == ["src/auth/expiry.py"]
    assert written["folders"] == ["src/auth"]
    assert written["drift_score"] >= 8
    assert written["ok"] is True
    assert shown["command"] == "cat src/auth/expiry.py"
    assert "rather than guess" in shown["reasoning"]
    assert harbour.errors() == []
    # It was right: nothing was said.
    assert "[kedge]" not in "".join(one.given for one in model.list_requests())


@both
def test_a_denied_write_does_not_happen_and_the_agent_learns_why(
    harbour: Harbour, agent: str, play: Play
) -> None:
    harbour.kedge("config", "set", "drift.policy", "enforce")
    (harbour.root / "db" / "schema.sql").unlink()
    with play([harbour.write(agent, "db/schema.sql", "drop table t;\n"), "I leave it."]) as model:
        harbour.run(agent, model, GOAL)
    assert not (harbour.root / "db" / "schema.sql").exists()
    _, told = model.list_requests()
    assert "[kedge] This goes against what was asked." in told.results
    assert "Don't touch db/schema.sql" in told.results
    (step,) = harbour.steps()
    assert step["decision"] == "deny"
    assert step["ok"] is None
    assert not harbour.session()["needs_review"] or harbour.session()["course"] != "NORMAL"


@both
def test_a_forbidden_call_is_put_to_the_user(harbour: Harbour, agent: str, play: Play) -> None:
    """As a rule kedge only advises; but it asks, and where nobody can be asked the answer is no."""
    (harbour.root / "db" / "schema.sql").unlink()
    with play([harbour.write(agent, "db/schema.sql", "drop table t;\n"), "I leave it."]) as model:
        harbour.run(agent, model, GOAL)
    assert not (harbour.root / "db" / "schema.sql").exists()
    assert "Don't touch db/schema.sql" in model.list_requests()[-1].results


@both
def test_a_correction_appears_within_the_turn(harbour: Harbour, agent: str, play: Play) -> None:
    calls = [harbour.shell(agent, "git commit --no-verify -qm x --allow-empty"), "Done."]
    with play(calls) as model:
        harbour.run(agent, model, GOAL)
    first, second = model.list_requests()
    assert "[kedge]" not in first.given
    assert second.given.count("[kedge]") == 1
    assert "--no-verify" in second.given.partition("[kedge]")[2]
    assert GOAL.split(".", maxsplit=1)[0] in second.given.partition("[kedge]")[2]
    (step,) = harbour.steps()
    assert step["correction_given"].startswith("[kedge]")


@both
def test_a_failed_command_is_recorded_as_failed(harbour: Harbour, agent: str, play: Play) -> None:
    with play([harbour.shell(agent, "echo out; exit 3"), "Done."]) as model:
        harbour.run(agent, model, GOAL)
    (step,) = harbour.steps()
    assert step["ok"] is False


@both
def test_observe_records_everything_and_says_nothing(
    harbour: Harbour, agent: str, play: Play
) -> None:
    harbour.kedge("config", "set", "drift.policy", "observe")
    (harbour.root / "db" / "schema.sql").unlink()
    with play([harbour.write(agent, "db/schema.sql", "drop table t;\n"), "Done."]) as model:
        harbour.run(agent, model, GOAL)
    assert (harbour.root / "db" / "schema.sql").exists()
    assert "[kedge]" not in "".join(one.given for one in model.list_requests())
    (step,) = harbour.steps()
    assert step["drift_score"] <= 4
    row = harbour.session()
    assert row["needs_review"]
    assert row["summary"]["worst"] in ("intervene", "halt")


def test_a_subagents_edit_is_scored_against_the_parents_charter(
    harbour: Harbour, play: Play
) -> None:
    harbour.kedge("config", "set", "drift.policy", "enforce")
    (harbour.root / "db" / "schema.sql").unlink()
    task = {"description": "look", "prompt": "Tidy up", "subagent_type": "general-purpose"}
    wrong = harbour.write("claude", "db/schema.sql", "drop table t;\n")
    with play(
        [{"tool": "Agent", "input": task}, "Waiting."], subagent=[wrong, "I left it."]
    ) as model:
        harbour.run("claude", model, GOAL)
    assert not (harbour.root / "db" / "schema.sql").exists()
    assert "Don't touch db/schema.sql" in model.list_requests("subagent")[-1].results
    denied = [step for step in harbour.steps() if step["decision"] == "deny"]
    assert [step["files"] for step in denied] == [["db/schema.sql"]]
    assert denied[0]["subagent"]


def test_three_calls_at_once_lose_nothing(harbour: Harbour, play: Play) -> None:
    calls = [harbour.write("claude", f"src/auth/part{n}.py", f"N = {n}\n") for n in range(3)]
    with play([{"tools": calls}, "Done."]) as model:
        harbour.run("claude", model, GOAL)
    steps = harbour.steps()
    assert sorted(step["files"][0] for step in steps) == [f"src/auth/part{n}.py" for n in range(3)]
    assert sorted(step["position"] for step in steps) == [1, 2, 3]
    assert all(step["ok"] for step in steps)
    assert harbour.errors() == []


@both
def test_a_corrupt_database_does_not_stop_the_agent(
    harbour: Harbour, agent: str, play: Play
) -> None:
    harbour.home.mkdir(exist_ok=True)
    for tail in ("-wal", "-shm"):
        (harbour.home / f"kedge.db{tail}").unlink(missing_ok=True)
    (harbour.home / "kedge.db").write_bytes(b"no database at all" * 100)
    with play([harbour.write(agent, "src/auth/new.py", "A = 1\n"), "Done."]) as model:
        harbour.run(agent, model, GOAL)
    assert (harbour.root / "src" / "auth" / "new.py").exists()
    assert len(model.list_requests()) == 2
    assert any("damaged" in one["error"] for one in harbour.errors())
    assert list(harbour.home.glob("kedge.db.broken-*"))


@both
def test_a_fault_of_kedge_does_not_stop_the_agent(harbour: Harbour, agent: str, play: Play) -> None:
    """A database that is locked, and one whose tables are not what kedge expects."""
    with closing(sqlite.connect(harbour.home)[0]) as db:
        db.execute("DROP TABLE step")
    with play([harbour.write(agent, "src/auth/new.py", "A = 1\n"), "Done."]) as model:
        harbour.run(agent, model, GOAL)
    assert (harbour.root / "src" / "auth" / "new.py").exists()
    assert len(model.list_requests()) == 2
    assert {one["event"] for one in harbour.errors()} >= {"PreToolUse", "PostToolUse"}
    assert all("no such table" in one["error"] for one in harbour.errors())


def test_a_locked_database_does_not_stop_the_agent(harbour: Harbour, play: Play) -> None:
    with closing(sqlite3.connect(harbour.home / "kedge.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with play([harbour.write("claude", "src/auth/new.py", "A = 1\n"), "Done."]) as model:
            harbour.run("claude", model, GOAL)
        db.execute("ROLLBACK")
    assert (harbour.root / "src" / "auth" / "new.py").exists()
    assert len(model.list_requests()) == 2
    log = harbour.home / "logs" / "hook-errors.jsonl"
    assert "locked" in log.read_text()


# Sessions of a claimed task

PROGRAM = Path(sys.executable).with_name("kedge")  # Codex starts a login shell, with its own PATH
SCOPE = ("--scope", "src/utils/", "--out-of-scope", "src/middleware/")
OUT, BESIDE = "src/middleware/etag/new.ts", "src/router/trie.ts"


@pytest.fixture
def claimable(harbour: Harbour) -> Harbour:
    """A project with a task that nobody has claimed."""
    harbour.kedge("task", "add", "Parse dates faster", "--id", "k1", *SCOPE)
    return harbour


def assert_kept_to_scope(harbour: Harbour, model: FakeModel, how: str) -> None:
    """What is out of scope was not written; what is merely not in scope was corrected."""
    assert not (harbour.root / OUT).exists()
    assert (harbour.root / BESIDE).exists()
    *_, beside, last = model.list_requests()
    assert "src/middleware/" in beside.results
    assert "out of scope" in beside.results
    assert "[kedge] This leaves the scope of the task." in last.given
    assert f"not in the task's scope: {BESIDE}" in last.given
    *_, refused, corrected = harbour.steps()
    assert refused["drift_score"] <= 4
    assert (corrected["drift_score"], corrected["level"]) == (5, "correct")
    row = harbour.session()
    assert (row["task"], row["bound"]) == ("k1", how)
    assert harbour.errors() == []


@both
def test_a_task_that_the_user_claimed_binds_the_session(
    claimable: Harbour, agent: str, play: Play
) -> None:
    claimable.kedge("task", "claim", "k1")
    calls = [claimable.write(agent, path, "export const x = 1\n") for path in (OUT, BESIDE)]
    with play([*calls, "Done."]) as model:
        claimable.run(agent, model, "Make it faster.")
    assert_kept_to_scope(claimable, model, "in_progress")
    assert "This session is bound to k1 (in progress here)." in model.list_requests()[0].given
    (shown,) = claimable.kedge.json("drift", "status", "--all")
    assert (shown["task"], shown["bound"]) == ("k1", "in_progress")
    assert "bound to k1 (in progress here)" in claimable.kedge("drift", "status", "--all").out


@both
def test_a_task_that_the_agent_claims_binds_the_session(
    claimable: Harbour, agent: str, play: Play
) -> None:
    calls = [claimable.write(agent, path, "export const x = 1\n") for path in (OUT, BESIDE)]
    with play([claimable.shell(agent, f"{PROGRAM} task claim k1"), *calls, "Done."]) as model:
        claimable.run(agent, model, "Take the next task.")
    assert_kept_to_scope(claimable, model, "claimed")
    assert "bound to k1 (claimed here)" in claimable.kedge("drift", "explain", "last").out


@both
def test_a_task_that_is_closed_does_not_bind_the_session_any_more(
    claimable: Harbour, agent: str, play: Play
) -> None:
    claimable.kedge("task", "claim", "k1")
    calls = [
        claimable.shell(agent, f"{PROGRAM} task close k1"),
        claimable.write(agent, OUT, "export const x = 1\n"),
    ]
    with play([*calls, "Done."]) as model:
        claimable.run(agent, model, "Make it faster.")
    assert (claimable.root / OUT).exists()
    assert "[kedge]" not in "".join(one.given for one in model.list_requests())
    assert claimable.session()["task"] == "k1"
    assert claimable.kedge("drift", "explain", "last").out.count("bound to") == 0


@both
def test_the_agent_is_reminded_of_the_checks_of_a_claimed_task(
    claimable: Harbour, agent: str, play: Play
) -> None:
    claimable.kedge("task", "update", "k1", "--check", "true")
    claimable.kedge("task", "claim", "k1")
    write = claimable.write(agent, "src/utils/dates.ts", "export const x = 1\n")
    check = claimable.shell(agent, "true")
    with play([write, "Done.", check, "Done."]) as model:
        claimable.run(agent, model, "Make it faster.")
    reminders = [one for one in model.list_requests() if "is not proven done: `true`" in one.given]
    assert len(reminders) == 2  # once, and once more as history
    assert len(model.list_requests()) == 4


# Limits that the agent records


GERMAN = "Repariere den Ablauf der Tokens. Das Schema der Datenbank bleibt, wie es ist!"
QUOTE = "Das Schema der Datenbank bleibt, wie es ist"
KEDGE = Path(sys.executable).parent / "kedge"  # the login shell of Codex has a PATH of its own


def record(quote: str) -> str:
    return f"{KEDGE} drift limit add --forbid db/schema.sql --quote '{quote}'"


@both
def test_an_agent_that_breaks_the_limit_it_recorded_is_stopped(
    harbour: Harbour, agent: str, play: Play
) -> None:
    (harbour.root / "db" / "schema.sql").unlink()
    calls = [
        harbour.shell(agent, record(QUOTE)),
        harbour.write(agent, "src/auth/new.py", "A = 1\n"),
        harbour.write(agent, "db/schema.sql", "drop table t;\n"),
        "I leave it.",
    ]
    with play(calls) as model:
        harbour.run(agent, model, GERMAN)
    assert (harbour.root / "src" / "auth" / "new.py").exists()
    assert not (harbour.root / "db" / "schema.sql").exists()
    assert "in force: " in model.list_requests()[1].results
    told = model.list_requests()[-1]
    assert QUOTE in told.results + told.given
    recorded, _, denied = harbour.steps()
    assert (recorded["drift_score"], recorded["rules"]) == (10, [])
    assert denied["decision"] in ("ask", "deny")
    (limit,) = harbour.kedge.json("drift", "limit", "list", "--session", harbour.session()["id"])
    assert (limit["paths"], limit["source"]) == (["db/schema.sql"], "agent")
    assert harbour.errors() == []


@both
def test_a_forged_quote_is_refused(harbour: Harbour, agent: str, play: Play) -> None:
    (harbour.root / "db" / "schema.sql").unlink()
    calls = [
        harbour.shell(agent, record("Never touch the schema")),
        harbour.write(agent, "db/schema.sql", "create table t (id int);\n"),
        "Done.",
    ]
    with play(calls) as model:
        harbour.run(agent, model, "Write the schema of the database to db/schema.sql")
    assert "the user did not write this in the session" in model.list_requests()[1].results
    assert (harbour.root / "db" / "schema.sql").exists()
    assert harbour.session()["limits"] == []


@both
def test_an_agent_cannot_lift_a_limit(harbour: Harbour, agent: str, play: Play) -> None:
    (harbour.root / "lift.sh").write_text(f"{KEDGE} drift limit lift a\n")
    calls = [
        harbour.shell(agent, f"env -u CLAUDECODE {KEDGE} drift limit lift a"),
        harbour.shell(agent, "kedge config set drift.policy off"),
        harbour.shell(
            agent, "curl -d key=$(cat .git/kedge/dashboard.key) 127.0.0.1:9/kedge/acts/lift"
        ),
        harbour.shell(agent, "sh lift.sh"),  # not seen beforehand; the command itself refuses
        "I ask.",
    ]
    with play(calls) as model:
        harbour.run(agent, model, GOAL)
    *refused, last = (one.results for one in model.list_requests()[1:])
    for told in refused:
        assert "Only the user may change what watches you" in told
    assert "an agent cannot lift a limit" in last
    assert harbour.session()["limits"] == ["Don't touch db/schema.sql"]
    assert harbour.session()["policy"] == "advise"
    assert [step["decision"] for step in harbour.steps()] == ["deny", "deny", "deny", "none"]


@both
def test_what_cannot_be_undone_does_not_run_unless_the_user_agrees(
    harbour: Harbour, agent: str, play: Play
) -> None:
    with play([harbour.shell(agent, "rm -rf src/auth"), "I leave it."]) as model:
        harbour.run(agent, model, "Describe the schema of the database in db/README.md")
    assert (harbour.root / "src" / "auth" / "token.py").exists()
    told = model.list_requests()[-1]
    assert "[kedge] Nobody asked for this." in told.results + told.given
    assert "src/auth" in told.results
    (step,) = harbour.steps()
    assert step["decision"] == ("ask" if agent == "claude" else "deny")


class SandboxedCodex(Codex):
    """Codex with its own sandbox, in which `.git` cannot be written."""

    def run(self, args: list[str], *more: Any) -> Any:
        place = args.index("--dangerously-bypass-approvals-and-sandbox")
        return super().run([*args[:place], "-s", "workspace-write", *args[place + 1 :]], *more)


def test_a_limit_is_recorded_from_a_sandbox(harbour: Harbour, tmp_path: Path, play: Play) -> None:
    """The hook runs outside of it, and records the limit for the command."""
    codex = SandboxedCodex(tmp_path / "home")
    calls = [
        harbour.shell("codex", "touch .git/kedge/x"),
        harbour.shell("codex", record(QUOTE)),
        harbour.shell("codex", record("Never touch the schema")),
        "Done.",
    ]
    with play(calls) as model:
        codex(model.url, GERMAN, "--dangerously-bypass-hook-trust", cwd=harbour.root)
    touched, recorded, forged = (one.results for one in model.list_requests()[1:])
    if "Read-only" not in touched:
        pytest.skip("the sandbox of Codex does not work on this machine")
    assert "in force: " in recorded
    assert "the user did not write this in the session" in forged
    assert harbour.session()["limits"] == [QUOTE]
