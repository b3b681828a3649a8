"""One request of an agent, and the text in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

SECRET = (
    "authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"
)  # fmt: skip
# How agents start a request to summarise the conversation.
COMPACTION = (
    "CRITICAL: Respond with TEXT ONLY",  # Claude Code
    "You are performing a CONTEXT CHECKPOINT",  # Codex
    "Please create a detailed summary of the conversation so far",  # Copilot
    "Generate a new <state_snapshot>",  # Gemini
)


_ROLES = {"model": "assistant"}
_GEMINI = (":streamGenerateContent", ":generateContent")


class Text(NamedTuple):
    """A piece of the request's text. `role` is `tool` for what a tool returned."""

    role: str
    text: str


@dataclass(frozen=True)
class Request:
    """`headers` have lower-case names and no keys in their values; `body` is parsed JSON."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any = None

    @property
    def api(self) -> str:
        """`messages`, `responses`, `chat`, `gemini`, or empty."""
        return find_api(self.path)

    @property
    def model(self) -> str:
        """The model that is asked; `fake` if the request names none."""
        if self.api == "gemini":
            return self.path.partition("?")[0].rpartition("/")[2].partition(":")[0]
        return str(self.body.get("model", "fake"))

    @property
    def is_streamed(self) -> bool:
        if self.api == "gemini":
            return self.path.partition("?")[0].endswith(_GEMINI[0])
        return bool(self.body.get("stream"))

    @property
    def kind(self) -> str:
        """`main`, `subagent`, `compaction`, `count`, or `other` if it is not for the model.

        `aside` is what an agent asks the model for itself: a title, or which model to choose.
        """
        if self.path.partition("?")[0].endswith("/messages/count_tokens"):
            return "count"
        if self.method != "POST" or not self.api:
            return "other"
        prompts = [text for role, text in self.texts if role == "user"]
        if prompts and prompts[-1].lstrip().startswith(COMPACTION):
            return "compaction"
        if not self.tools and (self.api == "gemini" or "x-session-affinity" in self.headers):
            return "aside"
        return "subagent" if self.agent else "main"

    @property
    def agent(self) -> str:
        """The id of the subagent; empty for the main conversation."""
        names = ("x-claude-code-agent-id", "x-openai-subagent", "x-parent-session-id")
        return next((self.headers[name] for name in names if name in self.headers), "")

    @property
    def session(self) -> str:
        names = ("x-claude-code-session-id", "session-id", "x-session-id")
        return next((self.headers[name] for name in names if name in self.headers), "")

    @property
    def texts(self) -> list[Text]:
        """All text of the request in order, the system prompt first."""
        body = self.body if isinstance(self.body, dict) else {}
        texts = [
            Text("system", text)
            for key in ("system", "instructions", "systemInstruction")
            for text in _text(body.get(key))
        ]
        for key in ("messages", "input", "contents"):
            items = body.get(key)
            if isinstance(items, str):
                items = [{"role": "user", "content": items}]
            for item in items if isinstance(items, list) else []:
                texts.extend(_item(item))
        return texts

    @property
    def given(self) -> str:
        """The text that the model was given: system, user and developer messages."""
        roles = ("system", "user", "developer")
        return "\n".join(text for role, text in self.texts if role in roles)

    @property
    def results(self) -> str:
        """The text that tools returned."""
        return "\n".join(text for role, text in self.texts if role == "tool")

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model may call."""
        body = self.body if isinstance(self.body, dict) else {}
        tools = body.get("tools")
        return [name for tool in _dicts(tools) for name in _tool_names(tool)]


def find_api(path: str) -> str:
    """Return the name of the API that a path belongs to; empty if it is none."""
    place = path.partition("?")[0]
    if place.endswith(_GEMINI):
        return "gemini"
    name = place.rpartition("/")[2]
    return "chat" if name == "completions" else name if name in ("messages", "responses") else ""


def remove_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with lower-case names and without secret values."""
    return {
        name.lower(): "(left out)" if name.lower() in SECRET else value
        for name, value in headers.items()
    }


def _item(item: Any) -> Iterator[Text]:
    """Yield the text of a message of any API, or of a tool result of Responses."""
    if not isinstance(item, dict):
        return
    role = str(item.get("role"))
    if str(item.get("type")).endswith("_call_output"):
        yield from (Text("tool", text) for text in _text(item.get("output")))
        return
    content = item.get("content", item.get("parts"))
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield from (Text("tool", text) for text in _text(block.get("content")))
        elif isinstance(block, dict) and "functionResponse" in block:
            result = json.dumps(block["functionResponse"].get("response"), ensure_ascii=False)
            yield Text("tool", result)
        else:
            yield from (Text(_ROLES.get(role, role), text) for text in _text(block))


def _text(value: Any) -> Iterator[str]:
    """Yield the text of a string, of a block, or of a list of blocks."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and isinstance(value.get("text"), str):
        yield value["text"]
    elif isinstance(value, dict):
        yield from _text(value.get("parts"))
    elif isinstance(value, list):
        for block in value:
            if not isinstance(block, list):
                yield from _text(block)


def _tool_names(tool: dict[str, Any]) -> Iterator[str]:
    """Yield the name of a tool; Gemini declares several in one entry, chat completions nest it."""
    if "functionDeclarations" in tool:
        yield from (str(one.get("name")) for one in _dicts(tool["functionDeclarations"]))
        return
    inner = tool.get("function")
    named = inner if isinstance(inner, dict) else tool
    yield str(named.get("name") or tool.get("type"))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
