"""Kedge's hooks in the settings of agents: installed, found and removed, and nothing else."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import in_time

from kedge.agents import installation
from kedge.agents.settings import claude, codex, hooks
from kedge.agents.settings.hook_command import (
    guard_command,
    is_kedge_hook,
    make_command,
    make_portable_command,
)
from kedge.agents.settings.hooks import HOOKS, Hook, add_command
from kedge.errors import ConfigError, InvalidValue
from kedge.host import project as projects
from kedge.host.project import Project

TWO = HOOKS[:2]
OURS = add_command("'/usr/bin/python3' -I '/opt/kedge/hook.py' claude", TWO)
OTHER = add_command("'/venv/bin/python3.13' -I '/venv/lib/kedge/hook.py' claude", TWO)
MORE = (
    *OTHER,
    Hook("Stop", None, OTHER[0].command, None),
    Hook("PreToolUse", "Bash", "kedge hook x"),
)

_USERS = [
    {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]},
    {"hooks": [{"type": "command", "command": "echo kedge hook claude", "timeout": 5}]},
    {"matcher": "compact", "hooks": []},
    {"matcher": "*", "hooks": [{"type": "http", "url": "http://127.0.0.1:1/hook"}], "note": 1},
]
_GROUPS = st.lists(st.sampled_from(_USERS), max_size=3)
_HOOKS = st.dictionaries(st.sampled_from(["SessionStart", "Stop", "PreToolUse"]), _GROUPS)
_SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "permissions": st.sampled_from([{}, {"allow": []}, {"deny": ["Read(é)"]}]),
        "hooks": _HOOKS,
        "model": st.text(max_size=3),
    },
)
_SPACES = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\n    "])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return settings of a user, with their own order of keys and layout."""
    value = draw(_SETTINGS)
    value = dict(draw(st.permutations(list(value.items()))))
    style = draw(st.sampled_from([2, 4, "\t", None, "minified"]))
    if style == "minified":
        text = json.dumps(value, separators=(",", ":"))
    else:
        text = json.dumps(value, indent=style)
    empty = draw(_SPACES)
    text = text.replace("{}", "{" + empty + "}").replace("[]", "[" + draw(_SPACES) + "]")
    if draw(st.booleans()):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(_SPACES)


def _load(text: str | None) -> Any:
    assert text is not None
    return json.loads(text.removeprefix("\ufeff"))


def _without_ours(value: Any) -> Any:
    """Return the settings without kedge's groups, computed independently of kedge."""
    names = {hook.command for hook in (*OURS, *OTHER, *MORE)}
    for event, groups in list(value.get("hooks", {}).items()):
        value["hooks"][event] = [
            group for group in groups if not {one.get("command") for one in group["hooks"]} & names
        ]
    return value


def _prune(value: Any) -> Any:
    """Return the settings without empty events, and without empty hooks."""
    events = {event: groups for event, groups in value.get("hooks", {}).items() if groups}
    rest = {key: one for key, one in value.items() if key != "hooks"}
    return {**rest, "hooks": events} if events else rest


# Putting in and taking out


@given(texts())
@example("{}")
@example("{ }")
@example("{\n}")
@example("{}\n")
@example('{"hooks": {}}')
@example('{"hooks": {"SessionStart": []}}')
@example('{"hooks": {"SessionStart": [\n]}}')
def test_removing_the_hooks_restores_every_byte(text: str) -> None:
    after = hooks.install(text, OURS)
    assert [*hooks.list_installed(after)] == [*OURS]
    assert _prune(_without_ours(_load(after))) == _prune(_load(text))
    assert list(_load(after))[: len(_load(text))] == list(_load(text))
    assert hooks.install(after, OURS) == after
    assert hooks.remove(after) == text
    assert hooks.remove(text) == text


@given(texts(), st.permutations([OURS, OTHER, MORE, MORE[2:], OURS[:1]]))
def test_removing_hooks_of_other_versions_restores_every_byte(
    text: str, versions: list[tuple[Hook, ...]]
) -> None:
    after = text
    for version in versions:
        after = hooks.install(after, version)
        assert sorted(map(str, hooks.list_installed(after))) == sorted(map(str, version))
        assert _prune(_without_ours(_load(after))) == _prune(_load(text))
    assert hooks.remove(after) == text


@given(texts(), st.sampled_from([2, 4, "\t", None]))
def test_a_reformatted_file_keeps_everything_of_the_user(text: str, indent: Any) -> None:
    after = json.dumps(_load(hooks.install(text, OURS)), indent=indent)
    assert hooks.list_installed(after) == [*OURS]
    assert hooks.install(after, OURS) == after
    left = hooks.remove(after)
    assert hooks.list_installed(left) == []
    assert _prune(_load(left)) == _prune(_load(text))


def test_a_file_made_by_kedge_is_removed_with_its_hooks() -> None:
    made = hooks.install(None, OURS)
    assert _load(made) == {
        "hooks": {
            "SessionStart": [
                {
                    "matcher": "startup|resume|clear",
                    "hooks": [{"type": "command", "command": OURS[0].command, "timeout": 10}],
                },
                {
                    "matcher": "compact",
                    "hooks": [{"type": "command", "command": OURS[0].command, "timeout": 10}],
                },
            ]
        }
    }
    assert made == json.dumps(_load(made), indent=2) + "\n"
    assert hooks.remove(made) is None
    assert hooks.remove(made.replace("\n", "\r\n")) is None
    assert hooks.install(made, OURS) == made
    assert hooks.install(made, MORE) == hooks.install(None, MORE)
    assert hooks.remove(hooks.install(made, MORE)) is None
    assert hooks.remove(hooks.install(made, MORE[2:])) is None
    for empty in ("{}", "{}\n"):
        assert hooks.remove(hooks.install(empty, OURS)) == empty


def test_additions_of_the_user_to_kedges_file_are_kept() -> None:
    made = hooks.install(None, OURS)
    added = made.replace("{\n", '{\n  "model": "x",\n', 1)
    assert hooks.remove(added) == '{\n  "model": "x"\n}\n'
    value = _load(made)
    value["hooks"]["Stop"] = _USERS[:1]
    assert _load(hooks.remove(json.dumps(value))) == {
        "hooks": {"Stop": _USERS[:1], "SessionStart": []}
    }
    assert _load(hooks.remove(json.dumps(value, indent=1))) == {"hooks": {"Stop": _USERS[:1]}}


def test_only_the_command_changes_when_the_interpreter_does() -> None:
    text = hooks.install('{"hooks": {"SessionStart": [], "Stop": []},\n "a": 1}', OURS)
    after = hooks.install(text, OTHER)
    assert after == text.replace(json.dumps(OURS[0].command), json.dumps(OTHER[0].command))
    assert after != text


def test_a_changed_timeout_is_replaced_in_place() -> None:
    text = hooks.install("{}", [Hook("Stop", None, "kedge hook claude", 10)])
    free = [Hook("Stop", None, "kedge hook claude", None)]
    assert hooks.install(text, free) == hooks.install("{}", free)
    assert hooks.install(hooks.install(text, free), [replace(free[0], timeout=3)]) == text.replace(
        "10", "3"
    )


def test_a_hook_of_the_user_in_a_group_of_kedge_stays() -> None:
    theirs = {"type": "command", "command": "lint"}
    text = hooks.install("{}", OURS)
    value = _load(text)
    value["hooks"]["SessionStart"][0]["hooks"].insert(0, theirs)
    value["hooks"]["SessionStart"][1]["note"] = "mine"
    shared = json.dumps(value, indent=2)
    assert hooks.install(shared, OURS) == shared
    assert _load(hooks.remove(shared)) == {
        "hooks": {
            "SessionStart": [
                {"matcher": "startup|resume|clear", "hooks": [theirs]},
                {"matcher": "compact", "hooks": [], "note": "mine"},
            ]
        }
    }


def test_a_duplicate_hook_is_removed() -> None:
    value = _load(hooks.install("{}", OURS))
    value["hooks"]["SessionStart"] *= 3
    assert hooks.list_installed(hooks.install(json.dumps(value), OURS)) == [*OURS]
    assert hooks.remove(json.dumps(value, indent=1)) == "{}"


def test_other_hook_types_are_not_kedges() -> None:
    text = hooks.install("{}", OURS).replace('"command",', '"prompt",')
    assert hooks.list_installed(text) == []
    assert hooks.remove(text) == text


# Refusals


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "s.json:1: not JSON"),
        ('{\n"a": 1,\n}', "s.json:3: not JSON"),
        ('{\n// mine\n"a": 1}', "s.json:2: not JSON"),
        ("[]", "s.json:1: the document must be an object"),
        ("null", "s.json:1: the document must be an object"),
        ('{"hooks": null}', "s.json:1: hooks must be an object"),
        ('{"hooks":\n[]}', "s.json:2: hooks must be an object"),
        ('{"hooks": {},\n"hooks": {}}', 's.json:2: a second "hooks"'),
        ('{"hooks": {"SessionStart": {}}}', "s.json:1: hooks.SessionStart must be an array"),
        ('{"hooks": {"SessionStart": [],\n"SessionStart": []}}', "s.json:2: a second"),
        ('{"hooks": {"SessionStart": [\n1]}}', "s.json:2: hooks.SessionStart.0 must be an object"),
        ('{"hooks": {"SessionStart": [{},\n{}]}}', 's.json:1: hooks.SessionStart.0 has no "hooks"'),
        (
            '{"hooks": {"SessionStart": [{"hooks": "x"}]}}',
            "s.json:1: hooks.SessionStart.0.hooks must be an array",
        ),
    ],
)
def test_settings_of_a_wrong_shape_are_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        hooks.install(text, OURS, where="s.json")
    assert refused.value.message.startswith(says)
    assert "\n" not in refused.value.message
    assert "kedge has changed nothing" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "text", ["[]", "1", '{"hooks": null}', '{"hooks": {"Stop": [1, {}, {"hooks": 1}]}}']
)
def test_nothing_is_removed_from_settings_without_hooks(text: str) -> None:
    assert hooks.remove(text) == text
    assert hooks.list_installed(text) == []


def test_unreadable_settings_are_not_taken_for_empty() -> None:
    for text in ("{", '{"hooks": {}, "hooks": {}}'):
        for act in (hooks.remove, hooks.list_installed):
            with pytest.raises(ConfigError, match=r"s\.json:1: "):
                act(text, where="s.json")


def test_a_file_is_read_without_changes(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    assert hooks.read_settings(path, where="settings.json") is None
    path.write_bytes(b"\xef\xbb\xbf{}\r\n")
    assert hooks.read_settings(path, where="settings.json") == "\ufeff{}\r\n"
    path.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(ConfigError, match=r"settings\.json:2: not UTF-8"):
        hooks.read_settings(path, where="settings.json")


def test_hostile_settings_are_read_in_linear_time() -> None:
    with in_time(60):
        wide = '{"a": "' + "\\ud800" * 500_000 + '"}'
        template = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"kedge %s"}]}]}}'
        long = template % ("'" * 3_000_000)
        for text in (wide, long):
            assert hooks.remove(hooks.install(text, OURS)) == text
        entry = json.dumps(_load(hooks.install("{}", OURS))["hooks"]["SessionStart"][0])
        many = '{"hooks":{"SessionStart":[' + ",".join([entry] * 5_000) + "]}}"
        assert hooks.list_installed(hooks.install(many, OURS)) == [*OURS]
        assert hooks.remove(many) == '{"hooks":{"SessionStart":[]}}'


# The command


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
    st.sampled_from(["claude", "codex"]),
)
def test_the_command_survives_a_shell_and_is_recognised(name: str, agent: str) -> None:
    python, file = Path(f"/{name}/bin/python3"), Path(f"/{name}/kedge/hook.py")
    if not name.isprintable():
        with pytest.raises(InvalidValue):
            make_command(python, file, agent)
        return
    line = make_command(python, file, agent)
    assert is_kedge_hook(line)
    anyway = ["||", ":"] if agent == "claude" else []
    assert shlex.split(line) == [str(python), "-I", "-S", str(file), agent, *anyway]


def test_a_shell_runs_the_command(tmp_path: Path) -> None:
    file = tmp_path / "it's $HOME; `x`" / "kedge" / "hook.py"
    file.parent.mkdir(parents=True)
    file.write_text("import sys\nprint(sys.argv[1:], sys.flags.isolated)\n")
    line = make_command(Path(sys.executable), file, "claude")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "['claude'] 1\n"


@pytest.mark.parametrize("agent", ["claude", "copilot", "gemini"])
def test_the_command_succeeds_without_kedge_and_its_python(agent: str, tmp_path: Path) -> None:
    """Copilot CLI refuses a call whose hook fails, and it runs those of Claude Code as well."""
    command = make_command(Path("/gone/python"), Path("/gone/kedge/hook.py"), agent)
    for line in (command, guard_command(command, tmp_path), make_portable_command(agent)):
        assert is_kedge_hook(line)
        done = subprocess.run(["/bin/sh", "-c", line], env={"PATH": ""}, capture_output=True)
        assert done.returncode == 0, line
        assert done.stdout == b""


def test_a_command_that_could_not_be_recognised_is_refused() -> None:
    for python, file in (
        ("/bin/python3", "/opt/other/hook.py"),
        ("/bin/python3", "kedge/hook.py"),
        ("/bin/py\nthon3", "/opt/kedge/hook.py"),
        ("/bin/\udc80/python3", "/opt/kedge/hook.py"),
    ):
        with pytest.raises(InvalidValue) as refused:
            make_command(Path(python), Path(file), "claude")
        assert "kedge hook claude" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "line",
    [
        make_portable_command("claude"),
        "kedge hook codex",
        "/home/me/.local/bin/kedge hook claude",
        "kedge hook claude --fast",
        "kedge  hook\tclaude\n",
        "'/usr/bin/python3' -I '/opt/kedge/hook.py' claude",
        "/old/venv/bin/python3.11 -I /old/venv/lib/python3.11/site-packages/kedge/hook.py claude",
        "'/a b/python' -I -S '/a b/kedge/hook.py' codex",
        "python3 -IS /opt/kedge/hook.py claude --wait=2",
    ],
)
def test_commands_of_kedge_are_recognised(line: str) -> None:
    assert is_kedge_hook(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "kedge",
        "kedge map",
        "kedge hook",
        "kedge map claude",
        "echo kedge hook claude",
        "echo 'kedge hook claude'",
        "kedge hook claude | tee log",
        "kedge hook claude && lint",
        "kedge hook claude; lint",
        "kedge hook claude > /tmp/x",
        "kedge hook claude &",
        "kedge hook claude # mine",
        "kedge hook claude\nlint",
        "lint\nkedge hook claude",
        "kedge\nhook claude",
        "X=1 kedge hook claude",
        "timeout 5 kedge hook claude",
        "sh -c 'kedge hook claude'",
        "my-kedge hook claude",
        "./kedge hook claude",
        "kedge hook 'claude code'",
        "kedge hook claude 'unfinished",
        "python3 ~/kedge/hook.py claude",
        "python3 /home/me/kedge/hook.py claude",
        "python3 -I kedge/hook.py claude",
        "python3 -I /home/me/notkedge/hook.py claude",
        "python3 -I /home/me/kedge/hook.py",
        "python3 -I -m kedge.hook claude",
        "cat -I /opt/kedge/hook.py claude",
        "python3 -I /opt/kedge/hook.py claude && lint",
        "/usr/bin/python3 -I -c kedge /opt/kedge/hook.py claude",
    ],
)
def test_commands_of_the_user_are_not_kedges(line: str) -> None:
    assert not is_kedge_hook(line)
    text = hooks.install("{}", [Hook("SessionStart", None, line)])
    assert hooks.list_installed(text) == []
    assert hooks.remove(text) == text
    assert hooks.remove(hooks.install(text, OURS)) == text


def test_a_long_command_is_checked_in_linear_time() -> None:
    with in_time(5):
        assert not is_kedge_hook("kedge hook claude --x=" + "y" * 50_000_000)


# The agents


@pytest.fixture
def place(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose agents' settings are in temporary directories."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    for name in (tmp_path / "claude", tmp_path / "codex", repo / ".claude", repo / ".codex"):
        name.mkdir()
    return projects.find(repo)


def test_each_agent_has_its_settings_file() -> None:
    assert claude.settings_file() == ".claude/settings.local.json"
    assert claude.settings_file(shared=True) == ".claude/settings.json"
    assert codex.settings_file() == codex.settings_file(shared=True) == ".codex/hooks.json"
    starts = [hook.matcher for hook in HOOKS if hook.event == "SessionStart"]
    assert starts == ["startup|resume|clear", "compact"]
    assert {hook.event for hook in HOOKS} == {
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
        *("Stop", "SubagentStop", "PreCompact", "SessionEnd"),
    }


def _program(directory: Path, name: str, script: str) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_version_of_an_agent_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    assert installation.find_program("claude") is None
    assert installation.find_version("claude") is None
    path = _program(
        tmp_path,
        "claude",
        'test "$1$ANTHROPIC_API_KEY" = --version && echo "2.1.325 (Claude Code)"',
    )
    assert installation.find_program("claude") == path
    assert installation.find_version("claude") == "2.1.325"
    _program(tmp_path, "codex", "echo codex-cli 0.166.0-alpha.4; pwd")
    assert installation.find_version("codex") == "0.166.0-alpha.4"


@pytest.mark.parametrize("script", ["exit 1", "echo 1.2.3; exit 3", "echo none", "sleep 60"])
def test_an_agent_without_a_version_has_none(tmp_path: Path, script: str) -> None:
    path = _program(tmp_path, "claude", script)
    assert installation.read_version(path, timeout=0.5) is None


def test_a_program_of_the_repository_is_not_started(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(repo, "claude", "touch ran; echo 1.2.3")
    monkeypatch.chdir(repo)
    monkeypatch.setenv("PATH", f":.{os.pathsep}/usr/bin")
    assert installation.find_program("claude") is None
    assert installation.find_version("claude") is None
    assert not (repo / "ran").exists()


def _claude_problems(place: Project, tmp_path: Path) -> list[str]:
    return claude.find_problems(place, managed=tmp_path / "managed.json")


def test_settings_that_disable_hooks_in_claude_are_named(place: Project, tmp_path: Path) -> None:
    local, shared = place.root / claude.LOCAL, place.root / claude.SHARED
    user, managed = tmp_path / "claude" / "settings.json", tmp_path / "managed.json"
    assert _claude_problems(place, tmp_path) == []
    user.write_text('{"disableAllHooks": true}')
    (told,) = _claude_problems(place, tmp_path)
    assert told == f"{user}: disableAllHooks is true, so no hook runs; set it to false"
    shared.write_text('{"disableAllHooks": false}')
    assert _claude_problems(place, tmp_path) == []
    local.write_text('{"disableAllHooks": true}')
    (told,) = _claude_problems(place, tmp_path)
    assert told.startswith(f"{claude.LOCAL}: disableAllHooks")
    local.write_text('{"disableAllHooks": "true"}')
    assert _claude_problems(place, tmp_path) == []
    managed.write_text('{"allowManagedHooksOnly": true, "disableAllHooks": true}')
    assert len(_claude_problems(place, tmp_path)) == 2
    managed.write_text('{"allowManagedHooksOnly": true}')
    (told,) = _claude_problems(place, tmp_path)
    assert "allowManagedHooksOnly" in told
    managed.unlink()
    user.write_text('{"allowManagedHooksOnly": true}')
    assert _claude_problems(place, tmp_path) == []


def test_settings_that_claude_cannot_read_are_named(place: Project, tmp_path: Path) -> None:
    local, shared = place.root / claude.LOCAL, place.root / claude.SHARED
    local.write_text('{\n"a": 1,\n}')
    shared.write_bytes(b"\xff")
    assert [told.partition(": ")[0] for told in _claude_problems(place, tmp_path)] == [
        f"{claude.LOCAL}:3",
        f"{claude.SHARED}:1",
    ]
    local.write_text("[" * 100_000)
    shared.unlink()
    shared.symlink_to("/etc/passwd")
    told = _claude_problems(place, tmp_path)
    assert told[0].startswith(f"{claude.LOCAL}:1: ")
    assert "leads out of" in told[1]


def test_problems_that_keep_codex_from_running_hooks_are_named(
    place: Project, tmp_path: Path
) -> None:
    settings, file = tmp_path / "codex" / "config.toml", place.root / codex.FILE
    trusted = f'[projects."{place.root}"]\ntrust_level = "trusted"\n'
    (told,) = codex.find_problems(place)
    assert "trust this project" in told
    settings.write_text(trusted.replace("trusted", "untrusted"))
    assert codex.find_problems(place) == [told]
    settings.write_text(trusted)
    assert codex.find_problems(place) == []
    file.write_text(hooks.install(None, add_command(make_portable_command("codex"))))
    (told,) = codex.find_problems(place)
    assert "/hooks" in told
    state = f'[hooks.state."{file}:session_start:0:0"]\n'
    settings.write_text(trusted + state + "enabled = true\n")
    assert codex.find_problems(place) == [told]
    settings.write_text(trusted + state + 'trusted_hash = "sha256:00"\n')
    assert codex.find_problems(place) == []
    settings.write_text(settings.read_text() + "[features]\nhooks = false\n")
    (told,) = codex.find_problems(place)
    assert told == f"{settings}: features.hooks is false, so no hook runs; set it to true"


def test_settings_that_codex_cannot_read_are_named(place: Project, tmp_path: Path) -> None:
    settings, file = tmp_path / "codex" / "config.toml", place.root / codex.FILE
    file.write_text("{\n")
    (told,) = codex.find_problems(place)
    assert told.startswith(f"{codex.FILE}:2: ")
    file.unlink()
    settings.write_text("projects = 1\nfeatures = []\nhooks.state = 3\n")
    assert len(codex.find_problems(place)) == 1
    settings.write_text("a = 1\nb =\n")
    (told,) = codex.find_problems(place)
    assert told.startswith(f"{settings}:2: ")
