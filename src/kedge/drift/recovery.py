"""The way back of a session that drifted, and whether an action takes it.

A plan is made when a session leaves its course, from what was asked and done until then. Only what
keeps to the plan brings it back: that a step breaks no rule proves nothing.
"""

from __future__ import annotations

from kedge.drift.evidence.distance import find_key, is_near
from kedge.drift.evidence.memory import find_changed_files
from kedge.drift.limits.paths import covers, is_path
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kedge.drift.actions import Action
    from kedge.drift.charter import Charter
    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.evidence.memory import SessionMemory

COMMANDS = ("kedge anchor", "kedge prompt")  # which read the goal again
_FORBIDS = ("no_touch", "no_read")
_MOST_FILES = 12


class RecoveryPlan(NamedTuple):
    """`files` are the files and folders to go on in; empty where no work was named or begun."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = COMMANDS

    def data(self) -> dict[str, list[str]]:
        """Return the plan as JSON values."""
        return {"files": list(self.files), "commands": list(self.commands)}


def make_plan(charter: Charter, memory: SessionMemory) -> RecoveryPlan:
    """Return the way back to what was asked: the scope, what the user named, what was begun."""
    named = (name for name in charter.named if is_path(name))
    files = dict.fromkeys((*charter.scope, *named, *reversed(memory.on_course)))
    ruled_out = [
        subject for each in charter.limits if each.kind in _FORBIDS for subject in each.subject
    ]
    allowed = [path for path in files if not any(covers(one, path) for one in ruled_out)]
    return RecoveryPlan(tuple(allowed[:_MOST_FILES]))


def keeps_to(plan: RecoveryPlan, action: Action, code_map: CodeMap | None) -> bool:
    """True if an action runs a command of the plan, or changes one of its files or their tests and
    neighbours. Without files in the plan, every change does."""
    if reads_goal(action):
        return True
    if not plan.files:
        return True
    keys = {find_key(path) for path in plan.files}
    return any(
        any(covers(place, path) for place in plan.files) or is_near(path, keys, code_map)
        for path in find_changed_files(action)
    )


def reads_goal(action: Action) -> bool:
    """True if an action reads the goal again."""
    return any(command in action.command for command in COMMANDS)


def parse(stored: Mapping[str, Any]) -> RecoveryPlan:
    """Read a plan from the output of `RecoveryPlan.data`. Raise ValueError if it is not one."""
    try:
        lists = stored["files"], stored["commands"]
    except (KeyError, TypeError) as error:
        raise ValueError("not a recovery plan") from error
    if not all(isinstance(one, list) and all(type(x) is str for x in one) for one in lists):
        raise ValueError("not a recovery plan")
    return RecoveryPlan(*map(tuple, lists))
