"""The state of a run: interrupts and waiting, with a real journal and the fake agent."""

from __future__ import annotations

from typing import Any

import pytest
from run.harness import HANG, RunHarness

from kedge import config
from kedge.agents.launch import claude
from kedge.host import project as projects
from kedge.model.attempt import Outcome
from kedge.run import loop, turn_guard
from kedge.run.decision import Decision
from kedge.run.journal import Journal
from kedge.run.limits import Limits
from kedge.run.options import RunOptions
from kedge.run.outcomes import StopCode
from kedge.run.run_state import Emit, RunState


def make_state(harness: RunHarness, emit: Emit, **options: Any) -> RunState:
    project = projects.find(harness.root)
    program = harness.agent.program if harness.agent is not None else ()
    journal = Journal.begin(project, RunOptions(program=program, **options))
    state = RunState(project, config.load(project).settings, journal, claude, emit)
    state.baseline = turn_guard.open_baseline(project, journal)
    return state


def test_an_interrupt_while_the_agent_is_being_started_ends_it(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"hang": HANG})

    def interrupt(event: str, _: dict[str, Any]) -> None:
        if event == "iteration":  # the last event before the agent starts
            state.interrupt()

    state = make_state(harness, interrupt, limits=Limits(seconds=60.0))
    end = loop.run(state)
    assert end.stop.code is StopCode.INTERRUPTED
    assert harness.outcomes("t1") == ["interrupted"]
    assert harness.state("t1") == "open"


def test_a_second_interrupt_ends_the_run_at_once(harness: RunHarness) -> None:
    state = make_state(harness, lambda *_: None)
    state.interrupt()
    with pytest.raises(KeyboardInterrupt):
        state.interrupt()


def test_the_first_interrupt_ends_a_check_at_once(harness: RunHarness) -> None:
    state = make_state(harness, lambda *_: None)
    state.is_checking = True
    with pytest.raises(KeyboardInterrupt):
        state.interrupt()
    assert state.find_stop() is not None


@pytest.mark.parametrize(
    ("outcomes", "failures"),
    [
        ([Outcome.NO_CHANGE, Outcome.DRIFTED], 2),
        ([Outcome.NO_CHANGE, Outcome.RATE_LIMIT], 1),
        ([Outcome.NO_CHANGE, Outcome.DONE], 0),
        ([Outcome.DONE, Outcome.TIME_LIMIT], 1),
    ],
)
def test_failures_in_a_row_are_counted_in_the_journal(
    harness: RunHarness, outcomes: list[Outcome], failures: int
) -> None:
    state = make_state(harness, lambda *_: None)
    for outcome in outcomes:
        state.count_failure(Decision(outcome, "why"))
    assert state.usage.failures == failures
    assert state.journal.usage.failures == failures


def test_only_a_rate_limit_is_waited_for(harness: RunHarness) -> None:
    events: list[tuple[str, dict[str, Any]]] = []
    state = make_state(harness, lambda *event: events.append(event), limits=Limits(seconds=0.0))
    state.wait(Decision(Outcome.TIME_LIMIT, "silent"))
    assert events == []
    state.wait(Decision(Outcome.RATE_LIMIT, "busy"))  # the time limit ends the wait at once
    assert events == [("waiting", {"seconds": 60.0, "reason": "busy"})]


@pytest.mark.parametrize(
    ("outcomes", "failed"),
    [
        ([Outcome.SILENT], 0),
        ([Outcome.SILENT, Outcome.SILENT], 1),
        ([Outcome.SILENT, Outcome.SILENT, Outcome.SILENT], 2),
        ([Outcome.SILENT, Outcome.FAILED_CHECKS, Outcome.SILENT], 1),
        ([Outcome.TIME_LIMIT, Outcome.SILENT, Outcome.RATE_LIMIT], 0),
    ],
)
def test_a_silence_counts_from_the_second_in_a_row_on(
    harness: RunHarness, outcomes: list[Outcome], failed: int
) -> None:
    state = make_state(harness, lambda *_: None)
    for outcome in outcomes:
        state.attempts.record("t1", "implementer", Decision(outcome, "why"))
    assert state.attempts.count("t1").failed == failed
