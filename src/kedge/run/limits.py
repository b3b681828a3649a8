"""The limits of a run, what the run has used so far, and which limit that reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from kedge.agents.launch.events import Usage
from kedge.host.text import count_noun
from kedge.run.outcomes import StopCode, StopReason


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run ends; None means no limit.

    `attempts` and `rounds` (of reviews) are for each task. `failures` counts attempts in a row
    that did not work, across tasks.
    """

    iterations: int | None = None
    attempts: int = 3
    rounds: int = 3
    failures: int = 5
    money: float | None = None  # dollars
    tokens: int | None = None
    seconds: float | None = None
    idle: float | None = 900.0


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What a run has used. `unpriced` counts the agent calls whose cost is unknown."""

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

    def add(self, used: Usage | None) -> RunUsage:
        """Return the usage with an agent call added; None is a call that did not report any."""
        if used is None:
            return replace(self, unpriced=self.unpriced + 1)
        return replace(
            self,
            tokens_in=self.tokens_in + used.tokens_in,
            tokens_out=self.tokens_out + used.tokens_out,
            cost=self.cost + (used.cost or 0.0),
            unpriced=self.unpriced + (used.cost is None),
        )


def parse_usage(data: Mapping[str, Any]) -> RunUsage:
    """Return the usage that a journal or an event holds; unknown fields are ignored."""
    known = {one.name for one in fields(RunUsage)}
    return RunUsage(**{key: value for key, value in data.items() if key in known})


def _were(number: int, noun: str) -> str:
    return f"{count_noun(number, noun)} {'was' if number == 1 else 'were'}"


def find_reached_limit(limits: Limits, usage: RunUsage) -> StopReason | None:
    """Return the first limit that the usage reaches."""
    if limits.money is not None and usage.cost >= limits.money:
        text = f"{usage.cost:.2f} of {limits.money:.2f} USD are spent"
        return StopReason(StopCode.BUDGET, text)
    if limits.tokens is not None and usage.tokens >= limits.tokens:
        text = f"{usage.tokens} of {limits.tokens} tokens are used"
        return StopReason(StopCode.BUDGET, text)
    if limits.seconds is not None and usage.seconds >= limits.seconds:
        text = f"{usage.seconds:.0f} of {limits.seconds:.0f} s are over"
        return StopReason(StopCode.TIME, text)
    if limits.iterations is not None and usage.iterations >= limits.iterations:
        return StopReason(StopCode.ITERATIONS, f"{_were(usage.iterations, 'iteration')} made")
    if usage.failures >= limits.failures:
        text = f"{count_noun(usage.failures, 'attempt')} in a row did not work"
        return StopReason(StopCode.FAILURES, text)
    return None
