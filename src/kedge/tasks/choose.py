"""Choose the backend of a project's tasks, and the work tree that holds them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.errors import GitError
from kedge.host import git
from kedge.host.project import Project

if TYPE_CHECKING:
    from kedge.settings import TaskSettings
    from kedge.tasks.backend import Backend


VARIABLE = "KEDGE_TASKS"  # names the work tree whose tasks all work trees of a repository share


def task_project(project: Project) -> Project:
    """Return the project that holds the tasks: this one, or the work tree that VARIABLE names.

    A run sets VARIABLE for agents in work trees of their own. A value that is not a work tree of
    this repository is ignored.
    """
    named = os.environ.get(VARIABLE)
    if not named or project.repo is None:
        return project
    try:
        repo = git.find(Path(named))
    except GitError:
        return project
    ours = repo.common_dir == project.repo.common_dir and repo.root == Path(named)
    return Project(repo.root, repo) if ours else project


def open_backend(
    project: Project, settings: TaskSettings, *, patience: float | None = None
) -> Backend:
    """Return the backend that the settings name, or the one detected for `auto`.

    `patience` limits the seconds that another program may take to list its tasks.
    """
    project = task_project(project)
    name = (detect(project) or "jsonl") if settings.backend == "auto" else settings.backend
    timeout = settings.lock_timeout
    if name == "beads":
        import shutil

        from kedge.tasks.beads.backend import TIMEOUT, Beads

        program, most = shutil.which(settings.bd), patience or TIMEOUT
        return Beads(project.root, program=program, lock_timeout=timeout, timeout=most)
    if name == "task_yaml":
        from kedge.tasks.task_yaml.backend import TaskYaml

        return TaskYaml(project.root, lock_timeout=timeout)
    if name in ("feature_docs", "spec_kit", "kiro"):
        from kedge.features.layouts import FEATURE_DOCS, get_layout
        from kedge.tasks.feature_docs import FeatureDocs

        layout, cache = get_layout(name) or FEATURE_DOCS, _find_cache(project)
        return FeatureDocs(project.root, layout, lock_timeout=timeout, cache=cache)
    if name == "task_master":
        from kedge.tasks.task_master.backend import TaskMaster

        return TaskMaster(project.root, lock_timeout=timeout)
    from kedge.tasks.jsonl import Jsonl

    return Jsonl(project, prefix=settings.prefix, lock_timeout=timeout)


def _find_cache(project: Project) -> Path | None:
    """Return where the documents that were read are cached; outside git they are not."""
    from kedge.errors import KedgeError
    from kedge.tasks.feature_cache import NAME

    try:
        return project.home() / NAME if project.repo is not None else None
    except KedgeError:
        return None


def detect(project: Project) -> str | None:
    """Return the first backend that finds tasks in the project, or None."""
    return next(_find_backends(project.root), None)


def describe_choice(project: Project, settings: TaskSettings) -> str | None:
    """Return which backend was chosen of several, and how to choose another one.

    None if there is no choice, and where kedge's own file says that it is the one in use.
    """
    found = _find_backends(task_project(project).root) if settings.backend == "auto" else ()
    first, *others = [*found] or [""]
    if not others or first == "jsonl":
        return None
    return (
        f"tasks are read from {first}, but {' and '.join(others)} has some as well: "
        f"`kedge config set tasks.backend {first}` confirms the choice, or name another one"
    )


def _find_backends(root: Path) -> Iterator[str]:
    """Yield the backends that find tasks, in the order of preference."""
    if (root / ".kedge" / "tasks.jsonl").exists():
        yield "jsonl"
    if (root / ".beads").is_dir():
        yield "beads"
    if any(True for kind in ("yaml", "yml") for _ in (root / "tasks").rglob(f"*.task.{kind}")):
        yield "task_yaml"
    patterns = {
        "feature_docs": "docs/features/*/tasks.md",
        "spec_kit": "specs/[0-9]*-*/tasks.md",
        "kiro": ".kiro/specs/*/tasks.md",
    }
    for name, pattern in patterns.items():
        if any(True for _ in root.glob(pattern)):
            yield name
    if (root / ".taskmaster").is_dir() or (root / "tasks" / "tasks.json").is_file():
        from kedge.tasks.task_master.backend import is_present

        if is_present(root):
            yield "task_master"
