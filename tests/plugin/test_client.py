"""The real Claude Code takes the plugin: it is valid, all of it loads, its hooks anchor once."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clients import Claude, environment, program
from support import Kedge, git

from kedge.agents.command import command, portable
from kedge.context.anchor import SMALL
from kedge.host import tokens
from kedge.plugin import roles
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
Trust = Callable[[Path], None]
FULL = 990_000  # tokens that make Claude Code compact
ANCHOR = "## Re-anchoring Context"


def test_the_clients_own_validator_accepts_it(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    for name, data in roles.files().items():
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


def loaded(claude: Claude, play: Play, cwd: Path) -> set[str]:
    """What of the plugin a session has: commands and skills by `/name`, agents by name."""
    with play(["Done."]) as model:
        session = claude(model.url, "hello", cwd=cwd)
    (init,) = session.of("system", "init")
    names = {f"/{name}" for name in init["slash_commands"]} | set(init["agents"])
    return {name for name in names if "kedge:" in name}


def test_a_session_has_all_of_it_in_a_folder_that_is_trusted(
    plugged: Kedge, claude: Claude, play: Play, trust: Trust, tmp_path: Path
) -> None:
    expected = {
        f"kedge:{role.name}" if role.kind == "agent" else f"/kedge:{role.name}"
        for role in roles.roles().values()
    }
    assert loaded(claude, play, plugged.directory) == expected
    git(tmp_path, "clone", "--quiet", str(plugged.directory), "theirs")  # for the whole team
    assert loaded(claude, play, tmp_path / "theirs") == set()  # until they trust it
    trust(tmp_path / "theirs")
    assert loaded(claude, play, tmp_path / "theirs") == expected
    plugged("uninstall", "--yes")
    assert loaded(claude, play, plugged.directory) == set()


def test_what_every_session_pays_is_small(plugged: Kedge, claude: Claude, play: Play) -> None:
    with play(["Done."]) as model:
        claude(model.url, "hello", cwd=plugged.directory)
    rows = [line for line in model.requests[0].given.splitlines() if line.startswith("- kedge:")]
    assert len(rows) == 10  # agents and skills; commands are the user's to start
    assert tokens.count("\n".join(rows)) < 600


@pytest.fixture
def at_work(plugged: Kedge) -> Kedge:
    plugged("config", "set", "tasks.backend", "jsonl")
    plugged("task", "add", "Hash passwords", "--id", "l1", "--accept", "none is plain")
    plugged("task", "claim", "l1", "--as", "ada")
    return plugged


def test_the_plugins_hook_anchors_a_session_and_after_a_compaction_in_few_lines(
    at_work: Kedge, claude: Claude, play: Play
) -> None:
    small = at_work("anchor", "l1", "--mode", "small").out.strip()
    assert tokens.count(small) <= SMALL
    bash = {"tool": "Bash", "input": {"command": "true"}, "input_tokens": FULL}
    with play([bash, "Done."]) as model:
        claude(model.url, "go on", "--allowedTools", "Bash(true)", cwd=at_work.directory)
    assert model.asked("compaction")
    first, *_, last = model.asked("main")
    assert first.given.count(ANCHOR) == 1
    assert small not in first.given
    assert last.given.count(small) == 1
    assert ANCHOR not in last.given


@pytest.mark.parametrize("more", [[], ["--shared-hooks"]])
def test_two_installations_say_it_once(
    at_work: Kedge, claude: Claude, play: Play, more: list[str]
) -> None:
    at_work("init", *more)
    with play(["Done."]) as model:
        claude(model.url, "go on", cwd=at_work.directory)
    assert model.asked("main")[0].given.count(ANCHOR) == 1


# The hook's script by itself


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
    [portable("claude"), command(Path("/o'p t/python"), Path("/x y/kedge/hook.py"), "claude")],
)
def test_the_script_is_silent_where_settings_call_kedge(
    at_work: Kedge, file: str, line: str
) -> None:
    root = at_work.directory
    assert ANCHOR in start(root)
    settings = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": line}]}]}}
    (root / ".claude" / file).write_text(json.dumps(settings))
    assert start(root) == ""
    (root / ".claude" / file).write_text(json.dumps(settings).replace("kedge", "ledge"))
    assert ANCHOR in start(root)


def test_without_kedge_the_user_is_told_and_the_model_is_not(
    at_work: Kedge, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("sh", "grep"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    said = json.loads(start(at_work.directory, PATH=str(tmp_path / "bin")))
    assert list(said) == ["systemMessage"]
