"""`kedge doctor`: each problem is found, with a fix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clients import program
from support import Kedge, assert_clear, git


@pytest.fixture
def well(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with kedge and the hooks of Claude Code."""
    (repo / "app.py").write_text("def sail(): ...\n")
    (repo / ".claude").mkdir()
    kedge("init")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return kedge


def findings(kedge: Kedge, *args: str, **env: str) -> dict[str, list[tuple[str, str, str]]]:
    ran = kedge("doctor", "--no-probe", "--json", *args, code=None, env=env)
    assert ran.code in (0, 4)
    found: dict[str, list[tuple[str, str, str]]] = {}
    for one in ran.document["data"]["findings"]:
        found.setdefault(one["name"], []).append((one["state"], one["text"], one["fix"]))
        assert one["state"] == "fine" or one["fix"], one
    return found


def problems(kedge: Kedge, name: str) -> list[str]:
    return [text for state, text, _ in findings(kedge).get(name, []) if state != "fine"]


def test_a_fresh_setup_has_no_problems(well: Kedge) -> None:
    ran = well("doctor", "--no-probe")
    assert "problem" not in ran.out
    assert "fine\tversions\tkedge " in ran.out
    assert "fine\tmap\t.kedge/map.md is fresh, " in ran.out
    assert "fine\tsize\tkedge adds " in ran.out


def test_a_progress_bar_is_shown_on_a_terminal(well: Kedge) -> None:
    code = (
        "import sys, kedge.cli.progress; kedge.cli.progress.PATIENCE = 0;"
        " from kedge.cli.edge import run; sys.exit(run(['doctor', '--no-probe']))"
    )
    ours, theirs = os.openpty()
    subprocess.run(
        [sys.executable, "-c", code], cwd=well.directory, stdout=subprocess.DEVNULL, stderr=theirs
    )
    shown = os.read(ours, 100_000).decode()
    os.close(theirs)
    os.close(ours)
    assert "checking " in shown
    assert shown.endswith("\r\x1b[K")


def test_a_project_without_kedge_is_told_to_run_init(repo: Path, kedge: Kedge) -> None:
    ran = kedge("doctor", code=4)
    assert "problem\tsections\tkedge is not set up here\tkedge init" in ran.out
    assert "hint: kedge init" in ran.err


def test_stale_files_are_found_and_repaired(well: Kedge) -> None:
    root = well.directory
    whole = (root / "AGENTS.md").read_text()
    (root / "AGENTS.md").write_text(whole.replace("kedge task ready", "kedge task list"))
    (root / ".kedge" / "map.md").write_text("old\n")
    hooks = root / ".claude" / "settings.local.json"
    good = hooks.read_text()
    hooks.write_text(good.replace(sys.executable, "/gone/python"))
    stage = root / ".kedge" / ".map.md.kedge-new"
    stage.write_text("half")
    os.utime(stage, (time.time() - 9999,) * 2)
    found = findings(well)
    assert {text for _, text, _ in found["sections"]} == {
        "AGENTS.md is out of date",
        ".claude/settings.local.json is out of date",
    }
    ((state, text, fix),) = found["map"]
    assert (state, text) == ("note", ".kedge/map.md is stale")
    assert "kedge map" in fix
    assert found["leftovers"][0][0] == "note"
    ran = well("doctor", "--no-probe", "--fix")
    assert ran.out.count("repaired: ") == 4
    assert (root / "AGENTS.md").read_text() == whole
    assert hooks.read_text() == good
    assert not stage.exists()
    assert well("update", "--check").code == 0


def test_broken_markers_and_settings_are_problems(well: Kedge) -> None:
    root = well.directory
    path = root / "CLAUDE.md"
    path.write_text(path.read_text() + "<!-- BEGIN KEDGE MANAGED SECTION v1 -->\n")
    (state, text, fix), *_ = findings(well)["sections"]
    assert (state, fix) == ("problem", "kedge update --repair")
    assert text.startswith("CLAUDE.md: its markers")
    (root / ".kedge" / "config.toml").write_text("[map]\ntokens = 'x'\n")
    assert "map.tokens must be an integer" in problems(well, "settings")[0]


def test_large_sections_and_agents_files_are_problems(well: Kedge) -> None:
    root = well.directory
    constitution = root / ".kedge" / "constitution.md"
    constitution.write_text("a principle of some length\n" * 600)
    assert "tokens to every session, more than 2500" in problems(well, "size")[0]
    constitution.unlink()
    (root / "packages" / "api").mkdir(parents=True)
    (root / "packages" / "web").mkdir()
    (root / "AGENTS.md").write_text((root / "AGENTS.md").read_text() + "x" * 20_000 + "\n")
    (root / "packages" / "api" / "AGENTS.md").write_text("x" * 20_000)
    (root / "packages" / "web" / "AGENTS.md").write_text("x" * 2_000)
    (told,) = problems(well, "size")
    assert told.startswith("AGENTS.md + packages/api/AGENTS.md have 4")
    assert "Codex silently drops what exceeds 32768" in told


def test_lines_repeated_in_claude_md_are_noted(well: Kedge) -> None:
    rules = "".join(f"- rule {n} of this project is a long line\n" for n in range(20))
    for name in ("AGENTS.md", "CLAUDE.md"):
        path = well.directory / name
        path.write_text(rules + path.read_text())
    assert problems(well, "double") == ["CLAUDE.md repeats 20 lines of AGENTS.md, which it imports"]


def test_a_damaged_database_is_a_problem(well: Kedge) -> None:
    home = well.directory / ".git" / "kedge"
    (home / "kedge.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    (home / "kedge.db-wal").unlink(missing_ok=True)
    assert len(problems(well, "database")) == 1
    well("map")
    assert "is a damaged database" in problems(well, "database")[0]


def test_files_of_older_versions_and_wrong_permissions_are_reported(well: Kedge) -> None:
    (well.directory / "fix_plan.md").write_text("- [ ] x: mend\n")
    assert problems(well, "leftovers") == ["fix_plan.md belongs to an older version of kedge"]


def test_disabled_and_failed_hooks_are_reported(well: Kedge) -> None:
    root = well.directory
    (root / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    assert any("disableAllHooks is true" in text for text in problems(well, "hooks"))
    (root / ".claude" / "settings.json").unlink()
    logs = root / ".git" / "kedge" / "logs"
    logs.mkdir()
    (logs / "hook-errors.jsonl").write_text('{"at": "now", "error": "it broke"}\nbroken\n')
    assert any("a hook failed once, last at now: it broke" in t for t in problems(well, "hooks"))
    well("doctor", "--no-probe", "--fix")
    assert problems(well, "hooks") == []


# With the real clients


def path_with(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


def test_the_hooks_of_both_agents_really_run(well: Kedge, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("claude", "codex"):
        (programs / name).symlink_to(program(name))
    root = well.directory
    env = {"PATH": path_with(programs), "CODEX_HOME": str(tmp_path / "codex")}
    ran = well("doctor", "--fix", env=env)
    assert "note\thooks\tCodex is on this machine, but has no hooks of kedge here" in ran.out
    assert not (root / ".codex").exists()  # the user may have left it out on purpose
    well("init", env=env)
    assert "have never run" in well("doctor", "--no-probe", env=env, code=4).out
    ran = well("doctor", env=env, code=4)
    assert "fine\thooks\tClaude Code 2." in ran.out
    assert "runs them (.claude/settings.local.json): tried in " in ran.out
    assert "would run them (.codex/hooks.json): tried in " in ran.out
    assert "Codex does not trust this project" in ran.out
    assert_clear_after_table(ran.err)
    assert git(root, "status", "--porcelain") == ""
    assert "have never run" in well("doctor", "--no-probe", env=env, code=4).out
    # A hook that cannot be started is found even if the settings are correct.
    hooks = root / ".claude" / "settings.local.json"
    hooks.write_text(hooks.read_text().replace(sys.executable, "/gone/python"))
    ran = well("doctor", env=env, code=4)
    assert "the hooks in .claude/settings.local.json run another program than this" in ran.out
    hooks.write_text(hooks.read_text().replace("/gone/python", sys.executable))
    (root / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    ran = well("doctor", env=env, code=4)
    assert "would run them (.claude/settings.local.json)" in ran.out
    # Other commands in the repository's settings are not run.
    command = {"type": "command", "command": f"touch {tmp_path}/ran"}
    theirs = {"hooks": {"SessionStart": [{"hooks": [command]}]}}
    (root / ".claude" / "settings.json").write_text(json.dumps(theirs))
    well("doctor", env=env, code=4)
    assert not (tmp_path / "ran").exists()


def assert_clear_after_table(err: str) -> None:
    first, second = err.splitlines()
    assert first.startswith("error: 2 problems: Codex does not trust")
    assert second.startswith("hint: start codex here")


def test_an_agent_that_hangs_or_fails_is_reported(well: Kedge, tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "claude"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no such thing >&2\nexit 7\n")
    fake.chmod(0o755)
    ran = well("doctor", env={"PATH": path_with(fake.parent)}, code=4)
    assert "the agent ended with exit code 7: no such thing" in ran.out


def test_outside_of_git(tmp_path: Path, kedge: Kedge) -> None:
    (tmp_path / "plain").mkdir()
    ran = kedge("doctor", cwd=tmp_path / "plain", code=1)
    assert_clear(ran, code=1, says="is not in a git repository")
