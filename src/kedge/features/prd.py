"""The problem and the goals of a PRD, which every task gets."""

from __future__ import annotations

import re

from kedge.features.artifact import Artifact, Passage
from kedge.features.references import normalize_title

_PROBLEM = re.compile(r"(?:the )?problems?\b|what (?:is|s) wrong|pain points?\b")
_GOALS = re.compile(r"(?:\w+ )?(?:goals?|objectives?)\b|what we want\b")
_NOT = re.compile(r"(?:non|not|anti|out of scope)\b")
_INSTEAD = re.compile(r"(?:background|context|motivation|why|overview|summary|introduction)\b")


def find_problem_and_goals(artifact: Artifact) -> list[Passage]:
    """Return the sections titled as problem and goals, or else the background or overview."""
    problem = _find_first(artifact, _PROBLEM)
    goals = _find_first(artifact, _GOALS)
    if problem is None and goals is None:
        first = _find_first(artifact, _INSTEAD)
        return [first] if first else []
    if problem is None and goals and not _PROBLEM.search(normalize_title(goals.title)):
        problem = _find_first(artifact, _INSTEAD)
    by_line = {passage.line: passage for passage in (problem, goals) if passage is not None}
    return [by_line[line] for line in sorted(by_line)]


def _find_first(artifact: Artifact, pattern: re.Pattern[str]) -> Passage | None:
    """Return the first section of the highest level whose title matches."""
    levels = [heading.level for heading in artifact.document.headings]
    found = []
    for passage in artifact.headings:
        title = normalize_title(passage.title or passage.text)
        alone = levels[passage.at] == 1 and levels.count(1) == 1
        if not alone and not _NOT.match(title) and pattern.match(title):
            found.append((levels[passage.at], passage.line, passage))
    return min(found)[2] if found else None
