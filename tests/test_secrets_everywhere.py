"""A secret in every place that kedge reads is in nothing that kedge writes.

Each place has a secret of its own, so that a failure names the place.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import string
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, git, wait_for_aside

from kedge import hook
from kedge.testing.fake_agent import FakeAgent

PLACES = (
    *("signature", "untracked", "subject", "task", "tool name", "tool use", "path", "command"),
    *("output", "prompt", "agent program", "refused", "session", "makefile", "reply"),
    *("reasoning", "readme", "transcript", "branch"),
)
LETTERS = string.ascii_letters + string.digits


def make_secrets() -> dict[str, str]:
    draw = random.Random(19)
    return {place: "gh" + "p_" + "".join(draw.choices(LETTERS, k=36)) for place in PLACES}


SECRETS = make_secrets()


class Harness:
    """A repository full of secrets, and what kedge prints about it."""

    def __init__(self, repo: Path, kedge: Kedge, scratch: Path) -> None:
        self.repo, self.kedge, self.scratch = repo, kedge, scratch
        self.home = repo / ".git" / "kedge"
        self.said: list[tuple[str, str]] = []
        (repo / "a.py").write_text(
            f'def connect(token="{SECRETS["signature"]}"):\n    return token\n\n\n'
            "class Ship:\n    def sail(self):\n        return connect()\n"
        )
        (repo / "Makefile").write_text(
            f"test:\n\ttrue {SECRETS['makefile']}\ndeploy:\n\tcurl -H {SECRETS['makefile']} x\n"
        )
        (repo / "README.md").write_text(f"# Ship\n\nBuild: `make T={SECRETS['readme']}`\n")
        (repo / "env.sh").write_text(f"export TOKEN={SECRETS['output']}\n")
        git(repo, "add", ".")
        git(repo, "commit", "-qm", f"token {SECRETS['subject']} for the ship")
        git(repo, "switch", "-qc", f"fix/{SECRETS['branch']}")
        self.objects = self.list_objects()

    def run(self, *args: str) -> None:
        ran = self.kedge(*args, code=None)
        assert ran.code != 3, ran
        self.said.append((" ".join(args)[:40], ran.out + ran.err))

    def send(self, name: str, **more: Any) -> None:
        event = {
            "hook_event_name": name,
            "session_id": "s1",
            "cwd": str(self.repo),
            "transcript_path": str(self.scratch / f"{SECRETS['transcript']}.jsonl"),
            **more,
        }
        ran = subprocess.run(
            [sys.executable, "-I", "-S", hook.__file__, "claude"],
            input=json.dumps(event).encode(),
            cwd=self.repo,
            capture_output=True,
            timeout=60,
            check=True,
        )
        self.said.append((f"hook {name}", (ran.stdout + ran.stderr).decode()))

    def list_objects(self) -> set[str]:
        every = "--batch-all-objects", "--batch-check=%(objectname)"
        return set(git(self.repo, "cat-file", *every).split())

    def find_leaks(self) -> Iterator[str]:
        """Yield where a secret of a place is."""
        wait_for_aside(self.home)
        for name, text in self.said:
            yield from find_in(name, text.encode())
        for top in (self.repo / ".kedge", self.home):
            for path in sorted(top.rglob("*")):
                yield from find_in(f"name of {path.name[:20]}", os.fsencode(path.name))
                if path.is_file():
                    yield from find_in(str(path.relative_to(self.repo)), path.read_bytes())
        for database in sorted(self.home.glob("*.db")):
            yield from find_in_database(database)
        for name in sorted(self.list_objects() - self.objects):
            data = subprocess.run(
                ["git", "cat-file", "-p", name], cwd=self.repo, capture_output=True, check=True
            ).stdout
            yield from find_in(f"object {name[:8]}", data)
        yield from find_in("refs", git(self.repo, "for-each-ref", "refs/kedge").encode())


def find_in(where: str, data: bytes) -> Iterator[str]:
    with suppress(zlib.error):
        data += zlib.decompress(data)
    for place, secret in SECRETS.items():
        if secret[4:16].encode() in data or secret[-12:].encode() in data:
            yield f"{place}: {where}"


def find_in_database(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for table in tables:
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    data = (
                        value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
                    )
                    yield from find_in(f"table {table}", data)


@pytest.fixture
def harness(repo: Path, kedge: Kedge, tmp_path: Path) -> Harness:
    return Harness(repo, kedge, tmp_path)


def test_what_is_read_for_the_map_and_the_anchor_is_redacted(harness: Harness) -> None:
    (harness.repo / "new.py").write_text(f'def fresh(key="{SECRETS["untracked"]}"):\n    pass\n')
    harness.run("init")
    harness.run("map", "--write")
    harness.run("map", "--json")
    harness.run("map", "--text", "connect fresh token", "--json")
    harness.run("anchor")
    harness.run("anchor", "--json")
    harness.run("doctor")
    harness.send("SessionStart", source="startup")
    leaks = sorted(set(harness.find_leaks()))
    assert not leaks, "\n".join(leaks)


def test_what_an_agent_does_and_says_is_redacted(harness: Harness) -> None:
    (harness.scratch / f"{SECRETS['transcript']}.jsonl").write_text(
        json.dumps(
            {
                "type": "assistant",
                "message": {
                    "content": [
                        {"type": "text", "text": f"I use {SECRETS['reasoning']}"},
                        {"type": "tool_use", "id": f"t-{SECRETS['tool use']}", "name": "Write"},
                    ]
                },
            }
        )
        + "\n"
    )
    harness.send("SessionStart", source="startup")
    harness.send("UserPromptSubmit", prompt=f"Use {SECRETS['prompt']}. Don't touch db/schema.sql.")
    call = {
        "tool_name": f"mcp__{SECRETS['tool name']}__write",
        "tool_use_id": f"t-{SECRETS['tool use']}",
        "tool_input": {"file_path": f"src/{SECRETS['path']}.py", "content": SECRETS["command"]},
    }
    for tool in (call["tool_name"], "Write", "Read"):
        harness.send("PreToolUse", **{**call, "tool_name": tool})
        harness.send("PostToolUse", **{**call, "tool_name": tool}, tool_response=SECRETS["output"])
    bash = {"command": f"curl -H 'x: {SECRETS['command']}' {SECRETS['path']} > {SECRETS['path']}"}
    harness.send("PreToolUse", tool_name="Bash", tool_use_id="b1", tool_input=bash)
    harness.send("PostToolUseFailure", tool_name="Bash", tool_use_id="b1", tool_input=bash)
    harness.send("UserPromptSubmit", prompt="go on", session_id=f"s-{SECRETS['session']}")
    harness.send("Stop")
    harness.send("SessionEnd")
    for command in ("status", "explain", "report", "score"):
        harness.run("drift", command)
    harness.run("drift", "status", "--json")
    leaks = sorted(set(harness.find_leaks()))
    assert not leaks, "\n".join(leaks)


def test_what_a_run_and_a_handoff_record_is_redacted(harness: Harness) -> None:
    repo = harness.repo
    check = "cat README.md env.sh; grep -q two a.py"
    harness.kedge("task", "add", "Sail", "--id", "t", "--accept", "c", "--check", check)
    agent = FakeAgent(
        harness.scratch / "agent", "claude", [{"say": f"done with {SECRETS['reply']}"}]
    )
    program = f"{' '.join(map(str, agent.program))} {SECRETS['agent program']}"
    harness.run("run", "--agent", "claude", "--command", program, "--attempts", "1", "--once")
    program = " ".join(map(str, agent.program))
    harness.run("run", "--agent", "claude", "--command", program, "--attempts", "1", "--once")
    harness.run("task", "show", "t", "--json")
    harness.kedge("task", "reopen", "t", code=None)
    harness.kedge("task", "add", "Row", "--id", "u", "--accept", "c", "--check", "true")
    harness.run("context", "init", "u")
    harness.run("context", "begin", "u", "--agent", "implementer")
    (repo / "leak.txt").write_text(f"key {SECRETS['refused']}\n")
    harness.run("context", "snapshot", "u", "--agent", "implementer")
    (repo / "leak.txt").unlink()
    (repo / "late.txt").write_text(f"key {SECRETS['untracked']}\n")
    harness.kedge("task", "add", "Haul", "--id", "v", "--accept", "c", "--check", "true")
    harness.run("context", "init", "v")
    harness.run("context", "show", "v")
    git(repo, "switch", "-qc", f"more/{SECRETS['branch']}")
    harness.run("context", "show", "v")
    harness.run("context", "show", "v", "--json")
    leaks = sorted(set(harness.find_leaks()))
    assert not leaks, "\n".join(leaks)
