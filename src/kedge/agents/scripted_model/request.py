"""One request of an agent, and the text in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

SECRET = ("authorization", "x-api-key", "api-key", "cookie", "proxy-authorization")
# How Claude Code and Codex start a request to summarise the conversation.
COMPACTION = ("CRITICAL: Respond with TEXT ONLY", "You are performing a CONTEXT CHECKPOINT")


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
        """`messages`, `responses`, or empty."""
        name = self.path.partition("?")[0].rpartition("/")[2]
        return name if name in ("messages", "responses") else ""

    @property
    def kind(self) -> str:
        """`main`, `subagent`, `compaction`, `count`, or `other` if it is not for the model."""
        if self.path.partition("?")[0].endswith("/messages/count_tokens"):
            return "count"
        if self.method != "POST" or not self.api:
            return "other"
        prompts = [text for role, text in self.texts if role == "user"]
        if prompts and prompts[-1].lstrip().startswith(COMPACTION):
            return "compaction"
        return "subagent" if self.agent else "main"

    @property
    def agent(self) -> str:
        """The id of the subagent; empty for the main conversation."""
        names = ("x-claude-code-agent-id", "x-openai-subagent")
        return next((self.headers[name] for name in names if name in self.headers), "")

    @property
    def session(self) -> str:
        names = ("x-claude-code-session-id", "session-id")
        return next((self.headers[name] for name in names if name in self.headers), "")

    @property
    def texts(self) -> list[Text]:
        """All text of the request in order, the system prompt first."""
        body = self.body if isinstance(self.body, dict) else {}
        texts = [
            Text("system", text)
            for key in ("system", "instructions")
            for text in _text(body.get(key))
        ]
        for key in ("messages", "input"):
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
        return [
            str(tool.get("name") or tool.get("type"))
            for tool in (tools if isinstance(tools, list) else [])
            if isinstance(tool, dict)
        ]


def remove_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with lower-case names and without secret values."""
    return {
        name.lower(): "(left out)" if name.lower() in SECRET else value
        for name, value in headers.items()
    }


def _item(item: Any) -> Iterator[Text]:
    """Yield the text of a message of either API, or of a tool result of Responses."""
    if not isinstance(item, dict):
        return
    if str(item.get("type")).endswith("_call_output"):
        yield from (Text("tool", text) for text in _text(item.get("output")))
        return
    content = item.get("content")
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield from (Text("tool", text) for text in _text(block.get("content")))
        else:
            yield from (Text(str(item.get("role")), text) for text in _text(block))


def _text(value: Any) -> Iterator[str]:
    """Yield the text of a string, of a block, or of a list of blocks."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and isinstance(value.get("text"), str):
        yield value["text"]
    elif isinstance(value, list):
        for block in value:
            if not isinstance(block, list):
                yield from _text(block)
