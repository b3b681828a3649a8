"""An implementer's report: what it says of the work, in whatever form it says so.

    What I implemented / tested / Files changed / Self-review / Decisions / Deviations / Concerns

under headings of any level and wording, bold leads, `Label:` lines, tags, in tables, in a fence,
or as JSON. What it does not say is missing, and the text itself is kept as it is.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from kedge.host.record import NamedTuple
from kedge.knowledge import answer_json, report_files, report_labels
from kedge.knowledge.report_headings import (
    CONCERNS,
    DECISIONS,
    DEVIATIONS,
    FIELDS,
    FILES,
    IMPLEMENTED,
    OTHER,
    SELF_REVIEW,
    TESTED,
    fields_of,
)
from kedge.knowledge.report_labels import HEADING, Label
from kedge.tasks.feature_docs import markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NONE = "none"
_BREAKS = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INLINE = re.compile(  # a label within a paragraph, behind a sentence
    r"(?<=[a-z)`][.!?])[ ]+(?=(?:Implemented|Tested|Files changed|Self-review|Decisions?|"
    r"Deviations?|Concerns?):[ ])"
)
_QUOTE = re.compile(r" {0,3}> ?")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[\w+-]*[ \t]*\Z")
_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}\Z")
_NOTHING = re.compile(
    r"(?:none|nothing|nil|no|n/?a|not applicable|[-–—∅])"
    r"(?: (?:at this time|so far|identified|found|noted|known|to (?:report|note|add)|observed|"
    r"needed|required|were (?:made|found|needed)|encountered|made|yet|at all|really|i am aware of|"
    r"(?:deviations?|concerns?|issues?|decisions?|problems?|risks?|blockers?|questions?|findings|"
    r"changes|major|significant|notable|open|outstanding|known|further|other|from|the|plan|design|"
    r"spec|or|and)))*\Z",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"(?:let me know|please let me|ready for|i'm ready|i am ready|would you like|shall i|feel free|"
    r"happy to|thanks|thank you|that's all|all done|(?:the )?(?:task|work|implementation) is "
    r"(?:now )?(?:complete|done|finished|ready)|</?(?:promise|stuck|report)\b)",
    re.IGNORECASE,
)
_WRAPPERS = ("result", "report", "text", "message", "output", "content", "last_assistant_message")
_STRUCTURED = 3  # fields with a heading of their own, from which on headings are what counts


class Report(NamedTuple):
    """What a report says. Decisions, deviations and concerns are `none` where there are none.

    `missing` are the fields that it does not speak of; the self-review need not be there.
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


def read(text: str) -> Report:
    """The report that a text is. Any text is one, if a partial one."""
    known = answer_json.whole(text)
    if known is not None and not _worth(known):
        inner = next((known[key] for key in _WRAPPERS if isinstance(known.get(key), str)), None)
        if inner is not None:
            return read(inner)._replace(text=text)
    found = answer_json.find(text, _worth)
    if found is None:
        return _made(text, _parts(text))
    told = _of_object(found)
    beside = _parts(text) if known is None else {}
    if len(beside) > len(told):  # the JSON is but an example
        return _made(text, beside)
    return _made(text, {**beside, **told}, report_files.in_value(_at(found, FILES)))


def _worth(value: Mapping[str, Any]) -> int:
    found = {kind for key in value for kind in fields_of(key)} - {OTHER}
    return len(found) if len(found) > 1 or len(value) <= 2 else 0


def _of_object(value: Mapping[str, Any]) -> dict[str, str]:
    told: dict[str, str] = {}
    for key, one in value.items():
        for kind in fields_of(key):
            if kind != OTHER and one is not None and one != "":
                more = answer_json.words(one) or NONE
                told[kind] = f"{told[kind]}\n{more}" if kind in told else more
    return told


def _at(value: Mapping[str, Any], kind: str) -> list[Any]:
    return [one for key, one in value.items() if kind in fields_of(key)]


def _made(text: str, told: Mapping[str, str], files: tuple[str, ...] = ()) -> Report:
    said = {kind: _value(one) for kind, one in told.items()}
    said = {kind: one for kind, one in said.items() if one}
    files = files or report_files.in_text(said.get(FILES, ""), listed=True)
    if FILES not in said and IMPLEMENTED in said:
        files = report_files.in_text(said[IMPLEMENTED], prose=len(said) == 1)
    there = {*said, *([FILES] if files else [])} | {SELF_REVIEW}
    return Report(
        text,
        said.get(IMPLEMENTED, NONE),
        said.get(TESTED, NONE),
        files,
        said.get(SELF_REVIEW),
        said.get(DECISIONS, NONE),
        said.get(DEVIATIONS, NONE),
        said.get(CONCERNS, NONE),
        tuple(kind for kind in FIELDS if kind not in there),
    )


def _parts(text: str) -> dict[str, str]:
    """The fields that a text has, each with the lines below its labels."""
    plain = _BREAKS.sub("\n", text.encode("utf-8", "replace").decode()).expandtabs(4)
    lines = _INLINE.sub("\n", textwrap.dedent(plain)).split("\n")
    if sum(line.lstrip().startswith(">") for line in lines) * 2 > len(lines):
        lines = [_QUOTE.sub("", line, count=1) for line in lines]
    told = _sections(lines)
    if len(told) < 2:  # all of it may be in a fence
        open_ = _sections([line for line in lines if not _FENCE.match(line)])
        told = open_ if len(open_) > max(1, len(told)) else told
    return told


def _sections(lines: list[str]) -> dict[str, str]:
    document = markdown.read("\n".join(report_labels.without_tables(lines)), part=True)
    labels = {label.line: label for label in report_labels.find(document)}
    best: dict[str, tuple[int, int]] = {}
    for one in labels.values():
        for kind in one.fields:
            best[kind] = min(best.get(kind, one.rank), one.rank)
    structured = sum(rank[0] == HEADING for kind, rank in best.items() if kind != OTHER)
    bodies: dict[str, list[str]] = {}
    preamble: list[str] = []
    at: Label | None = None
    labelled, skip = False, -1
    for index, line in enumerate(document.lines):
        label = labels.get(index)
        if index <= skip:
            continue
        if label is not None and _opens(label, at, best, structured >= _STRUCTURED):
            at = label if label.fields and OTHER not in label.fields else None
            labelled = labelled or at is not None
            skip = label.last
            for kind in at.fields if at else ():
                bodies.setdefault(kind, []).append(label.rest)
        elif at is not None:
            for kind in at.fields:
                bodies[kind].append(line)
        elif not labelled and not (label and label.rank[0] == HEADING):
            preamble.append(line)
    told = {kind: "\n".join(body) for kind, body in bodies.items()}
    if IMPLEMENTED not in told and "".join(preamble).strip():
        told[IMPLEMENTED] = "\n".join(preamble)
    return told


def _opens(
    label: Label, at: Label | None, best: Mapping[str, tuple[int, int]], structured: bool
) -> bool:
    """Whether a label begins something else, or is a part of what it stands in."""
    if at is None or label.rank <= at.rank:
        return not (at is not None and label.fields == at.fields and label.rank[0] != HEADING)
    if not label.fields or OTHER in label.fields:
        return False
    inside = set(at.fields) - {IMPLEMENTED}
    if FILES in at.fields and label.fields == (TESTED,):  # a group of files
        return False
    if structured and at.rank[0] == HEADING and label.rank[0] != HEADING and inside:
        return False
    return any(best[kind] == label.rank and kind not in at.fields for kind in label.fields)


def _value(text: str) -> str:
    """Without what surrounds it: blank lines, rules, a bullet that stands alone, a farewell."""
    lines = text.split("\n")
    while lines and (not lines[0].strip() or _RULE.match(lines[0])):
        lines.pop(0)
    while lines and (
        not lines[-1].strip() or _RULE.match(lines[-1]) or _FAREWELL.match(lines[-1].strip())
    ):
        lines.pop()
    if not lines:
        return ""
    first = lines[0].strip()
    lone = re.sub(r"\A(?:[-*+•]|[0-9]{1,2}[.)])[ \t]+", "", first)
    if len(lines) == 1:
        bare = re.sub(r"[*_`]", "", lone).strip().rstrip(".!").strip("()")
        return NONE if _NOTHING.match(bare) else lone
    return "\n".join([first, textwrap.dedent("\n".join(lines[1:]))])
