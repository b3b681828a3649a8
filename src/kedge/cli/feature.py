"""`kedge feature`: a feature's documents, scoped to one task."""

from __future__ import annotations

from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean, table
from kedge.errors import BrokenTasks, CheckFound, InvalidValue, TaskNotFound, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.context.feature.folder import Feature
    from kedge.context.feature.lint import Finding
    from kedge.host.project import Project
    from kedge.tasks.feature_docs.reading import FeatureTask


command = syntax.group("Scope a feature's documents to one task.")


@command.command("List a feature's tasks with what they refer to.")
@syntax.argument("directory", metavar="DIR")
def tasks(here: Edge, directory: str) -> Reply:
    _, feature = _load(here, directory)

    def text() -> str:
        rows = [
            (task.number, task.title, ", ".join(f"{r.type} {r.id}" for r in task.references))
            for task in feature.tasks
        ]
        return table(("task", "title", "refers to"), rows, empty="no tasks found")

    return Reply([_data(task) for task in feature.tasks], text, feature.warnings)


@command.command("Print what one task needs of its feature's documents.")
@syntax.argument("directory", metavar="DIR")
@syntax.argument("number", metavar="TASK")
@syntax.option("--section", metavar="FILE#HEADING", help="Print this section instead.")
def scope(here: Edge, directory: str, number: str, section: str | None) -> Reply:
    from kedge.context.feature import brief, render

    project, feature = _load(here, directory)
    task = _task(feature, number)
    if section is not None:
        return _section(feature, section)
    warnings = list(feature.warnings)
    about = brief.make(project, feature, warnings)
    made = render.render(feature, task, about.text if about else None)
    return Reply(made.data, clean(made.text), [*warnings, *made.warnings])


@command.command("Print what the feature should know of its project.")
@syntax.argument("directory", metavar="DIR")
def brief_(here: Edge, directory: str) -> Reply:
    from kedge.context.feature import brief

    project, feature = _load(here, directory)
    warnings = list(feature.warnings)
    made = brief.make(project, feature, warnings)
    return Reply(made.data if made else None, clean(made.text) if made else None, warnings)


@command.command("Check that tasks and documents refer to each other (exit 4).")
@syntax.argument("directory", metavar="[DIR]", required=False)
def lint(here: Edge, directory: str | None) -> Reply:
    from kedge.context.feature import folder
    from kedge.context.feature.lint import lint as check
    from kedge.context.feature.lint import unreadable

    project = here.project()
    paths = (
        [folder.find(project, here.directory, directory)]
        if directory is not None
        else folder.folders(project)
    )
    warnings: list[str] = []
    found: list[Finding] = []
    for path in paths:
        try:
            feature = folder.load(project, path)
        except BrokenTasks as error:
            found.append(unreadable(path.name, error))
            continue
        warnings += feature.warnings
        found += check(feature)
    if not found:
        count = f"{len(paths)} feature{'s' if len(paths) != 1 else ''}"
        return Reply([], f"{count} checked, nothing found", warnings)
    where = {path.name: path.relative_to(project.root).as_posix() for path in paths}
    for one in found:
        place = f"{where[one.feature]}/{one.file}:{one.line}: " if one.file else ""
        write(clean(f"{place}{one.message}; {one.hint}".replace("\n", " ")) + "\n")
    here.warn(*warnings)
    raise CheckFound(
        f"{len(found)} thing{'s' if len(found) != 1 else ''} found in the documents of "
        f"{len({one.feature for one in found})} of {len(paths)} features",
        hint="each line says what to do",
        data=[one._asdict() | {"path": where[one.feature]} for one in found],
    )


def _load(here: Edge, directory: str) -> tuple[Project, Feature]:
    from kedge.context.feature import folder

    project = here.project()
    return project, folder.load(project, folder.find(project, here.directory, directory))


def _data(task: FeatureTask) -> dict[str, Any]:
    return {
        "number": task.number,
        "title": task.title,
        "line": task.line,
        "done_criteria": list(task.done_criteria),
        "references": [{"type": r.type, "id": r.id, "raw": r.raw} for r in task.references],
        "files": list(task.files),
    }


def _task(feature: Feature, number: str) -> FeatureTask:
    from kedge.tasks.feature_docs import forms

    wanted = forms.key(number)
    exact = [task for task in feature.tasks if task.number == number]
    found = exact or [task for task in feature.tasks if task.key == wanted]
    if found:
        return found[0]
    if not feature.tasks:
        raise TaskNotFound(
            f"no tasks found in {feature.name}/tasks.md",
            hint="give each task a heading such as '### Task 1.1: Title'",
        )
    from difflib import get_close_matches

    numbers = [task.number for task in feature.tasks]
    near = get_close_matches(number, numbers, n=1)
    hint = f"did you mean {near[0]}?" if near else f"kedge feature tasks {feature.name} lists them"
    raise TaskNotFound(f"no task {number!r} in {feature.name}/tasks.md", hint=hint)


def _section(feature: Feature, named: str) -> Reply:
    from kedge.context.feature import resolve
    from kedge.host import tokens

    name, sharp, heading = named.partition("#")
    artifact = next(
        (a for a in feature.artifacts.values() if name.lower() in (a.name, a.type)), None
    )
    if artifact is None:
        known = ", ".join(a.name for a in feature.artifacts.values())
        raise UsageError(f"no {name!r} in {feature.name}", hint=f"there is {known or 'nothing'}")
    if not sharp:
        text = "\n".join(artifact.document.lines)
        data = {"artifact": artifact.name, "heading": None, "line": 1, "text": text}
        return Reply(data | {"tokens": tokens.count(text)}, clean(text))
    places = [place for place in artifact.headings if place.text == heading]
    places = places or list(resolve.by_title(artifact, heading).places)
    if not places:
        raise InvalidValue(
            f"no section {heading!r} in {artifact.name}",
            hint=f"kedge feature scope {feature.name} TASK lists the sections at its end",
        )
    text = "\n".join(artifact.lines(place.line, place.last) for place in places)
    data = {"artifact": artifact.name, "heading": places[0].text, "line": places[0].line}
    return Reply(data | {"text": text, "tokens": tokens.count(text)}, clean(text))
