"""`kedge drift`: compare what agents do with what they were asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kedge.cli import drift_limit, drift_recall, drift_replay, drift_sessions
from kedge.cli.commands import Group
from kedge.cli.edge import Edge, Reply
from kedge.drift import cases
from kedge.drift.code_map import MapSource
from kedge.host import project

command = Group(help="Compare what agents do with what they were asked.")


@command.command()
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project, as it was before the sessions. Its map and its files are used.",
)
def score(edge: Edge, root: Path | None) -> Reply:
    """Score recorded sessions from standard input. Each line is a JSON case; for each, print a
    line of verdicts."""
    directory = str((edge.directory / root).resolve()) if root is not None else None
    source = MapSource(project.find(Path(directory))) if directory is not None else None

    def score_lines() -> Iterator[dict[str, Any]]:
        for number, line in enumerate(_read_lines(), 1):
            if line.strip():
                code_map = source.open_session() if source is not None else None
                yield cases.score(cases.read(line, number), directory, code_map)

    if edge.json:
        return Reply(list(score_lines()))
    for verdicts in score_lines():
        sys.stdout.write(json.dumps(verdicts) + "\n")
    return Reply()


def _read_lines() -> Iterator[bytes]:
    if sys.stdin is not None:
        yield from sys.stdin.buffer


command.add_command(drift_replay.replay)
command.add_command(drift_sessions.status)
command.add_command(drift_sessions.explain)
command.add_command(drift_sessions.report)
command.add_command(drift_recall.recall)
command.add_command(drift_limit.limit)
