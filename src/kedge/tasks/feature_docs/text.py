"""What a feature's `tasks.md` says about its tasks, as functions of its text.

    ### Task 1.1: Tie up          a task; what follows up to the next heading is its body
    **Status:** in progress       its state, if it is not open
    **Depends on:** 1.0, Task 2   tasks of the same feature
    **Done when:**                its acceptance criteria
    - [ ] it is tied

`forms` knows the other forms of a task, `fields` those of a field. In a list, the state is an item
below the task, and the task's own box is ticked with it. A row of a table holds no state.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import InvalidValue
from kedge.model.task import Block, BlockType, Status, Task, unique
from kedge.tasks.feature_docs import choice, fields, forms, markdown
from kedge.tasks.feature_docs.fields import Field
from kedge.tasks.feature_docs.markdown import BOXES, ITEM
from kedge.tasks.words import status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STATUS = re.compile(
    r"(?P<lead>[ \t]*(?P<bullet>[-*+][ \t]+)?)\*\*(?P<name>[^*:]+)(?::\*\*|\*\*:)"
    r"[ \t]*(?P<rest>.*)\Z"
)
_STATE = re.compile(r"(?P<word>[^():]+)(?:\((?P<inside>.*?)\))?(?: *:(?P<reason>.*))?\Z")
_NUMBER = r"[0-9]+[A-Za-z]?(?:\.[0-9]+[A-Za-z]?)*"
_NEEDED = re.compile(
    rf"(?:Tasks?[ \t]+|T-?)?(?P<first>{_NUMBER})"
    rf"(?:[ \t]*(?:-|–|to)[ \t]*(?:Tasks?[ \t]+|T)?(?P<last>{_NUMBER}))?(?!\w)",
    re.IGNORECASE,
)
_BOX = re.compile(r"\[[ xX]\]")
_IDS_ONLY = re.compile(r"(?:[A-Z]{1,4}-?[0-9][\w.]*|[\s,;/&–-]|and)+\Z")
_CLAIMED = "claimed by "
_GENERIC = re.compile(
    r"(?:(?:implementation )?(?:tasks|plan)|spec|specification|prd)(?::|\Z)\s*", re.IGNORECASE
)


Numbers = Mapping[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Section:
    """A task's part of the document. Lines count from 1, the last one has text in it.

    `head_end` is the last line of its heading; `done` is what a box or a sign there says.
    """

    number: str
    title: str
    line: int
    end_line: int
    body: str
    kind: str = forms.HEADING
    head_end: int = 0
    done: bool | None = None
    has_box: bool = False
    cells: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """What a task's body says; `status_line` is the line of its status in the document."""

    state: dict[str, Any]
    status_line: int | None
    description: str
    acceptance: tuple[str, ...]
    needs: tuple[str, ...]


def parse_tasks(text: str) -> list[Section]:
    document = markdown.read(text)
    found = choice.find(document)
    return [
        Section(
            c.number,
            c.title,
            c.line,
            last,
            "\n".join(document.lines[c.end : last]),
            c.kind,
            c.end,
            c.done,
            c.has_box,
            c.cells,
        )
        for c, last in choice.ends(document, found)
    ]


def numbers_of(sections: Sequence[Section]) -> Numbers:
    return {forms.key(section.number): section.number for section in sections}


def parse_fields(section: Section) -> list[Field]:
    """The fields of a task: in its body, in the cells of its row, in a table of its own."""
    if section.cells:
        return [
            Field(fields.normal(name), (value,), 0) for name, value in section.cells[1:] if value
        ]
    return fields.read(_prose(section.body))


def parse_body(section: Section, feature: str, known: Numbers, default: Status) -> Body:
    """`known` are the numbers of all tasks in the document; `default` holds without a status."""
    lines = section.body.split("\n")
    prose = _prose(section.body)
    needs: list[str] = []
    told: int | None = None
    state: dict[str, Any] = {"status": default}
    for index, line in prose:
        field = _STATUS.match(line)
        if field and field["name"].strip().lower() == "status" and told is None:
            told = index
            state = parse_state(field["rest"]) if field["rest"].strip() else state
    every = parse_fields(section)
    for field_ in every:
        if field_.name in fields.DEPENDS:
            needs += _needed(" ; ".join(field_.entries), feature, known)
        elif section.cells and field_.name in fields.STATUS and field_.entries:
            state = parse_state(field_.entries[0])
    if told is None and not section.cells and (section.done or _all_ticked(section, prose)):
        state = {"status": Status.DONE}
    kept = [line for index, line in enumerate(lines) if index != told]
    return Body(
        state,
        None if told is None else section.head_end + told + 1,
        textwrap.dedent("\n".join(kept)).strip("\n"),
        criteria(every, prose),
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


def set_state(text: str, section: Section, status_line: int | None, words: str) -> str:
    """The text with the state in place of the old one, or below the task's heading."""
    parts = text.split("\n")
    if section.has_box:
        tick = "[x]" if status_of(re.split(r"[(:]", words)[0]) is Status.DONE else "[ ]"
        line = parts[section.line - 1]
        parts[section.line - 1] = _BOX.sub(tick, line, count=1)
        if status_line is None and words in (Status.OPEN.value, Status.DONE.value):
            return "\n".join(parts)
    if status_line is not None:
        line = parts[status_line - 1]
        field = _STATUS.match(line.removesuffix("\r"))
        start = field.start("rest") if field else len(line)
        rest = line[start:]
        space = "" if line[:start].endswith((" ", "\t")) else " "
        parts[status_line - 1] = line[:start] + space + words + rest[len(rest.rstrip()) :]
    else:
        above = section.head_end
        end = "\r" if parts[above - 1].endswith("\r") else ""
        if above == len(parts) and "\r\n" in text:
            parts[above - 1] += "\r"
        parts.insert(above, f"{_indent(section, parts)}**Status:** {words}{end}")
    return "\n".join(parts)


def _indent(section: Section, parts: Sequence[str]) -> str:
    item = ITEM.match(parts[section.line - 1].removesuffix("\r").removeprefix("\ufeff"))
    if section.kind in (forms.HEADING, forms.BOLD) or not item:
        return ""
    return item["lead"] + " " * (len(item["bullet"]) + 1) + "- "


def title_of(text: str) -> str | None:
    """The document's first heading, without the word for the kind of document."""
    for heading in markdown.read(text).headings:
        if heading.level == 1:
            return _GENERIC.sub("", heading.text, count=1) or None
    return None


def criteria(every: Sequence[Field], prose: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """When the task is done: what its fields say, or else the boxes in it."""
    found = [
        entry
        for field in every
        if field.name in fields.DONE
        for entry in field.entries
        if field.name != "ac" or not _IDS_ONLY.match(entry)
    ]
    if found:
        return tuple(found)
    items = (ITEM.match(line) for _, line in prose)
    return tuple(item["text"].strip() for item in items if item and item["box"] in BOXES)


def _prose(body: str) -> list[tuple[int, str]]:
    """The lines of a body that are text, with their places."""
    lines = markdown.read(body, part=True).prose
    return [(index, line) for index, line in enumerate(lines) if line is not None]


def _all_ticked(section: Section, prose: Sequence[tuple[int, str]]) -> bool:
    if section.has_box:
        return False
    items = (ITEM.match(line) for _, line in prose)
    boxes = [BOXES[item["box"]] for item in items if item and item["box"] in BOXES]
    return bool(boxes) and all(boxes)


def _needed(text: str, feature: str, known: Numbers) -> Iterator[str]:
    for part in re.split(r"[,;&/+]|\band\b", re.sub(r"\([^()]*\)", "", text)):
        found = _NEEDED.match(part.strip())
        if not found:
            continue
        first = known.get(forms.key(found["first"]), found["first"])
        last = found["last"] and known.get(forms.key(found["last"]), found["last"])
        if last is None:
            yield f"{feature}-{first}"
        elif forms.key(first) in known and forms.key(last) in known:
            numbers = list(known.values())
            place = numbers.index(first)
            for number in numbers[place : numbers.index(last) + 1]:
                yield f"{feature}-{number}"
        else:
            yield f"{found['first']}-{found['last']}"
