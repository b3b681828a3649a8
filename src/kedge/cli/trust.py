"""`kedge trust`: approve the commands that the repository names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from kedge import config
from kedge.cli import approval as asking
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.context.workspace import Workspace
from kedge.errors import KedgeError, UsageError
from kedge.handoff import approval
from kedge.handoff.approval import NamedCommand
from kedge.host.agent_session import is_user
from kedge.host.approvals import COMMAND, SETTING, Approvals, Item
from kedge.host.project import Project
from kedge.host.text import count_noun
from kedge.tasks import choose, rules
from kedge.tasks.board import Board


@click.command(
    cls=KedgeCommand,
    epilog="These are checks of tasks, context.commands, and detected build and test commands. "
    "kedge runs none of them until you have approved it, once for all work trees of the "
    "repository, and again when it changes. What you type through kedge is approved by that.",
)
@click.option("--list", "only_list", is_flag=True, help="Show them, and approve nothing.")
@click.option("--revoke", is_flag=True, help="Forget what you have approved in this repository.")
def command(edge: Edge, only_list: bool, revoke: bool) -> Reply:
    """Approve the commands that the repository names."""
    if only_list and revoke:
        raise UsageError("--list cannot be combined with --revoke", hint="leave out one of them")
    project = edge.project()
    approvals = Approvals(project)
    if revoke:
        count = approvals.revoke()
        text = f"{count_noun(count, 'approval')} revoked" if count else "nothing was approved"
        return Reply({"revoked": count, "repository": approvals.repository}, text)
    items = _list_items(edge, project)
    found = approval.examine(project, [one for one in items if one.kind == COMMAND])
    missing = [one for one in found if not one.approved]
    weaker = [one for one in items if one.kind == SETTING and not approvals.has(SETTING, one.text)]
    if only_list or not (missing or weaker):
        return _reply(project, found, items)
    if not is_user(os.environ):
        raise asking.refuse_agent()
    if edge.can_ask:
        parts = [asking.describe(missing)] if missing else []
        if weaker:
            lines = "\n".join(f"  {clean(one.text)}" for one in weaker)
            parts.append(f"Its settings are weaker than the default:\n{lines}")
        question = "Approve this for this repository?"
        if not edge.confirm(question, "", "", details="\n".join(parts)):
            return Reply({"approved": []}, "nothing was approved")
    approvals.approve(items)
    return _reply(
        project, approval.examine(project, [i for i in items if i.kind == COMMAND]), items
    )


def _list_items(edge: Edge, project: Project) -> list[Item]:
    """Return all that kedge would run here, or obey, on the word of the repository."""
    loaded = config.load(project)
    settings = loaded.settings  # its warnings are about what is listed here
    workspace = Workspace(project, settings)

    def commands() -> Sequence[Mapping[str, Any]]:
        detected: Sequence[Mapping[str, Any]] = workspace.map_data["commands"]
        return detected

    board = Board(choose.open_backend(project, settings.tasks))
    tasks = [one for one in board.tasks().values() if not one.finished and one.type != rules.EPIC]
    edge.warn(*board.warnings)
    items = approval.list_checks(project, settings, tasks, commands)
    items += [Item(COMMAND, one, approval.SETTING) for one in settings.context.commands]
    try:
        items += approval.list_allowed(commands)
    except KedgeError as error:
        edge.warn(f"the project's commands could not be detected: {error.message}")
    return [*items, *loaded.weaker]


def _reply(project: Project, found: Sequence[NamedCommand], items: Sequence[Item]) -> Reply:
    approvals = Approvals(project)
    settings = [one for one in items if one.kind == SETTING]
    data = {
        "repository": approvals.repository,
        "file": str(approvals.path) if approvals.path else None,
        "commands": [one.data() for one in found],
        "settings": [
            {"setting": one.text, "approved": approvals.has(SETTING, one.text)} for one in settings
        ],
    }
    rows = [
        (
            "approved" if one.approved else "not approved",
            approval.flatten(one.command),
            ", ".join(one.sources),
            f"was {', '.join(f'`{approval.flatten(old)}`' for old in one.before)}"
            if one.before
            else "",
        )
        for one in found
    ]
    for one in settings:
        state = "approved" if approvals.has(SETTING, one.text) else "not approved"
        rows.append((state, one.text, "weaker than the default", ""))
    headers = ("", "command", "named by", "before")
    return Reply(data, lambda: table(headers, rows, empty="this repository names no commands\n"))
