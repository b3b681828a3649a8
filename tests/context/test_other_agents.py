"""`init`, `update`, `doctor` and `uninstall` for Gemini CLI, Copilot CLI and opencode."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from clients import PROGRAMS, program
from support import Kedge, git

AGENTS = ("gemini", "copilot", "opencode")
INSTALL = tuple(word for agent in AGENTS for word in ("--agent", agent))
USERS_OWN = {
    ".gemini/settings.json": '{"hooks":{"BeforeTool":[ {"hooks":[]} ]},\t"theme": "dark"}',
    "GEMINI.md": "my rules\r\n",
    "opencode.json": '{"plugin": ["mine"],"model":"x"}\n\n',
    ".cursor/mcp.json": '{\n\t"mcpServers": {}\n}',
}


def read_tree(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.mark.parametrize("own", [{}, USERS_OWN], ids=["nothing there", "the user's files"])
def test_uninstall_restores_every_byte(repo: Path, kedge: Kedge, own: dict[str, str]) -> None:
    for name, text in own.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_bytes(text.encode())
    before = read_tree(repo)
    kedge("init", *INSTALL, "--agent", "cursor", "--agent", "zed")
    assert "@AGENTS.md" in (repo / "GEMINI.md").read_text()
    installed = read_tree(repo)
    assert kedge("update", "--check").code == 0
    settings = repo / ".gemini" / "settings.json"
    settings.write_text(settings.read_text().replace(sys.executable, "/gone/python"))
    assert kedge("update", "--check", code=4).code == 4
    kedge("update")
    assert read_tree(repo) == installed
    # hooks name programs of this machine, so they stay out of git
    git(repo, "add", ".")
    listed = git(repo, "ls-files")
    assert (".gemini/settings.json" in listed, "kedge.json" in listed) == (False, False)
    kedge("uninstall", "--yes")
    assert read_tree(repo) == before
    assert not (repo / ".github").exists()


def test_shared_settings_find_kedge_on_the_path(repo: Path, kedge: Kedge) -> None:
    kedge("init", *INSTALL, "--shared-hooks")
    for path in (".gemini/settings.json", ".github/hooks/kedge.json"):
        text = (repo / path).read_text()
        agent = "gemini" if "gemini" in path else "copilot"
        assert f'"kedge hook {agent} || :"' in text
        assert sys.executable not in text


def test_gemini_gets_agents_md_once(repo: Path, kedge: Kedge) -> None:
    """A project whose settings let it read AGENTS.md needs no file that imports it."""
    (repo / ".gemini").mkdir()
    settings = repo / ".gemini" / "settings.json"
    settings.write_text('{"context": {"fileName": ["AGENTS.md", "GEMINI.md"]}}')
    kedge("init", *INSTALL)
    assert not (repo / "GEMINI.md").exists()
    doctor = kedge("doctor", "--no-probe", code=None).out
    assert "Gemini CLI reads AGENTS.md twice" not in doctor
    (line,) = [one for one in doctor.splitlines() if "Copilot CLI reads AGENTS.md twice" in one]
    assert line.endswith("where Claude Code needs it\t"), "there is nothing to do"
    kedge("update")
    kedge("init", *INSTALL, "--for", "gemini")
    assert "Gemini CLI reads AGENTS.md twice" in kedge("doctor", "--no-probe", code=None).out
    left = json.loads(settings.read_text())
    del left["context"]
    settings.write_text(json.dumps(left))
    (repo / "GEMINI.md").unlink()
    assert "Gemini CLI does not read AGENTS.md" in kedge("doctor", "--no-probe", code=None).out


def test_doctor_says_why_hooks_would_not_run(repo: Path, kedge: Kedge, tmp_path: Path) -> None:
    home = tmp_path / "trusting"
    (home / ".gemini").mkdir(parents=True)
    (home / ".copilot").mkdir()
    env = {"HOME": str(home), "PATH": path_with(PROGRAMS)}
    kedge("init", *INSTALL)
    doubts = ("Gemini CLI does not trust this folder", "Copilot CLI does not trust this folder")
    said = kedge("doctor", "--no-probe", env=env, code=None).out
    assert all(doubt in said for doubt in doubts)
    rules = {str(repo.parent / "other"): "TRUST_PARENT"}
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps(rules))
    trusted = {"trustedFolders": [str(repo)]}
    (home / ".copilot" / "config.json").write_text(f"// its own\n{json.dumps(trusted)}")
    said = kedge("doctor", "--no-probe", env=env, code=None).out
    assert not any(doubt in said for doubt in doubts)
    rules[str(repo)] = "DO_NOT_TRUST"
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps(rules))
    (home / ".gemini" / "settings.json").write_text('{"hooksConfig": {"enabled": false}}')
    said = kedge("doctor", "--no-probe", env=env, code=None).out
    assert doubts[0] in said
    assert "hooksConfig.enabled is false" in said


def test_an_mcp_entry_is_written_where_the_client_looks_for_it(repo: Path, kedge: Kedge) -> None:
    kedge("init", "--agent", "cursor", "--agent", "vscode")
    assert not (repo / ".claude").exists()
    cursor = repo / ".cursor" / "mcp.json"
    entry = json.loads(cursor.read_text())["mcpServers"]["kedge"]
    assert entry == {"command": sys.executable, "args": ["-P", "-m", "kedge", "mcp"]}
    assert json.loads((repo / ".vscode" / "mcp.json").read_text())["servers"]["kedge"]
    assert ".cursor" not in git(repo, "status", "--porcelain", "-uall")
    # a file of the team names no program of this machine
    cursor.write_text('{"mcpServers": {"theirs": {"command": "x"}}}')
    git(repo, "add", "-f", ".cursor")
    kedge("init", "--agent", "cursor")
    servers = json.loads(cursor.read_text())["mcpServers"]
    assert servers["kedge"] == {"command": "kedge", "args": ["mcp"]}
    assert kedge("update", "--check").code == 0
    kedge("uninstall", "--yes")
    assert cursor.read_text() == '{"mcpServers": {"theirs": {"command": "x"}}}'
    foreign = '{"mcpServers": {"kedge": {"command": "other"}}}'
    cursor.write_text(foreign)
    said = kedge("init", "--agent", "cursor", code=1).err
    assert ".cursor/mcp.json:1: kedge is there, and kedge did not write it" in said
    kedge("uninstall", "--yes")
    assert cursor.read_text() == foreign


def path_with(folder: Path) -> str:
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def test_doctor_sees_hooks_fire_and_sees_when_they_do_not(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    clients = tmp_path / "clients"  # no others, which would be tried as well
    clients.mkdir()
    for agent in AGENTS:
        (clients / agent).symlink_to(program(agent))
    cache = tmp_path / "home" / ".cache"
    cache.mkdir(parents=True)
    (cache / "copilot").symlink_to(PROGRAMS.parent.parent / "copilot-cache")
    env = {"PATH": path_with(clients), "HOME": str(tmp_path / "home")}
    kedge("init", *INSTALL)
    hooks = repo / ".github" / "hooks" / "kedge.json"
    whole = json.loads(hooks.read_text())
    del whole["hooks"]["SessionStart"]
    hooks.write_text(json.dumps(whole))
    said = kedge("doctor", env=env, code=4).out
    assert "Gemini CLI 0." in said
    assert "would run them (.gemini/settings.json): tried in " in said
    assert "Copilot CLI does not run the hooks in .github/hooks/kedge.json" in said
    assert "the agent ran but did not call the hooks" in said
    kedge("update")
    said = kedge("doctor", env=env, code=4).out
    assert "would run them (.github/hooks/kedge.json): tried in " in said
