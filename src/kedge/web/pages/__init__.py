"""One module per page: what it reads, and what it shows of it.

A page's `load` returns the name of its template and the values for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from kedge.web.live import HANDOFFS, KNOWLEDGE, RUNS, SESSIONS, TASKS
from kedge.web.routes import Refused

if TYPE_CHECKING:
    from kedge.web.routes import Target
    from kedge.web.source import Source


class Link(NamedTuple):
    """An entry of the navigation: the page, its address, its title, the key that opens it."""

    page: str
    path: str
    title: str
    key: str


NAVIGATION = (
    Link("now", "/", "Now", "n"),
    Link("tasks", "/kedge/tasks", "Tasks", "t"),
    Link("handoffs", "/kedge/handoffs", "Handoffs", "h"),
    Link("map", "/kedge/map", "Map", "m"),
    Link("knowledge", "/kedge/knowledge", "Knowledge", "l"),
    Link("runs", "/kedge/runs", "Runs", "r"),
)
# which changes concern a page
TOPICS: Mapping[str, tuple[str, ...]] = {
    "now": (SESSIONS, TASKS, RUNS),
    "session": (SESSIONS,),
    "tasks": (TASKS, SESSIONS),
    "task": (TASKS, SESSIONS, HANDOFFS),
    "handoffs": (HANDOFFS,),
    "handoff": (HANDOFFS,),
    "knowledge": (KNOWLEDGE,),
    "runs": (RUNS, TASKS),
    "run": (RUNS, TASKS),
    "map": (SESSIONS,),
}
_MODULES = {
    "now": "now",
    "session": "session",
    "transcript": "transcript",
    "tasks": "tasks",
    "task": "task",
    "handoffs": "handoffs",
    "handoff": "handoff",
    "knowledge": "knowledge",
    "runs": "runs",
    "run": "run",
    "map": "map",
}


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    """Return the template of a page and the values for it."""
    if target.page not in _MODULES:
        raise Refused(404, "there is no such page")
    module = import_module(f"{__name__}.{_MODULES[target.page]}")
    loaded: tuple[str, dict[str, Any]] = module.load(source, target)
    return loaded
