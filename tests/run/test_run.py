"""What a run promises, each end to end with the fake agent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from run.yard import Yard, alive, until
from support import git

OK = {"write": {"ok": "yes\n"}, "say": "It is done.\n\n<promise>COMPLETE</promise>"}


# Done


def test_a_task_is_done_when_it_is_shown(yard: Yard) -> None:
    yard.task("Make it ok", "t1", "--accept", "there is a file ok", "--type", "feat")
    yard.plays(OK)
    ran = yard.run()
    assert yard.state("t1") == "done"
    assert "✓ t1  done: `sh check.sh` green on tree" in ran.out
    assert yard.log()[0] == "feat(t1): Make it ok"
    assert git(yard.root, "show", "--format=", "--name-only", "HEAD").split() == ["ok"]
    (one,) = yard.attempts("t1")
    assert one["outcome"] == "done"
    assert one["files"] == ["ok"]
    assert one["checks"][0]["exit_code"] == 0
    assert one["checks"][0]["tree"] == one["end_tree"]
    assert (one["tokens_in"], one["tokens_out"], one["cost_usd"]) == (1000, 50, 0.01)
    (prompt,) = yard.prompts
    assert "Task ID: t1" in prompt
    assert "there is a file ok" in prompt
    assert yard.agent is not None
    (call,) = yard.agent.calls
    assert call.env["KEDGE_TASK"] == "t1"
    assert call.env["TASK_CONTEXT_PATH"].endswith(".kedge/context/t1/context.json")
    assert "Working alone" in (call.flag("--append-system-prompt") or "")
    assert "SessionStart" in (call.flag("--settings") or "")


def test_three_tasks_in_their_order(yard: Yard) -> None:
    yard.task("One", "a", check="test -f a")
    yard.task("Two", "b", "--depends", "a", check="test -f b")
    yard.task("Three", "c", "--depends", "b", check="test -f c")
    yard.plays(*({"write": {name: name}} for name in "abc"))
    events = yard.events(yard.run("--json"))
    assert [one["task"] for one in events if one["event"] == "task"] == ["a", "b", "c"]
    assert events[0]["event"] == "run"
    last = events[-1]
    assert last["event"] == "summary"
    assert (last["done"], last["failed"], last["blocked"]) == (3, 0, 0)
    assert last["spent"]["tokens_in"] == 3000
    assert round(last["spent"]["cost"], 6) == 0.03
    assert yard.log()[:3] == ["task(c): Three", "task(b): Two", "task(a): One"]


def test_nothing_is_committed_where_that_is_not_wanted(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays(OK)
    yard.run("--no-commit")
    assert yard.state("t1") == "done"
    assert yard.log() == ["first"]
    assert (yard.root / "ok").exists()


def test_what_the_user_has_open_is_not_committed_with_it(yard: Yard) -> None:
    (yard.root / "mine.txt").write_text("mine\n")
    (yard.root / "app.py").write_text("def sail(): pass\n")
    git(yard.root, "add", "app.py")
    yard.task("Make it ok", "t1")
    yard.plays(OK)
    yard.run()
    assert git(yard.root, "show", "--format=", "--name-only", "HEAD").split() == ["ok"]
    assert (yard.root / "mine.txt").read_text() == "mine\n"
    assert git(yard.root, "diff", "--cached", "--name-only").split() == ["app.py"]


def test_a_hook_of_the_user_that_refuses_the_commit_sends_the_work_back(yard: Yard) -> None:
    hook = yard.root / ".git" / "hooks" / "pre-commit"
    hook.write_text('#!/bin/sh\ntest -f signed || { echo "unsigned work" >&2; exit 1; }\n')
    hook.chmod(0o755)
    yard.task("Make it ok", "t1")
    yard.plays(OK, {"write": {"signed": "x"}})
    yard.run()
    assert yard.state("t1") == "done"
    assert "the commit was refused" in yard.prompts[1]
    assert yard.log()[0] == "task(t1): Make it ok"


# Not done


def test_a_claim_with_an_empty_diff_is_not_done(yard: Yard) -> None:
    (yard.root / "ok").write_text("")
    git(yard.root, "add", ".")
    git(yard.root, "commit", "-qm", "green")
    yard.task("Make it ok", "t1")
    yard.plays("All is done.\n\n<promise>COMPLETE</promise>")
    ran = yard.run("--attempts", "1", code=1)
    assert yard.outcomes("t1") == ["no-change"]
    assert yard.state("t1") == "failed"
    assert "nothing was changed" in ran.out


def test_a_claim_with_red_checks_is_not_done_and_the_failure_is_in_the_next_prompt(
    yard: Yard,
) -> None:
    yard.task("Make it ok", "t1")
    lie = {"write": {"no": "x"}, "say": "All green!\n\n<promise>COMPLETE</promise>"}
    yard.plays(lie, OK)
    yard.run()
    assert yard.outcomes("t1") == ["failed-checks", "done"]
    first, second = yard.prompts
    assert "WHAT WENT WRONG" not in first
    assert "`sh check.sh` failed" in second
    assert "E: there is no file ok" in second
    assert "PREVIOUS ATTEMPT" in second


def test_exhausted_attempts_fail_the_task_and_leave_dependents_unready(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.task("Then this", "t2", "--depends", "t1")
    yard.task("And that", "t3", check="test -f other")
    yard.plays({"write": {"no": "1"}}, {"write": {"no": "2"}}, {"write": {"other": "x"}})
    ran = yard.run("--attempts", "2", code=1)
    assert yard.state("t1") == "failed"
    assert yard.state("t2") == "open"
    assert yard.state("t3") == "done"
    assert "2 attempts did not work" in ran.out
    assert "t2  not begun: waits for t1, which is failed" in ran.out
    # The next task began on the tree of before; what failed is kept.
    assert not (yard.root / "no").exists()
    assert git(yard.root, "show", "refs/kedge/set-aside/t1:no") == "2"
    assert git(yard.root, "show", "--format=", "--name-only", "HEAD").split() == ["other"]


def test_a_last_task_that_fails_is_left_in_the_tree(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"write": {"no": "1"}})
    yard.run("--attempts", "1", code=1)
    assert (yard.root / "no").read_text() == "1"


def test_an_agent_that_is_stuck_blocks_the_task(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays("I looked around.\n\n<stuck>Which harbour is meant?</stuck>")
    ran = yard.run(code=1)
    assert yard.outcomes("t1") == ["stuck"]
    task = yard.kedge("task", "show", "t1", "--json").data
    assert task["status"] == "blocked"
    assert task["blocked"]["reason"] == "Which harbour is meant?"
    assert "■ t1  blocked: Which harbour is meant?" in ran.out


def test_a_change_out_of_scope_is_not_done(yard: Yard) -> None:
    yard.task("Make it ok", "t1", "--scope", "ok", "--scope", "src")
    yard.plays({"write": {"ok": "x", "docs/more.md": "x"}}, {"delete": ["docs/more.md"]})
    yard.run()
    assert yard.outcomes("t1") == ["out-of-scope", "done"]
    assert "docs/more.md: take that back" in yard.prompts[1]
    assert "docs/more.md" in yard.attempts("t1")[0]["reason"]


def test_a_weakened_test_is_not_done(yard: Yard) -> None:
    test = "def test_sail():\n    assert sail() == 1\n    assert sail() > 0\n"
    (yard.root / "test_app.py").write_text(test)
    git(yard.root, "add", ".")
    git(yard.root, "commit", "-qm", "tests")
    yard.task("Make sail work", "t1", check="true")
    skip = ["test_app.py", "def test_sail", "import pytest\n@pytest.mark.skip\ndef test_sail"]
    yard.plays({"replace": [skip], "write": {"app.py": "def sail(): return 0\n"}}, "I stop here.")
    yard.run("--attempts", "1", code=1)
    assert yard.outcomes("t1") == ["drifted"]
    assert "test skipped" in yard.attempts("t1")[0]["reason"]


def test_an_agent_that_closes_its_task_itself_is_not_believed(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    close = f"{sys.executable} -m kedge task close t1 --reason 'trust me'"
    yard.plays({"run": [close], "write": {"no": "x"}})
    yard.run("--attempts", "1", code=1)
    assert yard.state("t1") == "failed"


# Limits


def test_a_hang_is_ended_with_its_children_soon_after_the_limit(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"children": 1, "daemons": 1, "deaf": True, "hang": 60})
    started = time.monotonic()
    ran = yard.run("--time", "3s", "--json", code=1)
    assert time.monotonic() - started < 15  # a guard: start-up and record are in it
    (one,) = yard.attempts("t1")
    assert one["outcome"] == "time-limit"
    spent = yard.events(ran)[-1]["spent"]["seconds"]
    assert spent < 3 + 5  # a guard; benchmarks/run.py measures it
    assert yard.agent is not None
    (call,) = yard.agent.calls
    assert len(call.started) == 2
    assert not [pid for pid in (call.pid, *call.started) if alive(pid)]
    assert yard.state("t1") == "open"


def test_silence_ends_the_agent_and_costs_no_attempt(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"hang": 60}, OK)
    yard.run("--idle", "1s", "--attempts", "1")
    assert yard.outcomes("t1") == ["time-limit", "done"]


def test_the_budget_stops_in_the_midst_of_a_task(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.task("And more", "t2")
    yard.plays({"tokens_in": 900_000, "hang": 30}, OK)
    ran = yard.run("--budget-tokens", "500000", "--json", code=1)
    assert yard.outcomes("t1") == ["budget"]
    assert yard.state("t1") == "open"
    last = yard.events(ran)[-1]
    assert last["why"] == "budget"
    assert yard.agent is not None
    assert len(yard.agent.calls) == 1


def test_money_is_counted(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"write": {"no": "1"}, "cost": 0.4}, {"write": {"no": "2"}, "cost": 0.7}, OK)
    ran = yard.run("--budget", "1.00", "--attempts", "9", "--json", code=1)
    last = yard.events(ran)[-1]
    assert last["why"] == "budget"
    assert round(last["spent"]["cost"], 6) == 1.1
    assert len(yard.prompts) == 2


def test_a_rate_limit_waits_and_costs_no_attempt(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"fault": "rate-limit", "resets_in": 2}, OK)
    ran = yard.run("--attempts", "1", "--json")
    assert yard.outcomes("t1") == ["rate-limit", "done"]
    (waited,) = [one for one in yard.events(ran) if one["event"] == "waiting"]
    assert 0 < waited["seconds"] <= 2


def test_iterations_and_failures_in_a_row_end_a_run(yard: Yard) -> None:
    for name in ("t1", "t2", "t3"):
        yard.task("Make it ok", name)
    yard.plays(*[{"write": {"no": str(n)}} for n in range(9)])
    ran = yard.run("--attempts", "9", "--max-iterations", "2", "--json", code=1)
    assert yard.events(ran)[-1]["why"] == "iterations"
    assert len(yard.prompts) == 2
    yard.kedge("config", "set", "run.failures", "3")
    ran = yard.run("--attempts", "9", "--json", code=1)
    assert yard.events(ran)[-1]["why"] == "failures"
    assert len(yard.prompts) == 5


def test_an_agent_that_cannot_work_ends_the_run_at_once(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.task("And more", "t2")
    yard.plays({"fault": "auth"}, OK)
    yard.run(code=1)
    assert yard.outcomes("t1") == ["agent-error"]
    assert len(yard.prompts) == 1
    assert yard.state("t1") == "open"


# Reviews


def verdict(approved: bool, *issues: str) -> str:
    import json

    rows = [{"severity": "major", "description": one, "location": "app.py:1"} for one in issues]
    return f"```json\n{json.dumps({'approved': approved, 'issues': rows})}\n```"


def test_a_reviewers_findings_go_back_to_the_implementer(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    better = {"write": {"ok": "better\n"}, "say": "Better."}
    yard.plays(OK, verdict(False, "ok says nothing"), better, verdict(True))
    yard.run("--roles", "implementer,reviewer")
    assert yard.state("t1") == "done"
    assert [(one["role"], one["outcome"]) for one in yard.attempts("t1")] == [
        ("implementer", "done"),
        ("reviewer", "rejected"),
        ("implementer", "done"),
        ("reviewer", "done"),
    ]
    _, review, again, second = yard.prompts
    assert "+yes" in review
    assert "Working alone" not in review
    assert "ok says nothing" in again
    assert "## Domain Reviewer Outcome" in second
    assert "ok says nothing" in second
    assert (yard.root / "ok").read_text() == "better\n"


def test_rounds_of_reviews_are_bounded(yard: Yard) -> None:
    yard.kedge("config", "set", "run.rounds", "2")
    yard.task("Make it ok", "t1")
    no = verdict(False, "not good enough")
    yard.plays(OK, no, {"write": {"ok": "2"}}, no, {"write": {"ok": "3"}}, no)
    yard.run("--roles", "implementer,reviewer", code=1)
    task = yard.kedge("task", "show", "t1", "--json").data
    assert task["status"] == "blocked"
    assert "refused it 2 times" in task["blocked"]["reason"]
    assert len(yard.prompts) == 4


def test_what_a_reviewer_changes_is_taken_back(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    meddling: dict[str, Any] = {"write": {"app.py": "x\n"}, "say": verdict(True)}
    yard.plays(OK, meddling)
    yard.run("--roles", "implementer,reviewer")
    assert (yard.root / "app.py").read_text() == "def sail(): ...\n"
    assert git(yard.root, "show", "refs/kedge/set-aside/t1-reviewer:app.py") == "x\n"
    assert yard.state("t1") == "done"


def test_budgets_that_could_never_hold_are_refused(yard: Yard) -> None:
    yard.plays(OK, dialect="codex")
    assert "does not say what it costs" in yard.run("--budget", "1", agent="codex", code=2).err
    ran = yard.run("--budget-tokens", "9", agent="command", code=2)
    assert "does not say what it uses" in ran.err


def test_the_agent_is_told_what_it_may_spend(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays({"write": {"no": "1"}, "cost": 0.4}, OK)
    yard.run("--budget", "1.00")
    assert [call.flag("--max-budget-usd") for call in agent.calls] == ["1.0", "0.6"]


def test_the_time_of_a_run_holds_while_a_check_runs(yard: Yard) -> None:
    yard.task("Make it ok", "t1", check="sleep 60")
    yard.plays(OK)
    ran = yard.run("--time", "4s", "--json", code=1)
    assert yard.outcomes("t1") == ["time-limit"]
    assert yard.events(ran)[-1]["spent"]["seconds"] < 20  # a guard


def test_rate_limits_are_no_failures_in_a_row(yard: Yard) -> None:
    yard.kedge("config", "set", "run.failures", "2")
    yard.task("Make it ok", "t1")
    yard.plays(*[{"fault": "rate-limit", "resets_in": 0.1}] * 3, OK)
    yard.run()
    assert yard.outcomes("t1") == ["rate-limit"] * 3 + ["done"]


def test_an_agent_that_said_that_it_waits_is_not_idle(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({**OK, "wait": 3, "hang": 4})
    yard.run("--idle", "2s")
    assert yard.outcomes("t1") == ["done"]


# What an agent might do to get round it


def test_padding_does_not_hide_a_weakened_test(yard: Yard) -> None:
    (yard.root / "test_app.py").write_text("def test_sail():\n    assert sail() == 1\n")
    git(yard.root, "add", ".")
    git(yard.root, "commit", "-qm", "tests")
    yard.task("Make sail work", "t1", check="true")
    skip = ["test_app.py", "def test_sail", "import pytest\n@pytest.mark.skip\ndef test_sail"]
    yard.plays({"replace": [skip], "write": {"aaa.txt": "padding\n" * 300_000}})
    yard.run("--attempts", "1", code=1)
    assert yard.outcomes("t1") == ["drifted"]


def test_the_checks_of_a_later_task_are_not_for_an_agent_to_change(yard: Yard) -> None:
    yard.task("First", "t1", check="test -f a")
    yard.task("Second", "t2", "--depends", "t1", check="test -f b")
    change = f"{sys.executable} -m kedge task update t2 --check true"
    yard.plays({"write": {"a": "x"}, "run": [change]}, {"write": {"c": "x"}})
    yard.run(code=1)
    task = yard.kedge("task", "show", "t2", "--json").data
    assert task["status"] == "blocked"
    assert "its checks were changed while the run went on" in task["blocked"]["reason"]


def test_a_shell_is_not_allowed_because_a_check_ends_in_one(yard: Yard) -> None:
    yard.task("Make it ok", "t1", check="echo test -f ok | sh")
    agent = yard.plays(OK)
    yard.run()
    rules = agent.calls[0].flag("--settings") or ""
    assert "Bash(sh:*)" not in rules
    assert "Bash(echo test -f ok | sh)" in rules


def test_half_of_the_hooks_are_not_all_of_them(yard: Yard) -> None:
    (yard.root / ".claude").mkdir()
    hook = '{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "%s"}]}]}}'
    (yard.root / ".claude" / "settings.json").write_text(hook % "kedge hook claude")
    yard.task("Make it ok", "t1", "--scope", "ok")
    agent = yard.plays(OK)
    yard.run()
    assert "PreToolUse" in (agent.calls[0].flag("--settings") or "")


# Ending it


@pytest.mark.parametrize("times", [1, 2])
def test_interrupting_leaves_true_records_and_no_process(yard: Yard, times: int) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays({"daemons": 1, "deaf": True, "hang": 60}, OK)
    child = yard.started()
    until(lambda: agent.calls and agent.calls[0].started)
    for _ in range(times):
        os.kill(child.pid, signal.SIGINT)
        time.sleep(0.05)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 130, (out, err)
    assert b"Traceback" not in err
    (call,) = agent.calls
    assert not [pid for pid in (call.pid, *call.started) if alive(pid)]
    assert yard.outcomes("t1") == ["interrupted"]
    assert yard.state("t1") == "open"
    yard.kedge("run", "--resume")
    assert yard.state("t1") == "done"
    assert yard.outcomes("t1") == ["interrupted", "done"]


def test_interrupting_a_check_ends_it(yard: Yard) -> None:
    yard.task("Make it ok", "t1", check="echo $$ >pid; exec sleep 600")
    yard.plays(OK)
    child = yard.started()
    until(lambda: (yard.root / "pid").exists() and (yard.root / "pid").read_text().strip())
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 130
    assert not alive(int((yard.root / "pid").read_text()))
    (one,) = yard.attempts("t1")
    assert (one["outcome"], one["tokens_in"]) == ("interrupted", 1000)
    assert yard.state("t1") == "open"


def test_a_killed_run_is_gone_on_with(yard: Yard) -> None:
    yard.task("One", "a", check="test -f a")
    yard.task("Two", "b", "--depends", "a", check="test -f b")
    agent = yard.plays(
        {"write": {"a": "a"}}, {"write": {"half": "x"}, "hang": 60}, {"write": {"b": "b"}}
    )
    child = yard.started()
    until(lambda: len(agent.calls) == 2 and (yard.root / "half").exists())
    child.kill()
    child.communicate(timeout=30)
    assert yard.state("b") == "in_progress"
    ran = yard.kedge("run", "--resume")
    assert not alive(agent.calls[1].pid)
    assert (yard.state("a"), yard.state("b")) == ("done", "done")
    assert yard.outcomes("b") == ["interrupted", "done"]
    assert "✓ a" in ran.out
    assert "✓ b" in ran.out
    assert yard.log()[:2] == ["task(b): Two", "task(a): One"]


def test_a_run_that_is_alive_is_not_taken_over(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays({"hang": 60})
    child = yard.started()
    until(lambda: agent.calls)
    ran = yard.kedge("run", "--resume", code=1)
    assert "is still running" in ran.err
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=30)


def test_a_run_that_a_limit_ended_goes_on_with_what_was_done(yard: Yard) -> None:
    yard.task("Make both", "t1", check="test -f a && test -f b")
    yard.plays({"write": {"a": "x"}}, {"write": {"b": "x"}})
    yard.run("--max-iterations", "1", code=1)
    yard.kedge("run", "--resume", "--max-iterations", "5")
    assert git(yard.root, "show", "--format=", "--name-only", "HEAD").split() == ["a", "b"]


def test_a_run_goes_on_as_it_was_begun(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays({"write": {"no": "x"}}, OK)
    yard.run("--max-iterations", "1", code=1)
    ran = yard.kedge("run", "--resume", "--dry-run", "--no-commit", code=2)
    assert "only limits can be given" in ran.err
    assert len(agent.calls) == 1


def test_a_check_does_not_outlive_a_killed_run(yard: Yard) -> None:
    yard.task("Make it ok", "t1", check="echo $$ >pid; exec sleep 600")
    agent = yard.plays(OK, "I stop here.")
    child = yard.started()
    until(lambda: (yard.root / "pid").exists() and (yard.root / "pid").read_text().strip())
    pid = int((yard.root / "pid").read_text())
    child.kill()
    child.communicate(timeout=30)
    yard.kedge("run", "--resume", "--time", "1s", code=1)
    assert not alive(pid)
    assert agent.calls


def test_two_runs_do_not_share_a_tree(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.task("And this", "t2")
    agent = yard.plays({"hang": 60})
    child = yard.started()
    until(lambda: agent.calls)
    ran = yard.run("--task", "t2", code=1)
    assert "another run is at work in this tree" in ran.err
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=30)


# Around it


def test_a_dry_run_says_what_would_be_done(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.task("Then this", "t2", "--depends", "t1")
    agent = yard.plays(OK)
    ran = yard.run("--dry-run")
    assert "t1  Make it ok" in ran.out
    assert "waits for t1" in ran.out
    assert agent.calls == []
    assert yard.state("t1") == "open"


def test_what_it_may_do_is_said(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays(OK)
    ran = yard.run()
    assert "it may edit files here, and run the checks" in ran.err
    (call,) = agent.calls
    assert call.flag("--permission-mode") == "acceptEdits"
    assert "Bash(sh check.sh)" in (call.flag("--settings") or "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--task", "x", "--epic", "y"], "--task or --epic, not both"),
        (["--time", "soon"], "'soon' is no duration"),
        (["--roles", "reviewer"], "implementer is missing"),
        (["--roles", "implementer,cook"], "no role 'cook'"),
        (["--anchor-sources", "tea"], "no source 'tea'"),
    ],
)
def test_wrong_usage(yard: Yard, args: list[str], says: str) -> None:
    yard.plays(OK)
    ran = yard.run(*args, code=2)
    assert says in ran.err


@pytest.mark.parametrize("dialect", ["codex", "gemini", "opencode", "plain"])
def test_other_agents(yard: Yard, dialect: str) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"write": {"no": "x"}}, OK, dialect=dialect)
    agent = "command" if dialect == "plain" else dialect
    yard.run(agent=agent)
    assert yard.state("t1") == "done"
    assert yard.outcomes("t1") == ["failed-checks", "done"]
    assert "E: there is no file ok" in yard.prompts[1]


def test_tasks_that_are_not_there_are_refused(yard: Yard) -> None:
    yard.plays(OK)
    assert "no task 'nope'" in yard.run("--task", "nope", code=1).err
    assert "no task 'nope'" in yard.run("--epic", "nope", code=1).err


def test_a_run_that_is_done_at_its_limit_is_done(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays(OK)
    ran = yard.run("--max-iterations", "1", "--json")
    assert yard.events(ran)[-1]["why"] == "nothing-ready"


@pytest.mark.parametrize("left", ["import unittest\n", "def test_sail():\n    pass\n"])
def test_a_test_that_loses_what_it_tests_is_not_done(yard: Yard, left: str) -> None:
    (yard.root / "test_app.py").write_text("def test_sail():\n    assert sail() == 1\n")
    git(yard.root, "add", ".")
    git(yard.root, "commit", "-qm", "tests")
    yard.task("Make sail work", "t1", check="true")
    yard.plays({"write": {"test_app.py": left}})
    yard.run("--attempts", "1", code=1)
    assert yard.outcomes("t1") == ["drifted"]


def test_changes_of_the_user_in_a_file_that_is_committed_are_told(yard: Yard) -> None:
    (yard.root / "app.py").write_text("mine = 1\n")
    yard.task("Make it ok", "t1")
    yard.plays({"write": {"ok": "x", "app.py": "mine = 1\ntheirs = 2\n"}})
    assert "app.py had changes already" in yard.run().err


def test_what_was_set_aside_comes_back_alone(yard: Yard) -> None:
    """As the guide says."""
    yard.task("Bad", "t1", check="false")
    yard.task("Good", "t2", check="test -f good")
    yard.plays({"write": {"bad": "x"}}, {"write": {"good": "x"}})
    yard.run("--attempts", "1", code=1)
    refs = ("refs/kedge/t1/start", "refs/kedge/set-aside/t1")
    patch = git(yard.root, "diff", *refs)
    git(yard.root, "diff", "--quiet")
    subprocess.run(["git", "apply", "--3way"], cwd=yard.root, input=patch, text=True, check=True)
    assert git(yard.root, "status", "--porcelain", "--", "bad", "good").split() == ["A", "bad"]


def test_a_killed_call_counts(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays({"hang": 60}, OK)
    child = yard.started("--max-iterations", "1")
    until(lambda: agent.calls)
    child.kill()
    child.communicate(timeout=30)
    yard.kedge("run", "--resume", code=1)
    assert len(agent.calls) == 1
