"""Checks: real programs that are run, what their end means, and two runs compared."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import FileError, InvalidValue
from kedge.handoff.checks import compare as comparing
from kedge.handoff.checks import result as results
from kedge.handoff.checks.compare import Comparison, compare
from kedge.handoff.checks.result import Result, understand
from kedge.handoff.checks.run import Ran, imported, needs_shell, run, words
from kedge.handoff.checks.summary import CAP, FINDINGS, PACKAGES, Summary, named
from kedge.handoff.checks.text import HEAD, TAIL

SLACK = 30.0  # a guard against hanging, not a measure
LOGS = Path(__file__).parent.parent / "data" / "checks"


def _py(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", f"import os, signal, sys, time\n{code}"]


def _runs(pid: int) -> bool:
    argv = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(argv, capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def _assert_gone(*pids: int) -> None:
    end = time.monotonic() + SLACK
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.02)


class TestRun:
    def test_what_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        ran = run("sh -c 'pwd; exit 3'", tmp_path / "sub", timeout=SLACK, root=tmp_path)
        out = f"{(tmp_path / 'sub').resolve()}\n".encode()
        assert (ran.command, ran.directory) == ("sh -c 'pwd; exit 3'", "sub")
        assert (ran.exit_code, ran.timed_out, ran.log) == (3, False, out)
        assert (ran.log_size, ran.log_digest) == (len(out), hashlib.sha256(out).hexdigest())
        assert ran.seconds is not None
        assert 0 <= ran.seconds < SLACK

    def test_both_outputs_keep_their_order(self, tmp_path: Path) -> None:
        ran = run("for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done", tmp_path, timeout=9)
        assert ran.log.decode().split() == [f"{x}{n}" for n in range(1, 9) for x in "oe"]

    def test_output_is_seen_while_the_check_runs(self, tmp_path: Path) -> None:
        """The check goes on only after its first line was seen."""
        seen = tmp_path / "seen"
        code = "print('one', flush=True)\nwhile not os.path.exists('seen'): time.sleep(0.01)"
        chunks: list[bytes] = []

        def watch(chunk: bytes) -> None:
            chunks.append(chunk)
            seen.touch()

        ran = run(_py(f"{code}\nprint('two')"), tmp_path, timeout=SLACK, on_output=watch)
        assert (ran.exit_code, ran.timed_out) == (0, False)
        assert b"two" not in chunks[0]
        assert b"".join(chunks) == ran.log == b"one\ntwo\n"

    def test_colour_is_shown_and_not_kept(self, tmp_path: Path) -> None:
        shown: list[bytes] = []
        text = r"printf '\033[31mred\033[0m\n'"
        ran = run(text, tmp_path, timeout=SLACK, on_output=shown.append)
        assert b"".join(shown) == b"\x1b[31mred\x1b[0m\n"
        assert ran.log == b"red\n"
        assert ran.log_digest == hashlib.sha256(b"".join(shown)).hexdigest()

    def test_a_flood(self, tmp_path: Path) -> None:
        lines, times = b"".join(b"line %07d\n" % n for n in range(80_000)), 200
        code = "lines = b''.join(b'line %07d\\n' % n for n in range(80_000))\n"
        code += f"for _ in range({times}): sys.stdout.buffer.write(lines)\n"
        code += "print('=== 3 passed in 1.0s ===')"
        ran = run(_py(code), tmp_path, timeout=600)
        whole = hashlib.sha256()
        for _ in range(times):
            whole.update(lines)
        whole.update(b"=== 3 passed in 1.0s ===\n")
        assert ran.log_size == len(lines) * times + 25 > 200_000_000
        assert ran.log_digest == whole.hexdigest()
        assert len(ran.log) <= HEAD + TAIL + 100
        kept = ran.log.splitlines(keepends=True)
        assert kept[0] == b"line 0000000\n"
        (mark,) = (line for line in kept if line.startswith(b"[kedge: "))
        gone = ran.log_size - (len(ran.log) - len(mark))
        assert mark == b"[kedge: %d bytes of output left out]\n" % gone
        assert all(len(line) == 13 for line in kept[:-1] if line != mark)
        assert [one.text for one in understand(ran).summaries] == ["pytest: 3 passed"]

    def test_one_that_ignores_the_request_to_end(self, tmp_path: Path) -> None:
        code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(os.getpid(), flush=True)"
        ran = run(_py(f"{code}\ntime.sleep(600)"), tmp_path, timeout=1.5, grace=0.2)
        assert (ran.timed_out, ran.exit_code) == (True, -signal.SIGKILL)
        assert understand(ran).passed is False
        assert understand(ran).text.endswith(f"timed out after {ran.seconds:g} s")
        _assert_gone(int(ran.log))

    def test_one_that_ends_well_when_its_time_is_up_has_not_passed(self, tmp_path: Path) -> None:
        code = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nprint(1, flush=True)"
        ran = run(_py(f"{code}\ntime.sleep(600)"), tmp_path, timeout=1.5, grace=SLACK)
        assert (ran.timed_out, ran.exit_code) == (True, 0)
        assert understand(ran).passed is False

    def test_children_that_are_left_behind(self, tmp_path: Path) -> None:
        begin = time.monotonic()
        ran = run("sleep 600 & sleep 601 & echo $!; exit 0", tmp_path, timeout=SLACK)
        assert time.monotonic() - begin < SLACK
        assert (ran.exit_code, ran.timed_out) == (0, False)
        _assert_gone(int(ran.log))

    def test_children_end_with_the_time(self, tmp_path: Path) -> None:
        ran = run("sleep 600 & echo $!; wait", tmp_path, timeout=1.0)
        assert ran.timed_out
        _assert_gone(int(ran.log))

    def test_an_interrupt_ends_all_of_it(self, tmp_path: Path) -> None:
        seen: list[int] = []

        def interrupt(chunk: bytes) -> None:
            seen.append(int(chunk))
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run("sleep 600 & echo $!; wait", tmp_path, timeout=SLACK, on_output=interrupt)
        _assert_gone(*seen)

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
    def test_one_that_is_ended_by_a_signal(self, tmp_path: Path, number: signal.Signals) -> None:
        result = understand(run(_py(f"os.kill(os.getpid(), {number})"), tmp_path, timeout=SLACK))
        assert (result.exit_code, result.passed) == (-number, False)
        assert result.text.endswith(f"ended by signal {int(number)}")

    @pytest.mark.parametrize("command", ["no-such-program --x", ["no-such-program"], "./nowhere a"])
    def test_a_program_that_is_not_there(self, tmp_path: Path, command: str | list[str]) -> None:
        ran = run(command, tmp_path, timeout=SLACK)
        assert ran.exit_code == 127
        assert b"no" in ran.log
        assert "could not be started" in understand(ran).text
        in_a_shell = run(f"{words(command)[1]} && true", tmp_path, timeout=SLACK)
        assert in_a_shell.exit_code == 127

    def test_a_program_that_cannot_be_run(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("no program")
        ran = run("./data", tmp_path, timeout=SLACK)
        assert ran.exit_code == 126
        assert b"./data" in ran.log

    def test_nothing_can_be_typed_into_a_check(self, tmp_path: Path) -> None:
        assert run("cat", tmp_path, timeout=SLACK).exit_code == 0

    def test_the_environment_is_the_one_that_is_given(self, tmp_path: Path) -> None:
        env = {"PATH": os.environ["PATH"], "ONLY": "this"}
        lines = run("env", tmp_path, timeout=SLACK, env=env).log.decode().splitlines()
        assert "ONLY=this" in lines
        assert not [line for line in lines if line.startswith("HOME=")]

    def test_what_is_no_command(self, tmp_path: Path) -> None:
        for command in ("", "  \n", "a\0b", [], [""], ["a", "b\0"]):
            with pytest.raises(InvalidValue):
                run(command, tmp_path, timeout=1)
        with pytest.raises(FileError):
            run("true", tmp_path / "nowhere", timeout=1)


class TestShell:
    @pytest.mark.parametrize(
        "text",
        ["a && b", "a | b", "a > f", "A=1 b", "a $B", "a *.py", "cd a", "(a)", "a; b", "a &",
         "~/a", "a `b`", 'a "$B"', "a 'b", "a # b", "exit 3", "! a", "a\nb", "a \\b"],
    )  # fmt: skip
    def test_what_needs_one(self, text: str) -> None:
        assert needs_shell(text)
        assert words(text)[0] == ["sh", "-c", text]

    @pytest.mark.parametrize(
        ("text", "argv"),
        [
            ("pytest -q tests/a.py::test_b", ["pytest", "-q", "tests/a.py::test_b"]),
            ("pytest -k 'a and (b | c)'", ["pytest", "-k", "a and (b | c)"]),
            ('go test "-run=a b" ./...', ["go", "test", "-run=a b", "./..."]),
        ],
    )
    def test_what_needs_none(self, text: str, argv: list[str]) -> None:
        assert words(text) == (argv, text)

    @settings(max_examples=60)
    @given(st.text("ab '\"$`\\*?~=#%{}|&;<>()[]!-./\n", min_size=1, max_size=12))
    def test_without_a_shell_words_are_what_a_shell_would_make_of_them(self, text: str) -> None:
        line = f"x {text}".rstrip()
        if not needs_shell(line):
            script = f"printf '%s\\0' {line}"
            out = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
            assert out.decode().split("\0")[:-1] == shlex.split(line)


def _ran(log: bytes, code: int | None = 0, command: str = "make test", **more: object) -> Ran:
    return replace(imported(log, command, exit_code=code), **more)  # type: ignore[arg-type]


class TestResult:
    def test_only_the_exit_code_says_that_a_check_passed(self) -> None:
        green, red = b"=== 3 passed in 0.1s ===\n", b"=== 1 failed, 3 passed in 0.1s ===\n"
        assert understand(_ran(green, 0)).passed is True
        assert understand(_ran(green, 1)).passed is False
        assert understand(_ran(green, None)).passed is None
        assert understand(_ran(green, 0, timed_out=True)).passed is False
        assert understand(_ran(green, 0)).suspicious == ()
        assert understand(_ran(red, 1)).suspicious == ()

    @pytest.mark.parametrize(
        ("command", "log", "says"),
        [
            ("make test", b"=== 1 failed, 3 passed in 0.1s ===", "1 that failed"),
            ("make lint", b"a.py:1: error: b  [c]\nFound 1 error in 1 file (checked 1 source file)",
             "mypy tells of 1"),
            ("make test", b"=== no tests ran in 0.1s ===", "no test ran"),
            ("make test", b"=== 4 skipped in 0.1s ===", "every test was skipped"),
            ("go test ./...", b"?   \texample.org/a\t[no test files]", "every test was skipped"),
            ("python -m pytest", b"hello", "does not tell what pytest ran"),
            ("npx jest --ci", b"", "does not tell what jest ran"),
            ("cargo +nightly test", b"", "does not tell what cargo test ran"),
            ("mytool || true", b"", "hides the exit code"),
            ("mytool; exit 0", b"", "hides the exit code"),
            ("mytool 2>&1 | tee log.txt", b"", "hides the exit code"),
        ],
    )  # fmt: skip
    def test_what_is_odd_about_a_check_that_passed(
        self, command: str, log: bytes, says: str
    ) -> None:
        result = understand(_ran(log, 0, command))
        assert result.passed is True
        assert len(result.suspicious) == 1
        assert says in result.suspicious[0]
        assert result.told[-1] == f"look: {result.suspicious[0]}"

    @pytest.mark.parametrize(
        "command", ["a | grep b", "a || b", "pip install pytest", "a; b", "echo true", "a | wc -l"]
    )
    def test_what_is_not_odd(self, command: str) -> None:
        assert understand(_ran(b"fine\n", 0, command)).suspicious == ()

    def test_an_imported_log(self) -> None:
        log = (LOGS / "pytest-cov.log").read_bytes()
        ran = imported(log, "pytest", directory="sub", exit_code=0)
        assert ran.log_digest == hashlib.sha256(log).hexdigest()
        assert (ran.log_size, ran.seconds, ran.directory) == (len(log), None, "sub")
        assert b"\x1b" not in ran.log
        result = understand(ran)
        assert result.text == "pytest: passed (pytest: 1 passed; coverage.py: 46% covered)"

    def test_paths_are_told_relative(self) -> None:
        log = (LOGS / "eslint.log").read_bytes()
        (found,) = understand(_ran(log, 1), "/home/dev/shop").summaries
        assert found.failures[0] == "src/a.js:2:no-undef"

    def test_data_and_back(self) -> None:
        log = (LOGS / "make.log").read_bytes()
        result = understand(_ran(log, 2, seconds=1.25))
        data = json.loads(json.dumps(result.data(), sort_keys=True))
        assert results.parse({**data, "of_a_later_version": 1}) == result
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
            {"suspicious": "no"},
        ],
    )
    def test_data_that_is_no_result(self, change: dict[str, object]) -> None:
        with pytest.raises(InvalidValue):
            results.parse({**understand(_ran(b"")).data(), **change})


def _result(*summaries: Summary, code: int = 0, timed_out: bool = False) -> Result:
    return Result("make test", ".", code, 1.0, timed_out, 0, "", summaries)


def _tests(
    passed: int, *failures: str, skipped: int = 0, warnings: int = 0, tool: str = "pytest"
) -> Summary:
    made = Summary(tool, passed=passed, failed=len(failures), skipped=skipped, errors=0)
    return named(replace(made, warnings=warnings), failures)


def _findings(*failures: str, warnings: int = 0) -> Summary:
    return named(Summary("ruff", FINDINGS, errors=len(failures), warnings=warnings), failures)


def _covered(percent: float) -> Summary:
    return Summary("coverage.py", "coverage", coverage=percent)


class TestCompare:
    def test_nothing_changed(self) -> None:
        one = _result(_tests(3, "a", skipped=1), _findings("a.py:1:F401"), _covered(80.0), code=1)
        found = compare(one, one)
        assert not found.regressed
        assert (found.newly_failing, found.fixed) == ((), ())
        assert found.still_failing == ("a", "a.py:1:F401")
        assert compare(_result(_tests(3)), _result(_tests(3))).text == "as the baseline"

    def test_newly_failing_fixed_and_still_failing(self) -> None:
        found = compare(_result(_tests(3, "a", "b"), code=1), _result(_tests(3, "b", "c"), code=1))
        assert (found.newly_failing, found.fixed, found.still_failing) == (("c",), ("a",), ("b",))
        assert found.regressed
        assert found.text == (
            "worse than the baseline: 1 newly failing (c); 1 no longer failing; 1 still failing"
        )

    def test_all_is_well_again(self) -> None:
        found = compare(_result(_tests(3, "a"), code=1), _result(_tests(4)))
        assert not found.regressed
        assert found.text == "no worse than the baseline: passes; 1 no longer failing"

    def test_a_finding_that_moved_is_the_same(self) -> None:
        old = _findings("a.py:1:F401", "a.py:9:F401", "b.py:5:E501")
        new = _findings("a.py:3:F401", "a.py:11:F401", "a.py:30:F401", "c.py:5:E501")
        found = compare(_result(old, code=1), _result(new, code=1))
        assert found.newly_failing == ("a.py:30:F401", "c.py:5:E501")
        assert found.still_failing == ("a.py:3:F401", "a.py:11:F401")
        assert found.fixed == ("b.py:5:E501",)
        doc = compare(
            _result(_tests(1, "lib.rs - add (line 9)", tool="cargo test"), code=1),
            _result(_tests(1, "lib.rs - add (line 12)", tool="cargo test"), code=1),
        )
        assert not doc.regressed

    def test_tests_that_vanished(self) -> None:
        found = compare(_result(_tests(10)), _result(_tests(7)))
        assert (found.vanished, found.regressed) == (3, True)
        assert "3 tests fewer than 10" in found.text
        found = compare(_result(_tests(10), _covered(90)), _result(_covered(90)))
        assert (found.vanished, found.regressed) == (10, True)
        assert "nothing from pytest any more" in found.text
        assert not compare(_result(_tests(7)), _result(_tests(10))).regressed

    def test_a_failing_test_that_was_deleted_is_noticed(self) -> None:
        found = compare(_result(_tests(9, "a"), code=1), _result(_tests(9)))
        assert (found.fixed, found.vanished, found.regressed) == (("a",), 1, True)

    def test_tests_that_are_skipped_now(self) -> None:
        found = compare(_result(_tests(10)), _result(_tests(8, skipped=2)))
        assert (found.more_skipped, found.vanished, found.regressed) == (2, 0, True)
        found = compare(_result(_tests(9, "a"), code=1), _result(_tests(9, skipped=1)))
        assert (found.more_skipped, found.regressed) == (1, True)
        found = compare(_result(_tests(10)), _result(_tests(10, skipped=1)))
        assert (found.more_skipped, found.regressed) == (1, False)
        assert found.notes == ("1 more skipped (pytest)",)

    def test_coverage(self) -> None:
        found = compare(_result(_covered(92.0)), _result(_covered(88.5)))
        assert (found.coverage, found.regressed) == ((92.0, 88.5), True)
        assert "coverage 92% → 88.5%" in found.text
        assert not compare(_result(_covered(92.0)), _result(_covered(91.95))).regressed
        assert compare(_result(_covered(80.0)), _result(_covered(90))).coverage == (80.0, 90)

    def test_warnings_are_noted(self) -> None:
        found = compare(_result(_tests(3)), _result(_tests(3, warnings=2)))
        assert (found.more_warnings, found.regressed) == (2, False)
        assert found.text == "no worse than the baseline: 2 more warnings"

    def test_the_end_counts_where_the_log_says_nothing(self) -> None:
        assert compare(_result(), _result(code=1)).reasons == ("exit code 1 instead of 0",)
        assert compare(_result(code=1), _result(code=1, timed_out=True)).reasons == ("timed out",)
        assert not compare(_result(code=1), _result(code=2)).regressed
        unknown = replace(_result(), exit_code=None)
        assert not compare(unknown, _result(code=1)).regressed
        assert not compare(_result(), unknown).regressed

    def test_a_linter_that_has_gone_silent(self) -> None:
        old = _result(_findings("a.py:1:F401"), code=1)
        assert compare(old, _result()).fixed == ("a.py:1:F401",)
        broke_off = compare(old, _result(code=1))
        assert (broke_off.fixed, broke_off.regressed) == ((), False)
        assert compare(_result(), old).newly_failing == ("a.py:1:F401",)

    def test_lists_that_are_not_whole_are_compared_by_count(self) -> None:
        names = [f"a.py:{n}:E{n}" for n in range(CAP + 5)]
        old, new = _findings(*names), _findings(*names[::-1])
        same = compare(_result(old, code=1), _result(new, code=1))
        assert (same.newly_failing, same.regressed) == ((), False)
        more = compare(_result(old, code=1), _result(_findings(*names, "b.py:1:E1"), code=1))
        assert more.reasons == (f"1 more failing than {CAP + 5} (ruff)",)
        part = replace(_tests(3), partial=True)
        assert not compare(_result(_tests(9)), _result(part)).regressed

    def test_tests_and_packages_are_not_compared(self) -> None:
        old = Summary("go test", passed=90, failed=0)
        new = Summary("go test", PACKAGES, passed=4, failed=0)
        assert not compare(_result(old), _result(new)).regressed

    def test_data_and_back(self) -> None:
        found = compare(
            _result(_tests(9, "a"), _covered(80), code=1), _result(_tests(7, "b"), _covered(70.5))
        )
        data = json.loads(json.dumps(found.data()))
        assert (data["regressed"], data["text"]) == (True, found.text)
        assert comparing.parse({**data, "of_a_later_version": 1}) == found
        assert comparing.parse(Comparison().data()) == Comparison()
        for change in ({"fixed": "a"}, {"vanished": "1"}, {"coverage": [1]}, {"notes": [1]}):
            with pytest.raises(InvalidValue):
                comparing.parse({**data, **change})

    @given(
        st.lists(st.sampled_from("abcdef"), max_size=8),
        st.lists(st.sampled_from("abcdef"), max_size=8),
    )
    def test_every_name_is_told_once(self, old: list[str], new: list[str]) -> None:
        found = compare(_result(_tests(1, *old), code=1), _result(_tests(1, *new), code=1))
        assert sorted((*found.newly_failing, *found.still_failing)) == sorted(new)
        assert sorted((*found.fixed, *found.still_failing)) == sorted(old)
        assert not set(found.newly_failing) & set(found.fixed)


def test_real_runs_compared(tmp_path: Path) -> None:
    """A test that fails, then is taken out: the exit code is fine, the comparison is not."""
    tests = tmp_path / "test_a.py"
    tests.write_text("def test_a(): pass\ndef test_b(): assert False\ndef test_c(): pass\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    argv += ["--rootdir", ".", "test_a.py"]
    old = understand(run(argv, tmp_path, timeout=120, root=tmp_path))
    assert (old.passed, old.directory) == (False, ".")
    assert [one.failures for one in old.summaries] == [("test_a.py::test_b",)]
    tests.write_text("def test_a(): pass\n")
    new = understand(run(argv, tmp_path, timeout=120, root=tmp_path))
    assert new.passed
    found = compare(old, new)
    assert (found.fixed, found.vanished, found.regressed) == (("test_a.py::test_b",), 2, True)
