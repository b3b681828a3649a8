"""The fake agent plays its script and records its calls."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kedge.agents.launch import claude, codex
from kedge.agents.launch.adapter import locate_program
from kedge.errors import ProgramError
from kedge.testing.fake_agent import DIALECTS, FAULTS, Denial, FakeAgent, Part, Replacement
from kedge.testing.fake_agent.script import parse_part, parse_script


def run(
    agent: FakeAgent, *args: str, cwd: Path, input: str = "the prompt", code: int = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*agent.program, *args],
        cwd=cwd,
        input=input,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **env},
    )
    assert done.returncode == code, done
    return done


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


def test_each_call_plays_the_next_part(tmp_path: Path, work: Path) -> None:
    agent = FakeAgent(tmp_path / "agent", "plain", ["One.", {"say": ["Two.", "More."], "code": 4}])
    assert run(agent, cwd=work).stdout == "One.\n"
    assert run(agent, cwd=work, code=4).stdout == "Two.\nMore.\n"
    assert run(agent, cwd=work).stdout == "Done.\n"
    agent.plays("Three.")
    assert run(agent, cwd=work).stdout == "Three.\n"
    assert len(agent.calls) == 4


def test_calls_are_recorded(tmp_path: Path, work: Path) -> None:
    agent = FakeAgent(tmp_path / "agent", "claude")
    env: dict[str, Any] = {"KEDGE_TASK": "T-1", "TASK_CONTEXT_PATH": "x", "SOME_KEY": "a-key"}
    run(agent, "-p", "--model", "m", "--flag=x y", cwd=work, input="lines\nof ‘é’\n", **env)
    run(agent, "-p", "in an argument", cwd=work, input="")
    first, second = agent.calls
    assert agent.prompts == [first.prompt, second.prompt] == ["lines\nof ‘é’\n", "in an argument"]
    assert first.argv == ("-p", "--model", "m", "--flag=x y")
    assert (first.flag("--model"), first.flag("--flag"), first.flag("--no")) == ("m", "x y", None)
    assert first.directory == str(work.resolve())
    assert (first.env["KEDGE_TASK"], first.env["TASK_CONTEXT_PATH"]) == ("T-1", "x")
    assert "a-key" not in Path(agent.directory, "script.calls.jsonl").read_text()


def test_calls_at_the_same_time_get_a_part_each(tmp_path: Path, work: Path) -> None:
    agent = FakeAgent(tmp_path / "agent", "plain", [f"part {number}" for number in range(8)])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: run(agent, cwd=work).stdout.strip(), range(8)))
    assert sorted(texts) == [f"part {number}" for number in range(8)]


def test_files_are_edited(tmp_path: Path, work: Path) -> None:
    (work / "test_a.py").write_text("assert a == 1\n")
    (work / "old.txt").write_text("old\n")
    agent = FakeAgent(
        tmp_path / "agent",
        "claude",
        [
            {
                "write": {"src/new.py": "a = 1\n"},
                "replace": [["test_a.py", "assert a == 1", "assert True"]],
                "delete": "old.txt",
                "run": "cp src/new.py copy.py",
            }
        ],
    )
    events = [json.loads(line) for line in run(agent, cwd=work).stdout.splitlines()]
    assert sorted(path.name for path in work.iterdir()) == ["copy.py", "src", "test_a.py"]
    assert (work / "test_a.py").read_text() == "assert True\n"
    blocks = [one for event in events for one in event.get("message", {}).get("content", [])]
    used = [one["name"] for one in blocks if one["type"] == "tool_use"]
    assert used == ["Write", "Edit", "Bash", "Bash"]


def test_a_bad_script_is_reported(tmp_path: Path, work: Path) -> None:
    agent = FakeAgent(tmp_path / "agent", "claude", [{"replace": [["no.txt", "a", "b"]]}])
    assert "no.txt" in run(agent, cwd=work, code=70).stderr
    agent = FakeAgent(tmp_path / "other", "codex", [{"fault": "budget"}])
    assert "cannot report 'budget'" in run(agent, cwd=work, code=70).stderr
    for bad in ([{"sya": "x"}], [{"fault": "flat tyre"}], [7], {"say": "x"}, [{"deny": ["x"]}]):
        with pytest.raises(ValueError, match=r"\w"):
            parse_script(bad)
    with pytest.raises(ValueError, match="dialect"):
        FakeAgent(tmp_path / "agent", "klingon")


def test_short_forms_are_parsed() -> None:
    assert parse_part("x") == parse_part({"say": ["x"]}) == Part(say=("x",))
    given = {"replace": [{"path": "a", "old": "b", "new": "c"}], "deny": [["Bash"]]}
    assert parse_part(given) == Part(replace=(Replacement("a", "b", "c"),), deny=(Denial("Bash"),))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reports_its_faults(
    dialect: str, tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    faults = [fault for fault, dialects in FAULTS.items() if dialect in dialects]
    agent = FakeAgent(tmp_path / "agent", dialect, [{"fault": fault} for fault in faults])
    for _ in faults:
        done = subprocess.run(agent.program, cwd=work, input=b"", capture_output=True)
        assert done.stderr == b""
        assert [json.loads(line) for line in done.stdout.splitlines()]


def test_the_program_is_found_on_path_by_the_agents_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = FakeAgent(tmp_path / "agent", "claude")
    monkeypatch.setenv("PATH", agent.path)
    assert locate_program(claude) == agent.program
    assert shutil.which("claude") == agent.program[0]
    done = subprocess.run(["claude", "--version"], capture_output=True, text=True)
    assert "fake" in done.stdout
    assert agent.calls == []
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramError) as caught:
        locate_program(codex)
    assert "codex" in caught.value.message


def test_the_module_can_be_run_as_a_command(tmp_path: Path, work: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(["Hello."]))
    call = [sys.executable, "-m", "kedge.testing.fake_agent"]
    flags = ["--dialect", "plain", "--script", str(file)]
    done = subprocess.run([*call, *flags, "any", "--flag"], input=b"x", capture_output=True)
    assert done.stdout == b"Hello.\n"
    env = {**os.environ, "KEDGE_FAKE_DIALECT": "plain", "KEDGE_FAKE_SCRIPT": str(file)}
    done = subprocess.run(call, input=b"x", capture_output=True, env=env)
    assert done.stdout == b"Done.\n"
    done = subprocess.run(call, input=b"x", capture_output=True)
    assert done.returncode == 2
    assert b"usage" in done.stderr
