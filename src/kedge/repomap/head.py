"""The head of the map: the stack and the commands in a line, then a tree that covers the code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kedge.host import tokens
from kedge.repomap.project.census import is_aside
from kedge.repomap.project.parts import KINDS, Kind
from kedge.repomap.project.structure import Structure
from kedge.repomap.tree import Part

SHARE = 0.125  # of the map's budget
LEAST = 15  # tokens that are added to that
LARGE = 4000  # a budget with room for second commands, key files and conventions
_SMALL = 1000  # a smaller one has no room for libraries
_FACTS = 0.45  # share of the head for the stack and the commands
_ORDER: tuple[Kind, ...] = ("test", "build", "lint", "run", "format", "typecheck", "install")
_LABELS: Mapping[Kind, str] = {"typecheck": "types"}
_LEAST = 0.03  # share of the files or of the ranking with which a part is listed
_MOST = (12, 6, 3)  # parts of an opened part that are listed, fewer if they do not fit
_OPEN = 0.4  # a part with more of the code is opened before anything is described
_BARE = 0.1  # a part with more is opened first if nothing describes it
_WORTH = 0.05  # a part with less is never opened
_FEW = 8  # a part with fewer files is never opened
_ASIDE = 0.2  # factor for opening tests, documents and examples
_ABOUT = 50  # characters of a description
_LIBRARIES = 3

_DETAILS = re.compile(r" \(([^()]*)\)")
_COUNT = re.compile(r"\((\d+)\)")
_MODULE = re.compile(r", module [^ ,()]+")


def render_head(structure: Structure, code: Part, budget: int) -> list[str]:
    """Return the first lines of a map with this budget of tokens.

    Every part with a noticeable share of the code is in the tree, and a part with most of it is
    opened, as far as there is room. `code` comes from `divide_code`.
    """
    room = int(SHARE * budget) + LEAST
    facts = _list_facts(structure, budget, int(_FACTS * room))
    room -= tokens.count("\n".join([*facts, ""]))
    more = _list_more(structure) if budget >= LARGE else []
    more = _keep_fitting(more, room // 3)
    room -= tokens.count("\n".join([*more, ""])) if more else 0
    what = {module.path: module.what for module in structure.modules if module.what}
    return [*facts, *more, *_Tree(code, what, room).grow()]


def _keep_fitting(items: list[str], room: int, joint: str = "\n") -> list[str]:
    kept: list[str] = []
    for item in items:
        if tokens.fits(joint.join([*kept, item, ""]), room):
            kept.append(item)
    return kept


def _list_facts(structure: Structure, budget: int, room: int) -> list[str]:
    """One line: languages, and the best command of each kind."""
    stack = [_shorten(text, budget) for text in structure.stack if not text.startswith("CI: ")]
    found: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
    most = 2 if budget >= LARGE else 1
    for command in structure.commands:
        if all(command.command not in known for known in found.values()):
            found[command.kind].append(command.command)
    commands = [
        f"{_LABELS.get(kind, kind)} {' or '.join(f'`{one}`' for one in found[kind][:most])}"
        for kind in _ORDER
        if found[kind]
    ]
    start = [f"starts in {one.path}" for one in structure.entry_points[: budget >= _SMALL]]
    # what matters most is chosen first
    wanted = [*stack[:1], *commands[:2], *stack[1:2], *commands[2:4], *start, *commands[4:]]
    kept = _keep_fitting([*wanted, *stack[2:4]], room, " · ")
    languages = ", ".join(one for one in stack if one in kept)
    others = [one for one in (*commands, *start) if one in kept]
    return [" · ".join(filter(None, [languages, *others]))] if kept else []


def _shorten(text: str, budget: int) -> str:
    """The stack's line without the details that a map of this size has no room for."""
    if budget >= LARGE:
        return text
    text = _MODULE.sub("", text)
    if budget < _SMALL:
        return _DETAILS.sub("", text)
    return _DETAILS.sub(lambda found: f" ({_drop_libraries(found[1])})", text)


def _drop_libraries(details: str) -> str:
    tools, semicolon, libraries = details.partition("; ")
    return f"{tools}{semicolon}{', '.join(libraries.split(', ')[:_LIBRARIES])}"


def _list_more(structure: Structure) -> list[str]:
    lines = [f"- entry: {entry}" for entry in structure.entry_points[:3]]
    if structure.key_files:
        lines.append("- key files: " + ", ".join(place.path for place in structure.key_files[:5]))
    return [*lines, *(f"- {one}" for one in structure.conventions[:3])]


class _Tree:
    """A choice of parts: those that are opened, and those that are described."""

    def __init__(self, code: Part, what: Mapping[str, str], room: int) -> None:
        self._code = code
        self._what = what
        self._room = room
        self._opened: set[str] = set()
        self._limits: dict[str, int] = {}  # of listed parts
        self._described: set[str] = set()
        self._limits[""] = len(self._list_parts(code))

    def grow(self) -> list[str]:
        """The lines of the tree with as much as fits."""
        while self._limits[""] and not self._fits():
            self._limits[""] -= 1
        self._open(_OPEN)
        self._open_bare()
        self._describe()
        self._open(_WORTH)
        self._describe()
        return self._draw()

    def _fits(self) -> bool:
        return tokens.fits("\n".join([*self._draw(), ""]), self._room)

    def _open_bare(self) -> None:
        """Open the large parts at the top that nothing describes."""
        for part in self._inside(self._code):
            is_bare = part.path not in self._what and part.path not in self._opened
            if is_bare and _value(part) >= _BARE and self._find_depth(part):
                self._try_opening(self._find_depth(part))

    def _open(self, least: float) -> None:
        """Open the parts with at least this value, the largest first, as far as they fit."""
        refused: set[str] = set()
        while True:
            known = self._opened | refused
            waiting = [
                part
                for part in self._visible(self._code)
                if part.path not in known and _value(part) >= least and self._find_depth(part)
            ]
            if not waiting:
                return
            best = min(waiting, key=lambda part: (-_value(part), part.path))
            if not self._try_opening(self._find_depth(best)):
                refused.add(best.path)

    def _try_opening(self, chain: set[str]) -> bool:
        self._opened |= chain
        for most in _MOST:
            self._limits |= dict.fromkeys(chain, most)
            if self._fits():
                return True
        self._opened -= chain
        return False

    def _find_depth(self, part: Part) -> set[str]:
        """The parts to open together, until there are several with a good part of the code.

        Empty if there is no such depth.
        """
        chain = {part.path}
        while True:
            inside = [one for one in self._list_parts(part) if not is_aside(one.path)]
            known = sum(one.files for one in inside)
            code = part.files - sum(one.files for one in part.parts if is_aside(one.path))
            if part.files < _FEW or 3 * known < code or not inside:
                return set()
            if len(inside) > 1:
                return chain
            part = inside[0]
            chain.add(part.path)

    def _describe(self) -> None:
        for part in sorted(self._visible(self._code), key=lambda part: (-_value(part), part.path)):
            if part.path not in self._described:
                self._described.add(part.path)
                if not self._fits():
                    self._described.remove(part.path)

    def _list_parts(self, part: Part) -> list[Part]:
        """The noticeable parts of a part."""
        share, weight = (part.share, part.weight) if part.path else (1.0, 1.0)
        return [
            one
            for one in part.parts
            if one.share >= _LEAST * share or one.weight >= _LEAST * weight
        ]

    def _inside(self, part: Part) -> list[Part]:
        """The parts that are shown when a part is opened."""
        return self._list_parts(part)[: self._limits.get(part.path, _MOST[0])]

    def _visible(self, part: Part) -> Iterator[Part]:
        for one in self._inside(part):
            yield one
            if one.path in self._opened:
                yield from self._visible(one)

    def _draw(self) -> list[str]:
        """A line for each opened part, and one for the parts at the top that are not opened.

        That line comes last, unless the largest part is in it.
        """
        lines: list[str] = []
        waiting = [(one, "") for one in reversed(self._inside(self._code))]
        closed = []
        while waiting:
            part, above = waiting.pop()
            if part.path not in self._opened:
                closed.append(part)
                continue
            inside = self._inside(part)
            waiting += [(one, part.path) for one in reversed(inside) if one.path in self._opened]
            names = [self._name(one, part.path) for one in inside if one.path not in self._opened]
            left = len(part.parts) - len(inside)
            names += [f"{left} more"] if left and names else []
            what = self._find_what(part, above)
            if names or what:
                name = self._name(part, above, whole=True)
                lines.append(f"{name}: {' · '.join(names)}" if names else name)
        names = [self._name(part, "") for part in closed]
        if self._code.own and self._code.own >= _LEAST * self._code.files:
            names.append(f"./ ({self._code.own})")
        left = len(self._code.parts) - len(self._inside(self._code))
        names += [f"{left} more"] if left and (lines or names) else []
        rest = [" · ".join(names)] if names else []
        largest = self._code.parts[0] if self._code.parts else self._code
        is_first = largest in closed[:1] and not is_aside(largest.path)
        lines = [*rest, *lines] if is_first else [*lines, *rest]
        return [_COUNT.sub(_name_unit, line, count=1) for line in lines[:1]] + lines[1:]

    def _name(self, part: Part, above: str, *, whole: bool = False) -> str:
        name = part.path if whole or not above else part.path[len(above) + 1 :]
        return " ".join(filter(None, [f"{name}/", self._find_what(part, above), f"({part.files})"]))

    def _find_what(self, part: Part, above: str) -> str:
        if part.path not in self._described:
            return ""
        what = _cut(self._find_description(part.path, above))
        return "" if part.path in self._opened and _names_parts(what, part) else what

    def _find_description(self, path: str, above: str) -> str:
        """The description of a part, or of a directory that was joined with it."""
        while path != above and path:
            if path in self._what:
                return self._what[path]
            path = path.rpartition("/")[0]
        return ""


def _value(part: Part) -> float:
    """How much is gained by opening a part."""
    return (part.share + part.weight) / 2 * (_ASIDE if is_aside(part.path) else 1.0)


def _names_parts(what: str, part: Part) -> bool:
    """True if the description only lists what is inside."""
    inside = {name for one in part.parts for name in one.path.split("/")}
    return all(name.rpartition("/")[2] in inside for name in what.rstrip("…").split(", "))


def _name_unit(count: re.Match[str]) -> str:
    return "(1 file)" if count[1] == "1" else f"({count[1]} files)"


def _cut(what: str) -> str:
    what = _DETAILS.sub("", what)
    if len(what) <= _ABOUT:
        return what
    return what[: _ABOUT - 1].rpartition(" ")[0].rstrip(",;:") + "…"
