"""The prompt for one task: the task, its epic, earlier attempts, and how to finish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kedge.context import anchor_sources
from kedge.context.budget import FittedPart, TextPart, fit_parts, suggest_budget
from kedge.context.overlaps import overlaps
from kedge.context.workspace import Workspace
from kedge.errors import KedgeError
from kedge.host import tokens
from kedge.host.text import shorten
from kedge.model.attempt import Attempt, Outcome
from kedge.model.task import Status, Task
from kedge.tasks import rules

WEIGHTS = {"task": 10, "scope": 10, "attempts": 6, "epic": 3, "complete": 1, "close": 1}
_EPIC = 1400  # characters of an epic's description, about 200 words
_ATTEMPTS = 3
_LINE, _LONG = 300, 1000  # characters of a line, and of one about the last attempt
_CHECKED = ("typecheck", "test", "lint")


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str
    tokens: int
    budget: int
    parts: tuple[FittedPart, ...]
    warnings: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        rows = [one.data() for one in self.parts]
        return {"text": self.text, "tokens": self.tokens, "budget": self.budget, "sections": rows}


def make(workspace: Workspace, task: Task, detail: str = "") -> Prompt:
    """Make the prompt; `detail` is what the ledger does not hold of the last attempt."""
    warnings: list[str] = []
    scope = _scope(workspace, task, warnings)
    parts = [
        _task(workspace, task, scope),
        scope,
        _epic(workspace),
        _attempts(workspace, task, detail),
    ]
    parts.append(_close(workspace, task))
    parts.append(_complete(workspace, task, warnings))
    present = [part for part in parts if part is not None]
    budget = workspace.settings.prompt.tokens
    shared = fit_parts(
        present, budget, WEIGHTS, "", f"kedge prompt {task.id} --tokens {suggest_budget(present)}"
    )
    text = shared.text.rstrip() + "\n"
    count = tokens.count(text)
    if count > budget:
        warnings.append(f"the parts that are never cut take {count} tokens, above {budget}")
    return Prompt(text, count, budget, tuple(shared.parts), (*workspace.warnings, *warnings))


def _task(workspace: Workspace, task: Task, scope: TextPart | None) -> TextPart:
    head = ["## CURRENT TASK", f"Task ID: {task.id}", f"Type: {task.type}"]
    head.append(f"Title: {shorten(task.title, _LINE)}")
    rows = [f"Scope: {', '.join(task.scope_in)}"] if task.scope_in else []
    rows += [f"Out of scope: {', '.join(task.scope_out)}"] if task.scope_out else []
    held = rules.find_obstacles(workspace.tasks, task)
    rows += [f"Held up: {'; '.join(held)}"] if held else []
    if task.status in (Status.BLOCKED, Status.DONE, Status.FAILED):
        rows.insert(0, f"Status: {task.status.value}")
    if task.description.strip() and scope is None:  # else the feature's documents hold it
        rows += ["", "Description:", task.description.strip()]
    return TextPart(
        "task",
        "\n".join(head),
        "\n".join(rows),
        anchor_sources.render_criteria(task),
        more=f"kedge task show {task.id}",
    )


def _scope(workspace: Workspace, task: Task, warnings: list[str]) -> TextPart | None:
    """The sections of the feature's documents that a task of a feature needs."""
    from kedge.features.layouts import get_layout

    layout, above = get_layout(workspace.backend.name), rules.epics_of(workspace.tasks, task)
    if layout is None or not above:
        return None
    from kedge.features import brief, render
    from kedge.features.feature import load_feature
    from kedge.features.folders import find_feature

    name = above[-1].id
    number = task.id.removeprefix(f"{name}-")
    try:
        project = workspace.project
        feature = load_feature(project, find_feature(project, project.root, name, [layout]))
        mine = next((one for one in feature.tasks if one.number == number), None)
        if mine is None:
            return None
        about = brief.make_brief(workspace.project, feature, warnings)
        project_text = about.text if about else None
        sections = render.render_scope(feature, mine, project_text)
    except KedgeError as error:
        warnings.append(f"the feature's documents are left out: {error.message}")
        return None

    def shorten_scope(room: int) -> str | None:
        shorter = render.fit_scope(feature, mine, project_text, room)
        return shorter.text.strip() if shorter else None

    title, more = "## FROM THE FEATURE'S DOCUMENTS", f"kedge feature scope {name} {number}"
    return TextPart("scope", title, sections.text.strip(), more=more, shorten=shorten_scope)


def _epic(workspace: Workspace) -> TextPart | None:
    epic = workspace.epic
    if epic is None:
        return None
    most = workspace.settings.prompt.siblings
    done, left = anchor_sources.find_siblings(workspace)
    rows = [f"Epic: {epic.id} - {epic.title}"]
    rows += [_take_beginning(epic.description.strip())] if epic.description.strip() else []
    for title, tasks in (
        ("Completed tasks in this epic:", done),
        ("Remaining tasks after this one:", left),
    ):
        if lines := anchor_sources.list_tasks(title, tasks, most):
            rows += ["", *lines]
    return TextPart("epic", "## EPIC CONTEXT", "\n".join(rows), more=f"kedge task show {epic.id}")


def _attempts(workspace: Workspace, task: Task, detail: str) -> TextPart | None:
    past = [one for one in workspace.attempts(task) if one.outcome is not Outcome.DONE]
    if not past:
        return TextPart("attempts", "## PREVIOUS ATTEMPT", kept=detail) if detail else None
    times = "once" if len(past) == 1 else f"{len(past)} times"
    rows = [f"This task was attempted {times} before and did not succeed. Latest first:"]
    for attempt in reversed(past[-_ATTEMPTS:]):
        rows += _attempt(attempt, _LONG if attempt is past[-1] else _LINE)
    title = "## PREVIOUS ATTEMPT" if len(past) == 1 else "## PREVIOUS ATTEMPTS"
    if detail and len(past) > 1:
        detail = f"Attempt {past[-1].number}, in detail:\n\n{detail}"
    text, more = "\n".join(rows), f"kedge log show {task.id}"
    return TextPart("attempts", title, text, detail, more=more)


def _attempt(attempt: Attempt, longest: int) -> list[str]:
    rows = ["", f"Attempt {attempt.number}: {attempt.outcome.value}"]
    rows += [f"Failure reason: {shorten(attempt.reason, longest)}"] if attempt.reason else []
    rows += [f"Tried: {shorten(one, _LINE)}" for one in attempt.tried]
    failed = [str(one.get("command")) for one in attempt.checks if one.get("exit_code")]
    rows += [f"Check failed: `{one}`" for one in failed if f"`{one}`" not in attempt.reason]
    rows += [f"Avoid repeating: {shorten(one, longest)}" for one in attempt.avoid]
    return rows


def _close(workspace: Workspace, task: Task) -> TextPart:
    storage = {
        "jsonl": "Tasks are kept in `.kedge/tasks.jsonl`; change them by these commands only.",
        "beads": "Tasks are kept by beads; these commands write there, as `bd` would.",
        "task_yaml": "Tasks are kept in `tasks/*.task.yaml`; these commands write there.",
        "task_master": "Tasks are kept in Taskmaster's `tasks.json`; these commands write there.",
    }
    documents = "Tasks are kept in the feature's `tasks.md`; these commands write their state."
    rows = [
        f'- Done: `kedge task close {task.id} --reason "WHAT WAS DONE"`',
        f'- Cannot continue: `kedge task block {task.id} --type spec-unclear --reason "WHY"`',
        storage.get(workspace.backend.name, documents),
    ]
    if workspace.alone:  # the loop runs the checks and closes the task
        rows[0] = "- Done: say what was done; the loop runs the checks again and closes the task"
        rows[1] = (
            "- Cannot continue: end with `<stuck>why</stuck>`, or with a type: "
            '`<stuck type="tooling">` (dependency, design-conflict, scope-exceeded, external)'
        )
    if workspace.backend.name in storage:  # tasks of documents are added there
        epic = f" --epic {task.epic}" if task.epic else ""
        add = f'`kedge task add "TITLE"{epic}`'
        rows.insert(2, f"- Something else turned up: {add}, and continue with this one")
    return TextPart("close", "## TASK MANAGEMENT", kept="\n".join(rows))


def _complete(workspace: Workspace, task: Task, warnings: list[str]) -> TextPart:
    commands = list(task.checks)
    try:
        for one in workspace.map_data["commands"]:
            if one["kind"] in _CHECKED and not overlaps(one["command"], commands):
                commands.append(one["command"])
    except KedgeError as error:
        warnings.append(f"the project's own commands cannot be detected: {error.message}")
    loops = ", ".join(f"`{one}`" for one in commands) or "typecheck, tests, lint"
    rows = [f"1. Run the feedback loops: {loops}"]
    if workspace.alone:
        rows.append("2. Say what was done and how you checked it; leave commits to the loop")
    else:
        again = ": kedge runs its checks again, and refuses while one is red" if task.checks else ""
        rows.append(f"2. Mark the task complete{again}")
        rows.append(f"3. Commit: `{task.type}({task.id}): {shorten(task.title, 100)}`")
    return TextPart("complete", "## WHEN COMPLETE", kept="\n".join(rows))


def _take_beginning(text: str) -> str:
    """Return the beginning of a text, up to the end of a word."""
    if len(text) <= _EPIC:
        return text
    return text[:_EPIC].rsplit(maxsplit=1)[0] + " …"
