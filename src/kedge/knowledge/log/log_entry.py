"""One entry of an implementation log as Markdown that no text of a report can break."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.host.text import clean, shorten
from kedge.knowledge.log.file_check import FileCheck
from kedge.knowledge.log.report import NONE, Report
from kedge.knowledge.topic import Topic
from kedge.text.fences import CLOSE, OPEN, FenceReader, is_opening, mark_around

_MAX_FILES = 60
_MAX_DIFFERENCES = 6  # paths listed on each side
_MAX_FIELD = 6000  # characters
_MAX_TITLE = 200  # characters
_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){2,}\Z")
_BLOCK = re.compile(r"[ \t]*(?:[-*+|>]|[0-9]{1,9}[.)])")
_MARK = re.compile(r"<!-- kedge: report ([0-9a-f]+) of (\S+), attempt ([0-9]+) -->\Z")


def render(
    topic: Topic, report: Report, *, attempt: int, check: FileCheck | None, mark: str, kept: str
) -> str:
    """Render the entry, ending with a newline. `kept` is the path of the whole report."""
    head = f"## Task {topic.number}: {shorten(clean(topic.title), _MAX_TITLE)}"
    lines = [head, f"- **Files changed:** {_list_paths(report.files, _MAX_FILES) or NONE}"]
    for name, value in (
        ("Decisions", report.decisions),
        ("Deviations", report.deviations),
        ("Concerns", report.concerns),
    ):
        lines += _field(name, value, kept)
    if attempt > 1:
        lines.append(f"- **Attempt:** {attempt}")
    if report.missing:
        lines.append(f"- **Not reported:** {', '.join(report.missing).replace('_', '-')}")
    if check is not None and check.differs:
        lines.append(f"- **Files differ:** {describe_difference(check)}")
    return "\n".join([*lines, mark]) + "\n"


def describe_difference(check: FileCheck) -> str:
    """Describe the difference between report and changed files on one line."""
    parts = []
    if check.unchanged:
        parts.append(f"reported but unchanged: {_list_paths(check.unchanged, _MAX_DIFFERENCES)}")
    if check.unreported:
        parts.append(f"changed but unreported: {_list_paths(check.unreported, _MAX_DIFFERENCES)}")
    return "; ".join(parts)


def format_mark(digest: str, task: str, attempt: int) -> str:
    """Format the invisible line that identifies an entry; no report can contain one."""
    return f"<!-- kedge: report {digest} of {task}, attempt {attempt} -->"


def parse_mark(line: str) -> str | None:
    """Return the task of the entry that a line marks; None for any other line."""
    match = _MARK.match(line)
    return match[2] if match else None


def _list_paths(paths: Sequence[str], most: int) -> str:
    names = [_escape(path) for path in paths[:most]]
    more = [f"and {len(paths) - most} more"] if len(paths) > most else []
    return ", ".join([*names, *more])


def _field(name: str, value: str, kept: str) -> list[str]:
    text = value
    if len(text) > _MAX_FIELD:
        more = f"… {len(value) - _MAX_FIELD} more characters in {kept}"
        text = f"{text[:_MAX_FIELD].rstrip()}\n{more}"
    body = _escape_block(text.split("\n"))
    lead = f"- **{name}:**"
    if len(body) > 1 and (_BLOCK.match(body[0]) or is_opening(body[0])):
        apart = [] if re.match(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)]) ", body[0]) else [""]
        return [lead, *apart, *(f"  {line}".rstrip() for line in body)]
    return [f"{lead} {body[0]}", *(f"  {line}".rstrip() for line in body[1:])]


def _escape_block(lines: Sequence[str]) -> list[str]:
    """Return the lines with headings, rules, comments and tags escaped and all fences closed."""
    mark = mark_around("\n".join(lines))
    fences = FenceReader()
    safe: list[str] = []
    for line in lines:
        role = fences.read(line)
        if role == OPEN and fences.fence:
            safe.append(f"{mark}{clean(fences.fence.info.replace('`', ''))}")
        elif role == CLOSE:
            safe.append(mark)
        else:
            safe.append(clean(line) if role else _escape(line))
    return [*safe, mark] if fences.fence else safe


def _escape(line: str) -> str:
    text = clean(line).replace("<!--", "<\\!--")
    bare = text.lstrip()
    if bare[:1] in ("#", "<") or (_RULE.match(text) and bare):
        return f"{text[: len(text) - len(bare)]}\\{bare}"
    return text
