"""Kedge's hooks in the settings of agents: put in, found, taken out, and nothing else changed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import in_time

from kedge.agents import claude, codex, hooks, program
from kedge.agents.command import command, is_ours, portable
from kedge.agents.hooks import HOOKS, Hook, calling
from kedge.errors import ConfigError, InvalidValue
from kedge.host import project as projects
from kedge.host.project import Project

TWO = HOOKS[:2]
OURS = calling("'/usr/bin/python3' -I '/opt/kedge/hook.py' claude", TWO)
OTHER = calling("'/venv/bin/python3.13' -I '/venv/lib/kedge/hook.py' claude", TWO)
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
    """Settings of a user, in their keys' order and layout."""
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
    """What is left when kedge's groups go, read by other means than kedge's."""
    names = {hook.command for hook in (*OURS, *OTHER, *MORE)}
    for event, groups in list(value.get("hooks", {}).items()):
        value["hooks"][event] = [
            group for group in groups if not {one.get("command") for one in group["hooks"]} & names
        ]
    return value


def _pruned(value: Any) -> Any:
    """Without events that are empty, and without hooks when there are none."""
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
def test_taking_the_hooks_out_gives_the_same_bytes_back(text: str) -> None:
    after = hooks.install(text, OURS)
    assert [*hooks.installed(after)] == [*OURS]
    assert _pruned(_without_ours(_load(after))) == _pruned(_load(text))
    assert list(_load(after))[: len(_load(text))] == list(_load(text))
    assert hooks.install(after, OURS) == after
    assert hooks.remove(after) == text
    assert hooks.remove(text) == text


@given(texts(), st.permutations([OURS, OTHER, MORE, MORE[2:], OURS[:1]]))
def test_also_after_other_versions_of_kedge(text: str, versions: list[tuple[Hook, ...]]) -> None:
    after = text
    for version in versions:
        after = hooks.install(after, version)
        assert sorted(map(str, hooks.installed(after))) == sorted(map(str, version))
        assert _pruned(_without_ours(_load(after))) == _pruned(_load(text))
    assert hooks.remove(after) == text


@given(texts(), st.sampled_from([2, 4, "\t", None]))
def test_a_file_laid_out_anew_keeps_all_that_is_the_users(text: str, indent: Any) -> None:
    after = json.dumps(_load(hooks.install(text, OURS)), indent=indent)
    assert hooks.installed(after) == [*OURS]
    assert hooks.install(after, OURS) == after
    left = hooks.remove(after)
    assert hooks.installed(left) == []
    assert _pruned(_load(left)) == _pruned(_load(text))


def test_a_file_that_kedge_made_goes_with_its_hooks() -> None:
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


def test_what_a_user_adds_to_the_file_that_kedge_made_is_kept() -> None:
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


def test_other_limits_are_set_in_place() -> None:
    text = hooks.install("{}", [Hook("Stop", None, "kedge hook claude", 10)])
    free = [Hook("Stop", None, "kedge hook claude", None)]
    assert hooks.install(text, free) == hooks.install("{}", free)
    assert hooks.install(hooks.install(text, free), [free[0]._replace(timeout=3)]) == text.replace(
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


def test_a_hook_that_is_there_twice_is_there_once_after() -> None:
    value = _load(hooks.install("{}", OURS))
    value["hooks"]["SessionStart"] *= 3
    assert hooks.installed(hooks.install(json.dumps(value), OURS)) == [*OURS]
    assert hooks.remove(json.dumps(value, indent=1)) == "{}"


def test_what_is_no_command_is_not_a_hook_of_kedge() -> None:
    text = hooks.install("{}", OURS).replace('"command",', '"prompt",')
    assert hooks.installed(text) == []
    assert hooks.remove(text) == text


# Refusals


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "s.json:1: the text ends"),
        ('{\n"a": 1,\n}', "s.json:3: a comma"),
        ('{\n// mine\n"a": 1}', "s.json:2: a comment"),
        ("[]", "s.json:1: the whole must be an object, and is an array"),
        ("null", "s.json:1: the whole must be an object, and is null"),
        ('{"hooks": null}', "s.json:1: hooks must be an object, and is null"),
        ('{"hooks":\n[]}', "s.json:2: hooks must be an object, and is an array"),
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
def test_where_no_hook_can_be_there_is_nothing_to_take_out(text: str) -> None:
    assert hooks.remove(text) == text
    assert hooks.installed(text) == []


def test_what_cannot_be_read_is_not_taken_for_empty() -> None:
    for text in ("{", '{"hooks": {}, "hooks": {}}'):
        for act in (hooks.remove, hooks.installed):
            with pytest.raises(ConfigError, match=r"s\.json:1: "):
                act(text, where="s.json")


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    assert hooks.read(path, where="settings.json") is None
    path.write_bytes(b"\xef\xbb\xbf{}\r\n")
    assert hooks.read(path, where="settings.json") == "\ufeff{}\r\n"
    path.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(ConfigError, match=r"settings\.json:2: not UTF-8"):
        hooks.read(path, where="settings.json")


def test_hostile_settings_cost_no_more_than_their_size() -> None:
    with in_time(60):
        deep = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
        wide = '{"a": "' + "\\ud800" * 1_600_000 + '"}'
        command = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"kedge %s"}]}]}}'
        long = command % ("'" * 9_999_999)
        for text in (deep, wide, long):
            assert hooks.remove(hooks.install(text, OURS)) == text
        entry = json.dumps(_load(hooks.install("{}", OURS))["hooks"]["SessionStart"][0])
        many = '{"hooks":{"SessionStart":[' + ",".join([entry] * 5_000) + "]}}"
        assert hooks.installed(hooks.install(many, OURS)) == [*OURS]
        assert hooks.remove(many) == '{"hooks":{"SessionStart":[]}}'


# The command


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
    st.sampled_from(["claude", "codex"]),
)
def test_the_command_survives_a_shell_and_is_known_again(name: str, agent: str) -> None:
    python, file = Path(f"/{name}/bin/python3"), Path(f"/{name}/kedge/hook.py")
    if not name.isprintable():
        with pytest.raises(InvalidValue):
            command(python, file, agent)
        return
    line = command(python, file, agent)
    assert is_ours(line)
    assert shlex.split(line) == [str(python), "-I", "-S", str(file), agent]


def test_a_shell_runs_the_command(tmp_path: Path) -> None:
    file = tmp_path / "it's $HOME; `x`" / "kedge" / "hook.py"
    file.parent.mkdir(parents=True)
    file.write_text("import sys\nprint(sys.argv[1:], sys.flags.isolated)\n")
    line = command(Path(sys.executable), file, "claude")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "['claude'] 1\n"


def test_a_command_that_could_not_be_known_again_is_refused() -> None:
    for python, file in (
        ("/bin/python3", "/opt/other/hook.py"),
        ("/bin/python3", "kedge/hook.py"),
        ("/bin/py\nthon3", "/opt/kedge/hook.py"),
        ("/bin/\udc80/python3", "/opt/kedge/hook.py"),
    ):
        with pytest.raises(InvalidValue) as refused:
            command(Path(python), Path(file), "claude")
        assert "kedge hook claude" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "line",
    [
        portable("claude"),
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
def test_commands_of_kedge(line: str) -> None:
    assert is_ours(line)


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
def test_commands_of_the_user(line: str) -> None:
    assert not is_ours(line)
    text = hooks.install("{}", [Hook("SessionStart", None, line)])
    assert hooks.installed(text) == []
    assert hooks.remove(text) == text
    assert hooks.remove(hooks.install(text, OURS)) == text


def test_a_command_of_any_length_is_looked_at_in_no_time() -> None:
    with in_time(5):
        assert not is_ours("kedge hook claude --x=" + "y" * 50_000_000)


# The agents


@pytest.fixture
def place(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of a user whose agents' settings are in directories of the test."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    for name in (tmp_path / "claude", tmp_path / "codex", repo / ".claude", repo / ".codex"):
        name.mkdir()
    return projects.find(repo)


def test_where_hooks_go() -> None:
    assert claude.settings_file() == ".claude/settings.local.json"
    assert claude.settings_file(shared=True) == ".claude/settings.json"
    assert codex.settings_file() == codex.settings_file(shared=True) == ".codex/hooks.json"
    starts = [hook.matcher for hook in HOOKS if hook.event == "SessionStart"]
    assert starts == ["startup|resume|clear", "compact"]
    assert {hook.event for hook in HOOKS} == {
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
        *("Stop", "SubagentStop", "PreCompact", "SessionEnd"),
    }


@pytest.mark.parametrize(
    ("name", "by"), [(".claude", "claude"), ("CLAUDE.md", "claude"), (".codex", "codex")]
)
def test_which_agents_a_project_is_used_with(repo: Path, name: str, by: str) -> None:
    project = projects.find(repo)
    assert not claude.used(project)
    assert not codex.used(project)
    if name.endswith(".md"):
        (repo / name).touch()
    else:
        (repo / name).mkdir()
    assert (claude.used(project), codex.used(project)) == (by == "claude", by == "codex")


def _program(directory: Path, name: str, script: str) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_version_of_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    assert claude.found() is None
    assert claude.version() is None
    path = _program(
        tmp_path,
        "claude",
        'test "$1$ANTHROPIC_API_KEY" = --version && echo "2.1.325 (Claude Code)"',
    )
    assert claude.found() == path
    assert claude.version() == "2.1.325"
    _program(tmp_path, "codex", "echo codex-cli 0.166.0-alpha.4; pwd")
    assert codex.version() == "0.166.0-alpha.4"


@pytest.mark.parametrize("script", ["exit 1", "echo 1.2.3; exit 3", "echo none", "sleep 60"])
def test_an_agent_that_does_not_say_its_version(tmp_path: Path, script: str) -> None:
    path = _program(tmp_path, "claude", script)
    assert program.version(path, timeout=0.5) is None


def test_a_program_of_the_repository_is_not_started(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(repo, "claude", "touch ran; echo 1.2.3")
    monkeypatch.chdir(repo)
    monkeypatch.setenv("PATH", f":.{os.pathsep}/usr/bin")
    assert claude.found() is None
    assert claude.version() is None
    assert not (repo / "ran").exists()


def _claude_problems(place: Project, tmp_path: Path) -> list[str]:
    return claude.problems(place, managed=tmp_path / "managed.json")


def test_what_disables_hooks_in_claude(place: Project, tmp_path: Path) -> None:
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


def test_settings_that_claude_cannot_use(place: Project, tmp_path: Path) -> None:
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


def test_what_keeps_codex_from_running_hooks(place: Project, tmp_path: Path) -> None:
    settings, file = tmp_path / "codex" / "config.toml", place.root / codex.FILE
    trusted = f'[projects."{place.root}"]\ntrust_level = "trusted"\n'
    (told,) = codex.problems(place)
    assert "trust this project" in told
    settings.write_text(trusted.replace("trusted", "untrusted"))
    assert codex.problems(place) == [told]
    settings.write_text(trusted)
    assert codex.problems(place) == []
    file.write_text(hooks.install(None, calling(portable("codex"))))
    (told,) = codex.problems(place)
    assert "/hooks" in told
    state = f'[hooks.state."{file}:session_start:0:0"]\n'
    settings.write_text(trusted + state + "enabled = true\n")
    assert codex.problems(place) == [told]
    settings.write_text(trusted + state + 'trusted_hash = "sha256:00"\n')
    assert codex.problems(place) == []
    settings.write_text(settings.read_text() + "[features]\nhooks = false\n")
    (told,) = codex.problems(place)
    assert told == f"{settings}: features.hooks is false, so no hook runs; set it to true"


def test_settings_that_codex_cannot_use(place: Project, tmp_path: Path) -> None:
    settings, file = tmp_path / "codex" / "config.toml", place.root / codex.FILE
    file.write_text("{\n")
    (told,) = codex.problems(place)
    assert told.startswith(f"{codex.FILE}:2: ")
    file.unlink()
    settings.write_text("projects = 1\nfeatures = []\nhooks.state = 3\n")
    assert len(codex.problems(place)) == 1
    settings.write_text("a = 1\nb =\n")
    (told,) = codex.problems(place)
    assert told.startswith(f"{settings}:2: ")
