"""What the end of an agent's transcript says about a call, read with the standard library."""

from __future__ import annotations

import json
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAIL = 1 << 18  # bytes at the end of the transcript that are read
_LINE = 1 << 17  # bytes of a record; what an agent says is shorter


def find_reasoning(path: str, call: str) -> str:
    """Return what the agent said in the message that makes the call; "" if it is not known."""
    records = _find_records(_read_lines(path), call)
    if not records:
        return ""
    texts = _read_claude(records) if "message" in records[0] else _read_codex(records[1:])
    return "\n".join(reversed(texts)).strip()


def has_failed(path: str, call: str) -> bool:
    """True if the transcript says that the call failed.

    Codex tells its hooks what a command printed, but not its exit code.
    """
    mark = call.encode()
    for line in _read_lines(path):
        if mark not in line or b"exit_code" not in line:
            continue
        try:
            item = json.loads(line)["payload"]["item"]
            return item.get("id") == call and item.get("exit_code") not in (0, None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return False


def _read_lines(path: str) -> list[bytes]:
    """Return the last lines of a file, the last one first."""
    if not path:
        return []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # not created yet, or removed
        return []
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return []
        start = max(0, status.st_size - _TAIL)
        lines = os.pread(fd, _TAIL, start).split(b"\n")
    finally:
        os.close(fd)
    return lines[:0:-1] if start else lines[::-1]


def _find_records(lines: list[bytes], call: str) -> list[dict[str, Any]]:
    """Return the record that makes the call and those before it, the latest first."""
    mark = call.encode()
    records: list[dict[str, Any]] = []
    for line in lines:
        if not records and mark not in line:
            continue
        if len(line) > _LINE and records:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and (records or _is_call(record, call)):
            records.append(record)
            if len(records) > 20:
                break
    return records


def _is_call(record: dict[str, Any], call: str) -> bool:
    payload = record.get("payload")
    if isinstance(payload, dict):
        return payload.get("call_id") == call and str(payload.get("type")).endswith("call")
    return any(block.get("id") == call for block in _blocks(record))


def _read_claude(records: list[dict[str, Any]]) -> list[str]:
    """Return the texts of the message: it has one record per block, all with its id."""
    message = records[0]["message"].get("id")
    texts = []
    for record in records:
        content = record.get("message")
        if isinstance(content, dict) and content.get("id") == message:
            texts += [_text(block) for block in reversed(_blocks(record))]
    return [text for text in texts if text]


def _read_codex(records: list[dict[str, Any]]) -> list[str]:
    """Return the texts since the result of the call before."""
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
    text = block.get("text") or block.get("thinking") or ""
    return text if isinstance(text, str) else ""
