"""The map file of a project, `.kedge/map.md`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kedge.host.project import Project
from kedge.tasks import choose

if TYPE_CHECKING:
    from kedge.repomap.build import Map
    from kedge.repomap.cache import Cache
    from kedge.repomap.progress import Tick
    from kedge.settings import Settings


FILE = "map.md"


def make_map(project: Project, settings: Settings, cache: Cache, progress: Tick) -> Map:
    """Make the map that every session starts with, for no task in particular."""
    from kedge.repomap import build

    health, warnings = describe_tasks(project, settings)
    request = build.MapRequest("", settings.map.tokens, health)
    result = build.make_map(project, request, cache, progress)
    return replace(result, warnings=[*warnings, *result.warnings])


def describe_tasks(project: Project, settings: Settings) -> tuple[str | None, list[str]]:
    """One line on the state of the tasks, if the project has tasks, and warnings."""
    if settings.tasks.backend == "auto" and not (
        (project.root / ".kedge").is_dir() and choose.detect(choose.task_project(project))
    ):
        return None, []
    from kedge.tasks.health import describe_health

    return describe_health(project, settings.tasks)


def is_fresh(data: bytes | None, text: str) -> bool:
    """True if the file has the text of the map; the line on tasks may differ."""
    return data is not None and _drop_tasks(data) == _drop_tasks(text.encode())


def _drop_tasks(text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n") if not line.startswith(b"- tasks: ")]
