"""The map as text: what matters most first, and never more tokens than the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kedge.host import tokens
from kedge.host.record import NamedTuple
from kedge.repomap.structure import Structure
from kedge.repomap.symbols import Symbol
from kedge.repomap.tree import Branch

MARGIN = 0.97  # the estimate of tokens may fall short by that much
_LITTLE = 6  # tokens left, in which no path fits
_CLOSE = 0.995  # of the budget, that the line on tasks may fill it to
_SIGNATURE = 12  # tokens of one, about


class Shares(NamedTuple):
    """What part of the budget the structure, and then files with their signatures, may take.

    The rest is for bare paths: without a text nobody knows which file will matter, so that more
    of them are named.
    """

    structure: float
    outline: float
    symbols: int  # of one file


WITH_TEXT = Shares(0.28, 0.33, 6)
WITHOUT = Shares(0.22, 0.16, 4)


class Shown(NamedTuple):
    """What of the map fits: the text, and the files and symbols that are in it."""

    text: str
    tokens: int
    files: list[str]
    symbols: list[tuple[str, Symbol]]


class Page:
    """Lines that are added while they fit: `end` is the price up to which they do."""

    def __init__(self, budget: int) -> None:
        self.budget = self.end = budget
        self.used = 0
        self.lines: list[str] = []
        self.files: list[str] = []
        self.symbols: list[tuple[str, Symbol]] = []

    def add(self, *lines: str) -> bool:
        """Add all the lines, or none when they do not fit."""
        lines = tuple(map(plain, lines))
        cost = tokens.price("".join(line + "\n" for line in lines))
        if self.used + cost > min(self.end, self.budget):
            return False
        self.lines += lines
        self.used += cost
        return True


def render(
    structure: Structure,
    tree: Sequence[Branch],
    files: Sequence[str],
    symbols: Callable[[str], Sequence[Symbol]],
    used_by: Callable[[str], Sequence[str]],
    *,
    budget: int,
    shares: Shares = WITH_TEXT,
    health: str | None = None,
) -> Shown:
    """The text for files in rank order. `symbols` and `used_by` are asked for what is shown."""
    page = Page(int(tokens.price_of(budget) * MARGIN))
    page.add("# Map of the code")
    page.end = int(shares.structure * page.budget)
    _structure(page, structure, tree)
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
        page.lines.insert(1, f"- {health}")  # from what is spare, so that it displaces nothing
    text = "\n".join(page.lines) + "\n"
    return Shown(text, tokens.count(text), page.files, page.symbols)


def plain(text: str) -> str:
    """Without what a terminal obeys or an eye cannot see."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _room(page: Page, shares: Shares, files: Sequence[str]) -> int:
    """Set how much signatures may take, and say how many of one file: more where there are fewer
    files than fit."""
    free = page.budget - page.used
    for path in files:
        free -= tokens.price(path + "\n")
        if free < shares.outline * page.budget:
            page.end = page.used + int(shares.outline * page.budget)
            return shares.symbols
    page.end = page.used + free
    each = free // tokens.price_of(_SIGNATURE) // (len(files) or 1)
    return max(shares.symbols, 3 * each)  # many have fewer


def _structure(page: Page, structure: Structure, tree: Sequence[Branch]) -> None:
    for line in structure.stack[:4]:
        page.add(f"- {line}")
    for command in structure.commands[:8]:
        page.add(f"- {command.kind}: `{command.command}` ({command.source})")
    for entry in structure.entry_points[:3]:
        page.add(f"- entry: {entry}")
    if structure.key_files:
        page.add("- key files: " + ", ".join(place.path for place in structure.key_files[:5]))
    for convention in structure.conventions[:3]:
        page.add(f"- {convention}")
    what = {module.path: module.what for module in structure.modules}
    if tree and page.add("", "## Where the code is"):
        for depth, name, path, count in tree:
            told = f": {what[path]}" if what.get(path) else ""
            if not page.add(f"{'  ' * depth}{name}/ {count}{told}"):
                break


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
