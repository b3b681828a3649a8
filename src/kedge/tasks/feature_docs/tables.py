"""The rows of Markdown tables, each cell with the head of its column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs.markdown import Document

Cells = tuple[tuple[str, str], ...]
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
_TITLES = re.compile(
    r"(?:task|title|name|description|what|summary|work|item|goal)\b", re.IGNORECASE
)

_NUMBERS = re.compile(r"(?:task )?(?:id|#|no\.?|nr\.?|number)|task", re.IGNORECASE)


class Row(NamedTuple):
    line: int
    head: int
    cells: Cells


def rows(document: Document) -> Iterator[Row]:
    """`head` is the line of the table's head."""
    head: list[str] = []
    start = 0
    prose = document.prose
    for index, line in enumerate(prose):
        if not line or "|" not in line:
            head = []
        elif head and index == start:
            continue  # the rule below the head
        elif head:
            cells = split(line)
            names = [*head, *[""] * (len(cells) - len(head))]
            if any(cells):
                yield Row(index + 1, start, tuple(zip(names, cells, strict=False)))
        elif index + 1 < len(prose) and (under := prose[index + 1]) and _is_rule(under):
            head, start = split(line), index + 1


def _is_rule(line: str) -> bool:
    return "-" in line and "|" in line and bool(_RULE.match(line))


def split(line: str) -> list[str]:
    text = line.strip().replace("\\|", "\0")
    text = text.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\0", "|") for cell in text.split("|")]


def by_number(cells: Cells) -> Cells:
    """The cells with that of the number first, where the head of another column says so."""
    for place, (name, _) in enumerate(cells):
        if (
            place
            and _NUMBERS.fullmatch(name.strip("*_ "))
            and not _NUMBERS.fullmatch(cells[0][0].strip("*_ "))
        ):
            return (cells[place], *cells[:place], *cells[place + 1 :])
    return cells


def title(cells: Sequence[tuple[str, str]]) -> str:
    """What the row is about, by the head of the column, or else by its place."""
    rest = [pair for pair in cells[1:] if pair[1]]
    for name, value in rest:
        if _TITLES.match(name.strip("*_ ")):
            return value
    return rest[0][1] if rest else ""
