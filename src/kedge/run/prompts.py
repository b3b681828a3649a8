"""The prompts of each role: the task, what was tried before, and what other roles left."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from kedge.context import anchor, prompt
from kedge.context.workspace import Workspace
from kedge.errors import KedgeError
from kedge.handoff import role_views
from kedge.handoff.operations import HandoffOperations
from kedge.model.task import Task
from kedge.run.decision import Decision
from kedge.run.options import IMPLEMENTER
from kedge.text.fences import mark_around

_MOST_DIFF = 60_000  # characters
_MOST_DETAIL = 8_000  # characters
_IN_PROMPT = ("task", "prompt", "epic")  # sources of an anchor that the prompt has already
_INSTRUCTIONS = {
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


def build_implementer_prompt(
    workspace: Workspace, task: Task, session: str, last: Decision | None, anchor_at: int | None
) -> tuple[str, list[str]]:
    """Return the task's prompt with the details of the last attempt and the anchor, and warnings.

    `anchor_at` is the iteration, by which settings decide on the anchor; None for no anchor.
    """
    detail = last.detail[-_MOST_DETAIL:] if last is not None else ""
    whole = prompt.make(workspace, task, detail)
    parts, warnings = [whole.text.rstrip()], list(whole.warnings)
    if anchor_at is not None and anchor.is_due(workspace, anchor_at):
        try:
            extra = anchor.make_full(_without_prompt_sources(workspace), session)
            parts.append(extra.text.rstrip())
            warnings += extra.warnings
        except KedgeError as error:
            warnings.append(f"the prompt has no anchor: {error.message}")
    return "\n\n".join(parts) + "\n", warnings


def _without_prompt_sources(workspace: Workspace) -> Workspace:
    """Return a copy of the workspace whose anchor leaves out what the prompt has already."""
    names = tuple(one for one in workspace.settings.anchor.sources if one not in _IN_PROMPT)
    settings = replace(workspace.settings.anchor, sources=names, include_epic=False)
    other = copy(workspace)  # with everything that was read for the prompt
    other.settings, other.warnings = replace(workspace.settings, anchor=settings), []
    other.knows_attempts = True
    return other


def build_review_prompt(handoff: HandoffOperations, role: str, past: str) -> str:
    """Return the prompt of a reviewing role: its view, the change, and the `past` reviews."""
    context = handoff.read()
    diff = handoff.diff(IMPLEMENTER, kind="cumulative", against=None).decode("utf-8", "replace")
    fence = mark_around(diff, "~")
    note = ""
    if len(diff) > _MOST_DIFF:
        command = f"kedge context diff {handoff.task} --agent {IMPLEMENTER}"
        note = f"\n\n{len(diff) - _MOST_DIFF} characters are left out; `{command}` prints it all."
        diff = diff[:_MOST_DIFF].rsplit("\n", 1)[0]
    parts = [
        _INSTRUCTIONS[role],
        role_views.render_markdown(role_views.make_view(context, role)).rstrip(),
        *([past.rstrip()] if past.strip() else []),
        f"## The change\n\n{fence}diff\n{diff.rstrip()}\n{fence}{note}",
        _ANSWER,
    ]
    return "\n\n".join(parts) + "\n"
