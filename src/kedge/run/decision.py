"""Decide what an agent's call came to, from how it ended and from what kedge found out itself.

DONE means proven: the checks passed on the tree that the agent left, that tree differs from the
one the task started on, and nothing outside the task's scope changed. What the agent says can
stop or escalate the work, never complete it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kedge.agents.launch import claims
from kedge.agents.launch.events import Finished, Reason
from kedge.host.redact import redact
from kedge.host.text import shorten
from kedge.model.attempt import Outcome
from kedge.model.task import BlockType
from kedge.run.outcomes import INTERRUPTED, StopCode

_STOPPED = {
    StopCode.TIME: (Outcome.TIME_LIMIT, "the run's time limit was reached"),
    "idle": (Outcome.SILENT, "the agent was silent for too long and was stopped"),
    StopCode.BUDGET: (Outcome.BUDGET, "the budget is used up"),
    StopCode.INTERRUPTED: (Outcome.INTERRUPTED, INTERRUPTED.text),
    "cancelled": (Outcome.INTERRUPTED, INTERRUPTED.text),
}
_TEMPORARY = (Reason.RATE_LIMITED, Reason.UNAVAILABLE)
_FATAL = (Reason.AUTH, Reason.NOT_STARTED)
_MOST_PATHS = 5


@dataclass(frozen=True, slots=True)
class Proof:
    """What kedge found on the tree that the agent left.

    `before` and `after` are the trees around the attempt, `base` is the tree the task started on.
    `outside` lists changed files out of scope. `failed` pairs each failed check with the end of
    its log. `strayed` says where the change goes against the task, with evidence. `definition` has
    the files that define the checks, with their hashes; `moved` are those that were changed, and
    `planted` those that decide which programs git runs. `hidden` are files without which the checks
    fail, and which no commit will hold.
    """

    before: str
    after: str
    base: str
    files: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    checks: tuple[dict[str, Any], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    strayed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    planted: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    definition: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of an attempt, why, and what the next attempt should know.

    `detail` goes into the next prompt only. `fatal` means that another attempt cannot do better.
    """

    outcome: Outcome
    reason: str
    tried: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    detail: str = ""
    wait_until: float | None = None
    fatal: bool = False
    block: BlockType = BlockType.SPEC_UNCLEAR  # if the task is blocked for it

    @property
    def done(self) -> bool:
        return self.outcome is Outcome.DONE

    def add_denials(self, denied: Sequence[str]) -> Decision:
        """Say which tool calls were refused: the next attempt must not try them again."""
        if self.done or not denied:
            return self
        count = "1 tool call was" if len(denied) == 1 else f"{len(denied)} tool calls were"
        avoid = tuple(f"what was denied: {one}" for one in denied)
        return replace(self, reason=f"{self.reason}; {count} denied", avoid=(*self.avoid, *avoid))

    def add_put_back(self, changed: Iterable[str]) -> Decision:
        """Say what the agent changed and kedge put back: the next attempt must leave it alone."""
        names = ", ".join(changed)
        if not names:
            return self
        avoid = f"changing {names}: it is put back after each attempt"
        return replace(self, reason=f"{self.reason}; put back: {names}", avoid=(*self.avoid, avoid))

    def redact(self) -> Decision:
        """Return the decision without secrets: it is printed, stored and given to agents."""
        return replace(
            self,
            reason=redact(self.reason),
            tried=tuple(map(redact, self.tried)),
            avoid=tuple(map(redact, self.avoid)),
            detail=redact(self.detail),
        )


def decide_without_proof(finished: Finished, stopped: str | None) -> Decision | None:
    """Decide what can be decided without looking at the tree; None if the agent ended normally."""
    if stopped is not None:
        outcome, why = _STOPPED.get(stopped, (Outcome.INTERRUPTED, stopped))
        return Decision(outcome, why)
    if finished.reason in _TEMPORARY:
        why = finished.message or finished.reason.value
        return Decision(Outcome.RATE_LIMIT, why, wait_until=finished.resets_at)
    if not finished.ok:
        why = shorten(finished.message, 300) or finished.reason.value
        fatal = finished.reason in _FATAL
        return Decision(Outcome.AGENT_ERROR, f"{finished.reason}: {why}", fatal=fatal)
    why_stuck = claims.find_stuck_reason(finished.text)
    if why_stuck is not None:
        named = claims.find_stuck_type(finished.text)
        block = BlockType(named) if named in list(BlockType) else BlockType.SPEC_UNCLEAR
        why = shorten(why_stuck, 1000) or "it did not say why"
        return Decision(Outcome.STUCK, why, block=block)
    return None


def decide(finished: Finished, proof: Proof) -> Decision:
    """Decide what an implementer's call came to, after the agent ended normally."""
    claim = "The agent said it was done, but " if claims.has_promise(finished.text) else ""
    tried = (shorten(redact(finished.text), 300),) if finished.text.strip() else ()
    if not proof.files:
        reason = f"{claim}nothing was changed" if claim else "Nothing was changed"
        return Decision(Outcome.NO_CHANGE, reason, tried)
    if proof.outside:
        paths = ", ".join(proof.outside[:_MOST_PATHS])
        more = len(proof.outside) - _MOST_PATHS
        rest = f" and {more} more" if more > 0 else ""
        return Decision(
            Outcome.OUT_OF_SCOPE,
            f"it changed files outside the task's scope: {paths}{rest}",
            tried,
            (f"changing {paths}: take that back",),
        )
    if proof.moved:
        paths = ", ".join(proof.moved[:_MOST_PATHS])
        return Decision(
            Outcome.OUT_OF_SCOPE,
            f"it changed what defines the checks: {paths}",
            tried,
            (f"changing {paths}: take that back; the checks must stay what they were",),
        )
    if proof.planted:
        paths = ", ".join(proof.planted[:_MOST_PATHS])
        return Decision(
            Outcome.OUT_OF_SCOPE,
            f"it changed which programs git runs: {paths}",
            tried,
            (f"changing {paths}: take that back, or ask for it as the scope of a task",),
        )
    if proof.strayed:
        return Decision(
            Outcome.DRIFTED,
            f"it went against the task: {shorten(proof.strayed[0], 300)}",
            tried,
            tuple(shorten(one, 300) for one in proof.strayed[:3]),
        )
    if proof.failed:
        names = ", ".join(f"`{command}`" for command, _ in proof.failed)
        detail = "\n\n".join(f"`{name}` ended with:\n\n{log}" for name, log in proof.failed)
        without = ", ".join(proof.hidden[:_MOST_PATHS])
        why = f" without files that git ignores ({without})" if without else ""
        reason = f"{claim}{names} failed{why}"
        return Decision(Outcome.FAILED_CHECKS, reason, tried, detail=detail)
    if not proof.checks:
        return Decision(Outcome.DONE, "changed in scope; there was no check to run")
    names = ", ".join(f"`{one['command']}`" for one in proof.checks)
    by = ", ".join(f"{path} {digest[:8]}" for path, digest in proof.definition.items())
    defined = f" (defined by {by})" if by else ""
    return Decision(Outcome.DONE, f"{names} green on tree {proof.after[:12]}{defined}")
