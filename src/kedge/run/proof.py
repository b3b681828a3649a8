"""Prove an agent's work: compare trees, check the scope, judge the change, run the checks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kedge.drift.actions import normalise
from kedge.drift.charter import charter_for_task
from kedge.drift.engine import Session
from kedge.drift.evidence.outward_acts import LEAVING
from kedge.drift.evidence.weakened_checks import find_weakened_checks
from kedge.drift.limits.paths import is_test
from kedge.errors import KedgeError, SecretFound
from kedge.handoff.evidence_records import record_check as run_check
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.scope import scopes
from kedge.handoff.snapshot import snapshots
from kedge.knowledge.log.file_check import is_bookkeeping
from kedge.model.task import Task
from kedge.run.decision import Proof
from kedge.run.options import IMPLEMENTER

_MOST_LOG = 3000  # characters of a log
_MOST_LINES = 60
_MOST_DIFF = 2_000_000  # characters of a diff that are judged
_LEAST_WEIGHT = 4  # of ten: what a rule must take away to stand in the way
_REMOVALS = ("tests removed", "tests deleted", "assertions removed")
_RULES = ("weakened check", "limit")  # what a diff alone can show


def prove(
    handoff: HandoffOperations,
    task: Task,
    start: str,
    before: str,
    report: Callable[[str], None],
    *,
    seconds_left: float | None = None,
) -> Proof:
    """Compare the tree with the start, judge the change, and run the checks if all is well so far.

    `start` is the tree the task started on, `before` the tree before this attempt. `report` is
    called with each check before it runs. No check may take longer than `seconds_left`.
    """
    tree = handoff.read_tree()
    changes = snapshots.compare(handoff.project, start, tree)
    # What kedge itself writes beside the work, such as a feature's log, is not part of it.
    files = tuple(sorted({one.path for one in changes if not is_bookkeeping(one.path)}))
    paths = handoff.read().immutable["repo_paths"]
    in_scope = scopes.make_matcher(paths) if paths else None
    outside = tuple(path for path in files if in_scope is not None and not in_scope(path))
    proof = Proof(before, tree, start, files, outside)
    if not files or outside:
        return proof
    if strayed := _find_violations(handoff, task, start, tree):
        return replace(proof, strayed=strayed)
    if seconds_left is not None:
        _limit_check_time(handoff, seconds_left)
    checks, after = _run_checks(handoff, tree, report)
    bad = [one for one in checks if one["passed"] is not True or one["tree"] != after]
    failed = tuple((str(one["command"]), _explain_failure(handoff, one, after)) for one in bad)
    return replace(proof, after=after, checks=checks, failed=failed)


def _limit_check_time(handoff: HandoffOperations, seconds: float) -> None:
    context = handoff.settings.context
    timeout = min(context.check_timeout, seconds)
    handoff.settings = replace(handoff.settings, context=replace(context, check_timeout=timeout))


def _run_checks(
    handoff: HandoffOperations, tree: str, report: Callable[[str], None]
) -> tuple[tuple[dict[str, Any], ...], str]:
    """Run each check on the final tree: a second time if one of them changed the tree."""
    commands = handoff.read().immutable["validation_baseline"]["commands"]
    results: dict[str, dict[str, Any]] = {}
    for _ in range(2):
        for command in commands:
            if command not in results or results[command]["tree"] != tree:
                report(command)
                results[command] = _run_check(handoff, command)
                tree = results[command]["tree"]
    return tuple(results[command] for command in commands), tree


def _run_check(handoff: HandoffOperations, command: str) -> dict[str, Any]:
    try:
        return run_check(handoff, IMPLEMENTER, [command], (), None)
    except SecretFound as error:  # its output may not be stored, so the check proves nothing
        handoff.warnings.append(f"`{command}` proves nothing: {error.message}")
        return {
            "command": command,
            "passed": None,
            "tree": handoff.read_tree(),
            "why": error.message,
        }


def _explain_failure(handoff: HandoffOperations, check: dict[str, Any], tree: str) -> str:
    """Return why a check proves nothing, or the last lines of its log."""
    if "why" in check:
        return f"    ({check['why']}; it must not print that)"
    if check["passed"] is True and check["tree"] != tree:
        return "    (green, but a check changes files each time it runs: git should ignore those)"
    try:
        log = handoff.artifacts.get(check["log_artifact"]).decode("utf-8", "replace")
    except KedgeError as error:
        return f"(its log cannot be read: {error.message})"
    lines = log[-_MOST_LOG:].splitlines()[-_MOST_LINES:]
    tail = "\n".join(f"    {line}" for line in lines) or "    (it printed nothing)"
    late = "    (it took too long and was ended)\n" if check.get("timed_out") else ""
    return late + tail


def _find_violations(
    handoff: HandoffOperations, task: Task, start: str, tree: str
) -> tuple[str, ...]:
    """Return where the change goes against the task: weakened checks, broken limits."""
    diff = _cut_diff(snapshots.diff(handoff.project, start, tree).decode("utf-8", "replace"))
    root = str(handoff.project.root)
    action = normalise("apply_patch", {"input": diff}, root=root, cwd=root, id="diff")
    session = Session(root, charter_=charter_for_task(task))
    violations = [
        f"{rule.rule}: {rule.evidence}"
        for rule in session.judge(action).rules
        if rule.rule in _RULES and rule.weight >= _LEAST_WEIGHT
    ]
    if not violations and LEAVING.isdisjoint(session.memory.asks):  # the task asks for no removal
        removed = [one for one in find_weakened_checks(action) if one.rule in _REMOVALS]
        violations = [
            f"weakened check: {one.rule}: {one.path}: {one.evidence}" for one in removed[:3]
        ]
    return tuple(violations)


def _cut_diff(diff: str) -> str:
    """Return as much of a diff as is judged: tests and small files first, so none can hide."""
    if len(diff) <= _MOST_DIFF:
        return diff
    parts = re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)
    parts.sort(key=lambda part: (not is_test(_path(part)), len(part)))
    return "".join(parts)[:_MOST_DIFF]


def _path(part: str) -> str:
    """Return the file that a part of a diff is about."""
    return part.partition("\n")[0].rpartition(" b/")[2]
