"""Tasks from files of other tools: `prd.json`, a beads export, a Markdown checklist."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId, is_id
from kedge.model.task import PRIORITIES, Block, BlockType, Status, Task, unique
from kedge.tasks.words import status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMATS = ("prd", "beads", "checklist")

_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+]|\d+[.)])[ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>.+)"
)
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?P<text>.+)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_NAMED = re.compile(
    r"(?:\*\*|`)?\[?(?P<id>[A-Za-z0-9][A-Za-z0-9._-]*?)\]?(?:\*\*|`)?(?::(?:\*\*)?|\s+[-–—])\s+(?P<rest>.+)"
)


def read(text: str, *, name: str, format: str | None, prefix: str) -> list[Task]:  # noqa: A002
    """The tasks in a file's text. Ids are kept; a checklist's items without one get an id that
    stays the same for the same words, so that a second import finds them again."""
    chosen = format or _detect(text, name)
    text = text.removeprefix("\ufeff")
    if chosen == "prd":
        return _prd(text, name)
    if chosen == "beads":
        return _beads(text, name)
    return _checklist(text, name, prefix)


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


def _prd(text: str, name: str) -> list[Task]:
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
            f"{name}: no list of tasks", hint="prd.json has them under 'userStories' or 'tasks'"
        )
    return [_story(entry, f"{name}: task {number}") for number, entry in enumerate(entries, 1)]


def _story(entry: Any, place: str) -> Task:
    if not isinstance(entry, Mapping):
        raise InvalidValue(f"{place} is not an object", hint="nothing was imported")
    take = _taker(entry)
    identity = str(take("id", "ID", "key") or "")
    title = take("title", "name", "summary") or ""
    if not isinstance(title, str) or not title.strip():
        raise InvalidValue(f"{place} has no title", hint="nothing was imported")
    _check_id(identity, place)
    status = status_of(str(take("status") or "open"))
    if status is None:
        raise InvalidValue(
            f"{place}: {take('status')!r} is not a status that kedge knows",
            hint="open, in progress, blocked, failed or done; nothing was imported",
        )
    if take("passes") is True:
        status = Status.DONE
    description = str(take("description") or "")
    notes = take("notes")
    if isinstance(notes, str) and notes.strip():
        description = f"{description}\n\nNotes: {notes}".strip()
    epic = take("parent", "epic")
    blocked = Block(BlockType.EXTERNAL, "it was blocked when it was imported")
    return Task(
        id=TaskId(identity),
        blocked=blocked if status is Status.BLOCKED else None,
        title=" ".join(title.split()),
        type=str(take("type") or "task").lower(),
        status=status,
        priority=priority(take("priority")),
        description=description,
        acceptance=_texts(take("acceptanceCriteria", "acceptance_criteria", "acceptance")),
        labels=unique(_texts(take("labels", "tags"))),
        epic=TaskId(epic) if isinstance(epic, str) and epic else None,
        depends_on=tuple(
            TaskId(one) for one in unique(_texts(take("dependsOn", "depends_on", "dependencies")))
        ),
    )


def priority(value: Any) -> str:
    """A priority from the ways in which it is written: P1, 1, "high"; P2 when there is none.

    Stories of a PRD are often numbered through; a number past 4 is the least urgent.
    """
    words = {"critical": "P0", "urgent": "P0", "high": "P1", "medium": "P2", "low": "P3"}
    if isinstance(value, bool) or value is None:
        return "P2"
    if isinstance(value, int):
        return PRIORITIES[min(max(value, 0), 4)]
    text = str(value).strip()
    if text.upper() in PRIORITIES:
        return text.upper()
    if text.isdigit():
        return PRIORITIES[min(int(text), 4)]
    return words.get(text.lower(), "P2")


def _beads(text: str, name: str) -> list[Task]:
    from kedge.tasks.beads.issue import read_export

    tasks, warnings = read_export(text.encode(), name)
    if warnings:
        raise InvalidValue(warnings[0], hint="nothing was imported")
    return tasks


def _checklist(text: str, name: str, prefix: str) -> list[Task]:
    drafts: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None  # the item that indented lines belong to
    fence: str | None = None
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (fence is None or mark.group(1).startswith(fence)):
            fence = mark.group(1) if fence is None else None
        item = None if fence else _ITEM.match(line)
        inside = current is not None and _width(line) > current["indent"]
        if item and current is not None and inside:
            current["acceptance"].append(item["text"].strip())
        elif item:
            current = _item(item, name, prefix, drafts)
            drafts.append(current)
        elif current is not None and (inside or not line.strip()):
            bullet = None if fence else _BULLET.match(line)
            current["description"].append(bullet["text"] if bullet else line.strip())
        elif line.strip():
            current = None  # text at the margin ends the item above it
    if not drafts:
        raise InvalidValue(
            f"{name}: no checklist items", hint="an item looks like '- [ ] what is to be done'"
        )
    return [_from_item(draft) for draft in drafts]


def _item(
    found: re.Match[str], name: str, prefix: str, before: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    title = found["text"].strip()
    named = _NAMED.match(title)
    if named and is_id(named["id"]) and re.search(r"\d", named["id"]):
        identity, title = named["id"], named["rest"]
    else:
        # The same words again are another task: the second, the third of that title.
        again = sum(1 for draft in before if draft["words"] == found["text"].strip())
        digest = hashlib.sha256(f"{title}\n{again}".encode() if again else title.encode())
        identity = f"{prefix}-{digest.hexdigest()[:8]}"
    _check_id(identity, name)
    return {
        "indent": _width(found["indent"]),
        "id": identity,
        "words": found["text"].strip(),
        "title": " ".join(title.replace("**", "").split()),
        "done": found["mark"] in "xX",
        "description": [],
        "acceptance": [],
    }


def _from_item(draft: Mapping[str, Any]) -> Task:
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


def _taker(entry: Mapping[str, Any]) -> Callable[..., Any]:
    def take(*names: str) -> Any:
        return next((entry[name] for name in names if entry.get(name) is not None), None)

    return take


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    found = [
        str(item.get("description") or item.get("text") or item.get("id") or "")
        if isinstance(item, Mapping)
        else str(item)
        for item in items
    ]
    return tuple(text for text in found if text.strip())


def _check_id(identity: str, place: str) -> None:
    if identity and not is_id(identity):
        raise InvalidValue(
            f"{place}: {identity[:80]!r} is not a valid id",
            hint="letters, digits, '.', '_' and '-', at most 64; nothing was imported",
        )
