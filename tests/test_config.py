"""Settings: precedence, origins, and edits that change no other byte of a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import Kedge, assert_clear, git, wait_for_aside

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
    "drift.agent_limits",
    "drift.judge",
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
    "serve.anthropic",
    "serve.gemini",
    "serve.openai",
    "tasks.actor",
    "tasks.backend",
    "tasks.bd",
    "tasks.lock_timeout",
    "tasks.prefix",
]


@dataclass(frozen=True)
class SettingsFiles:
    """The settings files of a project and of a user."""

    root: Path
    project: Path
    user: Path
    kedge: Kedge

    def show(self, key: str, **env: str) -> tuple[Any, str, str | None]:
        data = self.kedge.json("config", "show", key, env=env)
        assert data["key"] == key
        return data["value"], data["origin"]["kind"], data["origin"]["where"]


@pytest.fixture
def files(
    repo: Path, kedge: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SettingsFiles:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    files = SettingsFiles(
        repo, repo / ".kedge" / "config.toml", tmp_path / "settings/kedge/config.toml", kedge
    )
    files.project.parent.mkdir()
    files.user.parent.mkdir(parents=True)
    return files


# Precedence


def test_flag_environment_project_user_default_win_in_this_order(files: SettingsFiles) -> None:
    def show(**env: str) -> tuple[Any, str, str | None]:
        return files.show("tasks.backend", **env)

    assert show() == ("auto", "default", None)
    files.user.write_text('# mine\n[tasks]\nbackend = "feature_docs"\n')
    assert show() == ("feature_docs", "user", f"{files.user}:3")
    files.project.write_text('[tasks]\nbackend = "task_yaml"\n')
    assert show() == ("task_yaml", "project", f"{files.project}:2")
    env = {"KEDGE_TASKS_BACKEND": "jsonl"}
    assert show(**env) == ("jsonl", "environment", "KEDGE_TASKS_BACKEND")

    def used(*flags: str, **env: str) -> str:
        return files.kedge("-v", "task", *flags, "list", env=env).err

    assert "kept by the task_yaml backend" in used()
    assert "kept by the jsonl backend" in used(**env)
    assert "kept by the feature_docs backend" in used("--backend", "feature_docs", **env)


def test_a_flag_is_recorded_as_the_origin(
    files: SettingsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_TASKS_PREFIX", "env")
    here = project.find(files.root)
    loaded = config.load(here, {"tasks.prefix": "flag", "tasks.actor": None})
    assert loaded.settings.tasks.prefix == "flag"
    assert loaded.origins["tasks.prefix"] == config.Origin("flag")
    assert loaded.origins["tasks.actor"] == config.Origin("default")
    with pytest.raises(ConfigError, match=r"^the command line: tasks\.prefix must be 1 to 24"):
        config.load(here, {"tasks.prefix": "not fit"})


def test_layers_are_merged_setting_by_setting(files: SettingsFiles) -> None:
    files.user.write_text('[tasks]\nprefix = "u"\nactor = "u"\nlock_timeout = 3\nbd = "u"\n')
    files.project.write_text('[tasks]\nprefix = "p"\nactor = "p"\n')
    rows = files.kedge.json("config", "show", env={"KEDGE_TASKS_PREFIX": "e"})
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


def test_show_prints_a_line_for_each_setting(files: SettingsFiles) -> None:
    files.project.write_text('[tasks]\nprefix = "p"\n')
    lines = [line.split("\t") for line in files.kedge("config", "show").out.splitlines()]
    assert sorted(line[0] for line in lines) == KEYS
    known = [line[:3] for line in lines]
    assert ["tasks.prefix", "p", f"project ({files.project}:2)"] in known
    assert ["tasks.backend", "auto", "default"] in known
    ran = files.kedge("config", "show", env={"KEDGE_TASKS_PREFIX": "e"})
    assert "tasks.prefix\te\tenvironment (KEDGE_TASKS_PREFIX)\t" in ran.out
    assert files.kedge("config", "show", "tasks.prefix").out == "p\n"
    assert files.kedge("config", "show", "tasks.lock_timeout").out == "10.0\n"


def test_control_characters_in_values_are_not_printed(files: SettingsFiles) -> None:
    files.project.write_text('[tasks]\nactor = "a\\u001b[31m\\u0007"\n')
    for args in (["show"], ["show", "tasks.actor"]):
        ran = files.kedge("config", *args)
        assert "\x1b" not in ran.out + ran.err
        assert "a\\x1b[31m\\x07" in ran.out


def test_values_from_the_environment_are_typed(files: SettingsFiles) -> None:
    assert files.show("tasks.lock_timeout", KEDGE_TASKS_LOCK_TIMEOUT="2.5")[0] == 2.5
    assert files.show("tasks.lock_timeout", KEDGE_TASKS_LOCK_TIMEOUT="2")[0] == 2.0
    assert files.show("tasks.actor", KEDGE_TASKS_ACTOR="2")[0] == "2"


def test_a_list_is_an_array_in_files_and_comma_separated_elsewhere(files: SettingsFiles) -> None:
    files.project.write_text('[anchor]\nsources = ["task", "git", "task"]\n')
    assert files.show("anchor.sources")[0] == ["task", "git"]
    assert files.kedge("config", "show", "anchor.sources").out == "task,git\n"
    assert files.show("anchor.sources", KEDGE_ANCHOR_SOURCES="map, git")[0] == ["map", "git"]
    files.kedge("config", "set", "anchor.sources", "epic,task")
    assert files.project.read_text() == '[anchor]\nsources = ["epic", "task"]\n'
    ran = files.kedge("config", "set", "anchor.sources", "task,tusk", code=1)
    assert_clear(ran, code=1, says="anchor.sources cannot contain 'tusk'")
    files.project.write_text("[anchor]\nsources = [1]\n")
    ran = files.kedge("config", "show", code=1)
    assert_clear(ran, code=1, says="anchor.sources must be a list of strings")


def test_an_unknown_variable_is_a_warning(files: SettingsFiles) -> None:
    env = {"KEDGE_TASKS_TYPO": "1", "KEDGE_HOME": str(files.root / "x"), "KEDGE_TASKS_ACTOR": "a"}
    warning = "$KEDGE_TASKS_TYPO is not a setting of kedge"
    document = files.kedge("config", "show", "--json", env=env).document
    assert document["warnings"] == [warning]
    assert files.kedge("config", "show", env=env).err == f"warning: {warning}\n"
    assert files.kedge("-q", "config", "show", env=env).err == ""


def test_a_flood_of_unknown_settings_costs_little(files: SettingsFiles) -> None:
    """Anybody can put them into a repository; each would be looked for in the whole file."""
    files.project.write_text("".join(f"key{number} = 1\n" for number in range(20_000)))
    begin = time.process_time()
    warnings = config.load(project.find(files.root)).warnings
    assert time.process_time() - begin < 5
    assert len(warnings) == 11
    assert warnings[-1] == f"{files.project}: 19990 more unknown settings are ignored"


# Set, unset, path


def test_set_and_unset(files: SettingsFiles) -> None:
    assert files.kedge("config", "set", "tasks.prefix", "ship").out == ""
    assert files.project.read_text() == '[tasks]\nprefix = "ship"\n'
    assert files.show("tasks.prefix") == ("ship", "project", f"{files.project}:2")
    data = files.kedge.json("config", "set", "tasks.lock_timeout", "3")
    assert data == {"key": "tasks.lock_timeout", "value": 3.0, "file": str(files.project)}
    assert files.project.read_text() == '[tasks]\nprefix = "ship"\nlock_timeout = 3.0\n'
    files.kedge("config", "set", "tasks.prefix", "--unset")
    assert files.project.read_text() == "[tasks]\nlock_timeout = 3.0\n"
    assert files.show("tasks.prefix") == ("k", "default", None)
    assert not files.user.exists()
    assert files.kedge("task", "add", "x").out.startswith("k-")
    files.kedge("config", "set", "tasks.prefix", "ship")
    assert files.kedge("task", "add", "x").out.startswith("ship-")


def test_set_for_the_user(files: SettingsFiles) -> None:
    files.kedge("config", "set", "--user", "tasks.bd", "/opt/bd")
    assert files.user.read_text() == '[tasks]\nbd = "/opt/bd"\n'
    assert files.show("tasks.bd") == ("/opt/bd", "user", f"{files.user}:2")
    assert not files.project.exists()
    files.kedge("config", "set", "--user", "tasks.bd", "--unset")
    assert files.show("tasks.bd") == ("bd", "default", None)


@pytest.mark.parametrize(
    "change",
    [
        ("context.commands", "true"),
        ("drift.policy", "off"),
        ("drift.policy", "--unset"),
        ("drift.judge", "/opt/judge"),
    ],
)
@pytest.mark.parametrize("name", ["KEDGE_RUN", "CLAUDECODE"])
def test_an_agent_cannot_change_what_the_user_trusts(
    files: SettingsFiles, change: tuple[str, str], name: str
) -> None:
    ran = files.kedge("config", "set", "--user", *change, env={name: "1"}, code=1)
    assert_clear(ran, code=1, says=f"an agent cannot change {change[0]} for the user")
    assert not files.user.exists()


def test_unsetting_an_unset_key_changes_nothing(files: SettingsFiles) -> None:
    files.kedge("config", "set", "tasks.prefix", "--unset")
    assert not files.project.exists()
    files.project.write_text("# mine\n")
    files.kedge("config", "set", "tasks.prefix", "--unset")
    assert files.project.read_text() == "# mine\n"


@pytest.mark.parametrize(
    "value", ['quo"te', "back\\slash", "größe 漢", "a\tb", "\x7f", "#", "a\nb"]
)
def test_any_string_survives_a_round_trip(files: SettingsFiles, value: str) -> None:
    files.kedge("config", "set", "tasks.actor", value)
    assert files.show("tasks.actor")[0] == value


def test_set_needs_either_a_value_or_unset(files: SettingsFiles) -> None:
    for args in (["tasks.prefix"], ["tasks.prefix", "x", "--unset"]):
        assert_clear(files.kedge("config", "set", *args, code=2), code=2, says="VALUE or --unset")
    assert not files.project.exists()


def test_path(files: SettingsFiles, tmp_path: Path) -> None:
    assert files.kedge("config", "path").out == f"{files.project}\n{files.user}\n"
    assert files.kedge("config", "path", "--user").out == f"{files.user}\n"
    assert files.kedge("config", "path", "--project").out == f"{files.project}\n"
    both = {"project": str(files.project), "user": str(files.user)}
    assert files.kedge.json("config", "path") == both
    at_home = {"XDG_CONFIG_HOME": "", "HOME": str(tmp_path)}
    path = f"{tmp_path}/.config/kedge/config.toml\n"
    assert files.kedge("config", "path", "--user", env=at_home).out == path
    # A path that is not absolute does not count, or a project could be the user.
    at_home["XDG_CONFIG_HOME"] = ".kedge"
    assert files.kedge("config", "path", "--user", env=at_home).out == path


def test_a_user_without_a_home_directory_is_reported(
    files: SettingsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(ConfigError, match="no home directory") as caught:
        config.user_file()
    assert caught.value.hint


def test_without_home_no_settings_are_written_to_the_password_databases_home(
    files: SettingsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("HOME")
    for args in (["set", "--user", "tasks.prefix", "p"], ["path", "--user"]):
        assert_clear(files.kedge("config", *args, code=1), code=1, says="no home directory")
    assert files.show("tasks.prefix") == ("k", "default", None)


def test_outside_a_repository_only_the_users_settings_apply(
    files: SettingsFiles, tmp_path: Path
) -> None:
    kedge = Kedge(tmp_path)
    kedge("config", "set", "--user", "tasks.prefix", "mine")
    assert kedge.json("config", "show", "tasks.prefix")["value"] == "mine"
    assert len(kedge("config", "show").out.splitlines()) == len(KEYS)
    assert kedge("config", "path").out == f"{files.user}\n"
    assert kedge("config", "path", "--user").out == f"{files.user}\n"
    for args in (["path", "--project"], ["set", "tasks.prefix", "x"]):
        assert_clear(kedge("config", *args, code=1), code=1, says="not in a git repository")
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    assert Kedge(bare).json("config", "show", "tasks.prefix")["value"] == "mine"


def test_user_settings_do_not_need_git(files: SettingsFiles, tmp_path: Path) -> None:
    kedge = Kedge(tmp_path)
    kedge("config", "set", "--user", "tasks.prefix", "mine", env={"PATH": ""})
    assert kedge("config", "path", "--user", env={"PATH": ""}).out == f"{files.user}\n"


def test_a_directory_with_settings_is_a_project_without_git(
    files: SettingsFiles, tmp_path: Path
) -> None:
    (tmp_path / "plain" / ".kedge").mkdir(parents=True)
    (tmp_path / "plain" / "deep").mkdir()
    kedge = Kedge(tmp_path / "plain" / "deep")
    kedge("config", "set", "tasks.prefix", "p")
    file = tmp_path / "plain" / ".kedge" / "config.toml"
    assert file.read_text() == '[tasks]\nprefix = "p"\n'
    assert kedge.json("config", "show", "tasks.prefix")["value"] == "p"


# What cannot be used


def test_an_unknown_setting_suggests_the_nearest(files: SettingsFiles) -> None:
    for args in (["show", "tasks.prefx"], ["set", "tasks.prefx", "x"]):
        ran = files.kedge("config", *args, code=1)
        assert_clear(ran, code=1, says="unknown setting 'tasks.prefx'")
        assert "did you mean 'tasks.prefix'?" in ran.err
    ran = files.kedge("config", "show", "frobnicate", code=1)
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
def test_an_unknown_setting_in_a_file_is_reported_with_its_line(
    files: SettingsFiles, layer: str, text: str, line: int, name: str, near: str | None
) -> None:
    path: Path = getattr(files, layer)
    path.write_text(text)
    if layer == "project":  # colleagues have different versions of kedge
        loaded = config.load(project.find(files.root))
        (warning,) = loaded.warnings
        assert warning.startswith(f"{path}:{line}: unknown setting {name!r} is ignored")
        assert near is None or warning.endswith(f": did you mean {near!r}?")
        return
    with pytest.raises(ConfigError) as caught:
        config.load(project.find(files.root))
    assert caught.value.message == f"{path}:{line}: unknown setting {name!r}"
    assert caught.value.hint
    if near:
        assert caught.value.hint == f"did you mean {near!r}?"
    if near:
        ran = files.kedge("task", "list", code=1)
        assert_clear(ran, code=1, says=caught.value.message)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("backend", '"nope"', "cannot be 'nope'"),
        ("backend", "1", "must be a string, not 1"),
        ("backend", "true", "must be a string, not True"),
        ("backend", '["jsonl"]', "must be a string, not ['jsonl']"),
        ("backend", "{ x = 1 }", "must be a string, not {'x': 1}"),
        ("prefix", '""', "must be 1 to 24"),
        ("prefix", '"../x"', "must be 1 to 24"),
        ("prefix", '"x\\n"', "must be 1 to 24"),
        ("lock_timeout", '"1"', "must be a number, not '1'"),
        ("lock_timeout", "true", "must be a number, not True"),
        ("lock_timeout", "0", "must be above 0"),
        ("lock_timeout", "-1.5", "must be above 0"),
        ("lock_timeout", "inf", "must be above 0 and finite"),
        ("lock_timeout", "nan", "must be above 0"),
        ("lock_timeout", "1" + "0" * 400, "must be a number, not 1000"),
        ("actor", '"a\\u0000b"', "must be UTF-8 without NUL"),
    ],
)
def test_an_invalid_value_in_a_file_is_reported_with_its_line(
    files: SettingsFiles, key: str, value: str, says: str
) -> None:
    for path in (files.user, files.project):
        path.write_text(f"# {key} = 1\n\n[tasks]\n{key} = {value}\n")
        with pytest.raises(ConfigError) as caught:
            config.load(project.find(files.root))
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
        ("tasks.lock_timeout", "1e999", "must be above 0 and finite"),
        ("tasks.lock_timeout", "-1", "must be above 0"),
    ],
)
def test_an_invalid_value_is_refused_in_variables_and_arguments(
    files: SettingsFiles, key: str, value: str, says: str
) -> None:
    variable = "KEDGE_" + key.upper().replace(".", "_")
    ran = files.kedge("config", "show", code=1, env={variable: value})
    assert_clear(ran, code=1, says=f"${variable}: {key} {says}")
    before = '[tasks]\nactor = "me"\n'
    files.project.write_text(before)
    ran = files.kedge("config", "set", key, "--", value, code=1)
    assert_clear(ran, code=1, says=f"the command line: {key} {says}")
    assert files.project.read_text() == before


def test_bytes_that_are_not_utf8_are_refused(files: SettingsFiles) -> None:
    for args, place in (
        ([b"config", b"set", b"tasks.actor", b"\xff"], "the command line"),
        ([b"config", b"show"], "$KEDGE_TASKS_ACTOR"),
    ):
        env = {os.fsencode(key): os.fsencode(value) for key, value in os.environ.items()}
        if place.startswith("$"):
            env[b"KEDGE_TASKS_ACTOR"] = b"\xff"
        argv = [os.fsencode(sys.executable), b"-m", b"kedge", *args]
        done = subprocess.run(argv, cwd=files.root, env=env, capture_output=True, timeout=60)
        assert done.returncode == 1, done
        message = done.stderr.decode().splitlines()[0]
        assert message == f"error: {place}: tasks.actor must be UTF-8 without NUL"
    assert not files.project.exists()


def test_a_user_only_setting_is_ignored_in_a_project_with_a_warning(files: SettingsFiles) -> None:
    before = '[tasks]\nprefix = "p"\n\nbd = "./evil"\n[drift]\njudge = "./evil"\n'
    files.project.write_text(before)
    files.user.write_text('[drift]\njudge = "claude"\n')
    ignored = "is ignored: it can only be set in the user's file"
    expected = [
        f"warning: {files.project}:{line}: {name} {ignored}"
        for line, name in ((4, "tasks.bd"), (6, "drift.judge"))
    ]
    for args in (["config", "show"], ["task", "list"]):
        assert files.kedge(*args).err.splitlines() == expected
    assert files.show("tasks.bd")[:2] == ("bd", "default")
    assert files.show("drift.judge")[:2] == ("claude", "user")
    assert files.show("tasks.prefix")[:2] == ("p", "project")
    ran = files.kedge("config", "set", "tasks.bd", "x", code=1)
    assert_clear(ran, code=1, says="tasks.bd can only be set in the user's file")
    assert files.project.read_text() == before
    files.kedge("config", "set", "tasks.bd", "--unset")
    files.kedge("config", "set", "drift.judge", "--unset")
    assert files.kedge("config", "show").err == ""


def test_a_judge_is_a_preset_or_a_command_line(files: SettingsFiles) -> None:
    files.kedge("config", "set", "--user", "drift.judge", "/opt/judge --model 'the small one'")
    ran = files.kedge("config", "set", "--user", "drift.judge", "judge 'open", code=1)
    assert_clear(ran, code=1, says="drift.judge is not a command line: no closing quotation")


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
    "too long": (b"[tasks]\nprefix = " + b"1" * 5000, ": a number is too long"),
}


@pytest.mark.parametrize("name", _BROKEN)
def test_a_broken_file_is_reported_with_its_line_and_not_changed(
    files: SettingsFiles, name: str
) -> None:
    data, says = _BROKEN[name]
    files.project.write_bytes(data)
    for args in (["show"], ["set", "tasks.actor", "me"]):
        ran = files.kedge("config", *args, code=1)
        assert_clear(ran, code=1, says=f"{files.project}{says}")
    assert files.project.read_bytes() == data
    left = sorted(path.name for path in files.project.parent.iterdir())
    assert left == ["config.toml", "locks"]


def test_a_broken_user_file_is_reported(files: SettingsFiles) -> None:
    files.user.write_bytes(b"[tasks\n")
    for args in (
        ["config", "show"],
        ["config", "set", "--user", "tasks.actor", "x"],
        ["task", "list"],
    ):
        assert_clear(files.kedge(*args, code=1), code=1, says=f"{files.user}:1: ")
    assert files.user.read_bytes() == b"[tasks\n"
    files.kedge("config", "set", "tasks.actor", "x")  # of the project: another file


@pytest.mark.parametrize("what", ["directory", "loop", "file above", "no permission"])
def test_an_unreadable_file_is_reported(files: SettingsFiles, what: str) -> None:
    if what == "directory":
        files.project.mkdir()
    elif what == "loop":
        files.project.symlink_to(files.project.name)
    elif what == "file above":
        files.project.parent.rmdir()
        files.project.parent.write_text("")
    elif os.geteuid() == 0:
        pytest.skip("permissions do not bind root")
    else:
        files.project.write_text("")
        files.project.chmod(0)
    assert_clear(files.kedge("config", "show", code=1), code=1, says=f"cannot read {files.project}")
    ran = files.kedge("config", "set", "tasks.actor", "x", code=1)
    assert_clear(ran, code=1, says="cannot ")
    if what == "directory":
        assert list(files.project.iterdir()) == []


def test_symlinks_out_of_the_project_are_refused(files: SettingsFiles, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for target in (outside / "there", outside / "none"):
        (outside / "there").write_text("precious")
        files.project.symlink_to(target)
        for args in (["show"], ["set", "tasks.actor", "x"], ["path", "--project"]):
            ran = files.kedge("config", *args, code=1)
            assert_clear(ran, code=1, says=".kedge/config.toml leads out of")
        files.project.unlink()
    (files.root / ".kedge" / "locks").symlink_to(outside)
    (outside / "config.lock").write_text("precious")
    ran = files.kedge("config", "set", "tasks.actor", "x", code=1)
    assert_clear(ran, code=1, says=".kedge/locks/config.lock leads out of")
    assert sorted(path.read_text() for path in outside.iterdir()) == ["precious"] * 2


def test_other_symlinks_are_followed_and_kept(files: SettingsFiles, tmp_path: Path) -> None:
    for path, real, flags in (
        (files.project, files.root / "settings.toml", []),
        (files.user, tmp_path / "dotfiles" / "kedge.toml", ["--user"]),
    ):
        real.parent.mkdir(exist_ok=True)
        real.write_text("# mine\n")
        path.symlink_to(real)
        files.kedge("config", "set", *flags, "tasks.actor", "x")
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
def test_comments_and_formatting_survive_set(files: SettingsFiles, before: str, after: str) -> None:
    files.project.write_bytes(before.encode())
    files.kedge("config", "set", "tasks.actor", "new")
    assert files.project.read_bytes().decode() == after
    assert toml_edit.set_value(after, "tasks", "actor", "new") == after


@pytest.mark.parametrize(
    "text", ['tasks = { actor = "a" }\n', "tasks = 1\n", "[[tasks]]\n", "[tasks.actor]\nx = 1\n"]
)
def test_set_refuses_what_it_cannot_edit(files: SettingsFiles, text: str) -> None:
    files.project.write_text(text)
    ran = files.kedge("config", "set", "tasks.actor", "new", code=1)
    assert_clear(
        ran, code=1, says=f"{files.project}: tasks.actor cannot be changed without changing"
    )
    assert "[tasks] actor" in ran.err
    if "actor" in text:
        ran = files.kedge("config", "set", "tasks.actor", "--unset", code=1)
        assert_clear(
            ran, code=1, says=f"{files.project}: tasks.actor cannot be changed without changing"
        )
    assert files.project.read_text() == text


def test_concurrent_sets_are_all_kept(files: SettingsFiles) -> None:
    files.project.write_text("# the project's\n")
    files.user.write_text("# the user's\n")
    wanted = {"backend": "jsonl", "prefix": "p", "actor": "a", "lock_timeout": "7"}
    calls = [["set", f"tasks.{key}", value] for key, value in wanted.items()]
    calls += [["set", "--user", *call[1:]] for call in calls]
    children = [
        subprocess.Popen([sys.executable, "-m", "kedge", "config", *call], cwd=files.root)
        for call in calls
    ]
    assert [child.wait(60) for child in children] == [0] * 8
    expected: dict[str, Any] = {**wanted, "lock_timeout": 7.0}
    for path, first in ((files.project, "# the project's"), (files.user, "# the user's")):
        assert tomllib.loads(path.read_text()) == {"tasks": expected}
        assert path.read_text().splitlines()[0] == first
        assert sorted(p.name for p in path.parent.iterdir()) == ["config.toml", "locks"]


# Any TOML


@given(st.one_of(st.text(), st.text(st.sampled_from("[]{}=.,'\"#\\\n \tax1\r\0")), st.binary()))
def test_any_file_is_parsed_or_refused_with_its_line(tmp_path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    try:
        text = config.read_text(path)
        parsed = config.parse_toml(path, text)
    except ConfigError as error:
        line = int(error.message.removeprefix(f"{path}:").partition(":")[0])
        assert 1 <= line <= data.count(b"\n") + 1
        assert error.hint
        assert path.read_bytes() == data
    else:
        for key in parsed:
            assert toml_edit.line_of(text.removeprefix("\ufeff"), (key,))


# A project may only make the user's policy stricter

STRICTER = [
    ("drift.policy", "off", "observe"),
    ("drift.policy", "observe", "advise"),
    ("drift.policy", "advise", "enforce"),
    ("drift.agent_limits", False, True),
    ("context.require_citations", False, True),
]


def write_setting(path: Path, name: str, value: object) -> None:
    section, _, key = name.partition(".")
    path.write_text(f"[{section}]\n{key} = {json.dumps(value)}\n")


@pytest.mark.parametrize(("name", "weak", "strict"), STRICTER)
def test_a_project_cannot_weaken_what_the_user_set(
    files: SettingsFiles, name: str, weak: object, strict: object
) -> None:
    write_setting(files.user, name, strict)
    write_setting(files.project, name, weak)
    ran = files.kedge("config", "show", name, "--json").document
    assert ran["data"]["value"] == strict
    assert ran["data"]["origin"]["kind"] == "user"
    assert ran["data"]["ignored"]["value"] == weak
    assert "a project can only be stricter" in ran["data"]["ignored"]["why"]
    assert any(f"{files.project}:2: {name} is ignored" in one for one in ran["warnings"])
    listed = files.kedge("config", "show").out
    assert "is ignored: yours is" in next(x for x in listed.splitlines() if x.startswith(name))
    files.kedge("trust")  # no approval changes that
    assert files.show(name)[0] == strict


@pytest.mark.parametrize(("name", "weak", "strict"), STRICTER)
def test_a_project_can_be_stricter(
    files: SettingsFiles, name: str, weak: object, strict: object
) -> None:
    write_setting(files.user, name, weak)
    write_setting(files.project, name, strict)
    assert files.show(name)[:2] == (strict, "project")


def test_a_fresh_clone_cannot_weaken_the_default(files: SettingsFiles) -> None:
    write_setting(files.project, "drift.policy", "off")
    ran = files.kedge("config", "show", "drift.policy")
    assert ran.out == "advise\n"
    assert "weaker than advise, and you have not approved it (kedge trust)" in ran.err
    assert 'drift.policy = "off"' in files.kedge("trust", "--list").out
    files.kedge("trust")
    assert files.show("drift.policy")[:2] == ("off", "project")
    write_setting(files.project, "drift.policy", "observe")
    assert files.show("drift.policy")[0] == "advise"


def test_a_weaker_policy_that_the_user_types_holds_in_this_repository(files: SettingsFiles) -> None:
    files.kedge("config", "set", "drift.policy", "off")
    assert files.show("drift.policy")[:2] == ("off", "project")
    files.kedge("config", "set", "drift.policy", "observe", env={"CLAUDECODE": "1"})
    assert files.show("drift.policy")[0] == "advise"
    files.kedge("config", "set", "--user", "drift.policy", "enforce")
    ran = files.kedge("config", "set", "drift.policy", "off")
    assert "drift.policy is ignored here: yours is enforce" in ran.err
    assert files.show("drift.policy")[0] == "enforce"
    assert files.show("drift.policy", KEDGE_DRIFT_POLICY="off")[0] == "off"  # the user's own


def test_a_broken_projects_file_does_not_weaken_a_hook(files: SettingsFiles) -> None:
    write_setting(files.user, "drift.policy", "enforce")
    event: dict[str, Any] = {"session_id": "s", "cwd": str(files.root)}
    before = {**event, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "1"}
    before["tool_input"] = {"command": "rm db/schema.sql"}
    prompt = {**event, "hook_event_name": "UserPromptSubmit", "prompt": "Don't touch db/schema.sql"}
    for text in ("[drift]\npolicy = 7\n", "[drift\n", '[drift]\npolicy = "of"\n', "\udcff"):
        files.project.write_bytes(text.encode("utf-8", "surrogateescape"))
        files.kedge("hook", "claude", input=json.dumps(prompt))
        answer = files.kedge("hook", "claude", input=json.dumps(before)).out
        assert json.loads(answer)["hookSpecificOutput"]["permissionDecision"] == "deny", text
    wait_for_aside(files.root / ".git" / "kedge")
