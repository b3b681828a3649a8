"""Run only what the user has approved: find the commands that a repository names, and refuse those.

A repository names commands in its tasks, in the contexts frozen from them, in its settings, and in
the files that the map detects commands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kedge import config
from kedge.errors import KedgeError, NotApproved
from kedge.handoff.context_store import ContextStore
from kedge.handoff.immutable_block import Commands, choose_commands
from kedge.host.approvals import COMMAND, Approvals, Item
from kedge.host.project import Project
from kedge.model.task import Task
from kedge.settings import Settings

SETTING = "context.commands"
ALLOWED_KINDS = ("build", "test", "lint", "format", "typecheck")  # that an agent of a run may use
_MOST = 5  # commands in a message
_LINE = re.compile(r":\d+$")  # of a place: a command that moves to another line is the same


@dataclass(frozen=True, slots=True)
class NamedCommand:
    """A command, where the repository names it, and what the user approved there before."""

    command: str
    sources: tuple[str, ...]
    before: tuple[str, ...]
    approved: bool

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "sources": list(self.sources), "before": list(self.before)}


def list_checks(
    project: Project, settings: Settings, tasks: Iterable[Task], commands: Commands
) -> list[Item]:
    """Return the commands that prove the tasks: as they are named, and as they are frozen."""
    store = ContextStore(project)
    items = []
    for task in tasks:
        named, _ = choose_commands(settings, task, commands)
        items += [Item(COMMAND, text, _LINE.sub("", where)) for text, where in named]
        items += list_frozen(store, task.id)
    return items


def list_frozen(store: ContextStore, task: str) -> list[Item]:
    """Return the commands in a task's context; none where it has no context that can be read."""
    try:
        if not store.exists(task):
            return []
        frozen = store.read(task).context.immutable["validation_baseline"]["commands"]
    except (KedgeError, KeyError, TypeError):
        return []
    return [Item(COMMAND, str(one), f"task {task}") for one in frozen]


def list_allowed(commands: Commands) -> list[Item]:
    """Return the detected commands that an agent of a run may use without asking."""
    found = [one for one in commands() if one["kind"] in ALLOWED_KINDS]
    return [Item(COMMAND, one["command"], _LINE.sub("", one["source"])) for one in found]


def examine(project: Project, items: Sequence[Item]) -> list[NamedCommand]:
    """Return the commands in their order, each once."""
    approvals = Approvals(project)
    own = _list_own(project)
    found: dict[str, NamedCommand] = {}
    for one in items:
        command = one.text.strip()
        known = found.get(command)
        sources = tuple(dict.fromkeys((*(known.sources if known else ()), one.source)))
        is_approved = command in own or approvals.has(COMMAND, command)
        found[command] = NamedCommand(command, sources, (), is_approved)
    return [
        one
        if one.approved
        else NamedCommand(one.command, one.sources, _find_before(approvals, one, items), False)
        for one in found.values()
    ]


def find_missing(project: Project, items: Sequence[Item]) -> list[NamedCommand]:
    """Return the commands that the user has not approved."""
    return [one for one in examine(project, items) if not one.approved]


def require(project: Project, commands: Iterable[str], task: str) -> None:
    """Raise NotApproved unless the user has approved all these commands of a task."""
    missing = find_missing(project, [Item(COMMAND, one, f"task {task}") for one in commands])
    if missing:
        raise refuse(missing)


def refuse(missing: Sequence[NamedCommand], hint: str | None = None) -> NotApproved:
    """Return the error for commands that the user has not approved."""
    shown = [describe(one) for one in missing[:_MOST]]
    if len(missing) > _MOST:
        shown.append(f"{len(missing) - _MOST} more")
    return NotApproved(
        "you have not approved what this repository names: " + ", ".join(shown),
        hint=hint,
        data={"commands": [one.data() for one in missing]},
    )


def describe(one: NamedCommand) -> str:
    """Return a command with what it was before, on one line."""
    was = f" (was {', '.join(f'`{flatten(old)}`' for old in one.before)})" if one.before else ""
    return f"`{flatten(one.command)}`{was}"


def flatten(command: str) -> str:
    """Return a command on one line, whole: what is not shown is not approved."""
    return command.replace("\n", "\\n").replace("\t", "\\t")


def _find_before(approvals: Approvals, one: NamedCommand, items: Sequence[Item]) -> tuple[str, ...]:
    before: list[str] = []
    for source in one.sources:
        before += approvals.list_others(source, [each for each in items if each.source == source])
    return tuple(dict.fromkeys(before))


def _list_own(project: Project) -> tuple[str, ...]:
    """Return the commands that the user's own settings or environment name for all repositories."""
    loaded = config.load(project)
    if loaded.origins[SETTING].kind == "project":
        return ()
    return tuple(one.strip() for one in loaded.settings.context.commands)
