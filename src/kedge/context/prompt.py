"""The prompt for one task: the task, its epic, what was tried before, and how to end."""

from __future__ import annotations

from kedge.context import sources
from kedge.context.budget import Given, Part, enough, share
from kedge.context.workplace import Workplace
from kedge.errors import KedgeError
from kedge.host import tokens
from kedge.host.record import NamedTuple
from kedge.host.text import shortened
from kedge.model.attempt import Attempt, Outcome
from kedge.model.task import Status, Task
from kedge.tasks import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WEIGHTS = {"task": 10, "scope": 10, "attempts": 6, "epic": 3, "complete": 1, "close": 1}
_WORDS = 1400  # characters of an epic's description, some 200 words
_ATTEMPTS = 3
_LINE = 300
_CHECKED = ("typecheck", "test", "lint")


class Prompt(NamedTuple):
    text: str
    tokens: int
    budget: int
    parts: tuple[Given, ...]
    warnings: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        rows = [one.data() for one in self.parts]
        return {"text": self.text, "tokens": self.tokens, "budget": self.budget, "sections": rows}


def make(place: Workplace, task: Task) -> Prompt:
    warnings: list[str] = []
    scope = _scope(place, task, warnings)
    parts = [_task(place, task, scope), scope, _epic(place), _attempts(place, task)]
    parts.append(_close(place, task))
    parts.append(_complete(place, task, warnings))
    found = [part for part in parts if part is not None]
    budget = place.settings.prompt.tokens
    shared = share(found, budget, WEIGHTS, "", f"kedge prompt {task.id} --tokens {enough(found)}")
    text = shared.text.rstrip() + "\n"
    count = tokens.count(text)
    if count > budget:
        warnings.append(f"what may not be cut takes {count} tokens, above the budget of {budget}")
    return Prompt(text, count, budget, tuple(shared.given), (*place.warnings, *warnings))


def _task(place: Workplace, task: Task, scope: Part | None) -> Part:
    head = ["## CURRENT TASK", f"Task ID: {task.id}", f"Type: {task.type}"]
    head.append(f"Title: {shortened(task.title, _LINE)}")
    rows = [f"Scope: {', '.join(task.scope_in)}"] if task.scope_in else []
    rows += [f"Out of scope: {', '.join(task.scope_out)}"] if task.scope_out else []
    held = rules.waiting_for(place.tasks, task)
    rows += [f"Held up: {'; '.join(held)}"] if held else []
    if task.status in (Status.BLOCKED, Status.DONE, Status.FAILED):
        rows.insert(0, f"Status: {task.status.value}")
    if task.description.strip() and scope is None:  # else it is in the feature's documents
        rows += ["", "Description:", task.description.strip()]
    return Part(
        "task",
        "\n".join(head),
        "\n".join(rows),
        sources.criteria(task),
        more=f"kedge task show {task.id}",
    )


def _scope(place: Workplace, task: Task, warnings: list[str]) -> Part | None:
    """What a task of a feature needs of the feature's documents."""
    if place.backend.name != "feature_docs" or not task.epic:
        return None
    from kedge.context.feature import brief, folder, render

    number = task.id.removeprefix(f"{task.epic}-")
    try:
        feature = folder.load(
            place.project, folder.find(place.project, place.project.root, task.epic)
        )
        mine = next((one for one in feature.tasks if one.number == number), None)
        if mine is None:
            return None
        about = brief.make(place.project, feature, warnings)
        made = render.render(feature, mine, about.text if about else None)
    except KedgeError as error:
        warnings.append(f"the feature's documents are left out: {error.message}")
        return None
    more = f"kedge feature scope {task.epic} {number}"
    return Part("scope", "## FROM THE FEATURE'S DOCUMENTS", made.text.strip(), more=more)


def _epic(place: Workplace) -> Part | None:
    epic = place.epic
    if epic is None:
        return None
    most = place.settings.prompt.siblings
    done, left = sources.siblings(place)
    rows = [f"Epic: {epic.id} - {epic.title}"]
    rows += [_first(epic.description.strip())] if epic.description.strip() else []
    for title, found in (
        ("Completed tasks in this epic:", done),
        ("Remaining tasks after this one:", left),
    ):
        if lines := sources.named(title, found, most):
            rows += ["", *lines]
    return Part("epic", "## EPIC CONTEXT", "\n".join(rows), more=f"kedge task show {epic.id}")


def _attempts(place: Workplace, task: Task) -> Part | None:
    past = [one for one in place.attempts(task) if one.outcome is not Outcome.DONE]
    if not past:
        return None
    times = "once" if len(past) == 1 else f"{len(past)} times"
    rows = [f"This task was attempted {times} before and did not succeed. The last first:"]
    for attempt in reversed(past[-_ATTEMPTS:]):
        rows += _attempt(attempt)
    title = "## PREVIOUS ATTEMPT" if len(past) == 1 else "## PREVIOUS ATTEMPTS"
    return Part("attempts", title, "\n".join(rows), more=f"kedge log show {task.id}")


def _attempt(attempt: Attempt) -> list[str]:
    rows = ["", f"Attempt {attempt.number}: {attempt.outcome.value}"]
    rows += [f"Failure reason: {shortened(attempt.reason, _LINE)}"] if attempt.reason else []
    rows += [f"Tried: {shortened(one, _LINE)}" for one in attempt.tried]
    failed = [one for one in attempt.checks if one.get("exit_code")]
    rows += [f"Check failed: `{one.get('command')}`" for one in failed]
    rows += [f"Avoid repeating: {shortened(one, _LINE)}" for one in attempt.avoid]
    return rows


def _close(place: Workplace, task: Task) -> Part:
    kept = {
        "jsonl": "Tasks are kept in `.kedge/tasks.jsonl`; change them by these commands only.",
        "beads": "Tasks are kept by beads; these commands write there, as `bd` would.",
        "task_yaml": "Tasks are kept in `tasks/*.task.yaml`; these commands write there.",
        "feature_docs": "Tasks are kept in the feature's `tasks.md`; these commands write its "
        "status line.",
    }
    rows = [
        f'- Done: `kedge task close {task.id} --reason "WHAT WAS DONE"`',
        f'- Cannot go on: `kedge task block {task.id} --type spec-unclear --reason "WHY"`',
        kept[place.backend.name],
    ]
    if place.alone:  # the loop proves and closes
        rows[0] = "- Done: say what was done; the checks are run again, and then it is closed"
        rows[1] = "- Cannot go on: end with `<stuck>why</stuck>`"
    if place.backend.name != "feature_docs":  # there tasks are added in the document
        add = f'`kedge task add "TITLE"{_under(task)}`'
        rows.insert(2, f"- Something else turned up: {add}, and go on with this")
    return Part("close", "## TASK MANAGEMENT", kept="\n".join(rows))


def _under(task: Task) -> str:
    return f" --epic {task.epic}" if task.epic else ""


def _complete(place: Workplace, task: Task, warnings: list[str]) -> Part:
    commands = [f"`{one}`" for one in task.checks]
    try:
        found = place.map_data["commands"]
        commands += [
            f"`{one['command']}`"
            for one in found
            if one["kind"] in _CHECKED and f"`{one['command']}`" not in commands
        ]
    except KedgeError as error:
        warnings.append(f"the project's own commands are not known: {error.message}")
    loops = ", ".join(commands) or "typecheck, tests, lint"
    rows = [f"1. Run the feedback loops: {loops}"]
    if place.alone:
        rows.append("2. Say what was done and how it was shown; leave commits to the loop")
    else:
        rows.append("2. Mark the task complete")
        rows.append(f"3. Commit: `{task.type}({task.id}): {shortened(task.title, 100)}`")
    return Part("complete", "## WHEN COMPLETE", kept="\n".join(rows))


def _first(text: str) -> str:
    """The beginning of a text, up to the end of a word."""
    if len(text) <= _WORDS:
        return text
    return text[:_WORDS].rsplit(maxsplit=1)[0] + " …"
