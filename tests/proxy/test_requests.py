"""What is read from requests: whose they are, what is new, and where a correction goes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kedge.agents.json_object import JsonObject
from kedge.proxy import routes
from kedge.proxy.conversation import Place, find_new_prompts, summarise
from kedge.proxy.exchange import ToolCall
from kedge.proxy.observers import ChatObserver, GeminiObserver
from kedge.proxy.requests import read_entries
from kedge.proxy.routes import Binding, Route, find_api, find_origin, find_route, write_base
from kedge.proxy.splice import add_corrections

UUID = "0b1e5a70-1111-4222-8333-123456789abc"
BOUND = Binding("/répo", "/répo/sub", "k-1", True, "exec-1")
TOOLS = [{"name": "Bash"}]


@pytest.mark.parametrize(
    ("path", "headers", "provider"),
    [
        ("/v1/messages?beta=true", {}, "anthropic"),
        ("/v1/messages/count_tokens", {}, "anthropic"),
        ("/v1/models", {"anthropic-version": "1"}, "anthropic"),
        ("/", {}, "anthropic"),
        ("/v1/models", {}, "openai"),
        ("/v1/responses", {}, "openai"),
        ("/openai/deployments/x/chat/completions", {}, "openai"),
        ("/v1beta/models/g:streamGenerateContent?alt=sse", {}, "gemini"),
        ("/v1/models/g:generateContent", {}, "gemini"),
        ("/upload", {"x-goog-api-key": "k"}, "gemini"),
    ],
)
def test_a_provider_is_known_by_path_and_headers(
    path: str, headers: dict[str, str], provider: str
) -> None:
    assert find_route(path, headers) == Route(provider, path)


def test_a_base_url_carries_its_binding() -> None:
    base = write_base(BOUND, "openai")
    assert find_route(base + "/v1/responses?x=1", {}) == Route("openai", "/v1/responses?x=1", BOUND)
    assert find_route(base, {}) == Route("openai", "/", BOUND)
    assert find_route(base + "?x", {}) == Route("openai", "/?x", BOUND)


@pytest.mark.parametrize("path", ["/kedge/health", "/kedge/to/x/evil/v1", "/kedge/", "/kedge/to/"])
def test_own_paths_lead_nowhere(path: str) -> None:
    assert find_route(path, {}) is None


@given(st.text(alphabet="abcXYZ019_-", max_size=40))
def test_a_strange_binding_is_none(token: str) -> None:
    found = find_route(f"/kedge/to/{token}/openai/v1", {})
    assert found is not None
    assert found.binding == Binding()


@pytest.mark.parametrize(
    ("method", "path", "api"),
    [
        ("POST", "/v1/messages?beta=true", "messages"),
        ("POST", "/v1/messages/count_tokens", ""),
        ("POST", "/v1/messages/batches", ""),
        ("GET", "/v1/messages", ""),
        ("POST", "/v1/responses", "responses"),
        ("POST", "/backend-api/codex/responses", "responses"),
        ("POST", "/v1/responses/compact", ""),
        ("POST", "/v1/chat/completions", "chat"),
        ("POST", "/v1/completions", ""),
        ("POST", "/v1beta/models/g:streamGenerateContent?alt=sse", "gemini"),
        ("POST", "/v1beta/models/g:countTokens", ""),
    ],
)
def test_only_conversations_are_read(method: str, path: str, api: str) -> None:
    assert find_api(method, path) == api


def origin(headers: dict[str, str], api: str = "messages", **body: Any) -> Any:
    value = JsonObject({"tools": TOOLS, **body})
    return find_origin(api, headers, value, Binding(session="exec-1"))


def test_a_session_is_known_by_header_then_metadata_then_binding() -> None:
    user = {"user_id": json.dumps({"device_id": "d", "session_id": "meta"})}
    old = {"user_id": f"user_abc_account__session_{UUID}"}
    assert origin({"x-claude-code-session-id": "head"}, metadata=user).session == "head"
    assert origin({}, metadata=user).session == "meta"
    assert origin({}, metadata=old).session == UUID
    assert origin({"session-id": "codex"}).session == "codex"
    assert origin({}, metadata={"user_id": "{"}).session == "exec-1"
    assert find_origin("messages", {}, JsonObject({}), Binding()) is None


def test_subagents_belong_to_their_parents_session() -> None:
    headers = {"x-claude-code-session-id": "s", "x-claude-code-agent-id": "a"}
    assert origin(headers)[:3] == ("s", "claude", "a")
    child = {"x-session-id": "own", "x-parent-session-id": "parent", "user-agent": "opencode/1.2"}
    assert origin(child)[:3] == ("parent", "opencode", "own")


@pytest.mark.parametrize(
    "body",
    [
        {"tools": []},
        {"messages": [{"role": "user", "content": "CRITICAL: Respond with TEXT ONLY. Do"}]},
        {
            "messages": [
                {"role": "user", "content": "Fix it"},
                {"role": "assistant", "content": "x"},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "y"},
                    {"type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Do NOT call"},
                ]},
            ]
        },
    ],
)  # fmt: skip
def test_titles_and_compactions_are_asides(body: dict[str, Any]) -> None:
    assert origin({}, **body).aside
    assert not origin({}, messages=[{"role": "user", "content": "Fix it"}]).aside


def test_what_codex_compacts_with_is_an_aside() -> None:
    assert origin({"session-id": "s", "x-openai-subagent": "compact"}, "responses").aside
    assert not origin({"session-id": "s", "x-openai-subagent": "review"}, "responses").aside


def test_subagents_of_codex_are_told_apart_by_their_threads() -> None:
    kind = {"session-id": "s", "x-openai-subagent": "collab_spawn"}
    found = [origin({**kind, "thread-id": name}, "responses") for name in ("t-1", "t-2")]
    assert [(one.session, one.subagent) for one in found] == [("s", "t-1"), ("s", "t-2")]
    assert origin({"session-id": "s", "thread-id": "s"}, "responses").subagent == ""


def test_tools_in_the_conversation_are_tools() -> None:
    more = {"type": "additional_tools", "role": "developer", "tools": TOOLS}
    said = {"role": "user", "content": "Fix it"}
    assert not origin({}, "responses", tools=None, input=[more, said]).aside
    assert origin({}, "responses", tools=None, input=[said]).aside


def call_of(name: str, command: str = "ls") -> ToolCall:
    return ToolCall(name, "Bash", {"command": command})


MESSAGES: dict[str, Any] = {
    "tools": TOOLS,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>Be brief</system-reminder>"},
            {"type": "text", "text": "Fix \"it\" é\\"},
        ]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "ls"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "o"}]},
            {"type": "tool_result", "tool_use_id": "b", "content": "e", "is_error": True,
             "cache_control": {"type": "ephemeral"}},
        ]},
    ],
}  # fmt: skip
RESPONSES: dict[str, Any] = {
    "tools": TOOLS,
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "d"}]},
        {"role": "user", "content": [{"type": "input_text", "text": 'Fix "it" é\\'}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "a", "name": "Bash", "arguments": '{"command": "ls"}'},
        {"type": "function_call", "call_id": "b", "name": "Bash", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "call_id": "a", "output": "Exit code: 0\nOutput:\no"},
        {"type": "function_call_output", "call_id": "b", "output": "Exit code: 2\nOutput:\ne"},
    ],
}
CHAT: dict[str, Any] = {
    "tools": TOOLS,
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": 'Fix "it" é\\'},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "a", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}},
            {"id": "b", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}},
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "o"},
        {"role": "tool", "tool_call_id": "b", "content": "error: e"},
    ],
}  # fmt: skip
GEMINI: dict[str, Any] = {
    "tools": TOOLS,
    "contents": [
        {"role": "user", "parts": [{"text": 'Fix "it" é\\'}]},
        {"role": "model", "parts": [
            {"text": "I look."},
            {"functionCall": {"id": "a", "name": "Bash", "args": {"command": "ls"}}},
            {"functionCall": {"id": "b", "name": "Bash", "args": {"command": "ls"}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "Bash", "response": {"output": "o"}}},
            {"functionResponse": {"name": "Bash", "response": {"error": "e"}}},
        ]},
    ],
}  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "messages": MESSAGES,
    "responses": RESPONSES,
    "chat": CHAT,
    "gemini": GEMINI,
}
each = pytest.mark.parametrize("api", BODIES)


@each
def test_results_and_words_are_read_alike_from_every_api(api: str) -> None:
    body = BODIES[api]
    said = summarise(read_entries(api, JsonObject(body)))
    assert said.prompts == ('Fix "it" é\\',)
    assert said.fresh == 0
    calls = [result.call for result in said.results]
    assert [call._replace(id="") for call in calls] == [call_of(""), call_of("")]
    if api == "gemini":  # whose clients make ids up
        assert len({call.id for call in calls} - {"a", "b"}) == 2
    else:
        assert [call.id for call in calls] == ["a", "b"]
    assert [result.ok for result in said.results] == [True, False]
    assert [result.reasoning for result in said.results] == ["I look.", "I look."]
    assert said.calls == 2


@each
def test_a_first_message_is_new(api: str) -> None:
    body = copy.deepcopy(BODIES[api])
    key = {"responses": "input", "gemini": "contents"}.get(api, "messages")
    del body[key][1 if api in ("messages", "gemini") else 2 :]
    said = summarise(read_entries(api, JsonObject(body)))
    assert said.prompts == ('Fix "it" é\\',)
    assert (said.fresh, said.results) == (1, ())


@each
@given(st.recursive(
    st.none() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "type", "text", "parts", "tool_calls", "function",
                         "id", "call_id", "arguments", "functionCall", "output", "item"]),
        inner | st.sampled_from(["user", "assistant", "tool_use", "function_call", "message"]),
        max_size=4,
    ),
))  # fmt: skip
def test_any_body_can_be_read(api: str, value: Any) -> None:
    body = JsonObject({"messages": value, "input": value, "contents": value, "tools": TOOLS})
    summarise(read_entries(api, body))
    find_origin(api, {}, body, BOUND)
    for observer in (ChatObserver(0), GeminiObserver(0)):
        list(observer.read(JsonObject({"choices": value, "candidates": value})))
        list(observer.end())


def test_prompts_are_told_apart_when_the_history_changes() -> None:
    assert find_new_prompts((), ("a", "b")) == ("a", "b")
    assert find_new_prompts(("a", "b"), ("a", "b")) == ()
    assert find_new_prompts(("a",), ("a", "a")) == ("a",)
    assert find_new_prompts(("a", "b", "c"), ("c", "d")) == ("d",)  # compacted
    assert find_new_prompts(("a", "b"), ("a", "x")) == ("x",)  # rewound


def splice(api: str, body: Any, *corrections: tuple[Place, str], **style: Any) -> bytes | None:
    raw = json.dumps(body, **style).encode()
    return add_corrections(api, raw, read_entries(api, JsonObject(body)), corrections)


STYLES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}]
)


@pytest.mark.parametrize("api", ["messages", "responses"])
@given(st.text(min_size=1), STYLES, st.dictionaries(st.text(), st.text(), max_size=3))
@example("0", {}, {"call_id": "", "cache_control": ""})
def test_a_correction_goes_behind_everything_and_changes_nothing_else(
    api: str, text: str, style: dict[str, Any], more: dict[str, str]
) -> None:
    body = {**more, **BODIES[api], "zz": [more]}
    place = summarise(read_entries(api, JsonObject(body))).place
    assert place is not None
    raw = json.dumps(body, **style).encode()
    changed = splice(api, body, (place, text), **style)
    assert changed is not None
    after = json.loads(changed)
    key = "messages" if api == "messages" else "input"
    if api == "messages":
        added = after[key][-1]["content"].pop()
        assert added["text"] == f"<system-reminder>\n{text}\n</system-reminder>"
    else:
        assert after[key].pop()["content"] == [{"type": "input_text", "text": text}]
    assert after == body
    same = next(at for at, sign in enumerate(changed) if raw[at] != sign)
    last = b"cache_control" if api == "messages" else b"call_id"
    assert raw.rindex(last, 0, raw.rindex(b'"zz"')) < same


@pytest.mark.parametrize("api", ["messages", "responses"])
def test_a_correction_stays_at_its_place_when_messages_follow(api: str) -> None:
    body = BODIES[api]
    place = summarise(read_entries(api, JsonObject(body))).place
    assert place is not None
    key = "messages" if api == "messages" else "input"
    first = splice(api, body, (place, "one"))
    longer = copy.deepcopy(body)
    if api == "messages":
        del longer[key][-1]["content"][-1]["cache_control"]
    longer[key] += [{"role": "assistant", "content": "x"}, {"role": "user", "content": "go on"}]
    later = summarise(read_entries(api, JsonObject(longer))).place
    assert later is not None
    second = splice(api, longer, (place, "one"), (later, "two"))
    assert first is not None and second is not None
    before, after = json.loads(first)[key], json.loads(second)[key]
    if api == "messages":
        del before[-1]["content"][1]["cache_control"]
    assert after[: len(before)] == before
    assert "two" in json.dumps(after[-1])


def test_a_message_of_plain_text_becomes_blocks() -> None:
    body = {"messages": [{"role": "user", "content": 'Fix "it" é\\'}]}
    changed = splice("messages", body, (Place("", 0), "one"), ensure_ascii=False)
    assert changed is not None
    first, _ = json.loads(changed)["messages"][0]["content"]
    assert first == {"type": "text", "text": 'Fix "it" é\\'}


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("messages", {"messages": [{"role": "assistant", "content": "x"}]}),
        ("messages", {"messages": []}),
        ("messages", {"messages": [{"role": "user", "content": None}]}),
        ("messages", {"messages": {}}),
        ("responses", {"input": "text"}),
        ("chat", CHAT),
        ("gemini", GEMINI),
    ],
)
def test_in_doubt_nothing_is_added(api: str, body: Any) -> None:
    assert splice(api, body, (Place("", 0), "one")) is None


def test_a_body_with_a_key_twice_is_not_written_into() -> None:
    raw = b'{"messages": [], "messages": [{"role": "user", "content": "x"}]}'
    entries = read_entries("messages", JsonObject(json.loads(raw)))
    assert add_corrections("messages", raw, entries, [(Place("", 0), "one")]) is None


def test_calls_of_chat_completions_are_put_together_from_their_pieces() -> None:
    def piece(index: int, **fields: Any) -> Any:
        name = fields.pop("id", None)
        call = {"index": index, "function": fields, **({"id": name} if name else {})}
        return JsonObject({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})

    observer = ChatObserver(0)
    events = [
        piece(0, id="a", name="Bash", arguments=""),
        piece(0, arguments='{"comm'),
        piece(1, id="b", name="Bash", arguments='{"command": "ls"}'),
        piece(0, arguments='and": "ls"}'),
        JsonObject({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ]
    found = [call for event in events for call in observer.read(event)]
    assert found == [call_of("a"), call_of("b")]
    assert list(observer.end()) == []


def test_a_call_of_gemini_has_the_same_id_in_its_answer_and_in_the_next_request() -> None:
    call = {"functionCall": {"name": "Bash", "args": {"command": "ls"}}}
    answer = JsonObject({"candidates": [{"content": {"parts": [call, call]}}]})
    observed = list(GeminiObserver(2).read(answer))
    body = copy.deepcopy(GEMINI)
    result = {"functionResponse": {"name": "Bash", "response": {"output": "o"}}}
    body["contents"] += [
        {"role": "model", "parts": [copy.deepcopy(call), copy.deepcopy(call)]},
        {"role": "user", "parts": [result, result]},
    ]
    for number, part in enumerate(body["contents"][-2]["parts"]):
        part["functionCall"]["id"] = f"Bash_17_{number}"
    said = summarise(read_entries("gemini", JsonObject(body)))
    assert [result.call for result in said.results] == observed
    assert len({call.id for call in observed}) == 2


def test_ids_are_bounded() -> None:
    assert len(origin({"x-claude-code-session-id": "s" * 1000}).session) == routes._LONGEST


@pytest.mark.parametrize("api", ["messages", "responses"])
def test_a_correction_keeps_to_its_call_when_what_is_before_is_cut(api: str) -> None:
    place = summarise(read_entries(api, JsonObject(BODIES[api]))).place
    assert place is not None
    shorter = copy.deepcopy(BODIES[api])
    key = "messages" if api == "messages" else "input"
    del shorter[key][0]
    shorter[key].append({"role": "assistant", "content": "x"})
    changed = splice(api, shorter, (place, "one"))
    assert changed is not None
    (at,) = [at for at, item in enumerate(json.loads(changed)[key]) if "one" in json.dumps(item)]
    assert at == len(shorter[key]) - (2 if api == "messages" else 1)
