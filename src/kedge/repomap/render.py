"""The map as text: what matters most first, and never more tokens than the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kedge.host import tokens
from kedge.repomap.head import render_head
from kedge.repomap.project.structure import Structure
from kedge.repomap.symbol import Symbol
from kedge.repomap.tree import Part

MARGIN = 0.97  # the token estimate may be too low by the rest
_LITTLE = 6  # in fewer tokens no path fits
_CLOSE = 0.995  # share of the budget that may be used with the line on tasks
_SIGNATURE = 12  # tokens of a signature, on average


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of the budget for files with signatures.

    The rest is for bare paths. Without a text it is unknown which file will matter, so that more
    paths are listed.
    """

    outline: float
    symbols: int  # per file


WITH_TEXT = Shares(0.33, 6)
WITHOUT = Shares(0.16, 4)


@dataclass(frozen=True, slots=True)
class RenderedMap:
    """The text of the map, and the files and symbols in it."""

    text: str
    tokens: int
    files: list[str]
    symbols: list[tuple[str, Symbol]]


class Page:
    """Lines within a budget: `end` is the number of tokens up to which more may be added."""

    def __init__(self, budget: int) -> None:
        self.budget = self.end = budget
        self.used = 0
        self.lines: list[str] = []
        self.files: list[str] = []
        self.symbols: list[tuple[str, Symbol]] = []

    def add(self, *lines: str) -> bool:
        """Add all of the lines, or none if they do not fit."""
        lines = tuple(map(plain, lines))
        cost = tokens.price("".join(line + "\n" for line in lines))
        if self.used + cost > min(self.end, self.budget):
            return False
        self.lines += lines
        self.used += cost
        return True


def render(
    structure: Structure,
    code: Part,
    files: Sequence[str],
    symbols: Callable[[str], Sequence[Symbol]],
    used_by: Callable[[str], Sequence[str]],
    *,
    budget: int,
    shares: Shares = WITH_TEXT,
    health: str | None = None,
) -> RenderedMap:
    """Render files in rank order. `symbols` and `used_by` are called for the files shown."""
    page = Page(int(tokens.price_of(budget) * MARGIN))
    page.add("# Map of the code")
    for line in render_head(structure, code, budget):
        page.add(line)
    rest = list(files)
    most = _room(page, shares, rest)
    if rest and page.add("", "## Files that matter most"):
        while rest and _outline(page, rest[0], symbols, used_by, most):
            rest.pop(0)
    page.end = page.budget
    if rest and page.add("", "## Then"):
        for path in rest:
            if page.add(path):
                page.files.append(path)
            elif page.budget - page.used < tokens.price_of(_LITTLE):
                break
    if health and page.used + tokens.price(f"- {health}\n") <= _CLOSE * tokens.price_of(budget):
        page.lines.insert(1, f"- {health}")  # within the margin, so that it displaces nothing
    text = "\n".join(page.lines) + "\n"
    return RenderedMap(text, tokens.count(text), page.files, page.symbols)


def plain(text: str) -> str:
    """The text without control characters and invisible characters."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _room(page: Page, shares: Shares, files: Sequence[str]) -> int:
    """Set the budget of the signatures, and return how many a file may have: more if there are
    fewer files than fit."""
    free = page.budget - page.used
    for path in files:
        free -= tokens.price(path + "\n")
        if free < shares.outline * page.budget:
            page.end = page.used + int(shares.outline * page.budget)
            return shares.symbols
    page.end = page.used + free
    each = free // tokens.price_of(_SIGNATURE) // (len(files) or 1)
    return max(shares.symbols, 3 * each)  # most files have fewer


def _outline(
    page: Page,
    path: str,
    symbols: Callable[[str], Sequence[Symbol]],
    used_by: Callable[[str], Sequence[str]],
    most: int,
) -> bool:
    if page.end - page.used < tokens.price_of(_LITTLE):
        return False
    users = used_by(path)
    head = f"{path} ← {', '.join(users)}" if users else path
    chosen = list(symbols(path)[:most])
    while True:
        inside = sorted(chosen, key=lambda symbol: symbol.line)
        if page.add(head, *(f"  {symbol.line}: {symbol.signature}" for symbol in inside)):
            page.files.append(path)
            page.symbols += [(path, symbol) for symbol in inside]
            return True
        if not chosen:
            return False
        chosen.pop()
