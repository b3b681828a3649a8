"""Loops: the same edit again, an edit done and undone, a command that fails with nothing changed.

A count alone is no loop: editing and testing in turn is how work is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from kedge.drift.memory import changed

if TYPE_CHECKING:
    from kedge.drift.actions import Action
    from kedge.drift.memory import State

_MOST = 200  # edits and commands that are remembered
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
        times = 1 + max((state.repeats.get(mark, 0) for mark in _edits(action)), default=0)
        if times >= _FIRST:
            return Loop("the same edit", ", ".join(changed(action)[:2]), times)
        return None
    mark = command(action)
    times = state.repeats.get(mark, 0) if mark else 0
    if times >= _FIRST:
        return Loop("a failing command, nothing changed since", action.command[:120], times)
    return None


def acted(state: State, action: Action) -> State:
    """After an action, before its result."""
    repeats, pending = state.repeats, state.pending
    if changed(action):
        # something is changed: what failed before may work
        repeats = {mark: count for mark, count in repeats.items() if mark[0] == "e"}
        for mark in _edits(action):
            repeats[mark] = repeats.get(mark, 0) + 1
        repeats = dict(list(repeats.items())[-_MOST:])
    mark = command(action)
    if action.id and mark:
        check = "check" if action.effects.checks else ""
        pending = dict([*pending.items(), (action.id, f"{mark} {check}")][-_MOST:])
    return state._replace(repeats=repeats, pending=pending)


def ended(state: State, id: str, ok: bool) -> State:  # noqa: A002 - the word that agents use
    """After the result of an action."""
    if id not in state.pending:
        return state
    pending = dict(state.pending)
    mark, _, check = pending.pop(id).partition(" ")
    repeats = dict(state.repeats)
    if ok:
        repeats.pop(mark, None)
    else:
        repeats[mark] = repeats.get(mark, 0) + 1
        repeats = dict(list(repeats.items())[-_MOST:])
    red = not ok if check else state.red
    return state._replace(repeats=repeats, pending=pending, red=red)


def command(action: Action) -> str:
    """The mark of a command; what only reads has none."""
    if action.kind == "read" or not action.command:
        return ""
    return f"c{_mark(action.command)}"


def _edits(action: Action) -> list[str]:
    return [
        f"e{_mark(change.path, change.removed, change.added)}"
        for change in action.changes
        if change.added or change.removed
    ]


def _mark(*texts: str) -> str:
    joined = "\0".join(texts).encode("utf-8", "replace")
    return f"{crc32(joined):08x}{len(joined):x}"
