"""The directories that the code is in, at the level where they tell one thing from another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from kedge.repomap.project.about import about
from kedge.repomap.project.census import is_aside
from kedge.repomap.project.parts import Module, base, parent
from kedge.repomap.project.source import Project

MOST = 16
SHOWN = 4  # parts of a module that are named
ALIKE = 3  # modules that say the same say nothing
MANY = 60  # more directories than this are a collection, not a structure
LARGE = 0.45  # a directory with more of the code than this is shown by its parts
_MARKS = (
    "package.json", "Cargo.toml", "pyproject.toml", "setup.py", "go.mod", "pom.xml", "README.md",
    "build.gradle", "build.gradle.kts", "composer.json", "__init__.py", "mix.exs", "README.rst",
    "CMakeLists.txt", "README.rdoc", "pubspec.yaml",
)  # fmt: skip


_CONTAINER_NAMES = """src lib libs packages crates apps app pkg cmd internal source sources main
java kotlin scala groovy include python lua com org io net php ruby code commonmain jvmmain"""
_CONTAINERS = frozenset(_CONTAINER_NAMES.split())
_EMPTY_WORDS = """a an and the for of in to with is this package module library crate plugin
component init file files"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
_JVM_SOURCES = frozenset({"java", "kotlin", "scala", "groovy"})


def modules(project: Project, packages: Sequence[str]) -> list[Module]:
    """Packages of a workspace and top directories, the one with most code first."""
    census = project.census
    units = _opened(project, _start(project, packages))
    least = 2 if len(units) > 6 and census.total > 50 else 1
    ranked = sorted(units, key=lambda name: (-units[name], name))
    ranked = [name for name in ranked if units[name] >= least][:MOST]
    told = _telling({name: about(project, name) for name in ranked})
    return [
        Module(name, units[name], told[name] or _contents(project, name, units)) for name in ranked
    ]


def _telling(told: dict[str, str | None]) -> dict[str, str | None]:
    """Without what only repeats the path, and what is said of every module alike."""
    new = {name: _new_words(name, words) for name, words in told.items() if words}
    often = Counter([*new.values(), *told.values()])
    return {
        name: words if new.get(name) and max(often[new[name]], often[words]) < ALIKE else None
        for name, words in told.items()
    }


def _new_words(path: str, sentence: str) -> str:
    known = set(re.findall(r"[^\W\d_]+", path.lower())) | _EMPTY
    words = [word for word in re.findall(r"[^\W\d_]+", sentence.lower()) if word not in known]
    return "" if "".join(words) in known else " ".join(words)


def _contents(project: Project, directory: str, units: dict[str, int]) -> str | None:
    """The largest of its parts, for what does not say what it is."""
    census = project.census
    if any(name.startswith(f"{directory}/") for name in units):
        return None
    inside, below = _parts(project, directory)
    below.sort(key=lambda name: (-census.files_in(name), name))
    start = len(inside) + 1
    found = [name[start:] if name.startswith(f"{inside}/") else base(name) for name in below]
    names = [name for name in dict.fromkeys(found) if name.lower() not in directory.lower()]
    names = [name for name in names if name not in _CONTAINERS and not name.startswith("__")]
    more = "…" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if len(names) > 1 else None


def _start(project: Project, packages: Sequence[str]) -> list[str]:
    """The packages of the workspace, and the directories that hold none of them."""
    census = project.census
    members = {name for name in packages if name and census.files_in(name) and not is_aside(name)}
    above = {up for name in members for up in _ancestors(name)}
    found = [name for name in sorted(members) if name not in above]
    waiting = [""]
    while waiting:
        for name in census.subdirectories(waiting.pop()):
            if name in above:
                waiting.append(name)
            elif name not in members:
                found.append(_entered(project, name))
    return found


def _ancestors(directory: str) -> Iterator[str]:
    while directory := parent(directory):
        yield directory


def _entered(project: Project, directory: str) -> str:
    """The directory behind a chain of those that only hold the next: src/main/java/org/x."""
    census = project.census
    while _only_leads_on(directory) and not project.first(directory, *_MARKS):
        below = census.subdirectories(directory)
        if len(below) != 1 or census.files_right_in(directory):
            break
        directory = below[0]
    return directory


def _only_leads_on(directory: str) -> bool:
    above, _, name = directory.rpartition("/")
    return name.lower() in _CONTAINERS or not _JVM_SOURCES.isdisjoint(above.split("/"))


def _opened(project: Project, start: list[str]) -> dict[str, int]:
    """Directories with their files; what is too large is followed by what is in it."""
    census = project.census
    units = {name: census.files_in(name) for name in start}
    closed: set[str] = set()
    while True:
        waiting = [name for name in units if name not in closed]
        largest = max(waiting, key=lambda name: (units[name], name), default=None)
        if largest is None or units[largest] <= LARGE * census.total or units[largest] < 8:
            return units
        closed.add(largest)
        inside, below = _parts(project, largest)
        if not below or len(below) > MANY:
            continue
        if not project.first(largest, *_MARKS) and not census.files_right_in(largest):
            del units[largest]
            if census.files_right_in(inside) or project.first(inside, *_MARKS):
                units[inside] = census.files_in(inside)
                closed.add(inside)
        below.sort(key=lambda name: (-census.files_in(name), name))
        units |= {name: census.files_in(name) for name in below[:MOST]}


def _parts(project: Project, directory: str) -> tuple[str, list[str]]:
    """What a directory is divided into, looking through one part that has nearly everything."""
    census = project.census
    found: list[str] = []
    while below := census.subdirectories(directory):
        most = max(below, key=lambda name: (census.files_in(name), name))
        heavy = census.files_in(most) * 10 >= census.files_in(directory) * 8
        if not heavy or (len(below) > 1 and base(most).lower() not in _CONTAINERS):
            found += below
            break
        found += [name for name in below if name != most]
        directory = most
    return directory, [_entered(project, name) for name in found]
