"""The lines of the stack and the entry points, ordered by the amount of code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.repomap.project.importance import Importance
from kedge.repomap.project.parts import DescribedPath, Findings
from kedge.repomap.project.project_files import ProjectFiles

MOST = 10
LEAST = 0.03  # least importance of an ecosystem that is listed
STARTS = 0.1  # the same for its entry points
ALONE = 0.2  # least share of the code for a language without a manifest
SOME = 3  # least files of such a language
_SHOW_WORDS = """test tests demo demos example examples sample samples bench benches benchmark
benchmarks playground fixture fixtures mock mocks"""
_SHOW = frozenset(_SHOW_WORDS.split())


def list_stack(
    project: ProjectFiles, importance: Importance, found: Sequence[Findings]
) -> list[str]:
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
            weight = importance.of(tech.family, tech.where)
            if weight >= LEAST or census.total == 0:
                weighed.append((-weight, order, tech.text))
    for family in census.families:
        is_much = census.share(family) >= ALONE and census.weight(family) >= SOME
        if family not in known and (is_much or not weighed):
            language = census.languages(family).most_common(1)[0][0]
            weighed.append((-importance.of(family), len(found), language))
    weighed.sort()
    return [text for _, _, text in weighed][: MOST - len(tooling)] + tooling


def list_entry_points(importance: Importance, found: Sequence[Findings]) -> list[DescribedPath]:
    """The entry points, main ecosystem first, without duplicates, tests and examples."""
    ordered = sorted(found, key=lambda one: -importance.of(one.family) if one.family else 0.0)
    places: dict[str, DescribedPath] = {}
    for findings in ordered:
        if findings.family is None or importance.of(findings.family) >= STARTS:
            for place in findings.entries:
                places.setdefault(place.path, place)
    return [place for place in places.values() if not _is_for_show(place.path)]


def _is_for_show(path: str) -> bool:
    # below src/main all parts are names of packages
    words = re.findall(r"[A-Z]?[a-z]+", path.partition("src/main/")[0])
    return not _SHOW.isdisjoint(word.lower() for word in words)
