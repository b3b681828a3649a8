"""Write corrections into a request: into the raw JSON, behind everything that a cache may hold.

A correction goes to the end of the conversation, after the last cache breakpoint. Later requests of
the turn repeat it at the same place in the same bytes: the client does not know it and leaves it
out, and a prefix that changes is not found in the provider's cache.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kedge.proxy import json_scan
from kedge.proxy.conversation import Entry, Place, find_place
from kedge.proxy.json_scan import NotFound, Span, dump


def add_corrections(
    api: str, body: bytes, entries: Sequence[Entry], corrections: Sequence[tuple[Place, str]]
) -> bytes | None:
    """Return the request with texts added at their places; None if it is not safely done.

    A place that is no longer in the conversation is left out.
    """
    add = {"messages": _add_block, "responses": _add_item}.get(api)
    if add is None:
        return None
    found = [(find_place(entries, place), text) for place, text in corrections]
    try:
        changed, expected = body, json.loads(body)
        # from the end, so that the places before it stay valid
        for index, text in sorted(
            ((index, text) for index, text in found if index is not None),
            key=lambda pair: -pair[0],
        ):
            changed = add(changed, expected, index, text)
        return changed if json.loads(changed) == expected else None
    except (NotFound, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None


def _add_block(body: bytes, expected: Any, index: int, text: str) -> bytes:
    """Append a text block to a message; do the same to its parsed form."""
    block = {"type": "text", "text": f"<system-reminder>\n{text}\n</system-reminder>"}
    message = expected["messages"][index]
    if message["role"] not in ("user", "system"):
        raise NotFound("not a message of the user's side")
    content = message["content"]
    span = json_scan.find(body, "messages", index, "content")
    if isinstance(content, str):
        first = {"type": "text", "text": content}
        message["content"] = [first, block]
        raw = body[slice(*span)]
        replaced = b'[{"type":"text","text":' + raw + b"}," + dump(block) + b"]"
        return json_scan.replace(body, [(span, replaced)])
    content.append(block)
    return json_scan.append_item(body, span, dump(block))


def _add_item(body: bytes, expected: Any, index: int, text: str) -> bytes:
    """Insert a message after an item; do the same to the parsed form."""
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "developer", "content": content}
    expected["input"].insert(index + 1, item)
    span = json_scan.find(body, "input", index)
    return json_scan.replace(body, [(Span(span.end, span.end), b"," + dump(item))])
