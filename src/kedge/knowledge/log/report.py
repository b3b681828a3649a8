"""Parse an implementer's report, in whatever form it is written.

    What I implemented / tested / Files changed / Self-review / Decisions / Deviations / Concerns

under headings of any level and wording, bold leads, `Label:` lines, tags, in tables, in a fence,
or as JSON. Fields that it does not mention are listed as missing; the text is kept unchanged.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kedge.knowledge import answer_json
from kedge.knowledge.log.headings import (
    FIELDS,
    FILES,
    IMPLEMENTED,
    OTHER,
    SELF_REVIEW,
    TESTED,
    match_fields,
)
from kedge.knowledge.log.labels import HEADING, Label, find_labels
from kedge.knowledge.log.paths import paths_in_text, paths_in_value
from kedge.text import markdown
from kedge.text.fences import CLOSE, OPEN, FenceReader

NONE = "none"
_RULE = re.compile(r"[ \t]*(?:(?:[-*_=][ \t]*){3,})?\Z")  # or a blank line
_NOTHING = re.compile(
    r"(?:none|nothing|nil|no|n/?a|not applicable|[-–—∅])"
    r"(?: (?:at this time|so far|identified|found|noted|known|needed|made|yet|at all|major|to "
    r"report|deviations?|concerns?|issues?|decisions?|problems?|risks?|changes|from|the|plan|"
    r"design|spec|or|and))*",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"(?:let me know|please let|ready for|would you like|shall i|feel free|happy to|thank|all done|"
    r"(?:the )?(?:task|work|implementation) is (?:now )?(?:complete|done)|</?(?:promise|stuck)\b)",
    re.IGNORECASE,
)
_WRAPPERS = ("result", "report", "text", "message", "output", "content", "last_assistant_message")
_STRUCTURED = 3  # with so many fields under headings, other labels are content


@dataclass(frozen=True, slots=True)
class Report:
    """The fields of a report; a field that is empty or not mentioned is `none`.

    `missing` lists the fields that the report does not mention; the self-review is optional.
    """

    text: str
    implemented: str = NONE
    tested: str = NONE
    files: tuple[str, ...] = ()
    self_review: str | None = None
    decisions: str = NONE
    deviations: str = NONE
    concerns: str = NONE
    missing: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        return bool(self.missing)

    @property
    def empty(self) -> bool:
        return not re.search(r"\w", self.text)


def parse_report(text: str) -> Report:
    """Parse a report. Any text is accepted, at least as a partial report."""
    whole = answer_json.parse_whole(text)
    if whole is not None and not _score(whole):
        inner = next((whole[key] for key in _WRAPPERS if isinstance(whole.get(key), str)), None)
        if inner is not None:
            return replace(parse_report(inner), text=text)
    value = answer_json.find_object(text, _score)
    if value is None:
        return _build(text, _fields_in_text(text))
    from_json = _fields_in_object(value)
    from_text = _fields_in_text(text) if whole is None else {}
    if len(from_text) > len(from_json):  # the JSON is only an example
        return _build(text, from_text)
    files = paths_in_value([one for key, one in value.items() if FILES in match_fields(key)])
    return _build(text, {**from_text, **from_json}, files)


def _score(value: Mapping[str, Any]) -> int:
    """Return how many fields of a report the object has; 0 if it is likely something else."""
    kinds = {kind for key in value for kind in match_fields(key)} - {OTHER}
    return len(kinds) if len(kinds) > 1 or len(value) <= 2 else 0


def _fields_in_object(value: Mapping[str, Any]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for key, one in value.items():
        for kind in match_fields(key):
            if kind != OTHER and one is not None and one != "":
                more = answer_json.to_text(one) or NONE
                fields[kind] = f"{fields[kind]}\n{more}" if kind in fields else more
    return fields


def _build(text: str, fields: Mapping[str, str], files: tuple[str, ...] = ()) -> Report:
    values = {kind: _clean_value(one) for kind, one in fields.items()}
    values = {kind: one for kind, one in values.items() if one}
    files = files or paths_in_text(values.get(FILES, ""), listed=True)
    if FILES not in values and IMPLEMENTED in values:
        files = paths_in_text(values[IMPLEMENTED], prose=len(values) == 1)
    present = {*values, *([FILES] if files else [])} | {SELF_REVIEW}
    missing = tuple(kind for kind in FIELDS if kind not in present)
    values.pop(FILES, None)
    return Report(text, files=files, missing=missing, **values)


def _fields_in_text(text: str) -> dict[str, str]:
    """Return the fields in a text, each with the lines below its labels."""
    plain = "\n".join(text.encode("utf-8", "replace").decode().splitlines()).expandtabs(4)
    lines = textwrap.dedent(plain).split("\n")
    fields = _fields_in_lines(lines)
    if len(fields) < 2:  # all of it may be in a fence
        fences = FenceReader(nested=True)
        code = [line for line in lines if fences.read(line) not in (OPEN, CLOSE)]
        unfenced = _fields_in_lines(code)
        fields = unfenced if len(unfenced) > max(1, len(fields)) else fields
    return fields


def _fields_in_lines(lines: list[str]) -> dict[str, str]:
    document = markdown.read("\n".join(lines), part=True)
    labels = find_labels(document)
    best: dict[str, tuple[int, int]] = {}
    for one in labels.values():
        for kind in one.fields:
            best[kind] = min(best.get(kind, one.rank), one.rank)
    structured = sum(rank[0] == HEADING for kind, rank in best.items() if kind != OTHER)
    bodies: dict[str, list[str]] = {}
    preamble: list[str] = []
    current: Label | None = None
    labelled, skip = False, -1
    for index, line in enumerate(document.lines):
        label = labels.get(index)
        if index <= skip:
            continue
        if label is not None and _begins_field(label, current, best, structured >= _STRUCTURED):
            current = label if label.fields and OTHER not in label.fields else None
            labelled = labelled or current is not None
            skip = label.last
            for kind in current.fields if current else ():
                bodies.setdefault(kind, []).append(label.rest)
        elif current is not None:
            for kind in current.fields:
                bodies[kind].append(line)
        elif not labelled and not (label and label.rank[0] == HEADING):
            preamble.append(line)
    fields = {kind: "\n".join(body) for kind, body in bodies.items()}
    if IMPLEMENTED not in fields and "".join(preamble).strip():
        fields[IMPLEMENTED] = "\n".join(preamble)
    return fields


def _begins_field(
    label: Label, current: Label | None, best: Mapping[str, tuple[int, int]], structured: bool
) -> bool:
    """True if a label ends the current field; False if it is part of it."""
    if current is None or label.rank <= current.rank:
        repeats = current is not None and label.fields == current.fields
        return not (repeats and label.rank[0] != HEADING)
    if not label.fields or OTHER in label.fields:
        return False
    inside = set(current.fields) - {IMPLEMENTED}
    if FILES in current.fields and label.fields == (TESTED,):  # a group of files
        return False
    if structured and current.rank[0] == HEADING and label.rank[0] != HEADING and inside:
        return False
    return any(best[kind] == label.rank and kind not in current.fields for kind in label.fields)


def _clean_value(text: str) -> str:
    """Strip blank lines, rules, a single bullet and closing courtesies around a value."""
    lines = text.split("\n")
    while lines and _RULE.match(lines[0]):
        lines.pop(0)
    while lines and (_RULE.match(lines[-1]) or _FAREWELL.match(lines[-1].strip())):
        lines.pop()
    if len(lines) > 1:
        return "\n".join([lines[0].strip(), textwrap.dedent("\n".join(lines[1:]))])
    lone = re.sub(r"\A(?:[-*+•]|[0-9]{1,2}[.)])[ \t]+", "", "".join(lines).strip())
    bare = re.sub(r"[*_`]", "", lone).strip().rstrip(".!").strip("()")
    return NONE if _NOTHING.fullmatch(bare) else lone
