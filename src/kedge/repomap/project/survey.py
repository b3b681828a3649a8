"""All readers over one repository, and their findings as one structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from kedge.repomap.project.conventions import conventions
from kedge.repomap.project.keyfiles import key_files
from kedge.repomap.project.modules import modules
from kedge.repomap.project.parts import Findings, Source
from kedge.repomap.project.source import Project
from kedge.repomap.project.standing import Standing
from kedge.repomap.structure import Structure

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


def survey(source: Source, subjects: Sequence[str]) -> Structure:
    project = Project(source)
    pipelines = ci.read(project)
    ecosystems = [read(project) for read in _ECOSYSTEMS] + small.read(project)
    tooling = [runners.read(project), docker.read(project), pipelines.findings]
    found = [*ecosystems, *tooling]
    standing = Standing(project.census, found)
    packages = [name for one in ecosystems for name in one.packages]
    candidates = [candidate for one in found for candidate in one.commands]
    return Structure(
        stack=tuple(stack.lines(project, standing, found)),
        commands=tuple(choose(standing, candidates, pipelines.agreed)),
        entry_points=tuple(stack.entry_points(standing, found)[:MAX_ENTRIES]),
        key_files=tuple(key_files(project, pipelines.main)),
        modules=tuple(modules(project, packages)),
        conventions=tuple(conventions(project, subjects)),
        problems=tuple(sorted(project.problems.values())),
    )
