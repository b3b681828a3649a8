"""`kedge exec`: start a program whose requests to its model go through `kedge serve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.errors import ProgramError
from kedge.proxy import child, service
from kedge.proxy.child import Child


@click.command(
    cls=KedgeCommand,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Where kedge serve does not run, the program runs directly. kedge is not in between: "
    "the program takes its place, with its terminal, signals and exit code.",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] CMD...")
def command(edge: Edge, words: tuple[str, ...]) -> Reply:
    """Start an agent whose requests go through kedge serve."""
    project = edge.project()
    state = service.find_running(project.home())
    started = Child(words, os.environ)
    if state is None or not state.proxy:
        edge.say("kedge serve does not run here: the program runs directly")
    else:
        cwd = Path(os.path.abspath(edge.directory))  # noqa: PTH100 - links stay as the user named them
        started = child.point_at(state, project, words, cwd, os.environ)
        for warning in started.warnings:
            edge.say(f"warning: {warning}")
    sys.stdout.flush()
    try:
        os.chdir(edge.directory)
        os.execvpe(started.argv[0], started.argv, dict(started.environment))  # noqa: S606
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ProgramError(f"cannot start {words[0]}: {reason}", hint="check its name") from error
