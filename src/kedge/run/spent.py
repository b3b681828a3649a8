"""What a run has used so far, and which of its limits that reaches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kedge.agents.run.events import Used
from kedge.run.wanted import Limits

BUDGET, TIME, ITERATIONS, FAILURES = "budget", "time", "iterations", "failures"


@dataclass(frozen=True, slots=True)
class Spent:
    """`cost` is what agents said; `unpriced` counts calls of agents that do not say."""

    iterations: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    failures: int = 0  # in a row

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def with_use(self, used: Used | None) -> Spent:
        """After an agent's call, or in its midst."""
        if used is None:
            return replace(self, unpriced=self.unpriced + 1)
        return replace(
            self,
            tokens_in=self.tokens_in + used.tokens_in,
            tokens_out=self.tokens_out + used.tokens_out,
            cost=self.cost + (used.cost or 0.0),
            unpriced=self.unpriced + (used.cost is None),
        )


def reached(limits: Limits, spent: Spent) -> tuple[str, str] | None:
    """The limit that is reached, and in words how far."""
    if limits.money is not None and spent.cost >= limits.money:
        return BUDGET, f"{spent.cost:.2f} of {limits.money:.2f} USD are spent"
    if limits.tokens is not None and spent.tokens >= limits.tokens:
        return BUDGET, f"{spent.tokens} of {limits.tokens} tokens are used"
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        return TIME, f"{spent.seconds:.0f} of {limits.seconds:.0f} s are over"
    if limits.iterations is not None and spent.iterations >= limits.iterations:
        return ITERATIONS, f"{spent.iterations} iterations were made"
    if spent.failures >= limits.failures:
        return FAILURES, f"{spent.failures} attempts in a row did not work"
    return None
