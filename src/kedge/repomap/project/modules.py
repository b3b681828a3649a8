"""The main directories of the code, at the level where they differ in purpose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from kedge.repomap.project.about import describe_directory
from kedge.repomap.project.census import is_aside
from kedge.repomap.project.parts import Module, ancestors, base
from kedge.repomap.project.project_files import ProjectFiles

MOST = 16
SHOWN = 4  # parts of a module that are listed
ALIKE = 3  # a description that this many modules share is dropped
MANY = 60  # more directories than this are a collection
LARGE = 0.45  # a directory with a larger share of the code is split
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


def list_modules(project: ProjectFiles, packages: Sequence[str]) -> list[Module]:
    """The packages of a workspace and the top directories, largest first."""
    census = project.census
    units = _open_large(project, _start(project, packages))
    least = 2 if len(units) > 6 and census.total > 50 else 1
    ranked = sorted(units, key=lambda name: (-units[name], name))
    ranked = [name for name in ranked if units[name] >= least][:MOST]
    descriptions = _drop_repetition({name: describe_directory(project, name) for name in ranked})
    return [
        Module(name, units[name], descriptions[name] or _contents(project, name, units))
        for name in ranked
    ]


def _drop_repetition(descriptions: dict[str, str | None]) -> dict[str, str | None]:
    """Drop descriptions that repeat the path or are shared by several modules."""
    new = {name: _new_words(name, words) for name, words in descriptions.items() if words}
    often = Counter([*new.values(), *descriptions.values()])
    return {
        name: words if new.get(name) and max(often[new[name]], often[words]) < ALIKE else None
        for name, words in descriptions.items()
    }


def _new_words(path: str, sentence: str) -> str:
    known = set(re.findall(r"[^\W\d_]+", path.lower())) | _EMPTY
    words = [word for word in re.findall(r"[^\W\d_]+", sentence.lower()) if word not in known]
    return "" if "".join(words) in known else " ".join(words)


def _contents(project: ProjectFiles, directory: str, units: dict[str, int]) -> str | None:
    """The names of its largest parts, for a module without a description."""
    census = project.census
    if any(name.startswith(f"{directory}/") for name in units):
        return None
    inside, below = _parts(project, directory)
    below.sort(key=lambda name: (-census.files_in(name), name))
    start = len(inside) + 1
    found = [name[start:] if name.startswith(f"{inside}/") else base(name) for name in below]
    names = [name for name in dict.fromkeys(found) if name.lower() not in directory.lower()]
    names = [name for name in names if name not in _CONTAINERS and not name.startswith("__")]
    names = _join_alike(names)
    more = "…" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if len(names) > 1 else None


def _join_alike(names: Sequence[str]) -> list[str]:
    """The names, with one `template-*` for all that begin alike."""
    often = Counter(name.partition("-")[0] for name in names if "-" in name)
    start = ((name, name.partition("-")[0]) for name in names)
    return list(
        dict.fromkeys(f"{first}-*" if often[first] >= ALIKE else name for name, first in start)
    )


def _start(project: ProjectFiles, packages: Sequence[str]) -> list[str]:
    """The packages of the workspace, and the directories without packages."""
    census = project.census
    members = {name for name in packages if name and census.files_in(name) and not is_aside(name)}
    above = {up for name in members for up in ancestors(name)}
    found = [name for name in sorted(members) if name not in above]
    waiting = [""]
    while waiting:
        for name in census.subdirectories(waiting.pop()):
            if name in above:
                waiting.append(name)
            elif name not in members:
                found.append(_enter(project, name))
    return found


def _enter(project: ProjectFiles, directory: str) -> str:
    """Follow a chain of directories that only contain the next, as in src/main/java/org/x."""
    census = project.census
    while _is_container(directory) and not project.first(directory, *_MARKS):
        below = census.subdirectories(directory)
        if len(below) != 1 or census.files_right_in(directory):
            break
        directory = below[0]
    return directory


def _is_container(directory: str) -> bool:
    above, _, name = directory.rpartition("/")
    return name.lower() in _CONTAINERS or not _JVM_SOURCES.isdisjoint(above.split("/"))


def _open_large(project: ProjectFiles, start: list[str]) -> dict[str, int]:
    """The directories with their numbers of files; large ones are split into their parts."""
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


def _parts(project: ProjectFiles, directory: str) -> tuple[str, list[str]]:
    """The parts of a directory, entering a single part that has nearly everything."""
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
    return directory, [_enter(project, name) for name in found]
