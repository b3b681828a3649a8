"""The result of a check: the exit code decides, and contradictions are suspicious."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.errors import InvalidValue
from kedge.handoff.checks import check_result as results
from kedge.handoff.checks.check_result import make_result
from kedge.handoff.checks.runner import CheckRun, import_log

LOGS = Path(__file__).parents[2] / "data" / "checks"


def _ran(log: bytes, code: int | None = 0, command: str = "make test", **more: object) -> CheckRun:
    return replace(import_log(log, command, exit_code=code), **more)  # type: ignore[arg-type]


def test_only_the_exit_code_decides_whether_a_check_passed() -> None:
    green, red = b"=== 3 passed in 0.1s ===\n", b"=== 1 failed, 3 passed in 0.1s ===\n"
    assert make_result(_ran(green, 0)).passed is True
    assert make_result(_ran(green, 1)).passed is False
    assert make_result(_ran(green, None)).passed is None
    assert make_result(_ran(green, 0, timed_out=True)).passed is False
    assert make_result(_ran(green, 0)).suspicious == ()
    assert make_result(_ran(red, 1)).suspicious == ()


@pytest.mark.parametrize(
    ("command", "log", "says"),
    [
        ("make test", b"=== 1 failed, 3 passed in 0.1s ===", "pytest reports 1 failed"),
        ("make lint", b"a.py:1: error: b  [c]\nFound 1 error in 1 file (checked 1 source file)",
         "mypy reports 1"),
        ("make test", b"=== no tests ran in 0.1s ===", "no test ran"),
        ("make test", b"=== 4 skipped in 0.1s ===", "every test was skipped"),
        ("go test ./...", b"?   \texample.org/a\t[no test files]", "every test was skipped"),
        ("python -m pytest", b"hello", "does not show what pytest ran"),
        ("npx jest --ci", b"", "does not show what jest ran"),
        ("cargo +nightly test", b"", "does not show what cargo test ran"),
        ("mytool || true", b"", "hides the exit code"),
        ("mytool; exit 0", b"", "hides the exit code"),
        ("mytool 2>&1 | tee log.txt", b"", "hides the exit code"),
    ],
)  # fmt: skip
def test_a_passed_check_can_be_suspicious(command: str, log: bytes, says: str) -> None:
    result = make_result(_ran(log, 0, command))
    assert result.passed is True
    assert len(result.suspicious) == 1
    assert says in result.suspicious[0]
    assert result.lines[-1] == f"look: {result.suspicious[0]}"


@pytest.mark.parametrize(
    "command", ["a | grep b", "a || b", "pip install pytest", "a; b", "echo true", "a | wc -l"]
)
def test_ordinary_commands_are_not_suspicious(command: str) -> None:
    assert make_result(_ran(b"fine\n", 0, command)).suspicious == ()


def test_an_imported_log() -> None:
    log = (LOGS / "pytest-cov.log").read_bytes()
    ran = import_log(log, "pytest", directory="sub", exit_code=0)
    assert ran.log_digest == hashlib.sha256(log).hexdigest()
    assert (ran.log_size, ran.seconds, ran.directory) == (len(log), None, "sub")
    assert b"\x1b" not in ran.log
    result = make_result(ran)
    assert result.text == "pytest: passed (pytest: 1 passed; coverage.py: 46% covered)"


def test_paths_are_relative_to_the_root() -> None:
    log = (LOGS / "eslint.log").read_bytes()
    (found,) = make_result(_ran(log, 1), "/home/dev/shop").summaries
    assert found.failures[0] == "src/a.js:2:no-undef"


def test_a_result_is_read_back_from_its_data() -> None:
    log = (LOGS / "make.log").read_bytes()
    result = make_result(_ran(log, 2, seconds=1.25))
    data = json.loads(json.dumps(result.data(), sort_keys=True))
    assert results.parse_result({**data, "of_a_later_version": 1}) == result
    assert data["passed"] is False
    assert data["told"] == [one.text for one in result.summaries]


@pytest.mark.parametrize(
    "change",
    [
        {"command": None},
        {"exit_code": "0"},
        {"exit_code": False},
        {"seconds": "1"},
        {"timed_out": 0},
        {"log_size": None},
        {"summaries": [1]},
        {"summaries": [{"tool": 1}]},
        {"summaries": [{"tool": "pytest", "passed": "3"}]},
        {"summaries": [{"tool": "pytest", "failing": True}]},
        {"summaries": [{"tool": "pytest", "coverage": "3%"}]},
        {"summaries": [{"tool": "pytest", "failures": [1]}]},
        {"suspicious": "no"},
    ],
)
def test_invalid_result_data_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        results.parse_result({**make_result(_ran(b"")).data(), **change})
