"""The beads backend: bd's own database, read and written through the `bd` program.

Read with `bd export`: one process gives every issue, closed ones included, with its labels,
links and metadata, in the lines that `.beads/issues.jsonl` has, which stands in where bd is
missing. (`bd list --json` leaves out links and gates.) Needs bd 1.0.3 or newer to write.
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

from kedge.errors import BrokenTasks, ProgramError, ReadOnly, TaskError, TaskExists, TaskNotFound
from kedge.host import files, proc
from kedge.host.clock import now
from kedge.host.project import Project
from kedge.model.ids import TaskId, is_id
from kedge.tasks.backend import Change, Listing
from kedge.tasks.beads.issue import Issue, read_issues, to_tasks
from kedge.tasks.beads.plan import Plan, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = ".beads/issues.jsonl"
TIMEOUT = 30.0

_INSTALL = "install beads (github.com/gastownhall/beads), or set tasks.bd to where bd is"
_DOCTOR = "bd doctor checks its database"
_AGAIN = "run the same command again"
_ALPHABET = string.digits + string.ascii_lowercase
_ID = re.compile(r"(?P<prefix>.+)-[a-z0-9]{3,8}(?:\.\d+)*\Z")


class Beads:
    """Tasks of kedge as issues of bd."""

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
        self._issues: dict[str, Issue] | None = None  # as last read, for the write that follows

    def lock(self) -> AbstractContextManager[None]:
        path = Project(self._root, None).own("locks", "beads.lock")
        return files.lock(path, timeout=self._lock_timeout)

    def read(self) -> Listing:
        issues, warnings = self._load()
        self._issues = issues
        tasks, left_out = to_tasks(issues, now())
        return Listing(tuple(tasks), (*warnings, *left_out))

    def write(self, changes: Sequence[Change]) -> None:
        """Make the changes with one `bd import`, one `bd batch`, and an update for each issue
        that loses labels or a deferral, each only where it is needed.

        Each of the first two is one transaction of bd, but together they are not. The order is
        harmless: texts, new tasks, what blocks them and states other than done come first; then
        tasks close and reopen and links change; labels go last. A kill, or a refusal, in between
        leaves the first part, and the same command run again does the rest. A link that closes a
        circle only bd knows of is refused after the rest was kept.
        """
        if self._program is None:
            raise ReadOnly("bd is missing, and only bd can change its issues", hint=_INSTALL)
        issues = self._load()[0] if self._issues is None else self._issues
        types = {key: str(issue.get("issue_type", "task")) for key, issue in issues.items()}
        types |= {change.after.id: change.after.type for change in changes}
        plans = [plan(change, _of(change, issues), types) for change in changes]
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
                    f"{error.message}; what came before it is kept", hint=_AGAIN
                ) from error

    def new_id(self, taken: Collection[str]) -> TaskId:
        """An id as bd makes them: the project's prefix, then longer the more issues there are."""
        known = {*taken, *(self._issues or ())}
        prefix = self._prefix(known)
        length = next((n for n in range(4, 8) if 36**n > 10_000 * len(known)), 8)
        while True:
            tail = "".join(secrets.choice(_ALPHABET) for _ in range(length))
            found = f"{prefix}-{tail}"
            # bd takes a tail without a digit for a word of the prefix.
            if found not in known and any(map(str.isdigit, tail)):
                return TaskId(found)

    def _load(self) -> tuple[dict[str, Issue], list[str]]:
        if self._program is not None:
            try:
                return read_issues(self._bd("export"), "bd export")
            except BrokenTasks as error:
                raise ProgramError(error.message, hint=_DOCTOR) from error
        data = files.read_bytes(Project(self._root, None).path(*FILE.split("/")))
        if data is None:
            raise ProgramError(f"bd is missing, and there is no {FILE} to read", hint=_INSTALL)
        issues, warnings = read_issues(data, FILE)
        stale = f"bd is missing: {FILE} is read, which may be older than bd's own database"
        return issues, [stale, *warnings]

    def _prefix(self, ids: Collection[str]) -> str:
        used = Counter(match["prefix"] for match in map(_ID.match, sorted(ids)) if match)
        if used:
            return used.most_common(1)[0][0]
        prefix = ""
        if self._program is not None:
            answer = _document(self._bd("config", "get", "issue_prefix", "--json"), "config")
            prefix = str(answer.get("value") or "").strip().rstrip("-")
        prefix = prefix or self._root.name.lstrip(".").rstrip("-").replace(".", "_")
        if prefix and not (prefix[0].isalpha() or prefix[0] == "_"):
            prefix = f"bd_{prefix}"
        return prefix if is_id(f"{prefix}-00000000") else "bd"

    def _bd(self, *args: str, data: str | None = None) -> bytes:
        """What bd prints. Raises ProgramError with bd's own words when it fails."""
        done = proc.run(
            [str(self._program), *args],
            cwd=self._root,
            input=None if data is None else data.encode(),
            timeout=self._timeout,
        )
        if done.timed_out:
            raise ProgramError(
                f"bd {args[0]} took longer than {self._timeout:g} s",
                hint="another program may hold bd's database: end it and try again",
            )
        if done.code:
            message, hint = _complaint(done)
            if message.startswith("unknown "):
                hint = "kedge needs bd 1.0.3 or newer"
            raise ProgramError(f"bd {args[0]} failed: {message}", hint=hint or _DOCTOR)
        return done.stdout


def _of(change: Change, issues: dict[str, Issue]) -> Issue:
    """The issue that the change is about; `bd import` would overwrite one that is there."""
    key = change.after.id
    if change.before is None and key in issues:
        raise TaskExists(f"there is an issue {key!r} in bd already", hint=f"bd show {key}")
    if change.before is not None and key not in issues:
        raise TaskNotFound(f"bd has no issue {key!r}", hint="kedge task list shows all ids")
    return issues.get(key, {})


def _commands(plans: Sequence[Plan]) -> list[tuple[tuple[str, ...], str | None]]:
    found: list[tuple[tuple[str, ...], str | None]] = []
    records = [json.dumps(plan.record) for plan in plans if plan.record is not None]
    if records:
        found.append((("import", "-", "--json"), "\n".join(records) + "\n"))
    batch = [line for plan in plans for line in plan.batch]
    if batch:
        found.append((("batch",), "\n".join(batch) + "\n"))
    found += [(("update", plan.id, *plan.flags), None) for plan in plans if plan.flags]
    return found


def _check_import(out: bytes) -> None:
    """bd says in its answer, not in its exit code, what an import left out."""
    answer = _document(out, "import") if out.strip() else {}
    stale = answer.get("stale_skipped_ids")
    if stale:
        raise TaskError(f"{', '.join(map(str, stale))} changed in bd meanwhile", hint=_AGAIN)
    links = answer.get("skipped_dependencies")
    if links:
        raise TaskError(
            f"bd refused a dependency: {links[0]}", hint="the rest is kept; bd dep tree shows links"
        )


def _document(out: bytes, command: str) -> dict[str, Any]:
    try:
        value = json.loads(out)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and "schema_version" in value:
        value = value.get("data", value)  # wrapped where BD_JSON_ENVELOPE=1 is set
    if not isinstance(value, dict):
        raise ProgramError(f"bd {command} printed something that is not JSON", hint=_DOCTOR)
    return value


def _complaint(done: proc.Finished) -> tuple[str, str | None]:
    """bd's own message and hint: a JSON object on either stream, or a line of standard error."""
    for stream in (done.stdout, done.stderr):
        try:
            value = _document(stream, "")
        except ProgramError:
            continue
        if isinstance(value.get("error"), str):
            return _line(value["error"]), _line(str(value.get("hint") or "")) or None
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("Error")] or lines
    hints = [line.removeprefix("Hint: ") for line in lines if line.startswith("Hint: ")]
    if not said:
        return f"exit code {done.code}", None
    return _line(said[0].removeprefix("Error: ")), _line(hints[0]) if hints else None


def _line(text: str, limit: int = 300) -> str:
    line = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
