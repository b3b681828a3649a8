"""`kedge completion`: scripts that let a shell complete commands, options and task ids."""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

from kedge.cli.commands import KedgeCommand, root
from kedge.cli.edge import Edge, Reply, write
from kedge.errors import KedgeError

VARIABLE = "_KEDGE_COMPLETE"  # click's scripts set it when they ask for completions
SHELLS = ("bash", "zsh", "fish")


_WHERE = """\b
Where each shell looks for the script:
bash: ~/.local/share/bash-completion/completions/kedge
zsh:  _kedge in a directory of $fpath
fish: ~/.config/fish/completions/kedge.fish"""


@click.command(cls=KedgeCommand, epilog=_WHERE)
@click.argument("shell", type=click.Choice(SHELLS))
def command(edge: Edge, shell: str) -> Reply:
    """Print a script that completes commands in a shell."""
    script = ShellComplete.source(_completer(edge, shell)).strip() + "\n"
    return Reply({"shell": shell, "script": script}, script)


def answer() -> int:
    """Print the completions for the words that a shell passes in environment variables."""
    shell, _, action = os.environ[VARIABLE].partition("_")
    if shell not in SHELLS or action != "complete":
        return 2
    try:
        write(_completer(Edge(json=False), shell).complete() + "\n")
    except (KedgeError, click.ClickException):  # half a command line need not be a valid one
        return 1
    sys.stdout.flush()
    return 0


def _completer(edge: Edge, shell: str) -> ShellComplete:
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click knows every shell of SHELLS
    return kind(root, {"obj": edge}, "kedge", VARIABLE)
