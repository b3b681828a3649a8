"""`kedge map`: a ranked picture of the repository."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.context import mapfile
from kedge.errors import CheckFound, NoRepository, UsageError
from kedge.host import files
from kedge.host.project import Project
from kedge.settings import LEAST, MOST, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.repomap.build import Map


def tokens_or_auto(text: str) -> int:
    """A number of tokens, or `auto`, which is 0 here."""
    if text == "auto":
        return 0
    if not (text.isdecimal() and LEAST <= int(text) <= MOST):
        raise ValueError(f"give {LEAST} to {MOST}, or auto, not {text!r}")
    return int(text)


@syntax.command("Write a ranked map of the code within a budget of tokens.")
@syntax.option(
    "--tokens",
    type=tokens_or_auto,
    metavar="N|auto",
    help="The budget; auto grows with the repository.",
)
@syntax.option("--for", "text", help="Rank for this text: a question, a task, an error.")
@syntax.option("--task", help="Rank for this task.")
@syntax.option("--output", metavar="FILE", help="Where to write; - for standard output.")
@syntax.option("--check", is_flag=True, help="Only say whether the map on disk is stale (exit 4).")
@syntax.option("--explain", metavar="PATH", help="Say why a file stands where it does.")
@syntax.option("--graph", metavar="FILE.svg", help="Draw who uses whom; - for standard output.")
@syntax.option("--no-cache", is_flag=True, help="Read everything anew.")
def command(
    here: Edge,
    tokens: int | None,
    text: str | None,
    task: str | None,
    output: str | None,
    check: bool,
    explain: str | None,
    graph: str | None,
    no_cache: bool,
) -> Reply:
    from kedge.repomap import build, unchanged
    from kedge.repomap.cache import Cache

    begun = time.time_ns()
    _exclude({"--for": text, "--task": task})
    _exclude({"--check": check, "--explain": explain, "--graph": graph})
    _exclude({"--explain": explain, "--graph": graph, "--output": output})
    project = _project(here)
    settings = config.load(project, {"map.tokens": tokens or None}).settings
    about = _about(project, settings, task) if task is not None else text or ""
    health, warnings = mapfile.how_work_stands(project, settings)
    here.warn(*warnings)
    ask = build.Ask(about, 0 if tokens == 0 else settings.map.tokens, health)
    cache = Cache(None if no_cache else project.home())
    progress = here.progress("reading the code")
    with contextlib.closing(cache), contextlib.closing(progress):
        if explain is not None:
            found = build.explain(project, ask, cache, explain, progress)
            return Reply(found, lambda: _explained(found), cache.warnings)
        if graph is not None:
            drawn = build.drawing(project, ask, cache, progress)
            if graph == "-":
                return Reply({"svg": drawn}, drawn, cache.warnings)
            target = here.directory / graph
            files.write_atomic(target, drawn.encode())
            return Reply({"graph": str(target)}, f"{graph} is drawn", cache.warnings)
        made = build.make(project, ask, cache, progress)
    target = project.own(mapfile.FILE) if output is None else here.directory / output
    if check:
        return _checked(target, made)
    if output == "-" or (here.json and output is None):
        return Reply(made.data, made.text, made.warnings)
    count = made.data["tokens"]
    said = unchanged.answer(count) if output is None else f"{target}: {count} tokens"
    if files.read_bytes(target) != made.text.encode():
        if output is None:
            from kedge.context import setup

            setup.apply(project, setup.gitignore(project, map_in_git=settings.map.commit))
        files.write_atomic(target, made.text.encode())
    elif output is None and about == "" and tokens is None and not (no_cache or here.warnings):
        mapfile.note(project, settings, made, begun)
    return Reply(made.data, said, made.warnings)


def _exclude(options: dict[str, Any]) -> None:
    given = [name for name, value in options.items() if value]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other", hint="give one of them")


def _checked(target: Path, made: Map) -> Reply:
    if not mapfile.is_fresh(files.read_bytes(target), made.text):
        raise CheckFound(f"{target} is stale", hint="kedge map", data={"stale": True})
    return Reply({"stale": False}, "the map is fresh", made.warnings)


def _explained(found: dict[str, Any]) -> str:
    lines = [f"{found['path']}: place {found['place']} of {found['of']}, score {found['score']}"]
    lines += [f"  {value:7.3f}  {name}" for name, value in found["parts"].items() if value]
    if found["factor"] != 1:
        lines.append(f"  × {found['factor']}     because it is a test or a document")
    for title in ("near", "changes_with"):
        if found[title]:
            lines.append(f"  {title.replace('_', ' ')}: " + ", ".join(found[title]))
    return clean("\n".join(lines))


def _project(here: Edge) -> Project:
    try:
        return here.project()
    except NoRepository:
        if not here.directory.is_dir():
            raise
        return Project(here.directory.resolve(), None)


def _about(project: Project, settings: Settings, task_id: str) -> str:
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    task = Board(choose.backend(project, settings.tasks)).get(task_id)
    return "\n".join([task.title, task.description, *task.acceptance, *task.scope_in])
