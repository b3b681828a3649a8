"""Sessions are bound to the task they work on, and released from it, event by event."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, git

from kedge.drift.watch import entry, sensor
from kedge.store import claims, sessions, sqlite

GOAL = "Make the parser of dates faster. Don't touch package.json."
CLAIM = "kedge task claim k1"
OUT, BESIDE = "src/middleware/etag/new.ts", "src/router/trie.ts"


class Agent:
    """A session in a work tree, whose events reach kedge."""

    def __init__(self, kedge: Kedge, session: str = "s1", task: str | None = None) -> None:
        self.kedge, self.root, self.session, self.task = kedge, kedge.directory, session, task
        self.count = 0
        self.faults: list[str] = []

    def __call__(self, event: str, **more: Any) -> Any:
        told = {"session_id": self.session, "cwd": str(self.root), "hook_event_name": event, **more}
        home = Path(git(self.root, "rev-parse", "--path-format=absolute", "--git-common-dir")[:-1])
        self.home = home / "kedge"
        answer, faults = entry.answer_event(
            str(self.root), str(self.home), "claude", told, self.task, unattended=False
        )
        self.faults += faults
        return answer

    def says(self, text: str) -> Any:
        """Return the answer to a message, which is read as the process aside does."""
        answer = self("UserPromptSubmit", prompt=text)
        with closing(sqlite.connect(self.home)[0]) as db:
            self.faults += sensor.read_messages(db, self.session)
        return answer

    def writes(self, path: str) -> Any:
        """Return what kedge says about a new file, before or after it is written."""
        return self._call("Write", {"file_path": path, "content": "export const x = 1\n"})

    def runs(self, command: str, code: int = 0) -> Any:
        """Run a kedge command as the agent's shell does, between the two events of the call."""
        return self._call("Bash", {"command": command}, code=code)

    def _call(self, tool: str, given: dict[str, str], code: int = 0) -> Any:
        self.count += 1
        call = {
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": f"{self.session}-{self.count}",
        }
        answer = self("PreToolUse", **call)
        if answer:
            return answer
        for part in given.get("command", "").split(" && "):
            if part.startswith("kedge "):
                self.kedge(*part.split()[1:], code=code, cwd=self.root)
        return self("PostToolUse" if code == 0 else "PostToolUseFailure", **call)

    @property
    def row(self) -> dict[str, Any]:
        with closing(sqlite.connect(self.home)[0]) as db:
            found = sessions.get(db, self.session)
        assert found is not None
        return found

    @property
    def bound(self) -> tuple[str | None, str]:
        """The task and how the session is bound to it."""
        return self.row["task"], self.row["bound"]

    @property
    def limits(self) -> list[tuple[str, str]]:
        held = json.loads(self.row["engine"])["charter"]["limits"]
        return [(each["quote"], each["source"]) for each in held]


@pytest.fixture
def board(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with two tasks that are not claimed."""
    (repo / "check.sh").write_text("exit 0\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    scope = ("--scope", "src/utils/", "--out-of-scope", "src/middleware/")
    kedge("task", "add", "Parse dates faster", "--id", "k1", *scope, "--check", "sh check.sh")
    kedge("task", "add", "Draw charts", "--id", "k2", "--scope", "src/charts/")
    return kedge


@pytest.fixture
def agent(board: Kedge) -> Agent:
    return Agent(board)


def asks(answer: Any) -> bool:
    return bool(answer) and "permissionDecision" in answer["hookSpecificOutput"]


def says(answer: Any) -> str:
    return str(answer["hookSpecificOutput"]["additionalContext"]) if answer else ""


# How a session is bound


def test_a_task_that_is_claimed_before_the_session_binds_it(agent: Agent) -> None:
    agent.kedge("task", "claim", "k1")
    agent("SessionStart", source="startup")
    assert agent.bound == ("k1", "in_progress")
    agent.says(GOAL)
    assert agent.row["goal"] == GOAL
    answer = json.dumps(agent.writes(OUT))
    assert "out of scope: src/middleware/" in answer
    assert "The task puts src/middleware/ out of scope." in answer
    assert "You said" not in answer
    assert "This leaves the scope of the task" in says(agent.writes(BESIDE))
    assert agent.writes("src/utils/dates.ts") is None


def test_a_task_that_is_claimed_with_the_tool_of_the_server_binds_at_once(agent: Agent) -> None:
    agent.says(GOAL)
    call = {"tool_name": "mcp__kedge__task_claim", "tool_input": {"task": "k1"}}
    assert agent("PreToolUse", **call, tool_use_id="a") is None
    agent.kedge("task", "claim", "k1")
    agent("PostToolUse", **call, tool_use_id="a")
    assert agent.bound == ("k1", "claimed")
    assert asks(agent.writes(OUT))


def test_a_task_that_the_user_claims_meanwhile_binds_with_the_next_message(agent: Agent) -> None:
    agent.says(GOAL)
    assert agent.writes("src/middleware/a.ts") is None
    agent.kedge("task", "claim", "k1")
    assert "scope" not in json.dumps(agent.writes("src/middleware/b.ts"))
    agent.says("go on")
    assert agent.bound == ("k1", "in_progress")
    assert asks(agent.writes("src/middleware/c.ts"))
    assert agent.limits == [
        ("out of scope: src/middleware/", "task"),
        ("Don't touch package.json", "rules"),
    ]


def test_a_task_that_the_user_claims_meanwhile_binds_when_the_agent_stops(agent: Agent) -> None:
    agent.says(GOAL)
    agent.writes("src/utils/dates.ts")
    agent.kedge("task", "claim", "k1")
    stop = agent("Stop", stop_hook_active=False)
    assert "Task k1 is not proven done: `sh check.sh`" in stop["reason"]
    assert agent.bound == ("k1", "in_progress")


@pytest.mark.parametrize("command", [CLAIM, f"{CLAIM} && npm ci", f"{CLAIM} --as ada"])
def test_a_task_that_the_agent_claims_binds_at_once(agent: Agent, command: str) -> None:
    agent.says("Take the next task.")
    agent.kedge("task", "claim", "k2")
    agent.runs(command)
    assert agent.bound == ("k1", "claimed")
    assert asks(agent.writes(OUT))
    assert agent.row["goal"].startswith("Parse dates faster")


def test_a_claim_that_a_sandbox_kept_from_the_database_binds_too(
    agent: Agent, tmp_path: Path
) -> None:
    agent.says(GOAL)
    call = {"tool_name": "Bash", "tool_input": {"command": CLAIM}, "tool_use_id": "t1"}
    agent("PreToolUse", **call)
    agent.kedge("task", "claim", "k1", "--as", "ada", env={"KEDGE_HOME": str(tmp_path / "home")})
    agent("PostToolUse", **call)
    assert agent.bound == ("k1", "claimed")
    with closing(sqlite.connect(agent.home)[0]) as db:
        claim = claims.read(db)["k1"]
    assert (claim.project, claim.actor) == (str(agent.root), "ada")


def test_a_claim_that_fails_binds_to_nothing(agent: Agent) -> None:
    agent.kedge("task", "claim", "k1", "--as", "bob")
    agent.kedge("task", "claim", "k2", "--as", "eve")
    agent.says(GOAL)
    agent.runs(CLAIM, code=1)
    assert agent.bound == (None, "")


def test_reading_about_a_task_does_not_bind_to_it(agent: Agent) -> None:
    for name in ("k1", "k2"):
        agent.kedge("task", "claim", name)
    agent.says(GOAL)
    agent.runs("kedge task show k1")
    assert agent.row["bound"] == ""
    agent.runs("kedge task claim k1 --again")
    assert agent.bound == ("k1", "claimed")


def test_kedge_task_wins(board: Kedge) -> None:
    agent = Agent(board, task="k2")
    board("task", "claim", "k1")
    agent.says(GOAL)
    assert agent.bound == ("k2", "named")
    agent.runs("kedge task claim k1 --again")
    assert agent.bound == ("k2", "named")


def test_each_work_tree_has_its_own_task(board: Kedge, tmp_path: Path) -> None:
    """Although the second one, made later, sees both tasks in progress."""
    board("task", "claim", "k1")
    git(board.directory, "add", ".")
    git(board.directory, "commit", "-qm", "tasks")
    git(board.directory, "worktree", "add", "-q", str(tmp_path / "second"))
    second = Kedge(tmp_path / "second")
    second("task", "claim", "k2")
    one, two = Agent(board, "one"), Agent(second, "two")
    for agent in (one, two):
        agent.says(GOAL)
    assert (one.bound, two.bound) == (("k1", "in_progress"), ("k2", "in_progress"))
    assert asks(one.writes(OUT))
    assert "scope" in says(two.writes(OUT))
    for agent in (one, two):
        (row,) = agent.kedge.json("drift", "status")
        assert (row["task"], row["bound"]) == agent.bound


# How a binding ends


@pytest.mark.parametrize(
    "command",
    [
        "kedge task close k1",
        "kedge task close k1 --failed",
        "kedge task reopen k1",
        "kedge task block k1 --type external --reason x",
    ],
)
def test_a_task_that_is_over_ends_the_binding(agent: Agent, command: str) -> None:
    agent.says(GOAL)
    agent.runs(CLAIM)
    agent.runs(command)
    assert agent.bound == ("k1", "ended")
    assert agent.limits == [("Don't touch package.json", "rules")]
    assert agent.row["scope"] == ["package.json"]  # the one place that the user named
    assert agent.writes(OUT) is None
    assert "scope" not in json.dumps(agent.writes(BESIDE))
    assert asks(agent.writes("package.json"))


def test_a_task_that_the_user_closes_ends_the_binding_with_the_next_message(agent: Agent) -> None:
    agent.kedge("task", "claim", "k1")
    agent.says(GOAL)
    agent.kedge("task", "close", "k1")
    agent.says("go on")
    assert agent.writes(OUT) is None
    assert agent("Stop", stop_hook_active=False) is None  # nor are its checks owed any more


def test_a_session_goes_on_with_the_next_task(agent: Agent) -> None:
    agent.says("Do the tasks.")
    agent.runs(CLAIM)
    agent.runs("kedge task close k1 && kedge task claim k2")
    assert agent.bound == ("k2", "claimed")
    assert agent.limits == []
    assert "scope" in says(agent.writes("src/utils/dates.ts"))


def test_another_task_in_progress_leaves_a_binding_as_it_is(agent: Agent) -> None:
    agent.kedge("task", "claim", "k1")
    agent.says(GOAL)
    agent.kedge("task", "claim", "k2")
    agent.says("go on")
    assert agent.bound == ("k1", "in_progress")


def test_tasks_that_cannot_be_read_leave_a_binding_as_it_is(agent: Agent) -> None:
    agent.kedge("task", "claim", "k1")
    agent.says(GOAL)
    (agent.root / ".kedge" / "tasks.jsonl").write_text("{broken")
    agent.says("go on")
    assert agent.bound == ("k1", "in_progress")
    assert asks(agent.writes(OUT))
    assert len(agent.faults) == 1


def test_a_program_that_is_slow_to_list_tasks_does_not_lose_a_message(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bd"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("KEDGE_TASKS_BACKEND", "beads")
    monkeypatch.setenv("KEDGE_TASKS_BD", str(slow))
    agent.says(GOAL)
    assert agent.row["goal"] == GOAL
    assert any("bd export took longer than 1.5 s" in fault for fault in agent.faults)


# What kedge itself does


def test_what_kedge_writes_is_not_the_work_of_the_agent(agent: Agent) -> None:
    git(agent.root, "add", ".")
    git(agent.root, "commit", "-qm", "tasks")
    agent.says(GOAL)
    for command in (CLAIM, "kedge task add More && bash other.sh", "kedge map && kedge task list"):
        assert agent.runs(command) is None
    assert git(agent.root, "status", "--porcelain")
    with closing(sqlite.connect(agent.home)[0]) as db:
        assert not any(step["changes"] for step in sessions.steps(db, agent.session))


def test_what_a_script_changes_beside_a_command_of_kedge_is_judged(agent: Agent) -> None:
    agent.says(GOAL)
    agent.runs(CLAIM)
    command = {"command": "kedge task show k1 && bash gen.sh"}
    call = {"tool_name": "Bash", "tool_input": command, "tool_use_id": "t9"}
    agent("PreToolUse", **call)
    (agent.root / "src/middleware").mkdir(parents=True)
    (agent.root / "src/middleware/a.ts").write_text("x\n")
    assert "src" in says(agent("PostToolUse", **call))


def test_a_task_that_sets_the_goal_makes_a_new_revision(agent: Agent) -> None:
    """The files of the repository are ranked again for it."""
    agent.says("Please take the next ready task and implement it.")
    before = json.loads(agent.row["engine"])["charter"]["revision"]
    agent.runs(CLAIM)
    assert agent.row["goal"] == "Parse dates faster"
    assert json.loads(agent.row["engine"])["charter"]["revision"] == before + 1


# What the user says counts most


def test_a_file_that_the_user_names_is_in_scope(agent: Agent) -> None:
    agent.kedge("task", "claim", "k1")
    agent.says(GOAL)
    assert "scope" in says(agent.writes("src/router/other.ts"))
    agent.says(f"Please fix {BESIDE} as well, it parses dates too.")
    assert agent.writes(BESIDE) is None


def test_checks_are_owed_once_for_what_was_changed_after_a_message(agent: Agent) -> None:
    agent.kedge("task", "claim", "k1")
    agent.says(GOAL)
    agent.writes("src/utils/dates.ts")
    assert agent("Stop", stop_hook_active=False)["decision"] == "block"
    agent.says("What does the parser of dates return?")
    assert agent("Stop", stop_hook_active=False) is None


def test_a_task_that_is_closed_before_the_turn_ends_is_still_labelled(agent: Agent) -> None:
    agent.says(GOAL)
    agent.runs(CLAIM)
    agent._call("Bash", {"command": "git commit --no-verify -m x"})
    agent.runs("kedge task close k1")
    from kedge.host import project

    for _ in range(2):
        agent("Stop", stop_hook_active=False)
        sensor.label_task(project.find(agent.root), agent.session)
    assert "needs-review" in agent.kedge.json("task", "show", "k1")["labels"]
    assert agent.bound == ("k1", "")


def test_a_noted_message_keeps_the_task_of_its_environment(kedge: Kedge) -> None:
    """Who reads it, another program in another environment, changes nothing about that."""
    for name in ("k1", "k2"):
        kedge("task", "add", f"Draw chart {name}", "--id", name)
    agent = Agent(kedge, task="k2")
    agent("SessionStart", source="startup")
    agent("UserPromptSubmit", prompt="Draw the second chart.")
    (row,) = kedge.json("drift", "status")
    assert row["task"] == "k2"
