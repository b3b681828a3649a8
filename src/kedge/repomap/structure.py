"""The structure of a repository: what can be read from file names and configuration.

Everything here is a function of the paths and the bytes that it is given. Nothing is run, and
whatever the files hold, nothing is raised: what cannot be read is named in `problems`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kedge.repomap.project import (
    ci,
    compiled,
    docker,
    jvm,
    node,
    python,
    runners,
    scripted,
    small,
    stack,
)
from kedge.repomap.project.choose import choose
from kedge.repomap.project.conventions import commit_style, conventions
from kedge.repomap.project.keyfiles import key_files
from kedge.repomap.project.modules import modules
from kedge.repomap.project.parts import KINDS, Command, Findings, Kind, Module, Place
from kedge.repomap.project.source import Project, Source

__all__ = [
    "KINDS",
    "Command",
    "Kind",
    "Module",
    "Place",
    "Source",
    "Structure",
    "commit_style",
    "describe",
]

MAX_ENTRIES = 12


@dataclass(frozen=True, slots=True)
class Structure:
    """What a newcomer is told first, the most important first in each list."""

    stack: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    entry_points: tuple[Place, ...] = ()
    key_files: tuple[Place, ...] = ()
    modules: tuple[Module, ...] = ()
    conventions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def describe(source: Source, subjects: Sequence[str] = ()) -> Structure:
    """The structure of the repository; `subjects` are those of its recent commits."""
    project = Project(source)
    pipelines, agreed = ci.read(project)
    ecosystems: list[Findings] = [
        python.read(project),
        node.read(project),
        compiled.read_rust(project),
        compiled.read_go(project),
        compiled.read_c(project),
        jvm.read(project),
        jvm.read_scala(project),
        scripted.read_ruby(project),
        scripted.read_php(project),
        scripted.read_dotnet(project),
        scripted.read_elixir(project),
        scripted.read_dart(project),
        small.read_swift(project),
        *small.read(project),
    ]
    tooling = [runners.read(project), docker.read(project), pipelines]
    found = [*ecosystems, *tooling]
    packages = [name for one in ecosystems for name in one.packages]
    return Structure(
        stack=tuple(stack.lines(project, found)),
        commands=tuple(
            choose(project.census, [c for one in found for c in one.commands], agreed)
        ),
        entry_points=tuple(stack.entry_points(project, found)[:MAX_ENTRIES]),
        key_files=tuple(key_files(project, ci.workflows(project))),
        modules=tuple(modules(project, packages)),
        conventions=tuple(conventions(project, subjects)),
        problems=tuple(sorted(project.problems.values())),
    )
