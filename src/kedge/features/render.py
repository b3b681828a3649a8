"""Print a task's scope: the excerpts with their reasons, and a list of what was left out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.errors import InvalidValue, UsageError
from kedge.features import resolve, scope
from kedge.features.artifact import ROW, Artifact
from kedge.features.feature import Feature
from kedge.features.feature_tasks import FeatureTask
from kedge.features.folders import TASKS
from kedge.features.room import fit_selection
from kedge.features.scope import Excerpt, OmittedSection, Selection
from kedge.host import tokens
from kedge.host.text import count_noun
from kedge.text import markdown

_TRIES = 6  # at a length that is estimated before it is counted


@dataclass(frozen=True, slots=True)
class RenderedScope:
    """What a task needs of its feature's documents, as text."""

    feature: Feature
    selection: Selection
    omitted: tuple[OmittedSection, ...]
    text: str
    tokens: int
    warnings: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Return the data of `kedge feature scope --json`."""
        documents = (one.text for one in self.feature.artifacts.values())
        full = (self.feature.tasks_text or "", *documents)
        return {
            "text": self.text,
            "tokens": self.tokens,
            "full_tokens": sum(map(tokens.count, full)),
            "sections": [_excerpt_data(one) for one in self.selection.excerpts],
            "left_out": [
                {"artifact": one.artifact.name, "heading": one.heading, "tokens": one.tokens}
                for one in self.omitted
            ],
        }


def render_scope(feature: Feature, task: FeatureTask, brief: str | None) -> RenderedScope:
    """Render what a task needs of its feature's documents, and the project's brief."""
    return _render(feature, task, brief, scope.select_excerpts(feature, task))


def fit_scope(
    feature: Feature, task: FeatureTask, brief: str | None, room: int
) -> RenderedScope | None:
    """Render as much of the scope as has room, by section; None if even the task has none.

    The list of what was left out is always there. Where it would take too much of the room
    itself, it has a line for each document.
    """
    whole = scope.select_excerpts(feature, task)
    spare = room
    for _ in range(_TRIES):
        made = _render(feature, task, brief, fit_selection(task, whole, spare), room // 4)
        over = made.tokens - room
        if over <= 0:
            return made
        if spare <= 0:
            break
        spare = max(0, spare - over)
    return None


def _render(
    feature: Feature,
    task: FeatureTask,
    brief: str | None,
    selection: Selection,
    most_list: int | None = None,
) -> RenderedScope:
    omitted = scope.list_omitted(feature, selection)
    pieces = [f"=== {TASKS}:{task.line} · task {task.number}", _render_task(feature, task)]
    for artifact in feature.artifacts.values():
        excerpts = [one for one in selection.excerpts if one.artifact is artifact]
        pieces += _render_excerpts(artifact, excerpts)
    if brief:
        pieces += ["=== the project", brief]
    notes = list(_render_notes(feature, task, selection, omitted))
    if most_list is not None and tokens.count("\n".join(notes)) > most_list:
        notes = list(_render_notes(feature, task, selection, omitted, short=True))
    text = "\n".join([*pieces, *notes]) + "\n"
    problems = tuple(_find_problems(feature, task, selection))
    count = tokens.count(text)
    return RenderedScope(feature, selection, tuple(omitted), text, count, problems)


def render_section(feature: Feature, name: str) -> dict[str, Any]:
    """Return one section as `FILE#HEADING` names it, or with `FILE` the whole document."""
    file, sharp, heading = name.partition("#")
    artifact = next(
        (one for one in feature.artifacts.values() if file.lower() in (one.name, one.type)), None
    )
    if artifact is None:
        known = ", ".join(one.name for one in feature.artifacts.values())
        hint = f"its documents: {known}" if known else "the feature has no documents"
        raise UsageError(f"no document {file!r} in {feature.name}", hint=hint)
    data: dict[str, Any] = {"artifact": artifact.name, "heading": None, "line": 1}
    text = "\n".join(artifact.document.lines)
    if sharp:
        passages = [one for one in artifact.headings if one.text == heading]
        passages = passages or list(resolve.find_by_title(artifact, heading).passages)
        if not passages:
            raise InvalidValue(
                f"no section {heading!r} in {artifact.name}",
                hint=f"kedge feature scope {feature.name} TASK lists the sections at the end",
            )
        text = "\n".join(artifact.lines(one.line, one.last) for one in passages)
        data |= {"heading": passages[0].text, "line": passages[0].line}
    return data | {"text": text, "tokens": tokens.count(text)}


def _render_task(feature: Feature, task: FeatureTask) -> str:
    """Return the task's part of tasks.md; a row with the head of its table."""
    lines = markdown.split_lines(feature.tasks_text or "")
    part = lines[task.section.line - 1 : task.section.end_line]
    if task.section.cells:
        at = task.section.line - 1
        while at > 0 and "|" in lines[at - 1]:
            at -= 1
        part = [*lines[at : at + 2], *part]
    return "\n".join(part)


def _render_excerpts(artifact: Artifact, excerpts: Sequence[Excerpt]) -> Iterator[str]:
    """Yield the excerpts of one document, in its order, each under its headings."""
    whole = next((one for one in excerpts if one.passage is None), None)
    if whole:
        yield f"=== {artifact.name} · {whole.reason}"
        yield "\n".join(artifact.document.lines).strip("\n")
        return
    shown: set[int] = set()
    done = head = 0
    passages = sorted(
        ((one.passage, one.reason) for one in excerpts if one.passage),
        key=lambda pair: (pair[0].line, -pair[0].last),
    )
    for passage, _ in passages:
        if passage.last <= done:
            continue
        reasons = dict.fromkeys(reason for one, reason in passages if passage.holds(one))
        yield f"=== {artifact.name}:{passage.line} · {'; '.join(reasons)}"
        for heading in artifact.headings_above(passage):
            if heading.line not in shown:
                shown.add(heading.line)
                yield artifact.lines(heading.line, heading.end)
        if passage.kind == ROW and head != passage.head:
            head = passage.head
            yield artifact.lines(head, head + 1)
        yield artifact.lines(passage.line, passage.last)
        shown.add(passage.line)
        done = passage.last


def _render_notes(
    feature: Feature,
    task: FeatureTask,
    selection: Selection,
    omitted: Sequence[OmittedSection],
    *,
    short: bool = False,
) -> Iterator[str]:
    """Yield what is missing, and what was left out with the command that prints it."""
    for one in selection.missing:
        yield f"=== {feature.artifacts[one.type].name} has no section for {one.raw!r}"
    for excerpt in selection.dropped:
        yield f"=== too long for this text, read it: {excerpt.artifact.name}: {excerpt.reason}"
    if not omitted:
        return
    command = f"kedge feature scope {shlex.quote(feature.name)} {shlex.quote(task.number)}"
    yield f"=== left out (tokens): {command} --section 'FILE#HEADING' prints one, FILE alone all"
    for artifact in feature.artifacts.values():
        mine = [one for one in omitted if one.artifact is artifact]
        if mine and short:
            total = sum(one.tokens for one in mine)
            yield f"{artifact.name}: {count_noun(len(mine), 'section')} ({total})"
        elif mine:
            yield f"{artifact.name}: " + "; ".join(f"{one.heading} ({one.tokens})" for one in mine)


def _excerpt_data(excerpt: Excerpt) -> dict[str, Any]:
    passage = excerpt.passage
    return {
        "artifact": excerpt.artifact.name,
        "heading": passage.text if passage else None,
        "line": passage.line if passage else 1,
        "reason": excerpt.reason,
        "ambiguous": excerpt.ambiguous,
    }


def _find_problems(feature: Feature, task: FeatureTask, selection: Selection) -> Iterator[str]:
    where = f"{feature.name}/{TASKS}:{task.line}"
    for one in selection.missing:
        name = feature.artifacts[one.type].name
        yield f"{where}: {one.raw!r} leads nowhere in {name}"
    absent = {one.type for one in task.references} - set(feature.artifacts)
    for type_ in sorted(absent):
        yield f"{where}: it refers to {type_}.md, which is missing"
    same = [other.line for other in feature.tasks if other.key == task.key]
    if len(same) > 1:
        lines = ", ".join(map(str, same))
        yield f"{feature.name}/{TASKS}: task {task.number} is in lines {lines}; this is the first"
