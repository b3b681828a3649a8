"""Facts about the real clients that kedge relies on, shown with the fake model server."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clients
import pytest
from clients import Claude, Client, Codex

from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
TOOL = Path(__file__).parents[3] / "tools" / "clients"
FULL = 990_000  # tokens: more than Claude Code lets a conversation have before it compacts it


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """The file to which the hooks of `recording_hooks` append their input."""
    return tmp_path / "record.jsonl"


def recording_hooks(file: Path, *events: str) -> dict[str, Any]:
    """Return hooks that record their input; SessionStart also adds a context with its source."""
    command = f"input=$(cat); printf '%s\\n' \"$input\" >>'{file}'"
    hooks = {name: [{"hooks": [{"type": "command", "command": command}]}] for name in events}
    if "SessionStart" in hooks:
        # The source is part of the context, to distinguish one context from another.
        source = 's/.*"source": *"\\([a-z]*\\)".*/\\1/'
        output = {"hookEventName": "SessionStart", "additionalContext": "ANCHOR-%s"}
        answer = json.dumps({"hookSpecificOutput": output})
        speak = f"printf '{answer}' \"$(printf '%s' \"$input\" | tr -d '\\n' | sed '{source}')\""
        hooks["SessionStart"] = [{"hooks": [{"type": "command", "command": f"{command}; {speak}"}]}]
    return {"hooks": hooks}


def read_record(file: Path) -> list[tuple[str, str]]:
    """Return the recorded events, each with its source, its trigger or its tool."""
    lines = file.read_text().splitlines() if file.exists() else []
    inputs = [json.loads(line) for line in lines]
    more = ("source", "trigger", "tool_name")
    return [
        (one["hook_event_name"], next((one[key] for key in more if key in one), ""))
        for one in inputs
    ]


def anchors(model: FakeModel) -> list[list[str]]:
    """Return for each request the contexts of SessionStart in it, as often as they occur."""
    sources = ("startup", "resume", "compact")
    return [
        [source for source in sources for _ in range(one.given.count(f"ANCHOR-{source}"))]
        for one in model.list_requests()
    ]


class TestClaude:
    def test_the_client_plays_the_script(self, claude: Claude, repo: Path, play: Play) -> None:
        write = {"file_path": str(repo / "hello.py"), "content": "print('hello')\n"}
        model = play([{"text": "I write it.", "tool": "Write", "input": write}, "It is written."])
        session = claude(model.url, "create hello.py", cwd=repo)
        assert (repo / "hello.py").read_text() == "print('hello')\n"
        assert session.text == "It is written."
        assert model.left == 0
        first, second = model.list_requests()
        assert "create hello.py" in first.given
        assert "hello.py" in second.results
        assert session.id == first.session

    def test_several_tools_and_a_subagent(self, claude: Claude, repo: Path, play: Play) -> None:
        both = [{"tool": "Bash", "input": {"command": f"echo n$(({n}+{n}))"}} for n in (1, 2)]
        task = {"description": "look", "prompt": "LOOK", "subagent_type": "general-purpose"}
        agent = {"tool": "Agent", "input": task}
        look = {"tool": "Bash", "input": {"command": "echo s$((3+3))"}}
        model = play([{"tools": both}, agent, "Waiting."], subagent=[look, "Looked."])
        claude(model.url, "go", "--allowedTools", "Bash,Agent", cwd=repo)
        assert model.left == 0
        assert set(model.list_requests()[1].results.split()) >= {"n2", "n4"}
        begun, ended = model.list_requests("subagent")
        assert "LOOK" in begun.given
        assert ended.results == "s6"

    def test_hooks_on_the_command_line_run(
        self, claude: Claude, repo: Path, play: Play, record: Path
    ) -> None:
        model = play([{"tool": "Bash", "input": {"command": "true"}}, "Done."])
        names = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
        settings = recording_hooks(record, *names)
        claude(model.url, "go", "--allowedTools", "Bash", cwd=repo, settings=settings)
        assert read_record(record) == [
            ("SessionStart", "startup"),
            ("UserPromptSubmit", ""),
            ("PreToolUse", "Bash"),
            ("PostToolUse", "Bash"),
            ("Stop", ""),
        ]
        assert anchors(model) == [["startup"], ["startup"]]

    def test_a_full_conversation_is_compacted_and_anchored_once(
        self, claude: Claude, repo: Path, play: Play, record: Path
    ) -> None:
        look = {"tool": "Bash", "input": {"command": "true"}}
        model = play([{**look, "input_tokens": FULL}, look, "Done."])
        settings = recording_hooks(record, "SessionStart", "PreCompact")
        claude(model.url, "THE-GOAL", "--allowedTools", "Bash", cwd=repo, settings=settings)
        fired = [("SessionStart", "startup"), ("PreCompact", "auto"), ("SessionStart", "compact")]
        assert read_record(record) == fired
        kinds = [one.kind for one in model.requests]
        assert kinds == ["main", "compaction", "main", "main"]
        assert anchors(model) == [["startup"], ["compact"], ["compact"]]
        # Only the summary is left of the conversation: the anchor has to repeat the goal.
        assert "THE-GOAL" not in model.list_requests()[1].given

    def test_the_compact_command_runs_the_hooks(
        self, claude: Claude, repo: Path, play: Play, record: Path
    ) -> None:
        settings = recording_hooks(record, "SessionStart", "PreCompact")
        model = play(["One.", "Two."])
        session = claude(model.url, "first", cwd=repo, settings=settings)
        again = ("--resume", session.id)
        claude(model.url, "/compact keep the goal", *again, cwd=repo, settings=settings)
        claude(model.url, "second", *again, cwd=repo, settings=settings)
        assert [one.kind for one in model.requests] == ["main", "compaction", "main"]
        resumed = ("SessionStart", "resume")
        compacted = [("PreCompact", "manual"), ("SessionStart", "compact")]
        assert read_record(record) == [("SessionStart", "startup"), resumed, *compacted, resumed]
        assert anchors(model) == [["startup"], ["resume", "compact"]]

    def test_imports_of_claude_md_arrive_once_and_block_comments_do_not(
        self, claude: Claude, repo: Path, play: Play
    ) -> None:
        (repo / "docs").mkdir()
        (repo / "CLAUDE.md").write_text(
            "user text\n<!-- BEGIN MARK -->\n@AGENTS.md\n@docs/a.md\n<!-- END MARK -->\n\n"
            "@AGENTS.md\nkept <!-- INLINE --> kept\n\n```\n<!-- FENCED -->\n@docs/fenced.md\n```\n"
            "<!-- LONG\n@docs/hidden.md\n-->\n`@docs/quoted.md`\n@../outside.md\n"
        )
        (repo / "AGENTS.md").write_text("AGENTS-TEXT\n<!-- AGENTS-MARK -->\n")
        (repo / "docs" / "a.md").write_text("A-TEXT\n\n@../AGENTS.md\n")
        for name in ("docs/fenced.md", "docs/hidden.md", "docs/quoted.md", "../outside.md"):
            (repo / name).write_text("NOT-IMPORTED\n")
        model = play(["Read."])
        claude(model.url, "go", cwd=repo)
        (request,) = model.list_requests()
        (text,) = [one for one in request.texts if "AGENTS-TEXT" in one.text]
        assert text.role == "user"
        assert text.text.startswith("<system-reminder>")
        assert request.given.count("AGENTS-TEXT") == 1
        assert request.given.count("A-TEXT") == 1
        assert "NOT-IMPORTED" not in request.given
        for stripped in ("BEGIN MARK", "END MARK", "AGENTS-MARK", "LONG"):
            assert stripped not in request.given
        for there in (
            "user text",
            "kept <!-- INLINE --> kept",
            "<!-- FENCED -->",
            "@AGENTS.md",
        ):
            assert there in request.given

    def test_agents_md_is_read_if_there_is_no_claude_md(
        self, claude: Claude, repo: Path, play: Play
    ) -> None:
        (repo / "AGENTS.md").write_text("AGENTS-TEXT\n")
        model = play(["Read.", "Read."])
        claude(model.url, "go", cwd=repo)
        (repo / "CLAUDE.md").write_text("CLAUDE-TEXT\n")
        claude(model.url, "go", cwd=repo)
        alone, beside = model.list_requests()
        assert "AGENTS-TEXT" in alone.given
        assert "AGENTS-TEXT" not in beside.given
        assert "CLAUDE-TEXT" in beside.given

    def test_the_client_retries_after_server_errors(
        self, claude: Claude, repo: Path, play: Play
    ) -> None:
        model = play([{"status": 529}, {"drop": True}, {"text": "Par", "cut": True}, "Whole."])
        session = claude(model.url, "go", cwd=repo)
        assert session.text == "Whole."
        assert [one["attempt"] for one in session.of("system", "api_retry")] == [1, 2]


def trust(codex: Codex, repo: Path) -> None:
    """Trust the project and its current hooks, as Codex's own dialogue does."""
    config = codex.codex_home / "config.toml"
    # Codex reads the hooks of trusted projects only.
    config.write_text(f'[projects.{json.dumps(str(repo.resolve()))}]\ntrust_level = "trusted"\n')
    with config.open("a") as file:
        for hook in codex.hooks(repo):
            state = json.dumps(hook["key"])
            file.write(f'\n[hooks.state.{state}]\ntrusted_hash = "{hook["currentHash"]}"\n')


class TestCodex:
    ANYWAY = "--dangerously-bypass-hook-trust"

    @pytest.fixture
    def hooks(self, repo: Path, record: Path) -> Path:
        """The project's hooks."""
        file = repo / ".codex" / "hooks.json"
        file.parent.mkdir()
        file.write_text(json.dumps(recording_hooks(record, "SessionStart", "PreToolUse", "Stop")))
        return file

    def test_the_client_plays_the_script(self, codex: Codex, repo: Path, play: Play) -> None:
        (repo / "AGENTS.md").write_text("AGENTS-TEXT\n<!-- MARK -->\n@docs/a.md\n")
        (repo / "docs").mkdir()
        (repo / "docs" / "a.md").write_text("NOT-IMPORTED\n")
        patch = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n"
        look = {"tool": "exec_command", "input": {"cmd": "cat hello.txt"}}
        model = play([{"tool": "apply_patch", "input": patch}, look, "Done so far.", "On."])
        session = codex(model.url, "create hello.txt", cwd=repo)
        assert (repo / "hello.txt").read_text() == "hello\n"
        assert session.text == "Done so far."
        first, _, third = model.list_requests()
        assert "create hello.txt" in first.given
        (text,) = [one for one in first.texts if "AGENTS-TEXT" in one.text]
        assert text.role == "user"
        # Codex knows neither imports nor comments: it sends the file unchanged.
        assert "<!-- MARK -->\n@docs/a.md" in text.text
        assert "NOT-IMPORTED" not in first.given
        assert "hello" in third.results
        codex(model.url, "and then", cwd=repo, resume=session.id)
        assert "create hello.txt" in model.list_requests()[-1].given

    def test_hooks_run_only_if_they_are_trusted(
        self, codex: Codex, repo: Path, play: Play, hooks: Path, record: Path
    ) -> None:
        def list_fired(*flags: str, trusted: bool = True) -> list[str]:
            record.unlink(missing_ok=True)
            model = play([{"tool": "exec_command", "input": {"cmd": "true"}}, "Done."])
            codex(model.url, "go", *flags, cwd=repo, trusted=trusted)
            assert anchors(model) == ([["startup"]] * 2 if record.exists() else [[]] * 2)
            return [event for event, _ in read_record(record)]

        every = ["SessionStart", "PreToolUse", "Stop"]
        assert list_fired() == []
        assert list_fired(self.ANYWAY) == every
        assert list_fired(self.ANYWAY, trusted=False) == []  # nothing of the project is read
        trust(codex, repo)
        assert list_fired() == every
        changed = json.loads(hooks.read_text())
        changed["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 5
        hooks.write_text(json.dumps(changed))
        assert list_fired() == every[:2]
        states = {hook["eventName"]: hook["trustStatus"] for hook in codex.hooks(repo)}
        assert states == {"sessionStart": "trusted", "preToolUse": "trusted", "stop": "modified"}

    def test_the_trusted_hash_covers_the_whole_hook(
        self, codex: Codex, repo: Path, hooks: Path
    ) -> None:
        one: dict[str, Any] = {"type": "command", "command": "echo ‘é’", "timeout": 7}
        two, three = {**one, "statusMessage": "looks"}, {**one, "timeout": 0}
        groups = {
            "SessionStart": [{"matcher": "startup|resume", "hooks": [one]}],
            "PreToolUse": [{"hooks": [two, three]}],
        }
        hooks.write_text(json.dumps({"hooks": groups}))
        trust(codex, repo)

        def digest(event: str, hook: dict[str, Any], **more: str) -> str:
            hook = {"async": False, **hook, "timeout": max(1, hook.get("timeout", 600))}
            identity = {"event_name": event, "hooks": [hook], **more}
            text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

        place = hooks.resolve()
        assert {hook["key"]: hook["currentHash"] for hook in codex.hooks(repo)} == {
            f"{place}:session_start:0:0": digest("session_start", one, matcher="startup|resume"),
            f"{place}:pre_tool_use:0:0": digest("pre_tool_use", two),
            f"{place}:pre_tool_use:0:1": digest("pre_tool_use", three),
        }

    def test_a_full_conversation_is_compacted_and_anchored_once(
        self, codex: Codex, repo: Path, play: Play, hooks: Path, record: Path
    ) -> None:
        (repo / "AGENTS.md").write_text("AGENTS-TEXT\n")
        look = {"tool": "exec_command", "input": {"cmd": "true"}}
        model = play([{**look, "input_tokens": 50_000}, look, "Done."])
        limit = ("-c", "model_auto_compact_token_limit=20000")
        codex(model.url, "THE-GOAL", self.ANYWAY, *limit, cwd=repo)
        starts = [source for event, source in read_record(record) if event == "SessionStart"]
        assert starts == ["startup", "compact"]
        kinds = [one.kind for one in model.requests]
        assert kinds == ["main", "compaction", "main", "main"]
        assert anchors(model) == [["startup"], ["compact"], ["compact"]]
        # Unlike Claude Code it keeps the user's messages beside the summary.
        assert "THE-GOAL" in model.list_requests()[1].given
        assert model.list_requests()[1].given.count("AGENTS-TEXT") == 1


class TestSafety:
    def test_a_client_gets_a_clean_environment(
        self, claude: Claude, repo: Path, play: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("ANTHROPIC_AUTH_TOKEN", "HTTPS_PROXY", "SOME_PASSWORD"):
            monkeypatch.setenv(name, "of-the-caller")
        model = play([{"tool": "Bash", "input": {"command": "env; pwd"}}, "Done."])
        claude(model.url, "go", "--allowedTools", "Bash", cwd=repo)
        seen = model.list_requests()[1].results
        assert "HOME=" in seen
        assert "of-the-caller" not in seen
        homes = [line for line in seen.splitlines() if line.startswith(("HOME=", "TMPDIR="))]
        assert all(str(repo.parent) in line for line in homes)

    def test_a_hanging_client_is_ended_with_its_processes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Hanging(Client):
            name = "sh"

        monkeypatch.setattr(clients, "PROGRAMS", Path("/bin"))
        client = Hanging(tmp_path / "home")
        for seconds in (1, 5, 25):  # until it is long enough for the shell to start
            with pytest.raises(AssertionError, match="took more than"):
                client.run(["-c", "sleep 600 & echo $! >pid; wait"], tmp_path, {}, seconds, 0)
            if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
                break
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)

    @pytest.mark.parametrize("name", ["claude", "codex"])
    def test_a_missing_client_skips_the_test_but_fails_in_ci(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setattr(clients, "PROGRAMS", tmp_path)
        monkeypatch.delenv("CI", raising=False)
        with pytest.raises(pytest.skip.Exception, match="run tools/clients"):
            clients.program(name)
        monkeypatch.setenv("CI", "1")
        with pytest.raises(pytest.fail.Exception, match="run tools/clients"):
            clients.program(name)


class TestInstall:
    """`tools/clients`, with a fake npm."""

    NPM = """#!/bin/sh
        while [ "$1" != --prefix ]; do shift; done
        echo call >>"$CALLS"
        mkdir -p "$2/node_modules/.bin" && cd "$2/node_modules/.bin" || exit 1
        for name in claude codex gemini copilot opencode; do
            printf '#!/bin/sh\\n%s\\n' "$RUNS" >$name; chmod +x $name
        done
        exit "$ENDS"
        """

    @pytest.fixture
    def programs(self, tmp_path: Path) -> Path:
        """A PATH with the programs that the script needs, without npm."""
        path = tmp_path / "bin"
        path.mkdir()
        for name in ("sh", "cat", "chmod", "env", "mkdir", "mktemp", "mv", "rm"):
            found = shutil.which(name)
            assert found is not None
            (path / name).symlink_to(found)
        return path

    def install(self, programs: Path, **env: str) -> subprocess.CompletedProcess[str]:
        calls = {"CALLS": str(programs.parent / "calls"), "RUNS": "true", "ENDS": "0"}
        return subprocess.run(
            [TOOL, "venv"],
            cwd=programs.parent,
            env={"PATH": str(programs), **calls, **env},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def npm(self, programs: Path) -> None:
        (programs / "npm").write_text(self.NPM)
        (programs / "npm").chmod(0o755)

    def test_it_installs_once(self, programs: Path, tmp_path: Path) -> None:
        self.npm(programs)
        assert "installing" in self.install(programs).stdout
        again = self.install(programs)
        assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
        assert (tmp_path / "calls").read_text() == "call\n"
        assert (tmp_path / "venv" / "clients" / "node_modules" / ".bin" / "claude").exists()

    def test_other_versions_are_replaced(self, programs: Path, tmp_path: Path) -> None:
        self.npm(programs)
        self.install(programs)
        top = tmp_path / "venv" / "clients"
        (top / ".pins").write_text("of another day")
        (top / "stale").touch()
        assert self.install(programs).returncode == 0
        assert not (top / "stale").exists()
        assert {file.name for file in (tmp_path / "venv").iterdir()} == {"clients", "clients.log"}

    @pytest.mark.parametrize("fault", [{"ENDS": "1"}, {"RUNS": "exit 1"}])
    def test_a_failed_install_leaves_nothing(
        self, programs: Path, tmp_path: Path, fault: dict[str, str]
    ) -> None:
        self.npm(programs)
        done = self.install(programs, **fault)
        assert done.returncode == 0
        assert "are skipped" in done.stderr
        assert {file.name for file in (tmp_path / "venv").iterdir()} == {"clients.log"}
        assert self.install(programs, **fault, CI="1").returncode == 1

    def test_a_missing_npm_fails_only_in_ci(self, programs: Path) -> None:
        done = self.install(programs)
        assert (done.returncode, done.stdout) == (0, "")
        assert "no npm was found" in done.stderr
        assert self.install(programs, CI="1").returncode == 1
