"""`kedge hook`: what shared settings call; the same as `kedge/hook.py` by its path."""

from __future__ import annotations

from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply


@syntax.command("Answer an agent's hook; agents call this.")
@syntax.argument("agent")
def command(_: Edge, agent: str) -> Reply:
    from kedge.hook import main

    main(agent)
    return Reply()
