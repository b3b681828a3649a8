"""What a task needs of its feature's documents, and why; the rest is listed, not given.

For plan and design, each by itself, the first of these that gives something: the sections that the
task refers to; those of the same number (plan); those that its text, or its part of the plan,
names; those that its words are clearly about; the whole document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.context.feature import relevance, resolve
from kedge.context.feature.artifact import HEADING, Artifact, Place
from kedge.context.feature.folder import Feature
from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import fields, ids
from kedge.tasks.feature_docs.ids import Id
from kedge.tasks.feature_docs.reading import FeatureTask
from kedge.tasks.feature_docs.references import DESIGN, PLAN, PRD, SPEC, Reference
from kedge.tasks.feature_docs.scan import scan

_STEPS = ("STEP", "ITEM", "T", "S", "P", "")


class Given(NamedTuple):
    """A section, or without a place the whole document, and why it is given."""

    artifact: Artifact
    place: Place | None
    reason: str
    ambiguous: bool = False


class Selection(NamedTuple):
    """What is given, in the order of the documents, and references that lead nowhere."""

    given: tuple[Given, ...]
    missing: tuple[Reference, ...]


def select(feature: Feature, task: FeatureTask) -> Selection:
    given: list[Given] = []
    missing: list[Reference] = []
    parts = feature.artifacts
    plan = _plan(parts[PLAN], task, missing) if PLAN in parts else []
    if DESIGN in parts:
        given += _design(feature, task, plan, missing)
    given += plan
    if SPEC in parts:
        given.append(Given(parts[SPEC], None, "always in full"))
    if PRD in parts:
        given += _prd(parts[PRD], task)
    return Selection(tuple(given), tuple(missing))


def _plan(artifact: Artifact, task: FeatureTask, missing: list[Reference]) -> list[Given]:
    return (
        _referred(artifact, task, missing)
        or _numbered(artifact, task)
        or _relevant(artifact, task)
        or [Given(artifact, None, "whole, since nothing says which part")]
    )


def _design(
    feature: Feature, task: FeatureTask, plan: Sequence[Given], missing: list[Reference]
) -> list[Given]:
    artifact = feature.artifacts[DESIGN]
    return (
        _referred(artifact, task, missing)
        or _mentioned(artifact, task.mentions, "named in the task's text")
        or _through_plan(feature, artifact, plan)
        or _relevant(artifact, task)
        or [Given(artifact, None, "whole, since nothing says which part")]
    )


def _referred(artifact: Artifact, task: FeatureTask, missing: list[Reference]) -> list[Given]:
    mine = [one for one in task.references if one.type == artifact.type]
    given: list[Given] = []
    for one in mine:
        if one.by == "whole":
            if len(mine) == 1:
                return [Given(artifact, None, f"{one.raw}: the whole document")]
            continue
        target = resolve.resolve(one, artifact, near(task, mine))
        if not target.places:
            missing.append(one)
        reason = _reason(one, target)
        given += [Given(artifact, place, reason, target.ambiguous) for place in target.places]
    return given


def _reason(one: Reference, target: resolve.Target) -> str:
    reason = " ".join(one.raw.split())
    if target.rung == "parent":
        reason += ", by the section above it"
    if target.ambiguous:
        reason += f", ambiguous: {len(target.places)} sections fit"
    return reason


def near(task: FeatureTask, mine: Sequence[Reference]) -> list[Id]:
    """What decides between two steps of the same number: the phase that is named, or the task's."""
    named = [one.key for one in mine if one.key]
    return named or list(ids.lead(task.group).ids)


def _numbered(artifact: Artifact, task: FeatureTask) -> list[Given]:
    """The step of the task's own number, unless another is clearly more about the task."""
    number = ".".join(task.key)
    for wanted in _wider(Id("STEP", number)):
        found = [
            place
            for place in resolve.by_id(artifact, wanted).places
            if any(one.number == wanted.number and one.prefix in _STEPS for one in place.ids)
        ]
        if len(found) == 1 and not _outdone(artifact, task, found[0]):
            return [Given(artifact, found[0], f"the number of the task, {task.number}")]
    group = ids.lead(task.group)
    if task.group:
        for one in group.ids:
            places = [
                place
                for place in artifact.headings
                if any(i.number == one.number and i.prefix in (one.prefix, "") for i in place.ids)
            ]
            if len(places) == 1 and not _outdone(artifact, task, places[0]):
                return [Given(artifact, places[0], f"the number of the task's group, {one}")]
    return []


def _wider(one: Id) -> Iterator[Id]:
    yield one
    above = one.above
    if above and "." in above.number:
        yield above


def _outdone(artifact: Artifact, task: FeatureTask, place: Place) -> bool:
    scored = relevance.rank(artifact, _query(task))
    mine = max((one.score for one in scored if place.holds(one.place)), default=0.0)
    best = max((one.score for one in scored if not place.holds(one.place)), default=0.0)
    return best > 0 and mine < 0.4 * best


def _mentioned(artifact: Artifact, found: Sequence[Reference], reason: str) -> list[Given]:
    given = []
    for one in found:
        if one.type == artifact.type and one.by in ("id", "anchor", "title"):
            target = resolve.resolve(one, artifact)
            if target.rung in ("id", "anchor", "title") and not target.ambiguous:
                given.append(Given(artifact, target.places[0], f"{one.raw}, {reason}"))
    return given


def _through_plan(feature: Feature, design: Artifact, plan: Sequence[Given]) -> list[Given]:
    """The sections that the task's part of the plan refers to."""
    from kedge.context.feature.artifact import lexicon

    known = lexicon(list(feature.artifacts.values()))
    found: list[Reference] = []
    for one in plan:
        if one.place is None:
            continue
        rows = list(enumerate(one.artifact.document.prose))[one.place.line - 1 : one.place.last]
        prose = [(index, line) for index, line in rows if line is not None]
        for field in fields.read(prose):
            if field.name in fields.TRACE:
                for entry in field.entries:
                    found += scan(entry, known, field.name).references
        for _, line in prose:
            found += scan(line, known, strict=True).references
    kept = [one for one in dict.fromkeys(found) if one.type == DESIGN]
    return _mentioned(design, kept, "named in the text of the plan")


def _query(task: FeatureTask) -> dict[str, float]:
    return relevance.query(task.title, task.section.body, task.files)


def _relevant(artifact: Artifact, task: FeatureTask) -> list[Given]:
    found = relevance.clear(relevance.rank(artifact, _query(task)))
    return [Given(artifact, one.place, "the words of the task: by relevance") for one in found]


def _prd(artifact: Artifact, task: FeatureTask) -> list[Given]:
    from kedge.context.feature.extract import problem_and_goals

    extract = problem_and_goals(artifact)
    given = [Given(artifact, place, "always: problem and goals") for place in extract]
    for one in task.references:
        if one.type == PRD:
            for place in resolve.resolve(one, artifact).places:
                if not any(known.place == place for known in given):
                    given.append(Given(artifact, place, one.raw))
    return given or [Given(artifact, None, "whole: it has no section of problem or goals")]


def left_out(feature: Feature, selection: Selection) -> list[tuple[Artifact, Place, int]]:
    """The sections that are not given, as large as they come, with their tokens."""
    from kedge.host import tokens

    found: list[tuple[Artifact, Place, int]] = []
    for artifact in feature.artifacts.values():
        given = [one.place for one in selection.given if one.artifact is artifact]
        if None in given:
            continue
        places = [place for place in given if place is not None]
        skipped_to = 0
        for place in artifact.headings:
            if place.line <= skipped_to:
                continue
            if any(one.kind == HEADING and one.holds(place) for one in places):
                skipped_to = place.last
            elif not any(place.holds(one) for one in places) and not _is_title(artifact, place):
                count = tokens.count(artifact.lines(place.line, place.last))
                found.append((artifact, place, count))
                skipped_to = place.last
    return found


def _is_title(artifact: Artifact, place: Place) -> bool:
    """The heading of the whole document, which is no part of it that one would ask for."""
    heading = artifact.document.headings[place.at]
    following = place.at + 1 < len(artifact.headings)
    return heading.level == 1 and following and artifact.headings[place.at + 1].last <= place.last
