"""How tests are named and where they live."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kedge.repomap.project.census import is_test_directory
from kedge.repomap.project.parts import base, parent
from kedge.repomap.project.source import Project

MOST = 2
LEAST = 0.1  # of the code, for a language whose tests are worth a line
_STYLES: tuple[tuple[str, str, str, str], ...] = (
    ("python", "py", r"test_\w+\.py", "test_*.py"),
    ("python", "py", r"\w+_test\.py", "*_test.py"),
    ("go", "go", r".+_test\.go", "*_test.go"),
    ("node", "ts tsx js jsx mjs cjs mts cts", r".+\.test\.\w+", "*.test.{}"),
    ("node", "ts tsx js jsx mjs cjs mts cts", r".+\.spec\.\w+", "*.spec.{}"),
    ("node", "ts tsx js", r".+_test\.\w+", "*_test.{}"),
    ("ruby", "rb", r"\w+_spec\.rb", "*_spec.rb"),
    ("ruby", "rb", r"\w+_test\.rb", "*_test.rb"),
    ("ruby", "rb", r"test_\w+\.rb", "test_*.rb"),
    ("jvm", "java kt groovy", r"\w+Tests\.\w+", "*Tests.{}"),
    ("jvm", "java kt groovy", r"\w+Test\.\w+", "*Test.{}"),
    ("scala", "scala", r"\w+Spec\.scala", "*Spec.scala"),
    ("scala", "scala", r"\w+Test\.scala", "*Test.scala"),
    ("php", "php", r"\w+Test\.php", "*Test.php"),
    ("dotnet", "cs fs", r"\w+Tests\.\w+", "*Tests.{}"),
    ("dotnet", "cs fs", r"\w+Test\.\w+", "*Test.{}"),
    ("elixir", "exs", r"\w+_test\.exs", "*_test.exs"),
    ("dart", "dart", r"\w+_test\.dart", "*_test.dart"),
    ("swift", "swift", r"\w+Tests\.swift", "*Tests.swift"),
    ("c", "c cc cpp", r"\w+[_-]test\.\w+", "*_test.{}"),
    ("c", "c cc cpp", r"(?:test|unit)[_-][\w-]+\.\w+", "test_*.{}"),
)


def test_places(project: Project) -> Iterator[str]:
    """One line for each language that matters: `tests: test_*.py in tests/`."""
    by_ending: dict[str, list[tuple[str, re.Pattern[str], str]]] = {}
    for family, endings, pattern, shown in _STYLES:
        for ending in endings.split():
            by_ending.setdefault(ending, []).append((family, re.compile(pattern), shown))
    hits: dict[tuple[str, str], Counter[str]] = {}
    for name in project.names:
        ending = name.rpartition(".")[2]
        for family, matcher, shown in by_ending.get(ending, ()):
            if matcher.fullmatch(name):
                places = hits.setdefault((family, shown.replace("{}", ending)), Counter())
                places.update(map(parent, project.named(name)))
                break
    census = project.census
    for family in census.families[:MOST]:
        own = {shown: places for (of, shown), places in hits.items() if of == family}
        if own and census.share(family) >= LEAST:
            shown, places = max(own.items(), key=lambda item: (item[1].total(), item[0]))
            yield f"tests: {shown} {_where(project, places)}"


def _where(project: Project, places: Counter[str]) -> str:
    """The directory that most of the tests are in, or that they stand beside the code."""
    total = places.total()

    def most(number: int) -> bool:
        return number * 2 > total

    if most(sum(n for name, n in places.items() if project.census.files_right_in(name))):
        return "beside the code"
    if most(sum(n for name, n in places.items() if "src/test/" in f"{name}/")):
        return "in src/test/ of each module"
    tops: Counter[str] = Counter()
    inner: Counter[str] = Counter()
    for name, number in places.items():
        parts = name.split("/")
        tops[parts[0]] += number
        inner.update({next(filter(is_test_directory, parts), ""): number})
    top, in_top = max(tops.items(), key=lambda item: (item[1], item[0]))
    part, in_part = max(inner.items(), key=lambda item: (item[1], item[0]))
    if most(in_top) and is_test_directory(top):
        mirrored = _mirrored(project, top, places)
        return f"in {top}/{f', mirroring {mirrored}/' if mirrored else ''}"
    if most(in_part) and part:
        return f"in {part}/ beside the code" if part == "__tests__" else f"in {part}/ of each part"
    return f"under {top}/" if most(in_top) and top else "in several places"


def _mirrored(project: Project, top: str, places: Counter[str]) -> str | None:
    """The directory whose parts the tests repeat."""
    below = {name.split("/")[1] for name in places if "/" in name}
    if len(below) < 3:
        return None
    census = project.census
    for directory in sorted(project.directories):
        if directory.count("/") > 2 or directory.partition("/")[0] == top:
            continue
        children = {base(name) for name in census.subdirectories(directory)}
        if len(children) >= 3 and len(below & children) * 3 >= len(below) * 2:
            return directory
    return None
