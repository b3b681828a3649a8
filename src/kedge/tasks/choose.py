"""Which backend keeps a project's tasks."""

from __future__ import annotations

from kedge.host.project import Project
from kedge.settings import TaskSettings
from kedge.tasks.backend import Backend


def backend(project: Project, settings: TaskSettings) -> Backend:
    name = detect(project) if settings.backend == "auto" else settings.backend
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


def detect(project: Project) -> str:
    """The first backend that the project has tasks for; jsonl when it has none."""
    root = project.root
    if (root / ".kedge" / "tasks.jsonl").exists():
        return "jsonl"
    if (root / ".beads").is_dir():
        return "beads"
    if any(True for kind in ("yaml", "yml") for _ in (root / "tasks").rglob(f"*.task.{kind}")):
        return "task_yaml"
    if any(True for _ in (root / "docs" / "features").glob("*/tasks.md")):
        return "feature_docs"
    return "jsonl"
