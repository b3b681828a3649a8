"""Review records: who reviewed which tree in which iteration, with which result.

`.kedge/reviews/<subject>.jsonl` has one line per review and is append-only. A reviewer reviews a
subject, or one of its phases, a limited number of times, and never the same tree twice in a row,
except to correct the last verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from kedge.errors import InvalidValue
from kedge.features.folders import FEATURES
from kedge.host import clock, files, json_lines
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.host.text import clean, shorten
from kedge.knowledge.reviews.vocabulary import APPROVED, BLOCKER, RESULTS, WITH_NOTES
from kedge.knowledge.topic import Topic, file_key

CAP = 3
PHASES = ("specify", "design", "create-plan", "create-tasks", "implement")
DOMAIN, SECURITY, IMPLEMENTATION, PHASE = "domain", "security", "implementation", "phase"
KINDS = (DOMAIN, SECURITY, IMPLEMENTATION, PHASE)
VERIFIED, UNVERIFIED, NO_CLAIMS, NOT_STATED = "verified", "unverified", "none", "not-stated"
_FOLDER = "reviews"
_MAX_TEXT = 2000  # characters
_MAX_FINDINGS = 500  # or claims, of one review


@dataclass(frozen=True, slots=True)
class Finding:
    id: str
    severity: str
    text: str
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """An external claim, and the source that verified it."""

    claim: str
    source: str


@dataclass(frozen=True, slots=True)
class Review:
    """One review of a subject. An iteration of 0 means: number it when it is recorded.

    `verification` says what became of external claims: verified, unverified, none (the reviewer
    says there are none) or not-stated.
    """

    subject: str
    reviewer: str
    result: str
    tree: str
    iteration: int = 0
    cap: int = CAP
    at: str = ""
    phase: str | None = None
    kind: str = DOMAIN
    summary: str = ""
    findings: tuple[Finding, ...] = ()
    verified: tuple[Claim, ...] = ()
    unverified: tuple[str, ...] = ()
    verification: str = NOT_STATED
    tools_missing: tuple[str, ...] = ()
    corrects: bool = False  # the reviewer's last review of the same tree, with its iteration

    @property
    def approved(self) -> bool:
        return self.result in (APPROVED, WITH_NOTES)

    @property
    def series(self) -> tuple[str, str | None]:
        """The key that iterations share: the reviewer and the phase."""
        return self.reviewer.casefold(), self.phase

    def data(self) -> dict[str, Any]:
        return asdict(self)


def record_review(
    project: Project, draft: Review, *, cap: int | None = None, lock_timeout: float = 10.0
) -> tuple[Review, list[str]]:
    """Number a review and its findings, and append it without secrets; return it and warnings.

    `cap` defaults to that of the previous iteration. InvalidValue if the review is not allowed.
    """
    lock = project.own("locks", "reviews.lock")
    with files.lock(lock, timeout=lock_timeout):
        past, warnings = read_reviews(project, draft.subject)
        review, more = number_review(past, _clean_draft(draft), cap)
        value = redact_value(replace(review, at=clock.now()).data())
        json_lines.append(project.own(_FOLDER, f"{draft.subject}.jsonl"), value)
    return parse_review(value), [*warnings, *more]


def read_reviews(project: Project, subject: Topic | str) -> tuple[list[Review], list[str]]:
    """Return a subject's reviews, oldest first, and a warning per unreadable line."""
    key = subject.key if isinstance(subject, Topic) else subject_key(subject)
    path = project.own(_FOLDER, f"{key}.jsonl")
    return json_lines.read(path, f".kedge/{_FOLDER}/{key}.jsonl", parse_review)


def subject_key(subject: str) -> str:
    """Return the file name of a subject: its id, or its folder's name."""
    return file_key(subject.strip("/").removeprefix(f"{FEATURES}/").replace("/", "-"))


def number_review(
    past: Sequence[Review], draft: Review, cap: int | None = None
) -> tuple[Review, list[str]]:
    """Return the draft as the next review after the past ones, and warnings about it."""
    mine = [one for one in past if one.series == draft.series]
    last = mine[-1] if mine else None
    limit = cap or (last.cap if last else draft.cap)
    number = draft.iteration or (max(one.iteration for one in mine) + 1 if mine else 1)
    if draft.corrects:
        number = _find_corrected(last, draft).iteration
    elif last is not None and last.tree == draft.tree:
        raise InvalidValue(
            f"{draft.reviewer} has reviewed this tree already (iteration {last.iteration}, "
            f"{last.result})",
            hint="fix the findings and review again; --correct replaces that verdict",
        )
    elif last is not None and number <= last.iteration:
        raise InvalidValue(
            f"iteration {number} of {draft.reviewer} is already recorded",
            hint=f"the next one is {last.iteration + 1}; omit --iteration",
        )
    if number > limit and not draft.corrects:
        raise InvalidValue(
            f"the cap of {limit} iterations is reached for {draft.reviewer}",
            hint=f"a person has to decide; --of {number} allows one more",
        )
    findings, warnings = _with_ids(draft.findings, past, mine)
    blockers = [one.id for one in findings if one.severity == BLOCKER]
    if draft.approved and blockers:
        warnings.append(f"approved with open blockers: {', '.join(blockers[:5])}")
    state = VERIFIED if draft.verified else UNVERIFIED if draft.unverified else draft.verification
    review = replace(draft, iteration=number, cap=limit, findings=findings, verification=state)
    return review, warnings


def _find_corrected(last: Review | None, draft: Review) -> Review:
    """Return the review that a correction replaces; InvalidValue if there is none."""
    if last is None:
        raise InvalidValue(f"{draft.reviewer} has no review to correct", hint="leave out --correct")
    if last.tree != draft.tree:
        raise InvalidValue(
            f"the tree has changed since {draft.reviewer} reviewed it",
            hint="leave out --correct: this is another review",
        )
    return last


def guess_kind(reviewer: str) -> str:
    """Guess the kind of review from the reviewer's name."""
    name = reviewer.casefold()
    return next((kind for kind in (SECURITY, IMPLEMENTATION, PHASE) if kind in name), DOMAIN)


def parse_review(data: Mapping[str, Any]) -> Review:
    """Parse a record; unknown fields, as a later version may write, are ignored."""
    try:
        review = msgspec.convert(data, Review)
    except msgspec.ValidationError as error:
        raise InvalidValue(f"not a review record ({error})") from error
    if review.result not in RESULTS:
        raise InvalidValue(f"not a review record (unknown result {review.result!r})")
    return review


def _clean_draft(draft: Review) -> Review:
    """Return the draft with single-line texts of limited length; refuse an invalid one."""
    name = shorten(clean(draft.reviewer), 80)
    if not name:
        raise InvalidValue("a review needs a reviewer", hint="--reviewer NAME")
    if draft.result not in RESULTS:
        raise InvalidValue(f"{draft.result!r} is not a result", hint=f"one of {', '.join(RESULTS)}")
    claims = len(draft.verified) + len(draft.unverified)
    if max(len(draft.findings), claims) > _MAX_FINDINGS:
        raise InvalidValue(
            f"a review has at most {_MAX_FINDINGS} findings and {_MAX_FINDINGS} claims",
            hint="keep those that matter",
        )
    findings = [
        replace(one, text=_line(one.text), location=one.location and _line(one.location, 300))
        for one in draft.findings
        if one.text.strip()
    ]
    return replace(
        draft,
        reviewer=name,
        findings=tuple(findings),
        summary=_line(draft.summary),
        verified=tuple(Claim(_line(one.claim), _line(one.source, 300)) for one in draft.verified),
        unverified=tuple(_line(one) for one in draft.unverified if one.strip()),
        tools_missing=tuple(dict.fromkeys(_line(one, 80) for one in draft.tools_missing)),
    )


def _line(text: str, most: int = _MAX_TEXT) -> str:
    return shorten(clean(text.replace("\r", " ").encode("utf-8", "replace").decode()), most)


def _with_ids(
    findings: Sequence[Finding], past: Sequence[Review], mine: Sequence[Review]
) -> tuple[tuple[Finding, ...], list[str]]:
    """Give each finding an id that is unique in the subject; a recurring finding keeps its id."""
    taken = {finding.id for review in past for finding in review.findings}
    known = {finding.id for review in mine for finding in review.findings}
    ids = {_text_key(finding.text): finding.id for review in mine for finding in review.findings}
    numbered: list[Finding] = []
    warnings = []
    number = 0
    for one in findings:
        used = {other.id for other in numbered}
        name = one.id or ids.get(_text_key(one.text), "")
        if name in used or (name in taken and name not in known):
            name = ""
        while not name:
            number += 1
            name = "" if f"F{number}" in taken | used else f"F{number}"
        if one.id and name != one.id:
            warnings.append(f"{one.id} is the id of another finding: this one becomes {name}")
        numbered.append(replace(one, id=name))
    return tuple(numbered), warnings


def _text_key(text: str) -> str:
    return " ".join(text.casefold().split())
