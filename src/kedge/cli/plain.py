"""Text for people: tables on a terminal, tab-separated lines in a pipe, no control characters."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kedge.host.text import clean

__all__ = ["clean", "table"]


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str = "") -> str:
    """Return a table with headers for a terminal, or tab-separated lines for a pipe."""
    if not sys.stdout.isatty():
        return clean("".join(_line(row) for row in rows))
    if not rows:
        return empty
    from io import StringIO
    from os import environ

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in headers:
        grid.add_column(header, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(clean(cell), style=_STYLES.get(cell, "")) for cell in row))
    out = StringIO()
    Console(
        file=out, force_terminal=True, color_system=None if "NO_COLOR" in environ else "auto"
    ).print(grid)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _line(cells: Sequence[str]) -> str:
    line = "\t".join(cells)
    if line.count("\t") != len(cells) - 1 or "\n" in line:
        line = "\t".join(" ".join(cell.split()) for cell in cells)
    return line + "\n"


_STYLES = {
    "open": "cyan",
    "in_progress": "yellow",
    "blocked": "magenta",
    "failed": "red",
    "done": "green",
    "done, unproven": "yellow",
    "P0": "bold red",
    "P1": "red",
}
