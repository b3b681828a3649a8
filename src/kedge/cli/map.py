"""`kedge map`: a ranked map of the repository."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from kedge import config
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.context import mapfile
from kedge.errors import CheckFound, NoRepository, UsageError
from kedge.host import files
from kedge.host.project import Project
from kedge.repomap import build
from kedge.repomap.build import Map
from kedge.repomap.cache import Cache
from kedge.settings import MAX_TOKENS, MIN_TOKENS, Settings
from kedge.tasks import choose
from kedge.tasks.board import Board


def tokens_or_auto(text: str) -> int:
    """Return the number of tokens; `auto` is 0."""
    if text == "auto":
        return 0
    if not (text.isdecimal() and MIN_TOKENS <= int(text) <= MAX_TOKENS):
        raise click.BadParameter(f"give {MIN_TOKENS} to {MAX_TOKENS}, or auto, not {text!r}")
    return int(text)


@click.command(cls=KedgeCommand)
@click.option(
    "--tokens",
    type=tokens_or_auto,
    metavar="N|auto",
    help="The token budget; auto grows with the repository.",
)
@click.option("--for", "text", help="Rank for this text: a question, a task, an error.")
@click.option("--task", help="Rank for this task.")
@click.option(
    "--output",
    metavar="FILE",
    help="Where to write; - for standard output. A map for a text or a task is printed.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 4 if the map is stale.")
@click.option("--explain", metavar="PATH", help="Explain the rank of a file.")
@click.option(
    "--graph", metavar="FILE.svg", help="Draw which files use which; - for standard output."
)
@click.option("--no-cache", is_flag=True, help="Ignore the cache and read everything again.")
def command(
    edge: Edge,
    tokens: int | None,
    text: str | None,
    task: str | None,
    output: str | None,
    check: bool,
    explain: str | None,
    graph: str | None,
    no_cache: bool,
) -> Reply:
    """Write a ranked map of the code within a token budget."""
    _refuse_together({"--for": text, "--task": task})
    _refuse_together({"--check": check, "--explain": explain, "--graph": graph})
    _refuse_together({"--explain": explain, "--graph": graph, "--output": output})
    is_special = text is not None or task is not None
    if check and is_special and output is None:
        raise UsageError(
            "--check compares .kedge/map.md, which is not for a text or a task",
            hint="give the file with --output, or leave out --for and --task",
        )
    project = _project(edge)
    settings = config.load(project, {"map.tokens": tokens or None}).settings
    about = _task_text(project, settings, task) if task is not None else text or ""
    health, warnings = mapfile.describe_tasks(project, settings)
    edge.warn(*warnings)
    ask = build.MapRequest(about, 0 if tokens == 0 else settings.map.tokens, health)
    cache = Cache(None if no_cache else project.home())
    progress = edge.progress("reading the code")
    with contextlib.closing(cache), contextlib.closing(progress):
        if explain is not None:
            rank = build.explain(project, ask, cache, explain, progress)
            return Reply(rank, lambda: _describe_rank(rank), cache.warnings)
        if graph is not None:
            drawn = build.draw_graph(project, ask, cache, progress)
            if graph == "-":
                return Reply({"svg": drawn}, drawn, cache.warnings)
            target = edge.directory / graph
            files.write_atomic(target, drawn.encode())
            return Reply({"graph": str(target)}, f"wrote {graph}", cache.warnings)
        code_map = build.make_map(project, ask, cache, progress)
    target = project.own(mapfile.FILE) if output is None else edge.directory / output
    if check:
        return _check_reply(target, code_map)
    if output == "-" or (output is None and (edge.json or is_special)):
        return Reply(code_map.data, code_map.text, code_map.warnings)
    count = code_map.data["tokens"]
    place = f".kedge/{mapfile.FILE}" if output is None else target
    if files.read_bytes(target) != code_map.text.encode():
        if output is None:
            from kedge.context import setup_plan

            setup_plan.apply(
                project, setup_plan.plan_gitignore(project, map_in_git=settings.map.commit)
            )
        files.write_atomic(target, code_map.text.encode())
    return Reply(code_map.data, f"{place}: {count} tokens", code_map.warnings)


def _refuse_together(options: dict[str, Any]) -> None:
    given = [name for name, value in options.items() if value]
    if len(given) > 1:
        raise UsageError(
            f"{given[0]} cannot be combined with {given[1]}", hint="give only one of them"
        )


def _check_reply(target: Path, code_map: Map) -> Reply:
    if not mapfile.is_fresh(files.read_bytes(target), code_map.text):
        raise CheckFound(f"{target} is stale", hint="kedge map", data={"stale": True})
    return Reply({"stale": False}, "the map is fresh", code_map.warnings)


def _describe_rank(rank: dict[str, Any]) -> str:
    lines = [f"{rank['path']}: place {rank['place']} of {rank['of']}, score {rank['score']}"]
    lines += [f"  {value:7.3f}  {name}" for name, value in rank["parts"].items() if value]
    if rank["factor"] != 1:
        lines.append(f"  × {rank['factor']}     because it is a test or a document")
    for title in ("near", "changes_with"):
        if rank[title]:
            lines.append(f"  {title.replace('_', ' ')}: " + ", ".join(rank[title]))
    return clean("\n".join(lines))


def _project(edge: Edge) -> Project:
    try:
        return edge.project()
    except NoRepository:
        if not edge.directory.is_dir():
            raise
        return Project(edge.directory.resolve(), None)


def _task_text(project: Project, settings: Settings, task_id: str) -> str:
    task = Board(choose.open_backend(project, settings.tasks)).get(task_id)
    return "\n".join([task.title, task.description, *task.acceptance, *task.scope_in])
