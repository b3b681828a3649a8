"""The part of a PRD that every task gets: the problem and the goals."""

from __future__ import annotations

import re

from kedge.context.feature.artifact import Artifact, Place
from kedge.tasks.feature_docs.references import normal

_PROBLEM = re.compile(r"(?:the )?problems?\b|what (?:is|s) wrong|pain points?\b")
_GOALS = re.compile(r"(?:\w+ )?(?:goals?|objectives?)\b|what we want\b")
_NOT = re.compile(r"(?:non|not|anti|out of scope)\b")
_INSTEAD = re.compile(r"(?:background|context|motivation|why|overview|summary|introduction)\b")
_PARTS = re.compile(r"\b(?:problems?|goals?|objectives?)\b")


def problem_and_goals(artifact: Artifact) -> list[Place]:
    """Sections by their titles, the highest and first of each; another word where there is none."""
    problem = _first(artifact, _PROBLEM)
    goals = _first(artifact, _GOALS)
    if problem is None and goals is None:
        first = _first(artifact, _INSTEAD)
        return [first] if first else []
    if problem is None and goals and not _PROBLEM.search(normal(goals.title)):
        problem = _first(artifact, _INSTEAD)
    found = [place for place in (problem, goals) if place is not None]
    return sorted({place.line: place for place in found}.values(), key=lambda place: place.line)


def _first(artifact: Artifact, pattern: re.Pattern[str]) -> Place | None:
    levels = [heading.level for heading in artifact.document.headings]
    found = []
    for place in artifact.headings:
        title = normal(place.title or place.text)
        alone = levels[place.at] == 1 and levels.count(1) == 1
        if not alone and not _NOT.match(title) and pattern.match(title):
            found.append((levels[place.at], place.line, place))
        elif not alone and pattern is _PROBLEM and _PARTS.search(title) and "problem" in title:
            found.append((levels[place.at] + 6, place.line, place))
    return min(found)[2] if found else None
