"""The directories that the code is in, at the level where they tell one thing from another."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.repomap.project.about import about
from kedge.repomap.project.census import is_aside
from kedge.repomap.project.parts import Module, join, parent
from kedge.repomap.project.source import Project

MOST = 30
LARGE = 0.3  # a directory with more of the code than this is shown by its parts
_MARKS = (
    "package.json", "Cargo.toml", "pyproject.toml", "setup.py", "go.mod", "pom.xml", "README.md",
    "build.gradle", "build.gradle.kts", "composer.json", "__init__.py", "mix.exs", "README.rst",
    "CMakeLists.txt", "README.rdoc",
)  # fmt: skip


def modules(project: Project, packages: Sequence[str]) -> list[Module]:
    """The packages of a workspace and the top directories, the one with most code first."""
    census = project.census
    units = _opened(project, _start(project, packages))
    ranked = sorted(units, key=lambda name: (-units[name], name))[:MOST]
    return [
        Module(name, units[name], about(project, name)) for name in ranked if census.files_in(name)
    ]


def _start(project: Project, packages: Sequence[str]) -> list[str]:
    census = project.census
    members = {name for name in packages if name and census.files_in(name) and not is_aside(name)}
    # a package that holds other packages is shown by those
    inner = {name for name in members if not _holds(name, members)}
    tops = [name for name in census.subdirectories("") if not _holds(name, members)]
    return [*inner, *(_entered(project, name) for name in tops if name not in inner)]


def _holds(name: str, others: set[str]) -> bool:
    return any(other.startswith(f"{name}/") for other in others)


def _entered(project: Project, directory: str) -> str:
    """The directory behind a chain of directories that hold nothing but the next."""
    census = project.census
    while True:
        below = census.subdirectories(directory)
        if len(below) != 1 or project.first(directory, *_MARKS):
            return directory
        if census.files_right_in(directory):
            return directory
        directory = below[0]


def _opened(project: Project, start: list[str]) -> dict[str, int]:
    """Directories with their files; what is too large is replaced by what is in it."""
    census = project.census
    units = {name: census.files_in(name) for name in start}
    closed: set[str] = set()
    while True:
        open_ = [name for name in units if name not in closed]
        largest = max(open_, key=lambda name: (units[name], name), default=None)
        if largest is None or units[largest] <= LARGE * census.total or units[largest] < 8:
            return units
        closed.add(largest)
        below = [_entered(project, name) for name in census.subdirectories(largest)]
        if not below or len(below) > MOST or len(units) + len(below) > 2 * MOST:
            continue
        if len(below) == 1 and census.files_in(below[0]) * 2 < units[largest]:
            continue
        rest = census.files_right_in(largest)
        keep = rest > 0 or project.first(largest, *_MARKS)
        if keep:
            units[largest] = census.files_in(largest)
        else:
            del units[largest]
        units |= {name: census.files_in(name) for name in below}


def container_of(path: str) -> str:
    return join(parent(path), "*")
