"""`kedge doctor`: does all this reach the agents?"""

from __future__ import annotations

from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean, table
from kedge.context.checkup import Finding
from kedge.errors import CheckFound


@syntax.command("See that what was set up reaches the agents.")
@syntax.option("--fix", is_flag=True, help="Repair what is safe to repair.")
@syntax.option("--no-probe", is_flag=True, help="Do not start agents to see their hooks run.")
def command(here: Edge, fix: bool, no_probe: bool) -> Reply:
    from kedge.context import doctor

    project = here.project()
    found = list(doctor.examine(project, live=not no_probe))
    mended: list[Finding] = []
    if fix:
        mended = doctor.mend(found)
        if mended:
            found = list(doctor.examine(project, live=not no_probe))
    data = {"findings": [_data(one) for one in found], "mended": [one.text for one in mended]}
    text = "".join(clean(f"mended: {one.text}\n") for one in mended) + _shown(found)
    wrong = [one for one in found if one.state == "problem"]
    if not wrong:
        return Reply(data, text)
    if not here.json:
        write(text)
    what = "1 problem" if len(wrong) == 1 else f"{len(wrong)} problems"
    able = any(one.mend for one in wrong)
    hint = "kedge doctor --fix repairs what is safe" if able and not fix else wrong[0].fix
    raise CheckFound(f"{what}: {wrong[0].text}", hint=hint, data=data)


def _data(found: Finding) -> dict[str, str]:
    return {"name": found.name, "state": found.state, "text": found.text, "fix": found.fix}


def _shown(found: list[Finding]) -> str:
    rows = [(one.state, one.name, one.text, one.fix) for one in found]
    return table(("", "what", "found", "to do"), rows)
