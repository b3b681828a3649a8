"""The beads backend: bd's own database, read and written through the `bd` program.

Reads with `bd export`: one process prints every issue, closed ones included, with labels, links and
metadata, in the format of `.beads/issues.jsonl`. That file is read instead where bd is missing.
(`bd list --json` omits links and gates.) Writing needs bd 1.0.3 or newer.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kedge.errors import BrokenTasks, ProgramError, ReadOnly, TaskError, TaskExists, TaskNotFound
from kedge.host import files, proc
from kedge.host.clock import now
from kedge.host.project import Project
from kedge.host.text import clean, shorten
from kedge.model.ids import TaskId, is_id
from kedge.tasks.backend import TaskChange, TaskListing
from kedge.tasks.beads.issue import Issue, read_issues, to_tasks
from kedge.tasks.beads.plan import IssuePlan, plan_change

FILE = ".beads/issues.jsonl"
TIMEOUT = 30.0
_LINE = 300  # characters of a message of bd

_INSTALL = "install beads (github.com/gastownhall/beads), or set tasks.bd to the path of bd"
_DOCTOR = "bd doctor checks its database"
_AGAIN = "run the same command again"
_ALPHABET = string.digits + string.ascii_lowercase
_ID = re.compile(r"(?P<prefix>.+)-[a-z0-9]{3,8}(?:\.\d+)*\Z")


class Beads:
    """Stores tasks as issues of bd."""

    name = "beads"

    def __init__(
        self,
        root: Path,
        *,
        program: str | None,
        lock_timeout: float = files.LOCK_TIMEOUT,
        timeout: float = TIMEOUT,
    ) -> None:
        self._root = root
        self._program = program
        self._lock_timeout = lock_timeout
        self._timeout = timeout
        self._issues: dict[str, Issue] | None = None  # from `read`, for the `write` that follows

    def lock(self) -> AbstractContextManager[None]:
        path = Project(self._root, None).own("locks", "beads.lock")
        return files.lock(path, timeout=self._lock_timeout)

    def read(self) -> TaskListing:
        issues, warnings = self._load()
        self._issues = issues
        tasks, left_out = to_tasks(issues, now())
        return TaskListing(tuple(tasks), (*warnings, *left_out))

    def write(self, changes: Sequence[TaskChange]) -> None:
        """Write the changes with one `bd import`, one `bd batch`, and one `bd update` per issue
        that loses labels or a deferral, each only where it is needed.

        Each command is one transaction of bd, but together they are not. The order is safe: texts,
        new tasks, what blocks them and states other than done come first; then tasks close and
        reopen and links change; labels go last. If bd is killed or refuses in between, the first
        part stays, and running the same command again does the rest. A dependency cycle that only
        bd can see is refused after the rest was written.
        """
        if self._program is None:
            raise ReadOnly("bd is not installed, and only bd can change its issues", hint=_INSTALL)
        issues = self._load()[0] if self._issues is None else self._issues
        types = {key: str(issue.get("issue_type", "task")) for key, issue in issues.items()}
        types |= {change.after.id: change.after.type for change in changes}
        plans = [plan_change(change, _issue_of(change, issues), types) for change in changes]
        self._issues = None
        for sent, (command, data) in enumerate(_commands(plans)):
            try:
                out = self._bd(*command, data=data)
                if command[0] == "import":
                    _check_import(out)
            except ProgramError as error:
                if not sent:
                    raise
                raise TaskError(
                    f"{error.message}; the commands before it took effect", hint=_AGAIN
                ) from error

    def new_id(self, taken: Collection[str]) -> TaskId:
        """Return an id in bd's format: the project's prefix and a random tail."""
        known = {*taken, *(self._issues or ())}
        prefix = self._prefix(known)
        length = next((n for n in range(4, 8) if 36**n > 10_000 * len(known)), 8)
        while True:
            tail = "".join(secrets.choice(_ALPHABET) for _ in range(length))
            task_id = f"{prefix}-{tail}"
            # bd treats a tail without a digit as part of the prefix.
            if task_id not in known and any(map(str.isdigit, tail)):
                return TaskId(task_id)

    def _load(self) -> tuple[dict[str, Issue], list[str]]:
        if self._program is not None:
            try:
                return read_issues(self._bd("export"), "bd export")
            except BrokenTasks as error:
                raise ProgramError(error.message, hint=_DOCTOR) from error
        data = files.read_bytes(Project(self._root, None).path(*FILE.split("/")))
        if data is None:
            raise ProgramError(f"bd is not installed, and there is no {FILE}", hint=_INSTALL)
        issues, warnings = read_issues(data, FILE)
        stale = f"bd is not installed: {FILE} is used, which may be older than bd's database"
        return issues, [stale, *warnings]

    def _prefix(self, ids: Collection[str]) -> str:
        used = Counter(match["prefix"] for match in map(_ID.match, sorted(ids)) if match)
        if used:
            return used.most_common(1)[0][0]
        prefix = ""
        if self._program is not None:
            answer = _parse_output(self._bd("config", "get", "issue_prefix", "--json"), "config")
            prefix = str(answer.get("value") or "").strip().rstrip("-")
        prefix = prefix or self._root.name.lstrip(".").rstrip("-").replace(".", "_")
        if prefix and not (prefix[0].isalpha() or prefix[0] == "_"):
            prefix = f"bd_{prefix}"
        return prefix if is_id(f"{prefix}-00000000") else "bd"

    def _bd(self, *args: str, data: str | None = None) -> bytes:
        """Run bd and return its output. Raises ProgramError with bd's own message if it fails."""
        done = proc.run(
            [str(self._program), *args],
            cwd=self._root,
            input=None if data is None else data.encode(),
            timeout=self._timeout,
        )
        if done.timed_out:
            raise ProgramError(
                f"bd {args[0]} took longer than {self._timeout:g} s",
                hint="another program may be using bd's database: end it and try again",
            )
        if done.code:
            message, hint = (shorten(clean(text), _LINE) for text in _read_error(done))
            if message.startswith("unknown "):
                hint = "kedge needs bd 1.0.3 or newer"
            raise ProgramError(f"bd {args[0]} failed: {message}", hint=hint or _DOCTOR)
        return done.stdout


def _issue_of(change: TaskChange, issues: dict[str, Issue]) -> Issue:
    """Return the issue to change. A new one must not exist: `bd import` would overwrite it."""
    key = change.after.id
    if change.before is None and key in issues:
        raise TaskExists(f"bd has an issue {key!r} already", hint=f"bd show {key}")
    if change.before is not None and key not in issues:
        raise TaskNotFound(f"bd has no issue {key!r}", hint="kedge task list shows all ids")
    return issues.get(key, {})


def _commands(plans: Sequence[IssuePlan]) -> list[tuple[tuple[str, ...], str | None]]:
    """Return the commands to run, each with its standard input."""
    commands: list[tuple[tuple[str, ...], str | None]] = []
    records = [json.dumps(plan.record) for plan in plans if plan.record is not None]
    if records:
        commands.append((("import", "-", "--json"), "\n".join(records) + "\n"))
    batch = [line for plan in plans for line in plan.batch]
    if batch:
        commands.append((("batch",), "\n".join(batch) + "\n"))
    commands += [(("update", plan.id, *plan.flags), None) for plan in plans if plan.flags]
    return commands


def _check_import(out: bytes) -> None:
    """Raise TaskError for what an import skipped: bd reports that in its output alone."""
    answer = _parse_output(out, "import") if out.strip() else {}
    stale = answer.get("stale_skipped_ids")
    if stale:
        raise TaskError(f"bd has newer versions of {', '.join(map(str, stale))}", hint=_AGAIN)
    links = answer.get("skipped_dependencies")
    if links:
        raise TaskError(
            f"bd refused a dependency: {links[0]}",
            hint="the other changes took effect; bd dep tree shows links",
        )


def _parse_output(out: bytes, command: str) -> dict[str, Any]:
    try:
        value = json.loads(out)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and "schema_version" in value:
        value = value.get("data", value)  # wrapped where BD_JSON_ENVELOPE=1 is set
    if not isinstance(value, dict):
        raise ProgramError(f"the output of bd {command} is not JSON", hint=_DOCTOR)
    return value


def _read_error(done: proc.ProgramResult) -> tuple[str, str]:
    """Return bd's message and hint, from a JSON object on either stream or from stderr's lines."""
    for stream in (done.stdout, done.stderr):
        try:
            value = _parse_output(stream, "")
        except ProgramError:
            continue
        if isinstance(value.get("error"), str):
            return value["error"], str(value.get("hint") or "")
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("Error")] or lines
    hints = [line.removeprefix("Hint: ") for line in lines if line.startswith("Hint: ")]
    message = errors[0].removeprefix("Error: ") if errors else f"exit code {done.code}"
    return message, hints[0] if hints else ""
