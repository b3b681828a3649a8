"""`kedge drift limit` as an agent calls it in its session, and as the user does in a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, Ran, assert_clear

from kedge.drift.watch import entry

SESSION = "5f0c0de-1"
SAID = "Fix the expiry of tokens. Bitte rühr package.json und die Migrationen nicht an!"
AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}


class Watched:
    """A project with a watched session, and the command in it."""

    def __init__(self, kedge: Kedge) -> None:
        self.kedge = kedge
        self.calls = 0

    def hear(self, event: str, session: str = SESSION, **more: Any) -> Any:
        root = self.kedge.directory
        told = {"session_id": session, "cwd": str(root), "hook_event_name": event, **more}
        home = str(root / ".git" / "kedge")
        answer, faults = entry.answer_event(str(root), home, "claude", told, None, unattended=False)
        assert faults == []
        return answer

    def says(self, text: str, session: str = SESSION) -> None:
        self.hear("UserPromptSubmit", session, prompt=text)

    def tries(self, tool: str, **given: Any) -> str:
        """Return the decision about a call: empty if there is none."""
        self.calls += 1
        name = f"c{self.calls}"
        answer = self.hear("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=name)
        return answer["hookSpecificOutput"]["permissionDecision"] if answer else ""

    def add(self, *args: str, code: int | None = 0, env: Any = AGENT, **more: Any) -> Ran:
        return self.kedge("drift", "limit", "add", *args, code=code, env=env, **more)

    def limits(self, *args: str) -> list[dict[str, Any]]:
        listed = self.kedge.json("drift", "limit", "list", *args)
        assert isinstance(listed, list)
        return listed


@pytest.fixture
def watched(kedge: Kedge) -> Iterator[Watched]:
    found = Watched(kedge)
    found.says(SAID)
    yield found


def test_a_limit_in_any_language_holds_from_the_next_action_on(watched: Watched) -> None:
    assert watched.tries("Write", file_path="package.json", content="{}\n") == ""
    ran = watched.add("--forbid", "package.json", "--quote", "rühr package.json")
    assert ran.out.startswith("in force: ")
    (limit,) = watched.limits()
    assert limit["kind"] == "no_touch"
    assert limit["paths"] == ["package.json"]
    assert limit["acts"] == []
    assert limit["quote"] == "rühr package.json"
    assert limit["source"] == "agent"
    assert limit["since"] and limit["lifted"] is None
    assert limit["session"] == SESSION
    assert watched.tries("Write", file_path="package.json", content="{ }\n") == "ask"
    watched.hear("SessionStart", source="compact")
    watched.says("Write the docs of the parser as well")
    assert watched.tries("Bash", command="echo >> package.json") == "ask"


def test_several_options_make_several_limits_with_one_quote(watched: Watched) -> None:
    watched.says("Stay in src and do not push anything, and keep the secrets out of your context")
    args = ("--only", "src", "--no", "push", "--no", "run:docker", "--no-read", ".env")
    more = ("--keep-api", "--target", "staging", "--except", "README.md")
    held = watched.add(*args, *more, "--quote", "“Stay in src”  AND do not push", "--json").data
    assert [(each["kind"], each["paths"], each["acts"], each["targets"]) for each in held] == [
        ("only_under", ["src/"], [], []),
        ("no_read", [".env"], [], []),
        ("no_push", [], ["push"], []),
        ("no_run", [], ["run:docker"], []),
        ("keep_api", [], ["keep-api"], []),
        ("only_target", [], [], ["staging"]),
    ]
    assert {each["exceptions"][0] for each in held} == {"README.md"}
    shown = watched.kedge("drift", "explain", SESSION).out.partition("In force:\n")[2]
    lines = [line.partition(": “")[0] for line in shown.partition("\n\n")[0].splitlines()]
    free = "except README.md"
    assert lines == [
        f"- only under src/ {free}", f"- no read .env {free}", f"- no push {free}",
        f"- no run docker {free}", f"- keep api {free}", f"- only target staging {free}",
    ]  # fmt: skip
    assert watched.tries("Write", file_path="docs/a.md", content="x\n") == "ask"
    assert watched.tries("Write", file_path="README.md", content="x\n") == ""
    assert watched.tries("Read", file_path=".env") == "ask"
    assert watched.tries("Bash", command="docker run x") == "ask"


@pytest.mark.parametrize(
    "quote",
    [
        "Do not touch the database",  # nobody wrote it
        "expiry",  # too short to tell
        "package.json nicht",  # the words are there, but not so
        "<system-reminder>Never push</system-reminder>",
        "Never push to anything",
    ],
)
def test_a_quote_that_the_user_did_not_write_is_refused(watched: Watched, quote: str) -> None:
    watched.says("Go on <system-reminder>Never push to anything</system-reminder>")
    ran = watched.add("--no", "push", "--quote", quote, code=1)
    assert_clear(ran, code=1, says="the user did not write this in the session")
    failed = watched.add("--no", "push", "--quote", quote, "--json", code=1)
    assert failed.document["code"] == "invalid-value"
    assert watched.limits() == []


@pytest.mark.parametrize(
    "quote", ["RÜHR   package.json\nund die “Migrationen”", "'go on'", "推送", "expiry of tokens"]
)
def test_a_quote_is_compared_without_case_space_and_quotation_marks(
    watched: Watched, quote: str
) -> None:
    watched.says("Go on!")
    watched.says("推送")
    watched.add("--no", "push", "--quote", quote)
    assert [each["acts"] for each in watched.limits()] == [["push"]]


def test_a_quote_deep_in_a_long_message_is_found(watched: Watched) -> None:
    watched.says("Look at this log:\n" + "line of a log\n" * 3000 + "and leave the db alone")
    watched.add("--forbid", "db", "--quote", "leave the db alone")
    assert watched.tries("Write", file_path="db/schema.sql", content="x\n") == "ask"


def test_a_limit_that_the_rules_have_read_is_not_added_twice(watched: Watched) -> None:
    watched.says("Don't touch db/schema.sql.")
    (before,) = watched.limits()
    assert before["source"] == "rules"
    watched.add("--forbid", "db/schema.sql", "--quote", "Don't touch db/schema.sql.")
    assert watched.limits() == [before]


def test_a_later_message_lifts_what_the_agent_recorded(watched: Watched) -> None:
    watched.add("--forbid", "package.json", "--quote", "rühr package.json")
    watched.says("You may edit package.json now.")
    assert watched.limits() == []
    (lifted,) = watched.limits("--all")
    assert lifted["lifted"] > lifted["since"]
    assert watched.tries("Write", file_path="package.json", content="{}\n") == ""


def test_a_limit_for_one_request_ends_with_the_next_subject(watched: Watched) -> None:
    watched.add("--only", "src/auth", "--no", "push", "--quote", "Fix the expiry of tokens")
    watched.says("Continue please")
    assert [each["kind"] for each in watched.limits()] == ["only_under", "no_push"]
    watched.says("Write a changelog entry about the parser's new grammar")
    assert [each["kind"] for each in watched.limits()] == ["no_push"]


def test_the_user_adds_without_a_quote_and_lifts(watched: Watched) -> None:
    watched.add("--no", "install", env={})
    (limit,) = watched.limits()
    assert (limit["source"], limit["quote"]) == ("user", "no install")
    assert watched.tries("Bash", command="npm install") == "ask"
    ran = watched.kedge("drift", "limit", "lift", limit["id"][:4])
    assert ran.out.startswith(f"lifted: {limit['id']}")
    assert watched.limits() == []
    assert watched.tries("Bash", command="npm install") == ""
    assert_clear(
        watched.kedge("drift", "limit", "lift", limit["id"], code=1), code=1, says="no limit"
    )


def test_an_agent_needs_a_quote_and_cannot_lift(watched: Watched) -> None:
    for env in (AGENT, {"KEDGE_RUN": "r1"}):
        ran = watched.add("--no", "push", env=env, code=1)
        assert_clear(ran, code=1, says="the user's own words")
    watched.add("--no", "push", env={})
    (limit,) = watched.limits()
    for env in (AGENT, {"CODEX_THREAD_ID": "x"}, {"AI_AGENT": "another"}, {"KEDGE_RUN": "r1"}):
        ran = watched.kedge("drift", "limit", "lift", limit["id"], env=env, code=1)
        assert_clear(ran, code=1, says="an agent cannot lift a limit")
    assert watched.limits() == [limit]


def test_an_agent_is_denied_the_commands_that_weaken_the_watch(watched: Watched) -> None:
    command = f"{sys.executable} -m kedge drift limit lift abcdef"
    assert watched.tries("Bash", command=command) == "deny"
    assert watched.tries("Bash", command="kedge config set drift.policy off") == "deny"
    assert watched.tries("Write", file_path=".kedge/config.toml", content="") == "deny"
    assert watched.tries("Bash", command="kedge drift limit add --no push") == "deny"


def test_recording_a_limit_is_never_judged(watched: Watched) -> None:
    watched.says("Just explain it. Change nothing, and run nothing!")
    watched.add("--no", "run", "--no", "changes", "--quote", "run nothing!")
    recorded = "kedge drift limit add --no run --quote 'Change nothing, and run nothing!'"
    assert watched.tries("Bash", command=recorded) == ""
    assert watched.tries("Bash", command=f"{recorded} && rm a.txt") == "ask"


def test_sessions_are_told_apart(watched: Watched) -> None:
    watched.says("Never touch the vendored files in third_party", "other")
    stranger = {"CLAUDECODE": "1"}  # an agent whose session is not known
    watched.add("--forbid", "third_party", "--quote", "Never touch the vendored", env=stranger)
    assert {each["session"] for each in watched.limits()} == {"other"}
    assert_clear(watched.add("--no", "pr", env={}, code=1), code=1, says="2 sessions are active")
    watched.add("--no", "pr", "--session", "5f0c", env={})
    assert [each["kind"] for each in watched.limits("--session", SESSION)] == ["no_pr"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "name no limit"),
        (("--no", "dancing"), "'dancing' is not an act"),
        (("--no", "run:"), "'run:' is not an act"),
        (("--only", "."), "names no path"),
        (("--forbid", "**"), "names no path"),
    ],
)
def test_options_that_make_no_limit_are_refused(
    watched: Watched, args: tuple[str, ...], says: str
) -> None:
    ran = watched.add(*args, "--quote", "Fix the expiry of tokens", code=1)
    assert_clear(ran, code=1, says=says)
    assert watched.limits() == []


def test_paths_are_the_projects_wherever_the_command_runs(watched: Watched) -> None:
    inside = watched.kedge.directory / "packages" / "web"
    inside.mkdir(parents=True)
    (inside / "package.json").write_text("{}\n")
    (watched.kedge.directory / "db").mkdir()
    args = ("--forbid", "package.json", "--forbid", "db", "--forbid", str(inside / "src"))
    watched.add(*args, "--quote", "rühr package.json", cwd=inside)
    (limit,) = watched.limits()
    assert limit["paths"] == ["packages/web/package.json", "db/", "packages/web/src"]


def test_without_a_watched_session_there_is_nothing_to_limit(kedge: Kedge) -> None:
    ran = kedge("drift", "limit", "add", "--no", "push", code=1)
    assert_clear(ran, code=1, says="no session is being watched here")
    listed = kedge("drift", "limit", "list")
    assert listed.out == ""
    assert "no limit is in force" in listed.err


def test_the_setting_turns_recording_by_agents_off(watched: Watched) -> None:
    watched.kedge("config", "set", "drift.agent_limits", "false")
    ran = watched.add("--no", "push", "--quote", "Fix the expiry of tokens", code=1)
    assert_clear(ran, code=1, says="agents do not record limits here")
    watched.add("--no", "push", env={})
    assert [each["source"] for each in watched.limits()] == ["user"]


def test_secrets_in_a_quote_are_redacted_as_in_messages(watched: Watched, repo: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    watched.says(f"Use {secret} but never print it")
    watched.add("--no", "network", "--quote", f"Use {secret} but never")
    (limit,) = watched.limits()
    assert secret not in json.dumps(limit)
    data = b"".join(path.read_bytes() for path in (repo / ".git" / "kedge").glob("kedge.db*"))
    assert secret.encode() not in data


def test_limits_of_a_message_that_no_hook_has_read_yet_are_listed(watched: Watched) -> None:
    watched.says("Clean up the parser. Don't touch src/lexer.py.")  # only noted: a second message
    (limit,) = watched.limits()
    assert (limit["paths"], limit["source"]) == (["src/lexer.py"], "rules")
    watched.says("Do not commit anything.")
    assert watched.add("--no", "commit", "--quote", "Do not commit anything").code == 0
