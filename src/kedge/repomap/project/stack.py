"""The stack in a few lines and the entry points in order: by where the code is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.repomap.project.parts import Findings, Place
from kedge.repomap.project.source import Project
from kedge.repomap.project.standing import Standing

MOST = 10
LEAST = 0.03  # compared with the main ecosystem, for another one to be named
STARTS = 0.1  # the same, for its entry points
ALONE = 0.2  # of the code, for a language that no manifest speaks for
SOME = 3  # files of it
_SHOW_WORDS = """test tests demo demos example examples sample samples bench benches benchmark
benchmarks playground fixture fixtures mock mocks"""
_SHOW = frozenset(_SHOW_WORDS.split())


def lines(project: Project, standing: Standing, found: Sequence[Findings]) -> list[str]:
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
            weight = standing.of(tech.family, tech.where)
            if weight >= LEAST or census.total == 0:
                weighed.append((-weight, order, tech.text))
    for family in census.families:
        is_much = census.share(family) >= ALONE and census.weight(family) >= SOME
        if family not in known and (is_much or not weighed):
            language = census.languages(family).most_common(1)[0][0]
            weighed.append((-standing.of(family), len(found), language))
    weighed.sort()
    return [text for _, _, text in weighed][: MOST - len(tooling)] + tooling


def entry_points(standing: Standing, found: Sequence[Findings]) -> list[Place]:
    """Those of the main ecosystem first, each path once, without tests and examples."""
    ordered = sorted(found, key=lambda one: -standing.of(one.family) if one.family else 0.0)
    places: dict[str, Place] = {}
    for findings in ordered:
        if findings.family is None or standing.of(findings.family) >= STARTS:
            for place in findings.entries:
                places.setdefault(place.path, place)
    return [place for place in places.values() if not _is_for_show(place.path)]


def _is_for_show(path: str) -> bool:
    # below src/main are the names of packages
    words = re.findall(r"[A-Z]?[a-z]+", path.partition("src/main/")[0])
    return not _SHOW.isdisjoint(word.lower() for word in words)
