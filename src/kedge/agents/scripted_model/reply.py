"""The reply to a request, in the format of the API that was called."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

from kedge.agents.scripted_model import (
    anthropic_messages,
    chat_completions,
    gemini_content,
    openai_responses,
)
from kedge.agents.scripted_model.anthropic_messages import Event
from kedge.agents.scripted_model.request import Request, find_api
from kedge.agents.scripted_model.script import Turn

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
_APIS: dict[str, ModuleType] = {
    "messages": anthropic_messages,
    "responses": openai_responses,
    "chat": chat_completions,
    "gemini": gemini_content,
}


class ModelReply(NamedTuple):
    """A whole answer (`body`) or a stream of `events`; with neither, the connection is closed."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: Event | None = None
    events: list[Event] | None = None
    before: float = 0.0
    between: float = 0.0
    complete: bool = True  # if not, the stream ends like a broken connection


def make_refusal(status: int, message: str, path: str = "") -> ModelReply:
    api = _APIS.get(find_api(path), anthropic_messages)
    return ModelReply(status, body=api.make_error_body(ERRORS.get(status, "api_error"), message))


def make_side_reply(request: Request) -> ModelReply:
    """Return the reply to a request that is not for the model: a token count, a ping."""
    if request.kind == "count":
        return ModelReply(body={"input_tokens": 1 + len(request.given + request.results) // 4})
    if request.path.partition("?")[0] == "/":
        return ModelReply(body={})
    return make_refusal(404, f"nothing is at {request.path}", request.path)


def make_reply(request: Request, turn: Turn, ids: str) -> ModelReply:
    """Return the reply that plays the turn. `ids` makes the ids in it unique."""
    if turn.drop:
        return ModelReply(before=turn.before)
    if turn.status != 200:
        refusal = make_refusal(turn.status, turn.message, request.path)
        return refusal._replace(headers=turn.headers, before=turn.before)
    api = _APIS[request.api]
    if not request.is_streamed:
        body = api.make_body(turn, request.model, ids)
        return ModelReply(headers=turn.headers, body=body, before=turn.before)
    sent, end = api.make_events(turn, request.model, ids)
    if turn.error or turn.cut:
        sent, end = (sent + end)[: len(sent) if turn.after is None else turn.after], []
    if turn.error:
        end = [api.make_error_event(turn.error, turn.message)]
    return ModelReply(200, turn.headers, None, sent + end, turn.before, turn.between, not turn.cut)
