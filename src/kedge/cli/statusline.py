"""`kedge statusline`: the status line of Claude Code; does the same as running
`kedge/statusline.py`, which `kedge init --statusline` installs."""

from __future__ import annotations

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.errors import UsageError


@click.command(cls=KedgeCommand)
@click.option(
    "--in-place-of",
    "instead",
    metavar="JSON",
    help="Also run this command, which was in the same settings before.",
)
@click.option("--beside", metavar="JSON", help="Also run this command, from other settings.")
def command(_: Edge, instead: str | None, beside: str | None) -> Reply:
    """Print Claude Code's status line; called by Claude Code."""
    import sys

    from kedge.statusline import main

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "kedge statusline reads what Claude Code gives on standard input",
            hint="kedge init --statusline installs it",
        )
    given = [["--in-place-of", instead], ["--beside", beside]]
    main([word for pair in given if pair[1] is not None for word in pair if word])
    return Reply()
