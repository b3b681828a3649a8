"""Which backend keeps a project's tasks, and in which work tree."""

from __future__ import annotations

import os
from pathlib import Path

from kedge.errors import GitError
from kedge.host import git
from kedge.host.project import Project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.settings import TaskSettings
    from kedge.tasks.backend import Backend

_OTHERS = ((".beads",), ("tasks",), ("docs", "features"))  # where other backends have theirs
VARIABLE = "KEDGE_TASKS"  # the work tree whose tasks are meant in all of its repository's


def keeper(project: Project) -> Project:
    """The project that has the tasks: this one, or the work tree that the environment names.

    A run sets it for those who work for it in work trees of their own. What is not a work tree
    of this repository is not meant for this project, and passed over.
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


def backend(project: Project, settings: TaskSettings) -> Backend:
    project = keeper(project)
    name = (detect(project) or "jsonl") if settings.backend == "auto" else settings.backend
    timeout = settings.lock_timeout
    if name == "beads":
        import shutil

        from kedge.tasks.beads.backend import Beads

        return Beads(project.root, program=shutil.which(settings.bd), lock_timeout=timeout)
    if name == "task_yaml":
        from kedge.tasks.task_yaml.backend import TaskYaml

        return TaskYaml(project.root, lock_timeout=timeout)
    if name == "feature_docs":
        from kedge.tasks.feature_docs.backend import FeatureDocs

        return FeatureDocs(project.root, lock_timeout=timeout)
    from kedge.tasks.jsonl import Jsonl

    return Jsonl(project, prefix=settings.prefix, lock_timeout=timeout)


def sources(project: Project, settings: TaskSettings) -> list[Path] | None:
    """The files that tell how the work stands; None where only a look at all of them does."""
    own = project.root / ".kedge"
    kept, past = own / "tasks.jsonl", own / "ledger"
    if settings.backend in ("auto", "jsonl") and kept.exists():
        return [kept, past, *(past.iterdir() if past.is_dir() else ())]
    others = [project.root.joinpath(*parts) for parts in _OTHERS]
    if settings.backend == "auto" and not any(map(os.path.lexists, others)):
        return [kept, *others]
    return None


def detect(project: Project) -> str | None:
    """The first backend that the project has tasks for."""
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
