"""Reviews in a run: what a reviewer answers is kept, and decides whether the work is accepted."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.handoff.desk import Desk
from kedge.host.text import shortened
from kedge.knowledge import outcome, review_answer, reviews
from kedge.knowledge.review_words import APPROVED, FAILED
from kedge.model.attempt import Outcome
from kedge.model.task import Task
from kedge.run.decide import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.run.bench import Bench

_TOLD = 10  # findings that go back to the implementer
_ROOM = 1000  # of reviews: the run has a limit of its own


def before(bench: Bench, task: Task) -> str:
    """The outcome of the reviews so far, for the next reviewer."""
    found, _ = reviews.read(bench.project, task.id)
    return outcome.block(found)


def decide(bench: Bench, desk: Desk, task: Task, role: str, text: str) -> Decision:
    """What a review comes to. One without a verdict is none, and is asked for again."""
    answer = review_answer.read(text)
    if answer.result is None:
        return Decision(Outcome.AGENT_ERROR, f"the {role} gave no verdict: {shortened(text, 200)}")
    draft = reviews.Review(
        subject=task.id,
        reviewer=role,
        result=answer.result,
        tree=desk.look(),
        findings=answer.findings,
        summary=answer.summary,
    )
    try:
        made, warnings = reviews.record(bench.project, draft, cap=_ROOM)
    except KedgeError as error:
        bench.tell("warning", {"text": f"the review was not kept: {error.message}"})
        made, warnings = draft, []
    for one in warnings:
        bench.tell("warning", {"text": one})
    if made.result != FAILED:
        said = "approved" if made.result == APPROVED else "approved with notes"
        return Decision(Outcome.DONE, f"{said} by the {role}")
    found = [shortened(_issue(one), 400) for one in made.findings]
    named = "; ".join(found[:3]) or shortened(made.summary, 300) or "it did not say why"
    detail = "\n".join(f"- {one}" for one in found[:_TOLD])
    return Decision(Outcome.REJECTED, f"the {role} refused it: {named}", detail=detail)


def _issue(one: reviews.Finding) -> str:
    where = f" ({one.location})" if one.location else ""
    return f"{one.severity}: {one.text}{where}"
