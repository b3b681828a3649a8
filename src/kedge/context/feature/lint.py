"""What is wrong with how a feature's tasks refer to its documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kedge.context.feature import resolve, scope
from kedge.context.feature.artifact import HEADING, Artifact, Place
from kedge.context.feature.folder import TASKS, Feature
from kedge.errors import BrokenTasks
from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import ids
from kedge.tasks.feature_docs.ids import Id
from kedge.tasks.feature_docs.reading import FeatureTask
from kedge.tasks.feature_docs.references import DESIGN, PLAN, Reference

_CODE = re.compile(rf"(?<![\w.]){ids.CODE}(?!\w)")


class Finding(NamedTuple):
    rule: str
    feature: str
    file: str
    line: int
    message: str
    hint: str


def lint(feature: Feature) -> list[Finding]:
    """Findings in the order of the documents."""
    if feature.tasks_text is None:
        return [_finding(feature, "no-tasks", TASKS, 1, "is missing", "write the tasks there")]
    if not feature.tasks:
        how = "give each task a heading such as '### Task 1.1: Title'"
        return [_finding(feature, "no-tasks", TASKS, 1, "no tasks found", how)]
    found = [*_duplicates(feature)]
    covered: dict[int, Place] = {}
    said = {type_: _said(artifact) for type_, artifact in feature.artifacts.items()}
    for task in feature.tasks:
        found += _task(feature, task, covered, said)
    found.sort(key=lambda finding: finding.line)
    return [*found, *_uncovered(feature, list(covered.values()))]


def unreadable(name: str, error: BrokenTasks) -> Finding:
    """A feature with a document that cannot be read; the error's message has the place in it."""
    return Finding("unreadable", name, "", 1, error.message, error.hint or "mend the file")


def _finding(feature: Feature, rule: str, file: str, line: int, message: str, hint: str) -> Finding:
    return Finding(rule, feature.name, file, line, message, hint)


def _duplicates(feature: Feature) -> Iterator[Finding]:
    first: dict[tuple[str, ...], FeatureTask] = {}
    for task in feature.tasks:
        other = first.setdefault(task.key, task)
        if other is not task:
            message = f"task {task.number} is the task of line {other.line} already"
            yield _finding(
                feature, "duplicate-number", TASKS, task.line, message, "give it another number"
            )


def _task(
    feature: Feature, task: FeatureTask, covered: dict[int, Place], said: Mapping[str, set[Id]]
) -> Iterator[Finding]:
    linkable = [f"{n}.md" for n in (DESIGN, PLAN) if n in feature.artifacts]
    if not task.references and linkable:
        yield _finding(
            feature,
            "no-trace",
            TASKS,
            task.line,
            f"task {task.number} refers to no section of {' or '.join(linkable)}",
            "add a line such as **Why:** Implements Plan Step 1.1 / Design C1",
        )
    for one in task.references:
        artifact = feature.artifacts.get(one.type)
        if artifact is None:
            message = f"task {task.number} refers to {one.raw!r}, but there is no {one.type}.md"
            yield _finding(
                feature, "no-document", TASKS, task.line, message, "write it, or drop the reference"
            )
        elif one.by != "whole":
            mine = [other for other in task.references if other.type == one.type]
            target = resolve.resolve(one, artifact, scope.near(task, mine))
            if artifact.type == DESIGN:
                covered.update({place.line: place for place in target.places})
            if target.ambiguous or not (target.places or one.key in said[one.type]):
                yield _reference(feature, task, one, artifact, target)


def _reference(
    feature: Feature, task: FeatureTask, one: Reference, artifact: Artifact, target: resolve.Target
) -> Finding:
    if target.places:
        lines = " and ".join(str(place.line) for place in target.places)
        message = f"{one.raw!r} in task {task.number} fits lines {lines} of {artifact.name}"
        hint = "give the sections different ids, or name the title"
        return _finding(feature, "ambiguous-reference", TASKS, task.line, message, hint)
    message = f"{one.raw!r} in task {task.number} is nowhere in {artifact.name}"
    hint = "correct the reference, or add the section"
    return _finding(feature, "dangling-reference", TASKS, task.line, message, hint)


def _said(artifact: Artifact) -> set[Id]:
    """Spec and PRD are given in full or by extract: there, an id may stand anywhere in the text."""
    if artifact.type in (DESIGN, PLAN):
        return set()
    return {ids.make(found["prefix"], found["number"]) for found in _CODE.finditer(artifact.text)}


def _uncovered(feature: Feature, covered: Sequence[Place]) -> Iterator[Finding]:
    artifact = feature.artifacts.get(DESIGN)
    if artifact is None or not covered:
        return
    for place in components(artifact):
        if not any(one.holds(place) or place.holds(one) for one in covered):
            yield _finding(
                feature,
                "uncovered-component",
                artifact.name,
                place.line,
                f"no task refers to {place.text!r}",
                "add a task, or name it in the task that does it",
            )


def components(artifact: Artifact) -> list[Place]:
    """The components of a design: by their ids, or else the sections below "Components"."""
    coded = [
        p for p in artifact.headings if any(one.prefix in ("C", "DC") for one in (*p.ids, *p.tail))
    ]
    if coded:
        return [p for p in coded if not any(o is not p and o.holds(p) for o in coded)]
    above = [p for p in artifact.headings if re.fullmatch(r"components?", p.title.strip().lower())]
    if above:
        at = above[0].at
        return [p for p in artifact.headings if artifact.document.headings[p.at].above == at]
    items = [p for p in artifact.places if p.kind != HEADING]
    return [p for p in items if any(one.prefix == "C" for one in p.ids)]
