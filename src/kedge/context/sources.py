"""What an anchor can be made of: one function for each source.

Each gives a part, or None when it has nothing to say. One that cannot say it raises KedgeError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kedge.context import defaults
from kedge.context.budget import Part
from kedge.context.gitstate import git
from kedge.context.workplace import Workplace
from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.redact import redact
from kedge.host.text import shortened
from kedge.model.attempt import Attempt, Outcome
from kedge.model.task import Status, Task
from kedge.tasks import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMMENT = re.compile(r"^[ \t]*<!--(?:(?!-->).)*-->[ \t]*$\n?", re.MULTILINE)
_LINE = 160  # characters of a lesson, a title or a commit's subject
_SIBLINGS = 10
_OTHERS = 20  # tasks whose lessons are looked at
_RECALLED = 5  # steps of the record
_LESSONS = 250  # tokens of what the knowledge bank has to say


def prompt(place: Workplace) -> Part | None:
    """How to work here: `PROMPT.md` of the project; for an agent that works alone, the run loop."""
    for name in ("PROMPT.md", ".kedge/runloop.md") if place.alone else ("PROMPT.md",):
        text = _document(place, name)
        if text:
            return _document_part("prompt", f"### System Instructions ({name})", text, name, place)
    if not place.alone:
        return None
    text = defaults.text_of("runloop.md")
    more = "kedge anchor --sources prompt"
    return Part("prompt", "### System Instructions", text.strip(), more=more)


def agent(place: Workplace) -> Part | None:
    """The project's own commands: `AGENT.md`, else what its configuration says."""
    if text := _document(place, "AGENT.md"):
        return _document_part("agent", "### Agent Guide (AGENT.md)", text, "AGENT.md", place)
    commands = place.map_data["commands"]
    lines = [f"- {one['kind']}: `{one['command']}` ({one['source']})" for one in commands]
    return Part("agent", "### Agent Guide", "\n".join(lines), more="kedge map") if lines else None


def task(place: Workplace) -> Part | None:
    found = place.task
    if found is None:
        return Part(
            "task",
            "### Current Task",
            kept="None is in progress. `kedge task ready` lists what can be started.",
        )
    text = "\n".join([*facts(place, found), "", found.description.strip()])
    title = f"### Current Task\nID: {found.id}\nTitle: {shortened(found.title, _LINE)}"
    return Part("task", title, text, criteria(found), more=f"kedge task show {found.id}")


def facts(place: Workplace, found: Task) -> list[str]:
    needed_by = [one.id for one in place.tasks.values() if found.id in one.depends_on]
    rows = {
        "Type": f"{found.type}, {found.priority}",
        "Status": _status(found),
        "Labels": ", ".join(found.labels),
        "Held up": "; ".join(rules.waiting_for(place.tasks, found)),
        "Needed by": ", ".join(needed_by),
        "Scope": ", ".join(found.scope_in),
        "Out of scope": ", ".join(found.scope_out),
        "Checks": ", ".join(f"`{one}`" for one in found.checks),
    }
    return [f"{name}: {value}" for name, value in rows.items() if value]


def criteria(found: Task) -> str:
    """The acceptance criteria as a checklist; empty when there are none."""
    if not found.acceptance:
        return ""
    items = ("- [ ] " + one.strip().replace("\n", "\n  ") for one in found.acceptance)
    return "\n".join(["Acceptance criteria:", *items])


def progress(place: Workplace) -> Part | None:
    """What was learned: a `progress.txt` of the project, and the lessons of the ledger."""
    most = place.settings.anchor.progress_lines
    lines = list(_lessons(place))[:most]
    if (text := _document(place, "progress.txt")) and len(lines) < most:
        lines += text.strip().splitlines()[-(most - len(lines)) :]
    more = f"kedge log show {place.task.id}" if place.task else ""
    return Part("progress", "### Progress Notes", "\n".join(lines), more=more) if lines else None


def _lessons(place: Workplace) -> Iterator[str]:
    """Of this task first, then of those nearest to it, the latest first."""
    mine = place.task
    if mine is not None:
        yield from _of(mine, place.attempts(mine))
    others = [one for one in place.tasks.values() if mine is None or one.id != mine.id]
    near = {one.id for one in others if mine and mine.epic and one.epic == mine.epic}
    near |= set(mine.depends_on) if mine else set()
    others.sort(key=lambda one: one.updated_at or "", reverse=True)
    others.sort(key=lambda one: one.id not in near)
    for other in others[:_OTHERS]:
        yield from _of(other, place.attempts(other))


def _of(found: Task, attempts: Sequence[Attempt]) -> Iterator[str]:
    for attempt in reversed(attempts):
        ended = f"{found.id} #{attempt.number} {attempt.outcome.value}"
        if attempt.outcome is not Outcome.DONE and attempt.reason:
            yield f"- {ended}: {shortened(attempt.reason, _LINE)}"
        yield from (f"- {found.id}: avoid {shortened(one, _LINE)}" for one in attempt.avoid)


def knowledge(place: Workplace) -> Part | None:
    """The lessons of the knowledge bank that matter for the task."""
    if place.task is None or place.recall is None:
        return None
    found = place.recall(place.project, place.settings, place.task, _LESSONS)
    place.warnings += found.warnings
    if not found.text:
        return None
    more = f"kedge knowledge list --task {place.task.id}"
    note = "" if found.whole else f"\n[… more was left out; `{more}` prints it]"
    return Part("knowledge", "### Lessons", found.text + note, more=more)


def epic(place: Workplace) -> Part | None:
    found = place.epic
    if found is None or place.task is None:
        return None
    done, left = siblings(place)
    lines = [f"{found.id}: {found.title}", found.description.strip()]
    lines += named("Finished in this epic:", done, _SIBLINGS)
    lines += named("Still to do after this one:", left, _SIBLINGS)
    if found.acceptance:
        lines += ["The epic is done when:", *(f"- {one}" for one in found.acceptance)]
    text = "\n".join(line for line in lines if line)
    return Part("epic", "### Epic Context", text, more=f"kedge task show {found.id}")


def siblings(place: Workplace) -> tuple[list[Task], list[Task]]:
    """The other tasks of the epic: those that are finished, the latest first, and the rest."""
    mine = place.task
    others = rules.children(place.tasks, mine.epic) if mine and mine.epic else []
    others = [one for one in others if mine and one.id != mine.id]
    done = [one for one in others if one.status is Status.DONE]
    done.sort(key=lambda one: one.closed_at or "", reverse=True)
    return done, [one for one in others if one.status is not Status.DONE]


def named(title: str, found: Sequence[Task], most: int) -> list[str]:
    """Tasks by id and title, no more than so many."""
    if not found:
        return []
    lines = [f"- {one.id}: {shortened(one.title, _LINE)}{_state(one)}" for one in found[:most]]
    more = [f"- … and {len(found) - most} more"] if len(found) > most else []
    return [title, *lines, *more]


def map_(place: Workplace) -> Part | None:
    """The map for this task, smaller than by itself."""
    from contextlib import closing

    from kedge.repomap import build
    from kedge.repomap.cache import Cache

    about = "" if place.task is None else about_task(place.task)
    budget = max(200, place.settings.anchor.tokens // 3)
    with closing(Cache(place.project.home())) as cache:
        made = build.make(place.project, build.Ask(about, budget), cache)
    more = f"kedge map --task {place.task.id} --output -" if place.task else "kedge map --output -"
    return Part("map", "### Project Map", made.text.strip(), more=more)


def about_task(found: Task) -> str:
    """What a map for the task is ranked by."""
    return "\n".join([found.title, found.description, *found.acceptance, *found.scope_in])


def drift(place: Workplace) -> Part | None:
    """Where work on the task strayed, and earlier steps that bear on it."""
    if place.task is None:
        return None
    more = f"kedge log show {place.task.id}"
    lines = []
    last = next((one for one in reversed(place.attempts(place.task)) if one.drift), None)
    if last is not None and last.drift is not None:
        lines.append(f"The last attempt (#{last.number}) strayed:")
        lines += [f"- {name}: {shortened(str(value), _LINE)}" for name, value in last.drift.items()]
    strayed, steps = _watched(place, place.task)
    for one in strayed[-3:]:
        more = f"kedge drift explain {one['session'][:8]}"
        review = ", needs review" if one["needs_review"] else ""
        lines.append(f"- session {one['session'][:8]} strayed, at worst {one['worst']}{review}")
    if steps:
        lines.append("Earlier steps that bear on this:")
        lines += [f"- {shortened(_step(one), _LINE)} ({one['why']})" for one in steps]
    return Part("drift", "### Drift", "\n".join(lines), more=more) if lines else None


def _watched(place: Workplace, found: Task) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The sessions about a task that strayed, and the steps that the record recalls for it."""
    from contextlib import closing

    from kedge.store import recall, sessions, sqlite

    if not (place.project.home() / sqlite.FILE).exists():
        return [], []
    folders = [path.rstrip("/").removesuffix("/**") for path in found.scope_in]
    with closing(sqlite.connect(place.project.home())[0]) as db:
        strayed = [one for one in sessions.summaries(db, task=found.id) if one["alarms"]]
        steps = recall.recall(db, "", files=list(found.scope_in), folders=folders)
    return strayed, steps[:_RECALLED]


def _step(one: dict[str, Any]) -> str:
    what = f"{one['action_type']} {', '.join(one['files'][:2]) or one['command'][:80]}"
    said = " ".join(one["reasoning"].split())
    return f"{what}: {said}" if said else what


SOURCES: dict[str, Callable[[Workplace], Part | None]] = {
    "prompt": prompt,
    "agent": agent,
    "task": task,
    "git": git,
    "progress": progress,
    "knowledge": knowledge,
    "epic": epic,
    "map": map_,
    "drift": drift,
}


def _document(place: Workplace, name: str) -> str:
    """A text of the project, without comments of one line; empty when there is none."""
    data = files.read_bytes(place.project.path(*name.split("/")))
    if data is None:
        return ""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KedgeError(f"{name} is not UTF-8") from error
    return redact(_COMMENT.sub("", text.replace("\r\n", "\n")).strip())


def _document_part(source: str, title: str, text: str, name: str, place: Workplace) -> Part:
    lines = text.splitlines()
    most = place.settings.anchor.max_prompt_lines
    more = f"cat {name}"
    if len(lines) > most:
        lines = [*lines[:most], f"[… {len(lines) - most} lines left out; `{more}` prints all]"]
    return Part(source, title, "\n".join(lines), more=more)


def _status(found: Task) -> str:
    words = found.status.value.replace("_", " ")
    if found.blocked:
        return f"{words}, {found.blocked.type.value}: {found.blocked.reason}"
    return f"{words} (claimed by {found.assignee})" if found.assignee else words


def _state(found: Task) -> str:
    plain = (Status.OPEN, Status.DONE)
    return "" if found.status in plain else f" ({found.status.value.replace('_', ' ')})"
