"""The map as it is kept in a project: `.kedge/map.md`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from kedge.errors import ConfigError
from kedge.host.project import Project
from kedge.tasks import choose

TYPE_CHECKING = False
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
    if settings.tasks.backend == "auto" and not (
        (project.root / ".kedge").is_dir() and choose.detect(choose.keeper(project))
    ):
        return None, []
    from kedge.tasks.health import health

    return health(project, settings.tasks)


def note(project: Project, settings: Settings, made: Map, begun: int) -> None:
    """Let the next `kedge map` see at once that nothing has changed since this one, which began
    then and found the file as it should be."""
    from kedge.repomap import unchanged

    listing, repo = made.listing, project.repo
    asked, tasks = listing.asked, choose.sources(project, settings.tasks)
    head = repo and repo.head_files()
    if repo is None or not head or asked is None or tasks is None or listing.odd or made.warnings:
        return
    if not made.settled:
        return
    paths = {*map(str, (*head, *tasks, project.own(FILE), *_settings(project)))}
    top = os.fsencode(project.root)
    paths.update(os.fsdecode(top + b"/" + name) for name in listing.changed)
    rests = unchanged.Grounds([], set())
    if asked.copy:
        from kedge.repomap import grounds, shadow

        paths.add(str(repo.git_dir / "index"))
        others, outer = shadow.folders(asked.said)
        paths.update(os.fsdecode(b"%b/%b/.git" % (top, name)) for name in others | outer)
        paths.update(shadow.head_of(project.root, name) for name in others)
        inner = [os.fsdecode(b"%b/%b/.git" % (top, name)) for name in others]
        if not any(map(os.path.isfile, inner)):  # a file names a directory of git's elsewhere
            rests = grounds.of(repo, listing)
    tree = unchanged.Tree(
        str(project.root), str(repo.git_dir), str(repo.common_dir), listing.past or ""
    )
    unchanged.keep(tree, begun, paths, asked, rests, made.data["tokens"])


def _settings(project: Project) -> Iterator[os.PathLike[str] | str]:
    from kedge import config

    yield config.project_file(project)
    with contextlib.suppress(ConfigError):  # no home directory: no settings of the user
        yield config.user_file()


def is_fresh(data: bytes | None, text: str) -> bool:
    """Whether the file says what the map says. A task that was closed since makes none stale."""
    return data is not None and _timeless(data) == _timeless(text.encode())


def _timeless(text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n") if not line.startswith(b"- tasks: ")]
