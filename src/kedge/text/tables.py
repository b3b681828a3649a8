"""Rows of Markdown tables, each cell with the title of its column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kedge.text.markdown import Document

Cells = tuple[tuple[str, str], ...]
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
_TITLES = re.compile(
    r"(?:task|title|name|description|what|summary|work|item|goal)\b", re.IGNORECASE
)

_NUMBERS = re.compile(r"(?:task )?(?:id|#|no\.?|nr\.?|number)|task", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """A row; `head` is the line of the table's first row, which has the titles."""

    line: int
    head: int
    cells: Cells


def read_rows(document: Document) -> Iterator[Row]:
    """Yield the rows of all tables, without their heads."""
    head: list[str] = []
    start = 0
    prose = document.prose
    for index, line in enumerate(prose):
        if not line or "|" not in line:
            head = []
        elif head and index == start:
            continue  # the rule under the head
        elif head:
            cells = _split_cells(line)
            names = [*head, *[""] * (len(cells) - len(head))]
            if any(cells):
                yield Row(index + 1, start, tuple(zip(names, cells, strict=False)))
        elif index + 1 < len(prose) and (under := prose[index + 1]) and _is_rule(under):
            head, start = _split_cells(line), index + 1


def _is_rule(line: str) -> bool:
    return "-" in line and "|" in line and bool(_RULE.match(line))


def _split_cells(line: str) -> list[str]:
    text = line.strip().replace("\\|", "\0")
    text = text.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\0", "|") for cell in text.split("|")]


def put_number_first(cells: Cells) -> Cells:
    """Return the cells with the one first whose column is titled as a number or an id."""
    for place, (name, _) in enumerate(cells):
        if (
            place
            and _NUMBERS.fullmatch(name.strip("*_ "))
            and not _NUMBERS.fullmatch(cells[0][0].strip("*_ "))
        ):
            return (cells[place], *cells[:place], *cells[place + 1 :])
    return cells


def find_title(cells: Sequence[tuple[str, str]]) -> str:
    """Return the cell whose column is titled as a name or a description, else the second one."""
    rest = [pair for pair in cells[1:] if pair[1]]
    for name, value in rest:
        if _TITLES.match(name.strip("*_ ")):
            return value
    return rest[0][1] if rest else ""
