"""The real Claude Code and Codex through `kedge serve`, with and without hooks."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Codex, environment
from proxy.conftest import Serve
from support import Kedge, git

from kedge.agents.scripted_model.request import Request
from kedge.agents.scripted_model.script import Step
from kedge.host import proc
from kedge.store import sessions, sqlite
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
BREAKS = "echo 'drop table t;' > db/schema.sql"
STRAYS = "git commit --no-verify -qm x --allow-empty"
SCHEMA = "create table t (id int);\n"
TOOLS = ("--allowedTools", "Bash,Agent,Write")


def bash(command: str, name: str = "") -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command}, "id": name}


def read_schema(project: Path) -> str:
    return (project / "db" / "schema.sql").read_text()


def test_a_refused_command_does_not_run_and_the_client_goes_on(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    model = play([{"text": "I clear it.", **bash(BREAKS)}, "I leave it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    session = claude(server.url, GOAL, *TOOLS, cwd=project)
    assert session.text == "I leave it."
    assert read_schema(project) == SCHEMA
    _, told = model.list_requests()
    assert "[kedge] This goes against what was asked." in told.results
    assert "Don't touch db/schema.sql" in told.results
    assert told.given.count("[kedge]") == 0, "it is said once"
    (step,) = server.steps()
    assert (step["decision"], step["ok"]) == ("deny", None)
    (row,) = server.sessions()
    assert (row["goal"], row["agent"], row["id"]) == (GOAL, "claude", session.id)
    assert row["limits"] == ["Don't touch db/schema.sql"]
    assert row["needs_review"] or row["course"] != "NORMAL"
    assert server.errors() == []


def test_a_refused_write_does_not_happen_and_the_model_learns_why(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    """There is no shell that could print the reason: it comes with the next request."""
    (project / "db" / "schema.sql").unlink()
    path = str(project / "db" / "schema.sql")
    write = {"tool": "Write", "input": {"file_path": path, "content": "drop table t;\n"}}
    model = play([write, "I leave it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    session = claude(server.url, GOAL, *TOOLS, cwd=project)
    assert session.text == "I leave it."
    assert not Path(path).exists()
    _, told = model.list_requests()
    assert "No such tool available" in told.results
    assert "Don't touch db/schema.sql" in told.given.partition("[kedge]")[2]
    assert server.errors() == []


def test_a_call_that_would_be_put_to_the_user_is_refused_without_hooks(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    model = play([bash(BREAKS), "I ask."])
    server = serve("--upstream", model.url)
    claude(server.url, GOAL, *TOOLS, cwd=project)
    assert read_schema(project) == SCHEMA
    assert "[kedge]" in model.list_requests()[-1].results


def test_a_correction_is_in_the_next_request_and_stays_where_it_was(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    model = play([bash(STRAYS, "toolu_a"), bash("ls", "toolu_b"), bash("pwd", "toolu_c"), "Done."])
    server = serve("--upstream", model.url)
    claude(server.url, GOAL, *TOOLS, cwd=project)
    first, *later = model.list_requests()
    assert "[kedge]" not in first.given
    blocks = []
    for request in later:
        assert request.given.count("[kedge]") == 1
        assert "--no-verify" in request.given.partition("[kedge]")[2]
        (message,) = [one for one in request.body["messages"] if "[kedge]" in json.dumps(one)]
        assert message["content"][0]["tool_use_id"] == "toolu_a"
        assert "[kedge]" in message["content"][-1]["text"]
        assert "cache_control" not in message["content"][-1]
        blocks.append(message["content"][-1])
    assert len(blocks) == 3
    assert blocks[0] == blocks[1] == blocks[2]
    step = server.steps()[0]
    assert step["correction_given"].startswith("[kedge]")
    assert step["ok"] is True


def test_a_new_message_of_the_user_ends_the_corrections_of_the_turn(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    model = play([bash(STRAYS), "Done.", "Well."])
    server = serve("--upstream", model.url)
    session = claude(server.url, GOAL, *TOOLS, cwd=project)
    claude(server.url, "Now explain it.", *TOOLS, "--resume", session.id, cwd=project)
    _, second, third = model.list_requests()
    assert "[kedge]" in second.given
    assert "[kedge]" not in third.given
    (row,) = server.sessions()
    assert row["turn"] == 2


def test_of_parallel_calls_one_is_refused_and_the_others_run(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    calls = [bash("touch one", "toolu_1"), bash(BREAKS, "toolu_2"), bash("touch three", "toolu_3")]
    model = play([{"text": "All at once.", "tools": calls}, "Done."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    claude(server.url, GOAL, *TOOLS, cwd=project)
    assert (project / "one").exists()
    assert (project / "three").exists()
    assert read_schema(project) == SCHEMA
    decisions = {step["id"]: step["decision"] for step in server.steps()}
    assert decisions == {"toolu_1": "none", "toolu_2": "deny", "toolu_3": "none"}
    assert server.errors() == []


def test_what_the_model_says_before_a_call_is_kept_with_its_step(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    text = f"I run it, rather than guess, with {secret}."
    model = play([{"text": text, **bash("cat src/auth/token.py")}, "Done."])
    server = serve("--upstream", model.url)
    claude(server.url, GOAL, *TOOLS, cwd=project)
    (step,) = server.steps()
    assert "rather than guess" in step["reasoning"]
    assert secret not in step["reasoning"]
    assert step["ok"] is True


def test_a_session_drifts_is_forced_and_recovers(
    project: Path, serve: Serve, claude: Claude, play: Play, kedge: Kedge
) -> None:
    """The state machine as its user sees it, at each request of the model."""
    works = "sed -i s/60/61/ src/auth/token.py"
    elsewhere = "mkdir src/styles && echo 'a { }' > src/styles/theme.css"
    secret = "ghp_" + "a1B2c3D4e5" * 4
    turns: list[Step] = [
        {"blocks": [{"thinking": "It must last longer."}], **bash(works)},
        {"text": f"I clear it with {secret}.", **bash(BREAKS)},
        bash("echo 2 > db/schema.sql"),
        bash("echo 3 > db/schema.sql"),
        {"text": "I do something else.", **bash(elsewhere)},
        {"text": "I read the goal.", **bash("kedge anchor")},
        bash("sed -i s/61/62/ src/auth/token.py"),
        "Done.",
    ]
    courses, told = [], []

    def answer(request: Request) -> Step:
        (row,) = kedge.json("drift", "status") or [{"course": ""}]
        courses.append(row["course"])
        told.append(kedge("drift", "explain", "last").out if len(courses) > 1 else "")
        return turns[len(courses) - 1]

    model = play(answer)
    server = serve("--upstream", model.url)
    session = claude(server.url, GOAL, *TOOLS, cwd=project)
    assert session.text == "Done."
    assert courses[1:] == ["NORMAL", "DRIFTED", "DRIFTED", "FORCED", "FORCED", "NORMAL", "NORMAL"]
    forced = model.list_requests()[4].results
    named = "Before anything else, read the goal again: `kedge anchor`. Then go on in "
    assert f"{named}src/auth/token.py." in forced
    assert "way back:  `kedge anchor` or a change in src/auth/token.py" in told[4]
    assert "way back" not in told[6]
    assert read_schema(project) == SCHEMA
    assert (project / "src/styles/theme.css").exists()

    shown = kedge.json("drift", "explain", "last")
    assert shown["drift_log"] == [2, 3, 4, 5]
    assert [each["after"] for each in shown["events"]] == ["DRIFTED", "DRIFTED", "FORCED"]
    assert all(each["recovered"] == "at step 7" for each in shown["events"])
    assert "only the drift log has this step" in kedge("drift", "explain", "last:5").out
    assert "drift log" not in kedge("drift", "explain", "last:7").out
    for step, reason in (
        (1, "It must last longer."),
        (2, "I clear it with"),
        (5, "something else"),
    ):
        assert reason in kedge("drift", "explain", f"last:{step}").out
    assert secret not in kedge("drift", "report", "--output", "-").out

    found = kedge.json("drift", "recall", "--path", "src/auth/token.py")["steps"]
    assert {step["step"] for step in found} == {1, 7}
    found = kedge.json("drift", "recall", "--path", "src/styles/theme.css")["steps"]
    assert all("src/styles/theme.css" not in step["files"] for step in found)
    assert server.errors() == []


def test_a_failed_command_is_recorded_as_failed(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    model = play([bash("echo out; exit 3"), "Done."])
    server = serve("--upstream", model.url)
    claude(server.url, GOAL, *TOOLS, cwd=project)
    (step,) = server.steps()
    assert step["ok"] is False


def test_a_subagent_is_held_to_the_users_words(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    task = {"description": "look", "prompt": "Tidy up", "subagent_type": "general-purpose"}
    model = play([{"tool": "Agent", "input": task}, "Done."], subagent=[bash(BREAKS), "I left it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    claude(server.url, GOAL, *TOOLS, cwd=project)
    assert read_schema(project) == SCHEMA
    assert "Don't touch db/schema.sql" in model.list_requests("subagent")[-1].results
    (row,) = server.sessions()
    assert row["goal"] == GOAL
    (denied,) = [step for step in server.steps() if step["decision"] == "deny"]
    assert denied["subagent"]


def test_a_compaction_is_left_alone(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    model = play([bash(STRAYS), "Done.", "Well."])
    server = serve("--upstream", model.url)
    session = claude(server.url, GOAL, *TOOLS, cwd=project)
    claude(server.url, "/compact", *TOOLS, "--resume", session.id, cwd=project)
    (compaction,) = model.list_requests("compaction")
    assert "[kedge]" not in compaction.given
    (row,) = server.sessions()
    assert row["goal"] == GOAL
    assert server.errors() == []


def test_hooks_and_proxy_judge_and_record_each_call_once(
    project: Path, serve: Serve, claude: Claude, play: Play, kedge: Kedge
) -> None:
    (project / ".claude").mkdir()
    kedge("init", "--agent", "claude")
    model = play([bash("cat src/auth/token.py"), bash(STRAYS), bash(BREAKS), "Done."])
    server = serve("--upstream", model.url)
    claude(server.url, GOAL, *TOOLS, cwd=project)
    assert read_schema(project) == SCHEMA
    steps = server.steps()
    assert [step["command"] for step in steps] == ["cat src/auth/token.py", STRAYS, BREAKS]
    assert [step["decision"] for step in steps] == ["none", "none", "ask"]
    assert [step["ok"] for step in steps] == [True, True, None]
    (row,) = server.sessions()
    assert row["turn"] == 1, "the message was taken once"
    given = model.list_requests()[-1].given
    assert given.count("--no-verify") == 1, "and so is what there is to say"
    assert server.errors() == []


def test_an_overloaded_provider_is_retried_as_usual(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    overloaded = {"status": 529, "headers": {"retry-after": "1"}}
    model = play([overloaded, overloaded, bash("ls"), "Done."])
    server = serve("--upstream", model.url)
    session = claude(server.url, GOAL, *TOOLS, cwd=project)
    assert session.text == "Done."
    assert [retry["error_status"] for retry in session.of("system", "api_retry")] == [529, 529]
    (row,) = server.sessions()
    assert row["turn"] == 1, "a repeated request is not another message"


def start_exec(kedge: Kedge, home: Path, *words: str, **env: str) -> proc.ProgramResult:
    """Run a client under `kedge exec`."""
    return proc.run(
        [sys.executable, "-m", "kedge", "exec", "--", *words],
        cwd=kedge.directory,
        env={**environment(home), **env},
        timeout=120,
    )


def run_exec(kedge: Kedge, home: Path, *words: str, **env: str) -> str:
    """Run a client under `kedge exec` and return what it printed."""
    done = start_exec(kedge, home, *words, **env)
    assert done.code == 0, done
    return done.stdout.decode().strip()


def exec_claude(claude: Claude, kedge: Kedge, prompt: str, url: str, code: int = 0) -> str:
    """Run Claude Code in an environment that names `url`; return its last text."""
    own = {
        "ANTHROPIC_API_KEY": "sk-ant-dummy",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    words = str(claude.program), "-p", prompt, *TOOLS
    done = start_exec(kedge, claude.home, *words, **own)
    assert done.code == code, done
    return done.stdout.decode().strip()


def test_exec_goes_through_the_proxy_and_directly_where_it_was_killed(
    project: Path, serve: Serve, claude: Claude, play: Play, kedge: Kedge
) -> None:
    turns: list[Step] = [bash(BREAKS), "I leave it.", bash("ls"), "Gone", bash("touch direct")]

    def answer(_: Request) -> Step:
        if turns and turns[0] == "Gone":  # the server dies while it waits for this answer
            server.process.kill()
            server.process.wait()
        return turns.pop(0) if turns else "Done."

    model = play(answer)
    server = serve("--policy", "enforce", env={"ANTHROPIC_BASE_URL": model.url})
    assert exec_claude(claude, kedge, GOAL, model.url) == "I leave it."
    assert read_schema(project) == SCHEMA
    assert "API Error" in exec_claude(claude, kedge, "List the files.", model.url, code=1)
    assert kedge("serve", "--status", code=4)
    assert exec_claude(claude, kedge, "Touch a file.", model.url) == "Done."
    assert (project / "direct").exists()
    assert sorted(step["command"] for step in server.steps()) == sorted([BREAKS, "ls"])
    assert [step["ok"] for step in server.steps() if step["command"] == "ls"] == [True]


def test_exec_binds_a_session_to_its_work_tree_and_its_task(
    project: Path, serve: Serve, claude: Claude, play: Play, kedge: Kedge, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    git(project, "worktree", "add", "-q", str(tree))
    kedge("task", "add", "Fix the expiry", "--id", "k-1", "--out-of-scope", "db")
    model = play([bash("rm db/schema.sql"), "I leave it."])
    serve("--policy", "enforce", env={"ANTHROPIC_BASE_URL": model.url})
    there = Kedge(tree)
    there("task", "add", "Fix the expiry", "--id", "k-1", "--out-of-scope", "db")
    own = {"ANTHROPIC_API_KEY": "sk-ant-dummy", "IS_SANDBOX": "1", "KEDGE_TASK": "k-1"}
    run_exec(there, claude.home, str(claude.program), "-p", "Tidy up", *TOOLS, **own)
    assert (tree / "db" / "schema.sql").exists()
    with closing(sqlite.connect(project / ".git" / "kedge")[0]) as db:
        (row,) = sessions.sessions(db)
    assert (row["project"], row["task"]) == (str(tree), "k-1")


def test_codex_goes_through_the_proxy_under_exec(
    project: Path, serve: Serve, codex: Codex, play: Play, kedge: Kedge
) -> None:
    """It is told by a setting, and finds at once that there are no WebSockets."""
    model = play([{"tool": "exec_command", "input": {"cmd": BREAKS}}, "I leave it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    flags = ["--json", "--dangerously-bypass-approvals-and-sandbox"]
    for setting in (
        "analytics.enabled",
        "check_for_update_on_startup",
        "features.daemon_auto_start",
    ):
        flags += ["-c", f"{setting}=false"]
    own = {**codex.own, "CODEX_API_KEY": "sk-dummy"}
    out = run_exec(kedge, codex.home, str(codex.program), "exec", *flags, GOAL, **own)
    assert "I leave it." in out
    assert "Reconnecting" not in out
    assert read_schema(project) == SCHEMA
    (step,) = server.steps()
    assert step["decision"] == "deny"
    assert server.errors() == []


@pytest.mark.parametrize("policy", ["enforce", "advise"])
def test_codex_is_refused_a_command(
    project: Path, serve: Serve, codex: Codex, play: Play, policy: str
) -> None:
    call = {"tool": "exec_command", "input": {"cmd": BREAKS}}
    model = play([{"text": "I clear it.", **call}, "I leave it."])
    server = serve("--upstream", model.url, "--policy", policy)
    session = codex(server.url, GOAL, cwd=project)
    assert session.text == "I leave it."
    assert read_schema(project) == SCHEMA
    _, told = model.list_requests()
    assert "Don't touch db/schema.sql" in told.results
    (step,) = server.steps()
    assert step["decision"] == "deny"
    (row,) = server.sessions()
    assert (row["agent"], row["goal"], row["id"]) == ("codex", GOAL, session.id)
    assert server.errors() == []


def test_codex_repeats_what_failed_and_of_parallel_calls_one_is_refused(
    project: Path, serve: Serve, codex: Codex, play: Play
) -> None:
    commands = ("touch one", BREAKS, "touch three")
    calls = [{"tool": "exec_command", "input": {"cmd": command}} for command in commands]
    model = play([{"status": 529}, {"text": "All at once.", "tools": calls}, "Done."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    assert codex(server.url, GOAL, cwd=project).text == "Done."
    assert (project / "one").exists()
    assert (project / "three").exists()
    assert read_schema(project) == SCHEMA
    assert {step["command"]: step["decision"] for step in server.steps()} == dict(
        zip(commands, ("none", "deny", "none"), strict=True)
    )
    (row,) = server.sessions()
    assert row["turn"] == 1, "a repeated request is not another message"
    assert server.errors() == []


def test_codex_is_refused_a_patch(project: Path, serve: Serve, codex: Codex, play: Play) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: db/schema.sql\n@@\n-create table t (id int);\n"
        "+drop table t;\n*** End Patch\n"
    )
    model = play([{"tool": "apply_patch", "input": patch}, "I leave it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    session = codex(server.url, GOAL, cwd=project)
    assert session.text == "I leave it."
    assert read_schema(project) == SCHEMA
    told = model.list_requests()[-1]
    assert "Don't touch db/schema.sql" in (told.given + told.results).partition("[kedge]")[2]
    assert server.errors() == []


def test_codex_gets_corrections_and_its_calls_are_recorded(
    project: Path, serve: Serve, codex: Codex, play: Play
) -> None:
    def shell(command: str) -> dict[str, Any]:
        return {"tool": "exec_command", "input": {"cmd": command}}

    model = play([shell(STRAYS), shell("ls"), shell("exit 3"), "Done."])
    server = serve("--upstream", model.url)
    codex(server.url, GOAL, cwd=project)
    first, *later = model.list_requests()
    assert "[kedge]" not in first.given
    for request in later:
        items = request.body["input"]
        (at,) = [at for at, item in enumerate(items) if "[kedge]" in json.dumps(item)]
        assert items[at]["role"] == "developer"
        assert items[at - 1]["type"] == "function_call_output"
        assert items[at] == later[0].body["input"][-1]
    assert [step["ok"] for step in server.steps()] == [True, True, False]
    assert server.errors() == []


def test_codex_compacts_and_its_subagent_is_held_to_the_users_words(
    project: Path, serve: Serve, codex: Codex, play: Play
) -> None:
    def shell(command: str) -> dict[str, Any]:
        return {"tool": "exec_command", "input": {"cmd": command}}

    def delegate(tool: str, **given: Any) -> dict[str, Any]:
        return {"tool": tool, "input": given, "namespace": "multi_agent_v1"}

    def wait(request: Request) -> Step:
        started = json.loads(request.results.splitlines()[-1])
        return delegate("wait_agent", targets=[started["agent_id"]], timeout_ms=30_000)

    turns: list[Any] = [
        {**shell(STRAYS), "input_tokens": 50_000},
        delegate("spawn_agent", message="Tidy up"),
        wait,
        "Done.",
    ]

    def answer(request: Request) -> Step:
        turn = turns.pop(0)
        return turn(request) if callable(turn) else turn  # type: ignore[no-any-return]

    model = play(answer, subagent=[shell(BREAKS), "I left it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    limit = ("-c", "model_auto_compact_token_limit=20000")
    session = codex(server.url, GOAL, *limit, cwd=project)
    assert session.text == "Done."
    (compaction,) = model.list_requests("compaction")
    assert "[kedge]" not in json.dumps(compaction.body)
    for request in model.list_requests("main")[2:]:  # the one after it has no results
        assert request.given.count("[kedge]") == 1
        assert "--no-verify" in request.given.partition("[kedge]")[2]

    assert read_schema(project) == SCHEMA
    told = model.list_requests("subagent")[-1]
    assert "Don't touch db/schema.sql" in told.results
    assert "--no-verify" not in told.given, "that is for the main agent"
    (row,) = server.sessions()
    assert (row["id"], row["goal"], row["turn"]) == (session.id, GOAL, 1)
    (denied,) = [step for step in server.steps() if step["decision"] == "deny"]
    assert denied["subagent"] == told.headers["thread-id"] != session.id
    assert server.errors() == []


def test_codex_under_hooks_records_each_call_once(
    project: Path, serve: Serve, codex: Codex, play: Play, kedge: Kedge
) -> None:
    (project / ".codex").mkdir()
    kedge("init", "--agent", "codex")
    patch = "*** Begin Patch\n*** Add File: src/auth/new.py\n+TTL = 1\n*** End Patch\n"
    shell = {"tool": "exec_command", "input": {"cmd": "cat src/auth/token.py"}}
    model = play([shell, {"tool": "apply_patch", "input": patch}, "Done."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    codex(server.url, GOAL, "--dangerously-bypass-hook-trust", cwd=project)
    assert (project / "src" / "auth" / "new.py").exists()
    assert [step["ok"] for step in server.steps()] == [True, True]
    (row,) = server.sessions()
    assert row["transcript"], "the hooks ran"
    assert server.errors() == []
