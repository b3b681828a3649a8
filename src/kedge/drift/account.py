"""What the record of a session comes to: how it stands, where it strayed, whether it came back.

Rows of the store go in. Texts, but for ids, are redacted once more: others may see what comes out.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta
from functools import lru_cache

from kedge.drift import ending
from kedge.host.record import NamedTuple
from kedge.host.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Row = dict[str, Any]

ACTIVE, ABANDONED = "active", "abandoned"
ON_COURSE = 8  # score
_PREFIX = 8  # characters of an id, at least
_KEPT = "agent task policy course escalation steps needs_review started_at checked_at ended_at"


class Rule(NamedTuple):
    rule: str
    evidence: str
    weight: int


class Standing(NamedTuple):
    """`why` says what makes it need a review; `short` is a prefix that no other session has."""

    id: str
    short: str
    agent: str
    task: str | None
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


class Revision(NamedTuple):
    """What the user said, and the goal as it was from then on."""

    revision: int
    at: str
    said: str
    goal: str


class Constraint(NamedTuple):
    """`quote` has the words that forbid it; `revision` is the message that they came with."""

    kind: str
    quote: str
    revision: int | None


class Recalled(NamedTuple):
    """An earlier step that bears on one, and why."""

    session: str
    position: int
    what: str
    why: str


class Step(NamedTuple):
    """`what` is the action in a line; `lacks` names what was not there to judge it by."""

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
    rules: tuple[Rule, ...]
    lacks: tuple[str, ...]
    recalled: tuple[Recalled, ...]
    decision: str
    correction: str
    is_key_decision: bool
    is_validated: bool
    changes: bool
    ok: bool | None

    @property
    def result(self) -> str:
        """What became of the action, as far as is known."""
        if self.ok is not None:
            return "done" if self.ok else "failed"
        return {"deny": "denied", "ask": "asked about, not done"}.get(self.decision, "not known")


class Event(NamedTuple):
    """One straying. `recovered` says how it came back, and is empty when it did not."""

    position: int | None
    at: str
    what: str
    score: int
    level: str
    before: str
    after: str
    escalation: int
    evidence: tuple[Rule, ...]
    decision: str
    correction: str
    recovered: str


class Account(NamedTuple):
    """All that is known of one session."""

    session: Standing
    revisions: tuple[Revision, ...]
    constraints: tuple[Constraint, ...]
    steps: tuple[Step, ...]
    events: tuple[Event, ...]

    @property
    def decisions(self) -> list[Step]:
        return [each for each in self.steps if each.is_key_decision and each.is_validated]

    @property
    def files(self) -> list[str]:
        """The files of the steps that changed something, in their order."""
        changing = (each for each in self.steps if each.changes and each.result != "denied")
        return list(dict.fromkeys(path for each in changing for path in each.files))


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """For each id its shortest beginning that no other one has."""
    ordered = sorted(set(ids))
    found = {}
    for place, each in enumerate(ordered):
        beside = ordered[max(0, place - 1) : place] + ordered[place + 1 : place + 2]
        least = max((_common(each, other) + 1 for other in beside), default=0)
        found[each] = each[: max(least, _PREFIX)]
    return found


def day_before(at: str) -> str:
    """A stamp of a day before another: a session that is silent since then counts as abandoned."""
    moment = datetime.fromisoformat(at) - timedelta(days=1)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def standing(row: Row, since: str, short: str = "") -> Standing:
    """How a session stands. One that is active but silent `since` then counts as abandoned."""
    summary = row["summary"] if isinstance(row["summary"], dict) else {}
    silent = row["status"] == ACTIVE and row["checked_at"] < since
    return Standing(
        id=row["id"],
        short=short or row["id"][:_PREFIX],
        goal=_text(row["goal"]),
        status=ABANDONED if silent else _text(row["status"]),
        score=round(row["score"], 1),
        why=tuple(map(_text, summary.get("why", ()))),
        **{name: _value(row[name]) for name in _KEPT.split()},
    )


def account(
    head: Standing, row: Row, charters: Sequence[Row], steps: Sequence[Row], events: Sequence[Row]
) -> Account:
    """The whole record of the session that `row` is."""
    if not head.ended_at:
        why = tuple(map(_text, ending.reasons(row, events, steps)))
        head = head._replace(why=why, needs_review=head.needs_review or bool(why))
    told = tuple(map(step, steps))
    said = [Revision(c["revision"], c["at"], _text(c["said"]), _text(c["goal"])) for c in charters]
    strayed = _strayed(told, [each.at for each in said], events)
    return Account(head, tuple(said), _in_force(row, charters), told, strayed)


def step(row: Row) -> Step:
    """One step, as it was kept."""
    return Step(
        position=row["position"],
        id=row["id"],
        at=row["at"],
        tool=_text(row["tool"]),
        kind=_text(row["action_type"]),
        what=_what(row),
        files=tuple(map(_text, row["files"])),
        command=_text(row["command"]),
        reasoning=_text(row["reasoning"]),
        subagent=_text(row["subagent"]),
        score=row["drift_score"],
        level=row["level"],
        type=row["drift_type"],
        rules=_rules(row["rules"]),
        lacks=tuple(map(_text, row.get("lacks") or ())),
        recalled=tuple(map(_recalled, row["recalled"])),
        decision=row["decision"],
        correction=_text(row["correction_given"]),
        is_key_decision=row["is_key_decision"],
        is_validated=row["is_validated"],
        changes=row["changes"],
        ok=row["ok"],
    )


def data(value: Any) -> Any:
    """A record as JSON values."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: data(each) for name, each in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [data(each) for each in value]
    return value


def _strayed(
    steps: Sequence[Step], spoken: Sequence[str], events: Iterable[Row]
) -> tuple[Event, ...]:
    places = {each.id: place for place, each in enumerate(steps)}
    back = _ways_back(steps)
    found = []
    for row in events:
        place = places.get(row["step"])
        at = None if place is None else steps[place]
        found.append(
            Event(
                position=at.position if at else None,
                at=row["at"],
                what=at.what if at else "",
                score=row["score"],
                level=row["level"],
                before=row["before"],
                after=row["after"],
                escalation=row["escalation"],
                evidence=_rules(row["evidence"]),
                decision=at.decision if at else "none",
                correction=at.correction if at else "",
                recovered=_recovered(row["at"], None if place is None else back[place], spoken),
            )
        )
    return tuple(found)


def _ways_back(steps: Sequence[Step]) -> list[Step | None]:
    """For each step the first one after it that changes something and is on course."""
    back: list[Step | None] = []
    following: Step | None = None
    for each in reversed(steps):
        back.append(following)
        if each.changes and each.score >= ON_COURSE:
            following = each
    return back[::-1]


def _recovered(at: str, back: Step | None, spoken: Sequence[str]) -> str:
    """By a step, or by what the user said before it."""
    place = bisect_right(spoken, at)
    spoke = spoken[place] if place < len(spoken) else None
    if back is not None and (spoke is None or back.at < spoke):
        return f"at step {back.position}"
    return "the user spoke" if spoke is not None else ""


def _in_force(row: Row, charters: Sequence[Row]) -> tuple[Constraint, ...]:
    """What the last message left in force; of a task that nobody spoke about, what it forbids."""
    came: dict[tuple[str, str], int] = {}
    for each in charters:
        for one in each["constraints"]:
            came.setdefault((one["kind"], one["quote"]), each["revision"])
    if charters:
        held = [(one["kind"], one["quote"]) for one in charters[-1]["constraints"]]
    else:
        held = [("", quote) for quote in row["constraints"]]
    return tuple(
        Constraint(_text(kind), _text(quote), came.get((kind, quote))) for kind, quote in held
    )


def _what(row: Row) -> str:
    """The action in a line: what kind it is, and of what."""
    of = row["command"] or ", ".join(row["files"]) or row.get("tool", "")
    return _text(" ".join(f"{row['action_type']} {of}".split()))


def _recalled(found: Row) -> Recalled:
    return Recalled(found["session"], found["position"], _what(found), _text(found["why"]))


def _rules(rules: Iterable[Sequence[Any]]) -> tuple[Rule, ...]:
    return tuple(Rule(_text(rule), _text(evidence), weight) for rule, evidence, weight in rules)


def _value(value: Any) -> Any:
    return _text(value) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    return redact(text)


def _common(one: str, other: str) -> int:
    """How many characters two ids begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
