"""Reviews in a run: record what a reviewer answers, and decide whether the work is accepted."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.handoff.foreign_changes import list_foreign
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.snapshot import snapshots
from kedge.host.text import shorten
from kedge.knowledge.reviews import outcome, records
from kedge.knowledge.reviews.answer import parse_answer
from kedge.knowledge.reviews.vocabulary import APPROVED, FAILED
from kedge.model.attempt import Outcome
from kedge.model.task import Task
from kedge.run.decision import Decision
from kedge.run.run_state import RunState

_MOST_FINDINGS = 10  # that go back to the implementer


def summarize(state: RunState, task: Task) -> str:
    """Return the outcome of the reviews so far, for the next reviewer."""
    reviews, _ = records.read_reviews(state.project, task.id)
    return outcome.render_outcome(reviews)


def judge(
    state: RunState, handoff: HandoffOperations, task: Task, role: str, before: str, text: str
) -> Decision:
    """Record the review in `text`, and decide by its verdict. Changes to the tree are undone.

    `before` is the tree that the reviewer was given. An answer without a verdict is an agent
    error, so the reviewer is asked again.
    """
    _undo_changes(state, handoff, task, role, before)
    answer = parse_answer(text)
    if answer.result is None:
        return Decision(Outcome.AGENT_ERROR, f"the {role} gave no verdict: {shorten(text, 200)}")
    review = records.Review(
        subject=task.id,
        reviewer=role,
        result=answer.result,
        tree=handoff.read_tree(),
        findings=answer.findings,
        summary=answer.summary,
    )
    try:
        cap = _find_cap(state, task, role)
        review, warnings = records.record_review(state.project, review, cap=cap)
        for warning in warnings:
            state.warn(warning)
    except KedgeError as error:
        state.warn(f"the review could not be recorded: {error.message}")
    if review.result != FAILED:
        verdict = "approved" if review.result == APPROVED else "approved with notes"
        return Decision(Outcome.DONE, f"{verdict} by the {role}")
    findings = [shorten(_describe(one), 400) for one in review.findings]
    why = "; ".join(findings[:3]) or shorten(review.summary, 300) or "it did not say why"
    detail = "\n".join(f"- {one}" for one in findings[:_MOST_FINDINGS])
    return Decision(Outcome.REJECTED, f"the {role} refused it: {why}", detail=detail)


def _find_cap(state: RunState, task: Task, role: str) -> int:
    """Return the number of the last iteration that this run allows the reviewer."""
    past, _ = records.read_reviews(state.project, task.id)
    mine = [one for one in past if one.reviewer.casefold() == role and one.phase is None]
    numbers = [one.iteration for one in mine if one.at < state.journal.record.started_at]
    last = max((one.iteration for one in mine), default=0)
    return max(max(numbers, default=0) + state.limits.rounds, last + 1)


def _undo_changes(
    state: RunState, handoff: HandoffOperations, task: Task, role: str, before: str
) -> None:
    """Restore the tree that the reviewer was given, and keep what it changed as a ref."""
    if not list_foreign(state.project, before, handoff.read_tree()):
        return
    ref = f"refs/kedge/set-aside/{task.id[:30]}-{role}"
    for one in snapshots.restore(state.project, before, ref).refs:
        state.emit("aside", {"task": task.id, "role": role, "ref": one})


def _describe(finding: records.Finding) -> str:
    where = f" ({finding.location})" if finding.location else ""
    return f"{finding.severity}: {finding.text}{where}"
