"""The anchor: what matters for the work, read again from where it is true, within a budget."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence

from kedge.context import sources
from kedge.context.budget import Given, Part, enough, share
from kedge.context.workplace import Workplace
from kedge.errors import KedgeError, TaskError, TaskNotFound
from kedge.host import clock, tokens
from kedge.host.digest import digest
from kedge.host.record import NamedTuple
from kedge.model.attempt import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEAD = "## Re-anchoring Context\n\n"
_FAILED = "This cannot be read now: "
SMALL = 300  # tokens of the anchor after a compaction
# Who keeps more of the budget, and stays when there is room for few.
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


class Anchor(NamedTuple):
    """The text with its parts. `unchanged` names the sources that a delta leaves out."""

    text: str
    tokens: int
    budget: int
    parts: tuple[Given, ...]
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


def full(place: Workplace, session: str = "") -> Anchor:
    """Everything that the settings name, within the budget. A delta can follow it in a session."""
    parts, warnings = _parts(place)
    more = _exchange(place, session, _digests(parts))[1] if session else []
    return _made(place, parts, [*warnings, *more])


def delta(place: Workplace, session: str) -> Anchor:
    """What has changed since the session's last anchor for the task; all of it the first time."""
    parts, warnings = _parts(place)
    now = _digests(parts)
    before, more = _exchange(place, session, now)
    if not before:
        return _made(place, parts, [*warnings, *more])
    changed = [part for part in parts if before.get(part.source) != now[part.source]]
    same = [part.source for part in parts if part not in changed]
    gone = sorted(before.keys() - now.keys())
    name = f" {place.known_task.id}" if place.known_task else ""
    head = f"## Re-anchoring Context: {'what has changed' if changed or gone else 'no change'}\n\n"
    if same:
        command = f"kedge anchor{name} --mode full"
        head += f"As before: {', '.join(same)} (`{command}` prints all).\n\n"
    if gone:
        head += f"There is no more to say of: {', '.join(gone)}.\n\n"
    made = _made(place, changed, [*warnings, *more], head)
    return made._replace(unchanged=tuple(same))


def small(place: Workplace) -> Anchor:
    """For after a compaction: goal, constraints, criteria and where the rest is."""
    task = place.task
    if task is None:
        return Anchor("", 0, SMALL, ())
    shown = [f"{task.id}: {task.title}"]
    shown += [f"Only change: {', '.join(task.scope_in)}"] if task.scope_in else []
    shown += [f"Do not change: {', '.join(task.scope_out)}"] if task.scope_out else []
    shown += [f"Checks: {', '.join(f'`{one}`' for one in task.checks)}"] if task.checks else []
    pointer = (
        f"`kedge anchor {task.id}` prints all of it; `kedge map --task {task.id} --output -` a map."
    )
    criteria = sources.criteria(task)
    parts = [
        Part("task", "### You are working on", "\n".join(shown), more=f"kedge task show {task.id}"),
        Part("criteria", "", criteria, more=f"kedge task show {task.id}"),
        Part("pointers", "", "", pointer),
    ]
    parts = [part for part in parts if part.text or part.kept]
    return _made(place, parts, [], "", budget=SMALL, weights={"task": 2, "criteria": 3})


def is_due(place: Workplace, iteration: int) -> bool:
    """Whether the iteration, counted from 1, gets an anchor."""
    frequency = place.settings.anchor.frequency
    if not place.settings.anchor.enabled:
        return False
    if frequency != "on-drift":
        return (iteration - 1) % int(frequency) == 0
    last = place.attempts(place.task)[-1:] if place.task else []
    return iteration == 1 or any(one.drift or one.outcome is Outcome.DRIFTED for one in last)


def _parts(place: Workplace) -> tuple[list[Part], list[str]]:
    """What each source says. One that fails says that; the others are given all the same."""
    _check_task(place)
    wanted = list(place.settings.anchor.sources)
    if place.settings.anchor.include_epic and "epic" not in wanted and "task" in wanted:
        wanted.append("epic")
    parts, warnings = [], []
    for name in wanted:
        try:
            part = sources.SOURCES[name](place)
        except KedgeError as error:
            part = Part(
                name, f"### {name.capitalize()}", f"{_FAILED}{' '.join(error.message.split())}"
            )
        if part is None or (part.text.startswith(_FAILED) and part.text in warnings):
            continue  # what cannot be read is said once
        if part.text.startswith(_FAILED):
            warnings.append(part.text)
        parts.append(part)
    if place.settings.anchor.form == "compressed":
        parts = [_compressed(part) for part in parts]
    return parts, warnings


def _check_task(place: Workplace) -> None:
    """Refuse a task that is not there. Tasks that cannot be read are for the sources to tell."""
    try:
        _ = place.task
    except KedgeError as error:
        if type(error) in (TaskNotFound, TaskError):
            raise


def _made(
    place: Workplace,
    parts: Sequence[Part],
    warnings: Sequence[str],
    head: str = HEAD,
    *,
    budget: int = 0,
    weights: Mapping[str, int] = WEIGHTS,
) -> Anchor:
    budget = budget or place.settings.anchor.tokens
    name = f" {place.known_task.id}" if place.known_task else ""
    shared = share(parts, budget, weights, head, f"kedge anchor{name} --tokens {enough(parts)}")
    text = (head + shared.text).rstrip() + "\n"
    count = tokens.count(text)
    said = [*place.warnings, *warnings]
    if count > budget:
        said.append(f"what may not be cut takes {count} tokens, above the budget of {budget}")
    return Anchor(text, count, budget, tuple(shared.given), warnings=tuple(said))


def _digests(parts: Sequence[Part]) -> dict[str, str]:
    return {part.source: digest([part.text.encode(), part.kept.encode()]) for part in parts}


def _exchange(
    place: Workplace, session: str, now: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What was said last, with what is said now in its place; and warnings."""
    import sqlite3

    from kedge.store import anchors
    from kedge.store.sqlite import connect

    name = place.known_task.id if place.known_task else ""
    key = digest([str(place.project.root).encode(), session.encode(), name.encode()])
    try:
        db, warnings = connect(place.project.home())
        with contextlib.closing(db):
            before = anchors.last(db, key)
            if before != dict(now):
                anchors.keep(db, key, now, clock.now())
            return before, warnings
    except (KedgeError, sqlite3.Error) as error:
        return {}, [f"no delta can be given: {error}"]


def _compressed(part: Part) -> Part:
    return part._replace(text=_squeezed(part.text), kept=_squeezed(part.kept))


def _squeezed(text: str) -> str:
    """The same words without the air between them; code stays as it is."""
    lines, fence = [], False
    for line in text.split("\n"):
        mark = line.lstrip().startswith("```")
        fence = fence != mark
        if fence or mark:
            lines.append(line)
        elif line.strip():
            bare = re.sub(r"^(\s*)(?:#{1,6} +|- \[ \] +|[*+] +)", r"\1- ", line.rstrip())
            lines.append(re.sub(r"(?<=\S)\s{2,}", " ", re.sub(r"\*\*|__", "", bare)))
    return "\n".join(lines)
