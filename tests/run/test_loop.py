"""The promises of a run, each end to end with the fake agent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from typing import Any

import pytest
from run.harness import HANG, PATIENCE, RunHarness, is_alive, wait_until
from support import git

OK = {"write": {"ok": "yes\n"}, "say": "It is done.\n\n<promise>COMPLETE</promise>"}


# Done


def test_a_proven_task_is_done_and_committed(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", "--accept", "there is a file ok", "--type", "feat")
    harness.plays(OK)
    ran = harness.run()
    assert harness.state("t1") == "done"
    assert "✓ t1  done: `sh check.sh` green on tree" in ran.out
    assert harness.log()[0] == "feat(t1): Make it ok"
    assert harness.committed() == ["ok"]
    (one,) = harness.attempts("t1")
    assert one["outcome"] == "done"
    assert one["files"] == ["ok"]
    assert one["checks"][0]["exit_code"] == 0
    assert one["checks"][0]["tree"] == one["end_tree"]
    assert (one["tokens_in"], one["tokens_out"], one["cost_usd"]) == (1000, 50, 0.01)
    (prompt,) = harness.prompts
    assert "Task ID: t1" in prompt
    assert "there is a file ok" in prompt
    assert harness.agent is not None
    (call,) = harness.agent.calls
    assert call.env["KEDGE_TASK"] == "t1"
    assert call.env["TASK_CONTEXT_PATH"].endswith(".kedge/context/t1/context.json")
    assert "Working alone" in (call.flag("--append-system-prompt") or "")
    assert "SessionStart" in (call.flag("--settings") or "")


def test_tasks_are_done_in_the_order_of_their_dependencies(harness: RunHarness) -> None:
    harness.task("One", "a", check="test -f a")
    harness.task("Two", "b", "--depends", "a", check="test -f b")
    harness.task("Three", "c", "--depends", "b", check="test -f c")
    harness.plays(*({"write": {name: name}} for name in "abc"))
    events = harness.events(harness.run("--json"))
    assert [one["task"] for one in events if one["event"] == "task"] == ["a", "b", "c"]
    assert events[0]["event"] == "run"
    last = events[-1]
    assert last["event"] == "summary"
    assert (last["done"], last["failed"], last["blocked"]) == (3, 0, 0)
    assert last["spent"]["tokens_in"] == 3000
    assert round(last["spent"]["cost"], 6) == 0.03
    assert harness.log()[:3] == ["task(c): Three", "task(b): Two", "task(a): One"]


def test_a_task_that_is_done_is_not_started_again(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it better", "t2", "--depends", "t1")
    agent = harness.plays(OK)
    harness.run("--task", "t1")
    assert "nothing was done: t1 is done already\n" in harness.run("--task", "t1").out
    assert len(agent.calls) == 1


def test_no_commit_leaves_the_work_uncommitted(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays(OK)
    harness.run("--no-commit")
    assert harness.state("t1") == "done"
    assert harness.log() == ["first"]
    assert (harness.root / "ok").exists()


def test_uncommitted_changes_of_the_user_are_not_committed(harness: RunHarness) -> None:
    (harness.root / "mine.txt").write_text("mine\n")
    (harness.root / "app.py").write_text("def sail(): pass\n")
    git(harness.root, "add", "app.py")
    harness.task("Make it ok", "t1")
    harness.plays(OK)
    harness.run()
    assert harness.committed() == ["ok"]
    assert (harness.root / "mine.txt").read_text() == "mine\n"
    assert git(harness.root, "diff", "--cached", "--name-only").split() == ["app.py"]


def test_a_refused_commit_sends_the_work_back(
    harness: RunHarness,
) -> None:
    hook = harness.root / ".git" / "hooks" / "pre-commit"
    hook.write_text('#!/bin/sh\ntest -f signed || { echo "unsigned work" >&2; exit 1; }\n')
    hook.chmod(0o755)
    harness.task("Make it ok", "t1")
    harness.plays(OK, {"write": {"signed": "x"}})
    harness.run()
    assert harness.state("t1") == "done"
    assert "the commit was refused" in harness.prompts[1]
    assert harness.log()[0] == "task(t1): Make it ok"


# Not done


def test_a_failure_is_told_once(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays("I am done.", {"write": {"other": "x"}}, OK)
    harness.run()
    assert harness.outcomes("t1") == ["no-change", "failed-checks", "done"]
    last = harness.prompts[2]
    assert last.count("`sh check.sh` failed") == 1
    assert "Check failed: " not in last  # the reason says so
    assert last.count("Nothing was changed") == 1
    assert last.count("## PREVIOUS ATTEMPTS") == 1
    assert "Progress Notes" not in last


def test_the_next_attempt_knows_what_was_denied(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"deny": [["Write", "docs/ is out of bounds"]], "say": "I could not."}, OK)
    harness.run()
    first = harness.attempts("t1")[0]
    assert first["outcome"] == "no-change"
    assert first["reason"] == "Nothing was changed; 1 tool call was denied"
    assert first["avoid"] == ["what was denied: Write: docs/ is out of bounds"]
    assert "docs/ is out of bounds" in harness.prompts[1]


def test_a_promise_without_a_change_is_not_done(harness: RunHarness) -> None:
    (harness.root / "ok").write_text("")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "green")
    harness.task("Make it ok", "t1")
    harness.plays("All is done.\n\n<promise>COMPLETE</promise>")
    ran = harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["no-change"]
    assert harness.state("t1") == "failed"
    assert "nothing was changed" in ran.out


def test_a_promise_with_failing_checks_is_not_done_and_the_next_prompt_shows_the_log(
    harness: RunHarness,
) -> None:
    harness.task("Make it ok", "t1")
    lie = {"write": {"no": "x"}, "say": "All green!\n\n<promise>COMPLETE</promise>"}
    harness.plays(lie, OK)
    harness.run()
    assert harness.outcomes("t1") == ["failed-checks", "done"]
    first, second = harness.prompts
    assert "PREVIOUS ATTEMPT" not in first
    assert "`sh check.sh` failed" in second
    assert "E: there is no file ok" in second
    assert "PREVIOUS ATTEMPT" in second


def test_a_failed_task_is_set_aside_and_its_dependents_are_not_started(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Then this", "t2", "--depends", "t1")
    harness.task("And that", "t3", check="test -f other")
    harness.plays({"write": {"no": "1"}}, {"write": {"no": "2"}}, {"write": {"other": "x"}})
    ran = harness.run("--attempts", "2", code=1)
    assert harness.state("t1") == "failed"
    assert harness.state("t2") == "open"
    assert harness.state("t3") == "done"
    assert "2 attempts did not work" in ran.out
    assert "t2  not started: waits for t1, which is failed" in ran.out
    # The next task began on the tree of before; what failed is kept.
    assert not (harness.root / "no").exists()
    assert git(harness.root, "show", "refs/kedge/set-aside/t1:no") == "2"
    assert harness.committed() == ["other"]


def test_the_work_of_a_failed_last_task_stays_in_the_tree(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"no": "1"}})
    harness.run("--attempts", "1", code=1)
    assert (harness.root / "no").read_text() == "1"


def test_an_agent_that_is_stuck_blocks_the_task(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays("I looked around.\n\n<stuck>Which harbour is meant?</stuck>")
    ran = harness.run(code=1)
    assert harness.outcomes("t1") == ["stuck"]
    task = harness.kedge("task", "show", "t1", "--json").data
    assert task["status"] == "blocked"
    assert task["blocked"]["reason"] == "Which harbour is meant?"
    assert "■ t1  blocked: Which harbour is meant?" in ran.out


def test_a_change_outside_the_scope_is_not_done(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", "--scope", "ok", "--scope", "src")
    harness.plays({"write": {"ok": "x", "docs/more.md": "x"}}, {"delete": ["docs/more.md"]})
    harness.run()
    assert harness.outcomes("t1") == ["out-of-scope", "done"]
    assert "docs/more.md: take that back" in harness.prompts[1]
    assert "docs/more.md" in harness.attempts("t1")[0]["reason"]


def test_a_weakened_test_is_not_done(harness: RunHarness) -> None:
    test = "def test_sail():\n    assert sail() == 1\n    assert sail() > 0\n"
    (harness.root / "test_app.py").write_text(test)
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "tests")
    harness.task("Make sail work", "t1", check="true")
    skip = ["test_app.py", "def test_sail", "import pytest\n@pytest.mark.skip\ndef test_sail"]
    harness.plays(
        {"replace": [skip], "write": {"app.py": "def sail(): return 0\n"}}, "I stop here."
    )
    harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["drifted"]
    assert "test skipped" in harness.attempts("t1")[0]["reason"]


def test_an_agent_cannot_close_its_own_task(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    close = f"{sys.executable} -m kedge task close t1 --reason 'trust me'"
    harness.plays({"run": [close], "write": {"no": "x"}})
    harness.run("--attempts", "1", code=1)
    assert harness.state("t1") == "failed"


# Limits


def test_the_time_limit_ends_a_hanging_agent_and_its_children(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays(*[{"children": 1, "daemons": 1, "deaf": True, "hang": HANG}] * 3)
    for seconds in (3, 12, 48):  # until it is long enough for the agent to start
        ran = harness.run("--time", f"{seconds}s", "--json", code=1)
        if agent.calls and len(agent.calls[-1].started) == 2:
            break
    assert harness.attempts("t1")[-1]["outcome"] == "time-limit"
    spent = harness.events(ran)[-1]["spent"]["seconds"]
    assert spent < seconds + PATIENCE  # benchmarks/run.py measures how soon
    call = agent.calls[-1]
    assert len(call.started) == 2
    assert not [pid for pid in (call.pid, *call.started) if is_alive(pid)]
    assert harness.state("t1") == "open"


def test_a_first_silence_uses_up_no_attempt(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    for seconds in (1, 4, 16):  # until it is long enough for the agent to start and work
        harness.plays({"hang": HANG}, OK)
        harness.run("--idle", f"{seconds}s", "--attempts", "1", "--max-iterations", "2", code=None)
        *before, last = harness.outcomes("t1")
        if last == "done":
            break
    assert last == "done"
    assert set(before) == {"silent"}


def test_the_budget_stops_an_agent_in_the_middle_of_a_task(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("And more", "t2")
    harness.plays({"tokens_in": 900_000, "hang": HANG}, OK)
    ran = harness.run("--budget-tokens", "500000", "--json", code=1)
    assert harness.outcomes("t1") == ["budget"]
    assert harness.state("t1") == "open"
    last = harness.events(ran)[-1]
    assert last["why"] == "budget"
    assert harness.agent is not None
    assert len(harness.agent.calls) == 1


def test_the_run_ends_when_its_money_is_spent(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"no": "1"}, "cost": 0.4}, {"write": {"no": "2"}, "cost": 0.7}, OK)
    ran = harness.run("--budget", "1.00", "--attempts", "9", "--json", code=1)
    last = harness.events(ran)[-1]
    assert last["why"] == "budget"
    assert round(last["spent"]["cost"], 6) == 1.1
    assert len(harness.prompts) == 2


def test_a_rate_limit_is_waited_for_without_using_up_an_attempt(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"fault": "rate-limit", "resets_in": 3}, OK)
    ran = harness.run("--attempts", "1", "--json")
    assert harness.outcomes("t1") == ["rate-limit", "done"]
    (waiting,) = [one for one in harness.events(ran) if one["event"] == "waiting"]
    assert waiting["seconds"] <= 3
    first, second = (datetime.fromisoformat(one["started_at"]) for one in harness.attempts("t1"))
    assert (second - first).total_seconds() >= 2  # the agent reports whole seconds


def test_too_many_iterations_or_failures_in_a_row_end_the_run(harness: RunHarness) -> None:
    for name in ("t1", "t2", "t3"):
        harness.task("Make it ok", name)
    harness.plays(*[{"write": {"no": str(n)}} for n in range(9)])
    ran = harness.run("--attempts", "9", "--max-iterations", "2", "--json", code=1)
    assert harness.events(ran)[-1]["why"] == "iterations"
    assert len(harness.prompts) == 2
    harness.kedge("config", "set", "run.failures", "3")
    ran = harness.run("--attempts", "9", "--json", code=1)
    assert harness.events(ran)[-1]["why"] == "failures"
    assert len(harness.prompts) == 5


def test_an_agent_without_credentials_ends_the_run_at_once(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("And more", "t2")
    harness.plays({"fault": "auth"}, OK)
    harness.run(code=1)
    assert harness.outcomes("t1") == ["agent-error"]
    assert len(harness.prompts) == 1
    assert harness.state("t1") == "open"


# Reviews


def verdict(approved: bool, *issues: str) -> str:
    import json

    rows = [{"severity": "major", "description": one, "location": "app.py:1"} for one in issues]
    return f"```json\n{json.dumps({'approved': approved, 'issues': rows})}\n```"


def test_a_reviewers_findings_go_back_to_the_implementer(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    better = {"write": {"ok": "better\n"}, "say": "Better."}
    harness.plays(OK, verdict(False, "ok says nothing"), better, verdict(True))
    harness.run("--roles", "implementer,reviewer")
    assert harness.state("t1") == "done"
    assert [(one["role"], one["outcome"]) for one in harness.attempts("t1")] == [
        ("implementer", "done"),
        ("reviewer", "rejected"),
        ("implementer", "done"),
        ("reviewer", "done"),
    ]
    _, review, again, second = harness.prompts
    assert "+yes" in review
    assert "Working alone" not in review
    assert "ok says nothing" in again
    assert "## Domain Reviewer Outcome" in second
    assert "ok says nothing" in second
    assert (harness.root / "ok").read_text() == "better\n"


def test_a_task_is_blocked_after_the_last_round_of_reviews(harness: RunHarness) -> None:
    harness.kedge("config", "set", "run.rounds", "2")
    harness.task("Make it ok", "t1")
    no = verdict(False, "not good enough")
    harness.plays(OK, no, {"write": {"ok": "2"}}, no, {"write": {"ok": "3"}}, no)
    harness.run("--roles", "implementer,reviewer", code=1)
    task = harness.kedge("task", "show", "t1", "--json").data
    assert task["status"] == "blocked"
    assert "refused it 2 times" in task["blocked"]["reason"]
    assert len(harness.prompts) == 4


def test_changes_of_a_reviewer_are_undone_and_kept_aside(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    meddling: dict[str, Any] = {"write": {"app.py": "x\n"}, "say": verdict(True)}
    harness.plays(OK, meddling)
    harness.run("--roles", "implementer,reviewer")
    assert (harness.root / "app.py").read_text() == "def sail(): ...\n"
    assert git(harness.root, "show", "refs/kedge/set-aside/t1-reviewer:app.py") == "x\n"
    assert harness.state("t1") == "done"


def test_a_budget_that_the_agent_does_not_report_is_refused(harness: RunHarness) -> None:
    harness.plays(OK, dialect="codex")
    assert "does not report its cost" in harness.run("--budget", "1", agent="codex", code=2).err
    ran = harness.run("--budget-tokens", "9", agent="command", code=2)
    assert "does not report its tokens" in ran.err


def test_the_agent_gets_the_rest_of_the_budget(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays({"write": {"no": "1"}, "cost": 0.4}, OK)
    harness.run("--budget", "1.00")
    assert [call.flag("--max-budget-usd") for call in agent.calls] == ["1.0", "0.6"]


def test_the_time_limit_ends_a_running_check(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", check=f"touch .git/started; sleep {HANG}")
    for seconds in (4, 16, 64):  # until it is long enough for the check to start
        harness.plays(OK)
        ran = harness.run("--time", f"{seconds}s", "--attempts", "1", "--json", code=1)
        if (harness.root / ".git" / "started").exists():
            break
    assert (harness.root / ".git" / "started").exists()
    assert set(harness.outcomes("t1")) == {"time-limit"}
    assert harness.state("t1") == "open"
    assert harness.events(ran)[-1]["spent"]["seconds"] < seconds + PATIENCE


def test_rate_limits_do_not_count_as_failures_in_a_row(harness: RunHarness) -> None:
    harness.kedge("config", "set", "run.failures", "2")
    harness.task("Make it ok", "t1")
    harness.plays(*[{"fault": "rate-limit", "resets_in": 0.1}] * 3, OK)
    harness.run()
    assert harness.outcomes("t1") == ["rate-limit"] * 3 + ["done"]


def test_an_agent_that_waits_for_its_provider_is_not_idle(harness: RunHarness) -> None:
    for seconds in (1, 4, 16):  # until it is long enough for the agent to start
        done = f"ok{seconds}"  # a file of its own: an ended attempt leaves what it wrote
        harness.task("Make it ok", f"t{seconds}", check=f"test -f {done}")
        harness.plays({**OK, "write": {done: ""}, "wait": 2 * seconds, "hang": 2 * seconds})
        idle = ("--idle", f"{seconds}s", "--max-iterations", "1")
        harness.run("--task", f"t{seconds}", *idle, code=None)
        (outcome,) = harness.outcomes(f"t{seconds}")
        if outcome == "done":
            break
    assert outcome == "done"


# Agents that try to cheat


def test_padding_does_not_hide_a_weakened_test(harness: RunHarness) -> None:
    (harness.root / "test_app.py").write_text("def test_sail():\n    assert sail() == 1\n")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "tests")
    harness.task("Make sail work", "t1", check="true")
    skip = ["test_app.py", "def test_sail", "import pytest\n@pytest.mark.skip\ndef test_sail"]
    harness.plays({"replace": [skip], "write": {"aaa.txt": "padding\n" * 300_000}})
    harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["drifted"]


def test_checks_that_an_agent_changed_are_put_back(harness: RunHarness) -> None:
    harness.task("First", "t1", check="test -f a")
    harness.task("Second", "t2", "--depends", "t1", check="test -f b")
    change = f"{sys.executable} -m kedge task update t2 --check true"
    harness.plays({"write": {"a": "x"}, "run": [change]}, {"write": {"c": "x"}})
    ran = harness.run("--attempts", "1", code=1)
    assert "put back what the agent changed: checks of t2" in ran.err
    assert harness.kedge("task", "show", "t2", "--json").data["checks"] == ["test -f b"]
    assert harness.outcomes("t2") == ["failed-checks"]


def test_a_check_that_pipes_into_a_shell_does_not_allow_the_shell(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", check="echo test -f ok | sh")
    agent = harness.plays(OK)
    harness.run()
    rules = agent.calls[0].flag("--settings") or ""
    assert "Bash(sh:*)" not in rules
    assert "Bash(echo test -f ok | sh)" in rules


def test_hooks_are_added_when_the_project_has_only_some(harness: RunHarness) -> None:
    (harness.root / ".claude").mkdir()
    hook = '{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "%s"}]}]}}'
    (harness.root / ".claude" / "settings.json").write_text(hook % "kedge hook claude")
    harness.task("Make it ok", "t1", "--scope", "ok")
    agent = harness.plays(OK)
    harness.run()
    assert "PreToolUse" in (agent.calls[0].flag("--settings") or "")


# Interrupts and resuming


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_is_recorded_and_leaves_no_process(harness: RunHarness, times: int) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays({"daemons": 1, "deaf": True, "hang": HANG}, OK)
    child = harness.start()
    wait_until(lambda: agent.calls and agent.calls[0].started)
    for _ in range(times):
        os.kill(child.pid, signal.SIGINT)
        time.sleep(0.05)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130, (out, err)
    assert b"Traceback" not in err
    assert times > 1 or b"error: interrupted\nhint: kedge run --resume continues it\n" in err
    (call,) = agent.calls
    assert not [pid for pid in (call.pid, *call.started) if is_alive(pid)]
    assert harness.outcomes("t1") == ["interrupted"]
    assert harness.state("t1") == "open"
    harness.kedge("run", "--resume")
    assert harness.state("t1") == "done"
    assert harness.outcomes("t1") == ["interrupted", "done"]


def test_an_interrupt_ends_a_running_check(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", check="echo $$ >pid; exec sleep 600")
    harness.plays(OK)
    child = harness.start()
    wait_until(
        lambda: (harness.root / "pid").exists() and (harness.root / "pid").read_text().strip()
    )
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    assert not is_alive(int((harness.root / "pid").read_text()))
    (one,) = harness.attempts("t1")
    assert (one["outcome"], one["tokens_in"]) == ("interrupted", 1000)
    assert harness.state("t1") == "open"


def test_a_killed_run_can_be_resumed(harness: RunHarness) -> None:
    harness.task("One", "a", check="test -f a")
    harness.task("Two", "b", "--depends", "a", check="test -f b")
    agent = harness.plays(
        {"write": {"a": "a"}}, {"write": {"half": "x"}, "hang": HANG}, {"write": {"b": "b"}}
    )
    child = harness.start()
    wait_until(lambda: len(agent.calls) == 2 and (harness.root / "half").exists())
    child.kill()
    child.communicate(timeout=PATIENCE)
    assert harness.state("b") == "in_progress"
    ran = harness.kedge("run", "--resume")
    assert not is_alive(agent.calls[1].pid)
    assert (harness.state("a"), harness.state("b")) == ("done", "done")
    assert harness.outcomes("b") == ["interrupted", "done"]
    assert "✓ a" in ran.out
    assert "✓ b" in ran.out
    assert harness.log()[:2] == ["task(b): Two", "task(a): One"]


def test_a_running_run_cannot_be_resumed(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays({"hang": HANG})
    child = harness.start()
    wait_until(lambda: agent.calls)
    ran = harness.kedge("run", "--resume", code=1)
    assert "is still running" in ran.err
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=PATIENCE)


def test_a_run_that_reached_a_limit_resumes_with_the_work_done_so_far(harness: RunHarness) -> None:
    harness.task("Make both", "t1", check="test -f a && test -f b")
    harness.plays({"write": {"a": "x"}}, {"write": {"b": "x"}})
    harness.run("--max-iterations", "1", code=1)
    harness.kedge("run", "--resume", "--max-iterations", "5")
    assert harness.committed() == ["a", "b"]


def test_only_limits_can_be_changed_on_resume(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays({"write": {"no": "x"}}, OK)
    harness.run("--max-iterations", "1", code=1)
    ran = harness.kedge("run", "--resume", "--dry-run", "--no-commit", code=2)
    assert "can only be combined with limits" in ran.err
    assert len(agent.calls) == 1


def test_a_check_does_not_outlive_a_killed_run(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", check="echo $$ >pid; exec sleep 600")
    agent = harness.plays(OK, "I stop here.")
    child = harness.start()
    wait_until(
        lambda: (harness.root / "pid").exists() and (harness.root / "pid").read_text().strip()
    )
    pid = int((harness.root / "pid").read_text())
    child.kill()
    child.communicate(timeout=PATIENCE)
    harness.kedge("run", "--resume", "--time", "1s", code=1)
    assert not is_alive(pid)
    assert agent.calls


def test_a_second_run_in_the_same_tree_is_refused(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("And this", "t2")
    agent = harness.plays({"hang": HANG})
    child = harness.start()
    wait_until(lambda: agent.calls)
    ran = harness.run("--task", "t2", code=1)
    assert "another run is at work in this tree" in ran.err
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=PATIENCE)


# Options


def test_a_dry_run_lists_ready_and_waiting_tasks(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Then this", "t2", "--depends", "t1")
    agent = harness.plays(OK)
    ran = harness.run("--dry-run")
    ready, _, waiting = ran.out.partition("not ready:\n")
    assert ready == "would run claude as implementer on:\n  t1  Make it ok\n"
    assert waiting == "  t2  Then this  (waits for t1, which is open)\n"
    assert agent.calls == []
    assert harness.state("t1") == "open"


def test_the_permissions_of_the_agent_are_printed(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays(OK)
    ran = harness.run()
    assert "it may edit files here and run the checks" in ran.err
    (call,) = agent.calls
    assert call.flag("--permission-mode") == "acceptEdits"
    assert "Bash(sh check.sh)" in (call.flag("--settings") or "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--task", "x", "--epic", "y"], "--task cannot be combined with --epic"),
        (["--time", "soon"], "'soon' is not a duration"),
        (["--roles", "reviewer"], "implementer is missing"),
        (["--roles", "implementer,cook"], "no role 'cook'"),
        (["--anchor-sources", "tea"], "unknown source 'tea'"),
    ],
)
def test_wrong_usage(harness: RunHarness, args: list[str], says: str) -> None:
    harness.plays(OK)
    ran = harness.run(*args, code=2)
    assert says in ran.err


@pytest.mark.parametrize("dialect", ["codex", "gemini", "opencode", "plain"])
def test_every_agent_dialect_works(harness: RunHarness, dialect: str) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"no": "x"}}, OK, dialect=dialect)
    agent = "command" if dialect == "plain" else dialect
    harness.run(agent=agent)
    assert harness.state("t1") == "done"
    assert harness.outcomes("t1") == ["failed-checks", "done"]
    assert "E: there is no file ok" in harness.prompts[1]


def test_unknown_tasks_are_refused(harness: RunHarness) -> None:
    harness.plays(OK)
    assert "no task 'nope'" in harness.run("--task", "nope", code=1).err
    assert "no task 'nope'" in harness.run("--epic", "nope", code=1).err


def test_a_run_that_finishes_at_its_limit_succeeds(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays(OK)
    ran = harness.run("--max-iterations", "1", "--json")
    assert harness.events(ran)[-1]["why"] == "nothing-ready"


@pytest.mark.parametrize("left", ["import unittest\n", "def test_sail():\n    pass\n"])
def test_a_test_without_its_assertions_is_not_done(harness: RunHarness, left: str) -> None:
    (harness.root / "test_app.py").write_text("def test_sail():\n    assert sail() == 1\n")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "tests")
    harness.task("Make sail work", "t1", check="true")
    harness.plays({"write": {"test_app.py": left}})
    harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["drifted"]


def test_a_warning_names_files_with_earlier_changes_of_the_user(harness: RunHarness) -> None:
    (harness.root / "app.py").write_text("mine = 1\n")
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"ok": "x", "app.py": "mine = 1\ntheirs = 2\n"}})
    assert "app.py had changes already" in harness.run().err


def test_set_aside_work_can_be_applied_again(harness: RunHarness) -> None:
    harness.task("Bad", "t1", check="false")
    harness.task("Good", "t2", check="test -f good")
    harness.plays({"write": {"bad": "x"}}, {"write": {"good": "x"}})
    harness.run("--attempts", "1", code=1)
    refs = ("refs/kedge/t1/start", "refs/kedge/set-aside/t1")
    patch = git(harness.root, "diff", *refs)
    git(harness.root, "diff", "--quiet")
    subprocess.run(["git", "apply", "--3way"], cwd=harness.root, input=patch, text=True, check=True)
    assert git(harness.root, "status", "--porcelain", "--", "bad", "good").split() == ["A", "bad"]


def test_a_task_whose_work_was_set_aside_can_be_reopened(harness: RunHarness) -> None:
    harness.task("Bad", "t1", check="test -f right")
    harness.task("Good", "t2", check="test -f good")
    harness.plays({"write": {"bad": "x"}}, {"write": {"good": "x"}}, {"write": {"right": "x"}})
    harness.run("--attempts", "1", code=1)
    harness.kedge("task", "reopen", "t1")  # as the run's hint says
    harness.run("--attempts", "1")
    assert harness.state("t1") == "done"
    assert harness.committed() == ["right"]


def test_a_killed_call_counts_as_an_iteration(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays({"hang": HANG}, OK)
    child = harness.start("--max-iterations", "1")
    wait_until(lambda: agent.calls)
    child.kill()
    child.communicate(timeout=PATIENCE)
    harness.kedge("run", "--resume", code=1)
    assert len(agent.calls) == 1


def test_the_agent_is_permitted_only_commands_that_the_user_approved(harness: RunHarness) -> None:
    (harness.root / "Makefile").write_text("test:\n\tpytest\n")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "a target")
    harness.task("Make it ok", "t1")
    harness.task("Make it better", "t2", check="sh check.sh; true")
    agent = harness.plays({"write": {"ok": "1"}}, {"write": {"ok": "2"}})
    harness.run("--task", "t1")
    harness.run("--task", "t2", "--trust")
    first, second = (" ".join(call.argv) for call in agent.calls)
    assert "sh check.sh" in first
    assert "make test" not in first
    assert "make test" in second
