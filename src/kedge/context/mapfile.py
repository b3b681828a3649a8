"""The map as it is kept in a project: `.kedge/map.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedge.host.project import Project

if TYPE_CHECKING:
    from kedge.repomap.build import Map
    from kedge.repomap.cache import Cache
    from kedge.repomap.progress import Tick
    from kedge.settings import Settings

FILE = "map.md"


def make(project: Project, settings: Settings, cache: Cache, progress: Tick) -> Map:
    """The map of no task in particular, which every session starts with."""
    from kedge.repomap import build

    health, warnings = how_work_stands(project, settings)
    made = build.make(project, build.Ask("", settings.map.tokens, health), cache, progress)
    return made._replace(warnings=[*warnings, *made.warnings])


def how_work_stands(project: Project, settings: Settings) -> tuple[str | None, list[str]]:
    """One line on the tasks, where kedge keeps tasks for the project; and warnings."""
    if settings.tasks.backend == "auto" and not (project.root / ".kedge").is_dir():
        return None, []
    from kedge.tasks.health import health

    return health(project, settings.tasks)


def is_fresh(data: bytes | None, text: str) -> bool:
    """Whether the file says what the map says. A task that was closed since makes none stale."""
    return data is not None and _timeless(data) == _timeless(text.encode())


def _timeless(text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n") if not line.startswith(b"- tasks: ")]
