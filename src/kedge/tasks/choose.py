"""Choose the backend of a project's tasks, and the work tree that holds them."""

from __future__ import annotations

import os
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
    if name == "feature_docs":
        from kedge.tasks.feature_docs import FeatureDocs

        return FeatureDocs(project.root, lock_timeout=timeout, cache=_find_cache(project))
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
    root = project.root
    if (root / ".kedge" / "tasks.jsonl").exists():
        return "jsonl"
    if (root / ".beads").is_dir():
        return "beads"
    if any(True for kind in ("yaml", "yml") for _ in (root / "tasks").rglob(f"*.task.{kind}")):
        return "task_yaml"
    if any(True for _ in (root / "docs" / "features").glob("*/tasks.md")):
        return "feature_docs"
    return None
