"""Lines that may be tasks: headings, checkboxes, bold lines, list items and table rows.

Each starts with the number of a task. `task_lines` decides which of them are tasks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kedge.features.task_numbers import TaskKey, task_key
from kedge.text import tables
from kedge.text.markdown import BOXES, ITEM, Document, indent_width

HEADING, BOLD, BOX, LIST_ITEM, ORDERED, TABLE = "heading", "bold", "box", "item", "ordered", "table"
LISTED = (BOX, LIST_ITEM, ORDERED)
KINDS = (HEADING, BOLD, BOX, TABLE, LIST_ITEM, ORDERED)

_PART = r"[0-9]{1,6}(?:[A-Za-z][0-9]{0,2})?(?![0-9A-Za-z])"
# A last part may be a word: `1a.docs`, and `1.docs` before a sign.
_NAMED = (
    r"(?:(?<=[0-9][A-Za-z])\.[a-z][a-z0-9-]{1,19}(?![\w.])"
    r"|\.[a-z][a-z0-9-]{1,19}(?=[*_`]{0,2}[ \t]?[:)\]—–]))?"
)
_NUMBER = rf"{_PART}(?:\.{_PART}){{0,5}}+{_NAMED}"
_END = r"(?![\w%])(?!-[0-9])(?!:[0-9])"
_TASK = re.compile(
    r"(?:sub-?)?task[ \t]*[-_#:.№]{0,2}[ \t]*"
    rf"(?P<number>(?:[A-Z]{{1,3}}[-.]?)?{_NUMBER}(?:-{_PART})?"
    r"|[A-Z](?=[:.)\]*_ \t—–-]|\Z))"
    rf"{_END}",
    re.IGNORECASE,
)
_SHORT = re.compile(rf"(?P<number>T(?:-{_NUMBER}-{_PART}|[-_]?(?:[A-Z][-.]?)?{_NUMBER})){_END}")
_CODED = re.compile(
    rf"(?P<number>(?P<prefix>[A-Z]{{1,5}})(?:-{_NUMBER}-{_PART}|[-.]?{_NUMBER})){_END}"
)
_WORD = re.compile(
    r"(?P<word>step|(?:plan|work|action)[ -]item|item|story|ticket|issue|action|to-?do|deliverable)"
    rf"[ \t]*#?[ \t]*(?P<number>{_NUMBER}){_END}",
    re.IGNORECASE,
)
_BARE = re.compile(rf"#?(?P<number>{_NUMBER}){_END}")
_RANGE = re.compile(
    r"(?:[-–—]|[ \t]+(?:[-–—]|to|and|&|\+|through)[ \t]+|,[ \t]*)(?:tasks?[ \t]*|T-?)?"
    r"[0-9]+(?:\.[0-9]+)*(?:[ \t]*[:)\]]|[ \t]*\Z)",
    re.IGNORECASE,
)
_FAMILIES = {"task": _TASK, "t": _SHORT, "word": _WORD, "coded": _CODED, "bare": _BARE}
_AFTER = re.compile(r"[\])]?(?P<marks>[*_`~]{0,3})[ \t]*(?P<sign>[:.)\]|·—–-]*)")
_BOX = re.compile(r"\[(.)\](?=[ \t*_])")


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A line that may be a task; `depth` is a heading's level or a list item's indentation.

    `family` is the way in which the number is written: `task`, `t`, `bare`, `coded AB`, …
    """

    kind: str
    family: str
    number: str
    title: str
    done: bool | None = None
    has_box: bool = False
    line: int = 0
    end: int = 0
    depth: int = 0
    cells: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> TaskKey:
        return task_key(self.number)

    @property
    def strong(self) -> bool:
        """True if the line says that it is a task."""
        return self.family in ("task", "t")


def find_candidates(document: Document) -> Iterator[TaskLine]:
    """Yield the lines of a document that may be tasks; table rows come last."""
    headings = {heading.line: heading for heading in document.headings}
    before = ""
    for index, line in enumerate(document.prose):
        heading = headings.get(index + 1)
        if heading:
            found = _parse_lead(heading.text, HEADING)
            if found:
                yield replace(found, line=heading.line, end=heading.end, depth=heading.level)
        elif line:
            found = _parse_line(line, blank_before=not before.strip() or index in headings)
            if found:
                yield replace(found, line=index + 1, end=index + 1)
        before = line or ""
    for row in tables.read_rows(document):
        cells = tables.put_number_first(row.cells)
        found = _parse_lead(cells[0][1], TABLE)
        if found:
            title = found.title or tables.find_title(cells)
            yield replace(found, line=row.line, end=row.line, title=title, cells=cells)


def _parse_line(line: str, *, blank_before: bool) -> TaskLine | None:
    item = ITEM.match(line)
    if not item:
        text = line.lstrip()
        bold = text.startswith(("**", "__")) and len(line) - len(text) < 4
        return _parse_lead(text, BOLD) if bold and blank_before else None
    depth = indent_width(item["lead"])
    box = item["box"]
    if box is not None and box not in BOXES:
        return None
    text = item["text"]
    found = _parse_lead(text, LIST_ITEM if box is None else BOX)
    if found is None and item["bullet"][0].isdigit():
        number = item["bullet"].rstrip(".)")
        found = TaskLine(ORDERED, "ordered", number, _clean(text))
    if found is None:
        return None
    done = found.done if box is None else BOXES[box]
    return replace(found, depth=depth, done=done, has_box=found.has_box or box in (" ", "x", "X"))


def _parse_lead(text: str, kind: str) -> TaskLine | None:
    """Return the task that a text starts with, or None."""
    bare, done, has_box, marks = _strip_decoration(text)
    opened = bare[:1] in "[(" and len(bare) > 1
    inner = bare[1:].lstrip() if opened else bare
    matches = ((family, pattern.match(inner)) for family, pattern in _FAMILIES.items())
    family, found = next((pair for pair in matches if pair[1]), ("", None))
    if found is None:
        return None
    number, rest = found["number"], inner[found.end() :]
    is_struck_out = "~" in marks and not has_box and kind != BOX
    is_unclosed = opened and not rest.startswith(("]", ")"))
    is_word = family == "task" and number.isalpha() and number.islower()
    is_range = family in ("task", "t", "bare") and _RANGE.match(rest)  # Tasks 1-3
    if is_struck_out or is_unclosed or is_word or is_range:
        return None
    after = _AFTER.match(rest)
    is_marked = opened or "." in number or bool(after and after["marks"])
    sign, title = (after["sign"], rest[after.end() :]) if after else ("", rest)
    has_sign = sign if kind == BOLD else sign[:1] in (".", ")", ":")
    if family == "bare" and kind in (BOX, LIST_ITEM, BOLD) and not (is_marked or has_sign):
        return None  # "3 files are gone"
    title = _parse_title(title, marks)
    if family in ("coded", "word"):
        family += " " + (found["prefix"] if family == "coded" else found["word"].lower())
    if family == "task" and found[0][-len(number) - 1] in "-_" and " " not in found[0]:
        number = found[0]  # TASK-007 is the name of the task
    if kind == TABLE:
        return TaskLine(kind, family, number, title, done)
    return TaskLine(kind, family, number, title or _clean(text), done, has_box)


def _strip_decoration(text: str) -> tuple[str, bool | None, bool, str]:
    """Return the text from its first word on, and what comes before it.

    That is: whether a box or a sign says done, whether there is a box, and the markup.
    """
    done: bool | None = None
    has_box = False
    marks = ""
    place = 0
    while place < len(text):
        char = text[place]
        box = _BOX.match(text, place)
        if box and box[1] in BOXES:
            done, has_box, place = BOXES[box[1]], box[1] in " xX", box.end()
        elif char in "*_~`":
            marks += char
            place += 1
        elif char.isspace():
            place += 1
        elif unicodedata.category(char) in ("So", "Sm", "Sk", "Mn", "Cf", "Co") and char != "|":
            done = True if char in "✅✔☑" else done
            place += 1
        else:
            break
    return text[place:], done, has_box, marks


def _parse_title(rest: str, marks: str) -> str:
    """Return what follows the number; only the bold part, if an explanation follows that."""
    text = rest.strip()
    for mark in ("**", "__", "~~"):
        closing = mark in marks and mark in text
        if closing and text.count(mark) == 1:
            head, _, tail = text.partition(mark)
            spoken = tail.strip(" \t")
            if head.strip() and (not spoken or spoken[0] in "—–-:.("):
                return _clean(head if not spoken or spoken[0] != "(" else f"{head} {spoken}")
            return _clean(f"{head} {tail}")
    return _clean(text)


def _clean(text: str) -> str:
    text = " ".join(text.split())
    for mark in ("**", "__", "~~"):
        if text.count(mark) == 1:
            text = text.replace(mark, "")
        elif text.startswith(mark) and text.endswith(mark) and text.count(mark) == 2:
            text = text[2:-2]
    text = text.strip(" \t")
    return text.lstrip(":—–- \t").strip()
