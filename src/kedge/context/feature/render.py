"""The context of a task as text: what is given, each part with its reason, and what is left out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kedge.context.feature import scope
from kedge.context.feature.artifact import HEADING, ROW, Artifact, Place
from kedge.context.feature.folder import TASKS, Feature
from kedge.context.feature.scope import Given, Selection
from kedge.host import tokens
from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import markdown
from kedge.tasks.feature_docs.reading import FeatureTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Scope(NamedTuple):
    text: str
    data: dict[str, Any]
    warnings: tuple[str, ...]


def render(feature: Feature, task: FeatureTask, brief: str | None) -> Scope:
    selection = scope.select(feature, task)
    out = scope.left_out(feature, selection)
    pieces = [f"=== {TASKS}:{task.line} · task {task.number}", _block(feature, task)]
    for artifact in feature.artifacts.values():
        pieces += _document(artifact, [g for g in selection.given if g.artifact is artifact])
    if brief:
        pieces += ["=== the project", brief]
    pieces += _notes(feature, task, selection, out)
    text = "\n".join(pieces) + "\n"
    full = [feature.tasks_text or "", *(a.text for a in feature.artifacts.values())]
    return Scope(
        text,
        {
            "text": text,
            "tokens": tokens.count(text),
            "full_tokens": sum(tokens.count(one) for one in full),
            "sections": [_section(given) for given in selection.given],
            "left_out": [
                {"artifact": artifact.name, "heading": place.text, "tokens": count}
                for artifact, place, count in out
            ],
        },
        tuple(_warnings(feature, task, selection)),
    )


def _block(feature: Feature, task: FeatureTask) -> str:
    """The task as the document has it; a row with the head of its table."""
    lines = markdown.split(feature.tasks_text or "")
    part = lines[task.section.line - 1 : task.section.end_line]
    if task.section.cells:
        at = task.section.line - 1
        while at > 0 and "|" in lines[at - 1]:
            at -= 1
        part = [*lines[at : at + 2], *part]
    return "\n".join(part)


def _document(artifact: Artifact, given: Sequence[Given]) -> Iterator[str]:
    """The given parts of one document, in its order, each below the headings above it."""
    whole = next((one for one in given if one.place is None), None)
    if whole:
        yield f"=== {artifact.name} · {whole.reason}"
        yield "\n".join(artifact.document.lines).strip("\n")
        return
    shown: set[int] = set()
    done = head = 0
    places = sorted(
        ((one.place, one.reason) for one in given if one.place),
        key=lambda pair: (pair[0].line, -pair[0].last),
    )
    for place, _ in places:
        if place.last <= done:
            continue
        reasons = dict.fromkeys(reason for one, reason in places if place.holds(one))
        yield f"=== {artifact.name}:{place.line} · {'; '.join(reasons)}"
        path = artifact.document.path(place.at)
        for heading in path[:-1] if place.kind == HEADING else path:
            if heading.line not in shown:
                shown.add(heading.line)
                yield artifact.lines(heading.line, heading.end)
        if place.kind == ROW and head != place.head:
            head = place.head
            yield artifact.lines(head, head + 1)
        yield artifact.lines(place.line, place.last)
        done = place.last


def _notes(
    feature: Feature,
    task: FeatureTask,
    selection: Selection,
    out: Sequence[tuple[Artifact, Place, int]],
) -> Iterator[str]:
    for one in selection.missing:
        yield f"=== {feature.artifacts[one.type].name} has no section for {one.raw!r}"
    if not out:
        return
    command = f"kedge feature scope {shlex.quote(feature.name)} {shlex.quote(task.number)}"
    yield f"=== left out (tokens): {command} --section 'FILE#HEADING' prints one, FILE alone all"
    for artifact in feature.artifacts.values():
        listed = [f"{p.text} ({count})" for a, p, count in out if a is artifact]
        if listed:
            yield f"{artifact.name}: " + "; ".join(listed)


def _section(given: Given) -> dict[str, Any]:
    place = given.place
    return {
        "artifact": given.artifact.name,
        "heading": place.text if place else None,
        "line": place.line if place else 1,
        "reason": given.reason,
        "ambiguous": given.ambiguous,
    }


def _warnings(feature: Feature, task: FeatureTask, selection: Selection) -> Iterator[str]:
    place = f"{feature.name}/{TASKS}:{task.line}"
    for one in selection.missing:
        name = feature.artifacts[one.type].name
        yield f"{place}: {one.raw!r} leads nowhere in {name}"
    absent = {one.type for one in task.references} - set(feature.artifacts)
    for type_ in sorted(absent):
        yield f"{place}: it refers to {type_}.md, which is missing"
    same = [other.line for other in feature.tasks if other.key == task.key]
    if len(same) > 1:
        lines = ", ".join(map(str, same))
        yield f"{feature.name}/{TASKS}: task {task.number} is in lines {lines}; this is the first"
