"""A feature: the documents and the tasks in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kedge.errors import TaskNotFound
from kedge.features.artifact import Artifact, build_lexicon, parse_artifact
from kedge.features.feature_tasks import FeatureTask, read_tasks
from kedge.features.folders import TASKS, read_document, read_meta
from kedge.features.layouts import FEATURE_DOCS, Layout, find_layout
from kedge.features.references import SPEC
from kedge.features.task_numbers import task_key
from kedge.host.project import Project


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature's folder; `artifacts` has only the documents that exist, by type."""

    path: Path
    name: str
    tasks_text: str | None
    tasks: tuple[FeatureTask, ...]
    artifacts: Mapping[str, Artifact]
    meta: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    layout: Layout = FEATURE_DOCS

    def find_task(self, number: str) -> FeatureTask:
        """Return the task with this number; `1.1`, `T1.1` and `Task 1.1` are the same."""
        exact = (task for task in self.tasks if task.number == number)
        same = (task for task in self.tasks if task.key == task_key(number))
        for task in (*exact, *same):
            return task
        where = f"{self.name}/{TASKS}"
        if not self.tasks:
            raise TaskNotFound(
                f"no tasks found in {where}",
                hint=f"give each task {self.layout.example}",
            )
        near = get_close_matches(number, [task.number for task in self.tasks], n=1)
        hint = f"did you mean {near[0]}?" if near else f"kedge feature tasks {self.name} lists them"
        raise TaskNotFound(f"no task {number!r} in {where}", hint=hint)


def load_feature(project: Project, path: Path) -> Feature:
    """Read all documents of a feature's folder; BrokenTasks if one cannot be read."""
    root = project.root
    layout = find_layout(root, path)
    artifacts: dict[str, Artifact] = {}
    for type_, names in layout.documents.items():
        for name in names:
            text = read_document(root, path / name)
            if text is not None and type_ not in artifacts:
                artifacts[type_] = parse_artifact(type_, name, text)
    text = read_document(root, path / TASKS)
    lexicon = build_lexicon(artifacts.values())
    spec = artifacts.get(SPEC)
    tasks = tuple(read_tasks(text, lexicon, layout, spec)) if text is not None else ()
    warnings: list[str] = []
    meta = read_meta(root, path, warnings)
    return Feature(path, path.name, text, tasks, artifacts, meta, tuple(warnings), layout)
