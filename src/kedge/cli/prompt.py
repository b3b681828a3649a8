"""`kedge prompt`: what an agent is given to do a task, or to take a role."""

from __future__ import annotations

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.parts_view import explained
from kedge.errors import UsageError
from kedge.settings import LEAST_PROMPT, MOST


@syntax.command("Print the prompt that an agent gets for a task.")
@syntax.argument("task", required=False)
@syntax.option("--role", metavar="NAME", help="For a role of the plugin; TASK may be a feature.")
@syntax.option("--tokens", type=syntax.IntRange(LEAST_PROMPT, MOST), help="The budget.")
@syntax.option("--explain", is_flag=True, help="Show tokens by section, what was cut and why.")
def command(
    here: Edge, task: str | None, role: str | None, tokens: int | None, explain: bool
) -> Reply:
    if role is not None:
        if tokens or explain:
            raise UsageError("a role's prompt is given whole", hint="leave --tokens and --explain")
        return _role(role, task)
    if task is None:
        raise UsageError("name a TASK, or a --role", hint="kedge prompt TASK, or --role NAME")
    from kedge.context import prompt
    from kedge.context.workplace import Workplace
    from kedge.tasks import rules

    project = here.project()
    loaded = config.load(project, {"prompt.tokens": tokens})
    here.warn(*loaded.warnings)
    place = Workplace(project, loaded.settings, task)
    made = prompt.make(place, rules.find(place.tasks, task))

    def why() -> str:
        return explained(made.parts, made.tokens, made.budget)

    return Reply(made.data(), why if explain else made.text, made.warnings)


def _role(name: str, subject: str | None) -> Reply:
    from kedge.cli.plain import clean
    from kedge.host import tokens
    from kedge.plugin import roles

    role = roles.find(name)
    text = clean(roles.prompt(role, subject))
    count = tokens.count(text)
    part = {"source": role.kind, "tokens": count, "cut": 0}
    return Reply({"role": name, "text": text, "tokens": count, "sections": [part]}, text)
