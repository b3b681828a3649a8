"""`kedge mcp`: the MCP server of this project, on standard input and output."""

from __future__ import annotations

import os
import sys

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.errors import UsageError


@click.command(cls=KedgeCommand)
def command(edge: Edge) -> Reply:
    """Serve kedge's tools to an MCP client; called by clients."""
    from kedge.mcp.stdio import Server

    if edge.json:
        raise UsageError("kedge mcp speaks its own JSON", hint="leave --json out")
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "kedge mcp answers an MCP client on standard input",
            hint="name this command in the settings of your client, as an MCP server",
        )
    # Whatever else prints must not end up between the messages.
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with target:
        Server(edge.directory.absolute(), sys.stdin.buffer, target).serve()
    return Reply()
