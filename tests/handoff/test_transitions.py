"""The steps of a handoff: which may follow which, and what each leaves in the context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kedge.errors import HandoffRefused
from kedge.handoff import transitions
from kedge.handoff.task_context import (
    WORKTREE_MARK,
    AgentRecord,
    BlockingFinding,
    DriftEvent,
    SnapshotRecord,
    TaskContext,
)

OPEN = BlockingFinding("f1", "the tests fail", "t1", "ann")
EVENT = DriftEvent(
    "d-1", "t3", "ann", "implementer", "tree-1", "tree-2", "changed", ({"path": "a"},)
)


def snapshot(at: str = "t2", tree: str = "tree-1") -> SnapshotRecord:
    return SnapshotRecord(tree, "commit", "refs/kedge/t1/x", at, "ann")


def context(*events: DriftEvent, **agents: AgentRecord) -> TaskContext:
    named = {name.replace("_", "-"): agent for name, agent in agents.items()}
    return TaskContext("t1", "t0", "ann", {}, {}, coordination=named, drift=events)


def refusal(call: Any, *args: Any, **more: Any) -> str:
    with pytest.raises(HandoffRefused) as caught:
        call(*args, **more)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("name", ["implementer", "validator-unit", "a", "a.b_c-1"])
def test_an_id_names_an_agent(name: str) -> None:
    assert transitions.check_agent_name(name) == name


@pytest.mark.parametrize("name", ["", "a/b", "-a", "base", "start", f"a{WORKTREE_MARK}b", "a b"])
def test_other_names_are_refused(name: str) -> None:
    assert "is not a valid name" in refusal(transitions.check_agent_name, name)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("validator", "validator"),
        ("validator-unit", "validator"),
        ("reviewer-2", "reviewer"),
        ("validators", "validators"),
        ("unit-validator", "unit-validator"),
    ],
)
def test_a_role_is_a_name_or_its_beginning_up_to_a_dash(name: str, role: str) -> None:
    assert transitions.find_role(name) == role


def test_the_snapshot_to_verify_is_the_named_one_or_the_latest() -> None:
    both = context(
        reviewer=AgentRecord(snapshot=snapshot("t5", "tree-5")),
        implementer=AgentRecord(snapshot=snapshot("t4", "tree-4")),
        validator=AgentRecord(),
    )
    assert transitions.find_snapshot(both) == ("reviewer", snapshot("t5", "tree-5"))
    assert transitions.find_snapshot(both, "implementer") == (
        "implementer",
        snapshot("t4", "tree-4"),
    )
    assert "validator has left no snapshot" in refusal(transitions.find_snapshot, both, "validator")
    assert transitions.find_snapshot(context()) is None


def test_only_the_same_actor_at_work_without_drift_resumes() -> None:
    at_work = AgentRecord(status="in_progress", actor="ann")
    assert transitions.is_resuming(context(reviewer=at_work), "reviewer", "ann")
    assert not transitions.is_resuming(context(reviewer=at_work), "reviewer", "bob")
    assert not transitions.is_resuming(context(reviewer=at_work), "validator", "ann")
    assert not transitions.is_resuming(context(EVENT, reviewer=at_work), "reviewer", "ann")
    done = replace(at_work, status="done")
    assert not transitions.is_resuming(context(reviewer=done), "reviewer", "ann")


DONE = AgentRecord(status="done", snapshot=snapshot())
AT_WORK = AgentRecord(status="in_progress", actor="bob")


@pytest.mark.parametrize(
    ("before", "name"),
    [
        (context(), "implementer"),
        (context(implementer=DONE), "reviewer"),
        (context(implementer_ui=DONE), "reviewer"),
        (context(implementer=DONE), "validator"),
        (context(implementer=DONE), "auditor"),
        # Agents of the same role work side by side.
        (context(implementer=DONE, validator_unit=AT_WORK), "validator-e2e"),
        (context(implementer=DONE, auditor=AT_WORK), "other"),
        # A blocked agent stops only later roles.
        (context(implementer=DONE, reviewer=AgentRecord(findings=(OPEN,))), "reviewer"),
        (context(implementer=DONE, reviewer=AgentRecord(findings=(OPEN,))), "implementer"),
        (
            context(
                implementer=DONE, reviewer=AgentRecord(findings=(replace(OPEN, resolved_at="t2"),))
            ),
            "validator",
        ),
        # The same actor begins again, and so does anyone after an agent without an actor.
        (context(implementer=replace(AT_WORK, actor="ann")), "implementer"),
        (context(implementer=replace(AT_WORK, actor=None)), "implementer"),
        (context(replace(EVENT, state="accepted"), implementer=DONE), "reviewer"),
    ],
)
def test_an_agent_may_begin(before: TaskContext, name: str) -> None:
    transitions.check_begin(before, name, "ann")


@pytest.mark.parametrize(
    ("before", "name", "says"),
    [
        (context(EVENT, implementer=DONE), "reviewer", "not what implementer left: changed"),
        (context(implementer=AT_WORK), "implementer", "bob is already at work as implementer"),
        (context(implementer=AT_WORK), "reviewer", "implementer is still at work"),
        (context(implementer=DONE, reviewer=AT_WORK), "implementer", "reviewer is still at work"),
        (context(), "reviewer", "no snapshot of implementer to continue from"),
        (context(), "auditor", "no snapshot of implementer to continue from"),
        (context(reviewer=DONE), "validator", "no snapshot of implementer to continue from"),
        (
            context(implementer=DONE, reviewer=AgentRecord(findings=(OPEN,))),
            "validator",
            "reviewer is blocked: the tests fail",
        ),
        (
            context(implementer=DONE, validator=AgentRecord(findings=(OPEN,))),
            "auditor",
            "validator is blocked: the tests fail",
        ),
    ],
)
def test_an_agent_may_not_begin(before: TaskContext, name: str, says: str) -> None:
    assert says in refusal(transitions.check_begin, before, name, "ann")


def test_a_refusal_for_drift_names_the_first_open_event() -> None:
    closed = replace(EVENT, id="d-0", state="reverted")
    second = replace(EVENT, id="d-2", expected="reviewer")
    with pytest.raises(HandoffRefused) as caught:
        transitions.check_begin(context(closed, EVENT, second), "implementer", "ann")
    assert caught.value.data == {"drift": [{"path": "a"}], "since": "implementer", "event": "d-1"}


def test_a_skipped_or_unknown_role_is_odd() -> None:
    assert transitions.find_oddities(context(implementer=DONE), "reviewer") == []
    assert transitions.find_oddities(context(implementer=DONE), "validator-unit") == [
        "reviewer is skipped: it has no snapshot"
    ]
    assert transitions.find_oddities(context(implementer=DONE, reviewer=DONE), "validator") == []
    assert (
        "auditor is not one of implementer, reviewer, validator"
        in (transitions.find_oddities(context(), "auditor")[0])
    )


def test_begin_clears_the_end_and_keeps_a_known_session() -> None:
    before = context(reviewer=replace(DONE, completed_at="t2", session_id="s1"))
    agent = transitions.begin(before, "reviewer", "bob", "t3", None).agent("reviewer")
    assert (agent.status, agent.actor, agent.started_at) == ("in_progress", "bob", "t3")
    assert (agent.completed_at, agent.session_id, agent.snapshot) == (None, "s1", snapshot())
    assert transitions.begin(before, "reviewer", "bob", "t3", "s2").agent(
        "reviewer"
    ).session_id == ("s2")


def test_a_snapshot_ends_the_work_only_if_asked_and_not_blocked() -> None:
    record = replace(snapshot("t9"), actor="bob")
    before = context(reviewer=AT_WORK)
    done = transitions.record_snapshot(before, "reviewer", record, done=True).agent("reviewer")
    assert (done.status, done.completed_at, done.snapshot, done.actor) == (
        *("done", "t9", record, "bob"),
    )
    open_ = transitions.record_snapshot(before, "reviewer", record, done=False).agent("reviewer")
    assert (open_.status, open_.completed_at, open_.snapshot) == ("in_progress", None, record)
    blocked = context(reviewer=AgentRecord(status="blocked", findings=(OPEN,)))
    held = transitions.record_snapshot(blocked, "reviewer", record, done=True).agent("reviewer")
    assert (held.status, held.completed_at, held.snapshot) == ("blocked", None, record)


def test_update_sets_the_status_and_the_log() -> None:
    before = context(reviewer=replace(DONE, status="in_progress", qa_log="old"))
    done = transitions.update(before, "reviewer", "t9", status="done", qa_log=None)
    assert (done.agent("reviewer").status, done.agent("reviewer").completed_at) == ("done", "t9")
    assert done.agent("reviewer").qa_log == "old"
    again = transitions.update(done, "reviewer", "t10", status="pending", qa_log="new")
    assert (again.agent("reviewer").status, again.agent("reviewer").completed_at) == (
        *("pending", None),
    )
    assert again.agent("reviewer").qa_log == "new"
    log = transitions.update(done, "reviewer", "t11", status=None, qa_log="only")
    assert (log.agent("reviewer").status, log.agent("reviewer").completed_at) == ("done", "t9")


@pytest.mark.parametrize(
    ("agent", "status", "says"),
    [
        (DONE, "odd", "'odd' is not a status"),
        (DONE, "blocked", "needs a finding"),
        (AgentRecord(), "done", "has no snapshot"),
        (replace(DONE, findings=(OPEN,)), "done", "reviewer is blocked: the tests fail"),
    ],
)
def test_an_update_that_is_refused(agent: AgentRecord, status: str, says: str) -> None:
    before = context(reviewer=agent)
    message = refusal(transitions.update, before, "reviewer", "t9", status=status, qa_log=None)
    assert says in message


def test_findings_are_numbered_and_block_until_all_are_resolved() -> None:
    blocked = transitions.block(context(), "reviewer", " one ", "ann", "t1")
    blocked = transitions.block(blocked, "reviewer", "two", "bob", "t2")
    assert blocked.agent("reviewer").status == "blocked"
    assert blocked.agent("reviewer").findings == (
        BlockingFinding("f1", "one", "t1", "ann"),
        BlockingFinding("f2", "two", "t2", "bob"),
    )
    half = transitions.unblock(blocked, "reviewer", "f2", "t3")
    assert half.agent("reviewer").status == "blocked"
    assert [one.resolved_at for one in half.agent("reviewer").findings] == [None, "t3"]
    assert "no open finding f2" in refusal(transitions.unblock, half, "reviewer", "f2", "t4")
    free = transitions.unblock(half, "reviewer", None, "t4")
    assert [one.resolved_at for one in free.agent("reviewer").findings] == ["t4", "t3"]
    assert "no open finding" in refusal(transitions.unblock, free, "reviewer", None, "t5")
    assert "empty" in refusal(transitions.block, context(), "reviewer", "  ", "ann", "t1")


@pytest.mark.parametrize(
    ("started", "left", "status", "completed"),
    [
        (None, None, "pending", None),
        ("t2", None, "in_progress", None),
        ("t2", "t1", "in_progress", None),  # a snapshot of an earlier turn
        ("t2", "t2", "done", "t2"),
        ("t2", "t3", "done", "t3"),
        (None, "t1", "done", "t1"),
    ],
)
def test_an_unblocked_agent_is_where_it_was(
    started: str | None, left: str | None, status: str, completed: str | None
) -> None:
    agent = AgentRecord(
        status="blocked",
        started_at=started,
        findings=(OPEN,),
        snapshot=snapshot(left) if left else None,
    )
    free = transitions.unblock(context(reviewer=agent), "reviewer", None, "t9").agent("reviewer")
    assert (free.status, free.completed_at) == (status, completed)


def test_one_state_of_the_tree_is_one_event() -> None:
    once = transitions.open_drift_event(context(reviewer=AgentRecord()), EVENT, "reviewer")
    assert once.drift == (EVENT,)
    assert once.agent("reviewer").drift_budget == 1
    same = replace(EVENT, id="d-2")
    assert transitions.open_drift_event(once, same, "reviewer") == once
    other = replace(EVENT, id="d-3", after="tree-3")
    twice = transitions.open_drift_event(once, other, "reviewer")
    assert twice.drift == (EVENT, other)
    assert twice.agent("reviewer").drift_budget == 2
    unnamed = transitions.open_drift_event(once, other, None)
    assert unnamed.drift == (EVENT, other)
    assert unnamed.agent("reviewer").drift_budget == 1
    # The tree of a closed event can drift again.
    closed = context(replace(EVENT, state="accepted"))
    assert transitions.open_drift_event(closed, same, None).drift == (closed.drift[0], same)


def test_one_note_resolves_all_open_events() -> None:
    old = replace(EVENT, id="d-0", state="reverted", note="before")
    agents = {"reviewer": replace(AT_WORK, drift_budget=2)}
    before = context(old, EVENT, replace(EVENT, id="d-2"), **agents)
    after = transitions.resolve(before, "accepted", " a merge ", "bob", "t9")
    assert after.drift[0] == old
    assert {one.state for one in after.drift[1:]} == {"accepted"}
    assert {(one.note, one.resolved_at, one.resolved_by) for one in after.drift[1:]} == {
        ("a merge", "t9", "bob")
    }
    assert after.agent("reviewer") == replace(AT_WORK, drift_budget=0)
    assert "no open drift" in refusal(transitions.resolve, after, "accepted", "x", "bob", "t9")
    assert "empty" in refusal(transitions.resolve, before, "accepted", " ", "bob", "t9")
