"""What kedge finds out for itself about the tree that an agent left."""

from __future__ import annotations

import re
from collections.abc import Callable

from kedge.drift.actions import normalise
from kedge.drift.acts import LEAVING
from kedge.drift.charter import bound
from kedge.drift.engine import Session
from kedge.drift.subjects import is_test
from kedge.drift.weaken import weakened
from kedge.errors import KedgeError, SecretFound
from kedge.handoff import scopes, snapshots
from kedge.handoff.desk import Desk
from kedge.handoff.recording import run as run_check
from kedge.knowledge.report_check import is_beside
from kedge.model.task import Task
from kedge.run.decide import Proof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAIL = 3000  # characters of a log
_LINES = 60
_DIFF = 2_000_000  # bytes of a diff that is judged
_HEAVY = 4  # what a rule takes from ten, at least, to stand in the way
_GONE = ("tests removed", "tests deleted", "assertions removed")
_RULES = ("weakened check", "constraint")  # what the diff alone can show


def prove(desk: Desk, task: Task, start: str, before: str, tell: Callable[[str], None]) -> Proof:
    """Compare with the start, judge the change, and run the checks where all else is well.

    `start` is the tree on which the work at the task began, `before` the one of this attempt.
    """
    tree = desk.look()
    changes = snapshots.compare(desk.project, start, tree)
    # What kedge itself writes beside the work, such as a feature's log, is not part of it.
    files = tuple(sorted({one.path for one in changes if not is_beside(one.path)}))
    paths = desk.read().immutable["repo_paths"]
    in_scope = scopes.matcher(paths) if paths else None
    outside = tuple(path for path in files if in_scope is not None and not in_scope(path))
    made = Proof(before, tree, start, files, outside)
    if not files or outside:
        return made
    strayed = _strayed(desk, task, start, tree)
    if strayed:
        return Proof(before, tree, start, files, (), strayed=strayed)
    checks, after = _checks(desk, tree, tell)
    red = [one for one in checks if one["passed"] is not True or one["tree"] != after]
    failed = tuple((str(one["command"]), _end(desk, one, after)) for one in red)
    return Proof(before, after, start, files, (), checks, failed)


def _checks(
    desk: Desk, tree: str, tell: Callable[[str], None]
) -> tuple[tuple[dict[str, Any], ...], str]:
    """Each check, run on the tree that is left in the end: again, where one changed the tree."""
    commands = desk.read().immutable["validation_baseline"]["commands"]
    found: dict[str, dict[str, Any]] = {}
    for _ in range(2):
        for command in commands:
            if command not in found or found[command]["tree"] != tree:
                tell(command)
                found[command] = _run(desk, command)
                tree = found[command]["tree"]
    return tuple(found[command] for command in commands), tree


def _run(desk: Desk, command: str) -> dict[str, Any]:
    try:
        return run_check(desk, "implementer", [command], (), None)
    except SecretFound as error:  # what it said may not be kept, and so it shows nothing
        desk.warnings.append(f"`{command}` shows nothing: {error.message}")
        return {"command": command, "passed": None, "tree": desk.look(), "why": error.message}


def _end(desk: Desk, check: dict[str, Any], tree: str) -> str:
    """Why a check shows nothing, or the last lines of its log."""
    if "why" in check:
        return f"    ({check['why']}; it must not print that)"
    if check["passed"] is True and check["tree"] != tree:
        return "    (green, but a check changes files each time it runs: git should ignore those)"
    try:
        log = desk.artifacts.get(check["log_artifact"]).decode("utf-8", "replace")
    except KedgeError as error:
        return f"(its log cannot be read: {error.message})"
    lines = log[-_TAIL:].splitlines()[-_LINES:]
    told = "\n".join(f"    {line}" for line in lines) or "    (it said nothing)"
    late = "    (it took too long, and was ended)\n" if check.get("timed_out") else ""
    return late + told


def _telling(diff: str) -> str:
    """As much of a diff as is judged: tests and small files first, so that nothing hides them."""
    if len(diff) <= _DIFF:
        return diff
    parts = re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)
    parts.sort(key=lambda part: (not is_test(_path(part)), len(part)))
    return "".join(parts)[:_DIFF]


def _path(part: str) -> str:
    """The file that a part of a diff is about."""
    return part.partition("\n")[0].rpartition(" b/")[2]


def _strayed(desk: Desk, task: Task, start: str, tree: str) -> tuple[str, ...]:
    """What of the change goes against the task: checks that are weakened, words that are broken."""
    diff = _telling(snapshots.diff(desk.project, start, tree).decode("utf-8", "replace"))
    root = str(desk.project.root)
    action = normalise("apply_patch", {"input": diff}, root=root, cwd=root, id="diff")
    session = Session(root, charter_=bound(task))
    verdict = session.judge(action)
    found = [
        f"{rule.rule}: {rule.evidence}"
        for rule in verdict.rules
        if rule.rule in _RULES and rule.weight >= _HEAVY
    ]
    if not found and LEAVING.isdisjoint(session.state.asks):  # one that goes is not replaced
        gone = [one for one in weakened(action) if one.rule in _GONE and one.severity > 1]
        found = [f"weakened check: {one.rule}: {one.path}: {one.evidence}" for one in gone[:3]]
    return tuple(found)
