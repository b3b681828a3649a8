"""The steps of a handoff as pure functions: each takes a context and returns the next one."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from kedge.errors import HandoffRefused
from kedge.handoff.task_context import (
    STATUSES,
    WORKTREE_MARK,
    BlockingFinding,
    DriftEvent,
    SnapshotRecord,
    TaskContext,
)
from kedge.model.ids import is_id

ROLES = ("implementer", "reviewer", "validator")
_SIMILAR = 0.8  # from 0 to 1: a name that is this close to a role's is a slip
RESERVED = ("base", "start")  # snapshots that belong to no agent


def check_agent_name(name: str) -> str:
    """Return a valid agent name, which becomes part of a ref; HandoffRefused for another one."""
    if not is_id(name) or name in RESERVED or WORKTREE_MARK in name:
        raise HandoffRefused(
            f"{name!r} is not a valid name for an agent",
            hint="use letters, digits, '.', '_' and '-', such as reviewer or validator-unit",
        )
    lead = name.partition("-")[0]
    near = get_close_matches(lead.lower(), ROLES, n=1, cutoff=_SIMILAR)
    if near and find_role(name) not in ROLES:
        raise HandoffRefused(
            f"there is no agent {name!r}", hint=f"did you mean {near[0]}{name[len(lead) :]}?"
        )
    return name


def find_role(name: str) -> str:
    """Return the role that the name begins with: `validator-unit` is a validator."""
    return next((role for role in ROLES if name == role or name.startswith(f"{role}-")), name)


def find_snapshot(
    context: TaskContext, name: str | None = None
) -> tuple[str, SnapshotRecord] | None:
    """Return the snapshot that the working tree should equal: the named agent's, or the last."""
    if name is not None:
        return name, require_snapshot(context, name)
    return context.snapshots[-1] if context.snapshots else None


def require_snapshot(context: TaskContext, name: str) -> SnapshotRecord:
    """Return the named agent's snapshot; HandoffRefused if it has none."""
    snapshot = context.agent(name).snapshot
    if snapshot is None:
        raise HandoffRefused(
            f"{name} has left no snapshot",
            hint=f"kedge context snapshot {context.task_id} --agent {name}",
        )
    return snapshot


def is_resuming(context: TaskContext, name: str, actor: str) -> bool:
    """True if the same actor continues as this agent: its own edits are not drift."""
    agent = context.agent(name)
    return agent.status == "in_progress" and agent.actor == actor and not context.open_drift


def check_begin(context: TaskContext, name: str, actor: str) -> None:
    """Raise HandoffRefused if the agent may not begin now."""
    if context.open_drift:
        raise make_drift_refusal(context)
    mine = context.agent(name)
    if mine.status == "in_progress" and mine.actor not in (None, actor):
        raise HandoffRefused(
            f"{mine.actor} is already at work as {name}",
            hint=f"kedge context update {context.task_id} --agent {name} --status pending",
        )
    rank = _rank(name)
    for other, agent in context.coordination.items():
        if agent.blocking and _rank(other) < rank:
            raise HandoffRefused(
                f"{other} is blocked: {agent.blocking[0].text}",
                hint=f"once resolved: kedge context unblock {context.task_id} --agent {other}",
            )
        if agent.status == "in_progress" and _rank(other) != rank:
            raise HandoffRefused(
                f"{other} is still at work",
                hint=f"kedge context snapshot {context.task_id} --agent {other} ends it",
            )
    left = {find_role(other) for other, _ in context.snapshots}
    if rank and ROLES[0] not in left:
        raise HandoffRefused(
            f"there is no snapshot of {ROLES[0]} to continue from",
            hint=f"kedge context snapshot {context.task_id} --agent {ROLES[0]}",
        )


def find_oddities(context: TaskContext, name: str) -> list[str]:
    """List what is allowed but rarely meant: an unknown role, or one that is skipped."""
    if find_role(name) not in ROLES:
        return [f"{name} is not one of {', '.join(ROLES)}, and comes after all of them"]
    left = {find_role(other) for other, _ in context.snapshots}
    skipped = [role for role in ROLES[: _rank(name)] if role not in left]
    return [f"{role} is skipped: it has no snapshot" for role in skipped]


def _rank(name: str) -> int:
    """Return the position of the name's role in the order; an unknown role comes last."""
    role = find_role(name)
    return ROLES.index(role) if role in ROLES else len(ROLES)


def make_drift_refusal(context: TaskContext) -> HandoffRefused:
    """Return the error for a step that open drift forbids."""
    event = context.open_drift[0]
    return HandoffRefused(
        f"the working tree is not what {event.expected} left: {event.what}",
        hint=f"kedge context resolve {context.task_id} --accept or --revert, with --note",
        data={"drift": list(event.paths), "since": event.expected, "event": event.id},
    )


def begin(
    context: TaskContext, name: str, actor: str, now: str, session: str | None
) -> TaskContext:
    known = context.agent(name)
    return context.with_agent(
        name,
        status="in_progress",
        actor=actor,
        started_at=now,
        completed_at=None,
        session_id=session or known.session_id,
    )


def record_snapshot(
    context: TaskContext, name: str, record: SnapshotRecord, *, done: bool
) -> TaskContext:
    """Record what the agent leaves, and with `done` that it is done unless a finding blocks it."""
    values: dict[str, Any] = {"snapshot": record, "actor": record.actor}
    if done and not context.agent(name).blocking:
        values |= {"status": "done", "completed_at": record.at}
    return context.with_agent(name, **values)


def update(
    context: TaskContext, name: str, now: str, *, status: str | None, qa_log: str | None
) -> TaskContext:
    agent = context.agent(name)
    values: dict[str, Any] = {} if qa_log is None else {"qa_log": qa_log}
    if status is not None:
        if status not in STATUSES:
            raise HandoffRefused(
                f"{status!r} is not a status", hint="use one of " + ", ".join(STATUSES)
            )
        if status == "blocked":
            raise HandoffRefused(
                "a blocked agent needs a finding",
                hint=f"kedge context block {context.task_id} --agent {name} --finding TEXT",
            )
        if status == "done" and agent.snapshot is None:
            raise HandoffRefused(
                f"{name} cannot be done: it has no snapshot",
                hint=f"kedge context snapshot {context.task_id} --agent {name}",
            )
        if status == "done" and agent.blocking:
            raise HandoffRefused(
                f"{name} is blocked: {agent.blocking[0].text}",
                hint=f"once resolved: kedge context unblock {context.task_id} --agent {name}",
            )
        values |= {"status": status, "completed_at": now if status == "done" else None}
    return context.with_agent(name, **values)


def block(context: TaskContext, name: str, text: str, actor: str, now: str) -> TaskContext:
    if not text.strip():
        raise HandoffRefused("the finding is empty", hint="--finding TEXT")
    known = context.agent(name).findings
    finding = BlockingFinding(f"f{len(known) + 1}", text.strip(), now, actor)
    return context.with_agent(name, status="blocked", findings=(*known, finding))


def unblock(context: TaskContext, name: str, which: str | None, now: str) -> TaskContext:
    agent = context.agent(name)
    wanted = [one.id for one in agent.blocking if which in (None, one.id)]
    if not wanted:
        raise HandoffRefused(
            f"{name} has no open finding{f' {which}' if which else ''}",
            hint=f"kedge context show {context.task_id}",
        )
    findings = tuple(
        replace(one, resolved_at=now) if one.id in wanted else one for one in agent.findings
    )
    status = "pending" if agent.started_at is None else "in_progress"
    if agent.snapshot and agent.snapshot.at >= (agent.started_at or ""):
        status = "done"
    if any(one.resolved_at is None for one in findings):
        status = "blocked"
    done = agent.snapshot.at if status == "done" and agent.snapshot else None
    return context.with_agent(name, findings=findings, status=status, completed_at=done)


def open_drift_event(context: TaskContext, event: DriftEvent, name: str | None) -> TaskContext:
    """Add the event, unless the last open one is about the same two trees."""
    last = context.open_drift[-1] if context.open_drift else None
    if last and (last.before, last.after) == (event.before, event.after):
        return context
    context = replace(context, drift=(*context.drift, event))
    if name is None:
        return context
    return context.with_agent(name, drift_budget=context.agent(name).drift_budget + 1)


def close_returned(context: TaskContext, actor: str, now: str) -> TaskContext:
    """Close all open events: the paths are back as they were."""
    return _close_events(context, "returned", "every path is back as it was", actor, now)


def resolve(context: TaskContext, state: str, note: str, actor: str, now: str) -> TaskContext:
    """Close all open events with one note, and reset every agent's drift budget."""
    if not context.open_drift:
        raise HandoffRefused(
            "there is no open drift", hint=f"kedge context verify {context.task_id}"
        )
    if not note.strip():
        raise HandoffRefused("the note is empty", hint='--note "what happened"')
    return _close_events(context, state, note.strip(), actor, now)


def _close_events(context: TaskContext, state: str, note: str, actor: str, now: str) -> TaskContext:
    events = tuple(
        replace(one, state=state, note=note, resolved_at=now, resolved_by=actor)
        if one.state == "open"
        else one
        for one in context.drift
    )
    agents = {name: replace(one, drift_budget=0) for name, one in context.coordination.items()}
    return replace(context, drift=events, coordination=agents)
