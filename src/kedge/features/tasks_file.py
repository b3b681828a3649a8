"""The format of a feature's `tasks.md`: read tasks from its text, and write a task's state.

    ### Task 1.1: Tie up          a task; what follows up to the next heading is its body
    **Status:** in progress       its state, if it is not open
    **Depends on:** 1.0, Task 2   tasks of the same feature
    **Done when:**                its acceptance criteria
    - [ ] it is tied

`task_forms` has the other forms of a task, and `fields` those of a field. In a list, the state is
an item under the task, and the task's own box is ticked with it. A table row has no state.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.errors import InvalidValue
from kedge.features import fields, markers, task_forms, task_lines
from kedge.features.fields import Field
from kedge.features.layouts import FEATURE_DOCS, Layout
from kedge.features.task_forms import TaskLine
from kedge.features.task_numbers import TaskKey, task_key
from kedge.model.status_words import status_of
from kedge.model.task import Block, BlockType, Status, Task, unique
from kedge.text import markdown
from kedge.text.fences import FenceReader
from kedge.text.markdown import BOXES, ITEM

_STATUS = re.compile(
    r"(?P<lead>[ \t]*(?P<bullet>[-*+][ \t]+)?)\*\*(?P<name>[^*:]+)(?::\*\*|\*\*:)"
    r"[ \t]*(?P<rest>.*)\Z"
)
_STATE = re.compile(r"(?P<word>[^():]+)(?:\((?P<inside>.*?)\))?(?: *:(?P<reason>.*))?\Z")
_NUMBER = r"[0-9]+[A-Za-z]?(?:\.[0-9]+[A-Za-z]?)*(?:\.[a-z][a-z0-9-]{1,19})?"
_NEEDED = re.compile(
    rf"(?:Tasks?[ \t]+|T-?)?(?P<first>{_NUMBER})"
    rf"(?:[ \t]*(?:-|–|to)[ \t]*(?:Tasks?[ \t]+|T)?(?P<last>{_NUMBER}))?(?!\w)",
    re.IGNORECASE,
)
_BOX = re.compile(r"\[[ xX~-]\]")
_MARKED = re.compile(r"[ \t]*[-*+][ \t]+\[(?P<mark>.)\](?P<star>\*?)")
_IDS_ONLY = re.compile(r"(?:[A-Z]{1,4}-?[0-9][\w.]*|[\s,;/&–-]|and)+\Z")
_CLAIMED = "claimed by "
_GENERIC = re.compile(
    r"(?:(?:implementation )?(?:tasks|plan)|(?:feature )?spec(?:ification)?|prd"
    r"|(?:requirements|tasks)(?: document)?|bugfix requirements(?: document)?"
    r"|(?:project|product requirements?)(?: prd)?)(?:\s*[:—–]|\s+-\s|\Z)\s*",
    re.IGNORECASE,
)


Numbers = Mapping[tuple[str, ...], str]
Prose = Sequence[tuple[int, str]]  # lines with their indexes


@dataclass(frozen=True, slots=True)
class TaskSection:
    """A task's part of the document, from `line` to `end_line`, counted from 1.

    `head_end` is the last line of its heading; `done` is what a box or a sign there says.
    """

    number: str
    title: str
    line: int
    end_line: int
    body: str
    kind: str = task_forms.HEADING
    head_end: int = 0
    done: bool | None = None
    has_box: bool = False
    cells: tuple[tuple[str, str], ...] = ()
    mark: str = ""  # what the box holds
    is_optional: bool = False
    is_parallel: bool = False
    story: str = ""  # the number of its user story
    group: str = ""  # the number of the task that it is a subtask of
    is_group: bool = False  # it has subtasks
    needs: tuple[str, ...] = ()  # numbers in its line, and in sentences about it


@dataclass(frozen=True, slots=True)
class TaskBody:
    """The contents of a task's body; `status_line` is the line of its status in the document."""

    state: dict[str, Any]
    status_line: int | None
    description: str
    acceptance: tuple[str, ...]
    needs: tuple[str, ...]


def parse_tasks(text: str, layout: Layout = FEATURE_DOCS) -> list[TaskSection]:
    """Return the tasks of a document, in its order."""
    document = markdown.read(text)
    found = task_lines.find_tasks(document, boxed=layout.is_foreign, groups=layout.has_groups)
    groups = _find_groups(document, found) if layout.has_groups else {}
    needs = _find_needs(document, found)
    sections = []
    for c, last in task_lines.find_ends(document, found):
        box = _MARKED.match(document.lines[c.line - 1].removeprefix("\ufeff"))
        title = markers.read_title(c.title)
        sections.append(
            TaskSection(
                c.number,
                title.title,
                c.line,
                last,
                "\n".join(document.lines[c.end : last]),
                c.kind,
                c.end,
                c.done,
                c.has_box or bool(layout.progress and box and box["mark"] in "-~"),
                c.cells,
                box["mark"] if box else "",
                bool(box and box["star"]),
                title.is_parallel,
                title.story,
                groups.get(c.key, ""),
                c.number in groups.values(),
                tuple(needs.get(c.key, ())),
            )
        )
    return sections


def _find_groups(document: markdown.Document, found: Sequence[TaskLine]) -> dict[TaskKey, str]:
    """Return the number of the group of each subtask.

    A task is a group if its subtasks are indented more, or if it has no text of its own.
    """
    tasks = {c.key: c for c in found}
    groups: dict[TaskKey, str] = {}
    for c in found:
        shorter = (c.key[:length] for length in range(len(c.key) - 1, 0, -1))
        above = next((tasks[key] for key in shorter if key in tasks), None)
        if above and (c.depth > above.depth or above.number in groups.values()):
            groups[c.key] = above.number
        elif above:
            stop = next(one.line for one in found if one.line > above.line)
            if not any(line.strip() for line in document.lines[above.end : stop - 1]):
                groups[c.key] = above.number
    return groups


def _find_needs(document: markdown.Document, found: Sequence[TaskLine]) -> dict[TaskKey, list[str]]:
    """Return the numbers that the line of a task, or a sentence elsewhere, says it waits for."""
    numbers = {c.key: c.number for c in found}
    needs: dict[TaskKey, list[str]] = {}

    def add(task: TaskKey, ranges: Iterable[tuple[str, str]]) -> None:
        keys = markers.expand(ranges, numbers)
        needs.setdefault(task, []).extend(
            numbers.get(key, f"T{'.'.join(key)}") for key in keys if key != task
        )

    for c in found:
        add(c.key, markers.find_needs(c.title))
    for tasks, ranges in markers.find_stated_needs(line for line in document.prose if line):
        for key in markers.expand(tasks, numbers):
            if key in numbers:
                add(key, ranges)
    return needs


def index_numbers(sections: Sequence[TaskSection]) -> Numbers:
    return {task_key(section.number): section.number for section in sections}


def parse_fields(section: TaskSection, prose: Prose | None = None) -> list[Field]:
    """Return the fields of a task: those of its body, or the cells of its row."""
    if section.cells:
        return [
            Field(fields.normalize_name(name), (value,), 0)
            for name, value in section.cells[1:]
            if value
        ]
    prose = _prose(section.body) if prose is None else prose
    return fields.read_fields(prose, _read_code(section.body, prose))


def parse_body(
    section: TaskSection,
    feature: str,
    known: Numbers,
    default: Status,
    layout: Layout = FEATURE_DOCS,
) -> TaskBody:
    """Read a task's body.

    `known` has the numbers of all tasks; `default` is the status of a task without one.
    """
    lines = section.body.split("\n")
    prose = _prose(section.body)
    needs = [f"{feature}-{number}" for number in section.needs]
    status_index: int | None = None
    state: dict[str, Any] = {"status": default}
    for index, line in prose:
        field = _STATUS.match(line)
        if field and field["name"].strip().lower() == "status" and status_index is None:
            status_index = index
            state = parse_state(field["rest"]) if field["rest"].strip() else state
    every = parse_fields(section, prose)
    for field_ in every:
        if field_.name in fields.DEPENDS:
            needs += _parse_needs(" ; ".join(field_.entries), feature, known)
        elif section.cells and field_.name in fields.STATUS and field_.entries:
            state = parse_state(field_.entries[0])
    is_ticked = section.done or _is_all_ticked(section, prose)
    if status_index is None and not section.cells and is_ticked:
        state = {"status": Status.DONE}
    elif status_index is None and layout.progress and section.mark == layout.progress:
        state = {"status": Status.IN_PROGRESS}
    description = [line for index, line in enumerate(lines) if index != status_index]
    return TaskBody(
        state,
        None if status_index is None else section.head_end + status_index + 1,
        textwrap.dedent("\n".join(description)).strip("\n"),
        find_criteria(every, prose),
        unique(needs),
    )


def parse_state(words: str) -> dict[str, Any]:
    """Return the fields of a task that a status sets; InvalidValue if it is not a known status."""
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
    """Return the status of a task as the document has it."""
    words = task.status.value.replace("_", " ")
    if task.status is Status.IN_PROGRESS and task.assignee:
        return f"{words} ({_CLAIMED}{task.assignee})"
    if task.status is Status.BLOCKED and task.blocked:
        words += f" ({task.blocked.type.value})"
    reason = task.blocked.reason if task.blocked else task.close_reason
    return f"{words}: {reason.strip()}" if reason and reason.strip() else words


def set_state(
    text: str,
    section: TaskSection,
    status_line: int | None,
    before: Task,
    after: Task,
    layout: Layout = FEATURE_DOCS,
) -> str:
    """Return the text with the state in place of the old one, or under the task's heading.

    What the box alone says needs no line. In the documents of another tool, a line that kedge
    wrote goes with the state that it said.
    """
    parts = text.split("\n")
    words = render_state(after)
    if section.has_box:
        marks = {Status.DONE: "x", Status.IN_PROGRESS: layout.progress}
        line = parts[section.line - 1]
        mark = marks.get(after.status) or " "
        if mark.lower() != section.mark.lower():
            parts[section.line - 1] = _BOX.sub(f"[{mark}]", line, count=1)
        said = {Status.OPEN, Status.DONE, *([Status.IN_PROGRESS] if layout.progress else ())}
        is_said = after.status in said and words == after.status.value.replace("_", " ")
        was_said = before.status in said and before.assignee is before.close_reason is None
        if status_line is None and is_said:
            return "\n".join(parts)
        written = f"{_find_indent(section, parts)}**Status:** {render_state(before)}"
        is_own = status_line and parts[status_line - 1].rstrip("\r") == written
        if status_line and is_said and is_own and not was_said and layout.is_foreign:
            del parts[status_line - 1]
            if status_line > len(parts):  # the last line had no end before, and has none again
                parts[-1] = parts[-1].removesuffix("\r")
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
        parts.insert(above, f"{_find_indent(section, parts)}**Status:** {words}{end}")
    return "\n".join(parts)


def _find_indent(section: TaskSection, parts: Sequence[str]) -> str:
    item = ITEM.match(parts[section.line - 1].removesuffix("\r").removeprefix("\ufeff"))
    if section.kind in (task_forms.HEADING, task_forms.BOLD) or not item:
        return ""
    return item["lead"] + " " * (len(item["bullet"]) + 1) + "- "


def find_title(text: str) -> str | None:
    """Return the document's first heading, without the kind of document ("PRD: …")."""
    for heading in markdown.read(text).headings:
        if heading.level == 1:
            return _GENERIC.sub("", heading.text, count=1) or None
    return None


def find_criteria(every: Sequence[Field], prose: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Return the task's acceptance criteria: those of its fields, or else its boxes."""
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
    """Return the lines of a body that are prose, with their indexes."""
    lines = markdown.read(body, part=True).prose
    return [(index, line) for index, line in enumerate(lines) if line is not None]


def _read_code(body: str, prose: Prose) -> dict[int, str]:
    """Return the lines inside fences, without the fences themselves, by their indexes."""
    if "```" not in body and "~~~" not in body:
        return {}
    known, fences, code = {index for index, _ in prose}, FenceReader(), {}
    for index, line in enumerate(markdown.split_lines(body)):
        was_open = fences.fence is not None
        if fences.read(line) and was_open and fences.fence is not None and index not in known:
            code[index] = line
    return code


def _is_all_ticked(section: TaskSection, prose: Sequence[tuple[int, str]]) -> bool:
    if section.has_box:
        return False
    items = (ITEM.match(line) for _, line in prose)
    boxes = [BOXES[item["box"]] for item in items if item and item["box"] in BOXES]
    return bool(boxes) and all(boxes)


def _parse_needs(text: str, feature: str, known: Numbers) -> Iterator[str]:
    """Yield the ids of the tasks that a list of numbers and ranges names."""
    for part in re.split(r"[,;&/+]|\band\b", re.sub(r"\([^()]*\)", "", text)):
        found = _NEEDED.match(part.strip())
        if not found:
            continue
        first = known.get(task_key(found["first"]), found["first"])
        last = found["last"] and known.get(task_key(found["last"]), found["last"])
        if last is None:
            yield f"{feature}-{first}"
        elif task_key(first) in known and task_key(last) in known:
            numbers = list(known.values())
            place = numbers.index(first)
            for number in numbers[place : numbers.index(last) + 1]:
                yield f"{feature}-{number}"
        else:
            yield f"{found['first']}-{found['last']}"
