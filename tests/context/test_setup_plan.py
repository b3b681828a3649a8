"""`kedge init`, `update` and `uninstall`: all files are written, and every byte is restored."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge, assert_clear, git, run_killed_at

from kedge.context import default_files, instruction_files, managed_section, setup_plan
from kedge.context.diff import make_patch
from kedge.errors import FileError
from kedge.host import project, tokens
from kedge.host.text import clean

OWN = {".gitignore", "config.toml", "constitution.md", "map.md", "runloop.md"}


def tree(root: Path) -> dict[str, tuple[int, bytes | str]]:
    """Return everything in a directory except `.git`: type, mode, and bytes or link target."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name == ".git" or name.startswith(".git/"):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[name] = mode, str(path.readlink())
        elif stat.S_ISREG(mode):
            found[name] = mode, path.read_bytes()
    return found


def exclude(root: Path) -> bytes:
    return (root / ".git" / "info" / "exclude").read_bytes()


@pytest.fixture
def configured(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with its own instructions, agent settings and hooks."""
    (repo / "app.py").write_text("def run():\n    return 1\n")
    (repo / "AGENTS.md").write_bytes(b"\xef\xbb\xbf# Mine\r\n\r\nUse tabs.\r\n")
    (repo / "CLAUDE.md").write_bytes(b"# For Claude\n\n```\nno end")
    (repo / "packages" / "api").mkdir(parents=True)
    (repo / "packages" / "api" / "AGENTS.md").write_text("# API\n")
    (repo / ".claude").mkdir()
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}]}}
    (repo / ".claude" / "settings.local.json").write_text(json.dumps(hooks, indent=4))
    (repo / ".claude" / "settings.json").write_text('{"model": "opus"}')
    (repo / ".codex").mkdir()
    (repo / ".codex" / "hooks.json").write_text("{ }")
    (repo / "link.md").symlink_to("AGENTS.md")
    git(repo, "add", ".")
    git(repo, "rm", "-q", "--cached", ".claude/settings.local.json", ".codex/hooks.json")
    git(repo, "commit", "-qm", "first")
    return kedge


def test_init_installs_everything_and_uninstall_restores_every_byte(
    configured: Kedge,
) -> None:
    root = configured.directory
    before, ignored = tree(root), exclude(root)
    ran = configured("init")
    made = tree(root)
    assert {name for name in made if name.startswith(".kedge/")} == {f".kedge/{n}" for n in OWN}
    assert "AGENTS.md\tsection added\n" in ran.out
    assert re.search(r"  git add AGENTS\.md CLAUDE\.md \.kedge +share it\n\Z", ran.out)
    for name in ("AGENTS.md", "CLAUDE.md"):
        assert b"BEGIN KEDGE MANAGED SECTION v1" in made[name][1]
    for name in (".claude/settings.local.json", ".codex/hooks.json"):
        assert b"hook.py" in made[name][1]
    assert git(root, "status", "--porcelain").splitlines() == [
        " M AGENTS.md",
        " M CLAUDE.md",
        "?? .kedge/",
    ]
    assert "everything is set up already" in configured("init").out
    assert configured("update").out == "everything is up to date\n"
    assert tree(root) == made
    assert configured("update", "--check").code == 0
    configured("uninstall", "--yes")
    assert tree(root) == before
    assert exclude(root) == ignored
    assert not (root / ".git" / "kedge").exists()
    assert configured("uninstall", "--yes").out == "kedge has not written anything here\n"


def test_init_and_uninstall_in_an_empty_repository(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    assert {"AGENTS.md", "CLAUDE.md"} <= tree(repo).keys()
    assert not (repo / ".claude").exists()  # no agent was found
    kedge("uninstall", "--yes")
    assert tree(repo) == {}
    assert git(repo, "status", "--porcelain") == ""


def test_a_dry_run_prints_the_changes_as_a_patch(configured: Kedge, tmp_path: Path) -> None:
    root = configured.directory
    before = tree(root)
    shown = configured("init", "--dry-run").out
    assert tree(root) == before
    assert not (root / ".git" / "kedge").exists()
    shutil.copytree(root, tmp_path / "copy", symlinks=True)
    (tmp_path / "p").write_text(shown, newline="")
    git(tmp_path / "copy", "apply", "--whitespace=nowarn", str(tmp_path / "p"))
    configured("init")
    done, patched = tree(root), tree(tmp_path / "copy")
    for name in (".claude/settings.local.json", ".codex/hooks.json"):
        assert done[name] == patched[name]
    assert done.keys() == patched.keys()
    # the map is made last, and shows the files that were written before it
    assert {name for name in done if done[name][1] != patched[name][1]} <= {".kedge/map.md"}
    undo = configured("uninstall", "--dry-run").out
    assert "-<!-- BEGIN KEDGE MANAGED SECTION v1 -->" in undo
    assert tree(root) == done


def test_minimal_writes_only_the_sections(repo: Path, kedge: Kedge) -> None:
    kedge("init", "--minimal")
    assert tree(repo).keys() == {"AGENTS.md", "CLAUDE.md"}
    assert ".kedge/" not in (repo / "AGENTS.md").read_text()
    assert kedge("update").out == "everything is up to date\n"
    assert tree(repo).keys() == {"AGENTS.md", "CLAUDE.md"}
    kedge("init")
    assert ".kedge/map.md" in (repo / "AGENTS.md").read_text()
    kedge("init", "--minimal")
    assert ".kedge/map.md" in (repo / "AGENTS.md").read_text()


def test_copilot_and_cursor_files_are_written_on_request(repo: Path, kedge: Kedge) -> None:
    kedge("init", "--for", "copilot", "--for", "cursor")
    copilot = repo / ".github" / "copilot-instructions.md"
    cursor = repo / ".cursor" / "rules" / "kedge.mdc"
    assert "kedge task ready" in copilot.read_text()
    assert cursor.read_text().startswith("---\ndescription: ")
    assert "alwaysApply: true\n---\n" in cursor.read_text()
    cursor.write_text(cursor.read_text().replace("kedge task ready", "kedge task raedy"))
    assert ".cursor/rules/kedge.mdc\tsection refreshed" in kedge("update").out
    kedge("uninstall", "--yes")
    assert tree(repo) == {}
    assert not (repo / ".github").exists()
    assert not (repo / ".cursor").exists()


def test_init_works_in_a_subdirectory_a_work_tree_and_a_submodule(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    (repo / "deep" / "er").mkdir(parents=True)
    (repo / "deep" / "er" / "a.py").write_text("x = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    kedge("init", cwd=repo / "deep" / "er")
    assert (repo / "AGENTS.md").exists()
    assert not (repo / "deep" / "er" / "AGENTS.md").exists()
    side = tmp_path / "side"
    git(repo, "worktree", "add", "-q", "-b", "side", str(side))
    kedge("init", cwd=side)
    assert (side / ".kedge" / "map.md").exists()
    ran = kedge("uninstall", "--yes", cwd=side)
    assert "stays: other work trees share it" in ran.out
    assert (repo / ".git" / "kedge" / "kedge.db").exists()
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "sub")
    kedge("init", cwd=repo / "sub")
    assert (repo / "sub" / "AGENTS.md").exists()


def test_init_works_with_a_detached_head_and_an_unborn_branch(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    git(repo, "checkout", "-q", "--detach")
    assert kedge("update", "--check").code == 0


# The text of the sections


def commands(text: str) -> list[str]:
    return re.findall(r"`(kedge [^`]+)`", text)


def test_every_command_that_the_sections_name_runs(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    said = [
        line
        for name in ("AGENTS.md", "CLAUDE.md", ".kedge/runloop.md", ".kedge/constitution.md")
        for line in commands((repo / name).read_text())
    ]
    assert len(said) >= 8
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Their words."}
    kedge("hook", "claude", input=json.dumps({**event, "cwd": str(repo)}))
    for line in said:
        kedge("task", "add", "A task", "--id", "t1", code=None)
        kedge("task", "reopen", "t1", code=None)
        words = ["t1" if word == "ID" else word.split("|")[0] for word in shlex.split(line)]
        kedge(*words[1:])


def test_the_standing_rule_on_limits_is_short_and_can_be_switched_off(
    repo: Path, kedge: Kedge
) -> None:
    rule = instruction_files.write_limit_rule()
    assert tokens.count(rule) <= 60
    kedge("init")
    assert "kedge drift limit add" in (repo / "AGENTS.md").read_text()
    assert " ".join((repo / "AGENTS.md").read_text().split()).count(rule) == 1
    kedge("config", "set", "drift.agent_limits", "false")
    assert "stale: AGENTS.md" in kedge("update", "--check", code=4).err
    kedge("update")
    assert "limit add" not in (repo / "AGENTS.md").read_text()


def test_the_default_texts_stay_within_their_size(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    assert tokens.count((repo / ".kedge" / "constitution.md").read_text()) < 500
    always = sum(
        tokens.count((repo / name).read_text())
        for name in ("AGENTS.md", "CLAUDE.md", ".kedge/constitution.md")
    )
    assert always + 1500 < 2500  # with a map of the usual size


def test_an_import_of_the_user_is_not_repeated(repo: Path, kedge: Kedge) -> None:
    (repo / "CLAUDE.md").write_text("See @AGENTS.md and\n@README.md\n")
    kedge("init")
    text = (repo / "CLAUDE.md").read_text()
    assert text.count("@AGENTS.md") == 1
    assert "@.kedge/map.md\n@.kedge/constitution.md\n" in text


@pytest.mark.parametrize(("link", "file"), [("CLAUDE.md", "AGENTS.md"), ("AGENTS.md", "CLAUDE.md")])
def test_two_names_of_one_file_get_one_section(
    repo: Path, kedge: Kedge, link: str, file: str
) -> None:
    (repo / file).write_text("# Mine\n")
    (repo / link).symlink_to(file)
    before = tree(repo)
    assert "CLAUDE.md and AGENTS.md are one file" in kedge("init").out
    assert (repo / file).read_text().count("BEGIN KEDGE") == 1
    assert (repo / link).is_symlink()
    assert "everything is set up already" in kedge("init").out
    kedge("uninstall", "--yes")
    assert tree(repo) == before


# Edited files


def test_an_edited_section_is_backed_up_and_refreshed(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    path = repo / "AGENTS.md"
    good = path.read_bytes()
    path.write_bytes(good.replace(b"## Working with kedge", b"## My own words"))
    assert_clear(kedge("update", "--check", code=4), code=4, says="stale: AGENTS.md")
    data = kedge.json("update")
    assert path.read_bytes() == good
    (backup,) = data["backups"]
    assert b"## My own words" in Path(backup).read_bytes()
    assert any("the section was edited by hand" in note for note in data["notes"])
    ran = kedge("uninstall", "--yes")
    assert "/backups stays: it holds text that you wrote" in ran.out
    assert Path(backup).exists()


def test_text_around_the_section_stays(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    path = repo / "AGENTS.md"
    path.write_bytes(b"# Above\n\n" + path.read_bytes() + b"\n# Below")
    mine = path.read_bytes()
    kedge("update")
    assert path.read_bytes() == mine
    kedge("uninstall", "--yes")
    assert path.read_bytes() == b"# Above\n\n# Below"


def test_broken_markers_are_refused_and_repaired(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    path = repo / "AGENTS.md"
    torn = (
        b"# Mine\n\n"
        + path.read_bytes().replace(managed_section.END.encode(), b"")
        + b"Mine, too\n"
    )
    path.write_bytes(torn)
    for command in (["init"], ["update"], ["uninstall", "--yes"]):
        ran = kedge(*command, code=1)
        assert_clear(ran, code=1, says="AGENTS.md: its markers do not make one section: line 3")
        assert "--repair" in ran.err
    assert path.read_bytes() == torn
    data = kedge.json("update", "--repair")
    assert Path(data["backups"][0]).read_bytes() == torn
    text = path.read_text()
    assert text.startswith("# Mine\n")
    assert "Mine, too\n" in text
    assert text.count("kedge task ready") == 1
    assert kedge("update").out == "everything is up to date\n"


def test_an_edited_constitution_stays(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    path = repo / ".kedge" / "constitution.md"
    path.write_text("# Ours\n" + path.read_text())
    mine = path.read_bytes()
    assert kedge("init").code == kedge("update").code == 0
    assert path.read_bytes() == mine
    ran = kedge("uninstall", "--yes")
    assert ".kedge/constitution.md was edited, and stays" in ran.out
    assert path.read_bytes() == mine
    assert {n for n in tree(repo) if n.startswith(".kedge/")} == {".kedge/constitution.md"}


def older(name: str, text: str) -> bytes:
    """Return the file as a kedge with that default would have written it."""
    seal = default_files._seal(text.encode())
    return f"{text}\n<!-- kedge's default {seal} -->\n".encode()


def test_a_changed_default_replaces_an_unedited_file(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    path = repo / ".kedge" / "runloop.md"
    new = path.read_bytes()
    path.write_bytes(older("runloop.md", "# An older text\n"))
    assert_clear(kedge("update", "--check", code=4), code=4, says=".kedge/runloop.md")
    assert ".kedge/runloop.md\trefreshed" in kedge("update").out
    assert path.read_bytes() == new


def test_a_changed_default_is_offered_for_an_edited_file(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    path = repo / ".kedge" / "runloop.md"
    new = path.read_bytes()
    mine = older("runloop.md", "# An older text\n").replace(b"older", b"edited")
    path.write_bytes(mine)
    ran = kedge("update")
    assert path.read_bytes() == mine
    assert "the default of .kedge/runloop.md has changed" in ran.out
    assert "-# An edited text" in ran.out
    assert "+# Working alone" in ran.out
    kedge("update", "--defaults", "keep")
    assert path.read_bytes().startswith(b"# An edited text\n")
    assert kedge("update").out == "everything is up to date\n"
    path.write_bytes(mine)
    data = kedge.json("update", "--defaults", "take")
    assert path.read_bytes() == new
    assert Path(data["backups"][0]).read_bytes() == mine


def test_uninstall_keeps_tasks(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    kedge("task", "add", "Mine", "--id", "m1")
    ran = kedge("uninstall", "--yes")
    assert "your tasks and hand-over records stay: .kedge/tasks.jsonl" in ran.out
    assert tree(repo).keys() == {".kedge/tasks.jsonl", ".kedge/.gitattributes"}
    assert kedge.json("task", "show", "m1")["title"] == "Mine"


def test_uninstall_asks_first(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    before = tree(repo)
    assert_clear(kedge("uninstall", code=1), code=1, says="uninstall needs confirmation")
    assert tree(repo) == before


def test_uninstall_removes_nothing_after_a_no(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    before = tree(repo)
    ours, theirs = pty.openpty()
    os.write(ours, b"n\n")
    done = subprocess.run(
        [sys.executable, "-m", "kedge", "uninstall"],
        cwd=repo,
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stdout) == (0, "nothing was removed\n")
    assert "AGENTS.md" in done.stderr
    assert "Remove all this? [y/N]" in done.stderr
    assert tree(repo) == before


def test_update_refuses_a_project_without_kedge(repo: Path, kedge: Kedge) -> None:
    ran = kedge("update", code=1)
    assert_clear(ran, code=1, says="kedge is not set up here")
    assert "hint: kedge init" in ran.err


def test_the_map_is_refreshed_and_checked(repo: Path, kedge: Kedge, tmp_path: Path) -> None:
    (repo / "app.py").write_text("def sail(): ...\n")
    kedge("init")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    (repo / "app.py").write_text("def anchor(): ...\n")
    assert_clear(kedge("update", "--check", code=4), code=4, says="stale: .kedge/map.md")
    kedge("update")
    assert "anchor" in (repo / ".kedge" / "map.md").read_text()
    git(repo, "clone", "-q", str(repo), str(tmp_path / "clone"))
    assert kedge("update", "--check", cwd=tmp_path / "clone").code == 0  # the map is not in git
    kedge("config", "set", "map.commit", "true")
    kedge("update")
    assert "map.md" not in (repo / ".kedge" / ".gitignore").read_text()


# Hooks


def test_shared_hooks_name_no_path_of_this_machine(configured: Kedge) -> None:
    root = configured.directory
    before = tree(root)
    configured("init", "--shared-hooks")
    shared = json.loads((root / ".claude" / "settings.json").read_text())
    assert shared["model"] == "opus"
    entry = shared["hooks"]["SessionStart"][0]
    assert entry["matcher"] == "startup|resume|clear"
    assert entry["hooks"][0]["command"] == "kedge hook claude || :"
    assert configured("update").out == "everything is up to date\n"
    text = (root / ".claude" / "settings.json").read_text()
    (root / ".claude" / "settings.json").write_text(text.replace(" || :", ""))
    assert configured("update", "--check", code=4).err.startswith("error: stale: .claude")
    configured("update")  # a command of another version stays one without a path
    assert (root / ".claude" / "settings.json").read_text() == text
    ran = configured("init")  # back to the hooks of this machine
    assert ".claude/settings.json\thooks removed" in ran.out
    assert "kedge hook" not in (root / ".claude" / "settings.json").read_text()
    configured("init", "--shared-hooks")
    assert "hook.py" not in (root / ".claude" / "settings.local.json").read_text()
    configured("uninstall", "--yes")
    assert tree(root) == before
    configured("init", "--no-hooks")
    assert "hook.py" not in (root / ".claude" / "settings.local.json").read_text()


def test_hooks_are_excluded_from_git_only_if_not_ignored_already(
    configured: Kedge,
) -> None:
    root = configured.directory
    before = exclude(root)
    configured("init")
    assert exclude(root).endswith(b"\n/.claude/settings.local.json\n/.codex/hooks.json\n")
    configured("uninstall", "--yes")
    (root / ".gitignore").write_text(".claude/*.local.json\n.codex/\n")
    configured("init")
    assert exclude(root) == before


def test_hooks_of_another_interpreter_are_refreshed(configured: Kedge) -> None:
    configured("init")
    path = configured.directory / ".claude" / "settings.local.json"
    good = path.read_text()
    path.write_text(good.replace(sys.executable, "/gone/python3"))
    assert_clear(
        configured("update", "--check", code=4),
        code=4,
        says=".claude/settings.local.json",
    )
    configured("update")
    assert path.read_text() == good


def test_invalid_agent_settings_stop_init_before_it_writes(configured: Kedge) -> None:
    root = configured.directory
    (root / ".claude" / "settings.local.json").write_text('{"a": 1,\n}')
    before = tree(root)
    ran = configured("init", code=1)
    assert_clear(ran, code=1, says=".claude/settings.local.json:2: ")
    assert tree(root) == before


# Bad input


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md"])
def test_a_target_that_is_not_a_file_is_refused_and_nothing_is_written(
    repo: Path, kedge: Kedge, name: str
) -> None:
    def assert_refused(says: str) -> None:
        before = tree(repo)
        ran = kedge("init", code=1)
        assert_clear(ran, code=1, says=says)
        assert tree(repo) == before
        assert not (repo / ".kedge").exists()

    path = repo / name
    path.mkdir()
    assert_refused(f"{name}: is a directory")
    path.rmdir()
    path.symlink_to("nowhere.md")
    assert_refused(f"{name} is a broken symbolic link")
    path.unlink()
    path.symlink_to("../outside.md")
    (repo.parent / "outside.md").write_text("not yours")
    assert_refused(f"{name} leads out of")
    path.unlink()
    path.write_bytes("# Mine\n".encode("utf-16"))
    assert_refused(f"{name}: it is not text in UTF-8")
    path.write_bytes(b"mine\n")
    path.chmod(0o444)
    assert_refused(f"{name} is read-only")


def test_links_into_git_and_hard_links_are_refused(repo: Path, kedge: Kedge) -> None:
    config = (repo / ".git" / "config").read_bytes()
    (repo / "CLAUDE.md").symlink_to(".git/config")
    assert_clear(kedge("init", code=1), code=1, says="CLAUDE.md leads into git's own files")
    (repo / "CLAUDE.md").unlink()
    (repo / "progress.txt").symlink_to(".git/config")
    assert "leads into git's own files" in kedge("anchor", "--sources", "progress").out
    (repo / "AGENTS.md").write_text("mine\n")
    (repo / "CLAUDE.md").hardlink_to(repo / "AGENTS.md")
    assert_clear(kedge("init", code=1), code=1, says="one of several hard links to a file")
    assert (repo / ".git" / "config").read_bytes() == config


def test_both_files_can_be_repaired(repo: Path, kedge: Kedge) -> None:
    (repo / "AGENTS.md").write_bytes(b"\xef\xbb\xbf")
    kedge("init", "--minimal")
    for name in ("AGENTS.md", "CLAUDE.md"):
        path = repo / name
        path.write_bytes(path.read_bytes().replace(managed_section.END.encode(), b""))
    kedge("update", "--repair")
    assert kedge("update").out == "everything is up to date\n"
    assert (repo / "AGENTS.md").read_bytes().startswith(b"\xef\xbb\xbf")


def test_a_concurrent_change_is_not_overwritten(repo: Path, kedge: Kedge) -> None:
    kedge("init")
    here = project.find(repo)
    plan = setup_plan.plan_removal(here)
    (repo / "CLAUDE.md").write_text("written just now\n")
    with pytest.raises(FileError, match=r"CLAUDE\.md has changed since the plan was made"):
        setup_plan.apply(here, plan)
    assert (repo / "CLAUDE.md").read_text() == "written just now\n"


def test_latin_1_text_is_kept(repo: Path, kedge: Kedge) -> None:
    (repo / "AGENTS.md").write_bytes(b"Gr\xfc\xdfe\n")
    before = tree(repo)
    kedge("init")
    assert (repo / "AGENTS.md").read_bytes().startswith(b"Gr\xfc\xdfe\n\n<!-- BEGIN")
    kedge("uninstall", "--yes")
    assert tree(repo) == before


def test_outside_of_git(tmp_path: Path, kedge: Kedge) -> None:
    outside = tmp_path / "plain"
    outside.mkdir()
    for command in (["init"], ["update"], ["uninstall"]):
        ran = kedge(*command, cwd=outside, code=1)
        assert_clear(ran, code=1, says="is not in a git repository")
    assert list(outside.iterdir()) == []


@settings(max_examples=30)
@given(st.binary(max_size=40), st.binary(max_size=40))
def test_init_update_update_uninstall_for_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, agents: bytes, claude: bytes
) -> None:
    root = tmp_path_factory.mktemp("any")
    git(root, "init", "-q")
    (root / "AGENTS.md").write_bytes(agents)
    (root / "CLAUDE.md").write_bytes(claude)
    if any(b"\0" in one or one[:2] in (b"\xff\xfe", b"\xfe\xff") for one in (agents, claude)):
        return
    here = project.find(root)
    before = tree(root)

    def act() -> setup_plan.SetupPlan:
        plan = setup_plan.plan_sections(here, ["AGENTS.md", "CLAUDE.md"], full=True, limits=True)
        plan += setup_plan.plan_own_files(here, map_in_git=False)
        setup_plan.apply(here, plan)
        return plan

    assert act().changes
    once = tree(root)
    assert not act().changes
    assert not act().changes
    assert tree(root) == once
    setup_plan.apply(here, setup_plan.plan_removal(here))
    assert tree(root) == before


def test_a_crash_at_any_write_leaves_the_old_or_the_new(configured: Kedge, tmp_path: Path) -> None:
    root = configured.directory
    before = tree(root)
    configured("init", "--no-hooks")
    after = tree(root)
    configured("uninstall", "--yes")
    killed = 0
    for writes in range(0, 60, 3):
        done = run_killed_at(writes, "-C", str(root), "init", "--no-hooks")
        now = {n: d for n, d in tree(root).items() if not n.endswith(".kedge-new")}
        for name, value in now.items():
            assert value in (before.get(name), after.get(name)), name
        assert before.keys() <= now.keys()
        if done.returncode == 0:
            break
        assert done.returncode == 9, done.stderr
        killed += 1
        configured("init", "--no-hooks")
        assert {n: d for n, d in tree(root).items() if not n.endswith(".kedge-new")} == after
        configured("uninstall", "--yes")
    assert killed > 5


def test_a_patch_marks_a_missing_final_newline() -> None:
    assert make_patch("a", b"x", b"x\ny") == (
        "--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-x\n\\ No newline at end of file\n+x\n+y\n"
        "\\ No newline at end of file\n"
    )
    assert make_patch("a", None, b"") == ""
    assert clean(make_patch("a", b"\xff\n", b"\x1b\n")).count("\\x1b") == 1
