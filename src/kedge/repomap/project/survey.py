"""The structure of a repository, read from its file names and configuration.

It is a function of paths and bytes: nothing is run, and nothing is raised whatever the files hold.
What cannot be read is listed in `problems`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from kedge.repomap.project import ci, runners, small, stack
from kedge.repomap.project.choose import choose
from kedge.repomap.project.conventions import list_conventions
from kedge.repomap.project.importance import Importance
from kedge.repomap.project.key_files import list_key_files
from kedge.repomap.project.modules import list_modules
from kedge.repomap.project.parts import FileSource, Findings
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.structure import Structure

MAX_ENTRIES = 12


@dataclass(frozen=True, slots=True)
class _Ecosystem:
    """A module that is used if there is code of its family, or a file of one of these names."""

    module: str
    family: str | None
    names: str = ""


_GRADLE = "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"
_COMPOSE = "compose.yaml compose.yml docker-compose.yml docker-compose.yaml"
_ECOSYSTEMS = (
    _Ecosystem("python", "python"),
    _Ecosystem("node", None, "package.json"),
    _Ecosystem("deno", None, "deno.json deno.jsonc"),
    _Ecosystem("rust", None, "Cargo.toml"),
    _Ecosystem("golang", None, "go.mod"),
    _Ecosystem("native", "c"),
    _Ecosystem("jvm", None, f"pom.xml {_GRADLE}"),
    _Ecosystem("scala", None, "build.sbt"),
    _Ecosystem("ruby", "ruby"),
    _Ecosystem("php", "php"),
    _Ecosystem("dotnet", "dotnet"),
    _Ecosystem("elixir", None, "mix.exs"),
    _Ecosystem("dart", None, "pubspec.yaml"),
    _Ecosystem("swift", "swift"),
    _Ecosystem("docker", None, f"Dockerfile Containerfile {_COMPOSE}"),
)


def describe(source: FileSource, subjects: Sequence[str] = ()) -> Structure:
    """The structure of the repository; `subjects` are those of its recent commits.

    Files are only known by `source.paths` and `source.read`, which may also be asked for files
    that are not among the paths, such as lock files.
    """
    project = ProjectFiles(source)
    pipelines = ci.read(project)
    found = [*_read(project), *small.read(project), runners.read(project), pipelines.findings]
    importance = Importance(project.census, found)
    packages = [name for one in found for name in one.packages]
    candidates = [candidate for one in found for candidate in one.commands]
    return Structure(
        stack=tuple(stack.list_stack(project, importance, found)),
        commands=tuple(choose(importance, candidates, pipelines.agreed)),
        entry_points=tuple(stack.list_entry_points(importance, found)[:MAX_ENTRIES]),
        key_files=tuple(list_key_files(project, pipelines.main)),
        modules=tuple(list_modules(project, packages)),
        conventions=tuple(list_conventions(project, importance, subjects)),
        problems=tuple(sorted(project.problems.values())),
    )


def _read(project: ProjectFiles) -> list[Findings]:
    found = []
    for ecosystem in _ECOSYSTEMS:
        is_there = ecosystem.family and project.census.weight(ecosystem.family)
        if is_there or any(name in project.names for name in ecosystem.names.split()):
            module = import_module(f"kedge.repomap.project.{ecosystem.module}")
            findings: Findings = module.read(project)
            found.append(findings)
    return found
