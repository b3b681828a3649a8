"""`kedge map`: a ranked picture of the repository."""

from __future__ import annotations

from typing import Any

import click

from kedge import config
from kedge.cli import edge
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.errors import CheckFound, NoRepository, UsageError
from kedge.host import files
from kedge.host.project import Project

FILE = "map.md"


@edge.command("Write a ranked map of the code within a budget of tokens.")
@click.option("--tokens", type=click.IntRange(100, 100_000), help="The budget for the whole map.")
@click.option("--for", "text", help="Rank for this text: a question, a task, an error.")
@click.option("--task", help="Rank for this task.")
@click.option("--output", metavar="FILE", help="Where to write; - for standard output.")
@click.option("--check", is_flag=True, help="Only say whether the map on disk is stale (exit 4).")
@click.option("--explain", metavar="PATH", help="Say why a file stands where it does.")
@click.option("--no-cache", is_flag=True, help="Read everything anew.")
@click.pass_obj
def command(
    here: Edge,
    tokens: int | None,
    text: str | None,
    task: str | None,
    output: str | None,
    check: bool,
    explain: str | None,
    no_cache: bool,
) -> Reply:
    from kedge.repomap import build
    from kedge.repomap.cache import Cache

    if text is not None and task is not None:
        raise UsageError("--for and --task exclude each other", hint="give one of them")
    project = _project(here)
    settings = config.load(project, {"map.tokens": tokens}).settings
    about = _about(project, settings, task) if task is not None else text or ""
    cache = Cache(None if no_cache else project.home())
    ask = build.Ask(about, settings.map.tokens)
    try:
        if explain is not None:
            found = build.explain(project, ask, cache, explain)
            return Reply(found, lambda: _explained(found), cache.warnings)
        made = build.make(project, ask, cache)
    finally:
        cache.close()
    target = project.own(FILE) if output is None else here.directory / output
    if check:
        if files.read_bytes(target) != made.text.encode():
            raise CheckFound(f"{target} is stale", hint="kedge map", data={"stale": True})
        return Reply({"stale": False}, "the map is fresh", made.warnings)
    if output == "-" or (here.json and output is None):
        return Reply(made.data, made.text, made.warnings)
    if files.read_bytes(target) != made.text.encode():
        if output is None:
            _keep_out_of_git(project)
        files.write_atomic(target, made.text.encode())
    count = made.data["tokens"]
    where = target.relative_to(project.root) if output is None else target
    return Reply(made.data, f"{where}: {count} tokens", made.warnings)


def _explained(found: dict[str, Any]) -> str:
    lines = [f"{found['path']}: place {found['place']} of {found['of']}, score {found['score']}"]
    lines += [f"  {value:7.3f}  {name}" for name, value in found["parts"].items() if value]
    if found["factor"] != 1:
        lines.append(f"  × {found['factor']}     because it is a test")
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


def _keep_out_of_git(project: Project) -> None:
    """The map is made from the code, so that it need not be in git."""
    ignore = project.own(".gitignore")
    if files.read_bytes(ignore) is None:
        files.write_atomic(ignore, f"{FILE}\n".encode())


def _about(project: Project, settings: config.Settings, task_id: str) -> str:
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    task = Board(choose.backend(project, settings.tasks)).get(task_id)
    return "\n".join([task.title, task.description, *task.acceptance, *task.scope_in])
