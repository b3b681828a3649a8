"""Check how a feature's tasks and documents refer to each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import BrokenTasks
from kedge.features import resolve, scope, section_ids
from kedge.features.artifact import HEADING, Artifact, Passage
from kedge.features.criteria import find_criterion
from kedge.features.feature import Feature
from kedge.features.feature_tasks import FeatureTask
from kedge.features.folders import TASKS
from kedge.features.references import DESIGN, PLAN, SPEC, Reference
from kedge.features.section_ids import Id
from kedge.features.task_entries import read_entries
from kedge.model.status_words import status_of
from kedge.model.task import Status

_WHY = "**Why:** Implements Plan Step 1.1 / Design C1"
_CODE = re.compile(rf"(?<![\w.]){section_ids.CODE}(?!\w)")


@dataclass(frozen=True, slots=True)
class LintProblem:
    """A problem in a line of a feature's file, and what to do about it."""

    rule: str
    feature: str
    file: str
    line: int
    message: str
    hint: str


def lint_feature(feature: Feature) -> list[LintProblem]:
    """Return the problems of a feature, sorted by line, components without a task last."""
    if feature.tasks_text is None:
        return [_problem(feature, "no-tasks", TASKS, 1, "is missing", "write the tasks there")]
    if not feature.tasks:
        how = f"give each task {feature.layout.example}"
        return [_problem(feature, "no-tasks", TASKS, 1, "no tasks found", how)]
    found = [*_find_duplicates(feature)]
    covered: dict[int, Passage] = {}
    written = {type_: _find_ids(artifact) for type_, artifact in feature.artifacts.items()}
    for task in feature.tasks:
        found += _check_task(feature, task, covered, written)
    found.sort(key=lambda problem: problem.line)
    return [*found, *_find_uncovered(feature, list(covered.values()))]


def is_finished(feature: Feature) -> bool:
    """True if the feature's `.meta.json` says so, or if all of its tasks are done."""
    word = feature.meta.get("status")
    status = status_of(word) if isinstance(word, str) else None
    if status in (Status.DONE, Status.FAILED):
        return True
    entries, _ = read_entries(feature.tasks_text or "", "feature", Status.OPEN, feature.layout)
    return bool(entries) and all(one.task.status is Status.DONE for one in entries.values())


def describe_unreadable(name: str, error: BrokenTasks) -> LintProblem:
    """Return the problem of a feature whose documents cannot be read."""
    return LintProblem("unreadable", name, "", 1, error.message, error.hint or "repair the file")


def _problem(
    feature: Feature, rule: str, file: str, line: int, message: str, hint: str
) -> LintProblem:
    return LintProblem(rule, feature.name, file, line, message, hint)


def _find_duplicates(feature: Feature) -> Iterator[LintProblem]:
    first: dict[tuple[str, ...], FeatureTask] = {}
    for task in feature.tasks:
        other = first.setdefault(task.key, task)
        if other is not task:
            message = f"task {task.number} is already defined in line {other.line}"
            yield _problem(
                feature, "duplicate-number", TASKS, task.line, message, "give it another number"
            )


def _check_task(
    feature: Feature, task: FeatureTask, covered: dict[int, Passage], written: Mapping[str, set[Id]]
) -> Iterator[LintProblem]:
    if not task.references:
        yield from _check_trace(feature, task)
    for one in task.references:
        artifact = feature.artifacts.get(one.type)
        if artifact is None:
            message = f"task {task.number} refers to {one.raw!r}, but there is no {one.type}.md"
            yield _problem(
                feature, "no-document", TASKS, task.line, message, "write it, or drop the reference"
            )
        elif one.by != "whole":
            mine = [other for other in task.references if other.type == one.type]
            target = resolve.resolve_reference(one, artifact, scope.find_near(task, mine))
            if artifact.type == DESIGN:
                covered.update({passage.line: passage for passage in target.passages})
            known = target.passages or one.key in written[one.type]
            if target.ambiguous or not known or _lacks_criterion(feature, artifact, one):
                yield _describe(feature, task, one, artifact, target)


def _check_trace(feature: Feature, task: FeatureTask) -> Iterator[LintProblem]:
    """Yield the problem of a task without references, where tasks are to have some."""
    layout = feature.layout
    types = (SPEC,) if layout.has_criteria else () if layout.is_foreign else (DESIGN, PLAN)
    linkable = [feature.artifacts[one].name for one in types if one in feature.artifacts]
    is_pause = task.section.is_group or "checkpoint" in task.title.lower()
    if linkable and not (is_pause and layout.is_foreign):
        how = "_Requirements: 1.2_" if layout.has_criteria else _WHY
        message = f"task {task.number} refers to no section of {' or '.join(linkable)}"
        hint = f"add a line such as {how}"
        yield _problem(feature, "no-trace", TASKS, task.line, message, hint)


def _lacks_criterion(feature: Feature, artifact: Artifact, one: Reference) -> bool:
    """True if a requirement has no criterion of the number that a task refers to."""
    if not feature.layout.has_criteria or artifact.type != SPEC:
        return False
    key = one.key
    return key is not None and key.parent is not None and find_criterion(artifact, key) is None


def _describe(
    feature: Feature,
    task: FeatureTask,
    one: Reference,
    artifact: Artifact,
    target: resolve.ResolvedReference,
) -> LintProblem:
    if target.ambiguous:
        lines = " and ".join(str(passage.line) for passage in target.passages)
        message = f"{one.raw!r} in task {task.number} fits lines {lines} of {artifact.name}"
        hint = "give the sections different ids, or name the title"
        return _problem(feature, "ambiguous-reference", TASKS, task.line, message, hint)
    message = f"{one.raw!r} in task {task.number} is nowhere in {artifact.name}"
    hint = "correct the reference, or add the section"
    return _problem(feature, "dangling-reference", TASKS, task.line, message, hint)


def _find_ids(artifact: Artifact) -> set[Id]:
    """Return all ids in the text of a spec or a PRD, where an id needs no section of its own."""
    if artifact.type in (DESIGN, PLAN):
        return set()
    return {
        section_ids.make_id(found["prefix"], found["number"])
        for found in _CODE.finditer(artifact.text)
    }


def _find_uncovered(feature: Feature, covered: Sequence[Passage]) -> Iterator[LintProblem]:
    """Yield the components of the design that no task refers to."""
    artifact = feature.artifacts.get(DESIGN)
    if artifact is None or not covered or feature.layout.is_foreign:
        return
    for passage in find_components(artifact):
        if not any(one.holds(passage) or passage.holds(one) for one in covered):
            yield _problem(
                feature,
                "uncovered-component",
                artifact.name,
                passage.line,
                f"no task refers to {passage.text!r}",
                "add a task, or name it in the task that does it",
            )


def find_components(artifact: Artifact) -> list[Passage]:
    """Return the components of a design: by their ids, or else the sections under "Components"."""
    coded = [
        p for p in artifact.headings if any(one.prefix in ("C", "DC") for one in (*p.ids, *p.tail))
    ]
    if coded:
        return [p for p in coded if not any(o is not p and o.holds(p) for o in coded)]
    above = [p for p in artifact.headings if re.fullmatch(r"components?", p.title.strip().lower())]
    if above:
        at = above[0].at
        return [p for p in artifact.headings if artifact.document.headings[p.at].parent == at]
    items = [p for p in artifact.passages if p.kind != HEADING]
    return [p for p in items if any(one.prefix == "C" for one in p.ids)]
