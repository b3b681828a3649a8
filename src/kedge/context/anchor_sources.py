"""The sources of an anchor: one function for each.

Each returns a part, or None if it has nothing to report. A source that cannot be read raises
KedgeError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kedge.context import default_files
from kedge.context.budget import TextPart
from kedge.context.git_state import describe_git
from kedge.context.workspace import Workspace
from kedge.errors import KedgeError
from kedge.host import files, tokens
from kedge.host.redact import redact
from kedge.host.text import count_noun, shorten
from kedge.model.attempt import Attempt, Outcome
from kedge.model.task import Status, Task
from kedge.tasks import rules

_COMMENT = re.compile(r"^[ \t]*<!--(?:(?!-->).)*-->[ \t]*$\n?", re.MULTILINE)
_LINE = 160  # characters of a lesson, a title or a commit's subject
_SIBLINGS = 10
_OTHERS = 20  # other tasks whose lessons are read
_RECALLED = 5  # earlier steps
_LESSONS = 250  # tokens of lessons from the knowledge bank


def describe_prompt(workspace: Workspace) -> TextPart | None:
    """How to work here: the project's `PROMPT.md`; for an agent that works alone, the run loop."""
    for name in ("PROMPT.md", ".kedge/runloop.md") if workspace.alone else ("PROMPT.md",):
        text = _read_document(workspace, name)
        if text:
            return _document_part(
                "prompt", f"### System Instructions ({name})", text, name, workspace
            )
    if not workspace.alone:
        return None
    text = default_files.read_text("runloop.md")
    more = "kedge anchor --sources prompt"
    return TextPart("prompt", "### System Instructions", text.strip(), more=more)


def describe_agent(workspace: Workspace) -> TextPart | None:
    """The project's own commands: `AGENT.md`, or the commands its configuration defines."""
    if text := _read_document(workspace, "AGENT.md"):
        return _document_part("agent", "### Agent Guide (AGENT.md)", text, "AGENT.md", workspace)
    commands = workspace.map_data["commands"]
    lines = [f"- {one['kind']}: `{one['command']}` ({one['source']})" for one in commands]
    return (
        TextPart("agent", "### Agent Guide", "\n".join(lines), more="kedge map") if lines else None
    )


def describe_task(workspace: Workspace) -> TextPart | None:
    task = workspace.task
    if task is None:
        return TextPart(
            "task",
            "### Current Task",
            kept="None is in progress. `kedge task ready` lists what can be started.",
        )
    text = "\n".join([*list_facts(workspace, task), "", task.description.strip()])
    title = f"### Current Task\nID: {task.id}\nTitle: {shorten(task.title, _LINE)}"
    return TextPart("task", title, text, render_criteria(task), more=f"kedge task show {task.id}")


def list_facts(workspace: Workspace, task: Task) -> list[str]:
    """List the task's fields, one `Name: value` each, without the empty ones."""
    needed_by = [one.id for one in workspace.tasks.values() if task.id in one.depends_on]
    rows = {
        "Type": f"{task.type}, {task.priority}",
        "Status": _status(task),
        "Labels": ", ".join(task.labels),
        "Held up": "; ".join(rules.find_obstacles(workspace.tasks, task)),
        "Needed by": ", ".join(needed_by),
        "Scope": ", ".join(task.scope_in),
        "Out of scope": ", ".join(task.scope_out),
        "Checks": ", ".join(f"`{one}`" for one in task.checks),
    }
    return [f"{name}: {value}" for name, value in rows.items() if value]


def render_criteria(task: Task) -> str:
    """Render the acceptance criteria as a checklist; empty if there are none."""
    if not task.acceptance:
        return ""
    items = ("- [ ] " + one.strip().replace("\n", "\n  ") for one in task.acceptance)
    return "\n".join(["Acceptance criteria:", *items])


def describe_progress(workspace: Workspace) -> TextPart | None:
    """What was learned: lessons from the ledger, and the project's `progress.txt`."""
    most = workspace.settings.anchor.progress_lines
    lines = list(_lessons(workspace))[:most]
    if (text := _read_document(workspace, "progress.txt")) and len(lines) < most:
        lines += text.strip().splitlines()[-(most - len(lines)) :]
    more = f"kedge log show {workspace.task.id}" if workspace.task else ""
    return (
        TextPart("progress", "### Progress Notes", "\n".join(lines), more=more) if lines else None
    )


def _lessons(workspace: Workspace) -> Iterator[str]:
    """Yield the lessons of this task, then those of the tasks nearest to it, latest first."""
    mine = workspace.task
    if mine is not None and not workspace.knows_attempts:
        yield from _lessons_of(mine, workspace.attempts(mine))
    others = [one for one in workspace.tasks.values() if mine is None or one.id != mine.id]
    near = {one.id for one in others if mine and mine.epic and one.epic == mine.epic}
    near |= set(mine.depends_on) if mine else set()
    others.sort(key=lambda one: one.updated_at or "", reverse=True)
    others.sort(key=lambda one: one.id not in near)
    for other in others[:_OTHERS]:
        yield from _lessons_of(other, workspace.attempts(other))


def _lessons_of(task: Task, attempts: Sequence[Attempt]) -> Iterator[str]:
    for attempt in reversed(attempts):
        ended = f"{task.id} #{attempt.number} {attempt.outcome.value}"
        if attempt.outcome is not Outcome.DONE and attempt.reason:
            yield f"- {ended}: {shorten(attempt.reason, _LINE)}"
        yield from (f"- {task.id}: avoid {shorten(one, _LINE)}" for one in attempt.avoid)


def describe_knowledge(workspace: Workspace) -> TextPart | None:
    """The lessons from the knowledge bank that matter for the task."""
    if workspace.task is None or workspace.recall is None:
        return None
    lessons = workspace.recall(workspace.project, workspace.settings, workspace.task, _LESSONS)
    workspace.warnings += lessons.warnings
    if not lessons.text:
        return None
    more = f"kedge knowledge list --task {workspace.task.id}"
    note = "" if lessons.whole else f"\n[… more was left out; `{more}` prints it]"
    return TextPart("knowledge", "### Lessons", lessons.text + note, more=more)


def describe_epic(workspace: Workspace) -> TextPart | None:
    epic = workspace.epic
    if epic is None or workspace.task is None:
        return None
    done, left = find_siblings(workspace)
    lines = [f"{epic.id}: {epic.title}", epic.description.strip()]
    lines += list_tasks("Finished in this epic:", done, _SIBLINGS)
    lines += list_tasks("Still to do after this one:", left, _SIBLINGS)
    if epic.acceptance:
        lines += ["The epic is done when:", *(f"- {one}" for one in epic.acceptance)]
    text = "\n".join(line for line in lines if line)
    return TextPart("epic", "### Epic Context", text, more=f"kedge task show {epic.id}")


def find_siblings(workspace: Workspace) -> tuple[list[Task], list[Task]]:
    """Return the epic's other tasks: the finished ones, latest first, and the rest."""
    mine = workspace.task
    others = rules.children(workspace.tasks, mine.epic) if mine and mine.epic else []
    others = [one for one in others if mine and one.id != mine.id]
    done = [one for one in others if one.status is Status.DONE]
    done.sort(key=lambda one: one.closed_at or "", reverse=True)
    return done, [one for one in others if one.status is not Status.DONE]


def list_tasks(title: str, tasks: Sequence[Task], most: int) -> list[str]:
    """List at most `most` tasks by id and title, below a title line."""
    if not tasks:
        return []
    lines = [f"- {one.id}: {shorten(one.title, _LINE)}{_status_note(one)}" for one in tasks[:most]]
    more = [f"- … and {len(tasks) - most} more"] if len(tasks) > most else []
    return [title, *lines, *more]


def describe_map(workspace: Workspace) -> TextPart | None:
    """A map for this task, smaller than the one in `.kedge/map.md`."""
    from contextlib import closing

    from kedge.repomap import build
    from kedge.repomap.cache import Cache

    query = "" if workspace.task is None else make_map_query(workspace.task)
    budget = max(200, workspace.settings.anchor.tokens // 3)
    with closing(Cache(workspace.project.home())) as cache:
        made = build.make_map(workspace.project, build.MapRequest(query, budget), cache)
    more = (
        f"kedge map --task {workspace.task.id} --output -"
        if workspace.task
        else "kedge map --output -"
    )
    return TextPart("map", "### Project Map", made.text.strip(), more=more)


def make_map_query(task: Task) -> str:
    """Return the text by which a map for the task is ranked."""
    return "\n".join([task.title, task.description, *task.acceptance, *task.scope_in])


def describe_drift(workspace: Workspace) -> TextPart | None:
    """Where work on the task strayed, and earlier steps that concern it."""
    if workspace.task is None:
        return None
    more = f"kedge log show {workspace.task.id}"
    lines = []
    last = next((one for one in reversed(workspace.attempts(workspace.task)) if one.drift), None)
    if last is not None and last.drift is not None:
        lines.append(f"The last attempt (#{last.number}) strayed:")
        lines += [f"- {name}: {shorten(str(value), _LINE)}" for name, value in last.drift.items()]
    strayed, steps = _read_steps(workspace, workspace.task)
    for one in strayed[-3:]:
        more = f"kedge drift explain {one['session'][:8]}"
        review = ", needs review" if one["needs_review"] else ""
        lines.append(f"- session {one['session'][:8]} strayed, at worst {one['worst']}{review}")
    if steps:
        lines.append("Earlier steps that concern this task:")
        lines += [f"- {shorten(_step(one), _LINE)} ({one['why']})" for one in steps]
    return TextPart("drift", "### Drift", "\n".join(lines), more=more) if lines else None


def _read_steps(
    workspace: Workspace, task: Task
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the task's sessions that strayed, and the stored steps that concern it."""
    from contextlib import closing

    from kedge.store import recall, sessions, sqlite

    if not (workspace.project.home() / sqlite.FILE).exists():
        return [], []
    folders = [path.rstrip("/").removesuffix("/**") for path in task.scope_in]
    with closing(sqlite.connect(workspace.project.home())[0]) as db:
        strayed = [one for one in sessions.summaries(db, task=task.id) if one["alarms"]]
        steps = recall.recall(db, "", files=list(task.scope_in), folders=folders)
    return strayed, steps[:_RECALLED]


def _step(one: dict[str, Any]) -> str:
    what = f"{one['action_type']} {', '.join(one['files'][:2]) or one['command'][:80]}"
    reason = " ".join(one["reasoning"].split())
    return f"{what}: {reason}" if reason else what


SOURCES: dict[str, Callable[[Workspace], TextPart | None]] = {
    "prompt": describe_prompt,
    "agent": describe_agent,
    "task": describe_task,
    "git": describe_git,
    "progress": describe_progress,
    "knowledge": describe_knowledge,
    "epic": describe_epic,
    "map": describe_map,
    "drift": describe_drift,
}


def _read_document(workspace: Workspace, name: str) -> str:
    """Return a text file of the project without one-line comments; empty if there is none."""
    data = files.read_bytes(workspace.project.path(*name.split("/")))
    if data is None:
        return ""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KedgeError(f"{name} is not UTF-8") from error
    return redact(_COMMENT.sub("", text.replace("\r\n", "\n")).strip())


def _document_part(source: str, title: str, text: str, name: str, workspace: Workspace) -> TextPart:
    lines = text.splitlines()
    most = workspace.settings.anchor.max_prompt_lines
    more = f"cat {name}"
    if len(lines) <= most:
        return TextPart(source, title, text, more=more)
    left = tokens.count("\n".join(lines[most:]))
    count = count_noun(len(lines) - most, "line")
    kept = [*lines[:most], f"[… {count} left out; `{more}` prints all]"]
    why = f"{count} above anchor.max_prompt_lines"
    return TextPart(source, title, "\n".join(kept), more=more, left_out=left, why=why)


def _status(task: Task) -> str:
    words = task.status.value.replace("_", " ")
    if task.blocked:
        return f"{words}, {task.blocked.type.value}: {task.blocked.reason}"
    return f"{words} (claimed by {task.assignee})" if task.assignee else words


def _status_note(task: Task) -> str:
    plain = (Status.OPEN, Status.DONE)
    if rules.UNPROVEN in task.labels:
        return f" ({rules.UNPROVEN})"
    return "" if task.status in plain else f" ({task.status.value.replace('_', ' ')})"
