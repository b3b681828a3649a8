"""`kedge task`: the board, from the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from kedge import config
from kedge.cli import syntax, task_input, task_view
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import table
from kedge.errors import KedgeError, TaskError, UsageError
from kedge.host import who
from kedge.model.ids import TaskId, task_id
from kedge.model.task import Block, BlockType, Status, Task, block_type, unique
from kedge.tasks import choose, rules
from kedge.tasks.board import Board, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STATUS = syntax.Choice([status.value for status in Status])
_CLEARED: dict[str, Any] = {
    "acceptance": (),
    "area": None,
    "checks": (),
    "depends_on": (),
    "description": "",
    "epic": None,
    "labels": (),
    "scope_in": (),
    "scope_out": (),
}


class Desk:
    """The board of the project at hand, with the settings in force."""

    def __init__(self, here: Edge) -> None:
        self.project = here.project()
        loaded = config.load(self.project, {"tasks.backend": here.given["backend"]})
        self.settings = loaded.settings.tasks
        self.board = Board(choose.backend(self.project, self.settings))
        self.here = here
        here.note(f"tasks are kept by the {self.board.backend.name} backend")

    @property
    def actor(self) -> str:
        """Who acts: the name that was set, or that of the operating system's user."""
        return self.settings.actor or who.user()

    def tasks(self) -> dict[TaskId, Task]:
        found = self.board.tasks()
        self.here.warn(*self.board.warnings)
        return found


command = syntax.group(
    "List, add, claim and close tasks.",
    syntax.option(
        "--backend",
        type=syntax.Choice(["auto", "jsonl", "beads", "task_yaml", "feature_docs"]),
        help="Where the tasks are kept, instead of tasks.backend.",
    ),
)


@command.command("List tasks, oldest first.")
@syntax.option("--status", multiple=True, type=_STATUS, help="Only this status; repeatable.")
@syntax.option("--type", "type_", help="Only this type.")
@syntax.option("--priority", type=task_input.PRIORITY, help="Only this priority.")
@syntax.option(
    "--label", multiple=True, help="Only with this label; repeatable, all must be there."
)
@syntax.option("--epic", help="Only tasks of this epic.")
@syntax.option("--assignee", help="Only claimed by this name.")
@syntax.option("--search", help="Only with these words in id, title or description.")
def list_(
    here: Edge,
    status: tuple[str, ...],
    type_: str | None,
    priority: str | None,
    label: tuple[str, ...],
    epic: str | None,
    assignee: str | None,
    search: str | None,
) -> Reply:
    tasks = Desk(here).tasks()
    if epic is not None:
        rules.find(tasks, epic)
    words = (search or "").lower().split()

    def fits(task: Task) -> bool:
        text = f"{task.id} {task.title} {task.description}".lower()
        return (
            (not status or task.status.value in status)
            and type_ in (None, task.type)
            and priority in (None, task.priority)
            and set(label) <= set(task.labels)
            and epic in (None, task.epic)
            and assignee in (None, task.assignee)
            and all(word in text for word in words)
        )

    return task_view.listing([task for task in tasks.values() if fits(task)], empty="no tasks")


@command.command("List the tasks that can be started, most urgent first.")
@syntax.option("--limit", type=syntax.IntRange(1), help="At most this many.")
@syntax.option("--label", multiple=True, help="Only with this label; repeatable.")
@syntax.option("--epic", help="Only tasks of this epic.")
def ready(here: Edge, limit: int | None, label: tuple[str, ...], epic: str | None) -> Reply:
    tasks = Desk(here).tasks()
    if epic is not None:
        rules.find(tasks, epic)
    found = [
        task
        for task in rules.ready(tasks)
        if set(label) <= set(task.labels) and epic in (None, task.epic)
    ]
    return task_view.listing(found[:limit], empty="nothing is ready")


@command.command("Show one task.")
@syntax.argument("id_", metavar="ID")
def show(here: Edge, id_: str) -> Reply:
    tasks = Desk(here).tasks()
    task = rules.find(tasks, task_id(id_))
    return Reply(task.data(), lambda: task_view.sheet(tasks, task))


@command.command("Add a task and print its id.")
@syntax.argument("title")
@syntax.option("--id", "id_", help="An id of your choice.")
@task_input.fields
def add(here: Edge, /, title: str, id_: str | None, **given: Any) -> Reply:
    draft = Task(id=TaskId("") if id_ is None else task_id(id_), title=title)
    result = Desk(here).board.add(task_input.filled(draft, given), allow=given["allow_secret"])
    return task_view.result(result, result.task.id)


@command.command("Change a task. --label adds to the labels; other options replace what was there.")
@syntax.argument("id_", metavar="ID")
@syntax.option("--title", help="What is to be done, in a line.")
@syntax.option("--unlabel", multiple=True, help="Take a label away; repeatable.")
@syntax.option(
    "--clear",
    multiple=True,
    type=syntax.Choice(sorted(_CLEARED)),
    help="Leave a field empty; repeatable.",
)
@task_input.fields
def update(
    here: Edge,
    /,
    id_: str,
    title: str | None,
    unlabel: tuple[str, ...],
    clear: tuple[str, ...],
    **given: Any,
) -> Reply:
    if (
        title is None
        and not unlabel
        and not clear
        and not any(v not in (None, ()) for v in given.values())
    ):
        raise UsageError("nothing to change", hint="kedge task update --help")
    description = task_input.text(given.pop("description"))  # standard input before the lock

    def change(task: Task) -> Task:
        labels = unique([*task.labels, *given["label"]])
        after = task_input.filled(task, {**given, "description": description, "label": ()})
        after = replace(after, labels=tuple(one for one in labels if one not in unlabel))
        if title is not None:
            after = replace(after, title=title)
        return replace(after, **{name: empty for name, empty in _CLEARED.items() if name in clear})

    return task_view.result(
        Desk(here).board.update(task_id(id_), change, allow=given["allow_secret"]), f"{id_} changed"
    )


@command.command("Claim a task that is ready, so that nobody else takes it.")
@syntax.argument("id_", metavar="ID")
@syntax.option("--as", "who", help="Who claims it; tasks.actor or the user's name otherwise.")
def claim(here: Edge, id_: str, who: str | None) -> Reply:
    desk = Desk(here)
    named = bool(who or desk.settings.actor)
    result = desk.board.claim(task_id(id_), who or desk.actor, again=named)
    return task_view.result(result, f"{id_} is yours")


@command.command("Close a task as done, or as failed. Its epic closes with its last task.")
@syntax.argument("id_", metavar="ID")
@syntax.option("--reason", help="What was done, or why it failed.")
@syntax.option("--failed", is_flag=True, help="It was given up; what depends on it stays unready.")
@task_input.lessons
def close(
    here: Edge,
    id_: str,
    reason: str | None,
    failed: bool,
    tried: tuple[str, ...],
    avoid: tuple[str, ...],
    allow_secret: tuple[str, ...],
) -> Reply:
    if os.environ.get("KEDGE_RUN") and os.environ.get("KEDGE_TASK") == id_:
        raise TaskError(
            f"{id_} is closed by the run, once it is shown to be done",
            hint="end your turn and say what was done; the checks are run then",
        )
    desk = Desk(here)
    result = desk.board.close(task_id(id_), reason, failed=failed, allow=allow_secret)
    _record(desk, result, tried, avoid)
    _end_context(desk, result.task.id)
    return task_view.result(result, f"{id_} is {result.task.status.value}")


@command.command("Say that a task cannot go on, and why.")
@syntax.argument("id_", metavar="ID")
@syntax.option(
    "--type", "type_", required=True, type=syntax.Choice([kind.value for kind in BlockType])
)
@syntax.option("--reason", required=True, help="What is in the way.")
@task_input.lessons
def block(
    here: Edge,
    id_: str,
    type_: str,
    reason: str,
    tried: tuple[str, ...],
    avoid: tuple[str, ...],
    allow_secret: tuple[str, ...],
) -> Reply:
    desk = Desk(here)
    why = Block(block_type(type_), reason)
    result = desk.board.block(task_id(id_), why, allow=allow_secret)
    _record(desk, result, tried, avoid)
    return task_view.result(result, f"{id_} is blocked")


@command.command("Open a task again: finished, failed, blocked or claimed.")
@syntax.argument("id_", metavar="ID")
def reopen(here: Edge, id_: str) -> Reply:
    return task_view.result(Desk(here).board.reopen(task_id(id_)), f"{id_} is open")


@command.command("Show what a task waits for and what waits for it, or change it.")
@syntax.argument("id_", metavar="ID")
@syntax.option("--on", multiple=True, help="A task that must be done first; repeatable.")
@syntax.option("--drop", multiple=True, help="A task not to wait for any more; repeatable.")
def dep(here: Edge, id_: str, on: tuple[str, ...], drop: tuple[str, ...]) -> Reply:
    desk = Desk(here)
    if on or drop:
        desk.board.depend(task_id(id_), [task_id(one) for one in on], drop)
    tasks = desk.tasks()
    task = rules.find(tasks, task_id(id_))
    data = {
        "id": task.id,
        "depends_on": list(task.depends_on),
        "dependents": [other.id for other in tasks.values() if task.id in other.depends_on],
        "waiting_for": rules.waiting_for(tasks, task),
    }

    def text() -> str:
        rows = [("waits for", *task_view.brief(tasks, other)) for other in data["depends_on"]]
        rows += [("is needed by", *task_view.brief(tasks, other)) for other in data["dependents"]]
        return table(("", "task", "status", "title"), rows, empty="no dependencies")

    return Reply(data, text)


@command.command("Add the tasks of a file: prd.json, a beads export, a Markdown checklist.")
@syntax.argument("file")
@syntax.option(
    "--format",
    "format_",
    type=syntax.Choice(["prd", "beads", "checklist"]),
    help="What the file is, when its name and content do not tell.",
)
@syntax.option("--allow-secret", multiple=True, metavar="FINDING", help="Let it through.")
def import_(here: Edge, file: str, format_: str | None, allow_secret: tuple[str, ...]) -> Reply:
    from kedge.tasks import importers

    desk = Desk(here)
    name, text = task_input.read(file, desk.here.directory)
    drafts = importers.read(text, name=name, format=format_, prefix=desk.settings.prefix)
    done = desk.board.import_tasks(drafts, allow=allow_secret)
    data = {"added": [task.data() for task in done.added], "skipped": list(done.skipped)}
    text = f"{len(done.added)} added"
    if done.skipped:
        text += f", {len(done.skipped)} skipped that were there already"
    return Reply(data, text, done.warnings)


def _record(desk: Desk, result: Result, tried: Sequence[str], avoid: Sequence[str]) -> None:
    """Put the end of a claim into the ledger. The task's own change stands, whatever happens."""
    from kedge.tasks.ledger import Ledger, attempt_of

    attempt = attempt_of(result.before, result.task, tried, avoid, actor=desk.actor)
    if attempt is None:
        return
    try:
        Ledger(desk.project, lock_timeout=desk.settings.lock_timeout).append(attempt)
    except KedgeError as error:
        desk.here.warn(f"the attempt is not in the ledger: {error.message}")


def _end_context(desk: Desk, task: str) -> None:
    """What was handed over is archived in a few lines; a failure of that never undoes a close."""
    if (desk.project.root / ".kedge" / "context" / task).is_dir():
        from kedge.handoff.lifecycle import archive

        desk.here.warn(*archive(desk.project, task))
