"""How sessions under watch look to people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from kedge.cli.plain import clean, table
from kedge.drift import account
from kedge.drift.account import Account, Event, Rule, Step
from kedge.host.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GOAL = 80
_PIPED = 400
_LINE = 160
_LONG = 2_000
_MANY = 30  # of one thing, the latest; --json has all
_WIDTH = 64  # of a line of scores
_BARS = "▁▁▂▃▄▄▅▆▇█"
_DECISIONS = {"ask": "the user was asked", "deny": "the call was denied"}


def listing(rows: Sequence[Mapping[str, Any]]) -> str:
    """Sessions: a table and what was told below it, or in a pipe a line with all of it."""
    if not sys.stdout.isatty():
        return table(
            (),
            [
                (*_cells(row), _told(row["last_correction"]), shortened(row["goal"], _PIPED))
                for row in rows
            ],
        )
    headers = ("session", "agent", "task", "state", "score", "steps", "review", "goal")
    shown = []
    for row in rows:
        name, agent, task, status, course, *figures = _cells(row)
        state = course if status == account.ACTIVE else status
        shown.append((name, agent, task, state, *figures, shortened(row["goal"], _GOAL)))
    told = [
        f"{row['short']} was told: {_told(row['last_correction'])}"
        for row in rows
        if row["last_correction"]
    ]
    return table(headers, shown) + clean("".join(f"{line}\n" for line in told))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["short"],
        row["agent"],
        row["task"] or "",
        row["status"],
        row["course"],
        f"{row['score']:g}",
        str(row["steps"]),
        "review" if row["needs_review"] else "",
    )


def data(found: Account) -> dict[str, Any]:
    """A session as `--json` has it: all but the steps in full."""
    return {
        **account.data(found.session),
        "revisions": account.data(found.revisions),
        "constraints": account.data(found.constraints),
        "scores": [each.score for each in found.steps],
        "events": account.data(found.events),
        "decisions": [
            {"step": each.position, "what": each.what, "reasoning": each.reasoning}
            for each in found.decisions
        ],
        "files": found.files,
    }


def sheet(found: Account) -> str:
    """A session from what was asked to where it stands."""
    head = found.session
    lines = [f"{head.short}  {shortened(head.goal, _LINE) or '(nothing asked yet)'}", ""]
    review = "; ".join(shortened(each, _LINE) for each in head.why) or "yes"
    facts = [
        ("session", head.id),
        ("agent", f"{head.agent}, policy {head.policy}"),
        ("task", head.task or ""),
        ("status", f"{head.status}, last heard from {_when(head.checked_at)}"),
        ("course", f"{head.course}, {head.score:g} of 10 after {_count(found.steps, 'step')}"),
        ("review", review if head.needs_review else ""),
        ("scores", _scores([each.score for each in found.steps])),
    ]
    lines += _facts(facts)
    said = [
        f"- {each.revision}  {_when(each.at)}  {shortened(each.said, _LINE)}"
        for each in found.revisions
    ]
    lines += _part("Asked", said)
    lines += _part("In force", [f"- {_constraint(each)}" for each in found.constraints])
    lines += _part("Strayed", ["\n".join(_event(each)) for each in found.events])
    decided = [f"- step {each.position}: {_decided(each)}" for each in found.decisions]
    lines += _part("Decisions", decided)
    lines += _part("Changed files", [f"- {shortened(path, _LINE)}" for path in found.files])
    return clean("\n".join(lines))


def step_data(found: Account, one: Step) -> dict[str, Any]:
    """A step as `--json` has it, with where it led."""
    event = _of(found, one)
    return {
        "session": found.session.id,
        **account.data(one),
        "result": one.result,
        "event": account.data(event) if event else None,
    }


def step(found: Account, one: Step) -> str:
    """One step: what was done, the verdict and what it rests on, what was told, what came of it."""
    event = _of(found, one)
    lines = [f"{found.session.short}:{one.position}  {shortened(one.what, _LINE)}", ""]
    facts = [
        ("call", f"{one.tool} {one.id}"),
        ("at", _when(one.at)),
        ("by", f"subagent {one.subagent}" if one.subagent else ""),
        ("files", ", ".join(one.files)),
        ("command", one.command),
        ("reasons", one.reasoning),
        ("verdict", f"{one.score} of 10, {event.level if event else one.level}"),
        ("course", _course(event) if event else ""),
        ("policy", _DECISIONS.get(one.decision, "")),
        ("result", one.result),
        ("recovered", (event.recovered or "no") if event else ""),
        ("lacking", ", ".join(one.lacks)),
    ]
    lines += _facts(facts)
    lines += _part("Rules", [f"- {_rule(each)}" for each in one.rules] or ["- nothing against it"])
    recalled = [
        f"- {_place(found, each)}: {shortened(each.what, _LINE)} ({each.why})"
        for each in one.recalled
    ]
    lines += _part("Recalled", recalled)
    if one.correction:
        lines += ["", "Told:", *(f"  {line}" for line in one.correction.splitlines())]
    return clean("\n".join(lines))


def _of(found: Account, one: Step) -> Event | None:
    return next((each for each in found.events if each.position == one.position), None)


def _place(found: Account, one: account.Recalled) -> str:
    own = one.session == found.session.id
    return f"step {one.position}" if own else f"{one.session[:8]}:{one.position}"


def _facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{name + ':':<11}{shortened(value, _LONG)}" for name, value in facts if value]


def _part(title: str, items: Sequence[str]) -> Iterator[str]:
    """A list under its title; of a long one the latest, with how many there are before them."""
    if not items:
        return
    yield from ("", f"{title}:")
    if len(items) > _MANY:
        yield f"- {len(items) - _MANY} before these: --json shows all"
    yield from items[-_MANY:]


def _event(event: Event) -> Iterator[str]:
    place = "" if event.position is None else f"step {event.position}: "
    yield f"- {place}{event.level}, {event.score} of 10: {shortened(event.what, _LINE)}"
    yield from (f"    {_rule(each)}" for each in event.evidence)
    back = f"recovered: {event.recovered}" if event.recovered else "not recovered"
    did = _DECISIONS.get(event.decision)
    yield f"    {'; '.join(filter(None, (_course(event), did, back)))}"
    if event.correction:
        yield f"    told: {_first(event.correction)}"


def _course(event: Event) -> str:
    return event.after if event.before == event.after else f"{event.before} → {event.after}"


def _rule(rule: Rule) -> str:
    return f"{rule.rule} (−{rule.weight}): {shortened(rule.evidence, 2 * _LINE)}"


def _constraint(one: account.Constraint) -> str:
    kind = f"{one.kind.replace('_', ' ')}: " if one.kind else ""
    came = f" (message {one.revision})" if one.revision is not None else ""
    return f"{kind}“{shortened(one.quote, _LINE)}”{came}"


def _decided(one: Step) -> str:
    said = f": {one.reasoning}" if one.reasoning else ""
    return shortened(one.what + said, _LINE)


def _told(correction: Mapping[str, Any] | None) -> str:
    if correction is None:
        return ""
    return f"{correction['level']}, {_when(correction['at'])}: {_first(correction['text'])}"


def _first(text: str) -> str:
    """The first line of a correction, without kedge's name."""
    line = text.strip().split("\n", 1)[0]
    return shortened(line.removeprefix("[kedge] "), _LINE)


def _when(at: str) -> str:
    return f"{at[:10]} {at[11:16]}"


def _count(found: Sequence[object], what: str) -> str:
    return f"1 {what}" if len(found) == 1 else f"{len(found)} {what}s"


def _scores(scores: Sequence[int]) -> str:
    """Each step's score as a bar, the lowest of several where there are many; figures in a pipe."""
    if not sys.stdout.isatty():
        runs = [(score, sum(1 for _ in group)) for score, group in groupby(scores)]
        shown = [f"{score}×{times}" if times > 1 else str(score) for score, times in runs]
        return " ".join(shown if len(shown) <= _WIDTH else ["…", *shown[-_WIDTH:]])
    each = -(-len(scores) // _WIDTH) or 1
    lowest = (min(scores[start : start + each]) for start in range(0, len(scores), each))
    return "".join(_BARS[score - 1] for score in lowest)
