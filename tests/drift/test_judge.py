"""The judge: how it is called and limited, and the real clients as judges."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clients import PROGRAMS, Claude, Client, Codex, environment
from support import Kedge, git

from kedge.drift import judge, judge_presets
from kedge.errors import ProgramError
from kedge.store import sessions, sqlite
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Fix the expiry of tokens. I'd rather the login code stayed as it is."
QUOTE = "I'd rather the login code stayed as it is"
ANSWER = json.dumps({"limits": [{"options": ["--forbid", "src/login/"], "quote": QUOTE}]})
WAIT = """
import sqlite3, sys, time
for _ in range(1000):
    if sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall():
        break
    time.sleep(0.05)
"""
both = pytest.mark.parametrize("name", ["claude", "codex"])


@pytest.fixture
def client(name: str, tmp_path: Path) -> Client:
    return Claude(tmp_path / "home") if name == "claude" else Codex(tmp_path / "home")


def find_processes(mark: str) -> list[str]:
    """Return the commands of the processes that have the mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def wait_for_end(mark: str) -> None:
    late = time.monotonic() + 60
    while left := find_processes(mark):
        assert time.monotonic() < late, left
        time.sleep(0.05)


def configure(client: Client, model: FakeModel) -> dict[str, str]:
    """Let the client use the model by the user's own settings; return the environment."""
    env = {**environment(client.home), "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    if isinstance(client, Codex):
        provider = {"name": "fake", "base_url": f"{model.url}/v1", "env_key": "FAKE_KEY"}
        lines = ['model = "gpt-5.5-codex"', 'model_provider = "fake"', "[analytics]"]
        lines += ["enabled = false", "[model_providers.fake]", 'wire_api = "responses"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
        (client.codex_home / "config.toml").write_text("\n".join(lines) + "\n")
        return {**env, **client.own}
    quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    key = {"ANTHROPIC_API_KEY": "sk-ant-dummy", "ANTHROPIC_BASE_URL": model.url}
    return {**env, **key, **dict.fromkeys(quiet, "1")}


# Any command


def test_a_judge_that_hangs_is_killed_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "SECONDS", 0.5)
    monkeypatch.setenv("MARK", str(tmp_path))
    command = "sleep 600 & setsid sleep 600 & trap '' TERM; while :; do sleep 600; done"
    with pytest.raises(ProgramError, match=r"nothing within 0\.5 s"):
        judge.judge_message(f'sh -c "{command}"', GOAL, GOAL, (), "/repo")
    assert find_processes(f"MARK={tmp_path}") == []


def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProgramError, match="more than 65536 bytes"):
        judge.judge_message("yes", GOAL, GOAL, (), "/repo")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--only", "src/auth"], [("only_under", ("src/auth",))]),
        (["--only", "src", "--only=docs/**"], [("only_under", ("src/", "docs/**"))]),
        (["--forbid", "/repo/src/a.py"], [("no_touch", ("src/a.py",))]),
        (["--no-read", "secrets/"], [("no_read", ("secrets/",))]),
        (["--no", "force-push"], [("no_vcs", ("force push",))]),
        (["--no", "changes", "--no", "run"], [("read_only", ()), ("no_run", ())]),
        (["--no", "run:npm test"], [("no_run", ("npm test",))]),
        (["--no", "tool:WebSearch"], [("no_tool", ("WebSearch",))]),
        (["--keep-api"], [("keep_api", ())]),
        (["--target", "staging"], [("only_target", ("staging",))]),
        (["--no", "delete", "--ask-first"], [("ask_first", ("no_delete",))]),
        (["--forbid", "db/", "--ask-first"], [("ask_first", ("no_touch", "db/"))]),
    ],
)
def test_options_become_limits(
    options: list[str], expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    answer = json.dumps({"limits": [{"options": options, "quote": "THE login\ncode"}]})
    limits, faults = judge.parse_answer(answer, GOAL, "/repo")
    assert [(each.kind, each.subject) for each in limits] == expected
    assert {(each.quote, each.source) for each in limits} == {("THE login code", "judge")}
    assert faults == []


def test_exceptions_belong_to_the_limit() -> None:
    options = ["--no", "dependencies", "--except", "zod"]
    answer = json.dumps({"limits": [{"options": options, "quote": QUOTE}]})
    ((limit,), _) = judge.parse_answer(answer, GOAL, "/repo")
    assert (limit.kind, limit.exceptions, limit.standing) == ("no_new_dependencies", ("zod",), True)


# The real clients


@both
def test_a_client_is_asked_without_tools_hooks_servers_and_memory(
    client: Client, name: str, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = tmp_path / "called"
    shout = {"type": "command", "command": f"touch {called}"}
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    hooks = {"hooks": {event: [{"hooks": [shout]}] for event in events}}
    model = play([f"```json\n{ANSWER}\n```"])
    env = configure(client, model)
    server = ["sh", "-c", f"touch {called}; sleep 600"]
    if isinstance(client, Codex):
        (client.codex_home / "hooks.json").write_text(json.dumps(hooks))
        settings = client.codex_home / "config.toml"
        servers = f"[mcp_servers.'my tool']\ncommand = 'sh'\nargs = {json.dumps(server[1:])}\n"
        settings.write_text(settings.read_text() + servers)
        plain = judge_presets.call_codex

        def trust_hooks(request: str) -> Any:
            call = plain(request)
            return call._replace(argv=(*call.argv, "--dangerously-bypass-hook-trust"))

        monkeypatch.setitem(judge_presets.PRESETS, "codex", trust_hooks)
    else:
        folder = client.home / ".claude"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps({**hooks, "env": {"FROM_SETTINGS": "1"}}))
        (folder / "CLAUDE.md").write_text("the user's own memory\n")
        entry = {"command": server[0], "args": server[1:]}
        (client.home / ".claude.json").write_text(json.dumps({"mcpServers": {"my tool": entry}}))
    for key in os.environ:
        monkeypatch.delenv(key)
    for key, value in {**env, "MARK": str(tmp_path)}.items():
        monkeypatch.setenv(key, value)
    limits, faults = judge.judge_message(name, GOAL, "Fix it", (), str(tmp_path))
    assert [(each.kind, each.subject) for each in limits] == [("no_touch", ("src/login/",))]
    assert faults == []
    (request,) = model.list_requests()
    assert request.tools == ([] if name == "claude" else ["apply_patch"])
    assert judge_presets.INSTRUCTIONS.strip() in request.given
    assert json.dumps(GOAL) in request.given
    assert "own memory" not in request.given
    assert not called.exists()
    assert find_processes(f"MARK={tmp_path}") == []


@pytest.mark.parametrize("name", ["codex"])
def test_the_one_tool_that_codex_keeps_changes_nothing(
    client: Client, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for target in (str(tmp_path / "evil.py"), "evil.py"):
        patch = f"*** Begin Patch\n*** Add File: {target}\n+A = 1\n*** End Patch\n"
        model = play([{"tool": "apply_patch", "input": patch}, ANSWER])
        for key, value in configure(client, model).items():
            monkeypatch.setenv(key, value)
        limits, _ = judge.judge_message("codex", GOAL, GOAL, (), str(tmp_path))
        assert len(limits) == 1
        assert "Success" not in model.list_requests()[-1].results
        assert list(tmp_path.rglob("evil.py")) == []


class Harbour:
    """A project in which a client works, with a judge that the user chose."""

    def __init__(self, kedge: Kedge, client: Client, judge_name: str, scratch: Path) -> None:
        self.repo, self.home = kedge.directory, kedge.directory / ".git" / "kedge"
        self.client, self.scratch = client, scratch
        (self.repo / ".claude").mkdir()
        (self.repo / ".codex").mkdir()
        kedge("init")
        git(self.repo, "add", ".")
        git(self.repo, "commit", "-qm", "first")
        settings = client.home / ".config" / "kedge" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[drift]\njudge = "{judge_name}"\n')
        (scratch / "wait.py").write_text(WAIT)

    def wait_for(self, query: str) -> dict[str, Any]:
        """Return a call that ends when a query of the database has an answer."""
        words = [sys.executable, self.scratch / "wait.py", self.home / "kedge.db", query]
        command = shlex.join(map(str, words))
        if self.client.name == "claude":
            return {"tool": "Bash", "input": {"command": command}}
        return {"tool": "exec_command", "input": {"cmd": command, "yield_time_ms": 30_000}}

    def write(self, path: str, line: str) -> dict[str, Any]:
        if self.client.name == "claude":
            given = {"file_path": str(self.repo / path), "content": f"{line}\n"}
            return {"tool": "Write", "input": given}
        patch = f"*** Begin Patch\n*** Add File: {path}\n+{line}\n*** End Patch\n"
        return {"tool": "apply_patch", "input": patch}

    def run(self, model: FakeModel, **more: str) -> str:
        """Return the client's last words, when no process of it is left."""
        env = {**configure(self.client, model), "MARK": str(self.scratch), **more}
        if isinstance(self.client, Claude):
            ran = self.client(model.url, GOAL, "--allowedTools", "Bash", cwd=self.repo, env=env)
        else:
            assert isinstance(self.client, Codex)
            anyway = "--dangerously-bypass-hook-trust"
            ran = self.client(model.url, GOAL, anyway, cwd=self.repo, env=env)
        wait_for_end(f"MARK={self.scratch}")
        return ran.text

    def errors(self) -> list[str]:
        with closing(sqlite.connect(self.home)[0]) as db:
            return [row["error"] for row in sessions.errors(db)]


@both
def test_an_agent_is_held_to_what_its_judge_read(
    client: Client, name: str, play: Play, kedge: Kedge, tmp_path: Path
) -> None:
    """The same client twice, as the agent and as its judge: the judge's hooks are not called."""
    harbour = Harbour(kedge, client, name, tmp_path)
    calls = [harbour.wait_for("SELECT 1 FROM session WHERE limits != '[]'")]
    calls.append(harbour.write("src/login/form.py", "A = 1"))

    def script(request: Any) -> Any:
        if "You read messages that a user wrote" in request.given:
            return ANSWER
        return calls.pop(0) if calls else "I leave it."

    model = play(script)
    assert harbour.run(model) == "I leave it."
    assert not (harbour.repo / "src" / "login" / "form.py").exists()
    assert QUOTE in model.list_requests()[-1].results
    with closing(sqlite.connect(harbour.home)[0]) as db:
        (session,) = sessions.sessions(db)
    assert (session["limits"], session["status"]) == ([QUOTE], "completed")
    assert len([one for one in model.list_requests() if "You read messages" in one.given]) == 1
    assert harbour.errors() == []


@both
def test_a_judge_that_is_missing_is_not_noticed(
    client: Client, name: str, play: Play, kedge: Kedge, tmp_path: Path
) -> None:
    other = "codex" if name == "claude" else "claude"
    harbour = Harbour(kedge, client, other, tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    for program in ("git", "node", "sh", "bash", "env", "kedge"):
        if found := shutil.which(program, path=f"{Path(sys.executable).parent}:{os.defpath}"):
            (programs / program).symlink_to(found)
    model = play([harbour.wait_for("SELECT 1 FROM guard_error"), "Done."])
    assert harbour.run(model, PATH=str(programs)) == "Done."
    assert "drift.judge" not in "".join(one.given for one in model.list_requests())
    assert harbour.errors() == [f"ProgramError: drift.judge: there is no program {other!r}"]
