"""The implementation log: what implementers report, one entry for each, only ever appended to.

A feature has its own, `implementation-log.md` in its folder; other tasks share the one in `.kedge`.
The reports themselves are kept, without secrets, in `.kedge/reports/<task>/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.host import files
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.host.redact import redact
from kedge.knowledge import log_entry
from kedge.knowledge import report as reports
from kedge.knowledge import topic as topics
from kedge.knowledge.report import Report
from kedge.knowledge.report_check import Changed, Check, check
from kedge.knowledge.topic import Topic
from kedge.tasks.feature_docs import forms, markdown

FILE = "implementation-log.md"
HEADER = b"# Implementation Log\n"
MOST = 1 << 20  # bytes of a report
_ENTRY = re.compile(r"## (?:Task (?P<number>[^\s:]+))?")


class Logged(NamedTuple):
    """What became of a report: the log, the report as it is kept, and whether it was added."""

    log: str
    kept: str
    report: Report
    attempt: int
    added: bool
    check: Check | None = None
    warnings: tuple[str, ...] = ()


def append(
    project: Project,
    topic: Topic,
    text: str,
    *,
    attempt: int = 1,
    changed: Changed | None = None,
    lock_timeout: float = files.LOCK_TIMEOUT,
) -> Logged:
    """Add a report to the log of its task. The same one for the same attempt is there already.

    `changed` is what really differs, for the files that the report names.
    """
    if topic.task is None:
        raise InvalidValue(f"{topic.name} is a feature", hint="name one of its tasks")
    report = _without_secrets(_read(text))
    name = digest([report.text.strip().encode("utf-8", "replace")])[:12]
    kept = f".kedge/reports/{topic.key}/{name}.md"
    compared = check(report.files, changed, project.root) if changed else None
    mark = log_entry.mark(name, topic.task, attempt)
    entry = log_entry.render(topic, report, attempt=attempt, check=compared, mark=mark, kept=kept)
    path = _path(project, topic)
    made = Logged(_shown(project, path), kept, report, attempt, True, compared)
    with _locked(project, lock_timeout):
        data = files.read_bytes(path)
        if mark.encode() in re.split(rb"\r?\n", data or b""):
            return made._replace(added=False)
        files.write_atomic(
            project.own("reports", topic.key, f"{name}.md"),
            report.text.encode("utf-8", "replace"),
        )
        after = _appended(data, entry, made.log)
        files.write_atomic(path, after)
    return made._replace(warnings=_swallowed(after, entry, made.log))


def read(project: Project, topic: Topic | str) -> str | None:
    """The log of a feature, or a task's entries in its log; None where there is none."""
    about = topics.find(project, topic) if isinstance(topic, str) else topic
    data = files.read_bytes(_path(project, about))
    if data is None:
        return None
    text = data.decode("utf-8", "replace")
    if about.task is None:
        return text
    found = [entry for entry in _entries(text) if _is_of(entry, about)]
    return "\n\n".join("\n".join(entry).strip() for entry in found) + "\n" if found else None


def archive(
    project: Project, topic: Topic, *, lock_timeout: float = files.LOCK_TIMEOUT
) -> str | None:
    """Move the log of a feature to `.kedge/archive`; where it is then, None if there was none."""
    path = _path(project, topic)
    with _locked(project, lock_timeout):
        data = files.read_bytes(path)
        if data is None:
            return None
        target = _free(project, topic)
        files.write_atomic(target, data)
        try:
            path.unlink()
        except OSError as error:
            raise files.file_error("remove", path, error) from error
    return _shown(project, target)


def archived(project: Project, topic: Topic) -> list[str]:
    """The logs that were archived, the oldest first."""
    return [_shown(project, path) for path in _numbered(project, topic) if path.exists()]


def _read(text: str) -> Report:
    if len(text.encode("utf-8", "replace")) > MOST:
        raise InvalidValue(
            f"the report has more than {MOST >> 20} MiB", hint="give the report, not a log"
        )
    report = reports.read(text)
    if report.empty:
        raise InvalidValue(
            "the report is empty",
            hint="ask the implementer again, or go on without it: nothing was logged",
        )
    return report


def _without_secrets(report: Report) -> Report:
    return Report(
        redact(report.text),
        redact(report.implemented),
        redact(report.tested),
        tuple(redact(path) for path in report.files),
        None if report.self_review is None else redact(report.self_review),
        redact(report.decisions),
        redact(report.deviations),
        redact(report.concerns),
        report.missing,
    )


def _appended(data: bytes | None, entry: str, shown: str) -> bytes:
    """The log with the entry at its end; what was there is its beginning, byte for byte."""
    before = data or HEADER
    if b"\0" in before:
        raise FileError(f"{shown} is no UTF-8 text", hint="save it as UTF-8, or move it away")
    ending = "\r\n" if before.count(b"\r\n") * 2 > before.count(b"\n") else "\n"
    gap = "" if before.endswith((b"\n\n", b"\r\n\r\n")) else ending
    gap = gap if before.endswith(b"\n") else ending + gap
    return before + (gap + entry.replace("\n", ending)).encode("utf-8", "replace")


def _swallowed(data: bytes, entry: str, shown: str) -> tuple[str, ...]:
    """A warning where the entry stands within code or a comment that was left open before it."""
    document = markdown.read(data.decode("utf-8", "replace"))
    head = entry.partition("\n")[0].removeprefix("## ")
    last = document.headings[-1].text if document.headings else ""
    if last.split() == head.rstrip("# ").split():
        return ()
    return (f"{shown}: an open code fence or comment holds the entry: close it",)


def _entries(text: str) -> Iterator[list[str]]:
    entry: list[str] = []
    for line in markdown.split(text):
        if line.startswith("## "):
            if entry:
                yield entry
            entry = []
        if entry or line.startswith("## "):
            entry.append(line)
    if entry:
        yield entry


def _is_of(entry: list[str], topic: Topic) -> bool:
    marked = [task for line in entry if (task := log_entry.task_of(line))]
    if marked:
        return topic.task in marked
    found = _ENTRY.match(entry[0])
    return bool(found and found["number"] and forms.key(found["number"]) == forms.key(topic.number))


def _path(project: Project, topic: Topic) -> Path:
    if topic.folder is None:
        return project.own(FILE)
    return project.path(*topic.folder.split("/"), FILE)


def _free(project: Project, topic: Topic) -> Path:
    return next(path for path in _numbered(project, topic) if not path.exists())


def _numbered(project: Project, topic: Topic) -> Iterator[Path]:
    stem, _, ending = FILE.rpartition(".")
    folder = topics.as_key(Path(topic.folder).name) if topic.folder else "tasks"
    number = 1
    while True:
        name = FILE if number == 1 else f"{stem}-{number}.{ending}"
        path = project.own("archive", folder, name)
        yield path
        if not path.exists() and number > 1:
            return
        number += 1


def _shown(project: Project, path: Path) -> str:
    return path.relative_to(project.root).as_posix()


@contextmanager
def _locked(project: Project, timeout: float) -> Iterator[None]:
    with files.lock(project.own("locks", "implementation-log.lock"), timeout=timeout):
        yield
