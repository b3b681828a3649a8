"""The adapters with the real Claude Code and Codex, from invocation to end."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from agents.launch.client_runner import (
    LONG,
    SLOW,
    Play,
    Runner,
    list_changes,
    make_invocation,
    of,
    processes,
    run_and_stop,
    the_end,
)
from clients import Claude, Codex, environment

from kedge.agents.launch import claude as claude_code
from kedge.agents.launch import codex as codex_exec
from kedge.agents.launch.events import (
    Reason,
    RetryWait,
    Started,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    Usage,
)
from kedge.agents.launch.invocation import Permissions
from kedge.agents.settings.hooks import Hook
from kedge.testing.fake_model import FakeModel

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop")
ALLOWED = "python3 -c 'print(2)' | sort"


@pytest.fixture
def a_claude(claude: Claude) -> Callable[[FakeModel], Runner]:
    def make(model: FakeModel) -> Runner:
        own = {
            "ANTHROPIC_API_KEY": "sk-ant-dummy",
            "ANTHROPIC_BASE_URL": model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "CLAUDE_CODE_TMPDIR": str(claude.home / "tmp"),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }
        return Runner(claude_code, claude.program, {**environment(claude.home), **own})

    return make


@pytest.fixture
def a_codex(codex: Codex) -> Callable[[FakeModel], Runner]:
    def make(model: FakeModel) -> Runner:
        lines = [
            'model = "gpt-5.5-codex"',
            'model_provider = "fake"',
            "check_for_update_on_startup = false",
            "[model_providers.fake]",
            'name = "fake"',
            f'base_url = "{model.url}/v1"',
            'env_key = "FAKE_KEY"',
            'wire_api = "responses"',
            "request_max_retries = 1",
            "stream_max_retries = 1",
            "[analytics]",
            "enabled = false",
            "[features]",
            "daemon_auto_start = false",
        ]
        (codex.codex_home / "config.toml").write_text("\n".join([*lines, ""]))
        return Runner(codex_exec, codex.program, {**environment(codex.home), **codex.own})

    return make


def recording_hooks(file: Path) -> tuple[Hook, ...]:
    """Return hooks that record the events they are called for."""
    command = f"input=$(cat); printf '%s\\n' \"$input\" >>'{file}'"
    return tuple(Hook(event, None, command) for event in EVENTS)


def read_record(file: Path) -> list[str]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["hook_event_name"] for line in lines]


class TestClaude:
    def test_work_is_done_and_reported(
        self,
        a_claude: Callable[[FakeModel], Runner],
        repo: Path,
        play: Play,
        tmp_path: Path,
    ) -> None:
        write = {"tool": "Write", "input": {"file_path": "a.txt", "content": "a\n"}}
        shell = [
            {"tool": "Bash", "input": {"command": command}}
            for command in ("cat a.txt", ALLOWED, "false", "python3 -c 'print(1)'")
        ]
        model = play([{"text": "First.", **write}, {"text": "Now.", "tools": shell}, "All done."])
        session = str(uuid.uuid4())
        record = tmp_path / "record.jsonl"
        invocation = make_invocation(
            repo,
            LONG,
            system="SYSTEM-TEXT",
            session=session,
            model="claude-sonnet-4-5",
            permissions=Permissions((ALLOWED, "false")),
            hooks=recording_hooks(record),
            environment={"KEDGE_TASK": "T-1"},
        )
        events = a_claude(model).run(invocation)
        end = the_end(events)
        assert (end.reason, end.text, end.session) == (Reason.COMPLETED, "All done.", session)
        assert events[0] == Started(session, "claude-sonnet-4-5")
        requests = model.list_requests()
        assert len(requests) == 3
        assert end.used is not None
        assert (end.used.tokens_in, end.used.tokens_out) == (3000, 150)
        assert end.used.cost is not None
        assert of(events, Usage)[-1] == end.used
        # The usage is as exact before the end as after it.
        assert (of(events, Usage)[-2].tokens_in, of(events, Usage)[-2].tokens_out) == (3000, 150)
        calls = of(events, ToolStarted)
        assert [(call.tool, call.summary) for call in calls] == [
            ("Write", "a.txt"),
            ("Bash", "cat a.txt"),
            ("Bash", ALLOWED),
            ("Bash", "false"),
            ("Bash", "python3 -c 'print(1)'"),
        ]
        answers = {one.id: one.ok for one in of(events, ToolFinished)}
        assert [answers[call.id] for call in calls] == [True, True, True, False, False]
        (denied,) = of(events, ToolDenied)
        assert (denied.tool, denied.id) == ("Bash", calls[-1].id)
        assert denied.reason
        assert LONG in requests[0].given
        assert "SYSTEM-TEXT" in "".join(t.text for t in requests[0].texts if t.role == "system")
        assert read_record(record)[:2] == ["SessionStart", "UserPromptSubmit"]
        assert read_record(record).count("PreToolUse") == 5
        assert read_record(record)[-1] == "Stop"
        assert list_changes(repo) == ["?? a.txt"]

    def test_a_denial_by_a_hook_is_reported(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        output = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        answer = json.dumps({"hookSpecificOutput": {**output, "permissionDecisionReason": "WHY"}})
        model = play([{"tool": "Bash", "input": {"command": "true"}}, "Done."])
        hooks = (Hook("PreToolUse", None, f"printf '{answer}'"),)
        events = a_claude(model).run(make_invocation(repo, hooks=hooks))
        (denied,) = of(events, ToolDenied)
        assert denied.tool == "Bash"
        assert "WHY" in denied.reason
        assert the_end(events).ok

    def test_a_hook_can_stop_the_run(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        for event, answer in (
            ("PreToolUse", {"continue": False, "stopReason": "WHY"}),
            ("UserPromptSubmit", {"decision": "block", "reason": "WHY"}),
        ):
            model = play([{"tool": "Bash", "input": {"command": "true"}}, "Done."])
            hooks = (Hook(event, None, f"printf '{json.dumps(answer)}'"),)
            end = the_end(a_claude(model).run(make_invocation(repo, hooks=hooks)))
            assert end.reason is Reason.HOOK_STOPPED, event

    def test_limits_of_the_agent_itself_are_reported(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        look = {"tool": "Read", "input": {"file_path": "a.txt"}, "input_tokens": 500_000}
        (repo / "a.txt").write_text("a\n")
        for limit, reason in (
            ({"max_turns": 2}, Reason.MAX_TURNS),
            ({"max_cost": 0.01}, Reason.BUDGET),
        ):
            model = play([look] * 5)
            end = the_end(a_claude(model).run(make_invocation(repo, **limit)))
            assert end.reason is reason
            assert end.used is not None
            assert end.used.tokens_in == 500_000 * len(model.list_requests())

    @pytest.mark.parametrize(
        ("turn", "reason"),
        [
            ({"status": 401}, Reason.AUTH),
            ({"status": 429, "headers": {"retry-after": "0"}}, Reason.RATE_LIMITED),
            ({"status": 529}, Reason.UNAVAILABLE),
            ({"status": 400, "message": "prompt is too long: 3 tokens > 2"}, Reason.TOO_LONG),
        ],
    )
    def test_provider_errors_have_their_reason(
        self,
        a_claude: Callable[[FakeModel], Runner],
        repo: Path,
        play: Play,
        turn: dict[str, object],
        reason: Reason,
    ) -> None:
        model = play(lambda _: turn)
        events = a_claude(model).run(make_invocation(repo))
        assert the_end(events).reason is reason
        assert the_end(events).message
        if reason is not Reason.TOO_LONG:
            assert [one.seconds is not None for one in of(events, RetryWait)] == [True]

    def test_a_rate_limit_of_a_subscription_has_a_reset_time(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        at = int(time.time()) + 3600
        headers = {
            "retry-after": "3600",
            "anthropic-ratelimit-unified-reset": str(at),
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
        }
        runner = a_claude(play(lambda _: {"status": 429, "headers": headers}))
        runner.env |= {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy"}
        end = the_end(runner.run(make_invocation(repo)))
        assert (end.reason, end.resets_at) == (Reason.RATE_LIMITED, at)

    def test_full_access_denies_nothing(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        model = play([{"tool": "Bash", "input": {"command": "python3 -c 'print(1)'"}}, "Done."])
        runner = a_claude(model)
        full = make_invocation(repo, permissions=Permissions(full=True))
        if os.geteuid() == 0:
            end = the_end(runner.run(full))
            assert end.reason is Reason.NOT_STARTED
            assert "root" in end.message
        runner.env["IS_SANDBOX"] = "1"
        events = runner.run(full)
        assert the_end(events).ok
        assert of(events, ToolDenied) == []

    def test_a_stopped_agent_leaves_no_process(
        self, a_claude: Callable[[FakeModel], Runner], claude: Claude, repo: Path, play: Play
    ) -> None:
        (repo / "slow.sh").write_text(SLOW)
        model = play([{"tool": "Bash", "input": {"command": "sh slow.sh"}}])
        end = run_and_stop(
            a_claude(model), make_invocation(repo, permissions=Permissions(("sh slow.sh",))), repo
        )
        assert end.reason is Reason.KILLED
        assert "tokens" in end.message
        assert processes(claude.home) == []


class TestCodex:
    PATCH = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** End Patch\n"

    def test_work_is_done_and_reported(
        self, a_codex: Callable[[FakeModel], Runner], repo: Path, play: Play, tmp_path: Path
    ) -> None:
        shell = {"tool": "exec_command", "input": {"cmd": "cat b.txt; echo $KEDGE_TASK"}}
        bad = {"tool": "exec_command", "input": {"cmd": "rm -rf /"}}
        patch = {"tool": "apply_patch", "input": self.PATCH}
        model = play([{"text": "First.", **patch}, shell, bad, "All done."])
        record = tmp_path / "record.jsonl"
        invocation = make_invocation(
            repo,
            LONG,
            system='SYSTEM "TEXT" \\ é\x7f\nmore',
            model="gpt-5.5",
            hooks=recording_hooks(record),
            environment={"KEDGE_TASK": "T-1"},
        )
        events = a_codex(model).run(invocation)
        end = the_end(events)
        assert (end.reason, end.text) == (Reason.COMPLETED, "All done.")
        assert events[0] == Started(end.session or "")
        requests = model.list_requests()
        assert end.used == Usage(1000 * len(requests), 50 * len(requests), 0, None)
        wrote, ran = of(events, ToolStarted)
        assert (wrote.tool, ran.tool) == ("apply_patch", "Bash")
        assert wrote.summary.endswith("b.txt")
        assert "cat b.txt" in ran.summary
        assert [(one.id, one.ok) for one in of(events, ToolFinished)] == [
            (wrote.id, True),
            (ran.id, True),
        ]
        (denied,) = of(events, ToolDenied)
        assert "rejected" in denied.reason
        assert "T-1" in requests[2].results
        assert requests[0].body["model"] == "gpt-5.5"
        assert LONG in requests[0].given
        texts = [text.text for text in requests[0].texts if text.role == "developer"]
        assert any('SYSTEM "TEXT" \\ é\x7f\nmore' in text for text in texts)
        assert set(read_record(record)) == set(EVENTS)
        assert list_changes(repo) == ["?? b.txt"]

    def test_hooks_of_the_repository_do_not_run(
        self,
        a_codex: Callable[[FakeModel], Runner],
        codex: Codex,
        repo: Path,
        play: Play,
        tmp_path: Path,
    ) -> None:
        ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
        (repo / ".codex").mkdir()
        stranger = {"type": "command", "command": f"echo x >>'{theirs}'"}
        text = json.dumps({"hooks": {"SessionStart": [{"hooks": [stranger]}]}})
        (repo / ".codex" / "hooks.json").write_text(text)
        runner = a_codex(play(["Done."]))
        with (codex.codex_home / "config.toml").open("a") as file:
            file.write(f"[projects.{json.dumps(str(repo.resolve()))}]\ntrust_level = 'trusted'\n")
        assert the_end(runner.run(make_invocation(repo, hooks=recording_hooks(ours)))).ok
        assert read_record(ours)[:1] == ["SessionStart"]
        assert not theirs.exists()

    @pytest.mark.parametrize(
        ("turn", "reason"),
        [
            ({"status": 401}, Reason.AUTH),
            ({"status": 429}, Reason.RATE_LIMITED),
            ({"status": 500}, Reason.UNAVAILABLE),
            ({"text": "x", "error": "context_length_exceeded"}, Reason.TOO_LONG),
        ],
    )
    def test_provider_errors_have_their_reason(
        self,
        a_codex: Callable[[FakeModel], Runner],
        repo: Path,
        play: Play,
        turn: dict[str, object],
        reason: Reason,
    ) -> None:
        events = a_codex(play(lambda _: turn)).run(make_invocation(repo))
        assert the_end(events).reason is reason
        assert the_end(events).message
        if reason in (Reason.AUTH, Reason.UNAVAILABLE):
            assert len(of(events, RetryWait)) == 1

    @pytest.mark.parametrize("full", [False, True])
    def test_the_sandbox_is_left_only_with_full_access(
        self, a_codex: Callable[[FakeModel], Runner], repo: Path, play: Play, full: bool
    ) -> None:
        command = "touch here; touch .git/there"
        model = play([{"tool": "exec_command", "input": {"cmd": command}}, "Done."])
        events = a_codex(model).run(make_invocation(repo, permissions=Permissions(full=full)))
        assert the_end(events).ok
        assert (repo / "here").exists()
        assert (repo / ".git" / "there").exists() is full

    def test_a_stopped_agent_leaves_no_process(
        self, a_codex: Callable[[FakeModel], Runner], codex: Codex, repo: Path, play: Play
    ) -> None:
        (repo / "slow.sh").write_text(SLOW)
        sleep = {"cmd": "sh slow.sh", "yield_time_ms": 60_000}
        runner = a_codex(play([{"tool": "exec_command", "input": sleep}]))
        end = run_and_stop(runner, make_invocation(repo, permissions=Permissions(full=True)), repo)
        assert end.reason is Reason.KILLED
        assert processes(codex.home) == []
