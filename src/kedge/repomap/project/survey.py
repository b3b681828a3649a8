"""The structure of a repository, read from its file names and configuration.

It is a function of paths and bytes: nothing is run, and nothing is raised whatever the files hold.
What cannot be read is listed in `problems`.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.repomap.project import (
    ci,
    dart,
    deno,
    docker,
    dotnet,
    elixir,
    golang,
    jvm,
    native,
    node,
    php,
    python,
    ruby,
    runners,
    rust,
    scala,
    small,
    stack,
    swift,
)  # fmt: skip
from kedge.repomap.project.choose import choose
from kedge.repomap.project.conventions import list_conventions
from kedge.repomap.project.guides import find_steps
from kedge.repomap.project.importance import Importance
from kedge.repomap.project.key_files import list_key_files
from kedge.repomap.project.modules import list_modules
from kedge.repomap.project.parts import FileSource
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.structure import Structure

MAX_ENTRIES = 12


_ECOSYSTEMS = (
    python, node, deno, rust, golang, native, jvm, scala, ruby, php, dotnet, elixir, dart, swift,
    docker,
)  # fmt: skip


def describe(source: FileSource, subjects: Sequence[str] = ()) -> Structure:
    """The structure of the repository; `subjects` are those of its recent commits.

    Files are only known by `source.paths` and `source.read`, which may also be asked for files
    that are not among the paths, such as lock files.
    """
    project = ProjectFiles(source)
    pipelines = ci.read(project)
    found = [ecosystem.read(project) for ecosystem in _ECOSYSTEMS]
    found += [*small.read(project), runners.read(project), pipelines.findings]
    importance = Importance(project.census, found)
    packages = [name for one in found for name in one.packages]
    candidates = [candidate for one in found for candidate in one.commands]
    return Structure(
        stack=tuple(stack.list_stack(project, importance, found)),
        commands=tuple(choose(importance, candidates, pipelines.agreed, find_steps(project))),
        entry_points=tuple(stack.list_entry_points(importance, found)[:MAX_ENTRIES]),
        key_files=tuple(list_key_files(project, pipelines.main)),
        modules=tuple(list_modules(project, packages)),
        conventions=tuple(list_conventions(project, importance, subjects)),
        problems=tuple(sorted(project.problems.values())),
    )
