"""A reviewer's answer: the verdict and the findings, from JSON of many shapes or from free text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kedge.host.record import NamedTuple
from kedge.knowledge import answer_json, review_claims, review_findings
from kedge.knowledge.review_claims import Claims
from kedge.knowledge.review_words import MAJOR, verdict
from kedge.knowledge.reviews import Finding
from kedge.tasks.feature_docs import markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_APPROVED = re.compile(r"(?:is_?)?(?:approved?|pass(?:ed)?|lgtm|accepted)\Z", re.IGNORECASE)
_VERDICT = re.compile(
    r"(?:overall_?)?(?:verdict|result|decision|status|outcome|assessment|recommendation|"
    r"conclusion)\Z",
    re.IGNORECASE,
)
_LISTS = re.compile(
    r"issues|findings|problems|comments|concerns|violations|defects|remarks|vulnerabilit|blockers|"
    r"warnings|notes|suggestions|nits|critical|major|minor",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"[^\w]{0,12}(?:overall |final |review )?(?:verdict|result|decision|status|outcome|assessment|"
    r"conclusion|recommendation|approved)\b[^\w:]{0,4}[:=—–-][ \t*_`\"]*(?P<words>\S.{0,200})\Z",
    re.IGNORECASE,
)
_SUMMARY = re.compile(r"[\s#*_]*summary\b[\s:*_]*(?P<rest>.*)\Z", re.IGNORECASE)
_ALONE = re.compile(  # nothing but a verdict: that tests passed is none
    r"[\W_]*(?:(?:not |un)?approved?|lgtm|looks good(?: to me)?|ship it|accepted|pass(?:ed)?|"
    r"fail(?:ed)?|reject(?:ed)?|request(?:ing|ed)? changes|changes (?:requested|required|needed)|"
    r"needs (?:work|changes|revision)|no[- ]go)(?: (?:with|but)\b.{0,60})?[\W_]*",
    re.IGNORECASE,
)


class Answer(NamedTuple):
    """What an answer says. Without a result it has no verdict that could be told."""

    result: str | None = None
    findings: tuple[Finding, ...] = ()
    claims: Claims = Claims()
    summary: str = ""


def read(text: str) -> Answer:
    """The answer that a text is. Any text is one."""
    found = answer_json.find(text, _worth)
    if found is not None:
        return _of_object(found)
    lines = [line for line in markdown.read(text, part=True).prose if line is not None]
    findings = tuple(review_findings.in_lines(lines))
    return Answer(_verdict(lines), findings, review_claims.in_text(text), _summary(lines))


def _worth(value: Mapping[str, Any]) -> int:
    named = sum(bool(_APPROVED.match(key) or _VERDICT.match(key)) for key in value)
    lists = [key for key, one in value.items() if isinstance(one, (list, dict))]
    return 2 * named + sum(bool(_LISTS.search(key)) for key in lists)


def _of_object(value: Mapping[str, Any]) -> Answer:
    told = [
        _said(one)
        for kind in (_APPROVED, _VERDICT)
        for key, one in value.items()
        if kind.match(key)
    ]
    found: list[Finding] = []
    for key, one in value.items():
        if _LISTS.search(key):
            default = review_findings.severity_in(key) or MAJOR
            found += review_findings.in_value(one, default)
    summary = answer_json.words(value.get("summary", value.get("overview")))
    result = next(filter(None, told), None)
    return Answer(result, tuple(found), review_claims.in_object(value), summary)


def _said(value: Any) -> str | None:
    if isinstance(value, bool):
        return verdict("true" if value else "false")
    return verdict(value) if isinstance(value, str) else None


def _verdict(lines: Sequence[str]) -> str | None:
    """The last line that is labelled as a verdict; else the last that is nothing but one."""
    told = [verdict(found["words"]) for line in lines if (found := _LABEL.match(line))]
    if any(told):
        return next(filter(None, reversed(told)))
    alone = [verdict(line) for line in lines if len(line) < 100 and _ALONE.fullmatch(line)]
    return next(filter(None, reversed(alone)), None)


def _summary(lines: Sequence[str]) -> str:
    for at, line in enumerate(lines):
        found = _SUMMARY.match(line)
        if found:
            below = next((one for one in lines[at + 1 :] if one.strip()), "")
            return (found["rest"].strip() or below).strip()
    return ""
