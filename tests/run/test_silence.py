"""What a run shows and does while an agent is silent, and what it prints of a program's output."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from run.harness import RunHarness


def test_the_second_silence_in_a_row_is_an_attempt(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"hang": 600}, {"hang": 600})
    ran = harness.run("--idle", "1s", "--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["silent", "silent"]
    assert harness.state("t1") == "failed"
    assert "silent for too long" in ran.out


def test_the_output_of_a_program_is_shown(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    secret = "ghp_" + "Ab1" * 12
    script = harness.root.parent / "agent.sh"
    script.write_text(f"echo looking; echo 'token {secret}' >&2; touch ok\n")
    ran = harness.kedge("run", "--command", f"sh {script}")
    assert "| looking" in ran.err
    assert "| token " in ran.err
    assert secret not in ran.err


def test_the_clock_runs_while_an_agent_is_silent(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    master, slave = pty.openpty()
    command = ["run", "--idle", "4s", "--attempts", "1", "--command", "sleep 600"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kedge", *command],
        cwd=harness.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:  # the terminal is closed
            break
        if not chunk:
            break
        shown += chunk
    process.wait(timeout=60)
    os.close(master)
    clocks = {int(one) for one in re.findall(rb"#1\s+0:(\d\d)", shown)}
    assert len(clocks) >= 3


def test_the_summary_names_all_changed_files(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", check="test -f two")
    harness.plays({"write": {"no": "x"}}, {"write": {"ok": "x"}}, {"write": {"two": "x"}})
    summary = harness.events(harness.run("--json"))[-1]
    assert summary["files"] == ["no", "ok", "two"]
    assert [one["files"] for one in summary["results"]] == [["no", "ok"], ["two"]]


def test_the_summary_in_a_pipe_names_the_changed_files(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"no": "x", "ok": "x"}})
    ran = harness.run()
    assert "\nchanged: no, ok\n" in ran.out + ran.err
