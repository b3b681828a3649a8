"""The work aside, through the real hook: a judge whose pace the tests set with files."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, git, is_starting

from kedge import hook
from kedge.store import sessions, sqlite

GOAL = "Fix the expiry of tokens. I'd rather the login code stayed as it is."
QUOTE = "I'd rather the login code  stayed as it is"
LOGIN = {"file_path": "src/login/form.py", "content": "A = 1\n"}
LIMIT = {"options": ["--forbid", "src/login/"], "quote": QUOTE}
PATIENCE = 60.0  # seconds: a guard against hanging, not a measurement
JUDGE = """
import json, os, pathlib, subprocess, sys, time
here = pathlib.Path(sys.argv[1])
number = len(list(here.glob("request-*")))
asked = json.load(sys.stdin)
here.joinpath("environment.json").write_text(json.dumps(dict(os.environ)))
here.joinpath("directory").write_text(os.getcwd() + " " + " ".join(os.listdir()))
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
part = here / "part"
part.write_text(json.dumps(asked))
part.rename(here / f"request-{number}")
while not here.joinpath("go").exists():
    time.sleep(0.02)
sys.stdout.write(here.joinpath("answer").read_text())
sys.exit(int(here.joinpath("code").read_text()))
"""


class Judge:
    """The user's judge, which waits until it is let go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "judge.py").write_text(JUDGE)
        self.will_answer({"limits": [LIMIT]})

    @property
    def command(self) -> str:
        return f"{sys.executable} {self.folder / 'judge.py'} {self.folder}"

    def will_answer(self, answer: object, code: int = 0) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        (self.folder / "answer").write_text(text)
        (self.folder / "code").write_text(str(code))

    def let_go(self) -> None:
        (self.folder / "go").touch()

    def hold(self) -> None:
        (self.folder / "go").unlink()

    def wait_for_request(self, number: int = 0) -> dict[str, Any]:
        path = self.folder / f"request-{number}"
        wait_until(path.exists)
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    @property
    def requests(self) -> int:
        return len(list(self.folder.glob("request-*")))


def wait_until(is_done: Callable[[], object]) -> None:
    late = time.monotonic() + PATIENCE
    while not is_done():
        assert time.monotonic() < late
        time.sleep(0.02)


class Agent:
    """A session whose hooks run as an agent starts them."""

    def __init__(self, repo: Path, scratch: Path) -> None:
        self.repo, self.scratch = repo, scratch
        self.home = repo / ".git" / "kedge"
        self.env = {**os.environ, "XDG_CONFIG_HOME": str(scratch / "settings")}
        (scratch / "settings" / "kedge").mkdir(parents=True)
        self.judge = Judge(scratch / "judge")
        self.use_judge(self.judge.command)

    def use_judge(self, command: str) -> None:
        path = self.scratch / "settings" / "kedge" / "config.toml"
        path.write_text(f"[drift]\njudge = {json.dumps(command)}\n")

    def __call__(self, name: str, *, session: str = "s1", **more: Any) -> str:
        """Return what the hook prints. It has ended then, and so have all who hold its pipes."""
        event = {"hook_event_name": name, "session_id": session, "cwd": str(self.repo), **more}
        done = subprocess.run(
            [sys.executable, "-I", "-S", hook.__file__, "claude"],
            input=json.dumps(event),
            cwd=self.repo,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def says(self, text: str, **more: Any) -> str:
        return self("UserPromptSubmit", prompt=text, **more)

    def writes(self, given: dict[str, str], id_: str) -> str:
        return self("PreToolUse", tool_name="Write", tool_input=given, tool_use_id=id_)

    def row(self) -> dict[str, Any]:
        with closing(sqlite.connect(self.home)[0]) as db:
            row = sessions.get(db, "s1")
        assert row is not None
        return row

    def limits(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.row()["engine"])["charter"]["limits"]
        return found

    def errors(self) -> list[str]:
        with closing(sqlite.connect(self.home)[0]) as db:
            return [row["error"] for row in sessions.errors(db)]

    def processes(self) -> list[int]:
        """Return the processes that hooks of this test started and that still run."""
        mark = str(self.scratch / "settings").encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if is_starting(entry) or mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def wait_for_end(self) -> None:
        wait_until(lambda: not self.processes())


@pytest.fixture
def agent(repo: Path, tmp_path: Path) -> Iterator[Agent]:
    git(repo, "commit", "-qm", "first", "--allow-empty")
    agent = Agent(repo, tmp_path)
    yield agent
    agent("SessionEnd")
    agent.wait_for_end()


# The judge


def test_limits_of_the_judge_count_from_the_next_action(agent: Agent) -> None:
    assert agent.says(GOAL) == ""  # answered, while the judge is still waiting
    request = agent.judge.wait_for_request()
    assert (request["version"], request["message"], request["goal"]) == (1, GOAL, GOAL)
    assert {"option": "--forbid", "value": "PATH"}.items() <= request["kinds"][1].items()
    assert agent.writes(LOGIN, "t1") == ""
    agent.judge.let_go()
    wait_until(agent.limits)
    assert "stayed as it is" in agent.writes(LOGIN, "t2")
    (limit,) = agent.limits()
    assert (limit["kind"], limit["subject"], limit["source"]) == (
        "no_touch",
        ["src/login/"],
        "judge",
    )
    with closing(sqlite.connect(agent.home)[0]) as db:
        (charter,) = sessions.charters(db, "s1")
    assert charter["limits"] == [{"kind": "no_touch", "quote": " ".join(QUOTE.split())}]
    assert charter["said"] == GOAL
    agent.wait_for_end()
    assert agent.errors() == []


def test_limits_of_the_judge_are_listed_and_lifted_like_others(agent: Agent, kedge: Kedge) -> None:
    agent.judge.let_go()
    agent.says(GOAL)
    agent.wait_for_end()
    (listed,) = kedge.json("drift", "limit", "list")
    assert (listed["kind"], listed["paths"], listed["source"]) == (
        "no_touch",
        ["src/login/"],
        "judge",
    )
    assert listed["quote"] == " ".join(QUOTE.split())
    kedge("drift", "limit", "lift", listed["id"])
    assert agent.limits() == []
    assert agent.writes(LOGIN, "t1") == ""
    (lifted,) = kedge.json("drift", "limit", "list", "--all")
    assert lifted["lifted"]


def test_a_limit_that_is_known_is_not_added_again(agent: Agent) -> None:
    agent.judge.will_answer(
        {"limits": [{"options": ["--forbid", "./db/schema.sql"], "quote": "Don't touch db"}, LIMIT]}
    )
    agent.judge.let_go()
    agent.says(f"{GOAL} Don't touch db/schema.sql.")
    agent.wait_for_end()
    assert [(one["subject"], one["source"]) for one in agent.limits()] == [
        (["db/schema.sql"], "rules"),
        (["src/login/"], "judge"),
    ]
    (known,) = agent.judge.wait_for_request()["limits"]
    assert (known["kind"], known["subject"]) == ("no_touch", ["db/schema.sql"])


def test_only_limits_that_the_user_wrote_are_taken(agent: Agent) -> None:
    forged = {"options": ["--no", "push"], "quote": "Never push"}
    unknown = {"options": ["--lift", "src/"], "quote": "Fix the expiry"}
    act = {"options": ["--no", "thinking"], "quote": "Fix the expiry"}
    empty = {"options": ["--ask-first"], "quote": "Fix the expiry"}
    everything = {"options": ["--forbid", "**"], "quote": "Fix the expiry"}
    short = {"options": ["--no", "push"], "quote": "Fix"}
    wrong = ["text", {"options": "--no push", "quote": "Fix the expiry"}]
    agent.judge.will_answer(
        {"limits": [forged, unknown, act, empty, everything, short, *wrong, LIMIT, LIMIT, LIMIT]}
    )
    agent.judge.let_go()
    agent.says(GOAL)
    agent.wait_for_end()
    assert [one["subject"] for one in agent.limits()] == [["src/login/"]]
    assert agent.errors() == [
        "the judge answered 11 limits; 10 are read",
        "the judge's limit was dropped: the user did not write 'Never push'",
        "the judge's limit was dropped: '--lift' is not an option of a limit",
        "the judge's limit was dropped: --no 'thinking' is not an act",
        "the judge's limit was dropped: the options name no limit",
        "the judge's limit was dropped: '**' names no path below the project",
        "the judge's limit was dropped: the user did not write 'Fix'",
        "the judge's limit was dropped: it needs a list of options and a quote",
    ]


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        pytest.param("no JSON", 0, "answer is not", id="not JSON"),
        pytest.param('{"limits": {}}', 0, "answer is not", id="not a list"),
        pytest.param("[" * 60_000, 0, "answer is not", id="too deep"),
        pytest.param("x" * 70_000, 0, "more than 65536 bytes", id="too large"),
        pytest.param('{"limits": []}', 3, "failed with exit code 3", id="failed"),
    ],
)
def test_a_fault_of_the_judge_is_a_guard_error_and_nothing_else(
    agent: Agent, answer: str, code: int, says: str
) -> None:
    agent.judge.will_answer(answer, code)
    agent.judge.let_go()
    assert agent.says(GOAL) == ""
    agent.wait_for_end()
    assert agent.limits() == []
    (error,) = agent.errors()
    assert says in error


def test_an_answer_may_stand_in_a_code_fence(agent: Agent) -> None:
    agent.judge.will_answer(f"Here it is:\n```json\n{json.dumps({'limits': [LIMIT]})}\n```\n")
    agent.judge.let_go()
    agent.says(GOAL)
    agent.wait_for_end()
    assert len(agent.limits()) == 1


@pytest.mark.parametrize("command", ["no-such-judge", "/no/such/judge", "./judge", "src/judge"])
def test_a_judge_that_is_missing_is_recorded_once(agent: Agent, command: str) -> None:
    for folder in (agent.repo, agent.repo / "src"):  # a file of the project is no judge
        folder.mkdir(exist_ok=True)
        (folder / "judge").write_text(f"#!/bin/sh\nexec {agent.judge.command}\n")
        (folder / "judge").chmod(0o755)
    agent.judge.let_go()
    agent.use_judge(command)
    for text in (GOAL, f"{GOAL} And the logout."):
        assert agent.says(text) == ""
        agent.wait_for_end()
    assert agent.errors() == [f"ProgramError: drift.judge: there is no program '{command}'"]
    assert agent.judge.requests == 0


def test_a_project_cannot_name_a_judge(agent: Agent) -> None:
    agent.use_judge("")
    (agent.repo / ".kedge").mkdir()
    settings = f"[drift]\njudge = {json.dumps(agent.judge.command)}\n"
    (agent.repo / ".kedge" / "config.toml").write_text(settings)
    agent.judge.let_go()
    agent.says(GOAL)
    agent.wait_for_end()
    assert agent.judge.requests == 0
    assert agent.errors() == []


def test_settings_that_cannot_be_read_are_recorded_by_the_hook_alone(agent: Agent) -> None:
    (agent.repo / ".kedge").mkdir()
    (agent.repo / ".kedge" / "config.toml").write_text("[drift\n")
    agent.says(GOAL)
    agent.wait_for_end()
    assert len(agent.errors()) == 1


def test_the_judge_gets_the_users_environment_and_an_empty_directory(agent: Agent) -> None:
    agent.env |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1", "KEDGE_MAP_TOKENS": "900"}
    agent.env |= {"ANTHROPIC_API_KEY": "sk-dummy", "CLAUDE_CODE_USE_BEDROCK": "1"}
    agent.says(GOAL)
    agent.judge.wait_for_request()
    given = json.loads((agent.judge.folder / "environment.json").read_text())
    assert given["KEDGE_JUDGE"] == "1"
    assert (given["ANTHROPIC_API_KEY"], given["CLAUDE_CODE_USE_BEDROCK"]) == ("sk-dummy", "1")
    assert not {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "KEDGE_MAP_TOKENS"} & set(given)
    directory, _, inside = (agent.judge.folder / "directory").read_text().partition(" ")
    assert inside == ""
    assert Path(directory).name.startswith("kedge-judge-")
    agent("SessionEnd")
    agent.wait_for_end()
    assert not Path(directory).exists()


def test_hooks_of_kedge_do_nothing_inside_of_a_judge(agent: Agent) -> None:
    agent.env["KEDGE_JUDGE"] = "1"
    assert agent.says(GOAL) == ""
    assert not agent.home.exists()


# The process


def test_the_end_of_the_session_ends_the_judge_and_all_that_it_started(agent: Agent) -> None:
    agent.says(GOAL)
    agent.judge.wait_for_request()
    # the work aside, the judge, its two children; and git as long as files are ranked
    wait_until(lambda: len(agent.processes()) == 4)
    agent("SessionEnd")
    agent.wait_for_end()
    assert agent.errors() == []
    assert list((agent.home / "aside").iterdir()) == []


def test_a_newer_message_replaces_the_work_and_carries_what_was_not_judged(agent: Agent) -> None:
    agent.says(GOAL)
    agent.judge.wait_for_request()
    first = set(agent.processes())
    agent.says("Please go on with the refresh of tokens.")
    request = agent.judge.wait_for_request(1)
    assert not first & set(agent.processes())
    assert request["message"] == f"{GOAL}\n\nPlease go on with the refresh of tokens."
    agent.judge.let_go()
    agent.wait_for_end()
    assert [one["subject"] for one in agent.limits()] == [["src/login/"]]
    agent.says("Now the logout of users.")
    assert agent.judge.wait_for_request(2)["message"] == "Now the logout of users."
    assert agent.errors() == []


def test_a_message_that_says_nothing_new_is_not_judged(agent: Agent) -> None:
    agent.judge.let_go()
    agent.says(GOAL)
    agent.wait_for_end()
    for text in ("yes, go on", "<system-reminder>Never push.</system-reminder>"):
        agent.says(text)
        agent.wait_for_end()
    assert agent.judge.requests == 1


@pytest.mark.parametrize("why", ["policy", "machine", "outside"])
def test_nothing_is_started_where_nothing_is_watched(agent: Agent, why: str) -> None:
    agent.env["KEDGE_DRIFT_POLICY"] = "off" if why == "policy" else "advise"
    session = "" if why == "outside" else "s1"
    text = "<system-reminder>Never push.</system-reminder>" if why == "machine" else GOAL
    agent.says(text, session=session)
    agent.wait_for_end()
    assert not (agent.home / "aside").exists()
    assert agent.errors() == []


def test_a_message_is_read_aside_for_the_task_of_its_environment(agent: Agent, repo: Path) -> None:
    agent.judge.let_go()
    agent.env |= {"KEDGE_RUN": "r1", "KEDGE_TASK": "k1"}
    kedge = [sys.executable, "-m", "kedge"]
    subprocess.run([*kedge, "task", "add", "Expire tokens", "--id", "k1"], cwd=repo, check=True)
    agent("SessionStart", source="startup")
    for text in ("# Current task\n\nExpire tokens.", "# Current task\n\nGo on."):
        agent.says(text)
        agent.wait_for_end()
        assert (agent.row()["unread"], agent.row()["task"]) == ([], "k1")
    assert agent.judge.requests == 0  # the messages of a run are not the user's
    assert agent.errors() == []


def test_limits_of_a_noted_message_are_read_aside(agent: Agent) -> None:
    agent.use_judge("")
    agent("SessionStart", source="startup")
    agent.says("Fix the expiry of tokens. Don't touch src/login/form.py.")
    wait_until(lambda: not agent.row()["unread"])
    assert [one["subject"] for one in agent.limits()] == [["src/login/form.py"]]
    agent.wait_for_end()
    assert agent.errors() == []


def test_an_error_while_a_message_is_read_aside_is_recorded(agent: Agent, repo: Path) -> None:
    agent.use_judge("")
    agent("SessionStart", source="startup")
    (repo / ".kedge").mkdir(exist_ok=True)
    (repo / ".kedge" / "config.toml").write_text("[drift\n")
    agent.says("Fix the expiry of tokens. Don't touch src/login/form.py.")
    agent.wait_for_end()
    assert len(agent.limits()) == 1  # with the default settings
    assert any("config.toml:1" in error for error in agent.errors())


def test_a_session_that_ended_meanwhile_gets_no_limit(agent: Agent) -> None:
    agent.says(GOAL)
    agent.judge.wait_for_request()
    with closing(sqlite.connect(agent.home)[0]) as db:
        sessions.change(db, "s1", status="completed")
    agent.judge.let_go()
    agent.wait_for_end()
    assert agent.limits() == []


def test_nothing_of_the_client_is_inherited(agent: Agent) -> None:
    """A client waits until nobody holds the pipes of its hook, also those it did not mean."""
    read, write = os.pipe()
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": GOAL}
    subprocess.run(
        [sys.executable, "-I", "-S", hook.__file__, "claude"],
        input=json.dumps({**event, "cwd": str(agent.repo)}).encode(),
        env=agent.env,
        pass_fds=(write,),
        check=True,
        timeout=PATIENCE,
    )
    os.close(write)
    agent.judge.wait_for_request()
    assert select.select([read], [], [], PATIENCE)[0], "the pipe is still open"
    assert os.read(read, 1) == b""
    os.close(read)
    groups = {os.getsid(process) for process in agent.processes()}
    assert os.getsid(0) not in groups
    assert all(os.getpriority(os.PRIO_PROCESS, one) >= 10 for one in agent.processes())


def test_secrets_do_not_reach_the_judge(agent: Agent) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    agent.says(f"{GOAL} The token is {secret}.")
    assert secret not in json.dumps(agent.judge.wait_for_request())


def test_work_that_takes_too_long_is_given_up_and_recorded(agent: Agent) -> None:
    agent.says(GOAL)
    agent.judge.wait_for_request()
    (turn,) = (path for path in (agent.home / "aside").iterdir() if not path.suffix)
    code = (
        "import sys; from kedge.drift.watch import aside_process as aside; aside.SECONDS = 1.0\n"
        "aside.main(sys.argv[1:])"
    )
    # The same job once more: it waits for the first one until its own time is up.
    job = [str(agent.repo), str(agent.home), "claude", "s1", turn.read_text(), "attended"]
    done = subprocess.run([sys.executable, "-c", code, *job], env=agent.env, timeout=PATIENCE)
    assert done.returncode == 0
    assert agent.judge.requests == 1
    assert agent.errors() == ["the work aside took more than 1 s"]


def test_a_fault_of_the_ranking_is_a_guard_error_and_the_judge_goes_on(agent: Agent) -> None:
    agent.use_judge("")
    agent.says(GOAL)
    agent.wait_for_end()
    agent.use_judge(agent.judge.command)
    agent.judge.let_go()
    (turn,) = (agent.home / "aside").iterdir()
    code = """
import sys, types
from kedge import drift
from kedge.drift.watch import aside_process

def save(project, session):
    raise RuntimeError(f"no map of {project.root.name} for {session}")

drift.expected_scope = sys.modules["kedge.drift.expected_scope"] = types.SimpleNamespace(save=save)
aside_process.main(sys.argv[1:])
"""
    job = [str(agent.repo), str(agent.home), "claude", "s1", turn.read_text(), "attended"]
    subprocess.run([sys.executable, "-c", code, *job], env=agent.env, check=True, timeout=PATIENCE)
    assert agent.errors() == ["RuntimeError: no map of repo for s1"]
    assert len(agent.limits()) == 1


# The ranking


def slow_git(agent: Agent) -> Path:
    """Put a git in front that waits; return the file that tells that it was started."""
    programs, started = agent.scratch / "programs", agent.scratch / "started"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\ntouch {started}\nexec sleep 600\n")
    (programs / "git").chmod(0o755)
    agent.env["PATH"] = f"{programs}:{agent.env['PATH']}"
    return started


def test_hooks_do_not_wait_while_files_are_ranked(agent: Agent) -> None:
    agent.use_judge("")
    started = slow_git(agent)
    agent.says(GOAL)
    wait_until(started.exists)
    for number in range(3):
        agent.writes(LOGIN, f"t{number}")
    assert agent.row()["steps"] == 3
    assert agent.errors() == []


def test_the_end_of_the_session_ends_a_git_that_hangs(agent: Agent) -> None:
    agent.use_judge("")
    started = slow_git(agent)
    agent.says(GOAL)
    wait_until(started.exists)
    agent("SessionEnd")
    agent.wait_for_end()
    assert agent.errors() == []


def test_a_git_that_fails_is_one_guard_error_for_all_messages(agent: Agent) -> None:
    agent.use_judge("")
    (agent.repo / ".git" / "index").write_bytes(b"not an index")
    for subject in ("tokens", "sessions", "passwords"):
        assert agent.says(f"Fix the expiry of {subject}.") == ""
        agent.wait_for_end()
    (error,) = agent.errors()
    assert "git ls-files failed" in error


def test_files_are_ranked_for_the_task_that_a_session_claims(agent: Agent) -> None:
    agent.use_judge("")
    kedge = [sys.executable, "-m", "kedge"]
    subprocess.run(
        [*kedge, "task", "add", "Expire tokens", "--id", "k1"], cwd=agent.repo, check=True
    )
    agent.says("Take the next task.")
    command = {"command": "kedge task claim k1"}
    call: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": command}
    agent("PreToolUse", **call)
    subprocess.run([*kedge, "task", "claim", "k1"], cwd=agent.repo, check=True)
    agent("PostToolUse", **call)
    agent.wait_for_end()
    with closing(sqlite.connect(agent.home)[0]) as db:
        assert db.execute("SELECT goal FROM session_scope").fetchall() == [("Expire tokens",)]
