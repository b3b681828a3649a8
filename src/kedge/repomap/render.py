"""The map as text: a head, the best definitions under their files, then more paths.

It never has more tokens than the budget. A definition costs its line, and the first one of a file
the line of its file; the best are taken as long as they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kedge.host import tokens
from kedge.repomap.definitions import FRAMES, VALUES, Definition
from kedge.repomap.head import render_head
from kedge.repomap.long_paths import Abbreviation, find_abbreviation
from kedge.repomap.path_groups import PathGroups
from kedge.repomap.project.structure import Structure
from kedge.repomap.signatures import fold
from kedge.repomap.symbol import Symbol
from kedge.repomap.tree import Part

MARGIN = 0.97  # the token estimate may be too low by the rest
_CLOSE = 0.995  # share of the budget that may be used with the line on tasks
_LEADERS = 5  # the first files are shown with a definition or two in any case
_SURE = 2
_MOST = 6  # definitions of a file, unless there are few files
_NEW_FILE = 0.4  # what the score of a definition loses if its file is not yet shown
_INDENT = "  "
_TYPES = frozenset({"class", "struct", "enum", "interface", "trait", "type", "union"})
_LITTLE = 8  # in fewer tokens no definition fits

UsedBy = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the room is used. Without a text it is unknown what will matter: more is shown, of each
    less."""

    tail: float  # share of the budget for files without definitions
    width: int  # characters of a signature
    users: int  # that are named beside a file


_WITH_TEXT = Layout(0.24, 64, 2)
_WITHOUT = Layout(0.18, 48, 1)
_ROOMY = Layout(0.24, 80, 3)
_LARGE = 3000  # tokens of a budget with room for all


@dataclass(frozen=True, slots=True)
class RenderedMap:
    """The text of the map, and the files and symbols in it, in rank order."""

    text: str
    tokens: int
    files: list[str]
    symbols: list[tuple[str, Symbol]]


def render(
    structure: Structure,
    code: Part,
    files: Sequence[str],
    definitions: Sequence[Definition],
    used_by: UsedBy,
    *,
    budget: int,
    has_text: bool = False,
    health: str | None = None,
) -> RenderedMap:
    """Render files in rank order with the best of the definitions, which are sorted as well."""
    most = int(tokens.price_of(budget) * MARGIN)
    short = find_abbreviation(files, budget)
    head = [*render_head(structure, code, budget), *short.legend()]
    lines = ["# Map of the code", *(plain(line) for line in head)]
    used = _price(*lines)
    layout = _ROOMY if budget >= _LARGE else _WITH_TEXT if has_text else _WITHOUT
    outline = Outline(files, definitions, used_by, layout, short)
    tail = PathGroups(files, short)
    room = int(most - used - min(layout.tail * most, tail.price))
    if room > 0:
        outline.fill(room)
    lines += outline.draw(files)
    tail.drop(outline.chosen)
    lines += tail.fill(most - _price(*lines))
    if health and _price(*lines, f"- {health}") <= _CLOSE * tokens.price_of(budget):
        lines.insert(1, f"- {health}")  # within the margin, so that it displaces nothing
    text = "\n".join(lines) + "\n"
    shown = [path for path in files if path in outline.chosen or path in tail.chosen]
    return RenderedMap(text, tokens.count(text), shown, outline.list_symbols())


def plain(text: str) -> str:
    """The text without control characters and invisible characters."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _price(*lines: str) -> int:
    return tokens.price("".join(line + "\n" for line in lines))


class Outline:
    """Files with definitions, chosen one by one within a budget."""

    def __init__(
        self,
        files: Sequence[str],
        definitions: Sequence[Definition],
        used_by: UsedBy,
        layout: Layout,
        short: Abbreviation,
    ) -> None:
        self._layout = layout
        self._short = short
        self._definitions = definitions
        self._used_by = used_by
        self._heads: dict[str, str] = {}
        self._inside: dict[str, list[Symbol]] = {}
        self._parents: dict[tuple[str, Symbol], list[Symbol]] = {}
        for one in definitions:
            self._inside.setdefault(one.path, []).append(one.symbol)
        self._leaders = [path for path in files[:_LEADERS] if not self._has_only_values(path)]
        self._most = max(_MOST, 3 * _MOST - len(files))
        self.chosen: dict[str, list[Symbol]] = {}

    def fill(self, room: int) -> None:
        """Choose the definitions of the first files, then the best of all, as long as they fit."""
        room -= _price("")
        for path in self._leaders:
            room -= self._add(path, [], room)
            for symbol in self._inside.get(path, ())[:_SURE]:
                room -= self._add(path, self._with_parents(path, symbol), room)
        for one in _prefer_known_files(self._definitions):
            if room < tokens.price_of(_LITTLE):
                break
            if len(self.chosen.get(one.path, ())) < self._most:
                room -= self._add(one.path, self._with_parents(one.path, one.symbol), room)

    def draw(self, order: Sequence[str]) -> list[str]:
        lines = [""] if self.chosen else []
        for path in order:
            if path in self.chosen:
                lines.append(self._head(path))
                lines += self._draw_members(path, None, _INDENT)
        return lines

    def _draw_members(self, path: str, owner: Symbol | None, indent: str) -> list[str]:
        """The lines of the chosen definitions that belong to another one, or to the file alone."""
        lines = []
        for one in _by_line(self.chosen[path]):
            if self._find_owner(path, one) == owner:
                lines.append(_draw(one, indent, self._layout.width))
                lines += self._draw_members(path, one, indent + _INDENT)
        return lines

    def _find_owner(self, path: str, symbol: Symbol) -> Symbol | None:
        """The chosen definition that another one is shown under."""
        chosen = self.chosen[path]
        around = [one for one in chosen if _encloses(one, symbol)]
        return _by_line(around)[-1] if around else _find_type(symbol, chosen)

    def list_symbols(self) -> list[tuple[str, Symbol]]:
        """The definitions that are shown, the best first."""
        return [
            (one.path, one.symbol)
            for one in self._definitions
            if one.symbol in self.chosen.get(one.path, ())
        ]

    def _add(self, path: str, symbols: Sequence[Symbol], room: int) -> int:
        """Add definitions of a file, or only the file. Return their price, 0 if they do not fit."""
        known = self.chosen.get(path)
        fresh = [one for one in symbols if one not in (known or ())]
        lines = [_draw(one, self._indent(path, one), self._layout.width) for one in fresh]
        cost = _price(*([self._short.shorten(path)] if known is None else []), *lines)
        if known is None and cost <= room:
            cost = _price(self._head(path), *lines)
        if cost > room:
            return 0
        self.chosen[path] = [*(known or ()), *fresh]
        return cost

    def _with_parents(self, path: str, symbol: Symbol) -> list[Symbol]:
        """The definition, after those that it belongs to."""
        if (found := self._parents.get((path, symbol))) is not None:
            return found
        around = _drop_frames([one for one in self._inside[path] if _encloses(one, symbol)], symbol)
        if not around and (owner := _find_type(symbol, self._inside[path])):
            around = [owner]
        self._parents[path, symbol] = found = [*around, symbol]
        return found

    def _indent(self, path: str, symbol: Symbol) -> str:
        return _INDENT * len(self._with_parents(path, symbol))

    def _has_only_values(self, path: str) -> bool:
        """True for settings and build scripts, which are found by a text if it names a value."""
        return path in self._inside and all(one.kind in VALUES for one in self._inside[path])

    def _head(self, path: str) -> str:
        if path not in self._heads:
            users = self._used_by(path, self._layout.users)
            name = self._short.shorten(path)
            self._heads[path] = plain(f"{name}  used by {', '.join(users)}" if users else name)
        return self._heads[path]


def _prefer_known_files(definitions: Sequence[Definition]) -> list[Definition]:
    """Sort definitions by their value: the first one of a file costs more room than the others."""
    firsts: dict[str, float] = {}
    values = []
    for one in definitions:
        first = firsts.setdefault(one.path, one.score - _NEW_FILE)
        values.append(min(one.score, first))
    order = sorted(range(len(values)), key=lambda place: (-values[place], place))
    return [definitions[place] for place in order]


def _encloses(outer: Symbol, inner: Symbol) -> bool:
    return outer.line < inner.line and inner.end <= outer.end


def _drop_frames(around: Sequence[Symbol], symbol: Symbol) -> list[Symbol]:
    """The definitions around another one, without those that only say where it is, as paths do.

    Namespaces do, and modules around a type or another module.
    """
    inner = [*_by_line(around), symbol]
    return [
        one
        for one, held in pairwise(inner)
        if one.kind not in FRAMES
        or (one.kind == "module" and held.kind not in FRAMES and held.kind not in _TYPES)
    ]


def _find_type(symbol: Symbol, others: Sequence[Symbol]) -> Symbol | None:
    """The type of a method that is defined beside it, as in Go and Rust."""
    if symbol.kind != "method":
        return None
    found = (one for one in others if one.name == symbol.parent and one.kind in _TYPES)
    return next((one for one in found if one.parent is None), None)


def _by_line(symbols: Sequence[Symbol]) -> list[Symbol]:
    return sorted(symbols, key=lambda symbol: (symbol.line, -symbol.end))


def _draw(symbol: Symbol, indent: str, width: int) -> str:
    return plain(f"{indent}{symbol.line} {fold(symbol.signature, width, symbol.name)}")
