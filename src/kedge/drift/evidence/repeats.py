"""Loops: the same edit again, an edit done and undone, a command that keeps failing unchanged.

Repetition alone is not a loop: editing and testing in turn is how work gets done.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from kedge.drift.evidence.memory import find_changed_files
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.actions import Action, Change
    from kedge.drift.evidence.memory import SessionMemory

_MOST = 200  # edits and commands that are remembered
_MOST_PENDING = 30
_MOST_EDITS = 5  # of one action
_WORKED = "w"
_FIRST = 3  # repetitions before it counts as a loop


class Loop(NamedTuple):
    """Something that was done `times` times without effect."""

    what: str
    evidence: str
    times: int

    @property
    def score(self) -> int:
        return max(4, 7 + _FIRST - self.times)


def find_loop(memory: SessionMemory, action: Action) -> Loop | None:
    """Return the loop that the action continues, if any."""
    if find_changed_files(action):
        edits = _find_edits(action)
        times = 1 + max((_count_failures(memory.repeats, edit) for edit, _ in edits), default=0)
        if times >= _FIRST:
            return Loop("the same edit", ", ".join(find_changed_files(action)[:2]), times)
        return None
    mark = mark_command(action)
    times = memory.repeats.get(mark, 0) if mark else 0
    if times >= _FIRST:
        return Loop("a failing command, nothing changed since", action.command[:120], times)
    return None


def _count_failures(repeats: dict[str, int], edit: str) -> int:
    """Return how often an edit was made in vain.

    One that worked does not count: until a command runs, or it is undone, the same edit is made in
    another place.
    """
    return 0 if _WORKED + edit in repeats else repeats.get(edit, 0)


def takes_back(memory: SessionMemory, action: Action) -> bool:
    """True if the action does nothing but undo edits that were made in this session."""
    edits = _find_edits(action)
    if not edits or len(action.changes) > _MOST_EDITS:
        return False
    made = memory.repeats
    return all(made.get(undone, 0) > made.get(edit, 0) for edit, undone in edits)


def record_action(memory: SessionMemory, action: Action) -> SessionMemory:
    """Return the memory after an action, before its result is known."""
    repeats, pending = memory.repeats, memory.pending
    mark = mark_command(action)
    if mark:
        repeats = {each: count for each, count in repeats.items() if each[0] != _WORKED}
    value = f"{mark} {'check' if action.effects.checks else ''}" if mark else ""
    if find_changed_files(action):
        # something changes, so a command that failed may work now
        repeats = {each: count for each, count in repeats.items() if each[0] != "c"}
        edits = _find_edits(action)
        for edit, undone in edits:
            repeats[edit] = _count_failures(repeats, edit) + 1
            repeats.pop(_WORKED + undone, None)
        repeats = _drop_oldest(repeats)
        value = value or " ".join((*(edit for edit, _ in edits), "edit"))
    if action.id and value:
        pending = dict([*pending.items(), (action.id, value)][-_MOST_PENDING:])
    return memory._replace(repeats=repeats, pending=pending)


def record_result(memory: SessionMemory, id: str, ok: bool) -> SessionMemory:  # noqa: A002 - agents' name for it
    """Return the memory after the result of an action."""
    if id not in memory.pending:
        return memory
    pending = dict(memory.pending)
    *marks, what = pending.pop(id).split(" ")
    repeats = dict(memory.repeats)
    if what == "edit":
        for mark in marks:
            repeats.pop(_WORKED + mark, None)
            if ok:
                repeats[_WORKED + mark] = 1
    elif ok:
        repeats.pop(marks[0], None)
    else:
        repeats[marks[0]] = repeats.get(marks[0], 0) + 1
    repeats = _drop_oldest(repeats)
    red, green = (not ok, ok) if what == "check" else (memory.red, memory.green)
    return memory._replace(repeats=repeats, pending=pending, red=red, green=green)


def mark_command(action: Action) -> str:
    """Return the mark of a command; nothing if it only reads."""
    if action.kind == "read" or not action.command:
        return ""
    return f"c{_hash(action.command)}"


def _drop_oldest(repeats: dict[str, int]) -> dict[str, int]:
    return dict(list(repeats.items())[-_MOST:])


def _find_edits(action: Action) -> tuple[tuple[str, str], ...]:
    """Return the marks of the edits; a script that runs again makes the same ones every time."""
    return () if action.effects.runs else _mark_edits(action.changes, action.command)


@lru_cache(1)  # asked twice for each action
def _mark_edits(changes: tuple[Change, ...], command: str) -> tuple[tuple[str, str], ...]:
    """Return the mark of each edit, and the mark of the edit that would undo it.

    Equal edits of one action are one: they are made in several places. Those of a command are the
    same only if the command is, which says where they are made.
    """
    marks = (
        (
            f"e{_hash(each.path, each.removed, each.added, command)}",
            f"e{_hash(each.path, each.added, each.removed, command)}",
        )
        for each in changes[:_MOST_EDITS]
        if each.removed or each.added
    )
    return tuple(dict.fromkeys(marks))


def _hash(*texts: str) -> str:
    joined = "\0".join(texts).encode("utf-8", "replace")
    return f"{crc32(joined):08x}{len(joined):x}"
