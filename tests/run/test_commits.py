"""What a run commits, and what it leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from run.harness import RunHarness
from support import git

OK = {"write": {"ok": "yes\n"}}
BAD = {"write": {"no": "1\n"}, "run": ["git add -A && git commit -qm 'I am done'"]}
_COMMITS = "refs/kedge/set-aside/t1-commits"


def test_help_says_where_a_run_commits(harness: RunHarness) -> None:
    text = " ".join(harness.kedge("run", "--help").out.split())
    assert "on the current branch" in text
    assert "--no-commit" in text


# kedge's own records


def test_the_tree_is_clean_after_a_run(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", check="test -f two")
    harness.plays(
        {"write": {"no": "x"}}, {"write": {"ok": "x"}, "delete": ["no"]}, {"write": {"two": "x"}}
    )
    harness.run()
    assert harness.status() == []
    held = git(harness.root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert {".kedge/tasks.jsonl", ".kedge/ledger/t1.jsonl", ".kedge/handoffs/t1.jsonl"} <= {*held}
    assert '"status": "done"' in git(harness.root, "show", "HEAD:.kedge/tasks.jsonl")
    assert git(harness.root, "rev-list", "--count", "HEAD").strip() == "3"


def test_other_files_of_the_user_below_kedge_are_not_committed(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    (harness.root / ".kedge" / "config.toml").write_text("[run]\nattempts = 2\n")
    harness.plays(OK)
    harness.run()
    assert harness.status() == ["?? .kedge/config.toml"]


@pytest.mark.parametrize("backend", ["task_yaml", "feature_docs"])
def test_status_lines_of_kedge_are_committed_and_cause_no_warning(
    harness: RunHarness, backend: str
) -> None:
    name = _add_documents(harness.root, backend)
    harness.plays({"write": {"ok": "x\n"}})
    ran = harness.run("--json", "--trust")
    texts = [one["text"] for one in harness.events(ran) if one["event"] == "warning"]
    assert texts == []
    assert harness.state(name) == "done"
    assert harness.status() == []


def test_a_document_that_the_user_is_editing_is_not_committed(harness: RunHarness) -> None:
    name = _add_documents(harness.root, "task_yaml")
    file = harness.root / "tasks" / f"{name}.task.yaml"
    file.write_text(f"{file.read_text()}# a note of mine\n")
    harness.plays({"write": {"ok": "x\n"}})
    harness.run("--trust")
    assert "a note of mine" not in git(harness.root, "show", f"HEAD:tasks/{name}.task.yaml")
    assert "a note of mine" in file.read_text()


def _add_documents(root: Path, backend: str) -> str:
    if backend == "task_yaml":
        path, name = root / "tasks" / "T-1.task.yaml", "T-1"
        text = (
            "id: T-1\ntitle: Make it ok\nstatus: todo\ndescription: d\n"
            "acceptance_criteria: [it is]\n"
            "scope:\n  in: [ok]\nqa:\n  commands: [sh check.sh]\n"
        )
    else:
        path, name = root / "docs" / "features" / "001-sail" / "tasks.md", "001-1.1"
        text = "# Tasks\n\n### Task 1.1: Make it ok\n\n- **Done when:** there is a file ok\n"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    git(root, "add", ".")
    git(root, "commit", "-qm", "tasks")
    return name


# The proven tree


def test_a_file_that_a_daemon_rewrites_after_the_proof_is_not_committed(
    harness: RunHarness,
) -> None:
    harness.task("Make it ok", "t1")
    hook = harness.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho evil >ok\n")  # as late as it can be
    hook.chmod(0o755)
    harness.plays(OK)
    harness.run()
    assert git(harness.root, "show", "HEAD:ok") == "yes\n"
    assert (harness.root / "ok").read_text() == "evil\n"
    assert harness.status() == [" M ok"]


def test_a_hook_that_changes_the_commit_makes_the_attempt_fail(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    hook = harness.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho evil >ok\ngit add ok\n")
    hook.chmod(0o755)
    harness.plays(OK)
    ran = harness.run("--attempts", "1", code=1)
    assert harness.state("t1") == "failed"
    assert "a hook changed what was to be committed: ok" in ran.out
    assert harness.log() == ["first"]


def test_line_endings_are_converted_as_in_any_commit(harness: RunHarness) -> None:
    (harness.root / ".gitattributes").write_text("*.txt text eol=crlf\n")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "attributes")
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"ok": "x\n", "a.txt": "1\r\n2\r\n"}})
    harness.run()
    assert git(harness.root, "show", "HEAD:a.txt") == "1\n2\n"
    assert harness.status() == []


def test_links_modes_and_deletions_are_committed(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    make = "ln -s ok link; chmod +x check.sh; rm app.py; mkdir app.py; echo 1 >app.py/x"
    harness.plays({**OK, "run": [make]})
    harness.run()
    rows = git(harness.root, "ls-tree", "-r", "HEAD").splitlines()
    modes = {row.split("\t")[1]: row.split()[0] for row in rows}
    assert (modes["link"], modes["check.sh"], modes["app.py/x"]) == ("120000", "100755", "100644")
    assert harness.status() == []


def test_a_reverted_commit_of_the_agent_is_not_in_head(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    sneak = "echo evil >app.py; git commit -qam sneaky; git show HEAD^:app.py >app.py"
    harness.plays({**OK, "run": [sneak]})
    harness.run()
    assert git(harness.root, "show", "HEAD:app.py") == "def sail(): ...\n"
    assert harness.status() == []


def test_the_commit_lands_on_the_branch_of_the_start_or_nowhere(harness: RunHarness) -> None:
    branch = git(harness.root, "symbolic-ref", "--short", "HEAD").strip()
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": ["git switch -qc other"]})
    ran = harness.run("--attempts", "1", code=1)
    assert "HEAD is on other" in ran.out
    assert git(harness.root, "rev-parse", "other", branch).split()[0] == (
        git(harness.root, "rev-parse", branch).strip()
    )


def test_a_merge_that_the_agent_left_unfinished_is_not_concluded(harness: RunHarness) -> None:
    git(harness.root, "branch", "other")
    harness.task("Make it ok", "t1")
    side = "git switch -q other; echo x >x; git add x; git commit -qm x; git switch -q -"
    harness.plays({**OK, "run": [f"{side}; git merge -q --no-commit --no-ff other"]})
    ran = harness.run("--attempts", "1", code=1)
    assert "a merge is not finished" in ran.out
    assert harness.log() == ["first"]
    assert (harness.root / ".git" / "MERGE_HEAD").exists()


# What a failed attempt committed


def test_commits_of_a_failed_attempt_are_taken_back_and_named(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays(BAD)
    ran = harness.run("--attempts", "1", code=1)
    assert harness.log() == ["first"]
    assert (harness.root / "no").read_text() == "1\n"  # the work itself stays
    assert f"1 commit of this attempt taken off main, and kept as {_COMMITS}" in ran.err
    assert "?? no" in harness.status()
    assert git(harness.root, "show", f"{_COMMITS}:no") == "1\n"


def test_a_later_attempt_commits_all_of_the_work(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays(BAD, OK)
    harness.run()
    assert harness.log() == ["task(t1): Make it ok", "first"]
    assert harness.committed() == ["no", "ok"]
    assert harness.status() == []


def test_a_failed_task_leaves_nothing_in_the_next_commit(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", check="test -f two")
    harness.plays(BAD, {"write": {"two": "x"}})
    harness.run("--attempts", "1", code=1)
    assert "no" not in git(harness.root, "ls-tree", "--name-only", "HEAD").split()
    assert harness.log() == ["task(t2): Make it two", "first"]
    assert git(harness.root, "show", f"{_COMMITS}:no") == "1\n"


def test_a_failed_task_of_a_feature_stays_failed(harness: RunHarness) -> None:
    _add_documents(harness.root, "feature_docs")
    file = harness.root / "docs" / "features" / "001-sail" / "tasks.md"
    file.write_text(f"{file.read_text()}\n### Task 1.2: Two\n\n- **Done when:** there is two\n")
    git(harness.root, "commit", "-qam", "two tasks")
    harness.plays("I did nothing.", {"write": {"two": "x"}})
    harness.run("--attempts", "1", code=1)
    assert [harness.state("001-1.1"), harness.state("001-1.2")] == ["failed", "done"]
    assert harness.status() == []


def test_commits_of_a_reviewer_are_taken_back(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    approve = '```json\n{"approved": true, "issues": []}\n```'
    sneak = "echo more >no; git add -A; git commit -qm sneaky"
    harness.plays(OK, {"say": approve, "run": [sneak]})
    harness.run("--roles", "implementer,reviewer")
    assert harness.log() == ["task(t1): Make it ok", "first"]
    assert harness.committed() == ["ok"]
    assert harness.status() == []


def test_commits_of_work_that_a_reviewer_refuses_are_taken_back(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    refuse = '```json\n{"approved": false, "issues": []}\n```'
    done = {**OK, "run": ["git add -A; git commit -qm mine"]}
    harness.plays(done, {"say": refuse})
    harness.run("--roles", "implementer,reviewer", "--max-iterations", "2", code=1)
    assert harness.log() == ["first"]
    assert git(harness.root, "show", f"{_COMMITS}:ok") == "yes\n"


def test_head_comes_back_from_another_branch(harness: RunHarness) -> None:
    branch = git(harness.root, "symbolic-ref", "--short", "HEAD").strip()
    harness.task("Make it ok", "t1")
    harness.plays({"run": ["git switch -qc other && echo 1 >no && git add no && git commit -qm x"]})
    ran = harness.run("--attempts", "1", code=1)
    assert git(harness.root, "symbolic-ref", "--short", "HEAD").strip() == branch
    assert harness.log() == ["first"]
    assert "HEAD was on other and is back on" in ran.err
    assert git(harness.root, "log", "-1", "--format=%s", "other").strip() == "x"


def test_staged_changes_of_the_user_survive_a_taken_back_commit(harness: RunHarness) -> None:
    (harness.root / "app.py").write_text("def sail(): pass\n")
    git(harness.root, "add", "app.py")
    harness.task("Make it ok", "t1")
    harness.plays(
        {
            "run": [
                "echo 1 >no; git commit -qm x --only -- no || (git add no; git commit -qm x -- no)"
            ]
        }
    )
    harness.run("--attempts", "1", code=1)
    assert harness.log() == ["first"]
    assert git(harness.root, "diff", "--cached", "--name-only").split() == ["app.py"]


def test_a_run_that_is_killed_before_its_commit_reopens_the_task(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    hook = harness.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ntest -f again && exit 0\ntouch again\nkill -9 $(cat pid)\nexit 1\n")
    hook.chmod(0o755)
    (harness.root / ".git" / "info" / "exclude").write_text("pid\nagain\n")
    harness.plays(OK, {"write": {"ok": "yes\n", "more": "x"}})
    process = harness.start()
    (harness.root / "pid").write_text(str(process.pid))
    process.communicate(timeout=120)
    assert process.returncode == -9
    harness.kedge("run", "--resume")
    assert harness.state("t1") == "done"
    assert harness.log()[0] == "task(t1): Make it ok"
    assert harness.status() == []


def test_commits_of_the_user_between_two_runs_are_not_taken_back(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"no": "1"}}, {"write": {"no": "2"}})
    harness.run("--max-iterations", "1", code=1)
    (harness.root / "mine.txt").write_text("mine\n")
    git(harness.root, "add", "mine.txt")
    git(harness.root, "commit", "-qm", "mine")
    ran = harness.kedge("run", "--resume", "--max-iterations", "2", code=1)
    assert "HEAD has moved since the run was interrupted" in ran.err
    assert harness.log() == ["mine", "first"]


def test_resuming_lets_a_git_at_work_finish(harness: RunHarness) -> None:
    """A killed run's own git holds the lock of the index: it may finish, or end in order."""
    harness.task("Make it ok", "t1")
    hook = harness.root / ".git" / "hooks" / "pre-commit"
    hook.write_text(
        "#!/bin/sh\ntest -f again && exit 0\ntouch again\nkill -9 $(cat pid)\n"
        # waits, and holds index.lock
        "env -u GIT_INDEX_FILE git update-index --index-info <fifo\n"
    )
    hook.chmod(0o755)
    os.mkfifo(harness.root / "fifo")
    (harness.root / ".git" / "info" / "exclude").write_text("pid\nagain\nfifo\n")
    harness.plays(OK, {"write": {"ok": "yes\n", "more": "x"}})
    process = harness.start()
    (harness.root / "pid").write_text(str(process.pid))
    process.communicate(timeout=120)
    harness.kedge("run", "--resume")
    assert harness.state("t1") == "done"
    locks = (harness.root / ".git").glob("**/*.lock")
    assert not [one for one in locks if "kedge" not in one.parts]
