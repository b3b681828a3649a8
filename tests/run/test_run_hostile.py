"""Runs in odd places, with agents and checks that misbehave: a clear end, and true records."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from run.yard import Yard
from support import git

OK = {"write": {"ok": "yes\n"}, "say": "It is done."}
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def clear(yard: Yard, *args: str, says: str, **more: Any) -> None:
    """The run ends with one line that says what, and one that says what to do."""
    ran = yard.run(*args, code=1, **more)
    lines = [line for line in ran.err.splitlines() if line.startswith(("error: ", "hint: "))]
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"], ran
    assert says in ran.out + ran.err


# Where it runs


def test_a_repository_without_a_commit(yard: Yard) -> None:
    git(yard.root, "update-ref", "-d", "HEAD")
    git(yard.root, "rm", "-rq", "--cached", ".")
    yard.task("Make it ok", "t1")
    yard.plays(OK)
    yard.run()
    assert yard.log() == ["task(t1): Make it ok"]
    assert git(yard.root, "show", "--format=", "--name-only", "HEAD").split() == ["ok"]


def test_a_detached_head(yard: Yard) -> None:
    git(yard.root, "checkout", "-q", "--detach")
    yard.task("Make it ok", "t1")
    yard.plays(OK)
    yard.run()
    assert yard.log() == ["task(t1): Make it ok", "first"]
    assert git(yard.root, "log", "--format=%s", "main").split() == ["first"]


def test_a_description_of_nearly_a_megabyte(yard: Yard) -> None:
    words = "many words " * 90_000
    about = ("--id", "t1", "--check", "test -f ok", "--description", "-")
    yard.kedge("task", "add", "Make it ok", *about, input=words)
    yard.plays(OK)
    yard.run()
    assert yard.state("t1") == "done"
    assert len(yard.prompts[0]) < 100_000


# Checks


def test_a_check_that_never_ends_is_ended(yard: Yard) -> None:
    yard.task("Make it ok", "t1", check="sleep 3600")
    yard.plays(OK)
    yard.run("--attempts", "1", code=1, env={"KEDGE_CONTEXT_CHECK_TIMEOUT": "1"})
    assert yard.outcomes("t1") == ["failed-checks"]


def test_a_check_has_no_more_time_than_the_run(yard: Yard) -> None:
    yard.task("Make it ok", "t1", check="sleep 3600")
    yard.plays(OK)
    yard.run("--attempts", "1", "--time", "3s", code=1)
    assert yard.outcomes("t1") == ["time-limit"]
    assert yard.state("t1") == "open"


def test_a_check_that_fails_on_the_last_iteration_has_failed(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"write": {"no": "x"}})
    yard.run("--max-iterations", "1", "--time", "1h", code=1)
    assert yard.outcomes("t1") == ["failed-checks"]


def test_all_checks_are_green_on_the_tree_that_a_check_has_left(yard: Yard) -> None:
    yard.task("Make it ok", "t1", "--check", "echo x >made", check="test -f ok")
    yard.plays(OK)
    yard.run()
    (one,) = yard.attempts("t1")
    assert {check["tree"] for check in one["checks"]} == {one["end_tree"]}
    assert git(yard.root, "show", "--format=", "--name-only", "HEAD").split() == ["made", "ok"]


def test_checks_that_never_leave_the_tree_alone_show_nothing(yard: Yard) -> None:
    yard.task("Make it ok", "t1", "--check", "echo x >>b", check="echo x >>a")
    yard.plays(OK, OK)
    yard.run("--attempts", "2", code=1)
    assert yard.outcomes("t1") == ["failed-checks", "failed-checks"]
    assert "a check changes files each time it runs" in yard.prompts[1]


def test_what_is_changed_after_the_checks_is_not_taken_for_proven(yard: Yard) -> None:
    """Somebody else is writing all the time, as an editor or a watcher would."""
    yard.task("Make it ok", "t1")
    yard.plays(OK)
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.wait(0.002):
            (yard.root / "late").write_text(str(number := number + 1))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yard.run("--attempts", "1", code=1)
    finally:
        over.set()
        writer.join()
    (one,) = yard.attempts("t1")
    assert (one["outcome"], one["checks"][0]["passed"]) == ("failed-checks", True)
    assert "files were changed after the checks had run" in one["reason"]
    assert yard.log() == ["first"]


# Agents


def test_an_agent_that_deletes_the_repository(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({**OK, "run": ["rm -rf .git"]})
    clear(yard, says="what it left cannot be looked at")
    git(yard.root, "init", "-q")
    assert yard.outcomes("t1") == ["agent-error"]
    assert yard.state("t1") == "open"


def test_an_agent_that_deletes_its_context(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({**OK, "run": ["rm -rf .kedge/context"]})
    clear(yard, says="t1 has no context")
    assert yard.outcomes("t1") == ["agent-error"]
    assert yard.state("t1") == "open"


def test_an_agent_that_damages_the_tasks(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    tasks = yard.root / ".kedge" / "tasks.jsonl"
    yard.plays({**OK, "run": ["echo '{oops' >>.kedge/tasks.jsonl"]}, {"write": {"ok": "2"}})
    clear(yard, says=".kedge/tasks.jsonl:2: not JSON")
    whole = [line for line in tasks.read_text().splitlines() if line != "{oops"]
    tasks.write_text("\n".join([*whole, ""]))
    assert yard.outcomes("t1") == ["agent-error"]
    yard.kedge("run", "--resume")
    assert yard.outcomes("t1") == ["agent-error", "done"]


def test_an_agent_that_is_not_there(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    ran = yard.kedge("run", "--command", "./nothing", code=2)
    assert "no program './nothing'" in ran.err
    assert yard.outcomes("t1") == []
    (yard.root / "gone").write_text("#!/nothing/at/all\n")
    (yard.root / "gone").chmod(0o755)
    yard.kedge("run", "--command", "./gone", code=1)
    assert yard.outcomes("t1") == ["agent-error"]
    assert yard.state("t1") == "open"


def test_an_agent_that_starts_a_run_itself(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.task("And more", "t2", check="test -f more")
    again = f"{sys.executable} -m kedge run --task t2 --command true"
    yard.plays({**OK, "run": [f"{again} >.git/said 2>&1"]}, {"write": {"more": "x"}})
    yard.run()
    assert "another run is at work in this tree" in (yard.root / ".git" / "said").read_text()
    assert (yard.outcomes("t1"), yard.outcomes("t2")) == (["done"], ["done"])


def test_no_room_on_the_disk(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays(OK)
    program = " ".join(agent.program)
    script = yard.scratch / "run.sh"
    script.write_text(f"ulimit -f 4\n{sys.executable} -m kedge run --command '{program}'\n")
    done = subprocess.run(
        ["sh", script], cwd=yard.root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "cannot write" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert agent.calls == []
    assert yard.state("t1") == "open"


# Resuming


def test_a_finished_run_has_nothing_to_go_on_with(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    agent = yard.plays(OK)
    yard.run()
    ran = yard.kedge("run", "--resume")
    assert "✓ t1" in ran.out
    assert len(agent.calls) == 1
    assert "there is no run 'r9'" in yard.kedge("run", "--resume", "r9", code=1).err


# Secrets


def written(root: Path) -> list[Path]:
    """What kedge has written that has the key in it."""
    kept = [*(root / ".kedge").rglob("*"), *(root / ".git" / "kedge").rglob("*")]
    return [path for path in kept if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("form", ["--json", "-v"])
def test_what_an_agent_says_of_a_key_is_neither_shown_nor_kept(yard: Yard, form: str) -> None:
    yard.task("Make it ok", "t1")
    first = {"run": [f"echo {KEY}"], "deny": [["Bash", f"not {KEY}"]], "say": f"I use {KEY}."}
    yard.plays({**first, "write": {"no": "x"}}, f"<stuck>Is {KEY} right?</stuck>")
    ran = yard.run(form, code=1)
    assert KEY not in ran.out + ran.err
    assert KEY not in "".join(yard.prompts)
    assert yard.outcomes("t1") == ["failed-checks", "stuck"]
    assert "[redacted:github-token]" in yard.attempts("t1")[1]["reason"]
    assert written(yard.root) == []
    if form == "--json":
        told = {one["event"] for one in yard.events(ran) if "[redacted:" in json.dumps(one)}
        assert told == {"said", "call", "denied", "decision", "result", "summary"}


def test_a_key_in_the_work_is_not_done_and_the_agent_is_told(yard: Yard) -> None:
    yard.task("Make it ok", "t1")
    yard.plays({"write": {"ok": f"token {KEY}\n"}}, {"write": {"ok": "fine\n"}})
    yard.run()
    assert yard.outcomes("t1") == ["failed-checks", "done"]
    assert "the diff of ok seems to hold a secret" in yard.prompts[1]
    assert KEY not in git(yard.root, "log", "-p")
    assert written(yard.root) == []


def test_a_check_that_prints_a_key_shows_nothing(yard: Yard) -> None:
    (yard.root / ".git" / "key").write_text(KEY)
    yard.task("Make it ok", "t1", check="cat .git/key")
    yard.plays(OK, OK)
    ran = yard.run("--attempts", "2", code=1)
    assert yard.outcomes("t1") == ["failed-checks", "failed-checks"]
    assert "the log seems to hold a secret" in ran.err
    assert "it must not print that" in yard.prompts[1]
    assert KEY not in ran.out + ran.err + "".join(yard.prompts)
    assert written(yard.root) == []
