"""Runs in unusual repositories, and with agents and checks that misbehave."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from run.harness import RunHarness
from support import git

OK = {"write": {"ok": "yes\n"}, "say": "It is done."}
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def assert_clear_failure(harness: RunHarness, *args: str, says: str, **more: Any) -> None:
    """Assert that the run ends with one error line and one hint line."""
    ran = harness.run(*args, code=1, **more)
    lines = [line for line in ran.err.splitlines() if line.startswith(("error: ", "hint: "))]
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"], ran
    assert says in ran.out + ran.err


# Unusual repositories


def test_the_first_commit_of_a_repository_can_come_from_a_run(harness: RunHarness) -> None:
    git(harness.root, "update-ref", "-d", "HEAD")
    git(harness.root, "rm", "-rq", "--cached", ".")
    harness.task("Make it ok", "t1")
    harness.plays(OK)
    harness.run()
    assert harness.log() == ["task(t1): Make it ok"]
    assert harness.committed() == ["ok"]


@pytest.mark.parametrize(
    "damage",
    [
        "rm -rf .kedge",
        "rm -rf .kedge; touch .kedge",
        "rm -rf .git/kedge",
        "rm -rf .git",
        "echo '{oops' >.kedge/tasks.jsonl",
    ],
)
def test_json_ends_with_a_summary_whatever_an_agent_removes(
    harness: RunHarness, damage: str
) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it better", "t2")
    harness.plays({**OK, "run": [damage]})
    ran = harness.run("--json", code=None)
    events = harness.events(ran)
    summary = events[-1]
    assert summary["event"] == "summary", ran
    assert ran.code == 1
    assert summary["why"]
    assert summary["results"][0]["task"] == "t1"
    assert (summary["results"][0]["state"] == "done") == (damage == "rm -rf .git/kedge")
    assert summary["spent"]["iterations"]
    text = harness.run(code=None).err
    assert "a bug in kedge" not in ran.err + text


def test_a_run_on_a_detached_head_moves_no_branch(harness: RunHarness) -> None:
    git(harness.root, "checkout", "-q", "--detach")
    harness.task("Make it ok", "t1")
    harness.plays(OK)
    harness.run()
    assert harness.log() == ["task(t1): Make it ok", "first"]
    assert git(harness.root, "log", "--format=%s", "main").split() == ["first"]


def test_a_description_of_a_megabyte_is_cut_in_the_prompt(harness: RunHarness) -> None:
    words = "many words " * 90_000
    about = ("--id", "t1", "--check", "test -f ok", "--description", "-")
    harness.kedge("task", "add", "Make it ok", *about, input=words)
    harness.plays(OK)
    harness.run()
    assert harness.state("t1") == "done"
    assert len(harness.prompts[0]) < 150_000


# Checks


def test_a_check_that_never_ends_fails(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", check="sleep 3600")
    harness.plays(OK)
    harness.run("--attempts", "1", code=1, env={"KEDGE_CONTEXT_CHECK_TIMEOUT": "1"})
    assert harness.outcomes("t1") == ["failed-checks"]


def test_a_check_that_fails_in_the_last_iteration_is_recorded_as_failed(
    harness: RunHarness,
) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"no": "x"}})
    harness.run("--max-iterations", "1", "--time", "1h", code=1)
    assert harness.outcomes("t1") == ["failed-checks"]


def test_checks_run_again_after_one_of_them_changed_the_tree(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", "--check", "echo x >made", check="test -f ok")
    harness.plays(OK)
    harness.run()
    (one,) = harness.attempts("t1")
    assert {check["tree"] for check in one["checks"]} == {one["end_tree"]}
    assert harness.committed() == ["made", "ok"]


def test_checks_that_change_the_tree_every_time_prove_nothing(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1", "--check", "echo x >>b", check="echo x >>a")
    harness.plays(OK, OK)
    harness.run("--attempts", "2", code=1)
    assert harness.outcomes("t1") == ["failed-checks", "failed-checks"]
    assert "a check changes files each time it runs" in harness.prompts[1]


def test_a_change_after_the_checks_is_not_proven(harness: RunHarness) -> None:
    """A thread writes all the time, as an editor or a watcher would."""
    harness.task("Make it ok", "t1")
    harness.plays(OK)
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.wait(0.002):
            (harness.root / "late").write_text(str(number := number + 1))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        harness.run("--attempts", "1", code=1)
    finally:
        over.set()
        writer.join()
    (one,) = harness.attempts("t1")
    assert (one["outcome"], one["checks"][0]["passed"]) == ("failed-checks", True)
    assert "files were changed after the checks had run" in one["reason"]
    assert harness.log() == ["first"]


# Agents


def test_an_agent_that_deletes_the_repository(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": ["rm -rf .git"]})
    assert_clear_failure(harness, says="kedge cannot inspect what the agent left")
    git(harness.root, "init", "-q")
    assert harness.outcomes("t1") == ["agent-error"]
    assert harness.state("t1") == "open"


def test_an_agent_that_deletes_its_context(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": ["rm -rf .kedge/context"]})
    assert_clear_failure(harness, says="t1 has no context")
    assert harness.outcomes("t1") == ["agent-error"]
    assert harness.state("t1") == "open"


def test_an_agent_that_damages_the_tasks(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    tasks = harness.root / ".kedge" / "tasks.jsonl"
    harness.plays({**OK, "run": ["echo '{oops' >>.kedge/tasks.jsonl"]}, {"write": {"ok": "2"}})
    assert_clear_failure(harness, says=".kedge/tasks.jsonl:2: not JSON")
    whole = [line for line in tasks.read_text().splitlines() if line != "{oops"]
    tasks.write_text("\n".join([*whole, ""]))
    assert harness.outcomes("t1") == ["agent-error"]
    harness.kedge("run", "--resume")
    assert harness.outcomes("t1") == ["agent-error", "done"]


def test_a_missing_program_is_reported(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    ran = harness.kedge("run", "--command", "./nothing", code=2)
    assert "no program './nothing'" in ran.err
    assert harness.outcomes("t1") == []
    (harness.root / "gone").write_text("#!/nothing/at/all\n")
    (harness.root / "gone").chmod(0o755)
    harness.kedge("run", "--command", "./gone", code=1)
    assert harness.outcomes("t1") == ["agent-error"]
    assert harness.state("t1") == "open"


def test_an_agent_that_starts_a_run_itself(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("And more", "t2", check="test -f more")
    again = f"{sys.executable} -m kedge run --task t2 --command true"
    harness.plays({**OK, "run": [f"{again} >.git/said 2>&1"]}, {"write": {"more": "x"}})
    harness.run()
    assert "another run is at work in this tree" in (harness.root / ".git" / "said").read_text()
    assert (harness.outcomes("t1"), harness.outcomes("t2")) == (["done"], ["done"])


def test_a_full_disk_is_reported(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays(OK)
    program = " ".join(agent.program)
    script = harness.scratch / "run.sh"
    script.write_text(f"ulimit -f 4\n{sys.executable} -m kedge run --command '{program}'\n")
    done = subprocess.run(
        ["sh", script], cwd=harness.root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "cannot write" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert agent.calls == []
    assert harness.state("t1") == "open"


# Resuming


def test_resuming_a_finished_run_calls_no_agent(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    agent = harness.plays(OK)
    harness.run()
    ran = harness.kedge("run", "--resume")
    assert "✓ t1" in ran.out
    assert len(agent.calls) == 1
    assert "there is no run 'r9'" in harness.kedge("run", "--resume", "r9", code=1).err


# Secrets


def list_leaks(root: Path) -> list[Path]:
    """Return the files that kedge wrote with the key in them."""
    files = [*(root / ".kedge").rglob("*"), *(root / ".git" / "kedge").rglob("*")]
    return [path for path in files if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("form", ["--json", "-v"])
def test_a_key_in_the_agents_output_is_neither_shown_nor_stored(
    harness: RunHarness, form: str
) -> None:
    harness.task("Make it ok", "t1")
    first = {"run": [f"echo {KEY}"], "deny": [["Bash", f"not {KEY}"]], "say": f"I use {KEY}."}
    harness.plays({**first, "write": {"no": "x"}}, f"<stuck>Is {KEY} right?</stuck>")
    ran = harness.run(form, code=1)
    assert KEY not in ran.out + ran.err
    assert KEY not in "".join(harness.prompts)
    assert harness.outcomes("t1") == ["failed-checks", "stuck"]
    assert "[redacted:github-token]" in harness.attempts("t1")[1]["reason"]
    assert list_leaks(harness.root) == []
    if form == "--json":
        told = {one["event"] for one in harness.events(ran) if "[redacted:" in json.dumps(one)}
        assert told == {"said", "call", "denied", "decision", "result", "summary"}


def test_a_key_in_the_changes_fails_the_attempt_and_the_next_prompt_says_so(
    harness: RunHarness,
) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"ok": f"token {KEY}\n"}}, {"write": {"ok": "fine\n"}})
    harness.run()
    assert harness.outcomes("t1") == ["failed-checks", "done"]
    assert "the diff of ok seems to hold a secret" in harness.prompts[1]
    assert KEY not in git(harness.root, "log", "-p")
    assert list_leaks(harness.root) == []


def test_a_check_that_prints_a_key_proves_nothing(harness: RunHarness) -> None:
    (harness.root / ".git" / "key").write_text(KEY)
    harness.task("Make it ok", "t1", check="cat .git/key")
    harness.plays(OK, OK)
    ran = harness.run("--attempts", "2", code=1)
    assert harness.outcomes("t1") == ["failed-checks", "failed-checks"]
    assert "the log seems to hold a secret" in ran.err
    assert "it must not print that" in harness.prompts[1]
    assert KEY not in ran.out + ran.err + "".join(harness.prompts)
    assert list_leaks(harness.root) == []
