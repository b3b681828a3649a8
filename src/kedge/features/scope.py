"""Select what a task needs of its feature's documents, and say why.

For the plan and the design, each by itself, the first of these that gives something: the sections
that the task refers to; those with the task's number (plan); those that its text, or its part of
the plan, names; those that its words are clearly about; the whole document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from kedge.features import fields, relevance, resolve, section_ids
from kedge.features.artifact import HEADING, Artifact, Passage, build_lexicon
from kedge.features.feature import Feature
from kedge.features.feature_tasks import FeatureTask
from kedge.features.prd import find_problem_and_goals
from kedge.features.reference_parser import parse_references
from kedge.features.references import DESIGN, PLAN, PRD, SPEC, Reference
from kedge.features.section_ids import Id
from kedge.host import tokens

_BASICS = ("summary", "technical context")
_MOST_NAMED = 4  # sections that have the name of a file
_STEPS = ("STEP", "ITEM", "T", "S", "P", "")


class Need(IntEnum):
    """How much a task needs an excerpt: where room is short, the last ones are left out first."""

    NAMED = 1  # the task refers to it
    IMPLIED = 2  # by the task's number, or by what the task or its part of the plan mentions
    ALWAYS = 3  # every task gets it
    GUESSED = 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage, or None for the whole document, and the reason why the task needs it."""

    artifact: Artifact
    passage: Passage | None
    reason: str
    need: Need
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class OmittedSection:
    """A section that is left out, or a document without headings, with its tokens."""

    artifact: Artifact
    heading: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The excerpts, in the order of the documents, and the references that lead nowhere.

    `dropped` are excerpts that the task names and for which there was no room.
    """

    excerpts: tuple[Excerpt, ...]
    missing: tuple[Reference, ...]
    dropped: tuple[Excerpt, ...] = ()


def select_excerpts(feature: Feature, task: FeatureTask) -> Selection:
    """Select the excerpts for a task."""
    excerpts: list[Excerpt] = []
    missing: list[Reference] = []
    parts = feature.artifacts
    foreign = feature.layout.is_foreign
    plan: list[Excerpt] = []
    if PLAN in parts:
        select = _select_foreign_plan if foreign else _select_plan
        plan = select(parts[PLAN], task, missing)
    if DESIGN in parts:
        excerpts += _select_design(feature, task, plan, missing)
    excerpts += plan
    if SPEC in parts:
        own = [] if feature.layout.gives_spec else _select_references(parts[SPEC], task, missing)
        excerpts += own or [Excerpt(parts[SPEC], None, "always in full", Need.ALWAYS)]
    if PRD in parts:
        excerpts += _select_prd(parts[PRD], task)
    return Selection(tuple(excerpts), tuple(missing))


def _select_plan(artifact: Artifact, task: FeatureTask, missing: list[Reference]) -> list[Excerpt]:
    return (
        _select_references(artifact, task, missing)
        or _select_by_number(artifact, task)
        or _select_relevant(artifact, task)
        or [Excerpt(artifact, None, "whole, since nothing says which part", Need.GUESSED)]
    )


def _select_foreign_plan(
    artifact: Artifact, task: FeatureTask, missing: list[Reference]
) -> list[Excerpt]:
    """Select what a task needs of spec-kit's plan, whose chapters are not the tasks' steps."""
    always = [
        Excerpt(artifact, passage, "always: what is built, and with what", Need.ALWAYS)
        for passage in artifact.headings
        if passage.title.strip().lower() in _BASICS
    ]
    named = _select_references(artifact, task, missing) or _select_by_file(artifact, task)
    known = {one.passage for one in always}
    others = named or _select_relevant(artifact, task)
    found = [*always, *(one for one in others if one.passage not in known)]
    whole = Excerpt(artifact, None, "whole, since nothing says which part", Need.GUESSED)
    return found or [whole]


def _select_by_file(artifact: Artifact, task: FeatureTask) -> list[Excerpt]:
    """Select the innermost sections that have the name of a file of the task."""
    found: dict[Passage, str] = {}
    for path in task.files:
        name = path.rstrip("/").rpartition("/")[2]
        word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])") if len(name) > 1 else None
        for passage in artifact.headings:
            below = (one.line for one in artifact.headings if one.line > passage.line)
            own = artifact.lines(passage.line, min(passage.last, next(below, passage.last + 1) - 1))
            if word and word.search(own):
                found.setdefault(passage, f"names {path}")
    return [
        Excerpt(artifact, passage, reason, Need.IMPLIED)
        for passage, reason in list(found.items())[:_MOST_NAMED]
    ]


def _select_design(
    feature: Feature, task: FeatureTask, plan: Sequence[Excerpt], missing: list[Reference]
) -> list[Excerpt]:
    artifact = feature.artifacts[DESIGN]
    return (
        _select_references(artifact, task, missing)
        or _select_mentions(artifact, task.mentions, "named in the task's text")
        or _select_through_plan(feature, artifact, plan)
        or _select_relevant(artifact, task)
        or _select_whole_design(feature, artifact)
    )


def _select_whole_design(feature: Feature, artifact: Artifact) -> list[Excerpt]:
    """Select all of a design; none of spec-kit's data model, which most tasks do without."""
    if feature.layout.has_stories:
        return []
    return [Excerpt(artifact, None, "whole, since nothing says which part", Need.GUESSED)]


def _select_references(
    artifact: Artifact, task: FeatureTask, missing: list[Reference]
) -> list[Excerpt]:
    """Select what the task refers to; add references that lead nowhere to `missing`."""
    mine = [one for one in task.references if one.type == artifact.type]
    given: list[Excerpt] = []
    for one in mine:
        if one.by == "whole":
            if len(mine) == 1:
                return [Excerpt(artifact, None, f"{one.raw}: the whole document", Need.NAMED)]
            continue
        target = resolve.resolve_reference(one, artifact, find_near(task, mine))
        if not target.passages:
            missing.append(one)
        reason = _describe(one, target)
        given += [
            Excerpt(artifact, passage, reason, Need.NAMED, target.ambiguous)
            for passage in target.passages
        ]
    return given


def _describe(one: Reference, target: resolve.ResolvedReference) -> str:
    reason = " ".join(one.raw.split())
    if target.rung == "parent":
        reason += ", by the section above it"
    if target.ambiguous:
        reason += f", ambiguous: {len(target.passages)} sections fit"
    return reason


def find_near(task: FeatureTask, mine: Sequence[Reference]) -> list[Id]:
    """Return the ids that decide between steps of the same number: those that the task names,
    or those of its group."""
    named = [one.key for one in mine if one.key]
    return named or list(section_ids.parse_lead(task.group).ids)


def _select_by_number(artifact: Artifact, task: FeatureTask) -> list[Excerpt]:
    """Select the step with the task's number, unless others are clearly more about the task."""
    number = ".".join(task.key)
    found = [
        passage
        for passage in resolve.find_by_id(artifact, Id("STEP", number)).passages
        if any(one.number == number and one.prefix in _STEPS for one in passage.ids)
    ]
    if len(found) == 1 and not _is_outdone(artifact, task, found[0]):
        return [Excerpt(artifact, found[0], f"the number of the task, {task.number}", Need.IMPLIED)]
    for one in section_ids.parse_lead(task.group).ids:
        passages = [
            passage
            for passage in artifact.headings
            if any(i.number == one.number and i.prefix in (one.prefix, "") for i in passage.ids)
        ]
        if len(passages) == 1 and not _is_outdone(artifact, task, passages[0]):
            reason = f"the number of the task's group, {one}"
            return [Excerpt(artifact, passages[0], reason, Need.IMPLIED)]
    return []


def _is_outdone(artifact: Artifact, task: FeatureTask, passage: Passage) -> bool:
    """True if the task's words fit another section far better than this one."""
    scored = relevance.rank_units(artifact, weigh_words(task))
    mine = max((one.score for one in scored if passage.holds(one.passage)), default=0.0)
    best = max((one.score for one in scored if not passage.holds(one.passage)), default=0.0)
    return best > 0 and mine < 0.4 * best


def _select_mentions(artifact: Artifact, found: Sequence[Reference], reason: str) -> list[Excerpt]:
    given = []
    for one in found:
        if one.type == artifact.type and one.by in ("id", "anchor", "title"):
            target = resolve.resolve_reference(one, artifact)
            if target.rung in ("id", "anchor", "title") and not target.ambiguous:
                why = f"{one.raw}, {reason}"
                given.append(Excerpt(artifact, target.passages[0], why, Need.IMPLIED))
    return given


def _select_through_plan(
    feature: Feature, design: Artifact, plan: Sequence[Excerpt]
) -> list[Excerpt]:
    """Select the sections that the task's part of the plan refers to."""
    known = build_lexicon(feature.artifacts.values())
    found: list[Reference] = []
    for one in plan:
        if one.passage is None:
            continue
        rows = list(enumerate(one.artifact.document.prose))[one.passage.line - 1 : one.passage.last]
        prose = [(index, line) for index, line in rows if line is not None]
        for field in fields.read_fields(prose):
            if field.name in fields.TRACE:
                for entry in field.entries:
                    found += parse_references(entry, known, field.name).references
        for _, line in prose:
            found += parse_references(line, known, strict=True).references
    kept = [one for one in dict.fromkeys(found) if one.type == DESIGN]
    return _select_mentions(design, kept, "named in the text of the plan")


def weigh_words(task: FeatureTask) -> dict[str, float]:
    """Return the words of a task with their weights."""
    return relevance.weigh_task(task.title, task.section.body, task.files)


def _select_relevant(artifact: Artifact, task: FeatureTask) -> list[Excerpt]:
    found = relevance.pick_clear(relevance.rank_units(artifact, weigh_words(task)))
    reason = "the words of the task: by relevance"
    return [Excerpt(artifact, one.passage, reason, Need.GUESSED) for one in found]


def _select_prd(artifact: Artifact, task: FeatureTask) -> list[Excerpt]:
    extract = find_problem_and_goals(artifact)
    why = "always: problem and goals"
    given = [Excerpt(artifact, passage, why, Need.ALWAYS) for passage in extract]
    for one in task.references:
        if one.type == PRD:
            for passage in resolve.resolve_reference(one, artifact).passages:
                if not any(known.passage == passage for known in given):
                    given.append(Excerpt(artifact, passage, one.raw, Need.NAMED))
    whole = "whole: it has no section of problem or goals"
    return given or [Excerpt(artifact, None, whole, Need.ALWAYS)]


def list_omitted(feature: Feature, selection: Selection) -> list[OmittedSection]:
    """Return the sections that were not selected, the outermost ones, with their tokens."""
    found: list[OmittedSection] = []
    for artifact in feature.artifacts.values():
        given = [one.passage for one in selection.excerpts if one.artifact is artifact]
        if None in given:
            continue
        passages = [passage for passage in given if passage is not None]
        skipped_to = 0
        if not given and not artifact.headings:
            found.append(OmittedSection(artifact, artifact.name, tokens.count(artifact.text)))
        for passage in artifact.headings:
            if passage.line <= skipped_to:
                continue
            if any(one.kind == HEADING and one.holds(passage) for one in passages):
                skipped_to = passage.last
            elif not any(passage.holds(one) for one in passages) and not is_title(
                artifact, passage
            ):
                count = tokens.count(artifact.lines(passage.line, passage.last))
                found.append(OmittedSection(artifact, passage.text, count))
                skipped_to = passage.last
    return found


def is_title(artifact: Artifact, passage: Passage) -> bool:
    """True for the title of the whole document."""
    heading = artifact.document.headings[passage.at]
    following = passage.at + 1 < len(artifact.headings)
    return (
        heading.level == 1 and following and artifact.headings[passage.at + 1].last <= passage.last
    )
