"""Checks and evidence of a context: run or taken over, kept by hash, compared with the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.handoff import evidence
from kedge.handoff.checks import compare
from kedge.handoff.checks.result import parse as parse_result
from kedge.handoff.checks.result import understand
from kedge.handoff.checks.run import NOT_FOUND, NOT_STARTED, Ran
from kedge.handoff.checks.run import imported as taken_over
from kedge.handoff.checks.run import run as run_check
from kedge.handoff.context import Context
from kedge.handoff.desk import Desk
from kedge.handoff.evidence import Evidence
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.secrets import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LINES = re.compile(r"L?([0-9]{1,9})(?:-L?([0-9]{1,9}))?\Z")
_LOG = 200_000_000  # bytes of a log that is read


def run(
    desk: Desk,
    agent: str,
    command: Sequence[str],
    allow: Collection[str],
    watch: Callable[[bytes], None] | None,
) -> dict[str, Any]:
    """Run a check in the project's directory, and keep how it ended on which tree."""
    desk.read()  # says so when there is none, before anything is run
    before = desk.look()
    ran = run_check(
        command[0] if len(command) == 1 else command,
        desk.project.root,
        timeout=desk.settings.context.check_timeout,
        on_output=watch,
        root=desk.project.root,
    )
    after = desk.look()
    if after != before:
        desk.warnings.append("the check changed the working tree; it counts for the tree it left")
    return _kept(desk, agent, ran, after, allow)


def imported(
    desk: Desk, agent: str, log: Path, exit_code: int | None, allow: Collection[str]
) -> dict[str, Any]:
    """Take over the log of a check that somebody else ran."""
    data = files.read_bytes(log)
    if data is None:
        raise FileError(f"no file {str(log)!r}", hint="give the path of a log")
    if len(data) > _LOG:
        raise FileError(f"{log} has more than {_LOG // 1_000_000} MB", hint="keep the end of it")
    return _kept(desk, agent, taken_over(data, log.name, exit_code=exit_code), desk.look(), allow)


def attached(
    desk: Desk,
    path: str,
    *,
    heading: str | None,
    lines: str | None,
    agent: str | None,
    allow: Collection[str],
) -> dict[str, Any]:
    """Attach a file of the project, a section or lines of one, by hash; the text is kept aside."""
    if heading is not None and lines is not None:
        raise InvalidValue("a heading or lines, not both", hint="give one of them")
    if heading is None and lines is None:
        found = evidence.file(desk.project, path)
        data = files.read_bytes(desk.project.path(*found.path.split("/"))) or b""
    else:
        found = evidence.excerpt(desk.project, path, heading=heading, lines=_span(lines))
        whole = files.read_bytes(desk.project.path(*found.path.split("/"))) or b""
        first, last = _span(found.line_span) or (0, 0)
        data = evidence.lines_of(whole, first, last)
    known = {*allow, *desk.read().audit.get("allowed_secrets", ())}
    refuse("the evidence", data.decode("utf-8", "replace"), known)
    desk.artifacts.put(data)
    entry = {**found._asdict(), "at": clock.now(), "actor": desk.actor, "agent": agent}

    def act(one: Context) -> Context:
        same = ("id", "path", "line_span")
        if any(all(other[key] == entry[key] for key in same) for other in one.evidence):
            return one
        return replace(one, evidence=(*one.evidence, entry))

    desk.change(act, f"attach {found.id}", allow)
    return entry


def changed_evidence(project: Project, context: Context) -> list[dict[str, str]]:
    """Evidence that is no longer what was attached."""
    told = []
    for entry in context.evidence:
        known = Evidence(**{name: entry[name] for name in Evidence._fields})
        try:
            why = evidence.changed(project, known)
        except FileError as error:
            why = error.message
        if why:
            told.append({"id": known.id, "why": why})
    return told


def _kept(desk: Desk, agent: str, ran: Ran, tree: str, allow: Collection[str]) -> dict[str, Any]:
    context = desk.read()
    known = {*allow, *context.audit.get("allowed_secrets", ())}
    refuse("the log", ran.log.decode("utf-8", "replace"), known)
    made = understand(ran, str(desk.project.root))
    stored = desk.artifacts.put(ran.log)
    baseline = next(
        (one for one in context.checks if one["command"] == ran.command and one.get("baseline")),
        None,
    )
    entry = {
        **made.data(),
        "agent": agent,
        "actor": desk.actor,
        "at": clock.now(),
        "tree": tree,
        "log_artifact": stored.sha256,
        "baseline": baseline is None and ran.exit_code not in (NOT_FOUND, NOT_STARTED),
        "text": made.text,
    }
    if baseline is not None:
        entry["compared"] = compare.compare(parse_result(baseline), made).data()
    desk.change(
        lambda one: replace(one, checks=(*one.checks, entry)),
        f"check by {agent}",
        allow,
    )
    return entry


def _span(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = _LINES.match(text.strip())
    if not found:
        raise InvalidValue(f"{text!r} are no lines", hint="such as 10-20")
    return int(found[1]), int(found[2] or found[1])
