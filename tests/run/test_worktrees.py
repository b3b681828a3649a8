"""What a run in work trees promises, each end to end with the fake agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Codex, environment
from run.yard import Yard, alive, until
from support import Kedge, assert_clear, git

from kedge.testing.fake_model import FakeModel

KEDGE = f"{sys.executable} -m kedge"
MINE = {"run": ["echo mine > $KEDGE_TASK.txt"]}


def add(yard: Yard, *ids: str, **more: str) -> None:
    for name in ids:
        yard.task(f"Make {name}", name, *more.get(name, "").split(), check=f"test -f {name}.txt")


def tree(yard: Yard, task: str) -> Path:
    return yard.root / ".kedge" / "worktrees" / task


def branches(yard: Yard) -> list[str]:
    return git(yard.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/kedge").split()


# A branch for each task


def test_a_task_is_done_on_its_branch_and_the_users_tree_is_left_alone(yard: Yard) -> None:
    root = yard.root
    (root / "app.py").write_text("def sail(): 'mine, staged'\n")
    git(root, "stash", "push", "--quiet", "--include-untracked")
    (root / "app.py").write_text("def sail(): 'staged'\n")
    git(root, "add", "app.py")
    (root / "app.py").write_text("def sail(): 'not staged'\n")
    (root / "notes.txt").write_text("mine\n")
    add(yard, "t1")

    def mine() -> dict[str, bytes]:
        own = [root / name for name in (".git/index", ".git/HEAD", ".git/logs/HEAD")]
        own += [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
        kept = {str(path): path.read_bytes() for path in own if ".kedge" not in path.parts}
        return kept | {"stash": git(root, "stash", "list").encode()}

    before = mine()
    agent = yard.plays(MINE)
    ran = yard.run("--worktree")
    assert mine() == before
    assert yard.state("t1") == "done"
    assert "✓ t1  done: `test -f t1.txt` green on tree" in ran.out
    assert "git merge kedge/t1" in ran.out
    assert "what you have open is not in it" in ran.err
    assert yard.log() == ["first"]
    assert git(root, "log", "--format=%s", "kedge/t1").split("\n")[0] == "task(t1): Make t1"
    shown = git(root, "show", "--format=", "--name-only", "kedge/t1").split()
    assert shown == ["t1.txt"]
    assert git(root, "show", "kedge/t1:app.py") == "def sail(): ...\n"
    (call,) = agent.calls
    assert call.directory == str(tree(yard, "t1"))
    assert not tree(yard, "t1").exists()
    assert git(root, "worktree", "list").count("\n") == 1
    assert ".kedge/worktrees" not in git(root, "status", "--porcelain", "-uall")
    assert yard.outcomes("t1") == ["done"]
    records = (root / ".kedge" / "handoffs" / "t1.jsonl").read_text()
    assert json.loads(records)["task"] == "t1"


def test_dependents_begin_from_the_work_that_they_depend_on(yard: Yard) -> None:
    yard.task("One", "a", check="test -f a.txt")
    yard.task("Two", "b", check="test -f b.txt")
    yard.task("Three", "c", "--depends", "a", "--depends", "b", check="test -f a.txt -a -f c.txt")
    yard.plays(MINE, MINE, MINE)
    ran = yard.run("--worktree", "--json")
    last = yard.events(ran)[-1]
    assert (last["done"], last["merge"]) == (3, ["kedge/c"])
    files = git(yard.root, "ls-tree", "--name-only", "kedge/c").split()
    assert {"a.txt", "b.txt", "c.txt"} <= set(files)
    git(yard.root, "merge", "--quiet", "kedge/c")
    assert (yard.root / "a.txt").exists()


def test_a_branch_of_an_earlier_run_that_is_not_merged_is_begun_from(yard: Yard) -> None:
    yard.task("Dock", "dock", "--type", "epic")
    yard.task("One", "a", "--epic", "dock", check="test -f a.txt")
    yard.task("Two", "b", "--depends", "dock", check="test -f a.txt")
    yard.plays(MINE, MINE)
    yard.run("--worktree", "--once")
    assert branches(yard) == ["kedge/a"]
    yard.run("--worktree")
    assert yard.state("b") == "done"
    assert "a.txt" in git(yard.root, "ls-tree", "--name-only", "kedge/b").split()


def test_work_that_does_not_go_together_blocks_what_depends_on_both(yard: Yard) -> None:
    add(yard, "a", "b", "other")
    yard.task("Both", "c", "--depends", "a", "--depends", "b", check="true")
    clash = {"run": ["echo $KEDGE_TASK > $KEDGE_TASK.txt", "echo $KEDGE_TASK > app.py"]}
    yard.plays(clash, clash, MINE)
    ran = yard.run("--worktree", code=1)
    task = yard.kedge("task", "show", "c", "--json").data
    assert task["status"] == "blocked"
    assert task["blocked"]["type"] == "design-conflict"
    assert "app.py" in task["blocked"]["reason"]
    assert "kedge/b" in task["blocked"]["reason"]
    assert "■ c  blocked" in ran.out
    assert yard.state("other") == "done"
    assert branches(yard) == ["kedge/a", "kedge/b", "kedge/other"]
    assert not tree(yard, "c").exists()
    assert git(yard.root, "status", "--porcelain", "-uno") == ""


def test_work_that_failed_stays_in_its_work_tree_and_is_gone_on_with(yard: Yard) -> None:
    add(yard, "t1")
    yard.plays({"write": {"half.txt": "half\n"}}, {"write": {"t1.txt": "whole\n"}})
    ran = yard.run("--worktree", "--attempts", "1", code=1)
    assert yard.state("t1") == "failed"
    assert (tree(yard, "t1") / "half.txt").read_text() == "half\n"
    assert ".kedge/worktrees/t1 stays: half.txt not committed" in ran.err
    assert "git merge" not in ran.out
    yard.kedge("task", "reopen", "t1")
    yard.run("--worktree")
    assert not tree(yard, "t1").exists()
    shown = git(yard.root, "show", "--format=", "--name-only", "kedge/t1").split()
    assert shown == ["half.txt", "t1.txt"]


def test_a_task_that_comes_to_nothing_leaves_nothing(yard: Yard) -> None:
    add(yard, "t1")
    yard.plays("<stuck>Which harbour?</stuck>")
    yard.run("--worktree", code=1)
    assert yard.state("t1") == "blocked"
    assert branches(yard) == []
    assert not tree(yard, "t1").exists()
    assert git(yard.root, "for-each-ref", "refs/kedge/t1") == ""


def test_a_merged_branch_begins_from_head_again(yard: Yard) -> None:
    add(yard, "t1")
    yard.plays(MINE, {"run": ["test -f later.txt && echo more >> t1.txt"]})
    yard.run("--worktree")
    git(yard.root, "merge", "--quiet", "kedge/t1")
    (yard.root / "later.txt").write_text("later\n")
    git(yard.root, "add", "later.txt")
    git(yard.root, "commit", "--quiet", "-m", "later")
    yard.kedge("task", "reopen", "t1")
    yard.run("--worktree")
    assert git(yard.root, "show", "kedge/t1:t1.txt") == "mine\nmore\n"


@pytest.mark.parametrize("how", ["directory", "other-branch", "checked-out"])
def test_what_is_in_the_way_is_not_overwritten(yard: Yard, how: str) -> None:
    add(yard, "t1", "t2")
    if how == "directory":
        tree(yard, "t1").mkdir(parents=True)
        (tree(yard, "t1") / "mine").write_text("mine\n")
    elif how == "other-branch":
        git(yard.root, "worktree", "add", "-q", "-b", "mine", str(tree(yard, "t1")))
    else:
        git(yard.root, "worktree", "add", "-q", "-b", "kedge/t1", str(yard.scratch / "elsewhere"))
    refs = git(yard.root, "for-each-ref", "refs/heads").splitlines()
    yard.plays(MINE)
    ran = yard.run("--worktree", code=1)
    (line,) = [line for line in ran.out.splitlines() if line.startswith("· t1")]
    assert "t1  left: " in line
    assert yard.state("t1") == "open"
    assert yard.state("t2") == "done"
    assert set(refs) <= set(git(yard.root, "for-each-ref", "refs/heads").splitlines())
    if how == "directory":
        assert (tree(yard, "t1") / "mine").read_text() == "mine\n"


# What is shared


def test_tasks_and_records_are_those_of_the_users_tree(yard: Yard) -> None:
    git(yard.root, "add", ".")
    add(yard, "t1")
    git(yard.root, "add", ".kedge")
    git(yard.root, "commit", "--quiet", "-m", "tasks")
    found = f"{KEDGE} task add 'Found on the way' --id found --check true"
    verdict = {"say": '```json\n{"approved": true, "issues": []}\n```'}
    agent = yard.plays({"run": [found, f"{KEDGE} task list > $KEDGE_TASK.txt"]}, verdict)
    yard.run("--worktree", "--task", "t1", "--roles", "implementer,reviewer")
    assert yard.state("found") == "open"
    assert "in_progress" in git(yard.root, "show", "kedge/t1:t1.txt")
    shown = git(yard.root, "show", "--format=", "--name-only", "kedge/t1").split()
    assert shown == ["t1.txt"]
    assert agent.calls[0].env["KEDGE_TASKS"] == str(yard.root)
    assert [one["role"] for one in yard.attempts("t1")] == ["implementer", "reviewer"]
    reviews = (yard.root / ".kedge" / "reviews" / "t1.jsonl").read_text().splitlines()
    assert len(reviews) == 1


def test_settings_that_are_not_committed_hold_in_work_trees(yard: Yard) -> None:
    yard.kedge("config", "set", "run.rounds", "1")
    add(yard, "t1")
    no = '```json\n{"approved": false, "issues": [{"severity": "major", "description": "no"}]}\n```'
    yard.plays(MINE, no, MINE, no)
    yard.run("--worktree", "--roles", "implementer,reviewer", code=1)
    assert "refused it 1 times" in yard.kedge("task", "show", "t1").out


def test_documents_as_tasks_are_shared_too(yard: Yard) -> None:
    (yard.root / "tasks").mkdir()
    text = "id: TASK-1\ntitle: Make it\nqa:\n  commands: [test -f TASK-1.txt]\n"
    (yard.root / "tasks" / "TASK-1.task.yaml").write_text(text)
    yard.plays(MINE)
    yard.run("--worktree")
    assert "done" in (yard.root / "tasks" / "TASK-1.task.yaml").read_text()
    assert branches(yard) == ["kedge/TASK-1"]


def test_the_variable_names_only_a_work_tree_of_the_same_repository(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", str(other))
    kedge("task", "add", "of the repository", "--id", "here")
    (repo / "deep").mkdir()

    def seen(cwd: Path, named: Path) -> list[str]:
        listed = kedge.json("task", "list", cwd=cwd, env={"KEDGE_TASKS": str(named)})
        return [one["id"] for one in listed]

    assert seen(tmp_path / "linked", repo) == ["here"]
    assert seen(repo, tmp_path / "linked") == []
    for named in (other, repo / "deep", tmp_path / "nowhere", Path("../repo")):
        assert seen(tmp_path / "linked", named) == []
    assert seen(other, repo) == []


CODEX = """\
model = "gpt-5.5-codex"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
[analytics]
enabled = false
[features]
daemon_auto_start = false
"""


def client(name: str, home: Path, url: str) -> tuple[Path, dict[str, str]]:
    """A real client's program, and all of the environment for a run with it."""
    if name == "codex":
        codex = Codex(home)
        (codex.codex_home / "config.toml").write_text(CODEX.format(url=url))
        return codex.program, {**environment(home), **codex.own}
    flags = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "IS_SANDBOX")
    own = {"ANTHROPIC_API_KEY": "sk-ant-dummy", "ANTHROPIC_BASE_URL": url}
    own |= {"CLAUDE_CODE_TMPDIR": str(home / "tmp"), "DISABLE_TELEMETRY": "1"}
    return Claude(home).program, {**environment(home), **own, **dict.fromkeys(flags, "1")}


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_real_agents_see_their_work_tree_and_the_shared_tasks(
    yard: Yard, name: str, tmp_path: Path, play: Callable[..., FakeModel]
) -> None:
    for path in ("CLAUDE.md", "AGENTS.md"):
        (yard.root / path).write_text("WHAT-IS-COMMITTED\n")
    git(yard.root, "add", ".")
    git(yard.root, "commit", "--quiet", "-m", "instructions")
    for path in ("CLAUDE.md", "AGENTS.md"):
        (yard.root / path).write_text("WHAT-IS-OPEN\n")
    add(yard, "t1")
    shell = f"{KEDGE} task add Found --id found; pwd > t1.txt"
    tool = {"tool": "Bash", "input": {"command": shell}}
    if name == "codex":
        tool = {"tool": "exec_command", "input": {"cmd": shell}}
    with play([tool, "Done."]) as model:
        program, env = client(name, tmp_path / "home", model.url)
        args = ["--worktree", "--task", "t1", "--full-access", "--agent", name]
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "run", *args, "--command", str(program)],
            cwd=yard.root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=100,
        )
        asked = json.dumps([request.body for request in model.asked()])
    assert done.returncode == 0, done
    assert "WHAT-IS-COMMITTED" in asked
    assert "WHAT-IS-OPEN" not in asked
    assert git(yard.root, "show", "kedge/t1:t1.txt").strip() == str(tree(yard, "t1"))
    assert yard.state("found") == "open"


# Several at once


def meeting(yard: Yard, *others: str) -> dict[str, Any]:
    """An agent that leaves only when the others have come."""
    place = yard.scratch / "meeting"
    place.mkdir(exist_ok=True)
    wait = " && ".join(f"test -e {place}/{one}" for one in others)
    loop = f"for i in $(seq 600); do if {wait}; then exit 0; fi; sleep 0.05; done; exit 1"
    return {"run": [f"touch {place}/$KEDGE_TASK", f"({loop}) && echo met > $KEDGE_TASK.txt"]}


def test_two_tasks_are_at_work_at_once(yard: Yard) -> None:
    add(yard, "a", "b")
    yard.task("Then", "c", "--depends", "a", "--depends", "b", check="test -f a.txt -a -f b.txt")
    met = meeting(yard, "a", "b")
    yard.plays(met, met, MINE)
    events = yard.events(yard.run("--parallel", "2", "--json"))
    assert all(yard.state(one) == "done" for one in "abc")
    assert {one["task"] for one in events if one["event"] not in ("run", "summary")} == {*"abc"}
    ends = [one["task"] for one in events if one["event"] == "result"]
    assert ends[2] == "c"
    last = events[-1]
    assert last["event"] == "summary"
    assert last["spent"]["tokens_in"] == 3000
    assert last["spent"]["iterations"] == 3
    assert round(last["spent"]["cost"], 6) == 0.03
    assert last["merge"] == ["kedge/c"]


def test_no_more_than_so_many_at_once(yard: Yard) -> None:
    add(yard, "a", "b", "c")
    here = yard.scratch / "here"
    here.mkdir()
    count = f"touch {here}/$KEDGE_TASK; ls {here} | wc -l > $KEDGE_TASK.txt; sleep 0.3"
    yard.plays(*[{"run": [f"{count}; rm {here}/$KEDGE_TASK"]}] * 3)
    ran = yard.run("--parallel", "2")
    most = [int(git(yard.root, "show", f"kedge/{one}:{one}.txt")) for one in "abc"]
    assert max(most) <= 2
    assert "  a: implementer, attempt 1" in ran.err
    assert "to take it over: git merge kedge/b" in ran.out


def test_the_budget_is_one_for_all(yard: Yard) -> None:
    add(yard, "a", "b", "c")
    met = meeting(yard, "a", "b")
    yard.plays(*[{**met, "tokens_in": 300_000, "hang": 60}] * 2, MINE)
    events = yard.events(yard.run("--parallel", "2", "--budget-tokens", "500000", "--json", code=1))
    last = events[-1]
    assert last["why"] == "budget"
    assert last["spent"]["tokens_in"] >= 500_000
    assert yard.agent is not None
    assert len(yard.agent.calls) == 2
    assert yard.outcomes("a") == yard.outcomes("b") == ["budget"]
    assert [yard.state(one) for one in "abc"] == ["open"] * 3


def test_iterations_are_counted_together(yard: Yard) -> None:
    add(yard, "a", "b", "c", "d")
    no = {"run": ["echo $KEDGE_TASK >> no.txt"]}
    yard.plays(*[no] * 20)
    ran = yard.run("--parallel", "2", "--max-iterations", "3", "--attempts", "9", "--json", code=1)
    last = yard.events(ran)[-1]
    assert last["why"] == "iterations"
    done = [one for name in "abcd" for one in yard.outcomes(name) if one == "failed-checks"]
    assert len(done) == 3
    assert last["spent"]["iterations"] == 3


def test_an_agent_that_cannot_work_ends_all(yard: Yard) -> None:
    add(yard, "a", "b", "c", "d")
    yard.plays(*[{"fault": "auth"}] * 4)
    yard.run("--parallel", "2", code=1)
    assert len(yard.prompts) <= 2
    assert branches(yard) == []


# Ending it


@pytest.mark.parametrize("times", [1, 2])
def test_interrupting_leaves_true_records_and_no_process(yard: Yard, times: int) -> None:
    add(yard, "a", "b")
    part = {"write": {"half.txt": "x"}, "daemons": 1, "deaf": True, "hang": 60}
    agent = yard.plays(part, part, MINE, MINE)
    child = yard.started("--parallel", "2")
    until(lambda: len(agent.calls) == 2 and all(one.started for one in agent.calls))
    until(lambda: all((tree(yard, one) / "half.txt").exists() for one in "ab"))
    for _ in range(times):
        os.kill(child.pid, signal.SIGINT)
        time.sleep(0.05)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, (out, err)
    assert b"Traceback" not in err
    assert not [pid for call in agent.calls for pid in (call.pid, *call.started) if alive(pid)]
    for one in "ab":
        assert yard.outcomes(one) == ["interrupted"]
        assert yard.state(one) == "open"
        assert (tree(yard, one) / "half.txt").exists()
    yard.kedge("run", "--resume")
    for one in "ab":
        assert yard.outcomes(one) == ["interrupted", "done"]
        assert not tree(yard, one).exists()


def test_a_killed_run_is_gone_on_with(yard: Yard) -> None:
    add(yard, "a", "b", "c")
    part = {"write": {"half.txt": "x"}, "hang": 60}
    agent = yard.plays(part, part, MINE, MINE, MINE)
    child = yard.started("--parallel", "2", "--attempts", "2")
    until(lambda: all((tree(yard, one) / "half.txt").exists() for one in "ab"))
    child.kill()
    child.communicate(timeout=30)
    ran = yard.kedge("run", "--resume")
    assert not [one.pid for one in agent.calls[:2] if alive(one.pid)]
    assert [yard.state(one) for one in "abc"] == ["done"] * 3
    assert yard.outcomes("a") == yard.outcomes("b") == ["interrupted", "done"]
    assert yard.outcomes("c") == ["done"]
    assert "git merge kedge/a" in ran.out
    shown = git(yard.root, "show", "--format=", "--name-only", "kedge/a").split()
    assert shown == ["a.txt", "half.txt"]


# Around it


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--parallel", "0"], "0 is not in the range"),
        (["--parallel", "17"], "17 is not in the range"),
        (["--parallel", "many"], "'many' is not a valid integer"),
        (["--worktree", "--no-commit"], "kept as commits"),
    ],
)
def test_wrong_usage(yard: Yard, args: list[str], says: str) -> None:
    yard.plays(MINE)
    ran = yard.run(*args, code=2)
    assert_clear(ran, code=2, says=says)


def test_without_a_commit_there_is_nothing_to_begin_from(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    yard = Yard(kedge, tmp_path)
    yard.plays(MINE)
    ran = yard.run("--worktree", code=1)
    assert_clear(ran, code=1, says="there is no commit")
