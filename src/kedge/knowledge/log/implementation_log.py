"""The implementation log: one entry for each report, append-only.

A feature has its own `implementation-log.md` in its folder; other tasks share the one in `.kedge`.
The whole reports are kept, without secrets, in `.kedge/reports/<task>/`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.features.task_numbers import task_key
from kedge.host import files, own_edits
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.knowledge import topic as topics
from kedge.knowledge.log import log_entry
from kedge.knowledge.log.file_check import ChangedFiles, FileCheck, check_files
from kedge.knowledge.log.report import Report, parse_report
from kedge.knowledge.topic import Topic
from kedge.text import markdown

FILE = "implementation-log.md"
HEADER = b"# Implementation Log\n"
MAX_BYTES = 1 << 20  # of a report
_ENTRY = re.compile(r"## (?:Task (?P<number>[^\s:]+))?")


@dataclass(frozen=True, slots=True)
class LoggedReport:
    """Where a report was logged and kept; `added` is False if it was there already."""

    log: str
    kept: str
    report: Report
    attempt: int
    added: bool
    check: FileCheck | None = None
    warnings: tuple[str, ...] = ()


def append(
    project: Project,
    topic: Topic,
    text: str,
    *,
    attempt: int = 1,
    changed: ChangedFiles | None = None,
    lock_timeout: float = files.LOCK_TIMEOUT,
) -> LoggedReport:
    """Add a report to the log of its task, unless it is logged for this attempt already.

    `changed` are the files that really changed, to compare the report with.
    """
    if topic.task is None:
        raise InvalidValue(f"{topic.name} is a feature", hint="name one of its tasks")
    report = _parse_report(text)
    name = digest([report.text.strip().encode("utf-8", "replace")])[:12]
    kept = f".kedge/reports/{topic.key}/{name}.md"
    compared = check_files(report.files, changed, project.root) if changed else None
    mark = log_entry.format_mark(name, topic.task, attempt)
    entry = log_entry.render(topic, report, attempt=attempt, check=compared, mark=mark, kept=kept)
    path = _path(project, topic)
    logged = LoggedReport(_relative(project, path), kept, report, attempt, True, compared)
    with _lock(project, lock_timeout):
        data = files.read_bytes(path)
        if mark.encode() in re.split(rb"\r?\n", data or b""):
            return replace(logged, added=False)
        files.write_atomic(
            project.own("reports", topic.key, f"{name}.md"),
            report.text.encode("utf-8", "replace"),
        )
        after = _append_entry(data, entry, logged.log)
        own_edits.note(project.root, [(path, data, after)])
        files.write_atomic(path, after)
    return replace(logged, warnings=_warn_if_hidden(after, entry, logged.log))


def read(project: Project, topic: Topic) -> str | None:
    """Return a feature's log, or a task's entries in its log; None if there are none."""
    data = files.read_bytes(_path(project, topic))
    if data is None:
        return None
    text = data.decode("utf-8", "replace")
    if topic.task is None:
        return text
    entries = re.split(r"(?m)^(?=## )", "\n".join(markdown.split_lines(text)))[1:]
    mine = [entry.strip() for entry in entries if _belongs_to(entry.split("\n"), topic)]
    return "\n\n".join(mine) + "\n" if mine else None


def archive(
    project: Project, topic: Topic, *, lock_timeout: float = files.LOCK_TIMEOUT
) -> str | None:
    """Move a feature's log to `.kedge/archive`, and return its path there; None without a log."""
    path = _path(project, topic)
    with _lock(project, lock_timeout):
        data = files.read_bytes(path)
        if data is None:
            return None
        *_, target = _archive_paths(project, topic)
        files.write_atomic(target, data)
        own_edits.note(project.root, [(path, data, None)])
        try:
            path.unlink()
        except OSError as error:
            raise files.file_error("remove", path, error) from error
    return _relative(project, target)


def list_archived(project: Project, topic: Topic) -> list[str]:
    """Return the paths of the archived logs, the oldest first."""
    return [_relative(project, path) for path in list(_archive_paths(project, topic))[:-1]]


def _parse_report(text: str) -> Report:
    """Parse a report without its secrets."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise InvalidValue(
            f"the report is larger than {MAX_BYTES >> 20} MiB",
            hint="pass the report, not a log of the session",
        )
    report = Report(**redact_value(asdict(parse_report(text))))
    if report.empty:
        raise InvalidValue(
            "the report is empty",
            hint="ask the implementer again, or continue without it: nothing was logged",
        )
    return report


def _append_entry(data: bytes | None, entry: str, name: str) -> bytes:
    """Return the log with the entry at its end; the bytes before it stay unchanged."""
    before = data or HEADER
    if b"\0" in before:
        raise FileError(f"{name} is not UTF-8 text", hint="save it as UTF-8, or move it away")
    ending = "\r\n" if before.count(b"\r\n") * 2 > before.count(b"\n") else "\n"
    gap = "" if before.endswith((b"\n\n", b"\r\n\r\n")) else ending
    gap = gap if before.endswith(b"\n") else ending + gap
    return before + (gap + entry.replace("\n", ending)).encode("utf-8", "replace")


def _warn_if_hidden(data: bytes, entry: str, name: str) -> tuple[str, ...]:
    """Warn if the entry is inside a code fence or comment that was left open before it."""
    document = markdown.read(data.decode("utf-8", "replace"))
    head = entry.partition("\n")[0].removeprefix("## ")
    last = document.headings[-1].text if document.headings else ""
    if last.split() == head.rstrip("# ").split():
        return ()
    return (f"{name}: an open code fence or comment hides the new entry: close it",)


def _belongs_to(entry: list[str], topic: Topic) -> bool:
    marked = [task for line in entry if (task := log_entry.parse_mark(line))]
    if marked:
        return topic.task in marked
    match = _ENTRY.match(entry[0])
    return bool(match and match["number"] and task_key(match["number"]) == task_key(topic.number))


def _path(project: Project, topic: Topic) -> Path:
    if topic.folder is None:
        return project.own(FILE)
    return project.path(*topic.folder.split("/"), FILE)


def _archive_paths(project: Project, topic: Topic) -> Iterator[Path]:
    """Yield the paths of the archived logs, the oldest first, and one that is free."""
    folder = topics.file_key(Path(topic.folder).name) if topic.folder else "tasks"
    for number in itertools.count(1):
        name = FILE if number == 1 else FILE.replace(".", f"-{number}.")
        path = project.own("archive", folder, name)
        yield path
        if not path.exists():
            return


def _relative(project: Project, path: Path) -> str:
    return path.relative_to(project.root).as_posix()


def _lock(project: Project, timeout: float) -> AbstractContextManager[None]:
    return files.lock(project.own("locks", "implementation-log.lock"), timeout=timeout)
