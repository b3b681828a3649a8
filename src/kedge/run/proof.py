"""Prove an agent's work: compare trees, check the scope, judge the change, run the checks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kedge.drift.actions import normalise
from kedge.drift.charter import charter_for_task
from kedge.drift.engine import Session
from kedge.drift.evidence.outward_acts import LEAVING
from kedge.drift.evidence.weakened_checks import find_weakened_checks
from kedge.drift.limits.paths import is_test
from kedge.handoff import proof as checking
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.scope import scopes
from kedge.handoff.snapshot import snapshots
from kedge.knowledge.log.file_check import is_bookkeeping
from kedge.model.task import Task
from kedge.run import check_definition, git_programs, hidden_files
from kedge.run.decision import Proof
from kedge.run.options import IMPLEMENTER

_MOST_HIDDEN = 5  # paths that are named
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
    hidden: dict[str, str],
    seconds_left: float | None = None,
) -> Proof:
    """Compare the tree with the start, judge the change, and run the checks if all is well so far.

    `start` is the tree the task started on, `before` the tree before this attempt. `report` is
    called with each check before it runs. No check may take longer than `seconds_left`. `hidden`
    are the files that no commit will hold, as of the task's start; those of checks are added.
    """
    tree = handoff.read_tree()
    changes = snapshots.compare(handoff.project, start, tree)
    # What kedge itself writes beside the work, such as a feature's log, is not part of it.
    files = tuple(sorted({one.path for one in changes if not is_bookkeeping(one.path)}))
    paths = handoff.read().immutable["repo_paths"]
    in_scope = scopes.make_matcher(paths) if paths else None
    outside = tuple(path for path in files if in_scope is not None and not in_scope(path))
    defined, now = _find_definition(handoff, start), _find_definition(handoff, tree)
    # The task itself may name a script as its scope; a directory above it does not.
    changed = check_definition.find_moved(defined, now)
    moved = tuple(path for path in changed if path not in task.scope_in)
    planted = git_programs.find_planted(handoff.project, task, start, tree, files)
    proof = Proof(
        before, tree, start, files, outside, moved=moved, planted=planted, definition=defined
    )
    if not files or outside or moved or planted:
        return proof
    if strayed := _find_violations(handoff, task, start, tree):
        return replace(proof, strayed=strayed)
    if seconds_left is not None:
        _limit_check_time(handoff, seconds_left)
    commands = handoff.read().immutable["validation_baseline"]["commands"]

    def run(command: str) -> dict[str, Any]:
        report(command)
        return checking.run_recorded(handoff, IMPLEMENTER, command)

    repo = handoff.project.repo
    there = hidden_files.read(repo) if repo is not None and commands else {}
    done = checking.prove_checks(commands, tree, run)
    if repo is not None and commands:
        after = hidden_files.read(repo)
        hidden.update({path: one for path, one in after.items() if there.get(path) != one})
        made = [path for path, one in there.items() if hidden.get(path) != one]
        failed: tuple[tuple[str, str], ...] = ()
        if made and not done.failed:
            failed = _check_without(handoff, done.tree, commands, run, made)
        if failed:
            results = replace(proof, after=done.tree, checks=done.results)
            return replace(results, failed=failed, hidden=tuple(made))
    failed = tuple(
        (str(one["command"]), checking.explain_failure(one, done.tree, handoff))
        for one in done.failed
    )
    return replace(proof, after=done.tree, checks=done.results, failed=failed)


def _check_without(
    handoff: HandoffOperations,
    tree: str,
    commands: Sequence[str],
    run: Callable[[str], dict[str, Any]],
    made: Sequence[str],
) -> tuple[tuple[str, str], ...]:
    """Return the checks that fail without files that the agent made and no commit will hold."""
    assert handoff.project.repo is not None  # noqa: S101 - it has such files
    with hidden_files.taken_away(handoff.project.repo, made):
        done = checking.prove_checks(commands, tree, run)
    names = ", ".join(made[:_MOST_HIDDEN]) + (" …" if len(made) > _MOST_HIDDEN else "")
    why = f"    (green only with files that git ignores, which no commit will hold: {names})"
    return tuple((str(one["command"]), why) for one in done.failed)


def _find_definition(handoff: HandoffOperations, tree: str) -> dict[str, str]:
    """Return the files that define the checks in a tree, each with the hash of what counts."""

    @functools.cache
    def list_entries() -> dict[str, str]:
        return snapshots.list_files(handoff.project, tree)

    def read(path: str) -> str | None:
        blob = list_entries().get(path)
        if blob is None:
            return None
        return snapshots.read_blob(handoff.project, blob).decode("utf-8", "replace")

    commands = handoff.read().immutable["validation_baseline"]["commands"]
    return check_definition.find_definition(commands, read)


def _limit_check_time(handoff: HandoffOperations, seconds: float) -> None:
    context = handoff.settings.context
    timeout = min(context.check_timeout, seconds)
    handoff.settings = replace(handoff.settings, context=replace(context, check_timeout=timeout))


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
