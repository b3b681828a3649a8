"""What may follow what, as functions of a context: begin, snapshot, update, block, resolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kedge.errors import HandoffRefused
from kedge.handoff.context import OTHERS, STATUSES, Context, Drift, Finding, Kept
from kedge.model.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROLES = ("implementer", "reviewer", "validator")
RESERVED = ("base", "start")  # snapshots that no agent left


def checked_name(name: str) -> str:
    """An agent's name: it becomes part of a ref."""
    if not is_id(name) or name in RESERVED or OTHERS in name:
        raise HandoffRefused(
            f"{name!r} is no name for an agent",
            hint="letters, digits, '.', '_' and '-'; such as reviewer or validator-unit",
        )
    return name


def role_of(name: str, roles: Sequence[str] = ROLES) -> str:
    """The role that a name begins with: `validator-unit` is a validator."""
    return next((role for role in roles if name == role or name.startswith(f"{role}-")), name)


def expected(context: Context, name: str | None = None) -> tuple[str, Kept] | None:
    """The snapshot that the working tree should be: of the agent that is named, or the last one."""
    if name is not None:
        snapshot = context.agent(name).snapshot
        if snapshot is None:
            raise HandoffRefused(
                f"{name} has left no snapshot",
                hint=f"kedge context snapshot {context.task_id} --agent {name}",
            )
        return name, snapshot
    return context.snapshots[-1] if context.snapshots else None


def goes_on(context: Context, name: str, actor: str) -> bool:
    """Whether the agent has begun already, and so goes on: its own edits are no drift."""
    agent = context.agent(name)
    return agent.status == "in_progress" and agent.actor == actor and not context.open_drift


def check_begin(context: Context, name: str, actor: str = "", roles: Sequence[str] = ROLES) -> None:
    """Refuse to begin while something stands in the way."""
    if context.open_drift:
        raise open_drift(context)
    mine = context.agent(name)
    if mine.status == "in_progress" and mine.actor not in (None, actor):
        raise HandoffRefused(
            f"{name} is at work already, as {mine.actor}",
            hint=f"kedge context update {context.task_id} --agent {name} --status pending",
        )
    rank = _rank(name, roles)
    for other, agent in context.coordination.items():
        if agent.blocking and _rank(other, roles) < rank:
            raise HandoffRefused(
                f"{other} is blocked: {agent.blocking[0].text}",
                hint=f"kedge context unblock {context.task_id} --agent {other}, once resolved",
            )
        if agent.status == "in_progress" and _rank(other, roles) != rank:
            raise HandoffRefused(
                f"{other} is still at work",
                hint=f"kedge context snapshot {context.task_id} --agent {other} ends that",
            )
    left = {role_of(other, roles) for other, _ in context.snapshots}
    if rank and roles[0] not in left:
        raise HandoffRefused(
            f"{roles[0]} has left no snapshot to go on from",
            hint=f"kedge context snapshot {context.task_id} --agent {roles[0]}",
        )


def oddities(context: Context, name: str, roles: Sequence[str] = ROLES) -> list[str]:
    """What is allowed and seldom meant: a role that nobody knows, or one that is passed over."""
    if role_of(name, roles) not in roles:
        return [f"{name} is none of {', '.join(roles)}: it comes after all of them"]
    left = {role_of(other, roles) for other, _ in context.snapshots}
    passed = [role for role in roles[: _rank(name, roles)] if role not in left]
    return [f"{role} has left no snapshot, and is passed over" for role in passed]


def _rank(name: str, roles: Sequence[str]) -> int:
    """How late in the order a name's role comes; one that is not in it comes last."""
    role = role_of(name, roles)
    return roles.index(role) if role in roles else len(roles)


def open_drift(context: Context) -> HandoffRefused:
    event = context.open_drift[0]
    return HandoffRefused(
        f"the working tree is not what {event.expected} left: {event.what}",
        hint=f"kedge context resolve {context.task_id} --accept or --revert, with --note",
        data={"drift": list(event.paths), "since": event.expected, "event": event.id},
    )


def begun(context: Context, name: str, actor: str, now: str, session: str | None) -> Context:
    known = context.agent(name)
    return context.having(
        name,
        status="in_progress",
        actor=actor,
        started_at=now,
        completed_at=None,
        session_id=session or known.session_id,
    )


def snapped(context: Context, name: str, kept: Kept, *, done: bool) -> Context:
    """The agent has left this. What it records is never compared with what was before."""
    values: dict[str, Any] = {"snapshot": kept, "actor": kept.actor}
    if done and not context.agent(name).blocking:
        values |= {"status": "done", "completed_at": kept.at}
    return context.having(name, **values)


def updated(
    context: Context, name: str, now: str, *, status: str | None, qa_log: str | None
) -> Context:
    agent = context.agent(name)
    values: dict[str, Any] = {} if qa_log is None else {"qa_log": qa_log}
    if status is not None:
        if status not in STATUSES:
            raise HandoffRefused(f"{status!r} is no status", hint="one of " + ", ".join(STATUSES))
        if status == "blocked":
            raise HandoffRefused(
                "a block needs a finding",
                hint=f"kedge context block {context.task_id} --agent {name} --finding TEXT",
            )
        if status == "done" and agent.snapshot is None:
            raise HandoffRefused(
                f"{name} cannot be done without a snapshot",
                hint=f"kedge context snapshot {context.task_id} --agent {name}",
            )
        if status == "done" and agent.blocking:
            raise HandoffRefused(
                f"{name} is blocked: {agent.blocking[0].text}",
                hint=f"kedge context unblock {context.task_id} --agent {name}, once resolved",
            )
        values |= {"status": status, "completed_at": now if status == "done" else None}
    return context.having(name, **values)


def blocked(context: Context, name: str, text: str, actor: str, now: str) -> Context:
    if not text.strip():
        raise HandoffRefused("a finding needs words", hint="--finding TEXT")
    found = context.agent(name).findings
    finding = Finding(f"f{len(found) + 1}", text.strip(), now, actor)
    return context.having(name, status="blocked", findings=(*found, finding))


def unblocked(context: Context, name: str, which: str | None, now: str) -> Context:
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
    return context.having(name, findings=findings, status=status, completed_at=done)


def drifted(context: Context, event: Drift, name: str | None) -> Context:
    """One event for one state of the tree: looking twice does not make two of it."""
    last = context.open_drift[-1] if context.open_drift else None
    if last and (last.before, last.after) == (event.before, event.after):
        return context
    context = replace(context, drift=(*context.drift, event))
    if name is None:
        return context
    return context.having(name, drift_budget=context.agent(name).drift_budget + 1)


def resolved(context: Context, state: str, note: str, actor: str, now: str) -> Context:
    """All open events are answered by one note, and nobody is held up by them any longer."""
    if not context.open_drift:
        raise HandoffRefused(
            "there is no open drift", hint=f"kedge context verify {context.task_id}"
        )
    if not note.strip():
        raise HandoffRefused("a resolution needs a note", hint='--note "what happened"')
    events = tuple(
        replace(one, state=state, note=note.strip(), resolved_at=now, resolved_by=actor)
        if one.state == "open"
        else one
        for one in context.drift
    )
    agents = {name: replace(one, drift_budget=0) for name, one in context.coordination.items()}
    return replace(context, drift=events, coordination=agents)
