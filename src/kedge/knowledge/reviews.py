"""Reviews: who looked at which tree, in which iteration, and what came of it.

`.kedge/reviews/<subject>.jsonl`, one line for each review, only ever appended to. A reviewer looks
at a subject, or at one of its phases, a limited number of times, and never twice at the same tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

from kedge.errors import InvalidValue
from kedge.host import clock, files, json_lines
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.host.text import clean, shortened
from kedge.knowledge.finished import FEATURES
from kedge.knowledge.review_words import APPROVED, RESULTS, SEVERITIES, WITH_NOTES
from kedge.knowledge.topic import Topic, as_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

CAP = 3
PHASES = ("specify", "design", "create-plan", "create-tasks", "implement")
DOMAIN, SECURITY, IMPLEMENTATION, PHASE = "domain", "security", "implementation", "phase"
KINDS = (DOMAIN, SECURITY, IMPLEMENTATION, PHASE)
VERIFIED, UNVERIFIED, NO_CLAIMS, NOT_STATED = "verified", "unverified", "none", "not-stated"
_FOLDER = "reviews"
_TEXT = 2000
_MANY = 500  # findings, or claims, of one review


@dataclass(frozen=True, slots=True)
class Finding:
    id: str
    severity: str
    text: str
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that was said of the world outside, and where it was looked up."""

    claim: str
    source: str


@dataclass(frozen=True, slots=True)
class Review:
    """One look at a subject. An iteration of 0 is to be numbered.

    `verification` is what became of claims about the world outside: verified, unverified, none (as
    the reviewer says), or not-stated.
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

    @property
    def approved(self) -> bool:
        return self.result in (APPROVED, WITH_NOTES)

    @property
    def series(self) -> tuple[str, str | None]:
        """Reviews that count as iterations of one: by the same reviewer, of the same phase."""
        return self.reviewer.casefold(), self.phase

    def data(self) -> dict[str, Any]:
        return asdict(self)


def record(
    project: Project, draft: Review, *, cap: int | None = None, lock_timeout: float = 10.0
) -> tuple[Review, list[str]]:
    """Keep a review with its number and the ids of its findings, without secrets, durably.

    `cap` is told; else it stays that of the iteration before. InvalidValue for what may not be.
    """
    lock = project.own("locks", "reviews.lock")
    with files.lock(lock, timeout=lock_timeout):
        past, warnings = read(project, draft.subject)
        made, more = following(past, _checked(draft), cap)
        value = redact_value(replace(made, at=clock.now()).data())
        json_lines.append(project.own(_FOLDER, f"{draft.subject}.jsonl"), value)
    return parse(value), [*warnings, *more]


def read(project: Project, subject: Topic | str) -> tuple[list[Review], list[str]]:
    """The reviews of a subject, oldest first, and a warning for each line that is none."""
    key = subject.key if isinstance(subject, Topic) else key_of(subject)
    path = project.own(_FOLDER, f"{key}.jsonl")
    return json_lines.read(path, f".kedge/{_FOLDER}/{key}.jsonl", parse)


def key_of(subject: str) -> str:
    """What the file of a subject is called: its id, or its folder's name."""
    return as_key(subject.strip("/").removeprefix(f"{FEATURES}/").replace("/", "-"))


def following(
    past: Sequence[Review], draft: Review, cap: int | None = None
) -> tuple[Review, list[str]]:
    """The review as the next one after those, and what there is to say about it."""
    mine = [one for one in past if one.series == draft.series]
    last = mine[-1] if mine else None
    known = cap or (last.cap if last else draft.cap)
    number = draft.iteration or (max(one.iteration for one in mine) + 1 if mine else 1)
    if last is not None and last.tree == draft.tree:
        raise InvalidValue(
            f"{draft.reviewer} has reviewed this tree already (iteration {last.iteration}, "
            f"{last.result})",
            hint="nothing has changed since: mend what was found, then review again",
        )
    if last is not None and number <= last.iteration:
        raise InvalidValue(
            f"iteration {number} of {draft.reviewer} is recorded already",
            hint=f"the next one is {last.iteration + 1}; leave --iteration out",
        )
    if number > known:
        raise InvalidValue(
            f"the cap of {known} iterations is reached for {draft.reviewer}",
            hint=f"a person has to decide; --of {number} allows one more",
        )
    findings, warnings = _with_ids(draft.findings, past, mine)
    worst = [one.id for one in findings if one.severity == SEVERITIES[0]]
    if draft.approved and worst:
        warnings.append(f"approved with a blocker open: {', '.join(worst[:5])}")
    made = replace(
        draft, iteration=number, cap=known, findings=findings, verification=verification(draft)
    )
    return made, warnings


def verification(review: Review) -> str:
    if review.verified:
        return VERIFIED
    if review.unverified:
        return UNVERIFIED
    return review.verification


def kind_of(reviewer: str) -> str:
    """What a reviewer looks for, by its name."""
    name = reviewer.casefold()
    return next((kind for kind in (SECURITY, IMPLEMENTATION, PHASE) if kind in name), DOMAIN)


def parse(data: Mapping[str, Any]) -> Review:
    """A review from its record; fields of a later version are passed over."""
    names = {one.name for one in fields(Review)}
    values = {name: value for name, value in data.items() if name in names and value is not None}
    try:
        values["findings"] = tuple(_made(Finding, one) for one in values.get("findings", ()))
        values["verified"] = tuple(_made(Claim, one) for one in values.get("verified", ()))
        for name in ("unverified", "tools_missing"):
            values[name] = tuple(map(_text, values.get(name, ())))
        for name in ("subject", "reviewer", "result", "tree", "at"):
            _text(values[name])
        for name in ("phase", "kind", "summary", "verification"):
            _text(values.get(name, ""))
        made = Review(**values)
        if (
            made.result not in RESULTS
            or type(made.iteration) is not int
            or type(made.cap) is not int
        ):
            raise TypeError("its result or its number is none")
        return made
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidValue(f"it is not what kedge writes ({error})") from error


def _made(kind: type[T], data: Mapping[str, Any]) -> T:
    names = (one.name for one in fields(kind))  # type: ignore[arg-type]
    known = {name: data[name] for name in names if name in data}
    for name, value in known.items():
        if not (value is None and name == "location"):
            _text(value)
    return kind(**known)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is no text")
    return value


def _checked(draft: Review) -> Review:
    """The draft in a form that can be kept: on single lines, not without bound."""
    name = shortened(clean(draft.reviewer), 80)
    if not name:
        raise InvalidValue("a review needs a reviewer", hint="--reviewer NAME")
    if draft.result not in RESULTS:
        raise InvalidValue(f"{draft.result!r} is no result", hint=f"one of {', '.join(RESULTS)}")
    if len(draft.findings) > _MANY or len(draft.verified) + len(draft.unverified) > _MANY:
        raise InvalidValue(f"a review has at most {_MANY} findings", hint="tell those that matter")
    found = [
        replace(one, text=_line(one.text), location=one.location and _line(one.location, 300))
        for one in draft.findings
        if one.text.strip()
    ]
    return replace(
        draft,
        reviewer=name,
        findings=tuple(found),
        summary=_line(draft.summary),
        verified=tuple(Claim(_line(one.claim), _line(one.source, 300)) for one in draft.verified),
        unverified=tuple(_line(one) for one in draft.unverified if one.strip()),
        tools_missing=tuple(dict.fromkeys(_line(one, 80) for one in draft.tools_missing)),
    )


def _line(text: str, most: int = _TEXT) -> str:
    return shortened(clean(text.replace("\r", " ").encode("utf-8", "replace").decode()), most)


def _with_ids(
    findings: Sequence[Finding], past: Sequence[Review], mine: Sequence[Review]
) -> tuple[tuple[Finding, ...], list[str]]:
    """The findings, each with an id of its own in the subject; one that comes back keeps its id."""
    taken = {finding.id for review in past for finding in review.findings}
    known = {finding.id for review in mine for finding in review.findings}
    said = {_same(finding.text): finding.id for review in mine for finding in review.findings}
    made: list[Finding] = []
    warnings = []
    number = 0
    for one in findings:
        used = {other.id for other in made}
        name = one.id or said.get(_same(one.text), "")
        if name in used or (name in taken and name not in known):
            name = ""
        while not name:
            number += 1
            name = "" if f"F{number}" in taken | used else f"F{number}"
        if one.id and name != one.id:
            warnings.append(f"{one.id} is the id of another finding: this one is {name}")
        made.append(replace(one, id=name))
    return tuple(made), warnings


def _same(text: str) -> str:
    return " ".join(text.casefold().split())
