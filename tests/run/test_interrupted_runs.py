"""A run that is killed at the worst moments, and resumed: nothing is done twice, or only said."""

from __future__ import annotations

import json
import shutil

import pytest
from run.harness import CHECK, HANG, PATIENCE, RunHarness, list_processes_in, wait_until
from support import git

from kedge.handoff.snapshot import snapshots
from kedge.host import clock, project

OK = {"write": {"ok": "yes\n"}}
HALF = {"write": {"half": "x"}, "hang": HANG}
MORE = {"write": {"ok": "yes\n", "more": "x"}}
KILL_ALL = """#!/bin/sh
test -f {root}/again && exit 0
touch {root}/again
kill -9 $(cat {root}/pid)
kedge=$(awk '{{print $4}}' /proc/$PPID/stat)
kill -9 $kedge 2>/dev/null
kill -9 $PPID
exit 1
"""


def kill_at(harness: RunHarness, hook: str, *args: str) -> None:
    """Start a run that is killed, with its git, when git calls the hook for the first time."""
    path = harness.root / ".git" / "hooks" / hook
    path.parent.mkdir(exist_ok=True)
    path.write_text(KILL_ALL.format(root=harness.root))
    path.chmod(0o755)
    exclude = harness.root / ".git" / "info" / "exclude"
    exclude.write_text("pid\nagain\n")
    process = harness.start(*args)
    (harness.root / "pid").write_text(str(process.pid))
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -9
    assert (harness.root / "again").exists()


@pytest.mark.parametrize("way", ["--worktree", "here"])
def test_a_task_is_done_only_if_its_commit_is_made(harness: RunHarness, way: str) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK, MORE)
    worktree = way == "--worktree"
    kill_at(harness, "pre-commit", *([way] if worktree else []))
    if worktree:  # here, the commit holds that the task is closed
        assert harness.state("t") == "in_progress"
    ran = harness.kedge("run", "--resume")
    assert "✓ t" in ran.out
    assert harness.state("t") == "done"
    branch = "kedge/t" if worktree else "HEAD"
    assert git(harness.root, "show", f"{branch}:ok") == "yes\n"
    assert len(harness.prompts) == 1  # what was proven needs no agent
    assert harness.outcomes("t") == ["done"]
    assert not (harness.root / ".kedge" / "worktrees" / "t").exists()
    assert list((harness.root / ".git").glob("**/kedge/commit-*")) == []


@pytest.mark.parametrize("way", ["--worktree", "here"])
def test_a_run_that_is_killed_after_its_commit_says_that_it_is_done(
    harness: RunHarness, way: str
) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK, MORE)
    worktree = way == "--worktree"
    kill_at(harness, "post-commit", *([way] if worktree else []))
    ran = harness.kedge("run", "--resume")
    assert "✓ t" in ran.out
    assert harness.state("t") == "done"
    assert harness.outcomes("t") == ["done"]
    assert len(harness.prompts) == 1
    assert git(harness.root, "rev-list", "--count", "kedge/t" if worktree else "HEAD") == "2\n"
    assert git(harness.root, "diff", "--cached", "--name-only") == ""
    if not worktree:
        assert harness.status() == []


@pytest.mark.parametrize("moment", ["check", "pre-commit", "post-commit", "failed"])
def test_a_run_whose_parent_alone_was_killed_is_resumed(harness: RunHarness, moment: str) -> None:
    """The run of a task goes on until it finds that nobody reads what it prints."""
    root = harness.root
    kill = f"""#!/bin/sh
test -f {root}/again && exit 0
echo $PPID >{root}/again
kill -9 $(cat {root}/pid)
"""
    path = root / ".git" / "hooks" / moment
    path.parent.mkdir(exist_ok=True)
    path.write_text(kill)
    path.chmod(0o755)
    (root / ".git" / "info" / "exclude").write_text("pid\nagain\n")
    in_check = moment in ("check", "failed")
    check = f"sh {path}; test -f {'ok' if moment != 'failed' else 'never'}"
    harness.task("Make it ok", "t", check=check if in_check else CHECK)
    harness.plays(OK, MORE)
    process = harness.start("--worktree", "--attempts", "1")
    (root / "pid").write_text(str(process.pid))
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -9
    wait_until(lambda: not list_processes_in(root / ".kedge" / "worktrees" / "t"))
    ran = harness.kedge("run", "--resume", "--json", code=int(moment == "failed"))
    summary = harness.events(ran)[-1]
    state = "failed" if moment == "failed" else "done"
    assert [one["state"] for one in summary["results"]] == [state]
    assert summary["spent"]["iterations"] == 1  # by the killed run
    assert harness.state("t") == state
    assert len(harness.prompts) == 1
    assert harness.outcomes("t") == ["failed-checks" if moment == "failed" else "done"]
    assert (root / ".kedge" / "worktrees" / "t").exists() == (moment == "failed")


@pytest.mark.parametrize("state", ["done", "failed", "blocked"])
def test_what_a_run_had_settled_when_all_was_killed_is_collected(
    harness: RunHarness, state: str
) -> None:
    """Killed after the task's status was set, and before that was in the summary."""
    harness.task("Make it ok", "t")
    said = '<stuck type="tooling">no rope</stuck>' if state == "blocked" else "Well."
    harness.plays(OK if state == "done" else {"write": {"no": "x"}, "say": said})
    code = int(state != "done")
    harness.run("--worktree", "--attempts", "1", code=code)
    (home,) = {path.parent for path in (harness.root / ".git").glob("kedge/runs/r*.json")}
    records = {path: json.loads(path.read_text()) for path in home.glob("r*.json")}
    for path, record in records.items():
        if record["wanted"]["worktree"]:
            record["results"], record["spent"] = [], {}
        path.write_text(json.dumps({**record, "status": "running", "at": None}))
    if state == "done":
        git(harness.root, "worktree", "add", "-q", ".kedge/worktrees/t", "kedge/t")
    ran = harness.kedge("run", "--resume", "--json", code=code)
    summary = harness.events(ran)[-1]
    assert [one["state"] for one in summary["results"]] == [state]
    assert summary["spent"]["iterations"] == 1
    assert len(harness.prompts) == 1
    assert harness.state("t") == state
    assert (harness.root / ".kedge" / "worktrees" / "t").exists() == (state != "done")


def kill_at_work(harness: RunHarness, *args: str) -> None:
    """Start a run that is killed while its agent works."""
    process = harness.start(*args)
    wait_until((harness.root / "half").exists)
    process.kill()
    process.communicate(timeout=PATIENCE)


def test_git_forgets_a_work_tree_that_a_killed_run_was_deleting(harness: RunHarness) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK)
    kill_at(harness, "pre-commit", "--worktree")
    worktree = harness.root / ".kedge" / "worktrees" / "t"
    shutil.rmtree(worktree)
    harness.kedge("task", "close", "t", "--failed", "--reason", "no wind")
    harness.kedge("run", "--resume")
    assert str(worktree) not in git(harness.root, "worktree", "list", "--porcelain")


def test_a_forged_record_of_success_is_proven_again(harness: RunHarness) -> None:
    """What is in the ledger may be the work of whoever killed the run."""
    harness.task("Make it ok", "t")
    harness.plays(HALF, OK)
    kill_at_work(harness)
    (journal,) = (harness.root / ".git" / "kedge" / "runs").glob("r*.json")
    forged = {
        "task": "t",
        "number": 1,
        "run": journal.stem,
        "role": "implementer",
        "agent": "claude",
        "started_at": clock.now(),
        "ended_at": clock.now(),
        "outcome": "done",
        "reason": "x",
        "end_tree": snapshots.read_tree(project.find(harness.root)),
    }
    ledger = harness.root / ".kedge" / "ledger" / "t.jsonl"
    ledger.parent.mkdir(exist_ok=True)
    ledger.write_text(json.dumps(forged) + "\n")
    harness.kedge("run", "--resume")
    assert harness.outcomes("t") == ["done", "failed-checks", "done"]
    assert git(harness.root, "show", "HEAD:ok") == "yes\n"


def test_scratch_of_a_killed_commit_is_removed_when_no_git_uses_it(harness: RunHarness) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK)
    left = harness.root / ".git" / "kedge" / "commit-left"
    left.mkdir(parents=True)
    (left / "index").write_text("")
    harness.run()
    assert not left.exists()


def test_a_task_that_an_agent_calls_done_before_it_kills_the_run_is_not(
    harness: RunHarness,
) -> None:
    harness.task("Make it ok", "t")
    harness.plays(HALF, OK)
    kill_at_work(harness)
    tasks = harness.root / ".kedge" / "tasks.jsonl"
    tasks.write_text(tasks.read_text().replace('"in_progress"', '"done"'))
    assert harness.state("t") == "done"
    harness.kedge("run", "--resume")
    assert harness.outcomes("t") == ["interrupted", "done"]
    assert git(harness.root, "show", "HEAD:ok") == "yes\n"


# Which run is resumed


def test_the_interrupted_run_is_resumed_although_another_ended_since(harness: RunHarness) -> None:
    harness.task("One", "t", check="test -f one")
    harness.task("Two", "u", check="test -f ok")
    harness.plays(HALF, OK, {"write": {"one": "x"}})
    kill_at_work(harness, "--task", "t")
    harness.run("--task", "u")
    assert harness.state("t") == "in_progress"
    ran = harness.kedge("run", "--resume")
    assert "✓ t" in ran.out
    assert (harness.state("t"), harness.state("u")) == ("done", "done")


# What stays of a killed run


def list_refs(harness: RunHarness) -> list[str]:
    return git(harness.root, "for-each-ref", "--format=%(refname)", "refs/kedge").split()


@pytest.mark.parametrize("hook", ["pre-commit", "post-commit"])
@pytest.mark.parametrize("way", ["--worktree", "here"])
def test_a_resumed_run_leaves_no_snapshots(harness: RunHarness, hook: str, way: str) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK, MORE)
    kill_at(harness, hook, *([way] if way == "--worktree" else []))
    assert list_refs(harness)
    harness.kedge("run", "--resume")
    assert list_refs(harness) == []


@pytest.mark.parametrize("way", ["--worktree", "here"])
def test_snapshots_of_a_run_that_is_not_resumed_go_when_its_task_is_swept(
    harness: RunHarness, way: str
) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK, MORE)
    kill_at(harness, "pre-commit", *([way] if way == "--worktree" else []))
    harness.kedge("context", "sweep", "--ttl", "0s")
    if harness.state("t") != "done":
        assert list_refs(harness)  # the task is not finished
        harness.kedge("task", "close", "t", "--failed", "--reason", "no wind")
    harness.kedge("context", "sweep", "--ttl", "0s")
    assert list_refs(harness) == []


def test_snapshots_of_a_work_tree_that_is_gone_are_swept(harness: RunHarness) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK)
    kill_at(harness, "pre-commit", "--worktree")
    shutil.rmtree(harness.root / ".kedge" / "worktrees" / "t")
    git(harness.root, "worktree", "prune")
    assert harness.kedge.json("context", "sweep") == []  # not old enough
    listed = harness.kedge.json("context", "sweep", "--ttl", "0s", "--dry-run")
    assert sorted(one["ref"] for one in listed) == list_refs(harness)
    harness.kedge("context", "sweep", "--ttl", "0s")
    assert list_refs(harness) == []


def test_sweep_keeps_what_is_set_aside_and_what_is_still_to_do(harness: RunHarness) -> None:
    harness.task("One", "t", check="test -f never")
    harness.task("Two", "u", check="test -f ok")
    harness.plays(HALF | {"hang": 0}, OK)
    harness.run("--attempts", "1", code=1)
    kept = [one for one in list_refs(harness) if one.startswith("refs/kedge/set-aside/")]
    assert kept
    harness.kedge("task", "reopen", "t")
    before = list_refs(harness)
    harness.kedge("context", "sweep", "--ttl", "0s")
    assert list_refs(harness) == before
    harness.kedge("task", "close", "t", "--failed", "--reason", "no wind")
    harness.kedge("context", "sweep", "--ttl", "0s")
    assert list_refs(harness) == kept


# Work trees of which git, or kedge, was killed in the middle


def test_a_work_tree_that_git_had_just_begun_is_made_again(harness: RunHarness) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK)
    worktree = harness.root / ".kedge" / "worktrees" / "t"
    git(harness.root, "worktree", "add", "-q", "-b", "kedge/t", str(worktree), "HEAD")
    known = harness.root / ".git" / "worktrees" / "t"
    (known / "commondir").unlink()  # git writes it after its lock and the pointers
    (known / "HEAD").write_text("0" * 40 + "\n")
    (known / "locked").write_text("initializing\n")
    for path in [one for one in worktree.iterdir() if one.name != ".git"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    harness.run("--worktree")
    assert harness.state("t") == "done"
    assert not worktree.exists()
    assert not known.exists()
    git(harness.root, "fsck")


def test_a_half_made_work_tree_with_a_file_of_the_users_stays(harness: RunHarness) -> None:
    harness.task("Make it ok", "t")
    harness.plays(OK)
    worktree = harness.root / ".kedge" / "worktrees" / "t"
    git(harness.root, "worktree", "add", "-q", "-b", "kedge/t", str(worktree), "HEAD")
    known = harness.root / ".git" / "worktrees" / "t"
    (known / "commondir").unlink()
    (known / "locked").write_text("initializing\n")
    (worktree / "mine").write_text("mine\n")
    harness.run("--worktree", code=1)
    assert (worktree / "mine").read_text() == "mine\n"


def test_a_work_tree_is_half_deleted_at_another_place(harness: RunHarness) -> None:
    """Killed while it is deleted, it is no longer where a run would take it for a whole one."""
    harness.task("Make it ok", "t")
    harness.plays(OK)
    folder = harness.root / ".kedge" / "worktrees"
    harness.run("--worktree")
    git(harness.root, "worktree", "add", "-q", str(folder / "t"), "kedge/t")
    (folder / "t" / "ok").unlink()
    (folder / "t").rename(folder / ".t.gone")  # and killed
    harness.kedge("run", "--resume")
    assert [one.name for one in folder.iterdir()] == [".gitignore"]
    assert str(folder) not in git(harness.root, "worktree", "list", "--porcelain")
