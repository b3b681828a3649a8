"""The adapters with the real Claude Code and Codex: the whole way from an order to its end."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from clients import Claude, Codex, environment
from support import git

from kedge.agents.hooks import Hook
from kedge.agents.run import adapter as running
from kedge.agents.run import claude as claude_code
from kedge.agents.run import codex as codex_exec
from kedge.agents.run.adapter import Adapter
from kedge.agents.run.events import (
    Answered,
    Called,
    Denied,
    Event,
    Finished,
    Reason,
    Started,
    Used,
    Waiting,
)
from kedge.agents.run.order import Order, Permissions
from kedge.host.running import Child
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
T = TypeVar("T")
PATIENCE = 60.0
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop")
ALLOWED = "python3 -c 'print(2)' | sort"
SLOW = "setsid sleep 3600 &\ntouch begun\nsleep 3600\n"
LONG = "BEGIN \"'$(touch no)\\ é\n" + "x y z\n" * 50_000 + "END"


class Runner:
    """A real client with its adapter, and a scratch home."""

    def __init__(self, adapter: Adapter, program: Path, env: dict[str, str]) -> None:
        self.adapter = adapter
        self.program = (str(program),)
        self.env = env

    @contextmanager
    def start(self, order: Order) -> Iterator[Child]:
        asked = replace(order, program=self.program)
        with running.start(self.adapter, asked, environ=self.env) as child:
            yield child

    def run(self, order: Order, *, seconds: float = PATIENCE) -> list[Event]:
        with self.start(order) as child:
            deadline = time.monotonic() + seconds
            return list(running.events(self.adapter, child, deadline=deadline))


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


def order(repo: Path, prompt: str = "Do it.", **more: object) -> Order:
    return Order((), prompt, repo, **more)  # type: ignore[arg-type]


def the_end(events: list[Event]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished), events
    return last


def of(events: list[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def keeping(file: Path) -> tuple[Hook, ...]:
    """Hooks that keep which event they were called for."""
    command = f"input=$(cat); printf '%s\\n' \"$input\" >>'{file}'"
    return tuple(Hook(event, None, command) for event in EVENTS)


def kept(file: Path) -> list[str]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["hook_event_name"] for line in lines]


def changed(repo: Path) -> list[str]:
    return git(repo, "status", "--short", "--untracked-files=all", "--ignored").splitlines()


def processes(home: Path) -> list[str]:
    """What runs with this home."""
    mark, found = f"HOME={home}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def stopped(runner: Runner, asked: Order, repo: Path) -> Finished:
    """The end of a run that is stopped while `slow.sh` runs."""
    events = []
    with runner.start(asked) as child:
        for event in running.events(runner.adapter, child, deadline=time.monotonic() + PATIENCE):
            events.append(event)
            if isinstance(event, Called):
                end = time.monotonic() + PATIENCE
                while not (repo / "begun").exists() and time.monotonic() < end:
                    time.sleep(0.01)
                child.stop("tokens")
    return the_end(events)


class TestClaude:
    def test_it_works_and_tells_of_it(
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
        hooked = tmp_path / "hooked.jsonl"
        asked = order(
            repo,
            LONG,
            system="SYSTEM-TEXT",
            session=session,
            model="claude-sonnet-4-5",
            permissions=Permissions((ALLOWED, "false")),
            hooks=keeping(hooked),
            environment={"KEDGE_TASK": "T-1"},
        )
        events = a_claude(model).run(asked)
        end = the_end(events)
        assert (end.reason, end.text, end.session) == (Reason.COMPLETED, "All done.", session)
        assert events[0] == Started(session, "claude-sonnet-4-5")
        asked_for = model.asked()
        assert len(asked_for) == 3
        assert end.used is not None
        assert (end.used.tokens_in, end.used.tokens_out) == (3000, 150)
        assert end.used.cost is not None
        assert of(events, Used)[-1] == end.used
        # Before the end it is known as exactly as after it.
        assert (of(events, Used)[-2].tokens_in, of(events, Used)[-2].tokens_out) == (3000, 150)
        calls = of(events, Called)
        assert [(call.tool, call.summary) for call in calls] == [
            ("Write", "a.txt"),
            ("Bash", "cat a.txt"),
            ("Bash", ALLOWED),
            ("Bash", "false"),
            ("Bash", "python3 -c 'print(1)'"),
        ]
        answers = {one.id: one.ok for one in of(events, Answered)}
        assert [answers[call.id] for call in calls] == [True, True, True, False, False]
        (denied,) = of(events, Denied)
        assert (denied.tool, denied.id) == ("Bash", calls[-1].id)
        assert denied.reason
        assert LONG in asked_for[0].given
        assert "SYSTEM-TEXT" in "".join(t.text for t in asked_for[0].texts if t.role == "system")
        assert kept(hooked)[:2] == ["SessionStart", "UserPromptSubmit"]
        assert kept(hooked).count("PreToolUse") == 5
        assert kept(hooked)[-1] == "Stop"
        assert changed(repo) == ["?? a.txt"]

    def test_a_hook_that_denies(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        said = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        answer = json.dumps({"hookSpecificOutput": {**said, "permissionDecisionReason": "WHY"}})
        model = play([{"tool": "Bash", "input": {"command": "true"}}, "Done."])
        hooks = (Hook("PreToolUse", None, f"printf '{answer}'"),)
        events = a_claude(model).run(order(repo, hooks=hooks))
        (denied,) = of(events, Denied)
        assert denied.tool == "Bash"
        assert "WHY" in denied.reason
        assert the_end(events).ok

    def test_a_hook_that_stops(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        for event, answer in (
            ("PreToolUse", {"continue": False, "stopReason": "WHY"}),
            ("UserPromptSubmit", {"decision": "block", "reason": "WHY"}),
        ):
            model = play([{"tool": "Bash", "input": {"command": "true"}}, "Done."])
            hooks = (Hook(event, None, f"printf '{json.dumps(answer)}'"),)
            end = the_end(a_claude(model).run(order(repo, hooks=hooks)))
            assert end.reason is Reason.HOOK_STOPPED, event

    def test_its_own_limits(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        look = {"tool": "Read", "input": {"file_path": "a.txt"}, "input_tokens": 500_000}
        (repo / "a.txt").write_text("a\n")
        for limit, reason in (
            ({"max_turns": 2}, Reason.MAX_TURNS),
            ({"max_cost": 0.01}, Reason.BUDGET),
        ):
            model = play([look] * 5)
            end = the_end(a_claude(model).run(order(repo, **limit)))
            assert end.reason is reason
            assert end.used is not None
            assert end.used.tokens_in == 500_000 * len(model.asked())

    @pytest.mark.parametrize(
        ("turn", "reason"),
        [
            ({"status": 401}, Reason.AUTH),
            ({"status": 429, "headers": {"retry-after": "0"}}, Reason.RATE_LIMITED),
            ({"status": 529}, Reason.UNAVAILABLE),
            ({"status": 400, "message": "prompt is too long: 3 tokens > 2"}, Reason.TOO_LONG),
        ],
    )
    def test_faults_of_the_provider(
        self,
        a_claude: Callable[[FakeModel], Runner],
        repo: Path,
        play: Play,
        turn: dict[str, object],
        reason: Reason,
    ) -> None:
        model = play(lambda _: turn)
        events = a_claude(model).run(order(repo))
        assert the_end(events).reason is reason
        assert the_end(events).message
        if reason is not Reason.TOO_LONG:
            assert [one.seconds is not None for one in of(events, Waiting)] == [True]

    def test_a_limit_of_a_subscription_says_when_it_ends(
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
        end = the_end(runner.run(order(repo)))
        assert (end.reason, end.resets_at) == (Reason.RATE_LIMITED, at)

    def test_full_access(
        self, a_claude: Callable[[FakeModel], Runner], repo: Path, play: Play
    ) -> None:
        model = play([{"tool": "Bash", "input": {"command": "python3 -c 'print(1)'"}}, "Done."])
        runner = a_claude(model)
        full = order(repo, permissions=Permissions(full=True))
        if os.geteuid() == 0:
            end = the_end(runner.run(full))
            assert end.reason is Reason.NOT_STARTED
            assert "root" in end.message
        runner.env["IS_SANDBOX"] = "1"
        events = runner.run(full)
        assert the_end(events).ok
        assert of(events, Denied) == []

    def test_stopped_in_the_middle_nothing_is_left(
        self, a_claude: Callable[[FakeModel], Runner], claude: Claude, repo: Path, play: Play
    ) -> None:
        (repo / "slow.sh").write_text(SLOW)
        model = play([{"tool": "Bash", "input": {"command": "sh slow.sh"}}])
        end = stopped(a_claude(model), order(repo, permissions=Permissions(("sh slow.sh",))), repo)
        assert end.reason is Reason.KILLED
        assert "tokens" in end.message
        assert processes(claude.home) == []


class TestCodex:
    PATCH = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** End Patch\n"

    def test_it_works_and_tells_of_it(
        self, a_codex: Callable[[FakeModel], Runner], repo: Path, play: Play, tmp_path: Path
    ) -> None:
        shell = {"tool": "exec_command", "input": {"cmd": "cat b.txt; echo $KEDGE_TASK"}}
        bad = {"tool": "exec_command", "input": {"cmd": "rm -rf /"}}
        patch = {"tool": "apply_patch", "input": self.PATCH}
        model = play([{"text": "First.", **patch}, shell, bad, "All done."])
        hooked = tmp_path / "hooked.jsonl"
        asked = order(
            repo,
            LONG,
            system='SYSTEM "TEXT" \\ é\x7f\nmore',
            model="gpt-5.5",
            hooks=keeping(hooked),
            environment={"KEDGE_TASK": "T-1"},
        )
        events = a_codex(model).run(asked)
        end = the_end(events)
        assert (end.reason, end.text) == (Reason.COMPLETED, "All done.")
        assert events[0] == Started(end.session or "")
        asked_for = model.asked()
        assert end.used == Used(1000 * len(asked_for), 50 * len(asked_for), 0, None)
        wrote, ran = of(events, Called)
        assert (wrote.tool, ran.tool) == ("apply_patch", "Bash")
        assert wrote.summary.endswith("b.txt")
        assert "cat b.txt" in ran.summary
        assert [(one.id, one.ok) for one in of(events, Answered)] == [
            (wrote.id, True),
            (ran.id, True),
        ]
        (denied,) = of(events, Denied)
        assert "rejected" in denied.reason
        assert "T-1" in asked_for[2].results
        assert asked_for[0].body["model"] == "gpt-5.5"
        assert LONG in asked_for[0].given
        told = [text.text for text in asked_for[0].texts if text.role == "developer"]
        assert any('SYSTEM "TEXT" \\ é\x7f\nmore' in text for text in told)
        assert set(kept(hooked)) == set(EVENTS)
        assert changed(repo) == ["?? b.txt"]

    def test_hooks_of_the_repository_do_not_run_beside_those_of_the_order(
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
        assert the_end(runner.run(order(repo, hooks=keeping(ours)))).ok
        assert kept(ours)[:1] == ["SessionStart"]
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
    def test_faults_of_the_provider(
        self,
        a_codex: Callable[[FakeModel], Runner],
        repo: Path,
        play: Play,
        turn: dict[str, object],
        reason: Reason,
    ) -> None:
        events = a_codex(play(lambda _: turn)).run(order(repo))
        assert the_end(events).reason is reason
        assert the_end(events).message
        if reason in (Reason.AUTH, Reason.UNAVAILABLE):
            assert len(of(events, Waiting)) == 1

    @pytest.mark.parametrize("full", [False, True])
    def test_the_sandbox_is_left_only_with_full_access(
        self, a_codex: Callable[[FakeModel], Runner], repo: Path, play: Play, full: bool
    ) -> None:
        command = "touch here; touch .git/there"
        model = play([{"tool": "exec_command", "input": {"cmd": command}}, "Done."])
        events = a_codex(model).run(order(repo, permissions=Permissions(full=full)))
        assert the_end(events).ok
        assert (repo / "here").exists()
        assert (repo / ".git" / "there").exists() is full

    def test_stopped_in_the_middle_nothing_is_left(
        self, a_codex: Callable[[FakeModel], Runner], codex: Codex, repo: Path, play: Play
    ) -> None:
        (repo / "slow.sh").write_text(SLOW)
        sleep = {"cmd": "sh slow.sh", "yield_time_ms": 60_000}
        runner = a_codex(play([{"tool": "exec_command", "input": sleep}]))
        end = stopped(runner, order(repo, permissions=Permissions(full=True)), repo)
        assert end.reason is Reason.KILLED
        assert processes(codex.home) == []
