"""Recall for callers that must load quickly: without a bank, none of its modules are imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kedge.host.git import is_directory
from kedge.knowledge.bank import DIRECTORIES

if TYPE_CHECKING:
    from kedge.host.project import Project
    from kedge.model.task import Task
    from kedge.settings import Settings


@dataclass(frozen=True, slots=True)
class Reminder:
    """The lessons as text. `whole` is False if a relevant lesson was cut or left out."""

    text: str = ""
    whole: bool = True
    warnings: tuple[str, ...] = ()


def recall_for_task(project: Project, settings: Settings, task: Task, budget: int) -> Reminder:
    """Return the lessons that matter for a task, within a token budget."""
    if not any(is_directory(project.root / folder) for folder in DIRECTORIES):
        return Reminder()
    from kedge.knowledge.bank.bank import Bank
    from kedge.knowledge.recall import selection

    query = selection.query_for_task(task)
    selected = selection.select_lessons(Bank(project, settings), query, budget)
    return Reminder(selected.text, selected.whole, selected.warnings)
