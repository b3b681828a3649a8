"""Output of `kedge drift status` and `explain`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kedge.cli.plain import clean, table
from kedge.drift.report import account
from kedge.drift.report.account import Account, DriftEpisode, RecordedStep
from kedge.drift.scoring import Penalty
from kedge.host.text import count_noun, shorten
from kedge.tasks.binding import describe_binding

_GOAL = 80
_PIPED = 400
_LINE = 160
_LONG = 2_000
_WAYS = 5  # files of a recovery plan
_MAX_ITEMS = 30  # of one section, the latest; --json shows all
_WIDTH = 64  # of a line of scores
_BARS = "▁▁▂▃▄▄▅▆▇█"
_DECISIONS = {
    "ask": "the user was asked",
    "allowed": "the user was asked and allowed it",
    "deny": "the call was denied",
    "released": "the verdict came too late to stop the call",
}


def list_sessions(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table with corrections below it, or in a pipe one line for each session."""
    if not sys.stdout.isatty():
        return table(
            (),
            [
                (
                    *_cells(row),
                    _describe_correction(row["last_correction"]),
                    shorten(row["goal"], _PIPED),
                )
                for row in rows
            ],
        )
    headers = ("session", "agent", "task", "state", "score", "steps", "review", "goal")
    shown = []
    for row in rows:
        name, agent, _, status, course, *figures = _cells(row)
        task = row["task"] or ""
        state = course if status == account.ACTIVE else status
        shown.append((name, agent, task, state, *figures, shorten(row["goal"], _GOAL)))
    lines = []
    for row in rows:
        binding = describe_binding(row["task"], row["bound"])
        if binding:
            lines.append(f"{row['short']} is {binding}")
        if row["last_correction"]:
            told = _describe_correction(row["last_correction"])
            lines.append(f"{row['short']} was told: {told}")
    return table(headers, shown) + clean("".join(f"{line}\n" for line in lines))


def describe_verdict(step: RecordedStep | None) -> str:
    """Describe a step's verdict in one line; "" without a step."""
    if step is None:
        return ""
    reason = f": {step.rules[0].rule}, {step.rules[0].evidence}" if step.rules else ""
    level = "" if step.level == "none" else f" {step.level}"
    return shorten(f"{step.what}, {step.score}/10{level}{reason}", _LINE)


def follow_line(at: str, row: Mapping[str, Any]) -> str:
    """Return what changed in a session as one line for a pipe."""
    cells = (at[11:19], *_cells(row), row["last_verdict"], shorten(row["goal"], _PIPED))
    return table((), [cells])


def follow_screen(at: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the sessions with their last verdicts as they stand on a terminal."""
    lines = [f"{row['short']} last: {row['last_verdict']}" for row in rows if row["last_verdict"]]
    below = [*lines, "", f"{at[11:19]} UTC, Ctrl-C ends"]
    return list_sessions(rows) + clean("".join(f"{line}\n" for line in below))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["short"],
        row["agent"],
        describe_binding(row["task"], row["bound"]) or row["task"] or "",
        row["status"],
        row["course"],
        f"{row['score']:g}",
        str(row["steps"]),
        "review" if row["needs_review"] else "",
    )


def session_data(record: Account) -> dict[str, Any]:
    """Return a session for `--json`: everything except the full steps."""
    return {
        **account.data(record.session),
        "revisions": account.data(record.revisions),
        "limits": account.data(record.limits),
        "scores": [each.score for each in record.steps],
        "events": account.data(record.events),
        "recovery_plan": record.plan.data() if record.plan is not None else None,
        "drift_log": [each.position for each in record.steps if not each.is_validated],
        "decisions": [
            {"step": each.position, "what": each.what, "reasoning": each.reasoning}
            for each in record.decisions
        ],
        "files": record.files,
    }


def describe_session(record: Account) -> str:
    """Describe a session, from what was asked to its current state."""
    head = record.session
    lines = [f"{head.short}  {shorten(head.goal, _LINE) or '(nothing asked yet)'}", ""]
    steps = count_noun(len(record.steps), "step")
    review = "; ".join(shorten(each, _LINE) for each in head.why) or "yes"
    facts = [
        ("session", head.id),
        ("agent", f"{head.agent}, policy {head.policy}"),
        ("task", describe_binding(head.task, head.bound) or head.task or ""),
        ("status", f"{head.status}, last heard from {_when(head.checked_at)}"),
        ("course", f"{head.course}, {head.score:g} of 10 after {steps}{_describe_return(record)}"),
        ("way back", _describe_way_back(record)),
        ("review", review if head.needs_review else ""),
        ("scores", _scores([each.score for each in record.steps])),
    ]
    lines += _facts(facts)
    messages = [
        f"- {each.revision}  {_when(each.at)}  {shorten(each.said, _LINE)}"
        for each in record.revisions
    ]
    lines += _section("Asked", messages)
    lines += _section("In force", [f"- {_describe_limit(each)}" for each in record.limits])
    lines += _section("Strayed", ["\n".join(_describe_event(each)) for each in record.events])
    decisions = [f"- step {each.position}: {_describe_decision(each)}" for each in record.decisions]
    aside = [each for each in record.steps if not each.is_validated]
    positions = ", ".join(str(each.position) for each in aside[-_MAX_ITEMS:])
    noun = "step" if len(aside) == 1 else "steps"
    lines += _section("In the drift log only", [f"- {noun} {positions}"] if aside else [])
    lines += _section("Decisions", decisions)
    lines += _section("Changed files", [f"- {shorten(path, _LINE)}" for path in record.files])
    return clean("\n".join(lines))


def step_data(record: Account, one: RecordedStep) -> dict[str, Any]:
    """Return a step for `--json`, with the drift event it caused."""
    event = _find_event(record, one)
    return {
        "session": record.session.id,
        **account.data(one),
        "result": one.result,
        "event": account.data(event) if event else None,
    }


def describe_step(record: Account, one: RecordedStep) -> str:
    """Describe a step: the action, the verdict with its evidence, the correction, the outcome."""
    event = _find_event(record, one)
    lines = [f"{record.session.short}:{one.position}  {shorten(one.what, _LINE)}", ""]
    facts = [
        ("call", f"{one.tool} {one.id}"),
        ("at", _when(one.at)),
        ("by", f"subagent {one.subagent}" if one.subagent else ""),
        ("files", ", ".join(one.files)),
        ("command", one.command),
        ("reasons", one.reasoning),
        ("verdict", f"{one.score} of 10, {event.level if event else one.level}"),
        ("course", _describe_course(event) if event else ""),
        ("policy", _DECISIONS.get(one.decision, "")),
        ("result", one.result),
        ("recovered", (event.recovered or "no") if event else ""),
        ("history", "" if one.is_validated else "left out: only the drift log has this step"),
        ("lacking", ", ".join(one.lacks)),
    ]
    lines += _facts(facts)
    lines += _section(
        "Rules", [f"- {_describe_rule(each)}" for each in one.rules] or ["- nothing against it"]
    )
    recalled = [
        f"- {_place(record, each)}: {shorten(each.what, _LINE)} ({each.why})"
        for each in one.recalled
    ]
    lines += _section("Recalled", recalled)
    if one.correction:
        lines += ["", "Told:", *(f"  {line}" for line in one.correction.splitlines())]
    return clean("\n".join(lines))


def _find_event(record: Account, one: RecordedStep) -> DriftEpisode | None:
    return next((each for each in record.events if each.position == one.position), None)


def _place(record: Account, one: account.RecalledStep) -> str:
    own = one.session == record.session.id
    return f"step {one.position}" if own else f"{one.session[:8]}:{one.position}"


def _facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{name + ':':<11}{shorten(value, _LONG)}" for name, value in facts if value]


def _section(title: str, items: Sequence[str]) -> Iterator[str]:
    """Yield a title and its items; of a long list only the latest, with a count of the others."""
    if not items:
        return
    yield from ("", f"{title}:")
    if len(items) > _MAX_ITEMS:
        yield f"- {len(items) - _MAX_ITEMS} before these: --json shows all"
    yield from items[-_MAX_ITEMS:]


def _describe_event(event: DriftEpisode) -> Iterator[str]:
    place = "" if event.position is None else f"step {event.position}: "
    yield f"- {place}{event.level}, {event.score} of 10: {shorten(event.what, _LINE)}"
    yield from (f"    {_describe_rule(each)}" for each in event.evidence)
    back = f"recovered: {event.recovered}" if event.recovered else "not recovered"
    did = _DECISIONS.get(event.decision)
    yield f"    {'; '.join(filter(None, (_describe_course(event), did, back)))}"
    if event.correction:
        yield f"    told: {_first_line(event.correction)}"


def _describe_course(event: DriftEpisode) -> str:
    return event.after if event.before == event.after else f"{event.before} → {event.after}"


def _describe_return(record: Account) -> str:
    """Say whether the session came back after it last strayed."""
    last = record.events[-1] if record.events else None
    if last is None or last.decision == "deny" or last.recovered == account.USER_SPOKE:
        return ""
    return f"; back on course {last.recovered}" if last.recovered else "; not back on course yet"


def _describe_way_back(record: Account) -> str:
    plan = record.plan
    if plan is None:
        return ""
    files = f" or a change in {', '.join(plan.files[:_WAYS])}" if plan.files else ""
    return f"`{plan.commands[0]}`{files}"


def _describe_rule(rule: Penalty) -> str:
    return f"{rule.rule} (−{rule.weight}): {shorten(rule.evidence, 2 * _LINE)}"


def _describe_limit(one: account.LimitInForce) -> str:
    kind = " ".join([*one.kind.split("_"), *one.what.split()])
    kind = f"{kind}: " if kind else ""
    came = f" (message {one.revision})" if one.revision is not None else ""
    return f"{kind}“{shorten(one.quote, _LINE)}”{came}"


def _describe_decision(one: RecordedStep) -> str:
    reasoning = f": {one.reasoning}" if one.reasoning else ""
    return shorten(one.what + reasoning, _LINE)


def _describe_correction(correction: Mapping[str, Any] | None) -> str:
    if correction is None:
        return ""
    told = f"{correction['level']}, {_when(correction['at'])}: {_first_line(correction['text'])}"
    back = correction["recovered"]
    return told if back in ("", account.USER_SPOKE) else f"{told} Back on course {back}."


def _first_line(text: str) -> str:
    """Return the first line of a correction, without kedge's name."""
    line = text.strip().split("\n", 1)[0]
    return shorten(line.removeprefix("[kedge] "), _LINE)


def _when(at: str) -> str:
    return f"{at[:10]} {at[11:16]}"


def _scores(scores: Sequence[int]) -> str:
    """Each step's score as a bar, the lowest of several where there are many; figures in a pipe."""
    if not sys.stdout.isatty():
        runs = [(score, sum(1 for _ in group)) for score, group in groupby(scores)]
        shown = [f"{score}×{times}" if times > 1 else str(score) for score, times in runs]
        return " ".join(shown if len(shown) <= _WIDTH else ["…", *shown[-_WIDTH:]])
    each = -(-len(scores) // _WIDTH) or 1
    lowest = (min(scores[start : start + each]) for start in range(0, len(scores), each))
    return "".join(_BARS[score - 1] for score in lowest)
