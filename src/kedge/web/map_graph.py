"""The best files of the map and who uses whom, as a drawing: names in a column, arcs beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import sqrt
from typing import TYPE_CHECKING

from kedge.host.text import shorten
from kedge.web.rendering import show_text
from kedge.web.routes import write_path

if TYPE_CHECKING:
    from markupsafe import Markup

_ROW, _NAMES, _EDGE, _BULGE, _RADIUS = 21, 330, 12, 300, 8
_HEATS = 5


@dataclass(frozen=True, slots=True)
class MapFile:
    """A file of the map: shares of the best rank and of the most steps, from 0 to 1."""

    path: str
    rank: float
    heat: float
    steps: int
    is_test: bool
    uses: int
    used_by: int

    @property
    def heat_class(self) -> str:
        """The step of the scale that the heat is drawn in; heat0 is none."""
        return f"heat{min(_HEATS, 1 + int(self.heat * _HEATS)) if self.steps else 0}"


def draw_graph(files: Sequence[MapFile], edges: Sequence[tuple[int, int, float]]) -> Markup:
    """Draw files and edges, which are (user, used, weight) by index of the files."""
    from markupsafe import Markup

    most = max((weight for _, _, weight in edges), default=1.0)
    arcs = "".join(_draw_arc(user, used, weight / most) for user, used, weight in edges)
    names = "".join(_draw_file(file, place) for place, file in enumerate(files))
    reach = max((abs(user - used) for user, used, _ in edges), default=1)
    wide = _NAMES + 2 * _EDGE + min(_BULGE, reach * _ROW // 2) + 10
    high = len(files) * _ROW + 2 * _EDGE
    return Markup(  # noqa: S704 - every text is escaped below
        f'<svg class="graph map" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
        f' role="group" aria-label="The best files, and who uses whom">{arcs}{names}</svg>'
    )


def _find_y(place: int) -> int:
    return _EDGE + place * _ROW + _ROW // 2


def _draw_arc(user: int, used: int, strength: float) -> str:
    x, start, end = _NAMES + _EDGE, _find_y(user), _find_y(used)
    bulge = x + min(_BULGE, abs(end - start) * 0.66 + 8)
    return (
        f'<path class="edge{" back" if end < start else ""}" stroke-width="{0.6 + 1.8 * strength:.1f}"'  # noqa: E501
        f' d="M{x} {start}C{bulge:.0f} {start} {bulge:.0f} {end} {x} {end}"/>'
    )


def _draw_file(file: MapFile, place: int) -> str:
    y = _find_y(place)
    about = f"{file.path}: {file.steps} steps, uses {file.uses}, used by {file.used_by}"
    link = escape(write_path("map", file=file.path))
    return (
        f'<a href="{link}"><title>{escape(show_text(about))}</title>'
        f'<text class="name{" test" if file.is_test else ""}" x="{_NAMES - 4}" y="{y + 4}">'
        f"{escape(show_text(_shorten_path(file.path)))}</text>"
        f'<circle class="{file.heat_class}" cx="{_NAMES + _EDGE - 3}" cy="{y}"'
        f' r="{2.5 + (_RADIUS - 2.5) * sqrt(file.rank):.1f}"/></a>'
    )


def _shorten_path(path: str, most: int = 44) -> str:
    """Return the end of a path, which says more than its start."""
    return path if len(path) <= most else f"…{shorten(path[-most + 1 :], most)}"
