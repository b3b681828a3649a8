"""`kedge doctor`: check that agents receive what kedge set up."""

from __future__ import annotations

import contextlib

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean, table
from kedge.context import doctor
from kedge.errors import CheckFound
from kedge.host.text import count_noun


@click.command(cls=KedgeCommand)
@click.option("--fix", is_flag=True, help="Repair what is safe to repair.")
@click.option("--no-probe", is_flag=True, help="Do not start agents to test their hooks.")
def command(edge: Edge, fix: bool, no_probe: bool) -> Reply:
    """Check that agents receive what kedge set up."""
    project = edge.project()
    with contextlib.closing(edge.progress("checking")) as progress:
        findings = list(doctor.examine(project, live=not no_probe, progress=progress))
        mended = doctor.repair(findings) if fix else []
        if mended:
            findings = list(doctor.examine(project, live=not no_probe, progress=progress))
    rows = [(one.state, one.name, one.text, one.fix) for one in findings]
    data = {
        "findings": [
            {"name": name, "state": state, "text": text, "fix": what}
            for state, name, text, what in rows
        ],
        "mended": [one.text for one in mended],
    }
    text = "".join(clean(f"repaired: {one.text}\n") for one in mended)
    text += table(("", "what", "found", "to do"), rows)
    problems = [one for one in findings if one.state == "problem"]
    if not problems:
        return Reply(data, text)
    if not edge.json:
        write(text)
    count = count_noun(len(problems), "problem")
    repairable = any(one.repair for one in problems)
    hint = "kedge doctor --fix repairs what is safe" if repairable and not fix else problems[0].fix
    raise CheckFound(f"{count}: {problems[0].text}", hint=hint, data=data)
