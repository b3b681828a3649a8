"""Parse a reviewer's answer: verdict, findings and claims, from JSON or from free text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kedge.knowledge import answer_json
from kedge.knowledge.reviews.claims import Claims, claims_in_object, claims_in_text
from kedge.knowledge.reviews.findings import find_severity, findings_in_lines, findings_in_value
from kedge.knowledge.reviews.records import Finding
from kedge.knowledge.reviews.vocabulary import MAJOR, parse_verdict
from kedge.text import markdown

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
_ALONE = re.compile(  # a line that is only a verdict; "tests passed" is not one
    r"[\W_]*(?:(?:not |un)?approved?|lgtm|looks good(?: to me)?|ship it|accepted|pass(?:ed)?|"
    r"fail(?:ed)?|reject(?:ed)?|request(?:ing|ed)? changes|changes (?:requested|required|needed)|"
    r"needs (?:work|changes|revision)|no[- ]go)(?: (?:with|but)\b.{0,60})?[\W_]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """A parsed answer. `result` is None if no verdict was recognized."""

    result: str | None = None
    findings: tuple[Finding, ...] = ()
    claims: Claims = field(default_factory=Claims)
    summary: str = ""


def parse_answer(text: str) -> ReviewAnswer:
    """Parse an answer; any text is accepted."""
    value = answer_json.find_object(text, _score)
    if value is not None:
        return _parse_object(value)
    lines = [line for line in markdown.read(text, part=True).prose if line is not None]
    findings = tuple(findings_in_lines(lines))
    return ReviewAnswer(_find_verdict(lines), findings, claims_in_text(text), _find_summary(lines))


def _score(value: Mapping[str, Any]) -> int:
    """Score how much the object looks like a review; 0 if it does not."""
    named = sum(bool(_APPROVED.match(key) or _VERDICT.match(key)) for key in value)
    lists = [key for key, one in value.items() if isinstance(one, (list, dict))]
    return 2 * named + sum(bool(_LISTS.search(key)) for key in lists)


def _parse_object(value: Mapping[str, Any]) -> ReviewAnswer:
    verdicts = [
        _parse_result(one)
        for kind in (_APPROVED, _VERDICT)
        for key, one in value.items()
        if kind.match(key)
    ]
    findings: list[Finding] = []
    for key, one in value.items():
        if _LISTS.search(key):
            default = find_severity(key) or MAJOR
            findings += findings_in_value(one, default)
    summary = answer_json.to_text(value.get("summary", value.get("overview")))
    result = next(filter(None, verdicts), None)
    return ReviewAnswer(result, tuple(findings), claims_in_object(value), summary)


def _parse_result(value: Any) -> str | None:
    if isinstance(value, bool):
        return parse_verdict("true" if value else "false")
    return parse_verdict(value) if isinstance(value, str) else None


def _find_verdict(lines: Sequence[str]) -> str | None:
    """Return the last labelled verdict; without one, the last line that is only a verdict."""
    labelled = [parse_verdict(label["words"]) for line in lines if (label := _LABEL.match(line))]
    if any(labelled):
        return next(filter(None, reversed(labelled)))
    alone = [parse_verdict(line) for line in lines if len(line) < 100 and _ALONE.fullmatch(line)]
    return next(filter(None, reversed(alone)), None)


def _find_summary(lines: Sequence[str]) -> str:
    for at, line in enumerate(lines):
        match = _SUMMARY.match(line)
        if match:
            below = next((one for one in lines[at + 1 :] if one.strip()), "")
            return (match["rest"].strip() or below).strip()
    return ""
