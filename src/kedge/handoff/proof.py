"""Prove work by its checks: each must be green on the very tree that is left.

`kedge run` and `kedge task close` prove in the same way. With a context, each check is recorded
there, and a result on this tree need not be made twice; without one, nothing is recorded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge.errors import KedgeError, SecretFound
from kedge.handoff import approval
from kedge.handoff.checks.check_result import make_result
from kedge.handoff.checks.runner import CHECKED, run_check
from kedge.handoff.evidence_records import record_check
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.snapshot import snapshots
from kedge.host.project import Project
from kedge.host.redact import redact

_MOST_LOG = 3000  # characters of a log
_MOST_LINES = 60

_SUMMARY = ("command", "exit_code", "passed", "seconds", "tree", "log_digest")

Check = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CheckProof:
    """The last result of each check, and the tree that is left."""

    tree: str
    results: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that prove nothing about the tree."""
        return tuple(
            one for one in self.results if one["passed"] is not True or one["tree"] != self.tree
        )


def prove_checks(
    commands: Sequence[str],
    tree: str,
    run: Callable[[str], Check],
    *,
    fresh: Mapping[str, Check] | None = None,
) -> CheckProof:
    """Run each check on the final tree: a second time if one of them changed the tree.

    `fresh` are results on this tree, which need not be made again.
    """
    results = dict(fresh or {})
    for _ in range(2):
        for command in commands:
            if command not in results or results[command]["tree"] != tree:
                results[command] = run(command)
                tree = results[command]["tree"]
    return CheckProof(tree, tuple(results[command] for command in commands))


def run_recorded(handoff: HandoffOperations, agent: str, command: str) -> Check:
    """Run a check and record it in the context; one whose output has a secret proves nothing.

    Raises NotApproved for a command that the user has not approved.
    """
    approval.require(handoff.project, [command], handoff.task)
    try:
        return record_check(handoff, agent, [command], (), None)
    except SecretFound as error:
        handoff.warnings.append(f"`{command}` proves nothing: {error.message}")
        return {
            "command": command,
            "passed": None,
            "tree": handoff.read_tree(),
            "why": error.message,
        }


def run_unrecorded(project: Project, task: str, command: str, timeout: float) -> Check:
    """Run a check of a task without a context. Raises NotApproved as `run_recorded` does."""
    approval.require(project, [command], task)
    ran = run_check(command, project.root, timeout=timeout, root=project.root)
    result = make_result(ran, str(project.root))
    log = redact(ran.log.decode("utf-8", "replace"))
    return {**result.data(), "tree": read_tree(project), "text": result.text, "log": log}


def read_tree(project: Project) -> str:
    """Return the id of the working tree; empty outside git."""
    return snapshots.read_tree(project) if project.repo is not None else ""


def find_fresh(handoff: HandoffOperations, tree: str) -> dict[str, Check]:
    """Return the green checks of a context that kedge itself ran on this tree."""
    last: dict[str, Check] = {}
    for one in handoff.read().checks:
        if one.get("seconds") is not None and one.get("directory") == ".":
            last[str(one["command"])] = dict(one)
    return {
        command: one
        for command, one in last.items()
        if one.get("passed") is True and one.get("tree") == tree
    }


def explain_failure(check: Check, tree: str, handoff: HandoffOperations | None = None) -> str:
    """Return why a check proves nothing, or the last lines of its log."""
    if "why" in check:
        return f"    ({check['why']}; it must not print that)"
    if check["passed"] is True and check["tree"] != tree:
        return "    (green, but a check changes files each time it runs: git should ignore those)"
    try:
        log = check["log"] if handoff is None else _read_log(handoff, check)
    except KedgeError as error:
        return f"(its log cannot be read: {error.message})"
    lines = log[-_MOST_LOG:].splitlines()[-_MOST_LINES:]
    tail = "\n".join(f"    {line}" for line in lines) or "    (it printed nothing)"
    late = "    (it took too long and was ended)\n" if check.get("timed_out") else ""
    return late + tail


def summarise_check(check: Mapping[str, Any]) -> Check:
    """Return what the ledger keeps of a check."""
    return {key: check.get(key) for key in _SUMMARY}


def is_inside_check(root: Path) -> bool:
    """True in a process that a check of this directory started."""
    return os.environ.get(CHECKED) == os.fspath(root)


def _read_log(handoff: HandoffOperations, check: Check) -> str:
    return handoff.artifacts.get(check["log_artifact"]).decode("utf-8", "replace")
