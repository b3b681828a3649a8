"""Settings: who wins, where a value comes from, and files of which no other byte changes."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import Kedge, assert_clear, git

from kedge import config
from kedge.errors import ConfigError
from kedge.host import project, toml_edit

KEYS = [
    "anchor.enabled",
    "anchor.form",
    "anchor.frequency",
    "anchor.git_commits",
    "anchor.include_epic",
    "anchor.max_prompt_lines",
    "anchor.mode",
    "anchor.progress_lines",
    "anchor.sources",
    "anchor.tokens",
    "context.check_timeout",
    "context.commands",
    "context.require_citations",
    "drift.policy",
    "knowledge.stale_after",
    "map.commit",
    "map.tokens",
    "prompt.siblings",
    "prompt.tokens",
    "review.cap",
    "run.agent",
    "run.attempts",
    "run.failures",
    "run.idle",
    "run.rounds",
    "tasks.actor",
    "tasks.backend",
    "tasks.bd",
    "tasks.lock_timeout",
    "tasks.prefix",
]


@dataclass(frozen=True)
class Desk:
    """A project and a user, each with room for a settings file."""

    root: Path
    project: Path
    user: Path
    kedge: Kedge

    def shown(self, key: str, **env: str) -> tuple[Any, str, str | None]:
        data = self.kedge.json("config", "show", key, env=env)
        assert data["key"] == key
        return data["value"], data["origin"]["kind"], data["origin"]["where"]


@pytest.fixture
def desk(repo: Path, kedge: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    desk = Desk(
        repo, repo / ".kedge" / "config.toml", tmp_path / "settings/kedge/config.toml", kedge
    )
    desk.project.parent.mkdir()
    desk.user.parent.mkdir(parents=True)
    return desk


# Who wins


def test_a_flag_wins_over_the_environment_and_so_on_down(desk: Desk) -> None:
    def shown(**env: str) -> tuple[Any, str, str | None]:
        return desk.shown("tasks.backend", **env)

    assert shown() == ("auto", "default", None)
    desk.user.write_text('# mine\n[tasks]\nbackend = "feature_docs"\n')
    assert shown() == ("feature_docs", "user", f"{desk.user}:3")
    desk.project.write_text('[tasks]\nbackend = "task_yaml"\n')
    assert shown() == ("task_yaml", "project", f"{desk.project}:2")
    env = {"KEDGE_TASKS_BACKEND": "jsonl"}
    assert shown(**env) == ("jsonl", "environment", "KEDGE_TASKS_BACKEND")

    def used(*flags: str, **env: str) -> str:
        return desk.kedge("-v", "task", *flags, "list", env=env).err

    assert "kept by the task_yaml backend" in used()
    assert "kept by the jsonl backend" in used(**env)
    assert "kept by the feature_docs backend" in used("--backend", "feature_docs", **env)


def test_a_flag_is_an_origin(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGE_TASKS_PREFIX", "env")
    here = project.find(desk.root)
    loaded = config.load(here, {"tasks.prefix": "flag", "tasks.actor": None})
    assert loaded.settings.tasks.prefix == "flag"
    assert loaded.origins["tasks.prefix"] == config.Origin("flag")
    assert loaded.origins["tasks.actor"] == config.Origin("default")
    with pytest.raises(ConfigError, match=r"^the command line: tasks\.prefix must be 1 to 24"):
        config.load(here, {"tasks.prefix": "not fit"})


def test_each_layer_sets_what_the_ones_above_leave(desk: Desk) -> None:
    desk.user.write_text('[tasks]\nprefix = "u"\nactor = "u"\nlock_timeout = 3\nbd = "u"\n')
    desk.project.write_text('[tasks]\nprefix = "p"\nactor = "p"\n')
    rows = desk.kedge.json("config", "show", env={"KEDGE_TASKS_PREFIX": "e"})
    found = {
        row["key"]: (row["value"], row["origin"]["kind"])
        for row in rows
        if row["key"].startswith(("tasks.", "map."))
    }
    assert found == {
        "tasks.backend": ("auto", "default"),
        "map.commit": (False, "default"),
        "map.tokens": (1500, "default"),
        "tasks.prefix": ("e", "environment"),
        "tasks.actor": ("p", "project"),
        "tasks.lock_timeout": (3.0, "user"),
        "tasks.bd": ("u", "user"),
    }
    assert all(row["help"] for row in rows)


def test_show_as_text(desk: Desk) -> None:
    desk.project.write_text('[tasks]\nprefix = "p"\n')
    lines = [line.split("\t") for line in desk.kedge("config", "show").out.splitlines()]
    assert sorted(line[0] for line in lines) == KEYS
    assert ["tasks.prefix", "p", f"project ({desk.project}:2)"] in lines
    assert ["tasks.backend", "auto", "default"] in lines
    ran = desk.kedge("config", "show", env={"KEDGE_TASKS_PREFIX": "e"})
    assert "tasks.prefix\te\tenvironment (KEDGE_TASKS_PREFIX)\n" in ran.out
    assert desk.kedge("config", "show", "tasks.prefix").out == "p\n"
    assert desk.kedge("config", "show", "tasks.lock_timeout").out == "10.0\n"


def test_a_value_cannot_drive_the_terminal(desk: Desk) -> None:
    desk.project.write_text('[tasks]\nactor = "a\\u001b[31m\\u0007"\n')
    for args in (["show"], ["show", "tasks.actor"]):
        ran = desk.kedge("config", *args)
        assert "\x1b" not in ran.out + ran.err
        assert "a\\x1b[31m\\x07" in ran.out


def test_values_from_the_environment_are_typed(desk: Desk) -> None:
    assert desk.shown("tasks.lock_timeout", KEDGE_TASKS_LOCK_TIMEOUT="2.5")[0] == 2.5
    assert desk.shown("tasks.lock_timeout", KEDGE_TASKS_LOCK_TIMEOUT="2")[0] == 2.0
    assert desk.shown("tasks.actor", KEDGE_TASKS_ACTOR="2")[0] == "2"


def test_a_list_is_a_list_in_the_file_and_commas_elsewhere(desk: Desk) -> None:
    desk.project.write_text('[anchor]\nsources = ["task", "git", "task"]\n')
    assert desk.shown("anchor.sources")[0] == ["task", "git"]
    assert desk.kedge("config", "show", "anchor.sources").out == "task,git\n"
    assert desk.shown("anchor.sources", KEDGE_ANCHOR_SOURCES="map, git")[0] == ["map", "git"]
    desk.kedge("config", "set", "anchor.sources", "epic,task")
    assert desk.project.read_text() == '[anchor]\nsources = ["epic", "task"]\n'
    ran = desk.kedge("config", "set", "anchor.sources", "task,tusk", code=1)
    assert_clear(ran, code=1, says="anchor.sources cannot have 'tusk'")
    desk.project.write_text("[anchor]\nsources = [1]\n")
    ran = desk.kedge("config", "show", code=1)
    assert_clear(ran, code=1, says="anchor.sources must be a list of texts")


def test_a_variable_that_sets_nothing_is_warned_about(desk: Desk) -> None:
    env = {"KEDGE_TASKS_TYPO": "1", "KEDGE_HOME": str(desk.root / "x"), "KEDGE_TASKS_ACTOR": "a"}
    warning = "$KEDGE_TASKS_TYPO sets nothing that kedge knows"
    document = desk.kedge("config", "show", "--json", env=env).document
    assert document["warnings"] == [warning]
    assert desk.kedge("config", "show", env=env).err == f"warning: {warning}\n"
    assert desk.kedge("-q", "config", "show", env=env).err == ""


# Set, unset, path


def test_set_and_unset(desk: Desk) -> None:
    assert desk.kedge("config", "set", "tasks.prefix", "ship").out == ""
    assert desk.project.read_text() == '[tasks]\nprefix = "ship"\n'
    assert desk.shown("tasks.prefix") == ("ship", "project", f"{desk.project}:2")
    data = desk.kedge.json("config", "set", "tasks.lock_timeout", "3")
    assert data == {"key": "tasks.lock_timeout", "value": 3.0, "file": str(desk.project)}
    assert desk.project.read_text() == '[tasks]\nprefix = "ship"\nlock_timeout = 3.0\n'
    desk.kedge("config", "set", "tasks.prefix", "--unset")
    assert desk.project.read_text() == "[tasks]\nlock_timeout = 3.0\n"
    assert desk.shown("tasks.prefix") == ("k", "default", None)
    assert not desk.user.exists()
    assert desk.kedge("task", "add", "x").out.startswith("k-")
    desk.kedge("config", "set", "tasks.prefix", "ship")
    assert desk.kedge("task", "add", "x").out.startswith("ship-")


def test_set_for_the_user(desk: Desk) -> None:
    desk.kedge("config", "set", "--user", "tasks.bd", "/opt/bd")
    assert desk.user.read_text() == '[tasks]\nbd = "/opt/bd"\n'
    assert desk.shown("tasks.bd") == ("/opt/bd", "user", f"{desk.user}:2")
    assert not desk.project.exists()
    desk.kedge("config", "set", "--user", "tasks.bd", "--unset")
    assert desk.shown("tasks.bd") == ("bd", "default", None)


def test_unset_of_what_is_not_set_changes_nothing(desk: Desk) -> None:
    desk.kedge("config", "set", "tasks.prefix", "--unset")
    assert not desk.project.exists()
    desk.project.write_text("# mine\n")
    desk.kedge("config", "set", "tasks.prefix", "--unset")
    assert desk.project.read_text() == "# mine\n"


@pytest.mark.parametrize(
    "value", ['quo"te', "back\\slash", "größe 漢", "a\tb", "\x7f", "#", "a\nb"]
)
def test_any_text_comes_back(desk: Desk, value: str) -> None:
    desk.kedge("config", "set", "tasks.actor", value)
    assert desk.shown("tasks.actor")[0] == value


def test_set_wants_one_thing(desk: Desk) -> None:
    for args in (["tasks.prefix"], ["tasks.prefix", "x", "--unset"]):
        assert_clear(desk.kedge("config", "set", *args, code=2), code=2, says="VALUE or --unset")
    assert not desk.project.exists()


def test_path(desk: Desk, tmp_path: Path) -> None:
    assert desk.kedge("config", "path").out == f"{desk.project}\n{desk.user}\n"
    assert desk.kedge("config", "path", "--user").out == f"{desk.user}\n"
    assert desk.kedge("config", "path", "--project").out == f"{desk.project}\n"
    both = {"project": str(desk.project), "user": str(desk.user)}
    assert desk.kedge.json("config", "path") == both
    at_home = {"XDG_CONFIG_HOME": "", "HOME": str(tmp_path)}
    path = f"{tmp_path}/.config/kedge/config.toml\n"
    assert desk.kedge("config", "path", "--user", env=at_home).out == path
    # A path that is not absolute does not count, or a project could be the user.
    at_home["XDG_CONFIG_HOME"] = ".kedge"
    assert desk.kedge("config", "path", "--user", env=at_home).out == path


def test_a_user_without_a_home_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(ConfigError, match="no home directory") as caught:
        config.user_file()
    assert caught.value.hint


def test_outside_of_a_repository(desk: Desk, tmp_path: Path) -> None:
    kedge = Kedge(tmp_path)
    kedge("config", "set", "--user", "tasks.prefix", "mine")
    assert kedge.json("config", "show", "tasks.prefix")["value"] == "mine"
    assert len(kedge("config", "show").out.splitlines()) == len(KEYS)
    assert kedge("config", "path").out == f"{desk.user}\n"
    assert kedge("config", "path", "--user").out == f"{desk.user}\n"
    for args in (["path", "--project"], ["set", "tasks.prefix", "x"]):
        assert_clear(kedge("config", *args, code=1), code=1, says="not in a git repository")
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    assert Kedge(bare).json("config", "show", "tasks.prefix")["value"] == "mine"


def test_what_is_the_users_needs_no_git(desk: Desk, tmp_path: Path) -> None:
    kedge = Kedge(tmp_path)
    kedge("config", "set", "--user", "tasks.prefix", "mine", env={"PATH": ""})
    assert kedge("config", "path", "--user", env={"PATH": ""}).out == f"{desk.user}\n"


def test_a_directory_with_settings_is_a_project_without_git(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "plain" / ".kedge").mkdir(parents=True)
    (tmp_path / "plain" / "deep").mkdir()
    kedge = Kedge(tmp_path / "plain" / "deep")
    kedge("config", "set", "tasks.prefix", "p")
    file = tmp_path / "plain" / ".kedge" / "config.toml"
    assert file.read_text() == '[tasks]\nprefix = "p"\n'
    assert kedge.json("config", "show", "tasks.prefix")["value"] == "p"


# What cannot be used


def test_an_unknown_setting_suggests_the_nearest(desk: Desk) -> None:
    for args in (["show", "tasks.prefx"], ["set", "tasks.prefx", "x"]):
        ran = desk.kedge("config", *args, code=1)
        assert_clear(ran, code=1, says="unknown setting 'tasks.prefx'")
        assert "did you mean 'tasks.prefix'?" in ran.err
    ran = desk.kedge("config", "show", "frobnicate", code=1)
    assert_clear(ran, code=1, says="unknown setting 'frobnicate'")
    assert "kedge config show" in ran.err


@pytest.mark.parametrize(
    ("text", "line", "name", "near"),
    [
        ('[tasks]\nprefix = "p"\nbakend = "jsonl"\n', 3, "tasks.bakend", "tasks.backend"),
        ('\n[task]\nbackend = "jsonl"\n', 3, "task.backend", "tasks.backend"),
        ('tasks.actr = "x"\n', 1, "tasks.actr", "tasks.actor"),
        ('[tasks]\nactor = """\nbakend = 1\n"""\nbakend = 2\n', 5, "tasks.bakend", "tasks.backend"),
        ('# x\ntasks = { prefix = "p", bakend = 2 }\n', 2, "tasks.bakend", "tasks.backend"),
        ('\n"tasks.backend" = "jsonl"\n', 2, '"tasks.backend"', "tasks.backend"),
        ("[tasks]\n['tasks.bd']\nx = 1\n", 3, '"tasks.bd".x', "tasks.bd"),
        ("\n[[tasks]]\nbackend = 1\n", 2, "tasks", None),
        ("backend = 1\n", 1, "backend", None),
        ("[tasks.backend_.x]\n", 1, "tasks.backend_", "tasks.backend"),
    ],
)
@pytest.mark.parametrize("layer", ["project", "user"])
def test_an_unknown_setting_in_a_file_is_said_with_its_line(
    desk: Desk, layer: str, text: str, line: int, name: str, near: str | None
) -> None:
    path: Path = getattr(desk, layer)
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(project.find(desk.root))
    assert caught.value.message == f"{path}:{line}: unknown setting {name!r}"
    assert caught.value.hint
    if near:
        assert caught.value.hint == f"did you mean {near!r}?"
    if layer == "user" and near:
        ran = desk.kedge("task", "list", code=1)
        assert_clear(ran, code=1, says=caught.value.message)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("backend", '"nope"', "cannot be 'nope'"),
        ("backend", "1", "must be a text, not 1"),
        ("backend", "true", "must be a text, not True"),
        ("backend", '["jsonl"]', "must be a text, not ['jsonl']"),
        ("backend", "{ x = 1 }", "must be a text, not {'x': 1}"),
        ("prefix", '""', "must be 1 to 24"),
        ("prefix", '"../x"', "must be 1 to 24"),
        ("prefix", '"x\\n"', "must be 1 to 24"),
        ("lock_timeout", '"1"', "must be a number, not '1'"),
        ("lock_timeout", "true", "must be a number, not True"),
        ("lock_timeout", "0", "must be above 0"),
        ("lock_timeout", "-1.5", "must be above 0"),
        ("lock_timeout", "inf", "must be above 0, and finite"),
        ("lock_timeout", "nan", "must be above 0"),
        ("lock_timeout", "1" + "0" * 400, "must be a number, not 1000"),
        ("actor", '"a\\u0000b"', "must be UTF-8 without NUL"),
    ],
)
def test_a_wrong_value_in_a_file_is_said_with_its_line(
    desk: Desk, key: str, value: str, says: str
) -> None:
    for path in (desk.user, desk.project):
        path.write_text(f"# {key} = 1\n\n[tasks]\n{key} = {value}\n")
        with pytest.raises(ConfigError) as caught:
            config.load(project.find(desk.root))
        assert caught.value.message.startswith(f"{path}:4: tasks.{key} {says}")
        assert len(caught.value.message) < len(str(path)) + 200
        assert caught.value.hint
        path.unlink()


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("tasks.backend", "nope", "cannot be 'nope'"),
        ("tasks.prefix", "a b", "must be 1 to 24"),
        ("tasks.lock_timeout", "soon", "must be a number, not 'soon'"),
        ("tasks.lock_timeout", "1e999", "must be above 0, and finite"),
        ("tasks.lock_timeout", "-1", "must be above 0"),
    ],
)
def test_a_wrong_value_is_refused_wherever_it_comes_from(
    desk: Desk, key: str, value: str, says: str
) -> None:
    variable = "KEDGE_" + key.upper().replace(".", "_")
    ran = desk.kedge("config", "show", code=1, env={variable: value})
    assert_clear(ran, code=1, says=f"${variable}: {key} {says}")
    before = '[tasks]\nactor = "me"\n'
    desk.project.write_text(before)
    ran = desk.kedge("config", "set", key, "--", value, code=1)
    assert_clear(ran, code=1, says=f"the command line: {key} {says}")
    assert desk.project.read_text() == before


def test_bytes_that_are_no_utf8_are_refused_as_a_value(desk: Desk) -> None:
    for args, place in (
        ([b"config", b"set", b"tasks.actor", b"\xff"], "the command line"),
        ([b"config", b"show"], "$KEDGE_TASKS_ACTOR"),
    ):
        env = {os.fsencode(key): os.fsencode(value) for key, value in os.environ.items()}
        if place.startswith("$"):
            env[b"KEDGE_TASKS_ACTOR"] = b"\xff"
        argv = [os.fsencode(sys.executable), b"-m", b"kedge", *args]
        done = subprocess.run(argv, cwd=desk.root, env=env, capture_output=True, timeout=60)
        assert done.returncode == 1, done
        said = done.stderr.decode().splitlines()[0]
        assert said == f"error: {place}: tasks.actor must be UTF-8 without NUL"
    assert not desk.project.exists()


def test_what_only_the_user_may_set_is_refused_in_a_project(desk: Desk) -> None:
    before = '[tasks]\nprefix = "p"\n\nbd = "./evil"\n'
    desk.project.write_text(before)
    for args in (["config", "show"], ["task", "list"]):
        ran = desk.kedge(*args, code=1)
        assert_clear(ran, code=1, says=f"{desk.project}:4: tasks.bd may be set in the user's")
    ran = desk.kedge("config", "set", "tasks.bd", "x", code=1)
    assert_clear(ran, code=1, says="tasks.bd may be set in the user's file only")
    assert desk.project.read_text() == before
    desk.kedge("config", "set", "tasks.bd", "--unset")
    assert desk.project.read_text() == '[tasks]\nprefix = "p"\n\n'
    assert desk.shown("tasks.bd")[0] == "bd"


_BROKEN = {
    "no value": (b"[tasks]\nprefix =\n", ":2: invalid value"),
    "open text": (b'[tasks]\n\nprefix = "p\n', ":3: "),
    "open array": (b"[tasks]\nprefix = [\n", ":3: "),
    "twice": (b'[tasks]\nprefix = "a"\nprefix = "b"\n', ":3: cannot overwrite a value"),
    "table twice": (b"[tasks]\n[tasks]\n", ":2: "),
    "conflict": (b"[tasks]\n<<<<<<< ours\nprefix = 1\n", ":2: "),
    "not TOML": (b'{"tasks": {}}', ":1: "),
    "CRLF": (b"[tasks]\r\n\r\nprefix =\r\n", ":3: invalid value"),
    "lone CR": (b"[tasks]\rprefix = 1\r", ":1: "),
    "BOM": (b"\xef\xbb\xbf[tasks]\nprefix =\n", ":2: invalid value"),
    "BOM inside": (b"[tasks]\n\xef\xbb\xbfprefix = 1\n", ":2: "),
    "NUL": (b"[tasks]\nprefix = 'a\0'\n", ":2: "),
    "not UTF-8": (b"[tasks]\n# caf\xe9\n", ":2: not UTF-8"),
    "UTF-16": ("[tasks]\n".encode("utf-16"), ":1: not UTF-8"),
    "too deep": (b"[tasks]\nprefix = " + b"[" * 9000 + b"]" * 9000, ": nested too deeply"),
    "too long": (b"[tasks]\nprefix = " + b"1" * 5000, ": a number that is too long"),
}


@pytest.mark.parametrize("name", _BROKEN)
def test_a_broken_file_is_said_with_its_line_and_left_alone(desk: Desk, name: str) -> None:
    data, says = _BROKEN[name]
    desk.project.write_bytes(data)
    for args in (["show"], ["set", "tasks.actor", "me"]):
        ran = desk.kedge("config", *args, code=1)
        assert_clear(ran, code=1, says=f"{desk.project}{says}")
    assert desk.project.read_bytes() == data
    left = sorted(path.name for path in desk.project.parent.iterdir())
    assert left == ["config.toml", "locks"]


def test_a_broken_file_of_the_user_is_said_too(desk: Desk) -> None:
    desk.user.write_bytes(b"[tasks\n")
    for args in (
        ["config", "show"],
        ["config", "set", "--user", "tasks.actor", "x"],
        ["task", "list"],
    ):
        assert_clear(desk.kedge(*args, code=1), code=1, says=f"{desk.user}:1: ")
    assert desk.user.read_bytes() == b"[tasks\n"
    desk.kedge("config", "set", "tasks.actor", "x")  # of the project: another file


@pytest.mark.parametrize("what", ["directory", "loop", "file above", "no permission"])
def test_a_file_that_cannot_be_read(desk: Desk, what: str) -> None:
    if what == "directory":
        desk.project.mkdir()
    elif what == "loop":
        desk.project.symlink_to(desk.project.name)
    elif what == "file above":
        desk.project.parent.rmdir()
        desk.project.parent.write_text("")
    elif os.geteuid() == 0:
        pytest.skip("permissions do not bind root")
    else:
        desk.project.write_text("")
        desk.project.chmod(0)
    assert_clear(desk.kedge("config", "show", code=1), code=1, says=f"cannot read {desk.project}")
    ran = desk.kedge("config", "set", "tasks.actor", "x", code=1)
    assert_clear(ran, code=1, says="cannot ")
    if what == "directory":
        assert list(desk.project.iterdir()) == []


def test_no_link_leads_out_of_the_project(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for target in (outside / "there", outside / "none"):
        (outside / "there").write_text("precious")
        desk.project.symlink_to(target)
        for args in (["show"], ["set", "tasks.actor", "x"], ["path", "--project"]):
            ran = desk.kedge("config", *args, code=1)
            assert_clear(ran, code=1, says=".kedge/config.toml leads out of")
        desk.project.unlink()
    (desk.root / ".kedge" / "locks").symlink_to(outside)
    (outside / "config.lock").write_text("precious")
    ran = desk.kedge("config", "set", "tasks.actor", "x", code=1)
    assert_clear(ran, code=1, says=".kedge/locks/config.lock leads out of")
    assert sorted(path.read_text() for path in outside.iterdir()) == ["precious"] * 2


def test_a_link_within_the_project_and_one_of_the_user_stay(desk: Desk, tmp_path: Path) -> None:
    for path, real, flags in (
        (desk.project, desk.root / "settings.toml", []),
        (desk.user, tmp_path / "dotfiles" / "kedge.toml", ["--user"]),
    ):
        real.parent.mkdir(exist_ok=True)
        real.write_text("# mine\n")
        path.symlink_to(real)
        desk.kedge("config", "set", *flags, "tasks.actor", "x")
        assert path.is_symlink()
        assert real.read_text() == '# mine\n\n[tasks]\nactor = "x"\n'


# What `set` leaves as it is


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '# top\n[tasks] # here\n  actor = "a" # who\n\n# end\n',
            '# top\n[tasks] # here\n  actor = "new" # who\n\n# end\n',
        ),
        ("[tasks]\n\nother = 1", '[tasks]\n\nother = 1\nactor = "new"\n'),
        ("[tasks]", '[tasks]\nactor = "new"\n'),
        ('tasks.prefix="p" # c\nx = 1\n', 'tasks.prefix="p" # c\ntasks.actor = "new"\nx = 1\n'),
        ("x = 1\n[y]\nz = 2\n", 'x = 1\n[y]\nz = 2\n\n[tasks]\nactor = "new"\n'),
        ("[tasks.sub]\nx = 1\n", '[tasks.sub]\nx = 1\n\n[tasks]\nactor = "new"\n'),
        ('["tasks"]\n\'actor\'\t= """\na\n""" # c\n', '["tasks"]\n\'actor\'\t= "new" # c\n'),
        ("\ufeff[tasks]\r\nx = 1\r\n", '\ufeff[tasks]\r\nx = 1\r\nactor = "new"\r\n'),
        (
            '[tasks]\nx = """\nactor = "no"\n[tasks]\n"""\n',
            '[tasks]\nx = """\nactor = "no"\n[tasks]\n"""\nactor = "new"\n',
        ),
        (
            'x = 1 # a\u2028actor = "no"\n[tasks]\nactor = 1 # \x85\n',
            'x = 1 # a\u2028actor = "no"\n[tasks]\nactor = "new" # \x85\n',
        ),
        ('[other]\nactor = "a"\n[tasks]\n', '[other]\nactor = "a"\n[tasks]\nactor = "new"\n'),
        ("[tasks]\nx = nan\n", '[tasks]\nx = nan\nactor = "new"\n'),
    ],
)
def test_comments_and_formatting_survive_set(desk: Desk, before: str, after: str) -> None:
    desk.project.write_bytes(before.encode())
    desk.kedge("config", "set", "tasks.actor", "new")
    assert desk.project.read_bytes().decode() == after
    assert toml_edit.with_value(after, "tasks", "actor", "new") == after


@pytest.mark.parametrize(
    "text", ['tasks = { actor = "a" }\n', "tasks = 1\n", "[[tasks]]\n", "[tasks.actor]\nx = 1\n"]
)
def test_what_set_cannot_do_it_says_and_leaves(desk: Desk, text: str) -> None:
    desk.project.write_text(text)
    ran = desk.kedge("config", "set", "tasks.actor", "new", code=1)
    assert_clear(ran, code=1, says=f"{desk.project}: tasks.actor cannot be changed without")
    assert "[tasks] actor" in ran.err
    if "actor" in text:
        ran = desk.kedge("config", "set", "tasks.actor", "--unset", code=1)
        assert_clear(ran, code=1, says=f"{desk.project}: tasks.actor cannot be changed without")
    assert desk.project.read_text() == text


def test_settings_set_at_once_are_all_kept(desk: Desk) -> None:
    desk.project.write_text("# the project's\n")
    desk.user.write_text("# the user's\n")
    wanted = {"backend": "jsonl", "prefix": "p", "actor": "a", "lock_timeout": "7"}
    calls = [["set", f"tasks.{key}", value] for key, value in wanted.items()]
    calls += [["set", "--user", *call[1:]] for call in calls]
    children = [
        subprocess.Popen([sys.executable, "-m", "kedge", "config", *call], cwd=desk.root)
        for call in calls
    ]
    assert [child.wait(60) for child in children] == [0] * 8
    expected: dict[str, Any] = {**wanted, "lock_timeout": 7.0}
    for path, first in ((desk.project, "# the project's"), (desk.user, "# the user's")):
        assert tomllib.loads(path.read_text()) == {"tasks": expected}
        assert path.read_text().splitlines()[0] == first
        assert sorted(p.name for p in path.parent.iterdir()) == ["config.toml", "locks"]


# Any TOML


@dataclass
class _Written:
    """A TOML text in the making, and where in it each key is, between which head and comment."""

    text: str = ""
    keys: dict[tuple[str, ...], _Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class _Entry:
    start: int
    end: int
    head: str
    comment: str


_VALUES = [
    '"text"',
    '""',
    "'lit # \" = ['",
    r'"\" # \\"',
    '"""one line"""',
    '"""\nbackend = 1\n[tasks]\n"""',
    r'''"""esc \""" and \\"""''',
    '"""ends in quotes"""""',
    "'''\n[tasks]\nactor = '' # '''",
    "'''quote''''",
    "12",
    "-0.0",
    "nan",
    "+inf",
    "0xff",
    "true",
    "1979-05-27T07:32:00Z",
    "[]",
    "[ 1, 2 ]",
    '[ # [\n  "]", # "\n\n  \'#\',\n]',
    '[["a"], [ "[" ]]',
    "{}",
    '{ a = 1, "b.c" = { d = "}" } }',
    '{ tasks = { actor = "no" } }',
]
_COMMENTS = ["", "# c", " # \"quoted'", " # [tasks]", " # actor = 1", "\t#[{", " # \u2028x\x85"]
_FILLERS = ["\n", "  \n", "# comment\n", "#[tasks]\n", '# actor = "x"\n', "\t# \"\"\" '''\n"]


def _written_as(draw: st.DrawFn, name: str) -> str:
    forms = [f'"{name}"', f"'{name}'", '"' + "".join(f"\\u{ord(c):04x}" for c in name) + '"']
    if name.isascii() and name.isidentifier():
        forms.append(name)
    return draw(st.sampled_from(forms))


def _fill(draw: st.DrawFn, out: _Written) -> None:
    out.text += "".join(draw(st.lists(st.sampled_from(_FILLERS), max_size=2)))


def _entries(
    draw: st.DrawFn, out: _Written, table: tuple[str, ...], paths: list[tuple[str, ...]]
) -> None:
    for path in paths:
        _fill(draw, out)
        dot = draw(st.sampled_from([".", " . ", "\t."]))
        indent = draw(st.sampled_from(["", "  ", "\t"]))
        equals = draw(st.sampled_from([" = ", "=", "  =\t"]))
        head = indent + dot.join(_written_as(draw, name) for name in path) + equals
        comment = draw(st.sampled_from(_COMMENTS)) + "\n"
        start = len(out.text)
        out.text += head + draw(st.sampled_from(_VALUES)) + comment
        out.keys[(*table, *path)] = _Entry(start, len(out.text), head, comment)


@st.composite
def _toml(draw: st.DrawFn) -> tuple[_Written, bool]:
    """A text, and whether there may be no place in it for a setting of `tasks`."""
    names = st.lists(st.sampled_from(["actor", "prefix", "x", "a b", "é"]), unique=True, max_size=4)
    style = draw(st.sampled_from(["header", "dotted", "inline", "sub", "array", "none"]))
    out = _Written()
    roots: list[tuple[str, ...]] = [(name,) for name in draw(names)]
    if style == "dotted":
        roots += [("tasks", name) for name in draw(names)]
    if style == "inline":
        roots.append(("tasks",))
    _entries(draw, out, (), draw(st.permutations(roots)))
    tables: list[tuple[str, ...]] = [("other",), ("other", "tasks"), ("odd.one", "two")]
    if style in ("header", "array"):
        tables.append(("tasks",))
    if style in ("header", "sub"):
        tables.append(("tasks", "sub"))
    for table in draw(st.permutations(tables)):
        is_array = style == "array" and table == ("tasks",)
        _fill(draw, out)
        gap = draw(st.sampled_from(["", " "]))
        inner = gap + ".".join(_written_as(draw, name) for name in table) + gap
        header = f"[[{inner}]]" if is_array else f"[{inner}]"
        out.text += header + draw(st.sampled_from(_COMMENTS)) + "\n"
        known = dict(out.keys)
        _entries(draw, out, table, [(name,) for name in draw(names)])
        if is_array:  # its keys are not those of a table
            out.keys = known
    _fill(draw, out)
    return out, style in ("inline", "array")


def _plain(value: Any) -> Any:
    """Values to compare: 1 is not true, nan is nan."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return (type(value).__name__, repr(value))


_NEW = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.floats(allow_nan=False),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
)


def _only_adds(before: str, after: str) -> bool:
    lines, now = before.split("\n"), after.split("\n")
    more = len(now) - len(lines)
    return 1 <= more <= 3 and any(
        now[:at] + now[at + more :] == lines for at in range(len(lines) + 1)
    )


@given(
    made=_toml(),
    name=st.sampled_from(["actor", "prefix"]),
    value=_NEW,
    newline=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
    bom=st.sampled_from(["", "\ufeff"]),
)
def test_any_value_is_set_and_no_other_byte_changes(
    made: tuple[_Written, bool], name: str, value: Any, newline: str, closed: bool, bom: str
) -> None:
    written, may_refuse = made

    def real(text: str, *, end: bool = False) -> str:
        """The text with the line ends of this file; the last one may be missing."""
        return (text if closed or not end else text.removesuffix("\n")).replace("\n", newline)

    before = bom + real(written.text, end=True)
    data = tomllib.loads(before.removeprefix(bom))
    for path, entry in written.keys.items():
        assert toml_edit.line_of(before.removeprefix(bom), path) == (
            written.text.count("\n", 0, entry.start) + 1
        )
    try:
        after = toml_edit.with_value(before, "tasks", name, value)
        without = toml_edit.with_value(before, "tasks", name, None)
    except toml_edit.CannotEdit:
        assert may_refuse
        return

    wanted = copy.deepcopy(data)
    wanted.setdefault("tasks", {})[name] = value
    assert _plain(tomllib.loads(after.removeprefix(bom))) == _plain(wanted)
    del wanted["tasks"][name]
    assert _plain({"tasks": {}, **tomllib.loads(without.removeprefix(bom))}) == _plain(wanted)

    mine = written.keys.get(("tasks", name))
    if mine is None:
        assert without == before
        assert _only_adds(before, after) or _only_adds(before + newline, after)
    else:
        first, rest = written.text[: mine.start], written.text[mine.end :]
        assert without == bom + real(first) + real(rest, end=True)
        head, tail = bom + real(first + mine.head), real(mine.comment + rest, end=True)
        assert after.startswith(head)
        assert after.endswith(tail)
        middle = after[len(head) : len(after) - len(tail)]
        assert _plain(tomllib.loads(f"v = {middle}")) == _plain({"v": value})


@given(st.one_of(st.text(), st.text(st.sampled_from("[]{}=.,'\"#\\\n \tax1\r\0")), st.binary()))
def test_any_file_is_parsed_or_refused_with_a_line(tmp_path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    try:
        text = config.read_text(path)
        parsed = config.parse(path, text)
    except ConfigError as error:
        line = int(error.message.removeprefix(f"{path}:").partition(":")[0])
        assert 1 <= line <= data.count(b"\n") + 1
        assert error.hint
        assert path.read_bytes() == data
    else:
        for key in parsed:
            assert toml_edit.line_of(text.removeprefix("\ufeff"), (key,))
