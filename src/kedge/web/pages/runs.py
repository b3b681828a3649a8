"""Runs: what each works on, what became of its tasks, and how much of its limits is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kedge.errors import KedgeError
from kedge.run import journal
from kedge.run.limits import parse_usage
from kedge.run.options import parse_options
from kedge.run.outcomes import StopCode

if TYPE_CHECKING:
    from kedge.run.journal import RunRecord
    from kedge.run.limits import Limits, RunUsage
    from kedge.run.options import RunOptions
    from kedge.web.routes import Target
    from kedge.web.source import Source

_MOST = 50
_ENDS = {
    StopCode.NOTHING_READY: "no task was ready",
    StopCode.ONCE: "one task was asked for",
    StopCode.INTERRUPTED: "it was interrupted",
    StopCode.BUDGET: "its money or its tokens were spent",
    StopCode.TIME: "its time was over",
    StopCode.ITERATIONS: "it had made all its calls",
    StopCode.FAILURES: "too many attempts in a row failed",
    StopCode.AGENT_ERROR: "the agent cannot work here",
    StopCode.ERROR: "an error ended it",
}
_CODES = frozenset(code.value for code in StopCode)


@dataclass(frozen=True, slots=True)
class Meter:
    """How much of a limit is used. Without a limit, `share` is None."""

    name: str
    used: str
    limit: str
    share: float | None


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run; `state` is running, ended or killed."""

    record: RunRecord
    options: RunOptions
    usage: RunUsage
    state: str
    meters: tuple[Meter, ...]

    @property
    def why(self) -> str:
        """Why the run has ended."""
        return _ENDS.get(StopCode(self.record.why), "") if self.record.why in _CODES else ""

    @property
    def what(self) -> str:
        """What the run was asked to work on."""
        wanted = self.options
        named = (("task", wanted.task), ("epic", wanted.epic), ("feature", wanted.feature))
        found = [f"{kind} {name}" for kind, name in (*named, ("label", wanted.label)) if name]
        return ", ".join(found) or "all ready tasks"


def load(source: Source, _: Target) -> tuple[str, dict[str, Any]]:
    cards = list_cards(source)
    return "runs.html", {
        "title": "Runs",
        "live": [card for card in cards if card.state == journal.RUNNING],
        "past": [card for card in cards if card.state != journal.RUNNING],
    }


def list_cards(source: Source) -> list[RunCard]:
    """Return the last runs, the latest first."""
    cards = []
    for record in journal.list_runs(source.project)[:_MOST]:
        try:
            cards.append(make_card(record, is_alive=journal.is_running(source.project, record)))
        except KedgeError as error:
            source.warnings.append(f"run {record.id}: {error.message}")
    return cards


def make_card(record: RunRecord, *, is_alive: bool) -> RunCard:
    options, usage = parse_options(record.wanted), parse_usage(record.spent)
    state = record.status if record.status != journal.RUNNING or is_alive else "killed"
    return RunCard(record, options, usage, state, tuple(list_meters(options.limits, usage)))


def list_meters(limits: Limits, usage: RunUsage) -> list[Meter]:
    """Return what a run has used of each of its limits."""
    return [
        _measure("money", usage.cost, limits.money, "${:,.2f}".format),
        _measure("tokens", usage.tokens, limits.tokens, "{:,.0f}".format),
        _measure("time", usage.seconds, limits.seconds, _write_time),
        _measure("calls", usage.iterations, limits.iterations, "{:,.0f}".format),
        _measure("failures in a row", usage.failures, limits.failures, "{:,.0f}".format),
    ]


def _measure(name: str, used: float, limit: float | None, write: Any) -> Meter:
    share = None if not limit else min(1.0, used / limit)
    return Meter(name, write(used), "" if limit is None else write(limit), share)


def _write_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"
