"""One entry of an implementation log, as text that nothing in a report can break out of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.host.text import clean, shortened
from kedge.knowledge.report import NONE, Report
from kedge.knowledge.report_check import Check
from kedge.knowledge.topic import Topic

_MOST_FILES = 60
_MOST_NAMED = 6  # paths on each side of a difference
_MOST = 6000  # characters of a field
_TITLE = 200
_FENCE = re.compile(r"(?P<lead>[ \t]*)(?P<sign>`{3,}|~{3,})(?P<info>[^`]*)\Z")
_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){2,}\Z")
_BLOCK = re.compile(r"[ \t]*(?:[-*+|>]|[0-9]{1,9}[.)])")
_MARK = re.compile(r"<!-- kedge: report ([0-9a-f]+) of (\S+), attempt ([0-9]+) -->\Z")


def render(
    topic: Topic, report: Report, *, attempt: int, check: Check | None, mark: str, kept: str
) -> str:
    """The entry, ending with a line break. `kept` is where the report itself is."""
    head = f"## Task {topic.number}: {shortened(clean(topic.title), _TITLE)}"
    lines = [head, f"- **Files changed:** {_some(report.files, _MOST_FILES) or NONE}"]
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
        lines.append(f"- **Files differ:** {difference(check)}")
    return "\n".join([*lines, mark]) + "\n"


def difference(check: Check) -> str:
    """Both sides of a difference on one line."""
    parts = []
    if check.unchanged:
        parts.append(f"reported but unchanged: {_some(check.unchanged, _MOST_NAMED)}")
    if check.unreported:
        parts.append(f"changed but unreported: {_some(check.unreported, _MOST_NAMED)}")
    return "; ".join(parts)


def mark(digest: str, task: str, attempt: int) -> str:
    """The line by which an entry is known again: invisible, and never one of a report's."""
    return f"<!-- kedge: report {digest} of {task}, attempt {attempt} -->"


def task_of(line: str) -> str | None:
    """The task of the entry that a line marks."""
    found = _MARK.match(line)
    return found[2] if found else None


def _some(paths: Sequence[str], most: int) -> str:
    shown = [_inline(path) for path in paths[:most]]
    more = [f"and {len(paths) - most} more"] if len(paths) > most else []
    return ", ".join([*shown, *more])


def _field(name: str, value: str, kept: str) -> list[str]:
    text = value
    if len(text) > _MOST:
        text = f"{text[:_MOST].rstrip()}\n… {len(value) - _MOST} more characters in {kept}"
    body = _safe(text.split("\n"))
    lead = f"- **{name}:**"
    if len(body) > 1 and (_BLOCK.match(body[0]) or _FENCE.match(body[0])):
        apart = [] if re.match(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)]) ", body[0]) else [""]
        return [lead, *apart, *(f"  {line}".rstrip() for line in body)]
    return [f"{lead} {body[0]}", *(f"  {line}".rstrip() for line in body[1:])]


def _safe(lines: Sequence[str]) -> list[str]:
    """The lines with no heading, rule, comment or tag in effect, and every fence closed."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    made: list[str] = []
    sign = ""
    for line in lines:
        found = _FENCE.match(line)
        if sign:
            closes = found and found["sign"].startswith(sign) and not found["info"].strip()
            made.append(fence if closes else clean(line))
            sign = "" if closes else sign
        elif found:
            sign = found["sign"]
            made.append(f"{fence}{clean(found['info']).strip()}")
        else:
            made.append(_inline(line))
    return [*made, fence] if sign else made


def _inline(line: str) -> str:
    text = clean(line).replace("<!--", "<\\!--")
    bare = text.lstrip()
    if bare[:1] in ("#", "<") or (_RULE.match(text) and bare):
        return f"{text[: len(text) - len(bare)]}\\{bare}"
    return text
