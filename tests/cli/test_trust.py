"""Commands that a repository names run only after the user has approved them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, assert_clear, git

MARK = "touch ../ran"
AGENTS = {
    "Claude Code": {"CLAUDECODE": "1"},
    "Codex": {"CODEX_THREAD_ID": "019a"},
    "Gemini CLI": {"GEMINI_CLI": "1"},
    "a run": {"KEDGE_RUN": "r1"},
}


def write_task(repo: Path, *checks: str, id: str = "t") -> None:
    """Write a task as a repository brings it along: without kedge's commands."""
    row = {"id": id, "title": "T", "description": "d", "acceptance": ["a"], "checks": list(checks)}
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    path = repo / ".kedge" / "tasks.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    kept = [line for line in lines if json.loads(line)["id"] != id]
    path.write_text("".join(line + "\n" for line in [*kept, json.dumps(row | times)]))


@pytest.fixture
def clone(repo: Path, kedge: Kedge) -> Kedge:
    """A fresh clone: its task has a check that leaves a mark outside."""
    (repo / "a").write_text("one\n")
    write_task(repo, MARK)
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "--quiet", "--message", "start")
    return kedge


def has_run(repo: Path) -> bool:
    return (repo.parent / "ran").exists()


def on_terminal(repo: Path, typed: bytes, *args: str) -> subprocess.CompletedProcess[str]:
    import pty

    keyboard, stdin = pty.openpty()
    try:
        os.write(keyboard, typed)
        argv = [sys.executable, "-m", "kedge", *args]
        return subprocess.run(
            argv, cwd=repo, stdin=stdin, capture_output=True, text=True, timeout=60
        )
    finally:
        os.close(keyboard)
        os.close(stdin)


# What a repository brings along does not run


@pytest.mark.parametrize("how", ["close", "record-qa", "run"])
def test_a_check_of_a_fresh_clone_does_not_run(repo: Path, clone: Kedge, how: str) -> None:
    commands = {
        "close": ("task", "close", "t"),
        "record-qa": ("context", "record-qa", "t", "--agent", "implementer"),
        "run": ("run", "--task", "t", "--command", "true"),
    }
    if how == "record-qa":
        clone("context", "init", "t")
    ran = clone(*commands[how], code=1)
    assert_clear(ran, code=1, says=f"`{MARK}`")
    assert "kedge trust" in ran.err
    assert "--trust" in ran.err
    document = clone(*commands[how], "--json", code=1).document
    assert document["code"] == "not-approved"
    assert document["data"]["commands"] == [
        {"command": MARK, "sources": ["task t"], "before": [], "approved": False}
    ]
    assert not has_run(repo)


def test_configured_commands_and_detected_targets_do_not_run(repo: Path, clone: Kedge) -> None:
    write_task(repo)
    (repo / "Makefile").write_text("test:\n\ttouch ../ran\n")
    record = ("context", "record-qa", "t", "--agent", "implementer")
    clone("context", "init", "t")
    assert "`make test`" in clone(*record, code=1).err
    (repo / ".kedge" / "config.toml").write_text('[context]\ncommands = ["touch ../ran"]\n')
    clone("context", "rebuild", "t")
    assert f"`{MARK}`" in clone(*record, code=1).err
    assert not has_run(repo)
    listed = {one["command"]: one["sources"] for one in clone.json("trust", "--list")["commands"]}
    assert listed[MARK] == ["context.commands", "task t"]
    assert listed["make test"] == ["Makefile"]


def test_an_edited_context_file_names_no_command_that_runs(repo: Path, clone: Kedge) -> None:
    clone("trust")
    clone("context", "init", "t")
    write_task(repo)
    clone("trust", "--revoke")
    assert MARK in clone("context", "record-qa", "t", "--agent", "implementer", code=1).err
    assert not has_run(repo)


def test_a_person_may_run_what_they_type(repo: Path, clone: Kedge) -> None:
    clone("context", "init", "t")
    clone("context", "record-qa", "t", "--agent", "implementer", "--", "touch", "../ran")
    assert has_run(repo)
    (repo / "a").write_text("two\n")
    clone("task", "close", "t")  # runs it again, for what was typed is approved


def test_what_the_user_configured_for_all_repositories_runs(
    repo: Path, clone: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    write_task(repo)
    clone("config", "set", "--user", "context.commands", MARK)
    clone("context", "init", "t")
    clone("context", "record-qa", "t", "--agent", "implementer")
    assert has_run(repo)


# Approving


def test_approved_once_they_run_in_every_work_tree_of_the_repository(
    repo: Path, clone: Kedge
) -> None:
    assert MARK in clone("trust").out
    clone("task", "close", "t")
    assert has_run(repo)
    (repo.parent / "ran").unlink()
    other = repo.parent / "other"
    git(repo, "worktree", "add", "--quiet", str(other))
    Kedge(other)("task", "close", "t")
    assert has_run(repo)


def test_another_clone_is_not_trusted(repo: Path, clone: Kedge) -> None:
    clone("trust")
    copy = repo.parent / "copy"
    git(repo, "clone", "--quiet", str(repo), str(copy))
    ran = Kedge(copy)("task", "close", "t", code=1)
    assert f"`{MARK}`" in ran.err
    assert not has_run(repo)


def test_only_what_changed_is_asked_again_and_what_it_was_is_shown(
    repo: Path, clone: Kedge
) -> None:
    write_task(repo, "true", id="other")
    clone("trust")
    write_task(repo, MARK + " ")  # the same command
    listed = clone.json("trust", "--list")["commands"]
    assert all(one["approved"] for one in listed), listed
    write_task(repo, "touch ../ran; true")
    ran = clone("task", "close", "t", code=1)
    assert "`touch ../ran; true`" in ran.err
    assert f"was `{MARK}`" in ran.err
    assert not has_run(repo)
    clone("task", "close", "other")
    shown = clone("trust", "--list").out
    assert f"was `{MARK}`" in shown
    clone("trust")
    clone("task", "close", "t")
    assert has_run(repo)


def test_trust_in_a_script_approves_and_goes_on(repo: Path, clone: Kedge) -> None:
    clone("task", "close", "t", "--trust")
    assert has_run(repo)
    (repo.parent / "ran").unlink()
    clone("task", "reopen", "t")
    clone("task", "close", "t")  # the answer is kept
    assert has_run(repo)


def test_revoking(repo: Path, clone: Kedge) -> None:
    clone("trust")
    assert "1 approval" in clone("trust", "--revoke").out
    clone("task", "close", "t", code=1)
    assert not has_run(repo)
    assert clone.json("trust", "--list")["commands"][0]["approved"] is False


def test_approvals_are_kept_outside_of_the_repository(
    repo: Path, clone: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = git(repo, "status", "--porcelain", "--ignored")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    data = clone.json("trust")
    assert Path(data["file"]).is_relative_to(tmp_path / "state" / "kedge" / "trust")
    assert Path(data["file"]).stat().st_mode & 0o777 == 0o600
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    data = clone.json("trust")
    assert Path(data["file"]).is_relative_to(tmp_path / "me" / ".local" / "state" / "kedge")
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path / "own"))
    data = clone.json("trust")
    assert Path(data["file"]).is_relative_to(tmp_path / "own" / "trust")
    monkeypatch.setenv("KEDGE_HOME", str(repo / ".kedge" / "home"))  # the repository's own
    data = clone.json("trust")
    assert Path(data["file"]).is_relative_to(tmp_path / "me")
    monkeypatch.delenv("KEDGE_HOME")
    shutil.rmtree(repo / ".kedge" / "home")  # the map's database
    assert git(repo, "status", "--porcelain", "--ignored") == before


def test_without_a_home_nothing_is_approved_and_the_error_says_so(
    repo: Path, clone: Kedge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    assert_clear(clone("trust", code=1), code=1, says="no home directory")
    assert_clear(clone("task", "close", "t", code=1), code=1, says=f"`{MARK}`")
    assert not has_run(repo)


def test_a_secret_in_a_command_is_not_kept(repo: Path, clone: Kedge) -> None:
    token = "ghp_" + "a1B2" * 9
    write_task(repo, f"curl -H 'Authorization: Bearer {token}' localhost")
    data = clone.json("trust")
    assert token not in Path(data["file"]).read_text()
    assert clone.json("trust", "--list")["commands"][0]["approved"] is True


def test_a_damaged_file_of_approvals_approves_nothing(repo: Path, clone: Kedge) -> None:
    file = Path(clone.json("trust")["file"])
    for text in ("", "{", "[]", '{"approved": 7}', '{"approved": {"x": 1}}'):
        file.write_text(text)
        clone("task", "close", "t", code=1)
    assert not has_run(repo)
    clone("trust")
    clone("task", "close", "t")
    assert has_run(repo)


# Questions


def test_on_a_terminal_the_command_that_needs_it_asks_once(repo: Path, clone: Kedge) -> None:
    asked = on_terminal(repo, b"n\n", "task", "close", "t")
    assert asked.returncode == 1
    assert MARK in asked.stderr
    assert not has_run(repo)
    asked = on_terminal(repo, b"y\n", "task", "close", "t")
    assert asked.returncode == 0, asked
    assert has_run(repo)
    clone("task", "reopen", "t")
    asked = on_terminal(repo, b"", "task", "close", "t")
    assert asked.returncode == 0, asked
    assert "[y/N]" not in asked.stderr


def test_trust_on_a_terminal_shows_and_asks(repo: Path, clone: Kedge) -> None:
    asked = on_terminal(repo, b"n\n", "trust")
    assert MARK in asked.stdout + asked.stderr
    assert "[y/N]" in asked.stderr
    assert clone.json("trust", "--list")["commands"][0]["approved"] is False
    on_terminal(repo, b"y\n", "trust")
    assert clone.json("trust", "--list")["commands"][0]["approved"] is True


def test_a_command_cannot_hide_a_part_of_itself(repo: Path, clone: Kedge) -> None:
    hidden = "true #\u202e\u2066 evil\u2069; \u200ftouch ../ran"
    write_task(repo, hidden + "\ntouch ../ran")
    asked = on_terminal(repo, b"n\n", "task", "close", "t")
    for sign in "\u202e\u2066\u2069\u200f":
        assert sign not in asked.stderr
    assert any("true #" in line and "touch ../ran" in line for line in asked.stderr.splitlines())


# What the user types is approved by that; what an agent types is not


def test_a_check_that_the_user_types_is_approved(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "T", "--id", "t", "--check", "true")
    kedge("task", "close", "t")
    kedge("task", "add", "U", "--id", "u")
    kedge("task", "update", "u", "--check", MARK)
    kedge("task", "close", "u")
    assert has_run(repo)


def test_a_command_that_the_user_configures_is_approved(repo: Path, clone: Kedge) -> None:
    write_task(repo)
    clone("config", "set", "context.commands", MARK)
    clone("context", "init", "t")
    clone("context", "record-qa", "t", "--agent", "implementer")
    assert has_run(repo)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_approves_nothing(repo: Path, clone: Kedge, agent: str) -> None:
    env = AGENTS[agent]
    clone("task", "update", "t", "--check", f"{MARK}; true", env=env)
    clone("config", "set", "context.commands", MARK, env=env)
    assert_clear(clone("trust", code=1, env=env), code=1, says="an agent")
    assert_clear(clone("task", "close", "t", "--trust", code=1, env=env), code=1, says="an agent")
    ran = clone("task", "close", "t", code=1, env=env)
    assert "ask the user" in ran.err
    assert not has_run(repo)
    assert not any(one["approved"] for one in clone.json("trust", "--list", env=env)["commands"])


def test_an_agent_is_told_that_its_check_waits_for_the_user(kedge: Kedge) -> None:
    ran = kedge("task", "add", "T", "--check", "true", env={"CLAUDECODE": "1"})
    assert "warning: the user has not approved `true`" in ran.err
    assert "kedge trust" in ran.err


def test_an_imported_check_is_not_approved(repo: Path, kedge: Kedge) -> None:
    row: dict[str, Any] = {"id": "x-1", "title": "T", "metadata": {"kedge": {"checks": [MARK]}}}
    row |= {"status": "open", "issue_type": "task", "priority": 2}
    (repo / "beads.jsonl").write_text(json.dumps(row) + "\n")
    kedge("task", "import", "beads.jsonl")
    if kedge.json("task", "list")[0]["checks"]:
        kedge("task", "close", "x-1", code=1)
    assert not has_run(repo)


# Runs


def test_a_run_shows_what_it_runs_and_what_its_agent_may_use(repo: Path, clone: Kedge) -> None:
    (repo / "Makefile").write_text("test:\n\tpytest\nlint:\n\truff check .\n")
    ran = clone("run", "--task", "t", "--agent", "claude", "--command", "true", "--trust", code=1)
    assert f"checks: `{MARK}`" in ran.err
    assert "it may edit files here and run the checks, `make " in ran.err
    clone("trust", "--revoke")
    clone("task", "reopen", "t")
    clone("task", "update", "t", "--check", MARK)
    ran = clone("run", "--task", "t", "--agent", "claude", "--command", "true", code=1)
    assert "the agent may not run `make " in ran.err
    assert "run the checks\n" in ran.err


def test_an_agent_of_a_run_cannot_have_its_own_checks_run(repo: Path, kedge: Kedge) -> None:
    (repo / "a").write_text("one\n")
    git(repo, "add", "a")
    git(repo, "commit", "--quiet", "--message", "start")
    kedge("task", "add", "T", "--id", "t", "--check", "grep -q two a")
    script = repo.parent / "agent.sh"
    add = f"{sys.executable} -m kedge task add U --id u --check '{MARK}'"
    script.write_text(f"echo two >a; {add}; echo more >b\n")
    kedge("run", "--command", f"sh {script}", code=1)
    status = {one["id"]: one["status"] for one in kedge.json("task", "list")}
    assert status == {"t": "done", "u": "blocked"}
    assert not has_run(repo)


def test_a_planted_journal_cannot_choose_the_program_to_resume_with(
    repo: Path, clone: Kedge
) -> None:
    clone("trust")
    clone("run", "--task", "t", "--command", "false", "--attempts", "1", code=1)
    clone("task", "reopen", "t")
    (journal,) = (repo / ".git" / "kedge" / "runs").glob("r*.json")
    data = json.loads(journal.read_text())
    data["wanted"]["program"] = ["touch", "../planted"]
    data["status"] = "running"
    data["results"] = []
    journal.write_text(json.dumps(data))
    assert_clear(clone("run", "--resume", code=1), code=1, says="`touch ../planted`")
    assert not (repo.parent / "planted").exists()
    data["wanted"]["program"] = ["false"]  # as the user typed it
    journal.write_text(json.dumps(data))
    assert "not approved" not in clone("run", "--resume", code=1).err


def test_who_declines_what_only_the_agent_would_use_still_gets_a_run(
    repo: Path, clone: Kedge
) -> None:
    clone("task", "update", "t", "--check", MARK)
    (repo / "Makefile").write_text("test:\n\tpytest\n")
    run = ("run", "--task", "t", "--agent", "claude", "--command", "true")
    asked = on_terminal(repo, b"n\n", *run)
    assert "make test" in asked.stderr
    assert "the agent may not run `make test`" in asked.stderr
    assert f"checks: `{MARK}`" in asked.stderr
