"""`kedge drift recall`: what agents did before to the same files, or for the same words."""

from __future__ import annotations

import os
from typing import Any

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import table
from kedge.cli.session_records import open_records
from kedge.drift.evidence.topic import extract_terms
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.host.text import shorten
from kedge.store.recall import recall as find_steps

_LONGEST = 120  # characters of a command or a reason in a table


@click.command(cls=KedgeCommand)
@click.option("--path", "paths", metavar="PATH", multiple=True, help="A file; repeatable.")
@click.option("--for", "text", metavar="TEXT", default="", help="Words of a goal.")
def recall(edge: Edge, paths: tuple[str, ...], text: str) -> Reply:
    """List past steps that stayed on course: on the same files, in the same folders, for the same
    words, and key decisions. At most ten."""
    files = [_find_place(edge.project(), edge, path) for path in paths]
    folders = sorted({path.rpartition("/")[0] or "." for path in files})
    with open_records(edge) as record:
        rows = find_steps(
            record.db, "", files=files, folders=folders, keywords=sorted(extract_terms(text).words)
        )
        steps = [_describe(row, record.short) for row in rows]
    if not steps:
        edge.warn("no past step is related")
    return Reply({"steps": steps}, lambda: _show(steps))


def _find_place(project: Project, edge: Edge, path: str) -> str:
    """Return the path relative to the project's root, as steps name it."""
    return os.path.relpath((edge.directory / path).absolute(), project.root)


def _describe(row: dict[str, Any], short: dict[str, str]) -> dict[str, Any]:
    return {
        "session": short.get(row["session"], row["session"]),
        "step": row["position"],
        "at": row["at"],
        "why": row["why"],
        "act": row["action_type"],
        "files": row["files"],
        "command": redact(row["command"]),
        "reasoning": redact(row["reasoning"]),
        "score": row["drift_score"],
    }


def _show(steps: list[dict[str, Any]]) -> str:
    rows = [
        (
            f"{step['session']}:{step['step']}",
            step["at"][:16].replace("T", " "),
            step["act"],
            shorten(", ".join(step["files"]) or step["command"], _LONGEST),
            step["why"],
            shorten(step["reasoning"], _LONGEST),
        )
        for step in steps
    ]
    return table(("step", "at", "act", "what", "found by", "reason"), rows)
