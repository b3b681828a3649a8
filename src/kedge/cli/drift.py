"""`kedge drift`: what agents do, set against what was asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from kedge.cli import drift_replay, drift_views, syntax
from kedge.cli.edge import Edge, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

command = syntax.group("Watch what agents do against what was asked.")


@command.command("Score recorded sessions: a case per line in, a line of verdicts out.")
@syntax.option(
    "--root",
    metavar="DIR",
    type=syntax.Path(directory=True),
    help="The project that the sessions worked in.",
)
def score(here: Edge, root: Path | None) -> Reply:
    from kedge.drift import cases

    place = str((here.directory / root).resolve()) if root is not None else None

    def scored() -> Iterator[dict[str, Any]]:
        for number, line in enumerate(_lines(), 1):
            if line.strip():
                yield cases.score(cases.read(line, number), place)

    if here.json:
        return Reply(list(scored()))
    for found in scored():
        sys.stdout.write(json.dumps(found) + "\n")
    return Reply()


def _lines() -> Iterator[bytes]:
    if sys.stdin is not None:
        yield from sys.stdin.buffer


command.add(drift_replay.replay)
command.add(drift_views.status)
command.add(drift_views.explain)
command.add(drift_views.report)
