"""The account of a recorded session: its status, where it strayed, whether it recovered.

It is built from rows of the store. All texts except ids are redacted once more, because others may
see the result.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from posixpath import commonprefix
from typing import TYPE_CHECKING, Any

from kedge.drift import recovery, summary
from kedge.drift.course import ON_COURSE
from kedge.drift.limits.limit import Limit, parse
from kedge.drift.scoring import Penalty
from kedge.host.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kedge.drift.recovery import RecoveryPlan

    Row = dict[str, Any]


ACTIVE, ABANDONED = "active", "abandoned"
USER_SPOKE = "the user spoke"  # how a session recovered, if not at a step
_PREFIX = 8  # characters of an id, at least
# fields that are columns of the same name
_SESSION = """agent task bound policy course escalation steps needs_review started_at checked_at
ended_at"""
_STEP = """position at tool command reasoning subagent level decision is_key_decision is_validated
changes ok"""
_EVENT = "at score level before after escalation"


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """A session. `why` says why it needs review; `short` is a unique prefix of its id.

    `task` is the last task that it was bound to, `bound` how it is bound to it.
    """

    id: str
    short: str
    agent: str
    task: str | None
    bound: str
    policy: str
    goal: str
    status: str
    score: float
    course: str
    escalation: int
    steps: int
    needs_review: bool
    why: tuple[str, ...]
    started_at: str
    checked_at: str
    ended_at: str | None


@dataclass(frozen=True, slots=True)
class CharterRevision:
    """A message of the user, and the goal from then on."""

    revision: int
    at: str
    said: str
    goal: str


@dataclass(frozen=True, slots=True)
class LimitInForce:
    """A limit in force, with the user's words and the number of the message they are from.

    `what` names what it covers: paths, packages, commands or targets.
    """

    kind: str
    quote: str
    revision: int | None
    what: str = ""


@dataclass(frozen=True, slots=True)
class RecalledStep:
    """An earlier step that is related to another, and why."""

    session: str
    position: int
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step. `what` is the action in one line; `lacks` names what was missing to judge it."""

    position: int
    id: str
    at: str
    tool: str
    kind: str
    what: str
    files: tuple[str, ...]
    command: str
    reasoning: str
    subagent: str
    score: int
    level: str
    type: str
    rules: tuple[Penalty, ...]
    lacks: tuple[str, ...]
    recalled: tuple[RecalledStep, ...]
    decision: str
    correction: str
    is_key_decision: bool
    is_validated: bool
    changes: bool
    ok: bool | None

    @property
    def was_stopped(self) -> bool:
        """True if the action was denied, or asked about and never done."""
        return self.ok is None and self.decision in ("deny", "ask")

    @property
    def result(self) -> str:
        """What happened to the action, as far as is known."""
        if self.ok is not None:
            return "done" if self.ok else "failed"
        return {"deny": "denied", "ask": "asked about, not done"}.get(self.decision, "not known")


@dataclass(frozen=True, slots=True)
class DriftEpisode:
    """A step that strayed. `recovered` says how the session came back; "" if it did not."""

    position: int | None
    at: str
    what: str
    score: int
    level: str
    before: str
    after: str
    escalation: int
    evidence: tuple[Penalty, ...]
    decision: str
    correction: str
    recovered: str


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that is known about one session."""

    session: SessionStatus
    revisions: tuple[CharterRevision, ...]
    limits: tuple[LimitInForce, ...]
    steps: tuple[RecordedStep, ...]
    events: tuple[DriftEpisode, ...]
    plan: RecoveryPlan | None = None  # while the session is off its course

    @property
    def decisions(self) -> list[RecordedStep]:
        on_course = (each for each in self.steps if each.is_validated and each.score >= ON_COURSE)
        return [each for each in on_course if each.is_key_decision]

    @property
    def files(self) -> list[str]:
        """The files of the steps that changed something, in order."""
        changing = (each for each in self.steps if each.changes and not each.was_stopped)
        return list(dict.fromkeys(path for each in changing for path in each.files))


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return the shortest unique prefix of each id."""
    ordered = sorted(set(ids))
    prefixes = {}
    for place, each in enumerate(ordered):
        beside = ordered[max(0, place - 1) : place] + ordered[place + 1 : place + 2]
        least = max((len(commonprefix((each, other))) + 1 for other in beside), default=0)
        prefixes[each] = each[: max(least, _PREFIX)]
    return prefixes


def day_before(at: str) -> str:
    """Return the timestamp one day before another one."""
    moment = datetime.fromisoformat(at) - timedelta(days=1)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def build_status(row: Row, since: str, short: str = "", *, gone: bool = False) -> SessionStatus:
    """Return the status of a session.

    An active one is abandoned if its agent is `gone`, or without events `since` then.
    """
    summary = row["summary"] if isinstance(row["summary"], dict) else {}
    silent = row["status"] == ACTIVE and (gone or row["checked_at"] < since)
    return SessionStatus(
        id=row["id"],
        short=short or row["id"][:_PREFIX],
        goal=_text(row["goal"]),
        status=ABANDONED if silent else _text(row["status"]),
        score=round(row["score"], 1),
        why=tuple(map(_text, summary.get("why", ()))),
        **{name: _redact_value(row[name]) for name in _SESSION.split()},
    )


def build_account(
    head: SessionStatus,
    row: Row,
    charters: Sequence[Row],
    steps: Sequence[Row],
    events: Sequence[Row],
    limits: Sequence[Row] = (),
) -> Account:
    """Return the account of a session from its rows."""
    if not head.ended_at:
        why = tuple(map(_text, summary.find_review_reasons(row, events, steps)))
        head = replace(head, why=why, needs_review=head.needs_review or bool(why))
    recorded = tuple(map(build_step, steps))
    revisions = tuple(
        CharterRevision(row["revision"], row["at"], _text(row["said"]), _text(row["goal"]))
        for row in charters
    )
    strayed = _build_events(recorded, [each.at for each in revisions], events)
    found = _find_limits(row, charters, limits)
    return Account(head, revisions, found, recorded, strayed, _find_plan(row))


def build_step(row: Row) -> RecordedStep:
    """Return a step as it was recorded."""
    return RecordedStep(
        id=row["id"],
        kind=_text(row["action_type"]),
        what=_describe(row),
        files=tuple(map(_text, row["files"])),
        score=row["drift_score"],
        type=row["drift_type"],
        rules=_build_rules(row["rules"]),
        lacks=tuple(map(_text, row.get("lacks") or ())),
        recalled=tuple(map(_build_recalled, row["recalled"])),
        correction=_text(row["correction_given"]),
        **{name: _redact_value(row[name]) for name in _STEP.split()},
    )


def data(value: Any) -> Any:
    """Return a record, or a sequence of records, as JSON values."""
    if isinstance(value, Penalty):
        return value._asdict()
    if is_dataclass(value):
        return {field.name: data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [data(each) for each in value]
    return value


def _build_events(
    steps: Sequence[RecordedStep], spoken: Sequence[str], events: Iterable[Row]
) -> tuple[DriftEpisode, ...]:
    places = {each.id: place for place, each in enumerate(steps)}
    back = _find_recoveries(steps)
    strayed = []
    for row in events:
        place = places.get(row["step"])
        at = None if place is None else steps[place]
        recovery = None if place is None else back[place]
        strayed.append(
            DriftEpisode(
                position=at.position if at else None,
                what=at.what if at else "",
                evidence=_build_rules(row["evidence"]),
                decision=at.decision if at else "none",
                correction=at.correction if at else "",
                recovered=_describe_recovery(row["at"], recovery, spoken),
                **{name: row[name] for name in _EVENT.split()},
            )
        )
    return tuple(strayed)


def _find_recoveries(steps: Sequence[RecordedStep]) -> list[RecordedStep | None]:
    """Return, for each step, the first later one that changes something and is on course."""
    back: list[RecordedStep | None] = []
    following: RecordedStep | None = None
    for each in reversed(steps):
        back.append(following)
        if each.changes and each.is_validated and each.score >= ON_COURSE:
            following = each
    return back[::-1]


def _describe_recovery(at: str, back: RecordedStep | None, spoken: Sequence[str]) -> str:
    """Say how the session recovered: at a later step, or because the user spoke before it."""
    place = bisect_right(spoken, at)
    spoke = spoken[place] if place < len(spoken) else None
    if back is not None and (spoke is None or back.at < spoke):
        return f"at step {back.position}"
    return USER_SPOKE if spoke is not None else ""


def _find_limits(
    row: Row, charters: Sequence[Row], recorded: Sequence[Row]
) -> tuple[LimitInForce, ...]:
    """Return the limits in force; those of a task came with no message."""
    came: dict[tuple[str, str], int] = {}
    for each in charters:
        for one in each["limits"]:
            came.setdefault((one["kind"], one["quote"]), each["revision"])
    details: dict[str, list[Limit]] = {}
    for each in recorded:
        if each["lifted"] is None:
            details.setdefault(each["content"]["quote"], []).append(parse(each["content"]))
    last = charters[-1]["limits"] if charters else []
    held = [(one["kind"], one["quote"]) for one in last if one["quote"] in row["limits"]]
    spoken = {quote for _, quote in held}
    held += [("", quote) for quote in row["limits"] if quote not in spoken]
    found = []
    for kind, quote in held:
        same = details.get(quote, [])
        limit = next((each for each in same if kind in ("", each.kind)), None)
        what = ""
        if limit is not None:
            same.remove(limit)
            what = _describe_what(limit)
        shown = limit.kind if limit is not None else kind
        found.append(LimitInForce(_text(shown), _text(quote), came.get((kind, quote)), _text(what)))
    return tuple(found)


def _describe_what(limit: Limit) -> str:
    kind, subject = limit.meant
    what = ", ".join(subject)
    if kind != limit.kind:
        what = f"{kind.replace('_', ' ')} {what}".strip()
    return f"{what} except {', '.join(limit.exceptions)}" if limit.exceptions else what


def _find_plan(row: Row) -> RecoveryPlan | None:
    """Return the recovery plan of a session that is off its course."""
    try:
        plan = recovery.parse(json.loads(row["engine"])["plan"])
    except (KeyError, TypeError, ValueError):
        return None
    return plan._replace(files=tuple(map(_text, plan.files)))


def _describe(row: Row) -> str:
    """Describe the action in one line: its kind and its object."""
    of = row["command"] or ", ".join(row["files"]) or row.get("tool", "")
    return _text(" ".join(f"{row['action_type']} {of}".split()))


def _build_recalled(found: Row) -> RecalledStep:
    return RecalledStep(found["session"], found["position"], _describe(found), _text(found["why"]))


def _build_rules(rules: Iterable[Sequence[Any]]) -> tuple[Penalty, ...]:
    return tuple(Penalty(_text(rule), _text(evidence), weight) for rule, evidence, weight in rules)


def _redact_value(value: Any) -> Any:
    return _text(value) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    return redact(text)
