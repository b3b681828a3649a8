"""The protocol of the MCP server: a message in, acts out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift import mcp_calls
from kedge.mcp.protocol import Act, Move, ReadFile, Run, Send, Session, Stop
from kedge.mcp.tools import TOOLS

META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def done(data: Any, **more: Any) -> dict[str, Any]:
    """Return the document of a command that succeeded."""
    empty: dict[str, Any] = {"error": None, "code": None, "hint": None, "warnings": []}
    return {"success": True, "data": data, **empty, **more}


class Client:
    def __init__(self, **more: Any) -> None:
        self.session = Session(**more)

    def tell(self, method: str, params: Any = None, id: int | str | None = None) -> list[Act]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        message |= {} if params is None else {"params": params}
        message |= {} if id is None else {"id": id}
        return self.session.receive(json.dumps(message).encode())

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        """Return the result of a request that is answered at once."""
        [act] = self.tell(method, params, 7)
        assert isinstance(act, Send)
        assert act.message["id"] == 7
        result: dict[str, Any] = act.message.get("error") or act.message["result"]
        return result

    def call(self, tool: str, id: int = 1, **arguments: Any) -> Run:
        [act] = self.tell("tools/call", {"name": tool, "arguments": arguments}, id)
        assert isinstance(act, Run), act
        assert act.request == id
        return act


def result_of(acts: list[Act]) -> dict[str, Any]:
    [act] = acts
    assert isinstance(act, Send)
    result: dict[str, Any] = act.message["result"]
    return result


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_a_known_version_is_agreed_to(version: str) -> None:
    assert Client().ask("initialize", {"protocolVersion": version})["protocolVersion"] == version


@pytest.mark.parametrize("version", ["1999-01-01", None, 7])
def test_the_latest_version_is_offered_for_an_unknown_one(version: object) -> None:
    answer = Client().ask("initialize", {"protocolVersion": version})
    assert answer["protocolVersion"] == "2025-11-25"
    assert answer["serverInfo"]["name"] == "kedge"


def test_a_client_without_handshake_is_served() -> None:
    client = Client()
    assert client.ask("server/discover", META)["supportedVersions"] == ["2026-07-28"]
    client.tell("tools/call", {**META, "name": "task_ready"}, 1)
    assert result_of(client.session.finish(1, done([])))["resultType"] == "complete"


def test_an_empty_result_is_empty() -> None:
    assert Client().ask("ping") == {}


def test_a_call_runs_the_command_of_the_tool() -> None:
    act = Client().call("task_close", task="k-1", reason="--it is done", failed=True, avoid=["a"])
    assert list(act.call.words) == [
        *("task", "close", "--reason=--it is done", "--failed", "--avoid=a"),
        *("--", "k-1"),
    ]


def test_no_argument_can_be_an_option() -> None:
    act = Client().call("task_show", task="--json")
    assert list(act.call.words) == ["task", "show", "--", "--json"]


def test_a_report_goes_to_standard_input() -> None:
    act = Client().call("report_append", task="k-1", report="-- done\n")
    assert act.call.input == "-- done\n"
    assert list(act.call.words) == ["log", "append", "--", "k-1"]


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("task_show", {}, "task is missing"),
        ("task_show", {"task": 7}, "task must be a string"),
        ("task_show", {"task": "a\0b"}, "task must not contain a NUL character"),
        ("task_show", {"task": "x" * 200_000}, "task must be at most 100,000 bytes long"),
        ("task_show", {"task": "k", "taks": "k"}, "no argument 'taks'; there are: task"),
        ("task_show", [], "arguments must be an object"),
        ("code_map", {"tokens": "many"}, "tokens must be an integer"),
        ("code_map", {"tokens": 0}, "tokens must be at least 1"),
        ("past_steps", {"paths": "a"}, "paths must be a list of strings"),
        ("past_steps", {"paths": ["a"] * 201}, "paths must have at most 200 strings"),
        ("task_close", {"task": "k", "reason": "r", "failed": 1}, "failed must be true or false"),
    ],
)
def test_the_model_is_told_what_is_wrong_with_its_arguments(
    tool: str, arguments: Any, problem: str
) -> None:
    answer = Client().ask("tools/call", {"name": tool, "arguments": arguments})
    assert answer == {"content": [{"type": "text", "text": problem}], "isError": True}


def test_text_is_given_as_text() -> None:
    client = Client()
    client.call("code_map")
    data = {"text": "a.py\n", "tokens": 3, "files": ["much more"]}
    answer = result_of(client.session.finish(1, done(data, warnings=["stale"])))
    assert answer == {"content": [{"type": "text", "text": "a.py\nwarning: stale\n"}]}


def test_an_error_of_a_command_is_a_result_that_the_model_sees() -> None:
    client = Client()
    client.call("task_show", task="k-1")
    failed = done(None, success=False, error="no task 'k-1'", code="task-not-found", hint="look")
    answer = result_of(client.session.finish(1, failed, 1))
    assert answer["isError"]
    assert answer["content"][0]["text"] == "no task 'k-1'\nhint: look"


def test_what_a_check_finds_is_no_error() -> None:
    client = Client()
    client.call("handoff_verify", task="k-1")
    found = done({"drift": [1]}, success=False, error="1 file differs", code="drift")
    answer = result_of(client.session.finish(1, found, 4))
    data = json.loads(answer["content"][0]["text"])
    assert data == {"drift": [1], "warnings": ["1 file differs"]}
    assert "isError" not in answer


def test_a_cancelled_call_is_ended_and_not_answered() -> None:
    client = Client()
    client.call("code_map")
    assert client.tell("notifications/cancelled", {"requestId": 1}) == [Stop(1)]
    assert client.session.finish(1, done({"text": "late"})) == []
    assert client.tell("notifications/cancelled", {"requestId": 1}) == []


def test_resources_are_the_map_and_the_constitution() -> None:
    client = Client()
    listed = client.ask("resources/list")["resources"]
    assert [each["uri"] for each in listed] == ["kedge://map", "kedge://constitution"]
    [run] = client.tell("resources/read", {"uri": "kedge://map"}, 1)
    assert isinstance(run, Run)
    assert list(run.call.words) == ["map"]
    read = client.tell("resources/read", {"uri": "kedge://constitution"}, 2)
    assert read == [ReadFile(2, "constitution.md")]
    answer = result_of(client.session.finish(2, done({"text": "Be kind."})))
    assert answer["contents"][0]["text"] == "Be kind."
    assert client.ask("resources/read", {"uri": "file:///etc/passwd"})["code"] == -32002


def test_outside_of_a_project_the_client_is_asked_for_its_roots() -> None:
    client = Client(homeless=True)
    client.ask("initialize", {"capabilities": {"roots": {}}})
    [asked] = client.tell("notifications/initialized")
    assert isinstance(asked, Send)
    assert asked.message["method"] == "roots/list"
    assert client.tell("tools/call", {"name": "task_ready"}, 1) == []
    answer = {"roots": [{"uri": "https://example.org"}, {"uri": "file:///repo%20a"}]}
    line = json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": answer})
    move, run = client.session.receive(line.encode())
    assert move == Move("/repo a")
    assert isinstance(run, Run)


def test_a_client_without_roots_is_not_asked() -> None:
    client = Client(homeless=True)
    client.ask("initialize", {"capabilities": {}})
    assert client.tell("notifications/initialized") == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": []}}', -32602),
    ],
)
def test_a_bad_message_gets_its_error(line: bytes, code: int) -> None:
    [act] = Session().receive(line)
    assert isinstance(act, Send)
    assert act.message["error"]["code"] == code


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)
_methods = st.sampled_from(
    ["initialize", "tools/call", "resources/read", "notifications/cancelled", "ping", "x"]
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"jsonrpc": st.just("2.0")},
            optional={"id": _values, "method": _methods | _values, "params": _values},
        ),
        max_size=6,
    )
)
def test_no_message_breaks_the_session(messages: list[dict[str, Any]]) -> None:
    client = Client()
    for message in messages:
        client.session.receive(json.dumps(message).encode())
    assert client.ask("tools/list")["tools"]


def test_drift_knows_each_tool_as_kedges_own() -> None:
    assert set(TOOLS) == mcp_calls.OWN_TOOLS
