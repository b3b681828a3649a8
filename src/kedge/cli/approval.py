"""Ask the user to approve what a repository names, once, before a command runs it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kedge.cli.edge import Edge
from kedge.cli.plain import clean
from kedge.errors import KedgeError, NotApproved
from kedge.host.agent_session import is_user
from kedge.host.project import Project

if TYPE_CHECKING:
    from kedge.handoff.approval import NamedCommand
    from kedge.host.approvals import Item

ASK_THE_USER = "ask the user to run kedge trust in a terminal of their own"

trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Approve the commands that the repository names for this, as kedge trust does.",
)


def require(edge: Edge, project: Project, items: Sequence[Item], *, trust: bool) -> None:
    """Have the user approve the commands that they have not: by `--trust`, or on a terminal.

    Raises NotApproved where they do not, or where nobody can be asked.
    """
    from kedge.handoff import approval
    from kedge.host.approvals import Approvals

    missing = approval.find_missing(project, items)
    if not missing:
        return
    if not is_user(os.environ):
        if trust:
            raise refuse_agent()
        raise approval.refuse(missing, hint=ASK_THE_USER)
    if not trust:
        if not edge.can_ask:
            raise approval.refuse(missing)
        question = "Approve them for this repository, and go on?"
        if not edge.confirm(question, "", "", details=describe(missing)):
            raise NotApproved(
                "nothing was run, because its commands are not approved",
                hint="kedge trust --list shows them",
            )
    named = {one.command for one in missing}
    Approvals(project).approve([one for one in items if one.text.strip() in named])


def approve_typed(edge: Edge, project: Project, commands: Sequence[str], source: str) -> None:
    """Approve commands that were typed as an argument; an agent that typed them is told how."""
    from kedge.host.approvals import COMMAND, Approvals, Item

    items = [Item(COMMAND, one, source) for one in commands]
    if not is_user(os.environ):
        from kedge.handoff import approval

        for one in approval.find_missing(project, items):
            edge.warn(f"the user has not approved {approval.describe(one)}; {ASK_THE_USER}")
        return
    try:
        Approvals(project).approve(items)
    except KedgeError as error:
        edge.warn(f"{error.message}, so kedge will ask before it runs {', '.join(commands)}")


def refuse_agent() -> NotApproved:
    return NotApproved("an agent cannot approve commands", hint=ASK_THE_USER)


def describe(missing: Sequence[NamedCommand]) -> str:
    """Return the commands for a question: each whole, on a line of its own, with its origin."""
    from kedge.handoff import approval

    lines = ["This repository names commands that you have not approved:"]
    for one in missing:
        lines.append(f"  {approval.flatten(one.command)}")
        was = [f"was: {approval.flatten(old)}" for old in one.before]
        lines.append(f"    ({'; '.join([', '.join(one.sources), *was])})")
    return clean("\n".join(lines))
