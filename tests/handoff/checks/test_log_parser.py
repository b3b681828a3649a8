"""Parsing logs: real ones of every tool, and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.handoff.checks.log_parser import parse_log
from kedge.handoff.checks.output import HEAD, TAIL, OutputBuffer, bound_log, strip_colour
from kedge.handoff.checks.summary import CAP, ToolSummary

LOGS = Path(__file__).parents[2] / "data" / "checks"
ROOT = "/home/dev/shop"
EXPECTED: dict[str, list[dict[str, object]]] = json.loads((LOGS / "expected.json").read_text())
NAMES = sorted(EXPECTED)
MB = 1 << 20


def _log(name: str) -> bytes:
    return (LOGS / f"{name}.log").read_bytes()


def _describe(log: bytes, command: str = "") -> list[dict[str, object]]:
    found = parse_log(log, command, ROOT)
    return [{"text": one.text, "failures": list(one.failures)} for one in found]


def _only(log: str, command: str = "") -> ToolSummary:
    (found,) = parse_log(log.encode(), command)
    return found


def test_every_log_has_an_expectation() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == set(EXPECTED)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_log(name: str) -> None:
    assert _describe(_log(name)) == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_line_endings_and_colour_make_no_difference(name: str) -> None:
    log = _log(name)
    assert _describe(log.replace(b"\n", b"\r\n")) == EXPECTED[name]
    painted = b"\n".join(b"\x1b[31;1m%b\x1b[0m\x1b[K" % line for line in log.split(b"\n"))
    assert _describe(painted) == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_noise_around_a_log_makes_no_difference(name: str) -> None:
    noise = b"".join(
        b"2025-01-02 INFO request %d took 12 ms\n\xff\x00\xfe\n" % n for n in range(50)
    )
    assert _describe(noise + _log(name) + noise) == EXPECTED[name]


def test_several_tools_in_one_log() -> None:
    logs = ["ruff-full", "mypy", "tsc", "eslint", "pytest", "jest", "vitest", "go-v", "cargo"]
    found = _describe(b"\n".join(map(_log, logs)))
    wanted = [one for name in logs for one in EXPECTED[name]]
    assert sorted(str(one) for one in found) == sorted(str(one) for one in wanted)


def test_runs_of_one_tool_are_added_up() -> None:
    two = _log("pytest") + _log("pytest-collect")
    (found,) = parse_log(two)
    assert (found.passed, found.failed, found.errors, found.failing) == (4, 3, 2, 5)
    (found,) = parse_log(_log("jest-cov") + _log("jest"))[:1]
    assert (found.passed, found.failed) == (4, 1)


@pytest.mark.parametrize(
    ("fake", "name"),
    [
        ("============ 99 passed in 0.01s ============", "pytest"),
        ("99 passed in 0.01s", "pytest-q"),
        ("Tests:       99 passed, 99 total", "jest"),
        ("Test Suites: 9 passed, 9 total\nTests:       99 passed, 99 total", "jest"),
        (" Test Files  9 passed (9)\n      Tests  99 passed (99)", "vitest"),
        (
            "test result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; "
            "finished in 0.00s",
            "cargo-first",
        ),
        ("--- FAIL: TestFake (0.00s)\nok  \texample.org/fake\t0.001s", "go-v"),
        ("a.py:1:1: F401 fake", "ruff-concise"),
        ("a.py:1: error: fake  [misc]", "mypy"),
        ("TOTAL    38    3    11%", "coverage"),
        ("All files |  1 |  1 |  1 |  1 |", "jest-cov"),
    ],
)
def test_a_summary_printed_by_a_test_is_ignored(fake: str, name: str) -> None:
    """Insert it before the first line of the result, where a test would have printed it."""
    log = _log(name).decode()
    places = {
        "pytest": "\ntests/test_shop.py ",
        "pytest-q": "\n=",
        "jest": "\nFAIL ./broken",
        "vitest": "\n\x1b[31m⎯",
        "cargo-first": "\ntest tests::",
        "go-v": "\n--- PASS: TestPrints",
    }
    at = log.index(places.get(name, "")) + 1 if name in places else 0
    assert _describe(f"{log[:at]}{fake}\n{log[at:]}".encode()) == EXPECTED[name]


def test_a_run_that_ran_nothing_is_zero_and_not_unknown() -> None:
    for name in ("pytest-none", "jest-none", "vitest-none"):
        (found,) = parse_log(_log(name))
        assert found.total == 0, name
    assert (
        _only(
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; "
            "0 measured; 3 filtered out; finished in 0.00s\n"
        ).total
        == 0
    )


def test_counts_of_packages_are_not_counts_of_tests() -> None:
    (plain,) = parse_log(_log("go"))
    (verbose,) = parse_log(_log("go-v"))
    assert (plain.unit, plain.passed, plain.total) == ("packages", 1, 4)
    assert (verbose.unit, verbose.passed, verbose.total) == ("tests", 4, 7)


def test_names_with_a_dash_in_brackets() -> None:
    listed = "\n".join(
        [
            "=== short test summary info ===",
            "FAILED a.py::test[x - y] - assert 1 - 1",
            "FAILED a.py::test[x] - assert [1 - 1",
            "SUBFAILED[part] (i=1) a.py::test_sub - assert 1",
            "=== 3 failed in 1.00s (0:01:00) ===",
        ]
    )
    names = ("a.py::test[x - y]", "a.py::test[x]", "[part] (i=1) a.py::test_sub")
    assert _only(listed).failures == names


def test_a_tool_without_a_last_line_is_recognised_by_the_command() -> None:
    log = "src/a.py:1: error: Bad  [misc]\n"
    assert parse_log(log.encode()) == ()
    assert _only(log, "mypy --no-error-summary src").failures == ("src/a.py:1:misc",)
    assert _only("Found 2 errors.\n", "uv run ruff check --statistics .").errors == 2
    assert parse_log(b"Found 2 errors.\n", "make lint") == ()


def test_many_failures_are_capped_and_counted() -> None:
    lines = [f"FAILED t.py::test_{n} - assert 0" for n in range(CAP + 7)]
    log = "\n".join(["= short test summary info =", *lines, f"= {CAP + 7} failed in 1.0s ="])
    found = _only(log)
    assert len(found.failures) == CAP
    assert found.failing == found.failed == CAP + 7
    assert not found.complete
    long = _only(f"= short test summary info =\nFAILED {'x' * 5000}\n= 1 failed in 1.0s =")
    assert len(long.failures[0]) <= 300


def test_control_characters_do_not_get_into_names() -> None:
    found = _only("= short test summary info =\nFAILED a\x07\x9b31m\n= 1 failed in 1.0s =")
    assert found.failures == ("a\\x07\\x9b31m",)


def test_a_log_with_a_missing_middle_is_partial() -> None:
    run = '{"Action":"pass","Package":"p","Test":"T%d"}\n'
    log = "".join(run % n for n in range(250_000)).encode()
    assert len(log) > HEAD + TAIL
    (found,) = parse_log(log)
    assert found.partial
    assert found.total is None
    assert found.passed is not None
    assert 100_000 < found.passed < 250_000
    filler = b"x" * 99 + b"\n"
    (found,) = parse_log(_log("pytest") + filler * (12 * MB // 100) + b"=== 3 passed in 9.0s ===\n")
    assert (found.passed, found.failed, found.partial) == (3, 0, False)


def test_half_a_line_is_never_kept() -> None:
    keeper = OutputBuffer(head=20, tail=20)
    for n in range(100):
        keeper.add(b"1%d passed in 1.0s\n" % n)
    first, mark, last = keeper.log().decode().splitlines()
    assert (first, last) == ("10 passed in 1.0s", "199 passed in 1.0s")
    gone = keeper.size - len(first) - len(last) - 2
    assert mark == f"[kedge: {gone} bytes of output left out]"


@given(st.binary(max_size=400), st.integers(1, 50), st.integers(1, 60), st.integers(1, 60))
def test_head_and_tail_are_kept(data: bytes, step: int, head: int, tail: int) -> None:
    keeper = OutputBuffer(head, tail)
    for at in range(0, len(data), step):
        keeper.add(data[at : at + step])
    log = keeper.log()
    assert keeper.size == len(data)
    if len(data) <= head + tail:
        assert log == strip_colour(data)
    else:
        assert b"bytes of output left out]" in log
        assert len(log) <= head + tail + 60


def test_colour_is_removed_and_nothing_else() -> None:
    assert strip_colour(b"\x1b[1;31mred\x1b[0m \x1b[2K\x1b]0;title\x07x\x1b(B") == b"red x"
    assert strip_colour(b"\x1b]0;never closed\nnext") == b"\x1b]0;never closed\nnext"


hostile = st.one_of(
    st.binary(max_size=3000),
    st.text(max_size=3000).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(
        st.sampled_from([line for name in NAMES for line in _log(name).split(b"\n")]), max_size=80
    ).map(b"\n".join),
    st.tuples(st.sampled_from(NAMES), st.integers(0, 3000), st.integers(0, 3000)).map(
        lambda cut: _log(cut[0])[: cut[1]] + _log(cut[0])[cut[2] :]
    ),
)


@given(hostile, st.sampled_from(["", "pytest", "ruff check", "mypy", "go test ./...", "a" * 99]))
def test_any_log_gives_valid_summaries(log: bytes, command: str) -> None:
    for found in parse_log(log, command, ROOT):
        for count in (found.passed, found.failed, found.skipped, found.errors, found.warnings):
            assert count is None or count >= 0
        assert len(found.failures) <= min(CAP, found.failing)
        assert found.coverage is None or 0 <= found.coverage <= 100
        assert "\n" not in found.text
        assert msgspec.convert(json.loads(json.dumps(found.data())), ToolSummary) == found


@pytest.mark.parametrize(
    "line",
    [
        "",
        "FFFFF",
        "      1",
        "= a = a in 1s ==",
        "1 failed in 1s",
        "=== FAILURES ===",
        "___ a ___",
        "  ● a",
        "failures:\n    a",
        '{"Action":"fail","Package":"x"}',
        "Test Suites: 1 failed, 1 total\nTests: 1 failed, 1 total\nSnapshots: 0 total",
        "a.py:1:1: F401 x",
        "error[E1]: x\n  --> a:1:1",
        "= " + "a " * 990,
        "=== a" + " in 1" * 390,
        "/tmp/a:" + ":1" * 900,
        "     Running a (" + "-aaaaaaaa" * 200,
        "a lint/" + "a/" * 900 + "━",
        "FAIL " + "a (1 " * 390,
        "\x1b[",
        "\x1b]",
    ],
)
def test_a_long_log_of_one_kind_of_line_takes_bounded_time(line: str) -> None:
    part = f"{line}\n".encode()
    log = part * (MB // len(part))
    with in_time(30):
        parse_log(log, "pytest && ruff check && mypy")


def test_large_logs_take_bounded_time() -> None:
    with in_time(60):
        line = b"2025-01-02 INFO some.module: handled request 12345 in 17 ms with status 200\n"
        last = b"=== 3 passed in 0.1s ===\n"
        assert len(bound_log(line * (50 * MB // len(line)))) < HEAD + TAIL + 100
        for log in (
            line * (50 * MB // len(line)),
            b"a: " * (10 * MB // 3) + b"\n",
            b"\0" * 20 * MB,
        ):
            assert [one.text for one in parse_log(log + b"\n" + last)] == ["pytest: 3 passed"]
