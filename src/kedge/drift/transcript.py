"""What the end of an agent's transcript says of a call, read with the standard library."""

from __future__ import annotations

import json
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAIL = 1 << 18  # bytes at the end of the transcript that are looked at
_LINE = 1 << 17  # of a record: what agents say in one is shorter


def reasoning(path: str, call: str) -> str:
    """What the agent said in the message that makes the call; nothing where that is not known."""
    records = _before(_tail(path), call)
    if not records:
        return ""
    texts = _claude(records) if "message" in records[0] else _codex(records[1:])
    return "\n".join(reversed(texts)).strip()


def failed(path: str, call: str) -> bool:
    """Whether the transcript has the call's result, and says that it failed: Codex tells its hooks
    what a command printed, and not how it ended."""
    mark = call.encode()
    for line in _tail(path):
        if mark not in line or b"exit_code" not in line:
            continue
        try:
            item = json.loads(line)["payload"]["item"]
            return item.get("id") == call and item.get("exit_code") not in (0, None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return False


def _tail(path: str) -> list[bytes]:
    """The last lines of a file, the last one first."""
    if not path:
        return []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # it is not there yet, or not any more
        return []
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return []
        start = max(0, about.st_size - _TAIL)
        lines = os.pread(fd, _TAIL, start).split(b"\n")
    finally:
        os.close(fd)
    return lines[:0:-1] if start else lines[::-1]


def _before(lines: list[bytes], call: str) -> list[dict[str, Any]]:
    """The record that makes the call, and those before it, the latest first."""
    mark = call.encode()
    found: list[dict[str, Any]] = []
    for line in lines:
        if not found and mark not in line:
            continue
        if len(line) > _LINE and found:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and (found or _makes(record, call)):
            found.append(record)
            if len(found) > 20:
                break
    return found


def _makes(record: dict[str, Any], call: str) -> bool:
    payload = record.get("payload")
    if isinstance(payload, dict):
        return payload.get("call_id") == call and str(payload.get("type")).endswith("call")
    return any(block.get("id") == call for block in _blocks(record))


def _claude(records: list[dict[str, Any]]) -> list[str]:
    """One record per block; those of a message share its id."""
    message = records[0]["message"].get("id")
    texts = []
    for record in records:
        said = record.get("message")
        if isinstance(said, dict) and said.get("id") == message:
            texts += [_text(block) for block in reversed(_blocks(record))]
    return [text for text in texts if text]


def _codex(records: list[dict[str, Any]]) -> list[str]:
    """What was said since the result of the call before."""
    texts: list[str] = []
    for record in records:
        payload = record.get("payload")
        if record.get("type") != "response_item" or not isinstance(payload, dict):
            continue
        kind = str(payload.get("type"))
        if kind.endswith("_output") or payload.get("role") not in (None, "assistant"):
            break
        parts = payload.get("content") or payload.get("summary") or ()
        texts += [_text(part) for part in parts if isinstance(part, dict)]
    return [text for text in texts if text]


def _blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _text(block: dict[str, Any]) -> str:
    said = block.get("text") or block.get("thinking") or ""
    return said if isinstance(said, str) else ""
