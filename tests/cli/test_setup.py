"""The way of a new user through `init`, `doctor`, `drift status` and `uninstall`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from clients import Codex
from support import Kedge, assert_clear, git, wait_for_aside

from kedge.context import managed_section

SESSION = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "Moor the boat."}


def watch(kedge: Kedge) -> None:
    """Record a session of Claude Code, as its hook does."""
    event = {**SESSION, "cwd": str(kedge.directory)}
    kedge("hook", "claude", input=json.dumps(event))
    wait_for_aside(kedge.directory / ".git" / "kedge")


def next_steps(out: str) -> list[tuple[str, str]]:
    """Return the commands that `init` suggests, each with its purpose."""
    lines = out.partition("\nNext:\n")[2].splitlines()
    return [tuple(re.split(r" {3,}", line.strip(), maxsplit=1)) for line in lines]  # type: ignore[misc]


def take_step(repo: Path, line: str) -> None:
    done = subprocess.run(shlex.split(line), cwd=repo, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


# No agent on PATH


def test_without_an_agent_each_command_names_the_step_that_helps(repo: Path, kedge: Kedge) -> None:
    ran = kedge("init")
    assert "nothing is watched; kedge init --agent claude installs them all the same" in ran.out
    assert next_steps(ran.out)[0][0] == "kedge init --agent claude"
    (row,) = [line for line in kedge("doctor").out.splitlines() if "\thooks\t" in line]
    assert row.startswith("note\thooks\tno agent has hooks of kedge here")
    assert row.endswith("so no session is watched\tkedge init --agent claude")
    status = kedge("drift", "status")
    assert "no agent has kedge's hooks here; kedge init --agent claude installs" in status.err
    for command in (["report"], ["explain", "last"]):
        assert "hint: no agent has kedge's hooks" in kedge("drift", *command, code=1).err

    kedge("init", "--agent", "claude")
    assert "hook.py" in (repo / ".claude" / "settings.local.json").read_text()
    assert not (repo / ".codex").exists()
    assert "problem" not in kedge("doctor", "--no-probe").out
    assert "start claude here" in kedge("drift", "status").err
    kedge("uninstall", "--yes")
    assert not (repo / ".claude").exists()


def test_the_hooks_of_an_agent_on_another_machine_are_no_problem(kedge: Kedge) -> None:
    kedge("init", "--agent", "codex")
    rows = [line.split("\t") for line in kedge("doctor").out.splitlines()]
    hooks = {text: level for level, what, text, *_ in rows if what == "hooks"}
    assert hooks["Codex does not trust this project and ignores its .codex directory"] == "note"
    assert hooks["Codex: installed in .codex/hooks.json; it is not on this machine"] == "fine"


def test_hooks_can_be_installed_for_several_agents(repo: Path, kedge: Kedge) -> None:
    kedge("init", "--agent", "claude", "--agent", "codex")
    assert (repo / ".claude" / "settings.local.json").exists()
    assert (repo / ".codex" / "hooks.json").exists()
    assert git(repo, "status", "--porcelain", ".claude", ".codex") == ""


def test_only_the_named_agent_gets_hooks_though_another_one_is_found(
    repo: Path, kedge: Kedge
) -> None:
    (repo / ".codex").mkdir()
    kedge("init", "--agent", "claude")
    assert not (repo / ".codex" / "hooks.json").exists()


@pytest.mark.parametrize("other", ["--no-hooks", "--minimal"])
def test_an_agent_without_hooks_is_refused(repo: Path, kedge: Kedge, other: str) -> None:
    ran = kedge("init", "--agent", "claude", other, code=2)
    assert_clear(ran, code=2, says=f"cannot be combined with {other}")
    assert not (repo / ".kedge").exists()


def test_a_mistyped_agent_is_refused_with_the_choices(kedge: Kedge) -> None:
    ran = kedge("init", "--agent", "cluade", code=2)
    assert_clear(ran, code=2, says="'claude', 'codex'")


def test_codex_has_nothing_to_say_about_the_hooks(repo: Path, kedge: Kedge, codex: Codex) -> None:
    kedge("init", "--agent", "codex")
    trust = f'[projects.{json.dumps(str(repo))}]\ntrust_level = "trusted"\n'
    (codex.codex_home / "config.toml").write_text(trust)
    (project,) = codex.read_projects(repo)
    assert len(project["hooks"]) == 9
    assert (project["warnings"], project["errors"]) == ([], [])


# What `init` says comes next


def share(out: str) -> str:
    (line,) = [line for line, purpose in next_steps(out) if purpose == "share it"]
    return line


def test_each_next_step_runs_and_has_a_purpose(repo: Path, kedge: Kedge) -> None:
    steps = next_steps(kedge("init", "--agent", "claude", "--plugin").out)
    assert all(purpose for _, purpose in steps)
    take_step(repo, steps[-1][0])
    staged = git(repo, "diff", "--cached", "--name-only").splitlines()
    assert {"AGENTS.md", "CLAUDE.md", ".kedge/constitution.md"} <= set(staged)


@pytest.mark.parametrize(
    "ignored", [".claude/settings.local.json\n", ".claude/\n.codex/\n", "*.local.json\n.kedge/\n"]
)
def test_what_git_ignores_is_not_named_as_something_to_share(
    repo: Path, kedge: Kedge, ignored: str
) -> None:
    (repo / ".gitignore").write_text(ignored)
    line = share(kedge("init", "--agent", "claude", "--agent", "codex").out)
    assert "AGENTS.md" in line
    assert "settings.local.json" not in line
    take_step(repo, line)
    staged = git(repo, "diff", "--cached", "--name-only")
    assert "local" not in staged
    assert (".kedge" in staged) == (".kedge" not in ignored)


def test_shared_hooks_are_something_to_share(repo: Path, kedge: Kedge) -> None:
    line = share(kedge("init", "--agent", "claude", "--shared-hooks").out)
    take_step(repo, line)
    assert ".claude/settings.json" in git(repo, "diff", "--cached", "--name-only")


def test_the_step_runs_where_the_user_is(repo: Path, kedge: Kedge, tmp_path: Path) -> None:
    (repo / "deep er").mkdir()
    take_step(repo / "deep er", share(kedge("init", cwd=repo / "deep er").out))
    assert "AGENTS.md" in git(repo, "diff", "--cached", "--name-only")
    git(repo, "reset", "-q")
    kedge("uninstall", "--yes")
    take_step(tmp_path, share(kedge("-C", "repo", "init", cwd=tmp_path).out))
    assert "AGENTS.md" in git(repo, "diff", "--cached", "--name-only")


# `uninstall`


def test_uninstall_keeps_what_was_watched_and_says_so(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    watch(kedge)
    refused = kedge("uninstall", code=1)
    assert_clear(refused, code=1, says="needs confirmation")
    ran = kedge("uninstall", "--yes")
    assert ".git/kedge\tremoved: " in ran.out
    assert ".git/kedge/kedge.db stays: it has the records of 1 watched session" in ran.out
    left = {path.name for path in (repo / ".git" / "kedge").iterdir()}
    assert left <= {"kedge.db", "kedge.db-wal", "kedge.db-shm"}
    assert kedge.json("drift", "status", "--all")[0]["id"] == "s1"
    again = kedge("uninstall", "--yes")
    assert "kedge.db stays" in again.out
    data = kedge.json("uninstall", "--yes", "--records")
    (change,) = data["changes"]
    assert change["path"] == ".git/kedge"
    assert "the records of 1 watched session" in change["what"]
    assert not (repo / ".git" / "kedge").exists()
    assert kedge("uninstall", "--yes").out == "kedge has not written anything here\n"


def test_uninstall_asks_before_it_removes_records_alone(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    watch(kedge)
    kedge("uninstall", "--yes")
    ran = kedge("uninstall", "--records", code=1)
    assert_clear(ran, code=1, says="needs confirmation")
    assert (repo / ".git" / "kedge" / "kedge.db").exists()


def test_a_dry_run_says_what_would_go_and_keeps_it(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    watch(kedge)
    ran = kedge("uninstall", "--dry-run", "--records")
    assert "warning: .git/kedge would be removed: " in ran.err
    assert (repo / ".git" / "kedge" / "kedge.db").exists()


def make_task_with_snapshots(repo: Path, kedge: Kedge) -> list[str]:
    (repo / "app.py").write_text("x = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    kedge("task", "add", "Moor", "--id", "m1", "--description", "The boat", "--accept", "x")
    kedge("task", "claim", "m1")
    kedge("context", "init", "m1")
    kedge("context", "begin", "m1", "--agent", "implementer")
    (repo / "app.py").write_text("x = 2\n")
    kedge("context", "snapshot", "m1", "--agent", "implementer")
    return git(repo, "for-each-ref", "--format=%(refname)", "refs/kedge/").splitlines()


def test_uninstall_removes_the_refs_and_says_so(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    refs = make_task_with_snapshots(repo, kedge)
    assert refs
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "update-ref", "refs/kedge/set-aside/m1", "HEAD")
    ran = kedge("uninstall", "--yes")
    assert f"refs/kedge/*\tremoved: {len(refs) + 1} snapshots" in ran.out
    assert f"git branch NAME {head[:12]} gets it back" in ran.out
    assert git(repo, "for-each-ref", "refs/kedge/") == ""
    assert git(repo, "rev-parse", "HEAD") == head


def test_refs_that_other_work_trees_share_stay(repo: Path, kedge: Kedge, tmp_path: Path) -> None:
    kedge("init")
    refs = make_task_with_snapshots(repo, kedge)
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    ran = kedge("uninstall", "--yes", "--records")
    assert "refs/kedge/* stay: other work trees share them" in ran.out
    listed = git(repo, "for-each-ref", "--format=%(refname)", "refs/kedge/").splitlines()
    assert listed == refs


BEGIN, END = b"<!-- BEGIN KEDGE MANAGED SECTION v1 -->", managed_section.END.encode()


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", ".cursor/rules/kedge.mdc"])
@pytest.mark.parametrize("damage", ["no end", "no begin", "twice", "twice with a blank line"])
def test_a_file_of_kedge_is_removed_after_a_repair_too(
    repo: Path, kedge: Kedge, name: str, damage: str
) -> None:
    kedge("init", "--for", "cursor")
    path = repo / name
    whole = path.read_bytes()
    path.write_bytes(
        {
            "no end": whole.replace(END + b"\n", b""),
            "no begin": whole.replace(BEGIN + b"\n", b""),
            "twice": whole + whole[whole.index(BEGIN) :],
            "twice with a blank line": whole + b"\n" + whole[whole.index(BEGIN) :],
        }[damage]
    )
    assert "repaired" in kedge("update", "--repair").out
    assert path.read_bytes().count(b"kedge task ready") == whole.count(b"kedge task ready")
    kedge("uninstall", "--yes")
    assert not path.exists(), path.read_bytes()


def test_a_file_of_the_users_stays_after_a_repair(repo: Path, kedge: Kedge) -> None:
    (repo / "CLAUDE.md").write_bytes(b"mine\n")
    (repo / "AGENTS.md").write_bytes(b"")
    kedge("init")
    for name in ("CLAUDE.md", "AGENTS.md"):
        path = repo / name
        path.write_bytes(path.read_bytes().replace(BEGIN + b"\n", b""))
    kedge("update", "--repair")
    kedge("uninstall", "--yes")
    assert (repo / "CLAUDE.md").read_bytes() == b"mine\n"
    assert (repo / "AGENTS.md").read_bytes() == b""


# Older sections, settings, the map


def test_a_section_of_an_older_version_is_replaced_with_a_warning(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    path = repo / "AGENTS.md"
    good = path.read_bytes()
    path.write_bytes(b"<!-- BEGIN KEDGE MANAGED SECTION v0 -->\n## Older\n" + END + b"\n")
    ran = kedge("update", "--dry-run")
    says = "AGENTS.md: the section is of version 0, older than 1; it is replaced"
    assert f"warning: {says}" in ran.err
    ran = kedge("update")
    assert f"warning: {says}" in ran.err
    assert "edited by hand" not in ran.out
    assert path.read_bytes() == good
    (backup,) = re.findall(r"backup: (.+)", ran.out)
    assert "## Older" in Path(backup).read_text()


def test_config_show_says_what_each_setting_is_for(kedge: Kedge) -> None:
    rows = [line.split("\t") for line in kedge("config", "show").out.splitlines()]
    documented = {row["key"]: row["help"] for row in kedge.json("config", "show")}
    assert {key: text for key, _, _, text in rows} == documented
    assert all(documented.values())


def test_a_stale_map_is_a_note_that_the_next_session_clears(repo: Path, kedge: Kedge) -> None:
    (repo / "app.py").write_text("def sail(): ...\n")
    kedge("init", "--agent", "claude")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    (repo / "app.py").write_text("def moor(): ...\n")
    ran = kedge("doctor", "--no-probe")
    assert "note\tmap\t.kedge/map.md is stale\tthe next session refreshes it" in ran.out
    event = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}
    kedge("hook", "claude", input=json.dumps({**event, "cwd": str(repo)}))
    assert "fine\tmap\t.kedge/map.md is fresh" in kedge("doctor", "--no-probe").out


def test_replay_says_where_it_looked(repo: Path, kedge: Kedge, tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    ran = kedge("drift", "replay", "--all", env=env)
    assert ran.out == ""
    assert f"that ran in {repo}; looked in {tmp_path}/c/projects/" in ran.err
    assert f"{tmp_path}/x/sessions" in ran.err
    only = kedge("drift", "replay", "--all", "--agent", "codex", "--json", env=env).document
    assert only["data"] == []
    assert "/c/projects" not in only["warnings"][0]
    assert only["warnings"][0].startswith("no session of Codex was found")
    (tmp_path / "empty").mkdir()
    ran = kedge("drift", "replay", str(tmp_path / "empty"))
    assert f"looked in {tmp_path}/empty" in ran.err
