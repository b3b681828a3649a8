"""What the line of a task says in the manner of spec-kit: `[P] [US1] Title (depends on T005)`.

Its file paths need no backticks: `Add the model in src/models/user.py`. A sentence elsewhere, such
as `T006 depends on T002`, adds to the dependencies of the task that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kedge.features.task_numbers import TaskKey, task_key

_MARK = re.compile(
    r"[*`]{0,2}\[(?P<mark>P|US ?-?[0-9]{1,3}|Story ?[0-9]{1,3})\][*`]{0,2}[ \t]*", re.IGNORECASE
)
_TASK = r"T-?[0-9]{1,5}[A-Za-z]?(?!\w)"
_RANGE = rf"{_TASK}(?:[ \t]*(?:-|–|to|through)[ \t]*{_TASK})?"
_LIST = rf"{_RANGE}(?:(?:[ \t]*[,;&/+][ \t]*|[ \t]+)(?:and[ \t]+|&[ \t]*)?{_RANGE})*"
_NEEDS = re.compile(
    rf"\b(?:depends? on|dependen(?:cy|cies|t on):?|blocked by|requires|needs|after)[ \t]*:?[ \t]+"
    rf"(?:tasks?[ \t]+)?(?P<list>{_LIST})",
    re.IGNORECASE,
)
_STATED = re.compile(
    rf"(?<![\w-])(?P<tasks>{_LIST})(?:[ \t]*\([^()\n]{{0,80}}\))?[ \t]+depends?[ \t]+on[ \t]+"
    rf"(?P<list>{_LIST})(?P<pairs>[ \t]+respectively)?",
    re.IGNORECASE,
)
_ONE = re.compile(
    rf"(?P<first>{_TASK})(?:[ \t]*(?:-|–|to|through)[ \t]*(?P<last>{_TASK}))?", re.IGNORECASE
)
_LONGEST = 1000  # characters of a line that are looked at
_SUFFIXES = (
    "bash|c|cc|cfg|cjs|conf|cpp|cs|css|csproj|csv|dart|ex|exs|gd|go|gradle|graphql|h|hpp|hs|html|"
    "ini|ipynb|java|js|json|jsx|kt|kts|lock|lua|md|mjs|php|plist|prisma|proto|ps1|py|pyi|rb|rs|scala|"
    "scss|sh|sln|sql|svelte|swift|tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zig"
)
_PATH = re.compile(
    r"(?<![\w`/.@:~<+-])(?P<path>\.?[\w@+][\w@.+\[\]()*-]*/(?:\.?[\w@+\[(][\w@.+\[\]()*-]*/)*"
    r"(?:[\w@.+\[\]*-]+\.\w{1,8})?"
    rf"|\.?[\w+-][\w.+-]*\.(?:{_SUFFIXES}))(?![\w/`])"
)
_PRODUCT = re.compile(r"[A-Z][A-Za-z]*\.js\Z")  # Node.js is no file


@dataclass(frozen=True, slots=True)
class MarkedTitle:
    """A title without its markers; `story` is the number of its user story, or empty."""

    title: str
    is_parallel: bool
    story: str


def read_title(title: str) -> MarkedTitle:
    """Take the markers off the start of a title."""
    place, marks = 0, list[str]()
    while found := _MARK.match(title, place):
        marks.append(found["mark"].upper())
        place = found.end()
    story = next((re.sub(r"\D+", "", mark) for mark in marks if mark != "P"), "")
    return MarkedTitle(title[place:].strip() or title, "P" in marks, story.lstrip("0"))


def find_needs(line: str) -> Iterator[tuple[str, str]]:
    """Yield the first and the last number of each task, or range, that a line waits for."""
    for found in _NEEDS.finditer(line[:_LONGEST]):
        yield from _split(found["list"])


def find_stated_needs(lines: Iterable[str]) -> Iterator[tuple[list[tuple[str, str]], ...]]:
    """Yield the tasks, and those that they wait for, of each sentence that says so."""
    for line in lines:
        if "depend" not in line:
            continue
        for found in _STATED.finditer(line[:_LONGEST]):
            tasks, needs = _split(found["tasks"]), _split(found["list"])
            if found["pairs"] and len(tasks) == len(needs):
                yield from (([one], [other]) for one, other in zip(tasks, needs, strict=True))
            else:
                yield tasks, needs


def find_paths(text: str) -> Iterator[str]:
    """Yield the file paths in a line of text that are written without backticks."""
    for found in _PATH.finditer(text[:_LONGEST]):
        path = found["path"].rstrip(".")
        if not _PRODUCT.match(path) and re.search(r"[a-zA-Z]{2}", path):
            yield path


def expand(ranges: Iterable[tuple[str, str]], known: Iterable[TaskKey]) -> list[TaskKey]:
    """Return the keys of single tasks and of ranges, which follow the order of the document."""
    order = list(known)
    keys: list[TaskKey] = []
    for first, last in ranges:
        one, two = task_key(first), task_key(last)
        if one != two and one in order and two in order:
            keys += order[order.index(one) : order.index(two) + 1]
        else:
            keys.append(one)
    return keys


def _split(text: str) -> list[tuple[str, str]]:
    return [(one["first"], one["last"] or one["first"]) for one in _ONE.finditer(text)]
