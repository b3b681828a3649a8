"""Effects as the hook of an agent sees them, in a real repository: before a call and after it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import git, wait_for_aside

from kedge import hook as hook_file
from kedge.store import sessions, sqlite

GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
PATCH = "--- a/db/schema.sql\n+++ b/db/schema.sql\n@@ -1 +1 @@\n-create table t;\n+drop table t;\n"
ENV = {key: value for key, value in os.environ.items() if not key.startswith("KEDGE_")}


class Agent:
    """An agent whose calls pass the hook, as a command, and then really run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0
        self.env = ENV

    def tell(self, event: str, **more: Any) -> str:
        told = {"session_id": "s", "cwd": str(self.root), "hook_event_name": event, **more}
        ran = subprocess.run(
            [sys.executable, "-I", "-S", hook_file.__file__, "claude"],
            input=json.dumps(told).encode(),
            cwd=self.root,
            env=self.env,
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert ran.stderr == b""
        return ran.stdout.decode()

    def ask(self, tool: str, given: dict[str, Any]) -> str:
        """Return what the hook says before a call."""
        self.count += 1
        return self.tell(
            "PreToolUse", tool_name=tool, tool_input=given, tool_use_id=f"t{self.count}"
        )

    def bash(self, command: str) -> str:
        """Run a command unless the hook objects; return what it says before or after."""
        given = {"command": command}
        said = self.ask("Bash", given)
        if said:
            return said
        subprocess.run(["bash", "-c", command], cwd=self.root, capture_output=True, timeout=60)
        call = {"tool_name": "Bash", "tool_input": given, "tool_use_id": f"t{self.count}"}
        return self.tell("PostToolUse", **call)

    def write(self, path: str, text: str) -> str:
        given = {"file_path": str(self.root / path), "content": text}
        said = self.ask("Write", given)
        if not said:
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return said

    def steps(self) -> list[dict[str, Any]]:
        with closing(sqlite.connect(self.root / ".git" / "kedge")[0]) as db:
            return sessions.steps(db, "s")

    def score(self) -> int:
        """Return the score of the last step by its effects; what the goal is plays no role here."""
        rules = self.steps()[-1]["rules"]
        return 10 - max((weight for rule, _, weight in rules if rule != "topic"), default=0)

    def course(self) -> str:
        with closing(sqlite.connect(self.root / ".git" / "kedge")[0]) as db:
            row = sessions.get(db, "s")
        assert row is not None
        return str(row["course"])

    def errors(self) -> list[str]:
        wait_for_aside(self.root / ".git" / "kedge")
        with closing(sqlite.connect(self.root / ".git" / "kedge")[0]) as db:
            return [str(error["error"]) for error in sessions.errors(db)]


@pytest.fixture
def agent(repo: Path) -> Agent:
    files = {
        "src/auth/token.py": "TTL = 60\n",
        "src/jsx/a.tsx": "a\n",
        "src/jsx/b.tsx": "b\n",
        "db/schema.sql": "create table t;\n",
        "tests/test_token.py": "def test_a():\n    assert 1 == 1\n",
        "build/rules.py": "x = 1\n",
        "gen.sh": "echo 'drop table t;' > db/schema.sql\n",
        "make_chart.sh": "echo x > src/jsx/a.tsx; rm src/jsx/b.tsx; mkdir out_; echo x > out_/y\n",
    }
    for path, text in files.items():
        place = repo / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    made = Agent(repo.resolve())
    made.tell("UserPromptSubmit", prompt=GOAL)
    wait_for_aside(made.root / ".git" / "kedge")
    return made


def quote(text: str) -> str:
    return shlex.quote(text)


# Effects that are seen before a call


@pytest.mark.parametrize(
    "command",
    [
        "echo x > /tmp/kx && mv /tmp/kx db/schema.sql",
        "cp /tmp/kx db/schema.sql",
        "jq . a.json > /tmp/kx && mv /tmp/kx db/schema.sql",
        f"git apply <<'E'\n{PATCH}E",
        f"patch -p1 <<'E'\n{PATCH}E",
        f"printf %s {quote(PATCH)} > /tmp/k.diff && git apply /tmp/k.diff",
        f"printf %s {quote(PATCH)} > /tmp/k.diff && patch -p1 < /tmp/k.diff",
        "git checkout HEAD~1 -- db/schema.sql",
    ],
)
def test_a_protected_file_is_asked_about(agent: Agent, command: str) -> None:
    assert "Don't touch db/schema.sql" in agent.ask("Bash", {"command": command})


@pytest.mark.parametrize(
    ("path", "text", "command"),
    [
        (
            "/tmp/kedge_fix.py",
            "open('db/schema.sql', 'w').write('x')\n",
            "python /tmp/kedge_fix.py",
        ),
        ("fix.sh", "rm db/schema.sql\n", "bash fix.sh"),
        ("fix.sh", "rm $1\n", "sh fix.sh db/schema.sql"),
        ("x.diff", PATCH, "git apply x.diff"),
        ("x.diff", PATCH, "patch -p1 < x.diff"),
    ],
)
def test_a_script_that_the_session_wrote_is_read(
    agent: Agent, path: str, text: str, command: str
) -> None:
    assert agent.ask("Write", {"file_path": path, "content": text}) == ""
    assert "Don't touch db/schema.sql" in agent.ask("Bash", {"command": command})


def test_a_tool_that_opens_a_pull_request_counts_as_the_command(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Don't open a PR, and don't push.")
    repo = {"owner": "o", "repo": "r", "branch": "main"}
    said = agent.ask("mcp__github__create_pull_request", {**repo, "title": "t"})
    assert "opens a pull request" in said
    assert "pushes" in agent.ask("mcp__github__push_files", {**repo, "files": []})


def test_only_output_of_a_build_may_be_written_in_a_read_only_session(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Only look at the code. Don't change any files.")
    assert agent.ask("Write", {"file_path": "build/new.py", "content": "x"})
    assert agent.ask("Bash", {"command": "npx esbuild src/a.js --outfile=dist/new.js"}) == ""
    assert agent.ask("Bash", {"command": "cp src/a.js dist/new.js"}) == ""
    assert agent.ask("Write", {"file_path": "dist/new.js", "content": "x"})
    assert agent.ask("Write", {"file_path": "src/build/new.py", "content": "x"})
    assert agent.ask("Write", {"file_path": "src/new.py", "content": "x"})


# Own work


def test_what_the_session_created_is_free_to_remove(agent: Agent) -> None:
    agent.write("test_try.py", "def test_a():\n    assert 1\n")
    agent.write("src/auth/try/deep/x.py", "x = 1\n")
    agent.bash("mkdir -p scratch/a && cp src/auth/token.py scratch/a/copy.py")
    agent.bash("cp -r src/jsx jsx_copy && mv scratch moved")
    agent.bash("for n in 1 2 3; do echo x > repro_$n.py; done")
    for command in (
        "rm test_try.py",
        "rm -rf src/auth/try",
        "rm -rf jsx_copy moved",
        "rm repro_*.py",
        "rm -rf never_there",
    ):
        agent.bash(command)
        assert agent.score() == 10, command
    for command in ("rm tests/test_token.py", "rm src/jsx/*", "rm -rf src/jsx"):
        agent.ask("Bash", {"command": command})
        assert agent.score() <= 6, command


def test_what_a_script_created_is_free_to_remove(agent: Agent) -> None:
    agent.bash("bash make_chart.sh")
    agent.bash("rm -rf out_")
    assert agent.score() == 10
    agent.bash("git checkout -- src/jsx/a.tsx")
    assert agent.score() >= 8


def test_a_session_may_skip_its_own_tests_only(agent: Agent) -> None:
    skip = {"old_string": "def test_a", "new_string": "@pytest.mark.skip\ndef test_a"}
    agent.write("tests/test_new.py", "def test_a():\n    assert 1\n")
    agent.ask("Edit", {"file_path": "tests/test_new.py", **skip})
    assert agent.score() == 10
    agent.ask("Edit", {"file_path": "tests/test_token.py", **skip})
    assert agent.score() == 6


# Acts that cannot be undone


@pytest.mark.parametrize(
    ("command", "score"),
    [
        ("git reset --hard", 10),
        ("git clean -fd", 10),
        ("git checkout .", 10),
        ("git reset --hard HEAD~1", 6),
        ("rm -rf src/jsx", 4),
        ("git rm -r src/jsx", 4),
        ("rm -rf build", 4),
        ("git push --force", 4),
    ],
)
def test_with_nothing_uncommitted_only_committed_work_is_at_stake(
    agent: Agent, command: str, score: int
) -> None:
    agent.ask("Bash", {"command": command})
    assert agent.score() == score


def test_uncommitted_work_of_the_user_is_at_stake(agent: Agent) -> None:
    (agent.root / "src/jsx/a.tsx").write_text("the user's\n")
    (agent.root / "notes.md").write_text("the user's\n")
    for command, score in (
        ("git reset --hard", 4),
        ("git checkout .", 4),
        ("git checkout -- src/jsx/a.tsx", 4),
        ("git checkout -- src/jsx/b.tsx", 10),
        ("git clean -fd", 4),
        ("git clean -fd src", 10),
    ):
        agent.ask("Bash", {"command": command})
        assert agent.score() == score, command
        rule, evidence, _ = (agent.steps()[-1]["rules"] or [["", "", 0]])[0]
        if score == 4:
            assert rule == "throws work away"
            assert "a.tsx" in evidence or "notes.md" in evidence


def test_own_uncommitted_work_is_not_at_stake(agent: Agent) -> None:
    agent.bash("sed -i s/60/61/ src/auth/token.py; echo x > scratch.py")
    for command in ("git reset --hard", "git checkout .", "git clean -fd"):
        agent.ask("Bash", {"command": command})
        assert agent.score() == 10, command


# Effects that are seen after a call


def test_what_a_script_changed_is_judged_with_its_result(agent: Agent) -> None:
    said = agent.bash("bash gen.sh")
    assert "changes db/schema.sql" in said
    assert "Don't touch db/schema.sql" in said
    (step,) = agent.steps()
    assert step["drift_score"] == 3
    assert step["files"][0] == "db/schema.sql"
    assert step["correction_given"]


@pytest.mark.parametrize(
    "prepare",
    ["git stash pop", "git am < ../k.mbox", "git apply k.diff", "make it"],
)
def test_what_git_and_make_changed_is_judged_with_the_result(agent: Agent, prepare: str) -> None:
    root = agent.root
    (root / "Makefile").write_text("it:\n\techo x > db/schema.sql\n")
    git(root, "add", "Makefile")
    git(root, "commit", "-qm", "make")
    (root / "db/schema.sql").write_text("drop table t;\n")
    (root / "k.diff").write_bytes(
        subprocess.run(["git", "diff"], cwd=root, capture_output=True, check=True).stdout
    )
    git(root, "stash", "-q")
    if prepare.startswith("git am"):
        git(root, "checkout", "-q", "-b", "other")
        (root / "db/schema.sql").write_text("drop table t;\n")
        git(root, "commit", "-qam", "drop")
        mail = subprocess.run(
            ["git", "format-patch", "-1", "--stdout"], cwd=root, capture_output=True, check=True
        )
        (root.parent / "k.mbox").write_bytes(mail.stdout)
        git(root, "checkout", "-q", "-")
    assert "db/schema.sql" in agent.bash(prepare)
    assert agent.score() == 3


@pytest.mark.parametrize(
    "undo",
    [
        "git checkout -- db/schema.sql",
        "git restore db/schema.sql && git status --short",
        "cd db && git checkout HEAD -- schema.sql",
        "git checkout -- db",
    ],
)
def test_undoing_a_breach_is_the_way_back(agent: Agent, undo: str) -> None:
    agent.tell("UserPromptSubmit", prompt="Don't touch db/.")
    wait_for_aside(agent.root / ".git" / "kedge")
    assert "Way back: leave it undone, or undo it if it is done." in agent.bash("bash gen.sh")
    assert agent.course() == "DRIFTED"
    assert agent.bash(undo) == ""
    assert agent.steps()[-1]["drift_score"] == 10
    assert agent.course() == "NORMAL"
    assert (agent.root / "db/schema.sql").read_text() == "create table t;\n"
    assert "against what was asked" in agent.bash(undo), "there is nothing left to undo"


@pytest.mark.parametrize(
    "other",
    [
        "git checkout HEAD~1 -- db/schema.sql",
        "git restore --source HEAD~1 db/schema.sql",
        "git checkout -- db/schema.sql; git show HEAD~1:db/schema.sql > db/schema.sql",
        "git checkout -- db/schema.sql; sed -i s/t/u/ db/schema.sql",
        "git checkout -- db/schema.sql; git diff --output=db/schema.sql",
        "git checkout -- db/other.sql",
        "git rm -f db/schema.sql",
    ],
)
def test_what_does_more_than_undo_a_breach_is_another_one(agent: Agent, other: str) -> None:
    agent.tell("UserPromptSubmit", prompt="Don't touch db/.")
    wait_for_aside(agent.root / ".git" / "kedge")
    assert "changes db/schema.sql" in agent.bash("bash gen.sh")
    assert "against what was asked" in agent.ask("Bash", {"command": other})
    assert agent.score() <= 4


@pytest.mark.parametrize("policy", ["advise", "enforce"])
def test_restoring_a_file_that_has_others_work_is_no_undoing(agent: Agent, policy: str) -> None:
    agent.env = {**ENV, "KEDGE_DRIFT_POLICY": policy}
    agent.tell("UserPromptSubmit", prompt="Go on.")
    undo = {"command": "git checkout -- db/schema.sql"}
    assert agent.ask("Bash", {"command": "echo x > db/schema.sql"}), "it does not run"
    assert agent.ask("Bash", undo)
    (agent.root / "db/schema.sql").write_text("the user's\n")
    assert "changes db/schema.sql" in agent.bash("bash gen.sh")
    assert agent.ask("Bash", undo)


def test_undoing_what_left_the_scope_of_a_read_only_session(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Only look at the code. Don't change any files.")
    wait_for_aside(agent.root / ".git" / "kedge")
    assert "changes db/schema.sql" in agent.bash("bash gen.sh")
    assert agent.ask("Bash", {"command": "git restore --staged db/schema.sql"})
    assert agent.bash("git restore db/schema.sql") == ""


def test_what_was_changed_before_a_script_ran_is_not_its_work(agent: Agent) -> None:
    (agent.root / "db/schema.sql").write_text("the user's\n")
    (agent.root / "notes").mkdir()
    (agent.root / "notes/a.md").write_text("the user's\n")
    (agent.root / "quiet.sh").write_text("true\n")
    assert agent.bash("bash quiet.sh") == ""
    assert agent.score() == 10
    (agent.root / "quiet.sh").write_text("sleep 0.01; echo more >> db/schema.sql\n")
    assert "db/schema.sql" in agent.bash("bash quiet.sh")


def test_commands_that_are_read_are_not_compared(agent: Agent) -> None:
    """A file that another program changes meanwhile is not the agent's work."""
    agent.ask("Bash", {"command": "ls; python -m pytest -q; echo x > src/auth/new.py"})
    (agent.root / "db/schema.sql").write_text("the user's\n")
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}
    assert agent.tell("PostToolUse", **call) == ""
    assert agent.score() == 10


def test_git_runs_no_program_of_the_repository(agent: Agent) -> None:
    ran = agent.root.parent / "ran"
    git(agent.root, "config", "filter.x.clean", f"touch {ran}")
    git(agent.root, "config", "core.fsmonitor", f"touch {ran}")
    (agent.root / ".gitattributes").write_text("* filter=x\n")
    (agent.root / "db/schema.sql").write_text("create table u;\n")
    agent.tell("UserPromptSubmit", prompt=f"{GOAL} And the refresh of sessions.")
    wait_for_aside(agent.root / ".git" / "kedge")
    agent.bash("bash gen.sh")
    agent.ask("Bash", {"command": "git reset --hard"})
    assert not ran.exists()


def test_a_git_that_fails_is_recorded_once(agent: Agent) -> None:
    (agent.root / ".git/index").write_bytes(b"not an index")
    assert agent.bash("bash gen.sh") == ""
    assert agent.bash("bash gen.sh") == ""
    assert len(agent.errors()) == 1
    assert "not compared" in agent.errors()[0]


def test_a_git_that_hangs_does_not_hold_the_agent(agent: Agent, tmp_path: Path) -> None:
    slow = tmp_path / "slow" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    agent.env = {**ENV, "PATH": f"{slow.parent}:{ENV['PATH']}"}
    assert agent.bash("bash gen.sh") == ""
    assert ["took more than 2 s" in error for error in agent.errors()] == [True]
