"""Limits, usage and options of a run, as values."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from kedge.agents.launch.events import Usage
from kedge.errors import InvalidValue, UsageError
from kedge.run.limits import Limits, RunUsage, find_reached_limit, parse_usage
from kedge.run.options import RunOptions, parse_duration, parse_options, parse_roles

NONE = Limits(failures=99)


@pytest.mark.parametrize(
    ("limits", "below", "reached", "code", "says"),
    [
        (Limits(money=1.5), {"cost": 1.499}, {"cost": 1.5}, "budget", "1.50 of 1.50 USD"),
        (
            Limits(tokens=100),
            {"tokens_in": 60, "tokens_out": 39},
            {"tokens_in": 60, "tokens_out": 40},
            "budget",
            "100 of 100 tokens",
        ),
        (Limits(seconds=9.0), {"seconds": 8.9}, {"seconds": 9.0}, "time", "9 of 9 s"),
        (Limits(iterations=3), {"iterations": 2}, {"iterations": 3}, "iterations", "3 iterations"),
        (Limits(failures=2), {"failures": 1}, {"failures": 2}, "failures", "2 attempts in a row"),
    ],
)
def test_a_limit_is_reached_at_its_value_and_not_below(
    limits: Limits, below: dict[str, float], reached: dict[str, float], code: str, says: str
) -> None:
    assert find_reached_limit(limits, parse_usage(below)) is None
    stop = find_reached_limit(limits, parse_usage(reached))
    assert stop is not None
    assert stop.code == code
    assert says in stop.text


def test_without_limits_nothing_but_failures_ends_a_run() -> None:
    much = RunUsage(10**9, 10**9, 10**9, 1e9, 10**9, 1e9, 98)
    assert find_reached_limit(NONE, much) is None


def test_the_default_limits_are_those_of_the_guide() -> None:
    limits = Limits()
    assert (limits.attempts, limits.rounds, limits.failures, limits.idle) == (3, 3, 5, 900.0)


def test_a_run_starts_with_nothing_used() -> None:
    assert not any(asdict(RunUsage()).values())


def test_the_default_options_are_the_careful_ones() -> None:
    options = RunOptions()
    assert (options.commit, options.reanchor) == (True, True)
    assert (options.full_access, options.worktree, options.once) == (False, False, False)
    assert (options.parallel, options.roles) == (1, ("implementer",))


def test_usage_adds_up() -> None:
    usage = RunUsage(tokens_in=1, tokens_out=2, cost=0.5).add(Usage(10, 20, 5, 0.25))
    assert (usage.tokens_in, usage.tokens_out, usage.tokens) == (11, 22, 33)
    assert (usage.cost, usage.unpriced) == (0.75, 0)


def test_calls_of_unknown_cost_are_counted() -> None:
    usage = RunUsage().add(Usage(10, 20)).add(None)
    assert (usage.tokens, usage.cost, usage.unpriced) == (30, 0.0, 2)


def test_options_and_usage_survive_the_journal() -> None:
    options = RunOptions(task="t1", program=("a", "b"), limits=Limits(money=2.0, idle=None))
    assert parse_options({**options.data(), "later": 1}) == options
    usage = RunUsage(1, 2, 3, 4.0, 5, 6.0, 7)
    assert parse_usage({**asdict(usage), "later": 1}) == usage


@pytest.mark.parametrize("data", [{"limits": {"nonsense": 1}}, {"roles": 5}, {"limits": None}])
def test_damaged_options_are_refused(data: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        parse_options(data)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("2d", 172800), ("1.5m", 90)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "s", "1h 30m", "-5s", "5s\n", "0s", "0h0m"])
def test_a_bad_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    assert "1h30m" in (caught.value.hint or "")


def test_roles_work_in_a_fixed_order() -> None:
    assert parse_roles("validator, implementer,reviewer") == (
        "implementer",
        "reviewer",
        "validator",
    )
    assert parse_roles("implementer,implementer") == ("implementer",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("reviewer", "implementer is missing"),
        ("implementer,cook", "no role 'cook'"),
        ("", "missing"),
    ],
)
def test_bad_roles_are_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_roles(text)
