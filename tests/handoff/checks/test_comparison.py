"""Comparing a check with its baseline: what is a regression, and what is not."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kedge.handoff.checks.check_result import CheckResult, make_result
from kedge.handoff.checks.comparison import compare
from kedge.handoff.checks.runner import run_check
from kedge.handoff.checks.summary import CAP, FINDINGS, PACKAGES, ToolSummary, add_failures


def _result(*summaries: ToolSummary, code: int = 0, timed_out: bool = False) -> CheckResult:
    return CheckResult("make test", ".", code, 1.0, timed_out, 0, "", summaries)


def _tests(
    passed: int, *failures: str, skipped: int = 0, warnings: int = 0, tool: str = "pytest"
) -> ToolSummary:
    made = ToolSummary(tool, passed=passed, failed=len(failures), skipped=skipped, errors=0)
    return add_failures(replace(made, warnings=warnings), failures)


def _findings(*failures: str, warnings: int = 0) -> ToolSummary:
    return add_failures(
        ToolSummary("ruff", FINDINGS, errors=len(failures), warnings=warnings), failures
    )


def _coverage(percent: float) -> ToolSummary:
    return ToolSummary("coverage.py", "coverage", coverage=percent)


def test_equal_runs_are_the_same() -> None:
    one = _result(_tests(3, "a", skipped=1), _findings("a.py:1:F401"), _coverage(80.0), code=1)
    found = compare(one, one)
    assert not found.regressed
    assert (found.newly_failing, found.fixed) == ([], [])
    assert found.still_failing == ["a", "a.py:1:F401"]
    assert compare(_result(_tests(3)), _result(_tests(3))).text == "same as the baseline"


def test_newly_failing_fixed_and_still_failing() -> None:
    found = compare(_result(_tests(3, "a", "b"), code=1), _result(_tests(3, "b", "c"), code=1))
    assert (found.newly_failing, found.fixed, found.still_failing) == (["c"], ["a"], ["b"])
    assert found.regressed
    assert found.text == (
        "worse than the baseline: 1 newly failing (c); 1 no longer failing; 1 still failing"
    )


def test_a_check_that_passes_again_is_noted() -> None:
    found = compare(_result(_tests(3, "a"), code=1), _result(_tests(4)))
    assert not found.regressed
    assert found.text == "no worse than the baseline: passes; 1 no longer failing"


def test_a_finding_that_moved_is_the_same() -> None:
    old = _findings("a.py:1:F401", "a.py:9:F401", "b.py:5:E501")
    new = _findings("a.py:3:F401", "a.py:11:F401", "a.py:30:F401", "c.py:5:E501")
    found = compare(_result(old, code=1), _result(new, code=1))
    assert found.newly_failing == ["a.py:30:F401", "c.py:5:E501"]
    assert found.still_failing == ["a.py:3:F401", "a.py:11:F401"]
    assert found.fixed == ["b.py:5:E501"]
    doc = compare(
        _result(_tests(1, "lib.rs - add (line 9)", tool="cargo test"), code=1),
        _result(_tests(1, "lib.rs - add (line 12)", tool="cargo test"), code=1),
    )
    assert not doc.regressed


def test_fewer_tests_are_a_regression() -> None:
    found = compare(_result(_tests(10)), _result(_tests(7)))
    assert (found.vanished, found.regressed) == (3, True)
    assert "3 tests fewer than 10" in found.text
    found = compare(_result(_tests(10), _coverage(90)), _result(_coverage(90)))
    assert (found.vanished, found.regressed) == (10, True)
    assert "no output of pytest any more" in found.text
    assert not compare(_result(_tests(7)), _result(_tests(10))).regressed


def test_deleting_a_failing_test_is_a_regression() -> None:
    found = compare(_result(_tests(9, "a"), code=1), _result(_tests(9)))
    assert (found.fixed, found.vanished, found.regressed) == (["a"], 1, True)


def test_newly_skipped_tests_are_a_regression() -> None:
    found = compare(_result(_tests(10)), _result(_tests(8, skipped=2)))
    assert (found.more_skipped, found.vanished, found.regressed) == (2, 0, True)
    found = compare(_result(_tests(9, "a"), code=1), _result(_tests(9, skipped=1)))
    assert (found.more_skipped, found.regressed) == (1, True)
    found = compare(_result(_tests(10)), _result(_tests(10, skipped=1)))
    assert (found.more_skipped, found.regressed) == (1, False)
    assert found.notes == ["1 more skipped (pytest)"]


def test_less_coverage_is_a_regression() -> None:
    found = compare(_result(_coverage(92.0)), _result(_coverage(88.5)))
    assert (found.coverage, found.regressed) == ((92.0, 88.5), True)
    assert "coverage 92% → 88.5%" in found.text
    assert not compare(_result(_coverage(92.0)), _result(_coverage(91.95))).regressed
    assert compare(_result(_coverage(80.0)), _result(_coverage(90))).coverage == (80.0, 90)


def test_warnings_are_noted() -> None:
    found = compare(_result(_tests(3)), _result(_tests(3, warnings=2)))
    assert (found.more_warnings, found.regressed) == (2, False)
    assert found.text == "no worse than the baseline: 2 more warnings"


def test_without_a_log_the_exit_codes_are_compared() -> None:
    assert compare(_result(), _result(code=1)).reasons == ["exit code 1 instead of 0"]
    assert compare(_result(code=1), _result(code=1, timed_out=True)).reasons == ["timed out"]
    assert not compare(_result(code=1), _result(code=2)).regressed
    unknown = replace(_result(), exit_code=None)
    assert not compare(unknown, _result(code=1)).regressed
    assert not compare(_result(), unknown).regressed


def test_a_linter_without_output_has_no_findings_if_it_passed() -> None:
    old = _result(_findings("a.py:1:F401"), code=1)
    assert compare(old, _result()).fixed == ["a.py:1:F401"]
    broke_off = compare(old, _result(code=1))
    assert (broke_off.fixed, broke_off.regressed) == ([], False)
    assert compare(_result(), old).newly_failing == ["a.py:1:F401"]


def test_incomplete_lists_are_compared_by_count() -> None:
    names = [f"a.py:{n}:E{n}" for n in range(CAP + 5)]
    old, new = _findings(*names), _findings(*names[::-1])
    same = compare(_result(old, code=1), _result(new, code=1))
    assert (same.newly_failing, same.regressed) == ([], False)
    more = compare(_result(old, code=1), _result(_findings(*names, "b.py:1:E1"), code=1))
    assert more.reasons == [f"1 more failing than {CAP + 5} (ruff)"]
    part = replace(_tests(3), partial=True)
    assert not compare(_result(_tests(9)), _result(part)).regressed


def test_tests_and_packages_are_not_compared() -> None:
    old = ToolSummary("go test", passed=90, failed=0)
    new = ToolSummary("go test", PACKAGES, passed=4, failed=0)
    assert not compare(_result(old), _result(new)).regressed


def test_data_is_plain_json() -> None:
    found = compare(
        _result(_tests(9, "a"), _coverage(80), code=1), _result(_tests(7, "b"), _coverage(70.5))
    )
    data = json.loads(json.dumps(found.data()))
    assert (data["regressed"], data["text"]) == (True, found.text)
    assert data["fixed"] == ["a"]
    assert data["newly_failing"] == ["b"]
    assert data["coverage"] == [80, 70.5]


@given(
    st.lists(st.sampled_from("abcdef"), max_size=8),
    st.lists(st.sampled_from("abcdef"), max_size=8),
)
def test_every_name_appears_once(old: list[str], new: list[str]) -> None:
    found = compare(_result(_tests(1, *old), code=1), _result(_tests(1, *new), code=1))
    assert sorted((*found.newly_failing, *found.still_failing)) == sorted(new)
    assert sorted((*found.fixed, *found.still_failing)) == sorted(old)
    assert not set(found.newly_failing) & set(found.fixed)


def test_deleting_a_failing_test_of_a_real_run_is_a_regression(tmp_path: Path) -> None:
    """The exit code is 0 after the failing test is deleted; the comparison still reports it."""
    tests = tmp_path / "test_a.py"
    tests.write_text("def test_a(): pass\ndef test_b(): assert False\ndef test_c(): pass\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    argv += ["--rootdir", ".", "test_a.py"]
    old = make_result(run_check(argv, tmp_path, timeout=120, root=tmp_path))
    assert (old.passed, old.directory) == (False, ".")
    assert [one.failures for one in old.summaries] == [("test_a.py::test_b",)]
    tests.write_text("def test_a(): pass\n")
    new = make_result(run_check(argv, tmp_path, timeout=120, root=tmp_path))
    assert new.passed
    found = compare(old, new)
    assert (found.fixed, found.vanished, found.regressed) == (["test_a.py::test_b"], 2, True)
