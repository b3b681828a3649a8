"""`kedge feature`: print and check a feature's documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from kedge.cli.commands import Group
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean, table
from kedge.errors import BrokenTasks, CheckFound
from kedge.features import brief, folders, render
from kedge.features.feature import Feature, load_feature
from kedge.features.feature_tasks import FeatureTask
from kedge.features.lint import LintProblem, describe_unreadable, lint_feature
from kedge.host.project import Project
from kedge.host.text import count_noun

command = Group(help="Print the parts of a feature's documents that a task needs.")


@command.command()
@click.argument("directory", metavar="DIR")
def tasks(edge: Edge, directory: str) -> Reply:
    """List a feature's tasks and the sections they refer to."""
    _, feature = _load(edge, directory)

    def text() -> str:
        rows = [
            (task.number, task.title, ", ".join(f"{r.type} {r.id}" for r in task.references))
            for task in feature.tasks
        ]
        return table(("task", "title", "refers to"), rows, empty="no tasks")

    return Reply([_task_data(task) for task in feature.tasks], text, feature.warnings)


@command.command()
@click.argument("directory", metavar="DIR")
@click.argument("number", metavar="TASK")
@click.option("--section", metavar="FILE#HEADING", help="Print this section instead.")
def scope(edge: Edge, directory: str, number: str, section: str | None) -> Reply:
    """Print the parts of the documents that a task needs."""
    project, feature = _load(edge, directory)
    task = feature.find_task(number)
    if section is not None:
        data = render.render_section(feature, section)
        return Reply(data, clean(data["text"]))
    warnings = list(feature.warnings)
    about = brief.make_brief(project, feature, warnings)
    scoped = render.render_scope(feature, task, about.text if about else None)
    return Reply(scoped.data, clean(scoped.text), [*warnings, *scoped.warnings])


@command.command("brief")
@click.argument("directory", metavar="DIR")
def brief_(edge: Edge, directory: str) -> Reply:
    """Print the project context of a feature."""
    project, feature = _load(edge, directory)
    warnings = list(feature.warnings)
    about = brief.make_brief(project, feature, warnings)
    return Reply(about.data if about else None, clean(about.text) if about else None, warnings)


@command.command()
@click.argument("directory", metavar="[DIR]", required=False)
def lint(edge: Edge, directory: str | None) -> Reply:
    """Check that tasks and documents refer to each other; exit with 4 if they do not."""
    project = edge.project()
    paths = (
        [folders.find_feature(project, edge.directory, directory)]
        if directory is not None
        else folders.list_features(project)
    )
    warnings: list[str] = []
    findings: list[LintProblem] = []
    for path in paths:
        try:
            feature = load_feature(project, path)
        except BrokenTasks as error:
            findings.append(describe_unreadable(path.name, error))
            continue
        warnings += feature.warnings
        findings += lint_feature(feature)
    if not findings:
        return Reply([], f"{count_noun(len(paths), 'feature')} checked, no problems", warnings)
    where = {path.name: path.relative_to(project.root).as_posix() for path in paths}
    for one in findings:
        prefix = f"{where[one.feature]}/{one.file}:{one.line}: " if one.file else ""
        write(clean(f"{prefix}{one.message}; {one.hint}".replace("\n", " ")) + "\n")
    edge.warn(*warnings)
    raise CheckFound(
        f"{count_noun(len(findings), 'problem')} in the documents of "
        f"{len({one.feature for one in findings})} of {len(paths)} features",
        hint="each line says what to do",
        data=[asdict(one) | {"path": where[one.feature]} for one in findings],
    )


def _load(edge: Edge, directory: str) -> tuple[Project, Feature]:
    project = edge.project()
    return project, load_feature(project, folders.find_feature(project, edge.directory, directory))


def _task_data(task: FeatureTask) -> dict[str, Any]:
    return {
        "number": task.number,
        "title": task.title,
        "line": task.line,
        "done_criteria": list(task.done_criteria),
        "references": [{"type": r.type, "id": r.id, "raw": r.raw} for r in task.references],
        "files": list(task.files),
    }
