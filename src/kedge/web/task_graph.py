"""Tasks and what they wait for, as a drawing: each column waits for the ones before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from kedge.host.text import shorten
from kedge.web.rendering import show_text
from kedge.web.routes import write_path

if TYPE_CHECKING:
    from markupsafe import Markup

    from kedge.model.task import Task

MOST = 60  # tasks that are drawn
_WIDE, _HIGH, _ACROSS, _DOWN, _EDGE = 190, 46, 62, 14, 8


def draw_tasks(tasks: Sequence[Task]) -> Markup | None:
    """Draw the tasks that wait for others or are waited for; None if there are none."""
    from markupsafe import Markup

    known = {str(task.id): task for task in tasks}
    pairs = [(str(on), name) for name, task in known.items() for on in task.depends_on]
    pairs = [(on, name) for on, name in pairs if on in known]
    linked = {name for pair in pairs for name in pair}
    chosen = [name for name in known if name in linked][:MOST]
    if not chosen:
        return None
    places = place_tasks(chosen, pairs)
    wide = max(x for x, _ in places.values()) + _WIDE + _EDGE
    high = max(y for _, y in places.values()) + _HIGH + _EDGE
    lines = "".join(
        _draw_line(places[on], places[name]) for on, name in pairs if {on, name} <= places.keys()
    )
    boxes = "".join(_draw_box(known[name], places[name]) for name in chosen)
    return Markup(  # noqa: S704 - every text is escaped below
        f'<svg class="graph" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
        f' role="group" aria-label="Tasks and what they wait for">{lines}{boxes}</svg>'
    )


def place_tasks(
    names: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Mapping[str, tuple[int, int]]:
    """Return where each task is: right of all that it waits for. A circle ends somewhere."""
    column = dict.fromkeys(names, 0)
    for _ in names:
        moved = False
        for on, name in pairs:
            if on in column and name in column and column[name] <= column[on] < len(names):
                column[name] = column[on] + 1
                moved = True
        if not moved:
            break
    rows: dict[int, int] = {}
    places = {}
    for name in names:
        row = rows.get(column[name], 0)
        rows[column[name]] = row + 1
        places[name] = (
            _EDGE + column[name] * (_WIDE + _ACROSS),
            _EDGE + row * (_HIGH + _DOWN),
        )
    return places


def _draw_line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y, to_x, to_y = start[0] + _WIDE, start[1] + _HIGH // 2, end[0], end[1] + _HIGH // 2
    half = max(30, (to_x - x) // 2)
    return f'<path class="edge" d="M{x} {y}C{x + half} {y} {to_x - half} {to_y} {to_x} {to_y}"/>'


def _draw_box(task: Task, place: tuple[int, int]) -> str:
    x, y = place
    name, title = (escape(show_text(shorten(one, 26))) for one in (str(task.id), task.title))
    full = escape(show_text(f"{task.id}: {task.title}, {task.status.value}"))
    return (
        f'<a href="{escape(write_path("tasks", str(task.id)))}" aria-label="{full}">'
        f'<rect class="node {task.status.value}" x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}"'
        f' rx="8"/><text class="id" x="{x + 12}" y="{y + 18}">{name}</text>'
        f'<text x="{x + 12}" y="{y + 35}">{title}</text></a>'
    )
