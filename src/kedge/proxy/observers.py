"""Answers that are only observed: Chat Completions and Gemini. Their bytes are never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kedge.agents.json_object import JsonObject
from kedge.proxy.exchange import ToolCall
from kedge.proxy.requests import read_function, read_gemini_call

_MOST_CALLS = 1000  # of one answer


class ChatObserver:
    """Puts calls together from the pieces in which Chat Completions streams them."""

    marks = b"tool_calls"  # in every event with a part of a call

    def __init__(self, calls: int) -> None:  # noqa: ARG002 - calls have ids
        self._pieces: dict[tuple[int, int], dict[str, Any]] = {}

    @property
    def is_idle(self) -> bool:
        """True if events without the marks need not be read."""
        return not self._pieces

    def read(self, value: JsonObject) -> Iterator[ToolCall]:
        """Yield the calls that are complete with this event, or this body."""
        for choice in value.children("choices"):
            for call in choice.child("message").children("tool_calls"):
                yield read_function(call)
            for piece in choice.child("delta").children("tool_calls"):
                self._add(choice.count("index"), piece)
            if choice.text("finish_reason"):
                yield from self.end()

    def end(self) -> Iterator[ToolCall]:
        """Yield the calls that were begun."""
        pieces, self._pieces = self._pieces, {}
        for piece in pieces.values():
            yield read_function(JsonObject(piece))

    def _add(self, choice: int, piece: JsonObject) -> None:
        key = choice, piece.count("index")
        if key not in self._pieces and len(self._pieces) >= _MOST_CALLS:
            return
        call = self._pieces.setdefault(key, {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = call["id"] or piece.text("id")
        for field in ("name", "arguments"):
            call["function"][field] += piece.child("function").text(field)


class GeminiObserver:
    """Reads the calls in the answers of generateContent. `calls` were made in earlier answers."""

    marks = b"functionCall"
    is_idle = True

    def __init__(self, calls: int) -> None:
        self._calls = calls

    def read(self, value: JsonObject) -> Iterator[ToolCall]:
        """Yield the calls in this event, or this body."""
        for candidate in value.children("candidates"):
            for part in candidate.child("content").children("parts"):
                if "functionCall" in part:
                    yield read_gemini_call(part.child("functionCall"), self._calls)
                    self._calls += 1

    def end(self) -> Iterator[ToolCall]:
        return iter(())


Observer = ChatObserver | GeminiObserver
OBSERVERS: Mapping[str, Callable[[int], Observer]] = {
    "chat": ChatObserver,
    "gemini": GeminiObserver,
}
