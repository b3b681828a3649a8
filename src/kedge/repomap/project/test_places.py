"""The names and locations of tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kedge.repomap.project.census import family_of, is_test_directory
from kedge.repomap.project.parts import base
from kedge.repomap.project.project_files import ProjectFiles

MOST = 2
FEW = 0.04  # least share of the code for tests with a pattern
ANY = 0.01  # the same for any files in test directories
LEAST = 0.15  # least share of the tests for a second language
# directories with test data or third-party code
_DATA_NAMES = """fixtures __fixtures__ testdata test-data test_data resources snapshots templates
template examples docs docs_src third_party vendor"""
_DATA = frozenset(_DATA_NAMES.split())


def describe_tests(project: ProjectFiles) -> Iterator[str]:
    """One line for each language with many tests: `tests: test_*.py in tests/`."""
    census = project.census
    named = {form: Counter(homes) for form, homes in census.tests.items()}
    forms = (
        list(_select_forms(project, named, FEW))
        or list(_select_forms(project, census.in_tests(), ANY))[:1]
    )
    for form, places in forms:
        yield f"tests: {form} {_where(project, places)}"


def _select_forms(
    project: ProjectFiles, found: Mapping[str, Counter[str]], few: float
) -> Iterator[tuple[str, Counter[str]]]:
    forms: dict[str, Counter[str]] = {}
    for form, places in found.items():
        own = {name: number for name, number in places.items() if not _is_data(name)}
        if own:
            forms[form] = Counter(own)
    every = sum(places.total() for places in forms.values())
    families: set[str] = set()
    for form, places in sorted(forms.items(), key=lambda item: (-item[1].total(), item[0])):
        family = family_of(form)
        least = max(few * project.census.total, LEAST * every if families else 0)
        if family not in families and len(families) < MOST and places.total() >= least:
            families.add(family)
            yield form, places


def _is_data(directory: str) -> bool:
    return directory.startswith(".") or not _DATA.isdisjoint(directory.split("/"))


def _where(project: ProjectFiles, places: Counter[str]) -> str:
    """Where most of the tests are: in a directory, or beside the code."""
    total = places.total()

    def most(number: int) -> bool:
        return number * 2 > total

    if most(sum(n for name, n in places.items() if project.census.files_right_in(name))):
        return "beside the code"
    if most(sum(n for name, n in places.items() if "src/test/" in f"{name}/")):
        return "in src/test/ of each module"
    homes: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    tops: Counter[str] = Counter()
    for name, number in places.items():
        path = name.split("/")
        at = next((i for i, part in enumerate(path) if is_test_directory(part)), None)
        tops[path[0]] += number
        if at is not None:
            homes["/".join(path[: at + 1])] += number
            parts[path[at]] += number
    home, part = _largest(homes), _largest(parts)
    is_alone = homes[home] == parts[part] and most(homes[home])
    if is_alone or homes[home] * 4 >= total * 3:
        mirrored = _find_mirrored(project, home, places)
        return f"in {home}/{f', mirroring {mirrored}/' if mirrored else ''}"
    if most(parts[part]):
        return f"in {part}/ beside the code" if part == "__tests__" else f"in {part}/ of each part"
    top = _largest(tops)
    return f"under {top}/" if top and most(tops[top]) else "in several places"


def _largest(counts: Counter[str]) -> str:
    return max(counts, key=lambda name: (counts[name], name), default="")


def _find_mirrored(project: ProjectFiles, home: str, places: Counter[str]) -> str | None:
    """The directory whose subdirectories the tests mirror."""
    start = len(home) + 1
    below = {name[start:].partition("/")[0] for name in places if name.startswith(f"{home}/")}
    if len(below) < 3:
        return None
    census = project.census
    waiting = [""]
    for directory in waiting:
        if directory.partition("/")[0] == home.partition("/")[0]:
            continue
        inner = census.subdirectories(directory)
        children = {base(name) for name in inner}
        if directory and len(below & children) * 3 >= len(below) * 2:
            return directory
        if directory.count("/") < 2:
            waiting += inner
    return None
