"""The plugin's prompts: the commands they name exist, and they are short."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support import Kedge, assert_clear, git

from kedge import __version__
from kedge.cli.commands import root
from kedge.cli.edge import Edge
from kedge.host import tokens
from kedge.knowledge.log import report
from kedge.knowledge.reviews.answer import parse_answer
from kedge.plugin import roles

ROLES = roles.read_roles()
AGENTS = {
    *("implementer", "spec-reviewer", "design-reviewer", "plan-reviewer", "task-reviewer"),
    *("phase-reviewer", "security-reviewer", "implementation-reviewer"),
}
COMMANDS = {"specify", "design", "create-plan", "create-tasks", "implement", "finish", "retro"}
SKILLS = {"implementing", "retrospecting"}
PHASES = {
    "specify": "spec-reviewer",
    "design": "design-reviewer",
    "create-plan": "plan-reviewer",
    "create-tasks": "task-reviewer",
}
_FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`]+)`")


def find_commands(text: str) -> Iterator[str]:
    """Yield the kedge commands in the fences and code spans of a text."""
    for last_fence in _FENCE.findall(text):
        yield from (line.strip() for line in last_fence.splitlines() if "kedge " in line)
    for span in _SPAN.findall(_FENCE.sub("", text)):
        if span.startswith("kedge "):
            yield " ".join(span.split())


def last_fence(text: str) -> str:
    """Return the content of the last fence of a prompt."""
    return str(_FENCE.findall(text)[-1]).partition("\n")[2].rpartition("\n")[0]


def parse(line: str) -> list[str]:
    """Parse a line as kedge would, without running it, and return the command's full name."""
    words = shlex.split(line)[1:]
    command: click.Command | None = root
    context = click.Context(root, info_name="kedge", obj=Edge(json=False))
    path: list[str] = []
    while isinstance(command, click.Group):
        path.append(words[len(path)])
        command = command.get_command(context, path[-1])
    if command is None:
        raise LookupError(line)
    if words != path:  # else the prompt only names the command
        command.make_context(path[-1], words[len(path) :], parent=context)
    return path


def test_all_roles_exist() -> None:
    by_kind = {kind: set[str]() for kind in ("agent", "command", "skill")}
    for role in ROLES.values():
        by_kind[role.kind].add(role.name)
    assert by_kind == {"agent": AGENTS, "command": COMMANDS, "skill": SKILLS}


@pytest.mark.parametrize("name", sorted(ROLES))
def test_every_command_in_a_prompt_parses(name: str) -> None:
    for text in (ROLES[name].text, roles.render_prompt(ROLES[name], "014")):
        for line in find_commands(text):
            parse(line)


@pytest.mark.parametrize(
    "line",
    [
        "kedge nothing",
        "kedge feature scop DIR 1.1",
        "kedge feature scope DIR",
        "kedge feature tasks DIR --jsno",
        "kedge context begin TASK",
        "kedge context diff TASK --agent a --type sideways",
    ],
)
def test_unknown_command_in_a_prompt_is_detected(line: str) -> None:
    with pytest.raises(Exception, match=r".") as caught:
        parse(line)
    assert not isinstance(caught.value, AssertionError)


def test_prompts_leave_mechanical_steps_to_kedge() -> None:
    data = {" ".join(parse(line)) for role in ROLES.values() for line in find_commands(role.text)}
    assert data >= {
        *("feature tasks", "feature scope", "feature brief", "feature lint"),
        *("log append", "log read", "log archive", "review record", "review outcome", "retro"),
        *("context init", "context begin", "context snapshot", "context verify", "context diff"),
        *("context record-qa", "task claim", "task close", "knowledge stale", "knowledge retire"),
    }
    assert "kedge retro SUBJECT --apply -" in set(find_commands(ROLES["retrospecting"].text))


def test_plugin_has_the_version_of_kedge() -> None:
    manifest = json.loads(roles.read_files()[".claude-plugin/plugin.json"])
    assert manifest["version"] == __version__


def test_prompts_are_short() -> None:
    for role in ROLES.values():
        assert tokens.count(role.text) < 700, role.name
    always = [f"{role.name}: {role.head['description']}" for role in ROLES.values()]
    assert tokens.count("\n".join(always)) < 400


def test_only_the_user_can_start_a_command() -> None:
    """Sessions load descriptions of agents and skills only, and no command starts by itself."""
    for role in ROLES.values():
        off = role.head.get("disable-model-invocation") == "true"
        assert off == (role.kind == "command"), role.name


def test_prompts_allow_no_shell_command_but_kedge() -> None:
    """`record-qa` runs any command, so the client has to ask the user for it."""
    for role in ROLES.values():
        allowed = re.sub(r"^(Skill\(kedge:[a-z]+\), )+", "", role.head.get("allowed-tools", ""))
        rules = re.findall(r"Bash\(kedge ([a-z -]+):\*\)", allowed)
        assert ", ".join(f"Bash(kedge {rule}:*)" for rule in rules) == allowed, role.name
        for rule in rules:
            words = rule.split()
            assert words[0] in {"context", "feature", "knowledge", "log", "retro", "review", "task"}
            assert words != ["context"] and words[1:2] != ["record-qa"]


def test_steps_of_a_task_work_in_the_documented_order(repo: Path, kedge: Kedge) -> None:
    git(repo, "commit", "--allow-empty", "-qm", "first")
    kedge("task", "add", "Moor", "--id", "m1", "--description", "x", "--accept", "it holds")
    kedge("task", "update", "m1", "--check", "true")
    answer = last_fence(ROLES["implementation-reviewer"].text).replace("false", "true", 1)
    given = {"log append": last_fence(ROLES["implementer"].text), "review record": answer}
    lines = [line for line in find_commands(ROLES["implement"].text) if "FEATURE" not in line]
    assert len(lines) >= 15
    for line in lines:
        words = shlex.split(line.replace("TASK", "m1").replace("SUBJECT", "m1"))[1:]
        if words[:2] == ["log", "append"]:
            (repo / "src").mkdir()
            (repo / "src" / "one.py").write_text("x = 1\n")
        kedge(*words, input=given.get(" ".join(words[:2])))
    assert kedge.json("task", "show", "m1")["status"] == "done"


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_is_reviewed_in_two_stages(phase: str) -> None:
    text, reviewer = ROLES[phase].text, PHASES[phase]
    record = f"kedge review record FEATURE --phase {phase} --reviewer {reviewer} --from -"
    outcome = f"kedge review outcome FEATURE --phase {phase} --reviewer {reviewer}"
    places = [
        text.index(part)
        for part in (
            f"`kedge:{reviewer}`",
            f"`{record}`",
            "at its cap",
            "`kedge:phase-reviewer`",
            f"`{outcome}`",
            "## Next phase",
        )
    ]
    assert places == sorted(places)


def test_reviewers_have_no_editing_tools() -> None:
    for name in AGENTS - {"implementer"}:
        tools = set(ROLES[name].head["tools"].split(", "))
        assert not tools & {"Edit", "Write", "NotebookEdit", "Agent", "Task"}
        assert ("Bash" in tools) == (name in ("security-reviewer", "implementation-reviewer"))


@pytest.mark.parametrize("name", ["security-reviewer", "implementation-reviewer"])
def test_external_claims_are_verified_with_external_tools(name: str) -> None:
    role = ROLES[name]
    web = {"WebSearch", "mcp__context7__resolve-library-id", "mcp__context7__query-docs"}
    assert web <= set(role.head["tools"].split(", "))
    assert "MUST verify at least one" in role.text
    assert "Missing tools alone are no reason to refuse" in role.text
    for field in ("verified", "unverified", "no_external_claims", "tools_missing"):
        assert f'"{field}"' in role.text


def test_requested_report_form_parses_completely() -> None:
    read = report.parse_report(last_fence(ROLES["implementer"].text))
    assert not read.partial
    assert read.files == ("src/one.py",)
    assert read.self_review is not None
    for name in ("implemented", "tested", "decisions", "deviations", "concerns"):
        assert getattr(read, name) != report.NONE, name


@pytest.mark.parametrize("name", sorted(AGENTS - {"implementer"}))
def test_requested_review_form_parses_completely(name: str) -> None:
    text = last_fence(ROLES[name].text)
    read = parse_answer(text)
    assert read.result == "failed"
    (finding,) = read.findings
    assert (finding.severity, finding.text) == ("blocker", "what is wrong")
    assert finding.location == json.loads(text)["issues"][0]["location"]
    for word in re.findall(r"^`([a-z]+)`: |`([a-z]+)`: the rest", ROLES[name].text, re.MULTILINE):
        assert "".join(word) in ("blocker", "major", "minor")


def test_verified_claims_of_a_review_are_parsed() -> None:
    data = {"approved": True, "issues": [], "unverified": ["it is safe"], "tools_missing": ["x"]}
    read = parse_answer(json.dumps(data)).claims
    assert (read.unverified, read.tools_missing) == (("it is safe",), ("x",))
    data = {"approved": True, "issues": [], "verified": [{"claim": "a", "source": "b"}]}
    assert [(one.claim, one.source) for one in parse_answer(json.dumps(data)).claims.verified] == [
        ("a", "b")
    ]
    assert parse_answer('{"approved": true, "no_external_claims": true}').claims.none


# For other agents


@pytest.mark.parametrize("name", sorted(ROLES))
def test_other_agents_get_the_same_prompt(kedge: Kedge, name: str) -> None:
    data = kedge.json("prompt", "014", "--role", name)
    text = data["text"]
    assert kedge("prompt", "014", "--role", name).out == text
    assert data["tokens"] == tokens.count(text) == data["sections"][0]["tokens"]
    assert "014" in text
    for word in ("$ARGUMENTS", "kedge:", "allowed-tools", "run_in_background", "---\n"):
        assert word not in text
    own = [line for line in ROLES[name].text.splitlines() if "kedge:" not in line]
    assert sum(line in text for line in own) >= len(own) - 2  # one source
    named = set(re.findall(r"--role ([a-z-]+)", text))
    assert named <= ROLES.keys()


def test_prompt_for_other_agents_says_how_to_call_a_role(kedge: Kedge) -> None:
    text = kedge("prompt", "014", "--role", "implement").out
    assert "`kedge prompt --role NAME`" in text
    assert "do what `kedge prompt FEATURE --role implementing` says" in text
    assert "Next, for a feature: `kedge prompt FEATURE --role finish`" in text
    assert "Do what `kedge prompt 014 --role retrospecting` says" in (
        kedge("prompt", "014", "--role", "retro").out
    )
    assert "kedge prompt --role NAME" not in kedge("prompt", "--role", "spec-reviewer").out


def test_unknown_role_lists_the_roles(kedge: Kedge) -> None:
    ran = kedge("prompt", "--role", "captain", code=2)
    assert_clear(ran, code=2, says="no role 'captain'")
    for name in ROLES:
        assert name in ran.err
    assert_clear(kedge("prompt", code=2), code=2, says="no task and no role given")
    both = kedge("prompt", "--role", "retro", "--explain", code=2)
    assert_clear(both, code=2, says="--role cannot be combined with")


def test_prompt_of_a_task_still_works(kedge: Kedge) -> None:
    kedge("task", "add", "Moor", "--id", "m1", "--accept", "it stays")
    assert "Task ID: m1" in kedge("prompt", "m1").out
