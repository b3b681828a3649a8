"""`kedge hook`: the hook command in shared settings; does the same as running `kedge/hook.py`."""

from __future__ import annotations

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply


@click.command(cls=KedgeCommand)
@click.argument("agent")
def command(_: Edge, agent: str) -> Reply:
    """Answer an agent's hook; called by agents."""
    from kedge.hook import main

    main(agent)
    return Reply()
