"""Loops: the same edit again, an edit done and undone, a command that fails with nothing changed.

A count alone is no loop: editing and testing in turn is how work is done.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from kedge.drift.memory import changed
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.actions import Action, Change
    from kedge.drift.memory import State

_MOST = 200  # edits and commands that are remembered
_MOST_PENDING = 30
_MOST_EDITS = 5  # of one action
_WORKED = "w"
_FIRST = 3  # times before anything is said


class Loop(NamedTuple):
    """Something done `times` times without getting anywhere."""

    what: str
    evidence: str
    times: int

    @property
    def score(self) -> int:
        return max(4, 7 + _FIRST - self.times)


def loop(state: State, action: Action) -> Loop | None:
    """The loop that the action goes on with, if any."""
    if changed(action):
        edits = _edits(action.changes)
        times = 1 + max((_times(state.repeats, edit) for edit, _ in edits), default=0)
        if times >= _FIRST:
            return Loop("the same edit", ", ".join(changed(action)[:2]), times)
        return None
    mark = command(action)
    times = state.repeats.get(mark, 0) if mark else 0
    if times >= _FIRST:
        return Loop("a failing command, nothing changed since", action.command[:120], times)
    return None


def _times(repeats: dict[str, int], edit: str) -> int:
    """How often an edit was made. One that worked is no repetition: it is made in another place,
    as long as nothing was run, and it was not undone."""
    return 0 if _WORKED + edit in repeats else repeats.get(edit, 0)


def acted(state: State, action: Action) -> State:
    """After an action, before its result."""
    repeats, pending = state.repeats, state.pending
    mark = command(action)
    if mark:
        repeats = {each: count for each, count in repeats.items() if each[0] != _WORKED}
    value = f"{mark} {'check' if action.effects.checks else ''}" if mark else ""
    if changed(action):
        # something is changed: what failed before may work
        repeats = {each: count for each, count in repeats.items() if each[0] != "c"}
        edits = _edits(action.changes)
        for edit, undone in edits:
            repeats[edit] = _times(repeats, edit) + 1
            repeats.pop(_WORKED + undone, None)
        repeats = _last(repeats)
        value = value or " ".join((*(edit for edit, _ in edits), "edit"))
    if action.id and value:
        pending = dict([*pending.items(), (action.id, value)][-_MOST_PENDING:])
    return state._replace(repeats=repeats, pending=pending)


def ended(state: State, id: str, ok: bool) -> State:  # noqa: A002 - the word that agents use
    """After the result of an action."""
    if id not in state.pending:
        return state
    pending = dict(state.pending)
    *marks, what = pending.pop(id).split(" ")
    repeats = dict(state.repeats)
    if what == "edit":
        for mark in marks:
            repeats.pop(_WORKED + mark, None)
            if ok:
                repeats[_WORKED + mark] = 1
    elif ok:
        repeats.pop(marks[0], None)
    else:
        repeats[marks[0]] = repeats.get(marks[0], 0) + 1
    repeats = _last(repeats)
    red, green = (not ok, ok) if what == "check" else (state.red, state.green)
    return state._replace(repeats=repeats, pending=pending, red=red, green=green)


def command(action: Action) -> str:
    """The mark of a command; what only reads has none."""
    if action.kind == "read" or not action.command:
        return ""
    return f"c{_mark(action.command)}"


def _last(repeats: dict[str, int]) -> dict[str, int]:
    return repeats if len(repeats) <= _MOST else dict(list(repeats.items())[-_MOST:])


@lru_cache(1)  # of one action they are asked for twice
def _edits(changes: tuple[Change, ...]) -> tuple[tuple[str, str], ...]:
    """The mark of each edit, and of the one that would undo it."""
    return tuple(
        (
            f"e{_mark(each.path, each.removed, each.added)}",
            f"e{_mark(each.path, each.added, each.removed)}",
        )
        for each in changes[:_MOST_EDITS]
        if each.removed or each.added
    )


def _mark(*texts: str) -> str:
    joined = "\0".join(texts).encode("utf-8", "replace")
    return f"{crc32(joined):08x}{len(joined):x}"
