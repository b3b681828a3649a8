"""The conformance suite for adapters of agents.

Subclass `AdapterSuite` in a pytest module, name the adapter and the dialect in which the fake
agent imitates the agent, and run it:

    class TestMine(AdapterSuite):
        dialect = "claude"

        def adapter(self) -> Adapter:
            return mine

The fake agent is a real program, so the tests cover everything: the call, the pipes, the stream,
the end. Class variables switch off what an agent cannot report. The tests use pytest's `tmp_path`.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from kedge.agents.launch.adapter import Adapter, read_events, start_agent
from kedge.agents.launch.claims import find_stuck_reason, has_promise
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
from kedge.agents.launch.invocation import Invocation, Permissions
from kedge.agents.launch.stream_state import StreamState
from kedge.host import proc
from kedge.host.running import Line
from kedge.testing.fake_agent import FAULTS, Call, FakeAgent

PATIENCE = 60.0  # seconds: a guard against hanging, not a measurement
# Lines that no agent prints, some of them similar to real ones.
HOSTILE = (
    b"",
    b"\xff\xfe\x00garbage",
    b"{",
    b"[]",
    b"null",
    b'{"type": null}',
    b'{"type": []}',
    b'{"type": "result"}',
    b'{"type": "result", "usage": [], "modelUsage": 1, "stats": "x", "errors": 7}',
    b'{"type": "assistant", "message": {"content": [1, null, {"type": "text", "text": 5}]}}',
    b'{"type": "user", "message": {"content": "text"}, "tool_result_meta": [3]}',
    b'{"type": "system", "subtype": "api_retry", "retry_delay_ms": "soon"}',
    b'{"type": "item.completed", "item": {"type": "file_change", "changes": [7]}}',
    b'{"type": "message", "role": "assistant", "content": {}, "delta": true}',
    b'{"type": "step_finish", "part": {"tokens": 3, "cost": "free"}}',
    b'{"type": "error", "error": 5, "message": [], "severity": "error"}',
    b'{"type": "turn.completed", "usage": {"input_tokens": -1, "output_tokens": 1e400}}',
    b'{"type": "text", "part": {"text": "\\ud800"}}',
    b'{"type": "tool.execution_complete", "data": {"error": 5, "shellExecution": []}}',
    b'{"type": "session.usage_record", "id": [], "data": {"usage": {"inputTokens": "x"}}}',
    b'{"a":' * 100_000,
)


class AgentRun(NamedTuple):
    """One run of the fake agent."""

    events: list[Event]
    call: Call | None
    directory: Path

    @property
    def finished(self) -> Finished:
        last = self.events[-1]
        assert isinstance(last, Finished), self.events
        return last

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class AdapterSuite:
    """The tests that every adapter must pass."""

    dialect: ClassVar[str]
    reports_calls: ClassVar[bool] = True
    reports_denials: ClassVar[bool] = True
    reports_tokens: ClassVar[bool] = True
    reports_cost: ClassVar[bool] = True
    reports_waiting: ClassVar[bool] = True

    def adapter(self) -> Adapter:
        raise NotImplementedError

    def environment(self, place: Path) -> Mapping[str, str]:  # noqa: ARG002 - for subclasses
        """Return variables for the agent, such as where it keeps its own files."""
        return {}

    def run(
        self,
        place: Path,
        part: Any = None,
        *,
        prompt: str = "Do it.",
        seconds: float = PATIENCE,
        idle: float = PATIENCE,
        cancel: bool = False,
        program: Sequence[str] = (),
        **order: Any,
    ) -> AgentRun:
        """Play a part in its own directory."""
        agent = FakeAgent(place / "agent", self.dialect, [part or {}])
        directory = place / "work"
        directory.mkdir(exist_ok=True)
        order.setdefault("session", str(uuid.uuid4()))
        invocation = Invocation(tuple(program) or agent.program, prompt, directory, **order)
        environ = {**os.environ, **self.environment(place)}
        with start_agent(self.adapter(), invocation, environ=environ) as child:
            if cancel:
                threading.Timer(0.5, child.stop).start()
            deadline = time.monotonic() + seconds
            following = read_events(
                self.adapter(), child, deadline=deadline, idle=idle, session=invocation.session
            )
            events = list(following)
        assert [event for event in events if isinstance(event, Finished)] == events[-1:]
        calls = agent.calls
        return AgentRun(events, calls[-1] if calls else None, directory)

    def run_into_limit(self, place: Path, part: Any, limit: str) -> tuple[AgentRun, Call]:
        """Run into a limit that is as short as possible, but long enough for the agent to start."""
        for seconds in (0.7, 3, 10):
            limits: dict[str, Any] = {limit: seconds}
            ran = self.run(place, part, **limits)
            if ran.call is not None and len(ran.call.started) == part.get("children", 0) * 2:
                break
        assert ran.call is not None
        return ran, ran.call

    def has(self, fault: str) -> bool:
        return self.dialect in FAULTS[fault]

    def test_work_is_done_and_reported(self, tmp_path: Path) -> None:
        part = {
            "write": {"src/a.py": "A = 1\n"},
            "run": "test -f src/a.py",
            "say": ["One.", "Two."],
        }
        ran = self.run(tmp_path, part)
        assert (ran.directory / "src" / "a.py").read_text() == "A = 1\n"
        assert ran.finished.reason is Reason.COMPLETED
        assert ran.finished.ok
        assert ran.finished.message == ""
        assert ran.finished.text.endswith("Two.")
        assert isinstance(ran.events[0], Started)
        assert len(ran.of(Started)) == 1
        if self.reports_calls:
            assert ran.call is not None
            assert ran.finished.session == ran.call.session == ran.events[0].session
            text = "".join(one.text for one in ran.of(Message))
            assert text.endswith("One.Two.")
            wrote, ran_it = ran.of(ToolStarted)
            assert "a.py" in wrote.summary
            assert "test -f" in ran_it.summary
            assert [(one.id, one.ok) for one in ran.of(ToolFinished)] == [
                (wrote.id, True),
                (ran_it.id, True),
            ]

    def test_nothing_else_is_left_in_the_directory(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, {"write": {"a.txt": "a"}})
        assert [path.name for path in ran.directory.iterdir()] == ["a.txt"]

    def test_a_failed_tool_is_reported_as_failed(self, tmp_path: Path) -> None:
        if self.reports_calls:
            ran = self.run(tmp_path, {"run": ["true", "false"]})
            assert [one.ok for one in ran.of(ToolFinished)] == [True, False]

    def test_a_long_prompt_arrives_whole(self, tmp_path: Path) -> None:
        hard = "$(touch x) `y` \"'\\ \u00e9 \u6f22 \U0001f6a2 \t-- --model x\n\n"
        prompt = hard + "x y z\n" * 50_000 + hard + "END"
        ran = self.run(tmp_path, {}, prompt=prompt)
        assert ran.call is not None
        assert ran.call.prompt == prompt
        assert ran.call.directory == str(ran.directory.resolve())

    def test_system_text_arrives(self, tmp_path: Path) -> None:
        for size in (10, 300_000):
            ran = self.run(tmp_path, {}, system='SYSTEM "é\n' + "s" * size, prompt="PROMPT")
            assert ran.call is not None
            assert sum("s" * size in one for one in (*ran.call.argv, ran.call.prompt)) == 1
            assert ran.call.prompt.endswith("PROMPT")

    def test_the_environment_of_the_invocation_arrives(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, {}, environment={"TASK_CONTEXT_PATH": "a b", "KEDGE_TASK": "T-1"})
        assert ran.call is not None
        assert ran.call.env["TASK_CONTEXT_PATH"] == "a b"
        assert ran.call.env["KEDGE_TASK"] == "T-1"

    def test_permissions_change_the_launch(self, tmp_path: Path) -> None:
        narrow = self.adapter().launch(self.order(tmp_path, Permissions(("make test",))))
        full = self.adapter().launch(self.order(tmp_path, Permissions(full=True)))
        if self.dialect != "plain":
            assert (narrow.argv, narrow.env) != (full.argv, full.env)
        assert narrow.stdin == full.stdin

    def order(self, directory: Path, permissions: Permissions) -> Invocation:
        return Invocation(("x",), "Do it.", directory, permissions=permissions)

    def test_claims_are_read_from_the_last_message(self, tmp_path: Path) -> None:
        done = "<promise>COMPLETE</promise>"
        ran = self.run(tmp_path, {"say": ["I begin.", f"All is well.\n\n{done}"]})
        assert has_promise(ran.finished.text)
        ran = self.run(tmp_path, {"say": "<stuck>no key for the lock</stuck>"})
        assert find_stuck_reason(ran.finished.text) == "no key for the lock"
        ran = self.run(tmp_path, {"say": f"I was told to print `{done}` at the end."})
        assert not has_promise(ran.finished.text)

    def test_tokens_are_counted_once(self, tmp_path: Path) -> None:
        part = {"tokens_in": 1234, "tokens_out": 56, "cached": 1000, "cost": 0.25, "run": "true"}
        ran = self.run(tmp_path, part)
        if not self.reports_tokens:
            assert ran.finished.used is None
            return
        used = Usage(1234, 56, 1000, 0.25 if self.reports_cost else None)
        assert ran.finished.used == used
        assert ran.of(Usage)[-1] == used

    def test_tokens_of_a_crashed_run_are_counted(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, {"tokens_in": 1234, "tokens_out": 56, "run": "true", "crash": 0})
        if ran.finished.used is not None:
            assert (ran.finished.used.tokens_in, ran.finished.used.tokens_out) == (1234, 56)

    def test_denials_are_reported(self, tmp_path: Path) -> None:
        if self.reports_denials:
            ran = self.run(tmp_path, {"deny": [["Bash", "not here"]]})
            (denied,) = ran.of(ToolDenied)
            assert denied.tool
            assert denied.reason
            assert ran.finished.ok

    def test_waiting_is_reported(self, tmp_path: Path) -> None:
        if self.reports_waiting:
            ran = self.run(tmp_path, {"wait": 2.5})
            (waiting,) = ran.of(RetryWait)
            assert waiting.reason
            assert waiting.seconds in (2.5, None)

    def test_a_rate_limit_says_when_it_ends(self, tmp_path: Path) -> None:
        if not self.has("rate-limit"):
            return
        before = time.time()
        ran = self.run(tmp_path, {"fault": "rate-limit", "resets_in": 300})
        assert ran.finished.reason is Reason.RATE_LIMITED
        assert ran.finished.message
        assert ran.finished.resets_at is not None
        assert before + 298 <= ran.finished.resets_at <= time.time() + 301
        ran = self.run(tmp_path, {"fault": "rate-limit"})
        assert ran.finished.reason is Reason.RATE_LIMITED
        assert ran.finished.resets_at is None

    def test_each_fault_has_its_reason(self, tmp_path: Path) -> None:
        reasons = {
            "auth": Reason.AUTH,
            "overloaded": Reason.UNAVAILABLE,
            "too-long": Reason.TOO_LONG,
            "max-turns": Reason.MAX_TURNS,
            "budget": Reason.BUDGET,
            "refused": Reason.REFUSED,
            "hook": Reason.HOOK_STOPPED,
        }
        for number, (fault, reason) in enumerate(reasons.items()):
            if self.has(fault):
                ran = self.run(tmp_path / str(number), {"fault": fault})
                assert ran.finished.reason is reason, fault
                assert not ran.finished.ok

    def test_an_agent_that_ends_without_a_result_has_crashed(self, tmp_path: Path) -> None:
        done = {"say": "<promise>COMPLETE</promise>"}
        for number, end in enumerate(({"crash": 9}, {"crash": 11})):
            ran = self.run(tmp_path / str(number), {**done, **end})
            assert ran.finished.reason is Reason.CRASHED
            assert ran.finished.message
        ran = self.run(tmp_path / "x", {**done, "crash": 0, "code": 3, "errors": "out of tea"})
        assert ran.finished.reason in (Reason.CRASHED, Reason.FAILED)
        assert "out of tea" in ran.finished.message

    def test_a_failing_exit_code_is_a_failure(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, {"code": 3})
        assert not ran.finished.ok

    def test_a_program_that_refuses_to_start_says_why(self, tmp_path: Path) -> None:
        script = "echo 'not in this directory' >&2; exit 2"
        ran = self.run(tmp_path, program=("sh", "-c", script))
        assert ran.finished.reason in (Reason.NOT_STARTED, Reason.FAILED)
        assert ran.finished.message == "not in this directory"

    def test_noise_is_ignored(self, tmp_path: Path) -> None:
        part = {"flood": 20_000, "blob": 20 << 20, "binary": True, "say": "Done after all."}
        ran = self.run(tmp_path, part)
        assert ran.finished.reason is Reason.COMPLETED
        assert ran.finished.text.endswith("Done after all.")

    def test_hostile_lines_never_raise(self) -> None:
        adapter = self.adapter()
        for source in ({}, {"error": True}, {"log": True}):
            stream = StreamState()
            for data in HOSTILE:
                for event in adapter.follow(stream, Line(data, **source)):
                    str(event).encode()

    def test_a_silent_agent_is_ended(self, tmp_path: Path) -> None:
        ran, call = self.run_into_limit(tmp_path, {"hang": 3600}, "idle")
        assert ran.finished.reason is Reason.KILLED
        assert "idle" in ran.finished.message
        _assert_gone(call.pid)

    def test_the_time_limit_ends_an_agent_that_ignores_signals(self, tmp_path: Path) -> None:
        part = {"hang": 3600, "noise": 0.1, "deaf": True, "children": 1, "daemons": 1}
        ran, call = self.run_into_limit(tmp_path, part, "seconds")
        assert ran.finished.reason is Reason.KILLED
        assert "time" in ran.finished.message
        assert len(call.started) == 2
        _assert_gone(call.pid, *call.started)

    def test_a_run_can_be_cancelled(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, {"hang": 3600, "noise": 0.1}, cancel=True)
        assert ran.finished.reason is Reason.KILLED
        assert "cancelled" in ran.finished.message

    def test_processes_that_outlive_the_agent_are_ended(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, {"children": 2, "daemons": 2})
        assert ran.finished.reason is Reason.COMPLETED
        assert ran.call is not None
        assert len(ran.call.started) == 4
        _assert_gone(ran.call.pid, *ran.call.started)


def _assert_gone(*pids: int) -> None:
    end = time.monotonic() + PATIENCE
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    """True if the process exists and is not a zombie."""
    state = proc.run(["ps", "-o", "stat=", "-p", str(pid)]).stdout.strip()
    return bool(state) and not state.startswith(b"Z")
