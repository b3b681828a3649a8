"""All readers over one repository, and their findings as one structure."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from kedge.host.record import NamedTuple
from kedge.repomap.project import ci, runners, small, stack
from kedge.repomap.project.choose import choose
from kedge.repomap.project.conventions import conventions
from kedge.repomap.project.keyfiles import key_files
from kedge.repomap.project.modules import modules
from kedge.repomap.project.parts import Findings, Source
from kedge.repomap.project.source import Project
from kedge.repomap.project.standing import Standing
from kedge.repomap.structure import Structure

MAX_ENTRIES = 12


class _Reader(NamedTuple):
    """A module that is imported where there is code of its family or a file of one of the names."""

    module: str
    family: str | None
    names: str = ""


_READERS = (
    _Reader("python", "python"),
    _Reader("node", None, "package.json"),
    _Reader("deno", None, "deno.json deno.jsonc"),
    _Reader("rust", None, "Cargo.toml"),
    _Reader("golang", None, "go.mod"),
    _Reader("native", "c"),
    _Reader("jvm", None, "pom.xml build.gradle build.gradle.kts settings.gradle "
            "settings.gradle.kts"),
    _Reader("scala", None, "build.sbt"),
    _Reader("ruby", "ruby"),
    _Reader("php", "php"),
    _Reader("dotnet", "dotnet"),
    _Reader("elixir", None, "mix.exs"),
    _Reader("dart", None, "pubspec.yaml"),
    _Reader("swift", "swift"),
    _Reader("docker", None, "Dockerfile Containerfile compose.yaml compose.yml docker-compose.yml "
            "docker-compose.yaml"),
)  # fmt: skip


def survey(source: Source, subjects: Sequence[str]) -> Structure:
    project = Project(source)
    pipelines = ci.read(project)
    found = [*_read(project), *small.read(project), runners.read(project), pipelines.findings]
    standing = Standing(project.census, found)
    packages = [name for one in found for name in one.packages]
    candidates = [candidate for one in found for candidate in one.commands]
    return Structure(
        stack=tuple(stack.lines(project, standing, found)),
        commands=tuple(choose(standing, candidates, pipelines.agreed)),
        entry_points=tuple(stack.entry_points(standing, found)[:MAX_ENTRIES]),
        key_files=tuple(key_files(project, pipelines.main)),
        modules=tuple(modules(project, packages)),
        conventions=tuple(conventions(project, standing, subjects)),
        problems=tuple(sorted(project.problems.values())),
    )


def _read(project: Project) -> list[Findings]:
    found = []
    for reader in _READERS:
        is_there = reader.family and project.census.weight(reader.family)
        if is_there or any(name in project.names for name in reader.names.split()):
            module = import_module(f"kedge.repomap.project.{reader.module}")
            findings: Findings = module.read(project)
            found.append(findings)
    return found
