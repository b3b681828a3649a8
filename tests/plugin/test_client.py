"""The real Claude Code loads the plugin: it is valid and complete, and its hook anchors once."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clients import Claude, environment, program
from support import Kedge, git

from kedge.agents.settings.hook_command import make_command, make_portable_command
from kedge.context.anchor import SMALL
from kedge.host import tokens
from kedge.plugin import roles
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
Trust = Callable[[Path], None]
FULL = 990_000  # tokens, which make Claude Code compact
ANCHOR = "## Re-anchoring Context"


def test_client_validates_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    for name, data in roles.read_files().items():
        path = tmp_path / "kedge" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    done = subprocess.run(
        [program("claude"), "plugin", "validate", tmp_path / "kedge", "--strict", "--json"],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    report = json.loads(done.stdout)
    assert (done.returncode, report["success"]) == (0, True), report
    assert not any(one["blocking"] for one in report["directory"]["findings"]), report


def list_loaded(claude: Claude, play: Play, cwd: Path) -> set[str]:
    """Return what a session has of the plugin: commands and skills as `/name`, agents by name."""
    with play(["Done."]) as model:
        session = claude(model.url, "hello", cwd=cwd)
    (init,) = session.of("system", "init")
    names = {f"/{name}" for name in init["slash_commands"]} | set(init["agents"])
    return {name for name in names if "kedge:" in name}


def test_session_in_a_trusted_folder_loads_the_whole_plugin(
    installed: Kedge, claude: Claude, play: Play, trust: Trust, tmp_path: Path
) -> None:
    expected = {
        f"kedge:{role.name}" if role.kind == "agent" else f"/kedge:{role.name}"
        for role in roles.read_roles().values()
    }
    assert list_loaded(claude, play, installed.directory) == expected
    git(tmp_path, "clone", "--quiet", str(installed.directory), "theirs")  # for the whole team
    assert list_loaded(claude, play, tmp_path / "theirs") == set()  # until they trust it
    trust(tmp_path / "theirs")
    assert list_loaded(claude, play, tmp_path / "theirs") == expected
    installed("uninstall", "--yes")
    assert list_loaded(claude, play, installed.directory) == set()


def test_plugin_costs_each_session_few_tokens(installed: Kedge, claude: Claude, play: Play) -> None:
    with play(["Done."]) as model:
        claude(model.url, "hello", cwd=installed.directory)
    rows = [line for line in model.requests[0].given.splitlines() if line.startswith("- kedge:")]
    assert len(rows) == 10  # agents and skills; only the user starts commands
    assert tokens.count("\n".join(rows)) < 600


@pytest.fixture
def with_task(installed: Kedge) -> Kedge:
    installed("config", "set", "tasks.backend", "jsonl")
    installed("task", "add", "Hash passwords", "--id", "l1", "--accept", "none is plain")
    installed("task", "claim", "l1", "--as", "ada")
    return installed


def test_hook_anchors_a_session_and_briefly_after_a_compaction(
    with_task: Kedge, claude: Claude, play: Play
) -> None:
    small = with_task("anchor", "l1", "--mode", "small").out.strip()
    assert tokens.count(small) <= SMALL
    bash = {"tool": "Bash", "input": {"command": "true"}, "input_tokens": FULL}
    with play([bash, "Done."]) as model:
        claude(model.url, "go on", "--allowedTools", "Bash(true)", cwd=with_task.directory)
    assert model.list_requests("compaction")
    first, *_, last = model.list_requests("main")
    assert first.given.count(ANCHOR) == 1
    assert small not in first.given
    assert last.given.count(small) == 1
    assert ANCHOR not in last.given


@pytest.mark.parametrize("more", [[], ["--shared-hooks"]])
def test_two_installations_anchor_a_session_once(
    with_task: Kedge, claude: Claude, play: Play, more: list[str]
) -> None:
    with_task("init", *more)
    with play(["Done."]) as model:
        claude(model.url, "go on", cwd=with_task.directory)
    assert model.list_requests("main")[0].given.count(ANCHOR) == 1


# The hook script alone


def start(root: Path, **env: str) -> str:
    event = {
        "hook_event_name": "SessionStart",
        "source": "startup",
        "cwd": str(root),
        "session_id": "s",
    }
    done = subprocess.run(
        ["sh", roles.ROOT / "hooks" / "session.sh"],
        input=json.dumps(event).encode(),
        env={**environment(root.parent), "CLAUDE_PROJECT_DIR": str(root), **env},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize(
    "line",
    [
        make_portable_command("claude"),
        make_command(Path("/o'p t/python"), Path("/x y/kedge/hook.py"), "claude"),
    ],
)
def test_script_is_silent_if_the_settings_call_kedge(
    with_task: Kedge, file: str, line: str
) -> None:
    root = with_task.directory
    assert ANCHOR in start(root)
    settings = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": line}]}]}}
    (root / ".claude" / file).write_text(json.dumps(settings))
    assert start(root) == ""
    (root / ".claude" / file).write_text(json.dumps(settings).replace("kedge", "ledge"))
    assert ANCHOR in start(root)


def test_without_kedge_the_user_is_warned_but_not_the_model(
    with_task: Kedge, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("sh", "grep"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    output = json.loads(start(with_task.directory, PATH=str(tmp_path / "bin")))
    assert list(output) == ["systemMessage"]
