"""The stack in a few lines and the entry points in order: by where the code is."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.repomap.project.parts import Findings, Place
from kedge.repomap.project.source import Project

MOST = 10
LEAST = 0.02  # of the code, for a language to be named beside others
ALONE = 0.1  # of the code, for a language that no manifest speaks for


def lines(project: Project, found: Sequence[Findings]) -> list[str]:
    census = project.census
    weighed: list[tuple[float, int, str]] = []
    tooling: list[str] = []
    known: set[str] = set()
    for order, findings in enumerate(found):
        for tech in findings.techs:
            if tech.family is None:
                tooling.append(tech.text)
                continue
            known.add(tech.family)
            share = census.share(tech.family, tech.where)
            if share >= LEAST or (census.total == 0):
                weighed.append((-share, order, tech.text))
    for family in census.families:
        share = census.share(family)
        if family not in known and share >= ALONE:
            language = census.languages(family).most_common(1)[0][0]
            weighed.append((-share, len(found), language))
    weighed.sort()
    return [text for _, _, text in weighed][: MOST - len(tooling)] + tooling


def entry_points(project: Project, found: Sequence[Findings]) -> list[Place]:
    """Those of the largest family first, each path once."""
    census = project.census
    ordered = sorted(
        found, key=lambda one: -census.share(one.family) if one.family else 0.0
    )
    places: dict[str, Place] = {}
    for findings in ordered:
        if findings.family and census.share(findings.family) < LEAST:
            continue
        for place in findings.entries:
            places.setdefault(place.path, place)
    return list(places.values())
