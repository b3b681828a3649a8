"""Import tasks from files of other tools: `prd.json`, a beads export, a Markdown checklist."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId, is_id
from kedge.model.status_words import priority_of, status_of
from kedge.model.task import PRIORITIES, Block, BlockType, Status, Task, unique
from kedge.text.fences import FenceReader

_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+]|\d+[.)])[ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>.+)"
)
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?P<text>.+)")
_NAMED = re.compile(
    r"(?:\*\*|`)?\[?(?P<id>[A-Za-z0-9][A-Za-z0-9._-]*?)\]?(?:\*\*|`)?(?::(?:\*\*)?|\s+[-–—])\s+(?P<rest>.+)"
)


def read(text: str, *, name: str, format: str | None, prefix: str) -> list[Task]:  # noqa: A002
    """Return the tasks in a file's text, with their ids.

    A checklist item without an id gets a hash of its words, so that a second import finds it again.
    """
    chosen = format or _detect(text, name)
    text = text.removeprefix("\ufeff")
    if chosen == "prd":
        return _read_prd(text, name)
    if chosen == "beads":
        return _read_beads(text, name)
    return _read_checklist(text, name, prefix)


def _detect(text: str, name: str) -> str:
    if name.endswith((".md", ".markdown", ".txt")):
        return "checklist"
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if name.endswith(".jsonl"):
        return "beads"
    if start == "{":
        try:
            json.loads(text.removeprefix("\ufeff"))
        except ValueError:
            return "beads"
        return "prd" if any(key in text for key in ('"userStories"', '"tasks"')) else "beads"
    return "prd" if start == "[" else "checklist"


def _read_prd(text: str, name: str) -> list[Task]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InvalidValue(f"{name}:{line}: not JSON", hint="nothing was imported") from error
    entries = data
    if isinstance(data, dict):
        entries = data.get("userStories") or data.get("tasks") or data.get("stories")
    if not isinstance(entries, list):
        raise InvalidValue(
            f"{name}: no list of tasks", hint="put it under 'userStories' or 'tasks'"
        )
    return [_story(entry, f"{name}: task {number}") for number, entry in enumerate(entries, 1)]


def _story(entry: Any, place: str) -> Task:
    if not isinstance(entry, Mapping):
        raise InvalidValue(f"{place} is not an object", hint="nothing was imported")

    def take(*names: str) -> Any:
        return next((entry[name] for name in names if entry.get(name) is not None), None)

    identity = str(take("id", "ID", "key") or "")
    title = take("title", "name", "summary") or ""
    if not isinstance(title, str) or not title.strip():
        raise InvalidValue(f"{place} has no title", hint="nothing was imported")
    _check_id(identity, place)
    status = status_of(str(take("status") or "open"))
    if status is None:
        raise InvalidValue(
            f"{place}: {take('status')!r} is not a status",
            hint="use open, in progress, blocked, failed or done; nothing was imported",
        )
    if take("passes") is True:
        status = Status.DONE
    description = str(take("description") or "")
    notes = take("notes")
    if isinstance(notes, str) and notes.strip():
        description = f"{description}\n\nNotes: {notes}".strip()
    epic = take("parent", "epic")
    blocked = Block(BlockType.EXTERNAL, "blocked when it was imported")
    return Task(
        id=TaskId(identity),
        blocked=blocked if status is Status.BLOCKED else None,
        title=" ".join(title.split()),
        type=str(take("type") or "task").lower(),
        status=status,
        priority=_priority(take("priority")),
        description=description,
        acceptance=_strings(take("acceptanceCriteria", "acceptance_criteria", "acceptance")),
        labels=unique(_strings(take("labels", "tags"))),
        epic=TaskId(epic) if isinstance(epic, str) and epic else None,
        depends_on=tuple(
            TaskId(one) for one in unique(_strings(take("dependsOn", "depends_on", "dependencies")))
        ),
    )


def _priority(value: Any) -> str:
    """Return the priority written as "P1", 1 or "high"; P2 for none, P4 for numbers above 4."""
    text = str(value).strip()
    if re.fullmatch(r"-?\d+", text):
        return PRIORITIES[min(max(int(text), 0), 4)]
    return priority_of(text) or "P2"


def _read_beads(text: str, name: str) -> list[Task]:
    from kedge.tasks.beads.issue import read_export

    tasks, warnings = read_export(text.encode(), name)
    if warnings:
        raise InvalidValue(warnings[0], hint="nothing was imported")
    return tasks


def _read_checklist(text: str, name: str, prefix: str) -> list[Task]:
    drafts: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None  # the item that indented lines belong to
    fences = FenceReader()
    for line in text.splitlines():
        is_code = bool(fences.read(line))
        item = None if is_code else _ITEM.match(line)
        inside = current is not None and _width(line) > current["indent"]
        if item and current is not None and inside:
            current["acceptance"].append(item["text"].strip())
        elif item:
            current = _read_item(item, name, prefix, drafts)
            drafts.append(current)
        elif current is not None and (inside or not line.strip()):
            bullet = None if is_code else _BULLET.match(line)
            current["description"].append(bullet["text"] if bullet else line.strip())
        elif line.strip():
            current = None  # text at the margin ends the item above it
    if not drafts:
        raise InvalidValue(
            f"{name}: no checklist items", hint="write items as '- [ ] title of the task'"
        )
    return [_build_task(draft) for draft in drafts]


def _read_item(
    item: re.Match[str], name: str, prefix: str, before: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    title = item["text"].strip()
    named = _NAMED.match(title)
    if named and is_id(named["id"]) and re.search(r"\d", named["id"]):
        identity, title = named["id"], named["rest"]
    else:
        # An item that repeats the words of another is another task and needs its own hash.
        again = sum(1 for draft in before if draft["words"] == item["text"].strip())
        digest = hashlib.sha256(f"{title}\n{again}".encode() if again else title.encode())
        identity = f"{prefix}-{digest.hexdigest()[:8]}"
    _check_id(identity, name)
    return {
        "indent": _width(item["indent"]),
        "id": identity,
        "words": item["text"].strip(),
        "title": " ".join(title.replace("**", "").split()),
        "done": item["mark"] in "xX",
        "description": [],
        "acceptance": [],
    }


def _build_task(draft: Mapping[str, Any]) -> Task:
    return Task(
        id=TaskId(draft["id"]),
        title=draft["title"],
        status=Status.DONE if draft["done"] else Status.OPEN,
        description="\n".join(draft["description"]).strip(),
        acceptance=tuple(draft["acceptance"]),
    )


def _width(text: str) -> int:
    expanded = text.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _strings(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    texts = [
        str(item.get("description") or item.get("text") or item.get("id") or "")
        if isinstance(item, Mapping)
        else str(item)
        for item in items
    ]
    return tuple(text for text in texts if text.strip())


def _check_id(identity: str, place: str) -> None:
    if identity and not is_id(identity):
        raise InvalidValue(
            f"{place}: {identity[:80]!r} is not a valid id",
            hint="use letters, digits, '.', '_' and '-', at most 64; nothing was imported",
        )
