"""The promises of a run in work trees, each end to end with the fake agent."""

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
from run.harness import HANG, PATIENCE, RunHarness, is_alive, wait_until
from support import Kedge, assert_clear, git

from kedge.testing.fake_model import FakeModel

KEDGE = f"{sys.executable} -m kedge"
MINE = {"run": ["echo mine > $KEDGE_TASK.txt"]}


def add(harness: RunHarness, *ids: str, **more: str) -> None:
    for name in ids:
        harness.task(f"Make {name}", name, *more.get(name, "").split(), check=f"test -f {name}.txt")


def worktree(harness: RunHarness, task: str) -> Path:
    return harness.root / ".kedge" / "worktrees" / task


def branches(harness: RunHarness) -> list[str]:
    return git(
        harness.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/kedge"
    ).split()


# Branches


def test_a_task_is_done_on_its_branch_and_the_users_tree_is_unchanged(harness: RunHarness) -> None:
    root = harness.root
    (root / "app.py").write_text("def sail(): 'mine, staged'\n")
    git(root, "stash", "push", "--quiet", "--include-untracked")
    (root / "app.py").write_text("def sail(): 'staged'\n")
    git(root, "add", "app.py")
    (root / "app.py").write_text("def sail(): 'not staged'\n")
    (root / "notes.txt").write_text("mine\n")
    add(harness, "t1")

    def mine() -> dict[str, bytes]:
        own = [root / name for name in (".git/index", ".git/HEAD", ".git/logs/HEAD")]
        own += [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
        kept = {str(path): path.read_bytes() for path in own if ".kedge" not in path.parts}
        return kept | {"stash": git(root, "stash", "list").encode()}

    before = mine()
    agent = harness.plays(MINE)
    ran = harness.run("--worktree")
    assert mine() == before
    assert harness.state("t1") == "done"
    assert "✓ t1  done: `test -f t1.txt` green on tree" in ran.out
    assert "git merge kedge/t1" in ran.out
    assert "your uncommitted changes are not in it" in ran.err
    assert harness.log() == ["first"]
    assert git(root, "log", "--format=%s", "kedge/t1").split("\n")[0] == "task(t1): Make t1"
    shown = git(root, "show", "--format=", "--name-only", "kedge/t1").split()
    assert shown == ["t1.txt"]
    assert git(root, "show", "kedge/t1:app.py") == "def sail(): ...\n"
    (call,) = agent.calls
    assert call.directory == str(worktree(harness, "t1"))
    assert not worktree(harness, "t1").exists()
    assert git(root, "worktree", "list").count("\n") == 1
    assert ".kedge/worktrees" not in git(root, "status", "--porcelain", "-uall")
    assert harness.outcomes("t1") == ["done"]
    records = (root / ".kedge" / "handoffs" / "t1.jsonl").read_text()
    assert json.loads(records)["task"] == "t1"


def test_a_task_starts_from_the_work_it_depends_on(harness: RunHarness) -> None:
    harness.task("One", "a", check="test -f a.txt")
    harness.task("Two", "b", check="test -f b.txt")
    harness.task(
        "Three", "c", "--depends", "a", "--depends", "b", check="test -f a.txt -a -f c.txt"
    )
    harness.plays(MINE, MINE, MINE)
    ran = harness.run("--worktree", "--json")
    last = harness.events(ran)[-1]
    assert (last["done"], last["merge"]) == (3, ["kedge/c"])
    files = git(harness.root, "ls-tree", "--name-only", "kedge/c").split()
    assert {"a.txt", "b.txt", "c.txt"} <= set(files)
    git(harness.root, "merge", "--quiet", "kedge/c")
    assert (harness.root / "a.txt").exists()


def test_a_task_starts_from_an_unmerged_branch_of_an_earlier_run(harness: RunHarness) -> None:
    harness.task("Dock", "dock", "--type", "epic")
    harness.task("One", "a", "--epic", "dock", check="test -f a.txt")
    harness.task("Two", "b", "--depends", "dock", check="test -f a.txt")
    harness.plays(MINE, MINE)
    harness.run("--worktree", "--once")
    assert branches(harness) == ["kedge/a"]
    harness.run("--worktree")
    assert harness.state("b") == "done"
    assert "a.txt" in git(harness.root, "ls-tree", "--name-only", "kedge/b").split()


def test_conflicting_branches_block_the_task_that_needs_both(harness: RunHarness) -> None:
    add(harness, "a", "b", "other")
    harness.task("Both", "c", "--depends", "a", "--depends", "b", check="true")
    clash = {"run": ["echo $KEDGE_TASK > $KEDGE_TASK.txt", "echo $KEDGE_TASK > app.py"]}
    harness.plays(clash, clash, MINE)
    ran = harness.run("--worktree", code=1)
    task = harness.kedge("task", "show", "c", "--json").data
    assert task["status"] == "blocked"
    assert task["blocked"]["type"] == "design-conflict"
    assert "app.py" in task["blocked"]["reason"]
    assert "kedge/b" in task["blocked"]["reason"]
    assert "■ c  blocked" in ran.out
    assert harness.state("other") == "done"
    assert branches(harness) == ["kedge/a", "kedge/b", "kedge/other"]
    assert not worktree(harness, "c").exists()
    assert git(harness.root, "status", "--porcelain", "-uno") == ""


def test_failed_work_stays_in_its_work_tree_for_the_next_run(harness: RunHarness) -> None:
    add(harness, "t1")
    harness.plays({"write": {"half.txt": "half\n"}}, {"write": {"t1.txt": "whole\n"}})
    ran = harness.run("--worktree", "--attempts", "1", code=1)
    assert harness.state("t1") == "failed"
    assert (worktree(harness, "t1") / "half.txt").read_text() == "half\n"
    assert ".kedge/worktrees/t1 is not removed: half.txt not committed" in ran.err
    assert "git merge" not in ran.out
    harness.kedge("task", "reopen", "t1")
    harness.run("--worktree")
    assert not worktree(harness, "t1").exists()
    shown = git(harness.root, "show", "--format=", "--name-only", "kedge/t1").split()
    assert shown == ["half.txt", "t1.txt"]


def test_a_task_without_changes_leaves_no_branch_and_no_work_tree(harness: RunHarness) -> None:
    add(harness, "t1")
    harness.plays("<stuck>Which harbour?</stuck>")
    harness.run("--worktree", code=1)
    assert harness.state("t1") == "blocked"
    assert branches(harness) == []
    assert not worktree(harness, "t1").exists()
    assert git(harness.root, "for-each-ref", "refs/kedge/t1") == ""


def test_a_merged_branch_starts_from_head_again(harness: RunHarness) -> None:
    add(harness, "t1")
    harness.plays(MINE, {"run": ["test -f later.txt && echo more >> t1.txt"]})
    harness.run("--worktree")
    git(harness.root, "merge", "--quiet", "kedge/t1")
    (harness.root / "later.txt").write_text("later\n")
    git(harness.root, "add", "later.txt")
    git(harness.root, "commit", "--quiet", "-m", "later")
    harness.kedge("task", "reopen", "t1")
    harness.run("--worktree")
    assert git(harness.root, "show", "kedge/t1:t1.txt") == "mine\nmore\n"


@pytest.mark.parametrize("how", ["directory", "other-branch", "checked-out"])
def test_existing_files_and_branches_are_not_overwritten(harness: RunHarness, how: str) -> None:
    add(harness, "t1", "t2")
    if how == "directory":
        worktree(harness, "t1").mkdir(parents=True)
        (worktree(harness, "t1") / "mine").write_text("mine\n")
    elif how == "other-branch":
        git(harness.root, "worktree", "add", "-q", "-b", "mine", str(worktree(harness, "t1")))
    else:
        git(
            harness.root,
            "worktree",
            "add",
            "-q",
            "-b",
            "kedge/t1",
            str(harness.scratch / "elsewhere"),
        )
    refs = git(harness.root, "for-each-ref", "refs/heads").splitlines()
    harness.plays(MINE)
    ran = harness.run("--worktree", code=1)
    (line,) = [line for line in ran.out.splitlines() if line.startswith("· t1")]
    assert "t1  left: " in line
    assert harness.state("t1") == "open"
    assert harness.state("t2") == "done"
    assert set(refs) <= set(git(harness.root, "for-each-ref", "refs/heads").splitlines())
    if how == "directory":
        assert (worktree(harness, "t1") / "mine").read_text() == "mine\n"


# Shared tasks and settings


def test_tasks_and_records_are_written_to_the_users_tree(harness: RunHarness) -> None:
    git(harness.root, "add", ".")
    add(harness, "t1")
    git(harness.root, "add", ".kedge")
    git(harness.root, "commit", "--quiet", "-m", "tasks")
    found = f"{KEDGE} task add 'Found on the way' --id found --check true"
    verdict = {"say": '```json\n{"approved": true, "issues": []}\n```'}
    agent = harness.plays({"run": [found, f"{KEDGE} task list > $KEDGE_TASK.txt"]}, verdict)
    harness.run("--worktree", "--task", "t1", "--roles", "implementer,reviewer")
    assert harness.state("found") == "open"
    assert "in_progress" in git(harness.root, "show", "kedge/t1:t1.txt")
    shown = git(harness.root, "show", "--format=", "--name-only", "kedge/t1").split()
    assert shown == ["t1.txt"]
    assert agent.calls[0].env["KEDGE_TASKS"] == str(harness.root)
    assert [one["role"] for one in harness.attempts("t1")] == ["implementer", "reviewer"]
    reviews = (harness.root / ".kedge" / "reviews" / "t1.jsonl").read_text().splitlines()
    assert len(reviews) == 1


def test_uncommitted_settings_apply_in_work_trees(harness: RunHarness) -> None:
    harness.kedge("config", "set", "run.rounds", "1")
    add(harness, "t1")
    no = '```json\n{"approved": false, "issues": [{"severity": "major", "description": "no"}]}\n```'
    harness.plays(MINE, no, MINE, no)
    harness.run("--worktree", "--roles", "implementer,reviewer", code=1)
    assert "refused it 1 times" in harness.kedge("task", "show", "t1").out


def test_task_files_are_shared_with_work_trees(harness: RunHarness) -> None:
    (harness.root / "tasks").mkdir()
    text = "id: TASK-1\ntitle: Make it\nqa:\n  commands: [test -f TASK-1.txt]\n"
    (harness.root / "tasks" / "TASK-1.task.yaml").write_text(text)
    harness.plays(MINE)
    harness.run("--worktree", "--trust")
    assert "done" in (harness.root / "tasks" / "TASK-1.task.yaml").read_text()
    assert branches(harness) == ["kedge/TASK-1"]


def test_kedge_tasks_is_ignored_for_another_repository(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", str(other))
    kedge("task", "add", "of the repository", "--id", "here")
    (repo / "deep").mkdir()

    def list_ids(cwd: Path, named: Path) -> list[str]:
        listed = kedge.json("task", "list", cwd=cwd, env={"KEDGE_TASKS": str(named)})
        return [one["id"] for one in listed]

    assert list_ids(tmp_path / "linked", repo) == ["here"]
    assert list_ids(repo, tmp_path / "linked") == []
    for named in (other, repo / "deep", tmp_path / "nowhere", Path("../repo")):
        assert list_ids(tmp_path / "linked", named) == []
    assert list_ids(other, repo) == []


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
    """Return a real client's program, and the whole environment for a run with it."""
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
    harness: RunHarness, name: str, tmp_path: Path, play: Callable[..., FakeModel]
) -> None:
    for path in ("CLAUDE.md", "AGENTS.md"):
        (harness.root / path).write_text("WHAT-IS-COMMITTED\n")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "--quiet", "-m", "instructions")
    for path in ("CLAUDE.md", "AGENTS.md"):
        (harness.root / path).write_text("WHAT-IS-OPEN\n")
    add(harness, "t1")
    shell = f"{KEDGE} task add Found --id found; pwd > t1.txt"
    tool = {"tool": "Bash", "input": {"command": shell}}
    if name == "codex":
        tool = {"tool": "exec_command", "input": {"cmd": shell}}
    with play([tool, "Done."]) as model:
        program, env = client(name, tmp_path / "home", model.url)
        args = ["--worktree", "--task", "t1", "--full-access", "--agent", name]
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "run", *args, "--command", str(program)],
            cwd=harness.root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        requests = json.dumps([request.body for request in model.list_requests()])
    assert done.returncode == 0, done
    assert "WHAT-IS-COMMITTED" in requests
    assert "WHAT-IS-OPEN" not in requests
    assert git(harness.root, "show", "kedge/t1:t1.txt").strip() == str(worktree(harness, "t1"))
    assert harness.state("found") == "open"


# Several at once


def meet(harness: RunHarness, *others: str) -> dict[str, Any]:
    """Return a part that ends only when the parts of the other tasks have started, too."""
    place = harness.scratch / "meet"
    place.mkdir(exist_ok=True)
    wait = " && ".join(f"test -e {place}/{one}" for one in others)
    loop = f"for i in $(seq 2400); do if {wait}; then exit 0; fi; sleep 0.05; done; exit 1"
    return {"run": [f"touch {place}/$KEDGE_TASK", f"({loop}) && echo met > $KEDGE_TASK.txt"]}


def test_two_tasks_run_at_once(harness: RunHarness) -> None:
    add(harness, "a", "b")
    harness.task("Then", "c", "--depends", "a", "--depends", "b", check="test -f a.txt -a -f b.txt")
    met = meet(harness, "a", "b")
    harness.plays(met, met, MINE)
    events = harness.events(harness.run("--parallel", "2", "--json"))
    assert all(harness.state(one) == "done" for one in "abc")
    assert {one["task"] for one in events if one["event"] not in ("run", "summary")} == {*"abc"}
    ends = [one["task"] for one in events if one["event"] == "result"]
    assert ends[2] == "c"
    last = events[-1]
    assert last["event"] == "summary"
    assert last["spent"]["tokens_in"] == 3000
    assert last["spent"]["iterations"] == 3
    assert round(last["spent"]["cost"], 6) == 0.03
    assert last["merge"] == ["kedge/c"]


def test_no_more_tasks_run_at_once_than_asked(harness: RunHarness) -> None:
    add(harness, "a", "b", "c")
    here = harness.scratch / "here"
    here.mkdir()
    # Each waits a while for a third one, which must not come.
    count = f"ls {here} | wc -l"
    wait = f"for i in $(seq 20); do test $({count}) -gt 2 && break; sleep 0.1; done"
    part = f"touch {here}/$KEDGE_TASK; {wait}; {count} > $KEDGE_TASK.txt; rm {here}/$KEDGE_TASK"
    harness.plays(*[{"run": [part]}] * 3)
    ran = harness.run("--parallel", "2")
    most = [int(git(harness.root, "show", f"kedge/{one}:{one}.txt")) for one in "abc"]
    assert max(most) <= 2
    assert "  a: implementer, attempt 1" in ran.err
    assert "to merge it: git merge kedge/b" in ran.out


def test_all_tasks_share_one_budget(harness: RunHarness) -> None:
    add(harness, "a", "b", "c")
    met = meet(harness, "a", "b")
    harness.plays(*[{**met, "tokens_in": 300_000, "hang": HANG}] * 2, MINE)
    events = harness.events(
        harness.run("--parallel", "2", "--budget-tokens", "500000", "--json", code=1)
    )
    last = events[-1]
    assert last["why"] == "budget"
    assert last["spent"]["tokens_in"] >= 500_000
    assert harness.agent is not None
    assert len(harness.agent.calls) == 2
    assert harness.outcomes("a") == harness.outcomes("b") == ["budget"]
    assert [harness.state(one) for one in "abc"] == ["open"] * 3


def test_all_tasks_share_the_iterations(harness: RunHarness) -> None:
    add(harness, "a", "b", "c", "d")
    no = {"run": ["echo $KEDGE_TASK >> no.txt"]}
    harness.plays(*[no] * 20)
    ran = harness.run(
        "--parallel", "2", "--max-iterations", "3", "--attempts", "9", "--json", code=1
    )
    last = harness.events(ran)[-1]
    assert last["why"] == "iterations"
    done = [one for name in "abcd" for one in harness.outcomes(name) if one == "failed-checks"]
    assert len(done) == 3
    assert last["spent"]["iterations"] == 3


def test_an_agent_without_credentials_ends_the_whole_run(harness: RunHarness) -> None:
    add(harness, "a", "b", "c", "d")
    harness.plays(*[{"fault": "auth"}] * 4)
    harness.run("--parallel", "2", code=1)
    assert len(harness.prompts) <= 2
    assert branches(harness) == []


# Interrupts and resuming


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_is_recorded_and_leaves_no_process(harness: RunHarness, times: int) -> None:
    add(harness, "a", "b")
    part = {"write": {"half.txt": "x"}, "daemons": 1, "deaf": True, "hang": HANG}
    agent = harness.plays(part, part, MINE, MINE)
    child = harness.start("--parallel", "2")
    wait_until(lambda: len(agent.calls) == 2 and all(one.started for one in agent.calls))
    wait_until(lambda: all((worktree(harness, one) / "half.txt").exists() for one in "ab"))
    for _ in range(times):
        os.kill(child.pid, signal.SIGINT)
        time.sleep(0.05)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130, (out, err)
    assert b"Traceback" not in err
    assert not [pid for call in agent.calls for pid in (call.pid, *call.started) if is_alive(pid)]
    for one in "ab":
        assert harness.outcomes(one) == ["interrupted"]
        assert harness.state(one) == "open"
        assert (worktree(harness, one) / "half.txt").exists()
    harness.kedge("run", "--resume")
    for one in "ab":
        assert harness.outcomes(one) == ["interrupted", "done"]
        assert not worktree(harness, one).exists()


def test_a_killed_run_can_be_resumed(harness: RunHarness) -> None:
    add(harness, "a", "b", "c")
    part = {"write": {"half.txt": "x"}, "hang": HANG}
    agent = harness.plays(part, part, MINE, MINE, MINE)
    child = harness.start("--parallel", "2", "--attempts", "2")
    wait_until(lambda: all((worktree(harness, one) / "half.txt").exists() for one in "ab"))
    child.kill()
    child.communicate(timeout=PATIENCE)
    ran = harness.kedge("run", "--resume")
    assert not [one.pid for one in agent.calls[:2] if is_alive(one.pid)]
    assert [harness.state(one) for one in "abc"] == ["done"] * 3
    assert harness.outcomes("a") == harness.outcomes("b") == ["interrupted", "done"]
    assert harness.outcomes("c") == ["done"]
    assert "git merge kedge/a" in ran.out
    shown = git(harness.root, "show", "--format=", "--name-only", "kedge/a").split()
    assert shown == ["a.txt", "half.txt"]


# Options


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--parallel", "0"], "0 is not in the range"),
        (["--parallel", "17"], "17 is not in the range"),
        (["--parallel", "many"], "'many' is not a valid integer"),
        (["--worktree", "--no-commit"], "--no-commit cannot be combined"),
    ],
)
def test_wrong_usage(harness: RunHarness, args: list[str], says: str) -> None:
    harness.plays(MINE)
    ran = harness.run(*args, code=2)
    assert_clear(ran, code=2, says=says)


def test_a_repository_without_commits_is_refused(repo: Path, kedge: Kedge, tmp_path: Path) -> None:
    harness = RunHarness(kedge, tmp_path)
    harness.plays(MINE)
    ran = harness.run("--worktree", code=1)
    assert_clear(ran, code=1, says="there is no commit")


# What a work tree holds


def _leave_unfinished(harness: RunHarness) -> Path:
    """Let a run fail at a task, and return the work tree that it leaves."""
    (harness.root / ".gitignore").write_text("*.env\nbuild/\n")
    git(harness.root, "add", ".gitignore")
    git(harness.root, "commit", "-qm", "ignored")
    add(harness, "t1")
    made = {"write": {"no.txt": "x"}, "run": ["mkdir -p build; echo made >build/out"]}
    harness.plays(made, {"write": {"t1.txt": "x"}, "delete": ["no.txt"]})
    harness.run("--worktree", "--attempts", "1", code=1)
    assert worktree(harness, "t1").exists()
    harness.kedge("task", "reopen", "t1")
    return worktree(harness, "t1")


def test_ignored_files_of_the_user_keep_a_work_tree(harness: RunHarness) -> None:
    tree = _leave_unfinished(harness)
    (tree / "my.env").write_text("mine\n")
    ran = harness.run("--worktree")
    assert harness.state("t1") == "done"
    assert (tree / "my.env").read_text() == "mine\n"
    assert "my.env (ignored by git) made by neither kedge nor an agent" in ran.err


def test_an_ignored_file_that_the_user_has_edited_keeps_a_work_tree(harness: RunHarness) -> None:
    tree = _leave_unfinished(harness)
    (tree / "build" / "out").write_text("edited by me\n")
    harness.run("--worktree")
    assert (tree / "build" / "out").read_text() == "edited by me\n"


def test_ignored_files_of_agents_do_not_keep_a_work_tree(harness: RunHarness) -> None:
    tree = _leave_unfinished(harness)
    assert (tree / "build" / "out").exists()
    harness.run("--worktree")
    assert harness.state("t1") == "done"
    assert not tree.exists()


def test_a_half_made_work_tree_is_completed(harness: RunHarness) -> None:
    """As a git that is killed while it checks the files out leaves it."""
    add(harness, "t1")
    tree = worktree(harness, "t1")
    git(harness.root, "worktree", "add", "-q", "-b", "kedge/t1", str(tree), "HEAD")
    (tree / "app.py").unlink()
    (harness.root / ".git" / "worktrees" / "t1" / "locked").write_text("initializing")
    harness.plays({"write": {"t1.txt": "x"}})
    harness.run("--worktree")
    assert harness.state("t1") == "done"
    assert "app.py" in git(harness.root, "ls-tree", "--name-only", "kedge/t1").split()
