"""The output of the agents, line by line: as the real ones print it, and hostile."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.agents.launch import claude, codex, copilot, gemini, opencode, plain_command
from kedge.agents.launch.adapter import Adapter
from kedge.agents.launch.events import (
    Event,
    Finished,
    Message,
    Reason,
    RetryWait,
    Started,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    Usage,
)
from kedge.agents.launch.invocation import Invocation, Permissions, split_command
from kedge.agents.launch.provider_faults import classify_fault
from kedge.agents.launch.registry import ADAPTERS, find_adapter
from kedge.agents.launch.stream_state import ProcessEnd, StreamState
from kedge.agents.settings.hooks import Hook
from kedge.errors import ConfigError
from kedge.host.running import Ended, Line, Stopped

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC).timestamp()


def read_stream(adapter: Adapter, *lines: Any, ended: Ended | None = None) -> list[Event]:
    """Return all events of a stream, of which objects are lines of JSON and bytes are lines."""
    state, events = StreamState(), list[Event]()
    for line in lines:
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        events += adapter.follow(state, Line(data))
    return [*events, adapter.finish(state, ProcessEnd(ended or Ended(0, 1.0), NOW))]


def the_end(events: list[Event]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished)
    return last


INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}


def block(message: str, content: dict[str, Any], out: int = 1, **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": out,
    }
    content_message = {"id": message, "model": "m", "content": [content], "usage": usage}
    return {"type": "assistant", "message": content_message, "parent_tool_use_id": None, **more}


class TestClaude:
    def test_the_blocks_of_a_message_are_counted_once(self) -> None:
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls  -l"}}
        events = read_stream(
            claude,
            INIT,
            block("m1", {"type": "text", "text": "One."}),
            block("m1", {"type": "text", "text": "Two."}),
            block("m1", call, out=7),
            block("m2", {"type": "text", "text": "Three."}, out=5),
            ended=Ended(-9, 1.0, b"", Stopped("time")),
        )
        assert events == [
            Started("s", "m"),
            Usage(330, 1, 300),
            Message("One."),
            Message("Two."),
            Usage(330, 7, 300),
            ToolStarted("Bash", "t1", "ls -l"),
            Usage(660, 12, 600),
            Message("Three."),
            Finished(
                Reason.KILLED,
                "Three.",
                "stopped: time",
                Usage(660, 12, 600),
                session="s",
                model="m",
            ),
        ]

    def test_the_blocks_of_the_last_message_are_its_text(self) -> None:
        said = [{"type": "text", "text": text} for text in ("<promise>", "COMPLETE</promise>")]
        events = read_stream(claude, INIT, *(block("m1", one) for one in said))
        assert the_end(events).text == "<promise>\n\nCOMPLETE</promise>"

    def test_a_message_of_a_subagent_is_not_the_last_message(self) -> None:
        events = read_stream(
            claude,
            INIT,
            block("m1", {"type": "text", "text": "Mine."}),
            block("m2", {"type": "text", "text": "<stuck>x</stuck>"}, parent_tool_use_id="t1"),
            {**RESULT, "result": ""},
        )
        assert the_end(events).text == "Mine."
        assert [event for event in events if isinstance(event, Message)] == [Message("Mine.")]

    def test_the_result_has_the_final_tokens_and_cost(self) -> None:
        each = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3}
        result = {
            **RESULT,
            "terminal_reason": "completed",
            "usage": {"input_tokens": 999},
            "modelUsage": {"a": each, "b": {**each, "cacheCreationInputTokens": 4}},
            "total_cost_usd": 0.5,
        }
        events = read_stream(
            claude, INIT, block("m1", {"type": "text", "text": "x"}, out=70), result
        )
        assert the_end(events).used == Usage(12, 4, 6, 0.5)

    def test_the_last_of_several_results_counts(self) -> None:
        first = {**RESULT, "terminal_reason": "completed", "result": "First."}
        events = read_stream(claude, INIT, first, INIT, {**first, "result": "Last."})
        assert the_end(events).text == "Last."
        assert events.count(Started("s", "m")) == 1

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"subtype": "success", "terminal_reason": "completed"}, Reason.COMPLETED),
            ({"subtype": "success"}, Reason.COMPLETED),
            ({"subtype": "success", "is_error": True}, Reason.FAILED),
            ({"terminal_reason": "hook_stopped"}, Reason.HOOK_STOPPED),
            ({"terminal_reason": "tool_deferred"}, Reason.HOOK_STOPPED),
            ({"terminal_reason": "max_turns", "is_error": True}, Reason.MAX_TURNS),
            ({"terminal_reason": "budget_exhausted", "is_error": True}, Reason.BUDGET),
            ({"terminal_reason": "completed", "stop_reason": "refusal"}, Reason.REFUSED),
            ({"terminal_reason": "something else"}, Reason.FAILED),
            ({"terminal_reason": "api_error", "is_error": True}, Reason.UNAVAILABLE),
            (
                {"terminal_reason": "api_error", "is_error": True, "result": "Not logged in"},
                Reason.AUTH,
            ),
            (
                {"terminal_reason": "api_error", "is_error": True, "api_error_status": 403},
                Reason.AUTH,
            ),
        ],
    )
    def test_each_result_has_its_reason(self, fields: dict[str, Any], reason: Reason) -> None:
        assert the_end(read_stream(claude, INIT, {**RESULT, **fields})).reason is reason

    def test_a_success_with_a_failing_exit_code_is_a_failure(self) -> None:
        end = the_end(read_stream(claude, INIT, RESULT, ended=Ended(2, 1.0, b"\n  oh no  \n\n")))
        assert (end.reason, end.message) == (Reason.FAILED, "oh no")

    def test_a_result_counts_even_if_the_program_had_to_be_stopped_afterwards(self) -> None:
        ended = Ended(-15, 1.0, b"", Stopped("idle"))
        assert the_end(read_stream(claude, INIT, RESULT, ended=ended)).ok

    def test_a_warning_before_a_rate_limit_is_ignored(self) -> None:
        event = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning"}}
        assert the_end(read_stream(claude, INIT, event, RESULT)).ok

    def test_the_command_line(self, tmp_path: Path) -> None:
        hooks = (Hook("SessionStart", "compact", "kedge hook claude"),)
        permissions = Permissions(("make test", "cd sub && FOO=1 pytest -q | tail -1"))
        order = Invocation(
            ("claude",),
            "P",
            tmp_path,
            permissions=permissions,
            hooks=hooks,
            max_turns=3,
            max_cost=2,
        )
        launch = claude.launch(order)
        words = list(launch.argv)
        settings = json.loads(words[words.index("--settings") + 1])
        assert settings["hooks"]["SessionStart"][0]["matcher"] == "compact"
        rules = settings["permissions"]["allow"]
        assert {"Bash(make test)", "Bash(make test:*)", "Bash(FOO=1 pytest -q:*)"} <= {*rules}
        assert "Bash(tail -1)" in rules
        assert words[words.index("--max-turns") + 1] == "3"
        assert words[words.index("--max-budget-usd") + 1] == "2"
        assert launch.stdin == b"P"
        assert "bypassPermissions" not in words


THREAD = {"type": "thread.started", "thread_id": "t"}


class TestCodex:
    def test_a_whole_run(self) -> None:
        item = {"id": "item_1", "type": "command_execution", "command": "/bin/bash -lc 'false'"}
        events = read_stream(
            codex,
            THREAD,
            {"type": "turn.started"},
            {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
            {"type": "item.started", "item": {**item, "status": "in_progress"}},
            {"type": "item.completed", "item": {**item, "status": "failed", "exit_code": 1}},
            {"type": "error", "message": "Reconnecting... 2/5 (high demand)"},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
            {
                "type": "turn.completed",
                "usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 5},
            },
        )
        assert events == [
            Started("t"),
            ToolStarted("Bash", "item_1", "/bin/bash -lc 'false'"),
            ToolFinished("item_1", ok=False),
            RetryWait(None, "high demand"),
            Message("Done."),
            Usage(100, 5, 60),
            Finished(Reason.COMPLETED, "Done.", "", Usage(100, 5, 60), session="t"),
        ]

    def test_a_failed_turn_has_its_reason(self) -> None:
        answer = json.dumps({"error": {"message": "no such model"}})
        failed = {"type": "turn.failed", "error": {"message": answer}}
        end = the_end(read_stream(codex, THREAD, failed, ended=Ended(1, 1.0)))
        assert (end.reason, end.message) == (Reason.FAILED, "no such model")

    def test_a_denial_is_read_from_the_log(self) -> None:
        log = b"2026 ERROR codex_core::tools::router: error=patch rejected: outside of the project"
        (denied,) = codex.follow(StreamState(), Line(log, error=True))
        assert denied == ToolDenied("apply_patch", "patch rejected: outside of the project")
        assert list(codex.follow(StreamState(), Line(b"WARN rejected", error=True))) == []

    def test_each_hook_of_an_event_has_its_own_key(self, tmp_path: Path) -> None:
        hooks = tuple(
            Hook("SessionStart", matcher, "x", None) for matcher in ("startup", "compact")
        )
        launch = codex.launch(Invocation(("codex",), "P", tmp_path, hooks=hooks))
        (state,) = [word for word in launch.argv if word.startswith("hooks.state=")]
        for index in (0, 1):
            assert f'"/<session-flags>/config.toml:session_start:{index}:0"' in state
        assert "--dangerously-bypass-hook-trust" not in launch.argv


class TestGemini:
    def test_pieces_are_joined_to_a_message(self) -> None:
        events = read_stream(
            gemini,
            {"type": "init", "session_id": "s", "model": "m"},
            {"type": "message", "role": "user", "content": "<promise>COMPLETE</promise>"},
            {"type": "message", "role": "assistant", "content": "I ", "delta": True},
            {"type": "message", "role": "assistant", "content": "do.", "delta": True},
            {
                "type": "tool_use",
                "tool_name": "run_shell_command",
                "tool_id": "c1",
                "parameters": {"command": "ls"},
            },
            {
                "type": "tool_result",
                "tool_id": "c1",
                "status": "error",
                "error": {"type": "policy_violation", "message": "no"},
            },
            {"type": "message", "role": "assistant", "content": "Done.", "delta": True},
            {
                "type": "result",
                "status": "success",
                "stats": {"input_tokens": 9, "output_tokens": 2, "cached": 1},
            },
        )
        assert events == [
            Started("s", "m"),
            Message("I do."),
            ToolStarted("run_shell_command", "c1", "ls"),
            ToolDenied("run_shell_command", "no", "c1"),
            ToolFinished("c1", ok=False),
            Message("Done."),
            Usage(9, 2, 1),
            Finished(Reason.COMPLETED, "Done.", "", Usage(9, 2, 1), session="s", model="m"),
        ]

    def test_an_untrusted_directory_is_reported(self) -> None:
        said = b"\x1b[31mGemini CLI is not running in a trusted directory.\x1b[0m\n"
        end = the_end(read_stream(gemini, ended=Ended(55, 1.0, said)))
        assert end.reason is Reason.NOT_STARTED
        assert end.message == "Gemini CLI is not running in a trusted directory."

    def test_a_message_without_a_result_is_kept(self) -> None:
        piece = {"type": "message", "role": "assistant", "content": "Half", "delta": True}
        end = the_end(read_stream(gemini, {"type": "init", "session_id": "s"}, piece))
        assert (end.reason, end.text) == (Reason.CRASHED, "Half")


class TestOpencode:
    def test_steps_add_up(self) -> None:
        def step(reason: str, message: str) -> dict[str, Any]:
            tokens = {"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 10, "write": 3}}
            part = {"reason": reason, "messageID": message, "tokens": tokens, "cost": 0.25}
            return {"type": "step_finish", "sessionID": "s", "part": part}

        text = {"text": "Done.", "messageID": "m2"}
        events = read_stream(
            opencode,
            {"type": "step_start", "sessionID": "s", "part": {}},
            step("tool-calls", "m1"),
            {"type": "step_start", "sessionID": "s", "part": {}},
            {"type": "text", "sessionID": "s", "part": text},
            step("stop", "m2"),
        )
        assert events == [
            Started("s"),
            Usage(18, 3, 10, 0.25),
            Message("Done."),
            Usage(36, 6, 20, 0.5),
            Finished(Reason.COMPLETED, "Done.", "", Usage(36, 6, 20, 0.5), session="s"),
        ]

    def test_a_run_that_ends_between_steps_is_not_complete(self) -> None:
        start = {"type": "step_start", "sessionID": "s", "part": {}}
        finish = {"type": "step_finish", "sessionID": "s", "part": {"reason": "tool-calls"}}
        assert the_end(read_stream(opencode, start, finish)).reason is Reason.CRASHED

    def test_commands_are_denied_unless_allowed(self, tmp_path: Path) -> None:
        order = Invocation(("opencode",), "P", tmp_path, permissions=Permissions(("make test",)))
        settings = json.loads(opencode.launch(order).env["OPENCODE_CONFIG_CONTENT"])
        bash = settings["permission"]["bash"]
        assert bash == {"*": "deny", "make test": "allow", "make test *": "allow"}
        assert next(iter(bash)) == "*"  # the last rule that matches counts


def test_only_the_end_of_a_long_output_is_kept() -> None:
    lines = [b"line %d" % number for number in range(50_000)]
    end = the_end(read_stream(plain_command, *lines))
    assert end.ok
    assert end.text.endswith("line 49998\nline 49999")
    assert len(end.text) <= 200_000


@pytest.mark.parametrize("name", ADAPTERS)
class TestAny:
    @given(data=st.lists(st.binary(max_size=60), max_size=6))
    def test_any_bytes_can_be_read(self, name: str, data: list[bytes]) -> None:
        read_stream(find_adapter(name), *data)

    @settings(max_examples=40)
    @given(data=st.data())
    def test_any_objects_can_be_read(self, name: str, data: st.DataObject) -> None:
        """Known fields with unexpected values."""
        kinds = _words(
            """system assistant user result stream_event rate_limit_event init message error
            tool_use tool_result thread.started item.started item.completed turn.completed
            turn.failed text step_start step_finish"""
        )
        names = _words(
            """type subtype message id content text usage input_tokens output_tokens role delta
            item status exit_code changes error stats part tokens cache reason cost messageID
            sessionID session_id thread_id tool_use_id permission_denials modelUsage is_error
            terminal_reason result event state input rate_limit_info resetsAt data statusCode
            retry_delay_ms severity tool_id parameters command"""
        )
        leaf = (
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(max_size=8)
            | st.just("init")
            | kinds
        )
        value = st.recursive(
            leaf,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
            max_leaves=8,
        )
        event = st.builds(
            lambda kind, rest: {**rest, "type": kind}, kinds, st.dictionaries(names, value)
        )
        for one in read_stream(find_adapter(name), *data.draw(st.lists(event, max_size=5))):
            str(one).encode()
            used = one.used if isinstance(one, Finished) else one
            if isinstance(used, Usage):
                assert used.tokens_in >= 0
                assert used.tokens_out >= 0

    def test_a_flood_of_messages_and_calls_is_bounded(self, name: str) -> None:
        state = StreamState()
        for number in range(5000):
            call = {"type": "tool_use", "id": f"t{number}", "name": "X", "input": {}}
            for one in (
                block(f"m{number}", call),
                {"type": "item.started", "item": {"type": "command_execution", "id": number}},
                {"type": "message", "role": "assistant", "content": "x" * 99, "delta": True},
            ):
                list(find_adapter(name).follow(state, Line(json.dumps(one).encode())))
        if name == "claude":
            assert state.usage == Usage(330 * 5000, 5000, 300 * 5000)
        assert len(state.calls) < 1000


class TestCopilot:
    def test_tokens_come_from_the_log_and_messages_of_subagents_do_not_count(self) -> None:
        def say(text: str, **more: Any) -> Line:
            data = {"messageId": text, "content": text, **more}
            return Line(json.dumps({"type": "assistant.message", "data": data}).encode())

        def use(record: str, tokens: int, *, log: bool = True) -> Line:
            usage = {"inputTokens": tokens, "outputTokens": 5, "cacheReadTokens": 3, "cost": 1.0}
            event = {"type": "session.usage_record", "id": record, "data": {"usage": usage}}
            return Line(json.dumps(event).encode(), log=log)

        lines = [
            say("I delegate."),
            use("u1", 1000),
            use("u1", 1000),  # the same record again
            use("u2", 200),
            use("u3", 7, log=False),
            say("Sub.", parentToolCallId="c1"),
            say("All done."),
            Line(b'{"type": "result", "sessionId": "s-1", "exitCode": 0}'),
        ]
        state = StreamState(given="s-1")
        events = [event for line in lines for event in copilot.follow(state, line)]
        assert events[0] == Started("s-1")
        assert [one.text for one in events if isinstance(one, Message)] == [
            "I delegate.",
            "All done.",
        ]
        end = copilot.finish(state, ProcessEnd(Ended(0, 1.0), NOW))
        assert (end.reason, end.text, end.session) == (Reason.COMPLETED, "All done.", "s-1")
        assert end.used == Usage(1200, 10, 6)

    def test_one_that_is_stopped_at_work_is_not_done(self) -> None:
        """It answers SIGTERM with the end of a good run."""
        ended = Ended(0, 1.0, b"", Stopped("tokens"))
        result = b'{"type": "result", "sessionId": "s-1", "exitCode": 0}'
        end = the_end(read_stream(copilot, result, ended=ended))
        assert (end.reason, end.message) == (Reason.KILLED, "stopped: tokens")


def test_gemini_says_that_it_waits_for_its_provider() -> None:
    said = b"Attempt 2 failed with status 429. Retrying with backoff... _ApiError: {"
    (event,) = gemini.follow(StreamState(), Line(said, error=True))
    assert event == RetryWait(None, "Attempt 2 failed with status 429")
    assert list(gemini.follow(StreamState(), Line(said))) == []


def _words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


def test_an_unknown_agent_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        find_adapter("aider")
    assert "claude" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("rate limit exceeded: Please try again in 1.5s.", 1.5),
        ("Please try again in 250ms", 0.25),
        ("try again in 2 hours 5 minutes.", 7500),
        ("try again in 1 day, 2 hours and 3 minutes", 93780),
        ("usage limit, resets in 3h", 10800),
        ("Please try again in ages.", None),
        ("no word of it", None),
    ],
)
def test_the_reset_of_a_rate_limit_is_read_from_the_message(
    message: str, seconds: float | None
) -> None:
    found = classify_fault(message, 429)
    assert found.reason is Reason.RATE_LIMITED
    assert found.resets_at(NOW) == (None if seconds is None else pytest.approx(NOW + seconds))


def test_a_reset_at_a_time_of_day_is_read_from_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        said = "You've hit your usage limit. Upgrade, or try again at {}."
        for clock, hours in (("3:30 PM", 3.5), ("11:00 AM", 23), ("Feb 2nd, 2026 1:00 AM", 37)):
            found = classify_fault(said.format(clock))
            assert found.reason is Reason.RATE_LIMITED
            assert found.resets_at(NOW) == NOW + hours * 3600
        assert classify_fault(said.format("Feb 31st, 2026 1:00 AM")).resets_at(NOW) is None
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_command_is_split_at_its_operators() -> None:
    assert list(split_command("make test")) == ["make test"]
    assert list(split_command("a && b || c; d | e & f")) == ["a", "b", "c", "d", "e", "f"]
    assert list(split_command("grep 'a|b' \"c;d\" e\\;f 2>&1 | tail")) == [
        "grep 'a|b' \"c;d\" e\\;f 2>&1",
        "tail",
    ]
    assert list(split_command("")) == [""]
    assert Permissions(("a | b", "b", " ", "x\ny")).prefixes == ("a | b", "a", "b")
    assert Permissions(("*", "* | sh*", "?x", "make *")).prefixes == ("make *",)


def test_a_command_becomes_at_most_one_rule(tmp_path: Path) -> None:
    permissions = Permissions(("make a", "x),run_shell_command,y("))
    launch = gemini.launch(Invocation(("gemini",), "P", tmp_path, permissions=permissions))
    rules = [word for word in launch.argv if word.startswith("--allowed-tools")]
    assert rules == ["--allowed-tools=run_shell_command(make a)"]
    assert "--skip-trust" not in launch.argv
