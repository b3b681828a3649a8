"""`kedge demo`: in a scratch repository, an agent strays and kedge catches it."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.demo_view import DemoView
from kedge.cli.edge import Edge, Reply
from kedge.demo import stage, steps
from kedge.demo.agent import CLIENTS, SCRIPT
from kedge.demo.stage import Stage
from kedge.errors import ProgramError


@click.command(cls=KedgeCommand)
@click.option("--keep", is_flag=True, help="Leave the scratch repository and print its path.")
@click.option(
    "--agent",
    "client",
    type=click.Choice([one for one in CLIENTS if one != SCRIPT]),
    help="Use this installed client, with a scripted model; by default a small scripted client.",
)
def command(edge: Edge, keep: bool, client: str | None) -> Reply:
    """Show how kedge notices an agent that strays, in a scratch repository."""
    client = client or SCRIPT
    program = stage.find_program(client)
    view = DemoView(edge)
    known: dict[str, str] = {}
    with stage.open_stage(keep=keep) as scratch:
        view.begin(str(scratch.root))
        scratch.set_up(client, program)
        told = [
            _tell(chapter, number, scratch, view, known)
            for number, chapter in enumerate(steps.make_story(client), start=1)
        ]
    path = str(scratch.root) if keep else None
    report = known["report"] if keep else None
    view.end(path, report)
    return Reply({"chapters": told, "path": path, "report": report})


def _tell(
    chapter: steps.Chapter, number: int, scratch: Stage, view: DemoView, known: dict[str, str]
) -> dict[str, Any]:
    """Run a chapter's commands and tell what they print."""
    view.show_chapter(number, chapter)
    ran = []
    for one in chapter.commands:
        teller = steps.Teller(one, known)
        view.show_command(teller.text)
        result = scratch.run(teller.text, partial(view.show, teller))
        output = "\n".join(result.lines)
        ran.append({"command": teller.text, "exit_code": result.code, "output": output})
        if missing := teller.list_missing(result.code):
            raise ProgramError(
                f"`{teller.text}` did not print {', '.join(missing)}",
                hint="that is a bug: report it with the output of kedge demo --json; with --keep,"
                f" {scratch.top} is left",
                data={"commands": ran},
            )
    return {"title": chapter.title, "commands": ran}
