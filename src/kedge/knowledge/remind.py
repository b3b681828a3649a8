"""The way to the lessons for a task, for those who seldom need it: it costs little to have.

Reading a bank takes more modules than an anchor has need of: they are loaded where there is one.
"""

from __future__ import annotations

from kedge.host.git import is_directory
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.host.project import Project
    from kedge.model.task import Task
    from kedge.settings import Settings

DIRECTORIES = ("docs/knowledge-bank", ".kedge/knowledge")  # as the bank has them


class Reminder(NamedTuple):
    """What an agent is told. `whole` says whether nothing that matters was left out."""

    text: str = ""
    whole: bool = True
    warnings: tuple[str, ...] = ()


def for_task(project: Project, settings: Settings, task: Task, budget: int) -> Reminder:
    """The lessons that matter for a task, within so many tokens."""
    if not any(is_directory(project.root / folder) for folder in DIRECTORIES):
        return Reminder()
    from kedge.knowledge import recall
    from kedge.knowledge.bank import Bank

    found = recall.recall(Bank(project, settings), recall.asked(task), budget)
    return Reminder(found.text, found.whole, found.warnings)
