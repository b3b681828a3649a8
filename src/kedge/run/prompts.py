"""What an agent is given in each role: the task, what was tried, what those before it left."""

from __future__ import annotations

from copy import copy

from kedge.context import anchor, prompt, sources
from kedge.context.workplace import Workplace
from kedge.errors import KedgeError
from kedge.handoff import views
from kedge.handoff.desk import Desk
from kedge.model.task import Task
from kedge.run.decide import Decision

_DIFF = 60_000  # characters of a diff that are given
_DETAIL = 8_000
_IN_PROMPT = ("task", "prompt", "epic")  # sources of an anchor that the prompt has anyway
_ASKED = {
    "reviewer": "Review this change. Read the code around it as far as you need to; change nothing,"
    " and run nothing that changes files. Look for what is wrong, missing or not asked for.",
    "validator": "Validate this change against its acceptance criteria, one by one: run what shows"
    " it, and say what you saw. Change nothing.",
}
_ANSWER = """\
End with one JSON object in a fenced block, and nothing after it:

```json
{"approved": true, "issues": [{"severity": "blocker|major|minor|note", "description": "…",
"location": "path:line"}], "summary": "…"}
```

`approved` is false only for what must change before this can be accepted; say then what exactly."""


def behaviour(place: Workplace) -> str:
    """The standing instructions of the loop, for the agent's system prompt."""
    part = sources.prompt(place)
    return part.text if part is not None else ""


def implementer(
    place: Workplace, task: Task, session: str, last: Decision | None, *, anchored: bool
) -> tuple[str, list[str]]:
    """The task's prompt, what went wrong last time, and the anchor where it is due."""
    made = prompt.make(place, task)
    parts, warnings = [made.text.rstrip()], list(made.warnings)
    if last is not None:
        parts.append(_last(last))
    if anchored:
        wanted = [one for one in place.settings.anchor.sources if one not in _IN_PROMPT]
        lean = place.settings.anchor._replace(sources=tuple(wanted), include_epic=False)
        other = copy(place)  # with all that was read for the prompt
        other.settings, other.warnings = place.settings._replace(anchor=lean), []
        try:
            given = anchor.full(other, session)
            parts.append(given.text.rstrip())
            warnings += given.warnings
        except KedgeError as error:
            warnings.append(f"no anchor could be given: {error.message}")
    return "\n\n".join(parts) + "\n", warnings


def reviewing(desk: Desk, role: str, before: str) -> str:
    """The role's view, the change, and the outcome of those before."""
    context = desk.read()
    shown = desk.diff("implementer", kind="cumulative", against=None).decode("utf-8", "replace")
    fence = "~" * max(3, _longest(shown) + 1)
    cut = ""
    if len(shown) > _DIFF:
        more = f"kedge context diff {desk.task} --agent implementer"
        cut = f"\n\n{len(shown) - _DIFF} characters of it are left out; `{more}` prints all."
        shown = shown[:_DIFF].rsplit("\n", 1)[0]
    parts = [
        _ASKED[role],
        views.markdown(views.view(context, role)).rstrip(),
        *([before.rstrip()] if before.strip() else []),
        f"## The change\n\n{fence}diff\n{shown.rstrip()}\n{fence}{cut}",
        _ANSWER,
    ]
    return "\n\n".join(parts) + "\n"


def _last(last: Decision) -> str:
    rows = ["## WHAT WENT WRONG LAST TIME", "", f"{last.outcome.value}: {last.reason}"]
    rows += [f"Avoid: {one}" for one in last.avoid]
    if last.detail:
        rows += ["", last.detail[-_DETAIL:]]
    return "\n".join(rows)


def _longest(text: str) -> int:
    """The longest run of tildes, so that a fence can be longer."""
    most = run = 0
    for sign in text:
        run = run + 1 if sign == "~" else 0
        most = max(most, run)
    return most
