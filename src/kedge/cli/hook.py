"""`kedge hook`: what shared settings call; the same as `kedge/hook.py` by its path."""

from __future__ import annotations

import click

from kedge.cli import edge
from kedge.cli.edge import Reply


@edge.command("Answer an agent's hook; agents call this.")
@click.argument("agent")
def command(agent: str) -> Reply:
    from kedge.hook import main

    main(agent)
    return Reply()
