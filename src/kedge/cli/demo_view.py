"""Output of `kedge demo`: plain in a pipe, with a little colour on a terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import time
from pathlib import Path

from kedge.cli.edge import Edge, write
from kedge.cli.plain import clean
from kedge.demo.steps import Chapter, Teller
from kedge.host.text import shorten

_MOST_COLUMNS = 110
_BOLD, _FAINT, _GREEN, _YELLOW, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_INTRODUCTION = (
    "kedge keeps coding agents on course: it tells them what matters, watches what they do, and"
    " proves what they leave. Here an agent strays, and says it is done when it is not. Nothing is"
    " staged: $ is a command that runs now, │ is what it prints, ╰ what that means."
)


class DemoView:
    """Tells the story as it happens. With `--json` or `--quiet` it is silent."""

    def __init__(self, edge: Edge) -> None:
        self._silent = edge.json or edge.quiet
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else _MOST_COLUMNS
        self._columns = max(40, min(columns, _MOST_COLUMNS))
        self._begin = time.monotonic()

    def begin(self, directory: str) -> None:
        self._wrap(_INTRODUCTION)
        self._wrap(f"It happens in {directory}.", _FAINT)

    def show_chapter(self, number: int, chapter: Chapter) -> None:
        self._say("")
        self._say(f"{number}  {chapter.title}", _BOLD)
        self._wrap(chapter.why, _FAINT, indent="   ")

    def show_command(self, text: str) -> None:
        rows = [""]
        for part in re.split(r"(?= --)", text):  # an option stays with its value
            if len(rows[-1] + part) > self._columns - 9 and rows[-1]:
                rows.append(" ")
            rows[-1] += part
        for number, row in enumerate(rows):
            more = " \\" if number < len(rows) - 1 else ""
            self._say(f"   {'  ' if number else '$ '}{row}{more}", _GREEN)

    def show(self, teller: Teller, text: str) -> None:
        """Show a line of a command's output, if it matters."""
        line = teller.find(text)
        if line is None:
            return
        self._say("   │ " + shorten_line(text, self._columns - 5))
        if line.note:
            self._say(f"   ╰ {line.note}", _YELLOW)

    def end(self, path: str | None, report: str | None) -> None:
        self._say("")
        self._wrap(f"The end, after {time.monotonic() - self._begin:.0f} seconds.")
        if path is None:
            self._wrap("Everything was removed again. kedge demo --keep keeps the project.")
        else:
            self._say(f"The project: {path}")
            self._say(f"The page:    {report}")
            self._wrap(f"Delete {Path(path).parent} when you have seen enough.")
        self._wrap("Next: run kedge init in a repository of yours.")

    def _wrap(self, text: str, style: str = "", indent: str = "") -> None:
        for row in textwrap.wrap(text, self._columns - len(indent), break_long_words=False):
            self._say(indent + row, style)

    def _say(self, text: str, style: str = "") -> None:
        if not self._silent:
            text = clean(text)
            write(f"{style}{text}{_PLAIN}\n" if style and self._colour else f"{text}\n")


def shorten_line(text: str, columns: int) -> str:
    """Cut a line at its end; its indentation stays."""
    text = text.expandtabs(2).rstrip()
    indent = text[: len(text) - len(text.lstrip())]
    return indent + shorten(text, columns - len(indent))
