"""The whole way of a new user, with the real Claude Code and Codex on a scripted model: set up, a
task, a session that strays, a handoff, a review, a run, and everything taken out again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Client, Codex, environment
from support import Kedge, git, wait_for_aside

from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Fix the knot: tie() must return a bowline."
FILES = {
    "AGENTS.md": b"# House rules\r\n\r\nTie knots twice.  \r\n",
    "CLAUDE.md": "Une règle à moi, sans fin de ligne".encode(),
    ".claude/settings.local.json": b'{"permissions": {"allow": ["Bash(ls:*)"]},   "env": {}}',
    ".gitignore": b"*.env\n",
    "secret.env": b"KEY=1\n",
    "src/knot.py": b'def tie():\n    return "granny"\n',
    "src/rope.py": b'def twist():\n    return "hemp"\n',
    "db/schema.sql": b"create table t (id int);\n",
    "tests/test_knot.py": (
        b"import sys, unittest\nsys.path.insert(0, 'src')\nimport knot\n\n\n"
        b"class KnotTest(unittest.TestCase):\n    def test_tie(self):\n"
        b'        self.assertEqual(knot.tie(), "bowline")\n'
    ),
}
KNOT = "src/knot.py"
CHECK = f"{sys.executable} -m unittest -q tests.test_knot"
COIL = f"{sys.executable} -c \"import sys; sys.path.insert(0, 'src'); import coil\""


class FirstHour:
    """A user's repository, the command, and a client that works in it."""

    def __init__(self, kedge: Kedge, client: Client, scratch: Path) -> None:
        self.kedge, self.client, self.root = kedge, client, kedge.directory
        for path, data in FILES.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(data)
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", "first")
        self.bin = scratch / "bin"
        self.bin.mkdir()
        (self.bin / client.name).symlink_to(client.program)

    def user(self, *args: str, **more: Any) -> Any:
        """Run a command as the user types it."""
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        return self.kedge(*args, env={"PATH": path, "HOME": str(self.client.home)}, **more)

    def edit(self, path: str, old: str, new: str) -> list[dict[str, Any]]:
        if self.client.name == "claude":
            name = str(self.root / path)
            given = {"file_path": name, "old_string": old, "new_string": new}
            return [
                {"tool": "Read", "input": {"file_path": name}},
                {"tool": "Edit", "input": given},
            ]
        lines = f"-{old}\n+{new}\n"
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{lines}*** End Patch\n"
        return [{"tool": "apply_patch", "input": patch}]

    def write(self, path: str, text: str) -> dict[str, Any]:
        if self.client.name == "claude":
            return {"tool": "Write", "input": {"file_path": str(self.root / path), "content": text}}
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
        return {"tool": "apply_patch", "input": patch}

    def work(self, model: FakeModel, prompt: str) -> None:
        """Let the client work on a prompt in a session of its own."""
        if isinstance(self.client, Claude):
            self.client(model.url, prompt, "--allowedTools", "Bash", cwd=self.root)
        elif isinstance(self.client, Codex):
            anyway = "--dangerously-bypass-hook-trust"
            self.client(model.url, prompt, anyway, cwd=self.root)
        wait_for_aside(self.root / ".git" / "kedge")

    def run(self, model: FakeModel, *args: str) -> dict[str, Any]:
        """Run `kedge run`, and return its summary."""
        env = {**environment(self.client.home), **self._reach(model)}
        env["PATH"] = f"{self.bin}{os.pathsep}{env['PATH']}"
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "run", "--agent", self.client.name, "--json", *args],
            cwd=self.root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return summary

    def _reach(self, model: FakeModel) -> dict[str, str]:
        if isinstance(self.client, Codex):
            provider = (
                f'name = "fake"\nbase_url = "{model.url}/v1"\nenv_key = "FAKE_KEY"\n'
                'wire_api = "responses"\n'
            )
            (self.client.codex_home / "config.toml").write_text(
                'model = "gpt-5.5-codex"\nmodel_provider = "fake"\n'
                f"[model_providers.fake]\n{provider}[analytics]\nenabled = false\n"
                "[features]\ndaemon_auto_start = false\n"
            )
            return self.client.own
        return {
            "ANTHROPIC_API_KEY": "sk-ant-dummy",
            "ANTHROPIC_BASE_URL": model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_TMPDIR": str(self.client.home / "tmp"),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }


@pytest.fixture(params=["claude", "codex"])
def hour(request: pytest.FixtureRequest, kedge: Kedge, tmp_path: Path) -> FirstHour:
    client: Client = request.getfixturevalue(request.param)
    return FirstHour(kedge, client, tmp_path)


def test_a_new_users_first_hour(hour: FirstHour, play: Play) -> None:
    user, root = hour.user, hour.root

    # Set up: the user's text stays, kedge's stands beside it.
    user("init", "--agent", hour.client.name)
    assert (root / "AGENTS.md").read_bytes().startswith(FILES["AGENTS.md"])
    git(root, "add", ".")
    git(root, "commit", "-qm", "set up kedge")

    # A task, claimed; its check fails so far.
    scope = ("--scope", "src/", "--out-of-scope", "db/", "--check", CHECK)
    name = user(
        "task", "add", "Tie a bowline", "--id", "knot", "--description", GOAL,
        "--accept", "tie() returns a bowline", *scope,
    ).out.strip()  # fmt: skip
    assert name == "knot"
    user("task", "claim", "knot", "--as", "tess")
    user("context", "init", "knot")
    user("context", "begin", "knot", "--agent", "implementer")

    # A session strays into what is out of scope, is stopped, and comes back.
    script = [
        *hour.edit("db/schema.sql", "create table t (id int);", "create table knots (id int);"),
        *hour.edit(KNOT, '    return "granny"', '    return "bowline"'),
        "Done.",
    ]
    with play(script) as model:
        hour.work(model, GOAL)
        told = "\n".join(one.results for one in model.list_requests())
    assert "out of scope" in told
    assert (root / "db/schema.sql").read_bytes() == FILES["db/schema.sql"]
    assert b"bowline" in (root / KNOT).read_bytes()
    (session,) = user("drift", "status", "--all", "--json").data
    assert session["task"] == "knot"
    assert "db/schema.sql" in user("drift", "explain", "last").out

    # The handoff: what the implementer left is what the reviewer gets.
    user("context", "snapshot", "knot", "--agent", "implementer")
    (root / KNOT).write_bytes((root / KNOT).read_bytes() + b"# one byte more\n")
    refused = user("context", "begin", "knot", "--agent", "reviewer", code=4)
    assert KNOT in refused.out + refused.err
    note = ("--note", "an editor's leftover")
    user("context", "resolve", "knot", "--revert", *note)
    user("context", "begin", "knot", "--agent", "reviewer")
    user("context", "snapshot", "knot", "--agent", "reviewer")

    # The review, and a close that proves.
    user("review", "record", "knot", "--reviewer", "spec-reviewer", "--result", "approved")
    assert "APPROVED" in user("review", "outcome", "knot").out
    user("task", "close", "knot", "--reason", "a bowline")
    assert user("task", "show", "knot", "--json").data["status"] == "done"
    git(root, "add", ".")
    git(root, "commit", "-qm", "tie a bowline")

    # A run does the next task, and commits what it proved.
    user("task", "add", "Coil the rope", "--id", "coil", "--check", COIL)
    promise = "It is coiled.\n\n<promise>COMPLETE</promise>"
    with play([hour.write("src/coil.py", "COILED = True\n"), promise]) as model:
        summary = hour.run(model)
    assert summary["event"] == "summary"
    assert user("task", "show", "coil", "--json").data["status"] == "done"
    assert "src/coil.py" in git(root, "show", "--stat", "HEAD")
    assert git(root, "status", "--porcelain") == ""

    # Taken out again: every byte of the user's is where it was.
    user("uninstall", "--yes")
    left = {KNOT: FILES[KNOT].replace(b"granny", b"bowline")}
    for path, data in (FILES | left).items():
        assert (root / path).read_bytes() == data, path
    assert git(root, "for-each-ref", "refs/kedge") == ""
    assert not (root / ".codex").exists() and not (root / ".kedge" / "map.md").exists()
