"""What a role is given about its subject: the scope of a task, or a phase with its documents."""

from __future__ import annotations

from pathlib import Path

from kedge.cli.edge import Edge
from kedge.errors import KedgeError
from kedge.handoff.snapshot import snapshots
from kedge.host import tokens
from kedge.host.project import Project
from kedge.knowledge.reviews import outcome, records
from kedge.knowledge.topic import Topic, find_topic
from kedge.settings import Settings
from kedge.text.fences import mark_around

_MOST_TOKENS = 12_000  # of documents that are printed in full
_SPECIFY, _DESIGN, _PLAN, _TASKS, _IMPLEMENT = records.PHASES
# The document of a phase, and those that it is based on.
_DOCUMENTS = {
    _SPECIFY: ("spec.md", "prd.md"),
    _DESIGN: ("design.md", "spec.md"),
    _PLAN: ("plan.md", "design.md"),
    _TASKS: ("tasks.md", "plan.md"),
    _IMPLEMENT: ("implementation-log.md", "tasks.md"),
}
_NEXT = {
    _SPECIFY: "The design needs requirements that can be tested, and what is out of scope.",
    _DESIGN: "The plan needs components, interfaces and decisions that it can put in an order.",
    _PLAN: "The tasks need steps with their dependencies, and how each is shown to be done.",
    _TASKS: "The implementation needs tasks with done criteria, and what each is based on.",
    _IMPLEMENT: "The merge needs work that meets every criterion, and nothing that was not asked.",
}


def render_subject(
    edge: Edge, project: Project, settings: Settings, role: str, named: str, phase: str | None
) -> str:
    """Return what the role needs to know about the subject; empty if it is not known here."""
    try:
        topic = find_topic(project, named, settings=settings.tasks, here=edge.directory)
        if role == "implementer":
            return _render_scope(edge, project, settings, topic)
        if role.endswith("reviewer"):
            return _render_phase(edge, project, topic, phase)
    except KedgeError as error:
        edge.warn(f"the prompt says nothing about {named}: {error.message}")
    return ""


def _render_scope(edge: Edge, project: Project, settings: Settings, topic: Topic) -> str:
    """Return the sections that the task needs; without documents, the task's own prompt."""
    from kedge.context import prompt
    from kedge.context.workspace import Workspace
    from kedge.features import brief, render
    from kedge.features.feature import load_feature
    from kedge.tasks import rules

    if topic.task is None:
        return ""
    if topic.folder is not None:
        feature = load_feature(project, project.path(*topic.folder.split("/")))
        if any(one.number == topic.number for one in feature.tasks):
            warnings = list(feature.warnings)
            about = brief.make_brief(project, feature, warnings)
            task = feature.find_task(topic.number)
            scoped = render.render_scope(feature, task, about.text if about else None)
            edge.warn(*warnings, *scoped.warnings)
            return f"\n## The task and what it needs\n\n{scoped.text}"
    place = Workspace(project, settings, topic.task)
    made = prompt.make(place, rules.find(place.tasks, topic.task))
    edge.warn(*made.warnings)
    return f"\n{made.text}"


def _render_phase(edge: Edge, project: Project, topic: Topic, phase: str | None) -> str:
    past, warnings = records.read_reviews(project, topic)
    edge.warn(*topic.warnings, *warnings)
    folder = project.path(*topic.folder.split("/")) if topic.folder else None
    known = phase or _guess_phase(topic, folder, [one.phase for one in past])
    rows = [f"\n## Phase\n\n{known}: {_NEXT[known]}\n"]
    if topic.folder:
        rows.append(f"Feature: {topic.folder}\n")
    # Reviews of a task have no phase.
    about = outcome.latest_reviews(past, phase=known) or outcome.latest_reviews(past)
    if about:
        tree = snapshots.read_tree(project) if project.repo is not None else None
        rows.append(outcome.render_outcome(past, phase=about[-1].phase, tree=tree))
    if folder is not None:
        rows += _render_documents(project, folder, topic.folder or "", _DOCUMENTS[known])
    return "\n".join(rows)


def _guess_phase(topic: Topic, folder: Path | None, reviewed: list[str | None]) -> str:
    """Return the phase of the last review, else that of the latest document."""
    named = [one for one in reviewed if one]
    if topic.task is not None or folder is None:
        return _IMPLEMENT
    if named:
        return named[-1]
    there = [one for one in records.PHASES if (folder / _DOCUMENTS[one][0]).is_file()]
    return there[-1] if there else _SPECIFY


def _render_documents(
    project: Project, folder: Path, shown: str, names: tuple[str, ...]
) -> list[str]:
    """Return the documents in full; one that is too long is named only."""
    from kedge.features.folders import read_document

    rows = ["## Documents\n"]
    left = _MOST_TOKENS
    for name in names:
        text = read_document(project.root, folder / name)
        if text is None:
            rows.append(f"{shown}/{name} does not exist.\n")
            continue
        size = tokens.count(text)
        if size > left:
            rows.append(f"{shown}/{name} ({size:,} tokens): read it in the file.\n")
            continue
        left -= size
        fence = mark_around(text, "~")
        rows.append(f"{shown}/{name}:\n\n{fence}markdown\n{text.rstrip()}\n{fence}\n")
    return rows
