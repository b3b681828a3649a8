"""The anchor: what matters for the work, read again from its sources, within a token budget."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kedge.context import anchor_sources
from kedge.context.budget import FittedPart, TextPart, fit_parts, suggest_budget
from kedge.context.compression import compress
from kedge.context.workspace import Workspace
from kedge.errors import KedgeError, TaskError, TaskNotFound
from kedge.host import clock, tokens
from kedge.host.digest import digest
from kedge.host.redact import redact
from kedge.model.attempt import Outcome
from kedge.model.task import Task

HEAD = "## Re-anchoring Context\n\n"
_FAILED = "This cannot be read now: "
SMALL = 300  # tokens of the anchor after a compaction
# where a limit is from
_SOURCES = {
    "rules": "the user's message",
    "agent": "the user's message, recorded by you",
    "judge": "the user's message",
    "user": "the user's command",
}
# Sources of greater weight keep more of the budget, and are dropped last.
WEIGHTS = {
    "task": 10,
    "progress": 5,
    "drift": 5,
    "knowledge": 4,
    "epic": 3,
    "git": 3,
    "prompt": 3,
    "map": 3,
    "agent": 2,
}


@dataclass(frozen=True, slots=True)
class Anchor:
    """The text with its parts. `unchanged` names the sources that a delta leaves out."""

    text: str
    tokens: int
    budget: int
    parts: tuple[FittedPart, ...]
    unchanged: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "tokens": self.tokens,
            "budget": self.budget,
            "sections": [one.data() for one in self.parts],
            "unchanged": list(self.unchanged),
        }


def make_full(workspace: Workspace, session: str = "", note: str = "") -> Anchor:
    """Make the anchor from every source in the settings, with a note at its end.

    With a session, a delta can follow it.
    """
    parts, warnings = _read_sources(workspace)
    more = _exchange(workspace, session, _digests(parts))[1] if session else []
    notes = [TextPart("binding", "", kept=note)] if note else []
    return _assemble(workspace, [*parts, *notes], [*warnings, *more])


def make_delta(workspace: Workspace, session: str) -> Anchor:
    """Make an anchor of what changed since the session's last one; in full the first time."""
    parts, warnings = _read_sources(workspace)
    now = _digests(parts)
    before, more = _exchange(workspace, session, now)
    if not before:
        return _assemble(workspace, parts, [*warnings, *more])
    changed = [part for part in parts if before.get(part.source) != now[part.source]]
    same = [part.source for part in parts if part not in changed]
    gone = sorted(before.keys() - now.keys())
    name = f" {workspace.known_task.id}" if workspace.known_task else ""
    head = f"## Re-anchoring Context: {'what has changed' if changed or gone else 'no change'}\n\n"
    if same:
        command = f"kedge anchor{name} --mode full"
        head += f"Unchanged: {', '.join(same)} (`{command}` prints all).\n\n"
    if gone:
        head += f"No longer there: {', '.join(gone)}.\n\n"
    delta = _assemble(workspace, changed, [*warnings, *more], head)
    return replace(delta, unchanged=tuple(same))


def make_small(
    workspace: Workspace,
    goal: str = "",
    limits: Sequence[tuple[str, str]] = (),
    session: str = "",
    note: str = "",
) -> Anchor:
    """Make the anchor for after a compaction: goal, limits, criteria, and commands for the rest.

    `goal` and `limits`, each with its source, are those of the session, in the user's words.
    """
    task = workspace.task
    parts = [
        *(_describe_small_task(task) if task is not None else ()),
        *_describe_session(goal, limits, session),
        TextPart("pointers", "", kept=_point_to_rest(task) if task is not None else note),
    ]
    parts = [part for part in parts if part.text or part.kept]
    if not parts:
        return Anchor("", 0, SMALL, ())
    weights = {"limits": 4, "criteria": 3, "task": 2, "goal": 1}
    return _assemble(workspace, parts, [], "", budget=SMALL, weights=weights)


def _describe_session(
    goal: str, limits: Sequence[tuple[str, str]], session: str
) -> Sequence[TextPart]:
    """Return the user's goal, and the limits in force, each with the user's words and source."""
    if not goal and not limits:
        return ()
    more = f"kedge drift explain {session[:8]}" if session else "kedge drift explain last"
    lines = [
        f"- “{' '.join(quote.split())}” ({_SOURCES.get(source, source)})"
        for quote, source in limits
    ]
    asked = f"“{' '.join(goal.split())}”" if goal else ""
    return (
        TextPart("limits", "### Limits in force", "\n".join(dict.fromkeys(lines)), more=more),
        TextPart("goal", "### The user asked", asked, more=more),
    )


def _describe_small_task(task: Task) -> Sequence[TextPart]:
    lines = [f"{task.id}: {task.title}"]
    lines += [f"Only change: {', '.join(task.scope_in)}"] if task.scope_in else []
    lines += [f"Do not change: {', '.join(task.scope_out)}"] if task.scope_out else []
    lines += [f"Checks: {', '.join(f'`{one}`' for one in task.checks)}"] if task.checks else []
    criteria = anchor_sources.render_criteria(task)
    return (
        TextPart(
            "task", "### You are working on", "\n".join(lines), more=f"kedge task show {task.id}"
        ),
        TextPart("criteria", "", criteria, more=f"kedge task show {task.id}"),
    )


def _point_to_rest(task: Task) -> str:
    return (
        f"`kedge anchor {task.id}` prints everything, "
        f"`kedge map --task {task.id} --output -` a map."
    )


def is_due(workspace: Workspace, iteration: int, session: str = "") -> bool:
    """True if the iteration, counted from 1, starts with an anchor.

    After drift one does: of the last attempt, of this session, or of one that works on the task.
    """
    frequency = workspace.settings.anchor.frequency
    if not workspace.settings.anchor.enabled:
        return False
    if frequency != "on-drift":
        return (iteration - 1) % int(frequency) == 0
    last = workspace.attempts(workspace.task)[-1:] if workspace.task else []
    strayed = any(one.drift or one.outcome is Outcome.DRIFTED for one in last)
    return iteration == 1 or strayed or _is_off_course(workspace, session)


def _is_off_course(workspace: Workspace, session: str) -> bool:
    """True if a session that has not ended is off its course."""
    from kedge.store import sessions, sqlite

    if not (workspace.project.home() / sqlite.FILE).exists():
        return False
    try:
        with contextlib.closing(sqlite.connect(workspace.project.home())[0]) as db:
            here = [row] if session and (row := sessions.get(db, session)) else []
            task = workspace.known_task
            here += sessions.sessions(db, task=task.id, last=20) if task is not None else []
    except KedgeError:
        return True  # an anchor too many does no harm
    return any(row["course"] != "NORMAL" and not row["ended_at"] for row in here)


def _read_sources(workspace: Workspace) -> tuple[list[TextPart], list[str]]:
    """Read each source. One that fails becomes a part that says so; the others are not affected."""
    _check_task(workspace)
    wanted = list(workspace.settings.anchor.sources)
    if workspace.settings.anchor.include_epic and "epic" not in wanted and "task" in wanted:
        wanted.append("epic")
    parts, warnings = [], []
    for name in wanted:
        try:
            part = anchor_sources.SOURCES[name](workspace)
        except KedgeError as error:
            part = TextPart(
                name, f"### {name.capitalize()}", f"{_FAILED}{' '.join(error.message.split())}"
            )
        if part is None or (part.text.startswith(_FAILED) and part.text in warnings):
            continue  # the same failure is reported once
        if part.text.startswith(_FAILED):
            warnings.append(part.text)
        parts.append(part)
    if workspace.settings.anchor.form == "compressed":
        parts = [compress(one) for one in parts]
    return parts, warnings


def _check_task(workspace: Workspace) -> None:
    """Refuse an unknown task. Tasks that cannot be read are reported by the sources."""
    try:
        _ = workspace.task
    except KedgeError as error:
        if type(error) in (TaskNotFound, TaskError):
            raise


def _assemble(
    workspace: Workspace,
    parts: Sequence[TextPart],
    warnings: Sequence[str],
    head: str = HEAD,
    *,
    budget: int = 0,
    weights: Mapping[str, int] = WEIGHTS,
) -> Anchor:
    budget = budget or workspace.settings.anchor.tokens
    name = f" {workspace.known_task.id}" if workspace.known_task else ""
    shared = fit_parts(
        parts, budget, weights, head, f"kedge anchor{name} --tokens {suggest_budget(parts)}"
    )
    text = (head + shared.text).rstrip() + "\n"
    text = redact(text)
    count = tokens.count(text)
    messages = [*workspace.warnings, *warnings]
    if count > budget:
        messages.append(
            f"the parts that are never cut take {count} tokens, above the budget of {budget}"
        )
    return Anchor(text, count, budget, tuple(shared.parts), warnings=tuple(messages))


def _digests(parts: Sequence[TextPart]) -> dict[str, str]:
    return {part.source: digest([part.text.encode(), part.kept.encode()]) for part in parts}


def _exchange(
    workspace: Workspace, session: str, now: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the digests of the session's last anchor and store these in their place; warnings."""
    import sqlite3

    from kedge.store import anchors
    from kedge.store.sqlite import connect

    name = workspace.known_task.id if workspace.known_task else ""
    key = digest([str(workspace.project.root).encode(), session.encode(), name.encode()])
    try:
        db, warnings = connect(workspace.project.home())
        with contextlib.closing(db):
            before = anchors.read_last(db, key)
            if before != dict(now):
                anchors.save(db, key, now, clock.now())
            return before, warnings
    except (KedgeError, sqlite3.Error) as error:
        return {}, [f"the next anchor cannot be a delta: {error}"]
