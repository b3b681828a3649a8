"""What an agent's visit came to: a function of how it ended and of what kedge found for itself.

Done is what kedge has shown: the checks ran green on the tree that the agent left, the tree is
another one than at the start, and nothing was changed that the task leaves out. What the agent
says can only stop or escalate.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.agents.run import marks
from kedge.agents.run.events import Finished, Reason
from kedge.host.redact import redact
from kedge.host.text import shortened
from kedge.model.attempt import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = "interrupted"
_STOPPED = {
    "time": (Outcome.TIME_LIMIT, "the time of the run was over"),
    "idle": (Outcome.TIME_LIMIT, "it was silent for too long, and was ended"),
    "budget": (Outcome.BUDGET, "the budget was used up"),
    INTERRUPTED: (Outcome.INTERRUPTED, "the run was interrupted"),
    "cancelled": (Outcome.INTERRUPTED, "the run was interrupted"),
}
_WAITS = (Reason.RATE_LIMITED, Reason.UNAVAILABLE)
_HOPELESS = (Reason.AUTH, Reason.NOT_STARTED)
_PATHS = 5


@dataclass(frozen=True, slots=True)
class Proof:
    """What kedge found on the tree that the agent left.

    `checks` are those that were run, as they are kept; `failed` has the end of each log that is
    red. `strayed` is what the change does against the task's word, with evidence.
    """

    before: str
    after: str
    base: str
    files: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    checks: tuple[dict[str, Any], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    strayed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """How the visit ended, why, and what the next attempt should know.

    `detail` is for the next prompt alone. `fatal` says that no other attempt could fare better.
    """

    outcome: Outcome
    reason: str
    tried: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    detail: str = ""
    wait_until: float | None = None
    fatal: bool = False

    @property
    def done(self) -> bool:
        return self.outcome is Outcome.DONE


def early(finished: Finished, stopped: str | None) -> Decision | None:
    """What is decided without looking at the tree; None where the agent came to its own end."""
    if stopped is not None:
        outcome, why = _STOPPED.get(stopped, (Outcome.INTERRUPTED, stopped))
        return Decision(outcome, why)
    if finished.reason in _WAITS:
        why = finished.message or finished.reason.value
        return Decision(Outcome.RATE_LIMIT, why, wait_until=finished.resets_at)
    if not finished.ok:
        why = shortened(finished.message, 300) or finished.reason.value
        fatal = finished.reason in _HOPELESS
        return Decision(Outcome.AGENT_ERROR, f"{finished.reason}: {why}", fatal=fatal)
    why_stuck = marks.stuck(finished.text)
    if why_stuck is not None:
        return Decision(Outcome.STUCK, shortened(why_stuck, 1000) or "it did not say why")
    return None


def decide(finished: Finished, proof: Proof) -> Decision:
    """What an implementer's visit came to, when the agent came to its own end."""
    claimed = "It said that all is complete, but " if marks.promise(finished.text) else ""
    said = (shortened(redact(finished.text), 300),) if finished.text.strip() else ()
    if not proof.files:
        return Decision(Outcome.NO_CHANGE, f"{claimed}nothing was changed".capitalize(), said)
    if proof.outside:
        paths = ", ".join(proof.outside[:_PATHS])
        more = len(proof.outside) - _PATHS
        rest = f" and {more} more" if more > 0 else ""
        return Decision(
            Outcome.OUT_OF_SCOPE,
            f"it changed what the task leaves out: {paths}{rest}",
            said,
            (f"changing {paths}: take that back",),
        )
    if proof.strayed:
        return Decision(
            Outcome.DRIFTED,
            f"it went against the task: {shortened(proof.strayed[0], 300)}",
            said,
            tuple(shortened(one, 300) for one in proof.strayed[:3]),
        )
    if proof.failed:
        names = ", ".join(f"`{command}`" for command, _ in proof.failed)
        detail = "\n\n".join(f"`{name}` ended with:\n\n{log}" for name, log in proof.failed)
        return Decision(Outcome.FAILED_CHECKS, f"{claimed}{names} failed", said, detail=detail)
    if not proof.checks:
        return Decision(Outcome.DONE, "changed in scope; there was no check to run")
    names = ", ".join(f"`{one['command']}`" for one in proof.checks)
    return Decision(Outcome.DONE, f"{names} green on tree {proof.after[:12]}")
