"""What goes back over the wire for a turn, in the words of the API that was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kedge.testing.fake_model import messages, responses
from kedge.testing.fake_model.messages import Event
from kedge.testing.fake_model.request import Request
from kedge.testing.fake_model.script import Turn

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Reply(NamedTuple):
    """An answer in one piece (`body`) or as a stream of `events`. None at all closes unanswered."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: Event | None = None
    events: list[Event] | None = None
    before: float = 0.0
    between: float = 0.0
    whole: bool = True  # else the stream ends as when the connection breaks


def refusal(status: int, message: str, path: str = "") -> Reply:
    api = responses if path.partition("?")[0].endswith("/responses") else messages
    return Reply(status, body=api.failure(ERRORS.get(status, "api_error"), message))


def aside(request: Request) -> Reply:
    """For what is not a question: the count of tokens, a look whether anybody is there."""
    if request.kind == "count":
        return Reply(body={"input_tokens": 1 + len(request.given + request.results) // 4})
    if request.path.partition("?")[0] == "/":
        return Reply(body={})
    return refusal(404, f"nothing is at {request.path}", request.path)


def reply(request: Request, turn: Turn, ids: str) -> Reply:
    """`ids` makes the ids in this answer unique."""
    if turn.drop:
        return Reply(before=turn.before)
    if turn.status != 200:
        refused = refusal(turn.status, turn.message, request.path)
        return refused._replace(headers=turn.headers, before=turn.before)
    api = responses if request.api == "responses" else messages
    model = str(request.body.get("model", "fake"))
    if not request.body.get("stream"):
        body = api.whole(turn, model, ids)
        return Reply(headers=turn.headers, body=body, before=turn.before)
    sent, end = api.events(turn, model, ids)
    if turn.error or turn.cut:
        sent, end = (sent + end)[: len(sent) if turn.after is None else turn.after], []
    if turn.error:
        end = [api.failed(turn.error, turn.message)]
    return Reply(200, turn.headers, None, sent + end, turn.before, turn.between, not turn.cut)
