"""The structure of a repository: what can be read from file names and configuration.

Everything here is a function of the paths and the bytes that it is given. Nothing is run, and
whatever the files hold, nothing is raised: what cannot be read is named in `problems`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kedge.repomap.project import (
    ci,
    deno,
    docker,
    dotnet,
    golang,
    jvm,
    native,
    node,
    others,
    php,
    python,
    ruby,
    runners,
    rust,
    small,
    stack,
)
from kedge.repomap.project.choose import choose
from kedge.repomap.project.commits import commit_style
from kedge.repomap.project.conventions import conventions
from kedge.repomap.project.keyfiles import key_files
from kedge.repomap.project.modules import modules
from kedge.repomap.project.parts import KINDS, Command, Findings, Kind, Module, Place
from kedge.repomap.project.source import Project, Source
from kedge.repomap.project.standing import Standing

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
_ECOSYSTEMS: tuple[Callable[[Project], Findings], ...] = (
    python.read,
    node.read,
    deno.read,
    rust.read,
    golang.read,
    native.read,
    jvm.read,
    others.read_scala,
    ruby.read,
    php.read,
    dotnet.read,
    others.read_elixir,
    others.read_dart,
    others.read_swift,
)


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
    pipelines = ci.read(project)
    ecosystems = [read(project) for read in _ECOSYSTEMS] + small.read(project)
    tooling = [runners.read(project), docker.read(project), pipelines.findings]
    found = [*ecosystems, *tooling]
    standing = Standing(project.census, found)
    packages = [name for one in ecosystems for name in one.packages]
    return Structure(
        stack=tuple(stack.lines(project, standing, found)),
        commands=tuple(
            choose(standing, [c for one in found for c in one.commands], pipelines.agreed)
        ),
        entry_points=tuple(stack.entry_points(standing, found)[:MAX_ENTRIES]),
        key_files=tuple(key_files(project, pipelines.main)),
        modules=tuple(modules(project, packages)),
        conventions=tuple(conventions(project, subjects)),
        problems=tuple(sorted(project.problems.values())),
    )
