"""What a feature's `tasks.md` says about its tasks, as functions of its text.

    ### Task 1.1: Tie up          a task; what follows up to the next heading is its body
    **Status:** in progress       its state, if it is not open
    **Depends on:** 1.0, Task 2   tasks of the same feature
    **Done when:**                its acceptance criteria
    - [ ] it is tied

Fields may also stand in a list, and their colon behind the asterisks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.errors import InvalidValue
from kedge.model.task import Block, BlockType, Status, Task, unique
from kedge.tasks.words import status_of

_NUMBER = r"[0-9]+[A-Za-z]?(?:\.[0-9]+[A-Za-z]?)*"
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t](?P<text>.*)\Z")
_TASK = re.compile(rf"Task[ \t]+(?P<number>{_NUMBER}):[ \t]*(?P<title>\S.*)\Z")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)\Z")
_FIELD = re.compile(
    r"(?P<lead>[ \t]*(?P<bullet>[-*+][ \t]+)?)\*\*(?P<name>[^*:]+)(?::\*\*|\*\*:)"
    r"[ \t]*(?P<rest>.*)\Z"
)
_ITEM = re.compile(
    r"(?P<lead>[ \t]*)(?:[-*+]|[0-9]+[.)])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?(?P<text>.*)\Z"
)
_STATE = re.compile(r"(?P<word>[^():]+)(?:\((?P<inside>.*?)\))?(?: *:(?P<reason>.*))?\Z")
_NEEDED = re.compile(
    rf"(?:Tasks?[ \t]+|T)?(?P<first>{_NUMBER})"
    rf"(?:[ \t]*(?:-|–|to)[ \t]*(?:Tasks?[ \t]+|T)?(?P<last>{_NUMBER}))?(?!\w)",
    re.IGNORECASE,
)
_CLAIMED = "claimed by "
_CRITERIA = ("done when", "acceptance criteria", "acceptance")
_DEPENDS = ("depends on", "dependencies", "blocked by")
_GENERIC = re.compile(
    r"(?:(?:implementation )?(?:tasks|plan)|spec|specification|prd)(?::|\Z)\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Section:
    """A task's part of the document. Lines count from 1, the last one has text in it."""

    number: str
    title: str
    line: int
    end_line: int
    body: str


@dataclass(frozen=True, slots=True)
class Body:
    """What a task's body says; `status_line` is the line of its status in the document."""

    state: dict[str, Any]
    status_line: int | None
    description: str
    acceptance: tuple[str, ...]
    needs: tuple[str, ...]


def parse_tasks(text: str) -> list[Section]:
    lines = _lines(text)
    heads = [(i, *head) for i, line in _prose(lines) if (head := _heading(line))]
    found = []
    for place, (start, level, heading) in enumerate(heads):
        task = _task_heading(level, heading)
        if not task:
            continue
        stop = len(lines)
        for index in range(place + 1, len(heads)):
            at, other, words = heads[index]
            if other <= level or _task_heading(other, words):
                stop = at
                break
        body = lines[start + 1 : stop]
        while body and not body[-1].strip():
            body.pop()
        end = start + 1 + len(body)
        found.append(Section(task["number"], task["title"], start + 1, end, "\n".join(body)))
    return found


def parse_body(section: Section, feature: str, numbers: Sequence[str], default: Status) -> Body:
    """`numbers` are those of all tasks in the document; `default` holds without a status."""
    lines = section.body.split("\n")
    prose = list(_prose(lines))
    needs: list[str] = []
    status: int | None = None
    state: dict[str, Any] = {"status": default}
    for index, line in prose:
        field = _FIELD.match(line)
        name = field["name"].strip().lower() if field else ""
        if field and name == "status" and status is None:
            status = index
            state = parse_state(field["rest"]) if field["rest"].strip() else state
        elif field and name in _DEPENDS:
            needs += _needed(field["rest"], feature, numbers)
    if status is None and _all_ticked(prose):
        state = {"status": Status.DONE}
    kept = [line for index, line in enumerate(lines) if index != status]
    return Body(
        state,
        None if status is None else section.line + status + 1,
        "\n".join(kept).strip("\n"),
        tuple(_criteria(prose)),
        unique(needs),
    )


def parse_state(words: str) -> dict[str, Any]:
    """The fields of a task that a status tells; InvalidValue for words that nobody knows."""
    found = _STATE.match(words.strip())
    word = re.search(r"\w(?:.*\w)?", found["word"]) if found else None
    status = status_of(word.group()) if word else None
    if not found or status is None:
        raise InvalidValue(f"{words.strip()!r} is not a status")
    state: dict[str, Any] = {"status": status}
    inside, reason = found["inside"] or "", (found["reason"] or "").strip()
    if status is Status.IN_PROGRESS and inside.startswith(_CLAIMED):
        state["assignee"] = inside.removeprefix(_CLAIMED)
    elif status is Status.BLOCKED and inside in set(BlockType):
        state["blocked"] = Block(BlockType(inside), reason)
    elif status is Status.BLOCKED and (inside or reason):
        words = ": ".join(part for part in (inside, reason) if part)
        state["blocked"] = Block(BlockType.EXTERNAL, words)
    elif status in (Status.DONE, Status.FAILED) and reason:
        state["close_reason"] = reason
    return state


def render_state(task: Task) -> str:
    words = task.status.value.replace("_", " ")
    if task.status is Status.IN_PROGRESS and task.assignee:
        return f"{words} ({_CLAIMED}{task.assignee})"
    if task.status is Status.BLOCKED and task.blocked:
        words += f" ({task.blocked.type.value})"
    reason = task.blocked.reason if task.blocked else task.close_reason
    return f"{words}: {reason.strip()}" if reason and reason.strip() else words


def set_state(text: str, heading: int, status_line: int | None, words: str) -> str:
    """The text with the state in place of the old one, or below the heading."""
    parts = text.split("\n")
    if status_line is not None:
        line = parts[status_line - 1]
        field = _FIELD.match(line.removesuffix("\r"))
        start = field.start("rest") if field else len(line)
        rest = line[start:]
        space = "" if line[:start].endswith((" ", "\t")) else " "
        parts[status_line - 1] = line[:start] + space + words + rest[len(rest.rstrip()) :]
    else:
        end = "\r" if parts[heading - 1].endswith("\r") else ""
        if heading == len(parts) and "\r\n" in text:
            parts[heading - 1] += "\r"
        parts.insert(heading, f"**Status:** {words}{end}")
    return "\n".join(parts)


def title_of(text: str) -> str | None:
    """The document's first heading, without the word for the kind of document."""
    for _, line in _prose(_lines(text)):
        head = _heading(line)
        if head and head[0] == 1:
            return _GENERIC.sub("", head[1], count=1) or None
    return None


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def _prose(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines outside of fenced code, with their places."""
    fence = ""
    for index, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence:
            if found and found["fence"].startswith(fence) and not found["info"].strip():
                fence = ""
        elif found:
            fence = found["fence"]
        else:
            yield index, line


def _heading(line: str) -> tuple[int, str] | None:
    found = _HEADING.match(line)
    if not found:
        return None
    text: str = found["text"].strip()
    bare = text.rstrip("#")
    return len(found["marks"]), bare.rstrip() if bare[-1:] in ("", " ", "\t") else text


def _task_heading(level: int, text: str) -> re.Match[str] | None:
    return _TASK.match(text) if 2 <= level <= 4 else None


def _all_ticked(prose: Sequence[tuple[int, str]]) -> bool:
    boxes = [item["box"] for _, line in prose if (item := _ITEM.match(line)) and item["box"]]
    return bool(boxes) and " " not in boxes


def _criteria(prose: Sequence[tuple[int, str]]) -> list[str]:
    """What stands behind the field's name, or in the paragraph or the list below it."""
    found: list[str] = []
    first, depth = -1, -1  # where the field's own entries start; its bullet's column
    after_blank = False
    for _, line in prose:
        field, item = _FIELD.match(line), _ITEM.match(line)
        if field:
            first = len(found) if field["name"].strip().lower() in _CRITERIA else -1
            depth = len(field["lead"]) - len(field["bullet"]) if field["bullet"] else -1
            if first >= 0 and field["rest"].strip():
                found.append(field["rest"].strip())
        elif first >= 0 and line.strip():
            begun = len(found) > first
            if item and len(item["lead"]) > depth:
                found.append(item["text"].strip())
            elif item or _heading(line) or (begun and after_blank and line[0] not in " \t"):
                first = -1
            elif begun:
                found[-1] += " " + line.strip()
            else:
                found.append(line.strip())
        after_blank = not line.strip()
    return [text for text in found if text]


def _needed(text: str, feature: str, numbers: Sequence[str]) -> Iterator[str]:
    for part in re.split(r"[,;&/+]|\band\b", re.sub(r"\([^()]*\)", "", text)):
        found = _NEEDED.match(part.strip())
        if not found:
            continue
        first, last = found["first"], found["last"]
        if last is None:
            yield f"{feature}-{first}"
        elif first in numbers and last in numbers:
            place = numbers.index(first)
            for number in numbers[place : numbers.index(last) + 1]:
                yield f"{feature}-{number}"
        else:
            yield f"{first}-{last}"
