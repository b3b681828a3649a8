"""`kedge feature`: print and check a feature's documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
from kedge.features.lint import LintProblem, describe_unreadable, is_finished, lint_feature
from kedge.host.project import Project
from kedge.host.text import count_noun

_MOST_PROBLEMS = 50  # of all features, that are listed one by one

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

    warnings = list(feature.warnings)
    if not feature.tasks:
        where = f"{feature.name}/{folders.TASKS}"
        how = f"give each task {feature.layout.example}"
        missing = f"{where} is missing" if feature.tasks_text is None else f"{where} has no tasks"
        warnings.append(f"{missing}: {how}")
    return Reply([_task_data(task) for task in feature.tasks], text, warnings)


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
@click.option("--all", "every", is_flag=True, help="Finished features, too, and every problem.")
def lint(edge: Edge, directory: str | None, every: bool) -> Reply:
    """Check that tasks and documents refer to each other; exit with 4 if they do not.

    Without DIR all features that are not finished are checked; where that finds much, the problems
    are counted by feature.
    """
    project = edge.project()
    paths = (
        [folders.find_feature(project, edge.directory, directory)]
        if directory is not None
        else folders.list_features(project)
    )
    warnings: list[str] = []
    findings: list[LintProblem] = []
    checked = 0
    for path in paths:
        try:
            feature = load_feature(project, path)
        except BrokenTasks as error:
            checked += 1
            findings.append(describe_unreadable(path.name, error))
            continue
        if directory is None and not every and is_finished(feature):
            continue
        checked += 1
        warnings += feature.warnings
        findings += lint_feature(feature)
    skipped = len(paths) - checked
    left_out = f"; {count_noun(skipped, 'finished feature')} left out, --all checks all"
    note = left_out if skipped else ""
    if not findings:
        return Reply([], f"{count_noun(checked, 'feature')} checked, no problems{note}", warnings)
    where = {path.name: path.relative_to(project.root).as_posix() for path in paths}
    is_long = directory is None and not every and len(findings) > _MOST_PROBLEMS
    write(_count_problems(findings) if is_long else _list_problems(findings, where))
    edge.warn(*warnings)
    one = "kedge feature lint DIR lists those of one feature"
    raise CheckFound(
        f"{count_noun(len(findings), 'problem')} in the documents of "
        f"{len({one.feature for one in findings})} of {count_noun(checked, 'feature')}{note}",
        hint=f"{one}, --all every one" if is_long else "each line says what to do",
        data=[asdict(one) | {"path": where[one.feature]} for one in findings],
    )


def _list_problems(findings: Sequence[LintProblem], where: Mapping[str, str]) -> str:
    lines = []
    for one in findings:
        prefix = f"{where[one.feature]}/{one.file}:{one.line}: " if one.file else ""
        lines.append(clean(f"{prefix}{one.message}; {one.hint}".replace("\n", " ")) + "\n")
    return "".join(lines)


def _count_problems(findings: Sequence[LintProblem]) -> str:
    """Return a line for each feature, with the number of its problems by rule."""
    rows = []
    for name in dict.fromkeys(one.feature for one in findings):
        rules = Counter(one.rule for one in findings if one.feature == name)
        counts = ", ".join(f"{count} {rule}" for rule, count in rules.most_common())
        rows.append((name, str(rules.total()), counts))
    return table(("feature", "problems", "of these"), rows)


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
