"""The map as text: what matters most first, and never more tokens than the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kedge.host import tokens
from kedge.repomap.structure import Structure
from kedge.repomap.symbols import Symbol

MARGIN = 0.97  # the estimate of tokens may fall short by that much
_OUTLINE = 0.45  # of what is left after the structure: files with their signatures
_STRUCTURE = 0.30
_MOST_SYMBOLS = 6


@dataclass(slots=True)
class Shown:
    """What of the map fits: the text, and the files and symbols that are in it."""

    text: str
    tokens: int
    files: list[str] = field(default_factory=list)
    symbols: list[tuple[str, Symbol]] = field(default_factory=list)


@dataclass(slots=True)
class Page:
    """Lines that are added while they fit."""

    budget: int
    lines: list[str] = field(default_factory=list)
    used: int = 0

    def add(self, *lines: str) -> bool:
        """Add all the lines, or none when they do not fit."""
        cost = tokens.count("".join(line + "\n" for line in lines))
        if self.used + cost > self.budget:
            return False
        self.lines += lines
        self.used += cost
        return True


def render(
    structure: Structure,
    files: Sequence[str],
    symbols: Callable[[str], Sequence[Symbol]],
    used_by: Callable[[str], Sequence[str]],
    *,
    title: str,
    budget: int,
    health: str | None = None,
) -> Shown:
    """The text for files in rank order. `symbols` and `used_by` are asked for what is shown."""
    page = Page(int(budget * MARGIN))
    shown = Shown("", 0)
    page.add(f"# {title}")
    _structure(page, structure, int(page.budget * _STRUCTURE), health)
    outline_end = page.used + int((page.budget - page.used) * _OUTLINE)
    rest = list(files)
    if rest and page.add("", "## Files that matter most"):
        while rest and page.used < outline_end:
            path = rest[0]
            if not _outline(page, shown, path, symbols(path), used_by(path), outline_end):
                break
            rest.pop(0)
    if rest and page.add("", "## Then"):
        for path in rest:
            if page.add(path):
                shown.files.append(path)
            elif page.budget - page.used < 6:
                break
    shown.text = "\n".join(page.lines) + "\n"
    shown.tokens = tokens.count(shown.text)
    return shown


def _structure(page: Page, structure: Structure, most: int, health: str | None) -> None:
    end = page.used + most

    def add(line: str) -> None:
        if page.used + tokens.count(line + "\n") <= end:
            page.add(line)

    for line in structure.stack[:4]:
        add(f"- {line}")
    for command in structure.commands[:8]:
        add(f"- {command.kind}: `{command.command}` ({command.source})")
    if health:
        add(f"- {health}")
    for entry in structure.entry_points[:4]:
        add(f"- entry: {_words(entry)}")
    if structure.modules:
        add("")
        for module in structure.modules[:14]:
            add(f"- {_words(module)}")
    for convention in structure.conventions[:3]:
        add(f"- {_words(convention)}")


def _words(value: object) -> str:
    path = getattr(value, "path", None)
    if path is None:
        return str(value)
    what = getattr(value, "what", None) or getattr(value, "line", None) or ""
    return f"{path}: {what}" if what else str(path)


def _outline(
    page: Page,
    shown: Shown,
    path: str,
    symbols: Sequence[Symbol],
    used_by: Sequence[str],
    end: int,
) -> bool:
    head = path if not used_by else f"{path} ← {', '.join(used_by)}"
    chosen = list(symbols[:_MOST_SYMBOLS])
    while True:
        lines = [head, *(f"  {s.line}: {s.signature}" for s in sorted(chosen, key=_line))]
        cost = tokens.count("".join(line + "\n" for line in lines))
        if page.used + cost <= max(end, page.used + 1) and page.add(*lines):
            shown.files.append(path)
            shown.symbols += [(path, symbol) for symbol in chosen]
            return True
        if not chosen:
            return False
        chosen.pop()


def _line(symbol: Symbol) -> int:
    return symbol.line
