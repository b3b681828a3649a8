"""`kedge statusline`: what Claude Code's status line says, and how it is installed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dialogs import Terminal
from support import Kedge, assert_clear, git, wait_for_aside

from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
LOCAL = ".claude/settings.local.json"
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
SCRIPT = Path(__file__).parent.parent.parent / "src" / "kedge" / "statusline.py"


@pytest.fixture
def project(repo: Path, kedge: Kedge) -> Kedge:
    (repo / "db").mkdir()
    (repo / "db" / "schema.sql").write_text("create table t (id int);\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    kedge("init", "--agent", "claude", "--statusline")
    return kedge


def given(root: Path, **more: Any) -> dict[str, Any]:
    """What Claude Code passes to a status line, as its documentation shows it."""
    return {
        "hook_event_name": "Status",
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(root),
        "model": {"id": "claude-opus-4-1", "display_name": "Opus"},
        "workspace": {"current_dir": str(root), "project_dir": str(root)},
        "version": "2.1.325",
        "cost": {"total_cost_usd": 0.01, "total_duration_ms": 45000},
        **more,
    }


def command(root: Path) -> str:
    return str(json.loads((root / LOCAL).read_text())["statusLine"]["command"])


def show(root: Path, data: str | None = None, **env: str) -> str:
    """Return what the installed status line prints; it never fails and never complains."""
    done = subprocess.run(
        ["sh", "-c", command(root)],
        cwd=root,
        input=json.dumps(given(root)) if data is None else data,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def hook(kedge: Kedge, name: str, **more: Any) -> None:
    event = {"session_id": "s1", "cwd": str(kedge.directory), "hook_event_name": name, **more}
    kedge("hook", "claude", input=json.dumps(event))
    wait_for_aside(kedge.directory / ".git" / "kedge")


def call(kedge: Kedge, number: int, path: str) -> None:
    edit = {"file_path": path, "content": "x\n"}
    hook(kedge, "PreToolUse", tool_name="Write", tool_input=edit, tool_use_id=f"t{number}")


# What it says


def test_it_follows_a_session(project: Kedge) -> None:
    root = project.directory
    assert show(root).startswith("kedge: this session is not watched yet (kedge doctor")
    hook(project, "SessionStart", source="startup")
    assert show(root) == "kedge nothing asked yet · 10/10 on course"
    hook(project, "UserPromptSubmit", prompt=GOAL)
    assert show(root) == "kedge Fix the expiry of tokens in src/auth/token.py.… · 10/10 on course"
    call(project, 1, "src/auth/token.py")
    assert show(root).endswith(" · 10/10 on course · last: write src/auth/token.py, fine")
    call(project, 2, "db/schema.sql")
    line = show(root)
    (session,) = project.json("drift", "status")
    assert f" · {session['score']:.1f}/10 DRIFTED · last: write db/schema.sql, " in line
    assert "/10 intervene: limit, changes db/schema.sql, against “Don't touch" in line
    assert project("statusline", input=json.dumps(given(root))).out == line


def test_it_names_the_task_and_the_policy(project: Kedge) -> None:
    root = project.directory
    project("task", "add", "Mend the expiry", "--id", "k1", "--accept", "it holds")
    project("task", "claim", "k1")
    project("config", "set", "drift.policy", "observe")
    hook(project, "SessionStart", source="startup")
    assert show(root).startswith("kedge (observe) k1: Mend the expiry")
    project("config", "set", "drift.policy", "off")
    hook(project, "SessionStart", source="resume")
    assert show(root) == "kedge: off"


def test_control_characters_do_not_reach_the_terminal(project: Kedge) -> None:
    hook(project, "UserPromptSubmit", prompt="Fix \x1b[31mthe\x07 tokens of the harbour.")
    assert "\x1b" not in show(project.directory)


# The user's own status line


OWN = {"type": "command", "command": "printf 'mine: '; cat | head -c 27", "padding": 0}


def test_the_users_own_stands_first_and_gets_the_same_input(repo: Path, kedge: Kedge) -> None:
    (repo / ".claude").mkdir()
    (repo / LOCAL).write_text(json.dumps({"statusLine": OWN}))
    kedge("init", "--statusline")
    first, second = show(repo).split("\n")
    assert first == 'mine: {"hook_event_name": "Status'
    assert second.startswith("kedge: this session is not watched yet")
    entry = json.loads((repo / LOCAL).read_text())["statusLine"]
    assert entry == {**OWN, "command": entry["command"]}


@pytest.mark.parametrize(
    "settings",
    [
        '{"statusLine": {"type": "command", "command": "~/.claude/\\u006cine.sh \\"a b\\" \'c\'"}}',
        '{ "model": "opus",\r\n\t"statusLine":{"command":"echo \\/x","type":"command"},"a":[ ]}',
        '{"model": "opus"}',
        "{ }",
        '{"hooks": {"Stop": []}, "statusLine": {"padding": 1, "command": "", "type": "command"}}',
        None,
    ],
)
def test_uninstall_restores_every_byte(repo: Path, kedge: Kedge, settings: str | None) -> None:
    path = repo / LOCAL
    if settings is not None:
        path.parent.mkdir()
        path.write_text(settings, newline="")
    kedge("init", "--agent", "claude", "--statusline")
    made = path.read_bytes()
    assert "statusline.py" in command(repo)
    assert "everything is set up already" in kedge("init", "--statusline").out
    assert kedge("update").out == "everything is up to date\n"
    assert path.read_bytes() == made
    path.write_bytes(made.replace(sys.executable.encode(), b"/gone/python3"))
    kedge("update")
    assert path.read_bytes() == made
    assert git(repo, "status", "--porcelain", ".claude") == ""
    kedge("uninstall", "--yes")
    if settings is None:
        assert not path.parent.exists()
    else:
        assert path.read_bytes() == settings.encode()


@pytest.mark.parametrize("place", ["user", "shared"])
def test_one_in_other_settings_is_shown_too(
    repo: Path, kedge: Kedge, tmp_path: Path, place: str
) -> None:
    theirs = tmp_path / "c" / "settings.json" if place == "user" else repo / ".claude/settings.json"
    theirs.parent.mkdir()
    theirs.write_text(json.dumps({"statusLine": OWN}))
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c")}
    ran = kedge("init", "--agent", "claude", "--statusline", env=env)
    assert "note: kedge's status line also shows that of " in ran.out
    assert show(repo).startswith("mine: {")
    assert json.loads((repo / LOCAL).read_text())["statusLine"]["padding"] == 0
    kedge("uninstall", "--yes", env=env)
    assert not (repo / LOCAL).exists()
    assert json.loads(theirs.read_text()) == {"statusLine": OWN}


def test_hooks_that_the_team_shares_leave_the_status_line_to_the_user(
    repo: Path, kedge: Kedge
) -> None:
    kedge("init", "--agent", "claude", "--shared-hooks", "--statusline")
    assert json.loads((repo / LOCAL).read_text()).keys() == {"statusLine"}
    assert "statusLine" not in (repo / ".claude" / "settings.json").read_text()
    assert git(repo, "status", "--porcelain", LOCAL) == ""
    kedge("init", "--agent", "claude")
    assert show(repo).startswith("kedge")
    kedge("uninstall", "--yes")
    assert not (repo / ".claude").exists()


def test_settings_that_are_no_status_line_are_refused(repo: Path, kedge: Kedge) -> None:
    (repo / ".claude").mkdir()
    (repo / LOCAL).write_text('{"statusLine":\n {"type": "static"}}')
    ran = kedge("init", "--statusline", code=1)
    assert_clear(ran, code=1, says=f"{LOCAL}:1: statusLine has no command")
    assert not (repo / ".kedge").exists()
    ran = kedge("init", "--statusline", "--no-hooks", code=2)
    assert_clear(ran, code=2, says="--statusline installs hooks and cannot be combined")


def test_what_is_restored_is_a_string_and_nothing_else(repo: Path, kedge: Kedge) -> None:
    """The settings may be a repository's: their command must not become other settings."""
    (repo / ".claude").mkdir()
    planted = 'kedge statusline --in-place-of \'"x", "model": "evil"\''
    entry = {"type": "command", "command": planted}
    (repo / LOCAL).write_text(json.dumps({"model": "opus", "statusLine": entry}))
    kedge("uninstall", "--yes")
    assert json.loads((repo / LOCAL).read_text()) == {"model": "opus"}


# Faults


@pytest.mark.parametrize("data", ["", "{", "[]", "null", '{"session_id": 1}', "\x00", "{}"])
def test_bad_input_prints_nothing(project: Kedge, data: str) -> None:
    assert show(project.directory, data) == ""


def test_a_damaged_database_prints_nothing_and_stays(project: Kedge) -> None:
    hook(project, "UserPromptSubmit", prompt=GOAL)
    path = project.directory / ".git" / "kedge" / "kedge.db"
    for tail in ("-wal", "-shm"):
        path.with_name(path.name + tail).unlink(missing_ok=True)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    assert show(project.directory) == ""
    assert path.read_bytes().endswith(b"\xff")


def test_it_creates_nothing(project: Kedge, tmp_path: Path) -> None:
    show(project.directory, json.dumps(given(tmp_path)))
    show(project.directory, KEDGE_HOME=str(tmp_path / "home"))
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("theirs", ["exit 3", "kill -9 $$", "/no/such/program 2>/dev/null"])
def test_the_users_own_may_fail(project: Kedge, theirs: str) -> None:
    line = f"{command(project.directory)} --beside {shlex.quote(json.dumps(theirs))}"
    done = subprocess.run(
        line, shell=True, input=json.dumps(given(project.directory)), capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.startswith("kedge: ")


def test_the_users_own_may_hang_or_print_without_end(project: Kedge) -> None:
    started = time.monotonic()
    for theirs in ("sleep 60", "yes"):
        line = f"{command(project.directory)} --beside {shlex.quote(json.dumps(theirs))}"
        data = json.dumps(given(project.directory, filler="x" * 300_000))
        done = subprocess.run(line, shell=True, input=data, capture_output=True, text=True)
        assert done.returncode == 0
        assert done.stdout.splitlines()[-1].startswith("kedge: ")
    assert time.monotonic() - started < 40


def test_a_call_by_hand_says_how_it_is_meant(repo: Path) -> None:
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "kedge", "statusline"],
        cwd=repo,
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert "hint: kedge init --statusline installs it" in done.stderr


# As Claude Code shows it


def test_claude_code_shows_it_beside_the_users_own(
    repo: Path, kedge: Kedge, tmp_path: Path, play: Play
) -> None:
    (repo / ".claude").mkdir()
    own = {"type": "command", "command": "echo my own line"}
    (repo / LOCAL).write_text(json.dumps({"statusLine": own}))
    kedge("init", "--statusline")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    write = {"file_path": str(repo / "notes.md"), "content": "x\n"}
    calls = [{"tool": "Write", "input": write}, "All is done."]
    flags = ("--permission-mode", "acceptEdits")
    with play(calls) as model, Terminal(model.url, tmp_path / "home", repo, *flags) as terminal:
        terminal.wait("kedge watches this session (advise)")
        terminal.wait("my own line")
        terminal.say("Write notes.md with one line.")
        terminal.wait("All is done.")
        screen = terminal.wait("last: write notes.md, fine")
        assert "my own line" in screen
        assert "kedge Write notes.md with one line. · 10/10 on course" in screen
        told = "".join(one.given for one in model.list_requests())
        assert "on course ·" not in told
        assert "kedge watches" not in told
