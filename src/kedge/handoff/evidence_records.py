"""Record checks and evidence in a context: by hash, each check compared with its baseline."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from kedge.errors import FileError, InvalidValue
from kedge.handoff import evidence
from kedge.handoff.checks import comparison
from kedge.handoff.checks.check_result import make_result, parse_result
from kedge.handoff.checks.runner import NOT_FOUND, NOT_STARTED, CheckRun, import_log, run_check
from kedge.handoff.evidence import Evidence
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.task_context import TaskContext
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.secrets import refuse

_LINES = re.compile(r"L?([0-9]{1,9})(?:-L?([0-9]{1,9}))?\Z")
_MAX_LOG = 200_000_000  # bytes


def record_check(
    handoff: HandoffOperations,
    agent: str,
    command: Sequence[str],
    allow: Collection[str],
    watch: Callable[[bytes], None] | None,
) -> dict[str, Any]:
    """Run a check in the project's directory, and record its result with the tree it ran on."""
    handoff.read()  # fails early if there is no context
    before = handoff.read_tree()
    ran = run_check(
        command[0] if len(command) == 1 else command,
        handoff.project.root,
        timeout=handoff.settings.context.check_timeout,
        on_output=watch,
        root=handoff.project.root,
    )
    after = handoff.read_tree()
    if after != before:
        handoff.warnings.append(
            "the check changed the working tree; its result is recorded for the changed tree"
        )
    return _record(handoff, agent, ran, after, allow)


def record_log(
    handoff: HandoffOperations,
    agent: str,
    log: Path,
    exit_code: int | None,
    allow: Collection[str],
    command: str | None = None,
) -> dict[str, Any]:
    """Record the log of a check that someone else ran, with its command if that is known."""
    data = files.read_bytes(log)
    if data is None:
        raise FileError(f"there is no file {str(log)!r}", hint="give the path of a log")
    if len(data) > _MAX_LOG:
        raise FileError(
            f"{log} has more than {_MAX_LOG // 1_000_000} MB", hint="cut it to its last part"
        )
    ran = import_log(data, command or log.name, exit_code=exit_code)
    return _record(handoff, agent, ran, handoff.read_tree(), allow)


def attach_evidence(
    handoff: HandoffOperations,
    path: str,
    *,
    heading: str | None,
    lines: str | None,
    agent: str | None,
    allow: Collection[str],
) -> dict[str, Any]:
    """Attach a file, or a section or lines of one, by hash; its bytes become an artifact."""
    if heading is not None and lines is not None:
        raise InvalidValue("--heading and --lines cannot be combined", hint="give one of them")
    if heading is None and lines is None:
        found = evidence.make_file_evidence(handoff.project, path)
        data = files.read_bytes(handoff.project.path(*found.path.split("/"))) or b""
    else:
        found = evidence.make_excerpt_evidence(
            handoff.project, path, heading=heading, lines=_parse_span(lines)
        )
        whole = files.read_bytes(handoff.project.path(*found.path.split("/"))) or b""
        first, last = _parse_span(found.line_span) or (0, 0)
        data = evidence.slice_lines(whole, first, last)
    known = {*allow, *handoff.read().audit.get("allowed_secrets", ())}
    refuse("the evidence", data.decode("utf-8", "replace"), known)
    handoff.artifacts.put(data)
    entry = {**asdict(found), "at": clock.now(), "actor": handoff.actor, "agent": agent}

    def act(one: TaskContext) -> TaskContext:
        same = ("id", "path", "line_span")
        if any(all(other[key] == entry[key] for key in same) for other in one.evidence):
            return one
        return replace(one, evidence=(*one.evidence, entry))

    handoff.change(act, f"attach {found.id}", allow)
    return entry


def find_changed_evidence(project: Project, context: TaskContext) -> list[dict[str, str]]:
    """List the evidence that has changed since it was attached."""
    changed = []
    for entry in context.evidence:
        known = Evidence(**{one.name: entry[one.name] for one in fields(Evidence)})
        try:
            why = evidence.explain_change(project, known)
        except FileError as error:
            why = error.message
        if why:
            changed.append({"id": known.id, "why": why})
    return changed


def _record(
    handoff: HandoffOperations, agent: str, ran: CheckRun, tree: str, allow: Collection[str]
) -> dict[str, Any]:
    context = handoff.read()
    known = {*allow, *context.audit.get("allowed_secrets", ())}
    refuse("the log", ran.log.decode("utf-8", "replace"), known)
    result = make_result(ran, str(handoff.project.root))
    baseline = next(
        (one for one in context.checks if one["command"] == ran.command and one.get("baseline")),
        None,
    )
    entry = {
        **result.data(),
        "agent": agent,
        "actor": handoff.actor,
        "at": clock.now(),
        "tree": tree,
        "log_artifact": handoff.artifacts.put(ran.log),
        "baseline": baseline is None and ran.exit_code not in (NOT_FOUND, NOT_STARTED),
        "unchanged": tree == context.git.get("base_tree"),
        "text": result.text,
    }
    if baseline is not None:
        entry["compared"] = comparison.compare(parse_result(baseline), result).data()
    handoff.change(
        lambda one: replace(one, checks=(*one.checks, entry)),
        f"check by {agent}",
        allow,
    )
    return entry


def _parse_span(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    span = _LINES.match(text.strip())
    if not span:
        raise InvalidValue(f"{text!r} is not a range of lines", hint="give one such as 10-20")
    return int(span[1]), int(span[2] or span[1])
