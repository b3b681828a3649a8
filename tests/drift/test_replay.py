"""`kedge drift replay`: past sessions in, what kedge would have said out."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drift import mapped
from support import Kedge, assert_clear, git

from kedge.agents.transcripts.events import Event, PromptMessage, SessionFacts, ToolCall, ToolResult
from kedge.drift.replay import replay

Line = dict[str, Any]
GOAL = "Fix the lexer. Don't touch src/grammar.py."
KEY = "sk-ant-api03-" + "Zq7Lx2Vw9Rt4Kp8Nm3Bs" * 3


def edit(id: str, path: str, cwd: str = "/repo") -> ToolCall:
    given = {"file_path": path, "old_string": "a", "new_string": "b"}
    return ToolCall(id, "Edit", given, f"2026-01-01T00:00:{id[1:]:0>2}Z", cwd=cwd)


class Session:
    """A transcript of Claude Code's, a record a second."""

    def __init__(self, session: str = "s-1", cwd: str = "/gone/repo", day: str = "01") -> None:
        self.lines: list[Line] = []
        self.session, self.cwd, self.day = session, cwd, day

    def add(self, kind: str, content: Any, **more: Any) -> Session:
        number = len(self.lines)
        line = {
            "parentUuid": None,
            "isSidechain": False,
            "type": kind,
            "message": {"id": f"m-{number}", "role": kind, "content": content},
            "uuid": f"u-{self.session}-{number}",
            "timestamp": f"2026-01-{self.day}T00:00:{number:02}.000Z",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.325",
            **more,
        }
        self.lines.append(line)
        return self

    def asks(self, text: str) -> Session:
        return self.add("user", text)

    def calls(self, tool: str, **given: Any) -> Session:
        name = f"t-{self.session}-{len(self.lines)}"
        use = {"type": "tool_use", "id": name, "name": tool, "input": given}
        return self.add("assistant", [use])

    def edits(self, path: str) -> Session:
        return self.calls("Edit", file_path=path, old_string="a", new_string="b")

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path


@pytest.fixture
def strayed(tmp_path: Path) -> Path:
    """A session with an edit that was forbidden, in a project that is gone."""
    session = Session().asks(GOAL).edits("/gone/repo/src/lexer.py").calls("Bash", command="ls")
    return session.edits("/gone/repo/src/grammar.py").write(tmp_path / "one" / "s-1.jsonl")


class TestReplay:
    """The function itself."""

    def test_an_action_is_judged_by_what_came_before_it(self) -> None:
        told = replay(
            [
                SessionFacts("claude", "s-1", "/repo", "opus", "2.1"),
                PromptMessage(
                    "p1", "This is machine text: don't touch src/lexer.py", "", machine=True
                ),
                edit("a1", "/repo/src/grammar.py"),
                PromptMessage("p2", GOAL, "2026-01-01T00:00:01Z"),
                edit("a2", "/repo/src/lexer.py"),
                ToolResult("a2", True, ""),
                edit("a3", "/repo/src/grammar.py"),
            ],
            "/repo",
        )
        assert (told.actions, told.modifying, told.prompts, told.goal) == (3, 3, 1, GOAL)
        (alarm,) = told.alarms
        assert (alarm.step, alarm.action, alarm.tool) == (3, "a3", "Edit")
        assert alarm.score <= 4
        assert alarm.rules[0].rule == "limit"
        assert "src/grammar.py" in alarm.correction
        assert (told.started, told.ended) == ("2026-01-01T00:00:01Z", "2026-01-01T00:00:03Z")
        assert told.session.course.state == "DRIFTED"
        assert told.why

    def test_subagents_are_judged_by_the_words_of_the_user(self) -> None:
        below = replace(edit("a1", "/repo/src/grammar.py"), agent_id="x1")
        told = replay([PromptMessage("p1", GOAL, ""), below], "/repo")
        assert [alarm.agent_id for alarm in told.alarms] == ["x1"]
        assert told.agents == {"x1"}

    def test_what_was_counted_before_is_heard_and_not_counted(self) -> None:
        counted: set[str] = set()
        first: list[Event] = [PromptMessage("p1", GOAL, ""), edit("a1", "/repo/src/grammar.py")]
        assert len(replay(first, "/repo", counted=counted).alarms) == 1
        again = replay([*first, edit("a2", "/repo/src/grammar.py")], "/repo", counted=counted)
        assert (again.actions, again.copied, again.modifying) == (1, 1, 1)
        # the goal is that of the copied history
        assert [alarm.step for alarm in again.alarms] == [2]

    def test_a_secret_is_neither_in_the_evidence_nor_in_the_correction(self) -> None:
        events: list[Event] = [PromptMessage("p1", f"Fix the lexer. Don't push. It is {KEY}.", "")]
        # the evidence has the beginning of the command, and so the beginning of the secret
        command = f"./deploy --key {' ' * 80}{KEY} --wait"
        for number in range(4):
            events.append(ToolCall(f"a{number}", "Bash", {"command": command}, ""))
            events.append(ToolResult(f"a{number}", False, ""))
        told = replay(events, "/repo")
        assert "./deploy" in told.alarms[0].rules[0].evidence
        assert KEY[:10] not in json.dumps(told.data())

    def test_relative_paths_lie_where_the_call_was_made(self) -> None:
        only = PromptMessage("p1", "Change files under src/ only.", "")
        inside, outside = edit("a1", "lexer.py", "/repo/src"), edit("a2", "lexer.py", "/repo/docs")
        assert [alarm.step for alarm in replay([only, inside, outside], "/repo").alarms] == [2]


class TestCommand:
    def test_a_session_whose_repository_is_gone(self, kedge: Kedge, strayed: Path) -> None:
        (found,) = kedge.json("drift", "replay", str(strayed))
        assert found["session"] == "s-1"
        assert found["agent"] == "claude"
        assert found["goal"] == GOAL
        assert (found["actions"], found["modifying"]) == (3, 2)
        (alarm,) = found["alarms"]
        assert alarm["step"] == 3
        assert alarm["score"] <= 4
        assert alarm["level"] in ("intervene", "halt")
        assert alarm["rules"][0]["rule"] == "limit"
        assert "src/grammar.py" in alarm["rules"][0]["evidence"]
        assert found["course"]["state"] == "DRIFTED"
        assert found["needs_review"] is True

    def test_what_people_see(self, kedge: Kedge, strayed: Path) -> None:
        Session("s-2").asks("Fix it.").calls("Bash", command="ls").write(strayed.parent / "b.jsonl")
        plain = kedge("drift", "replay", str(strayed.parent)).out
        blocks = plain.split("\n\n")
        assert len(blocks) == 2  # the quiet session has none
        assert GOAL in blocks[0] and "step 3" in blocks[0] and "limit: " in blocks[0]
        summary = "2 sessions, 4 actions: 1 session with alarms, 1 alarm, 25.0 per 100 actions\n"
        assert blocks[1] == summary
        assert "[kedge]" not in plain
        assert "| [kedge]" in kedge("-v", "drift", "replay", str(strayed)).out

    def test_outside_of_a_repository(self, tmp_path: Path, strayed: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        kedge = Kedge(tmp_path / "elsewhere")
        assert len(kedge.json("drift", "replay", "../one")) == 1
        assert_clear(kedge("drift", "replay", "--all", code=1), code=1, says="git")

    def test_a_root_above_the_directory_of_the_session(self, kedge: Kedge, repo: Path) -> None:
        (repo / "docs").mkdir()
        session = Session(cwd=str(repo / "docs")).asks(GOAL)
        session.edits(str(repo / "src" / "lexer.py")).edits(str(repo / "src" / "grammar.py"))
        path = session.write(repo.parent / "s.jsonl")
        (found,) = kedge.json("drift", "replay", str(path))
        assert found["modifying"] == 2
        assert [alarm["step"] for alarm in found["alarms"]] == [2]

    def test_a_fork_counts_once(self, kedge: Kedge, strayed: Path) -> None:
        lines = [json.loads(line) for line in strayed.read_text().splitlines()]
        fork = Session("s-0")
        begun = {"type": "queue-operation", "timestamp": "2026-01-02T00:00:00Z", "sessionId": "s-0"}
        fork.lines = [begun, *({**line, "sessionId": "s-0"} for line in lines)]
        fork.edits("/gone/repo/src/grammar.py").write(strayed.parent / "a.jsonl")
        first, second = kedge.json("drift", "replay", str(strayed.parent))
        assert (first["session"], first["actions"], len(first["alarms"])) == ("s-1", 3, 1)
        assert (second["session"], second["actions"], len(second["alarms"])) == ("s-0", 1, 1)
        (alone,) = kedge.json("drift", "replay", str(strayed.parent / "a.jsonl"))
        assert (alone["actions"], len(alone["alarms"])) == (4, 2)

    def test_which_sessions_and_which_alarms(self, kedge: Kedge, strayed: Path) -> None:
        folder = strayed.parent
        Session("s-2", day="20").asks(GOAL).edits("/gone/repo/src/grammar.py").write(
            folder / "b.jsonl"
        )
        meta = {"type": "session_meta", "payload": {"id": "s-3", "cwd": "/gone"}}
        (folder / "c.jsonl").write_text(json.dumps({"timestamp": "2026-01-05T00:00:00Z", **meta}))

        def named(*flags: str) -> list[str]:
            return [each["session"] for each in kedge.json("drift", "replay", str(folder), *flags)]

        assert named() == ["s-1", "s-3", "s-2"]
        assert named("--since", "2026-01-20") == ["s-2"]
        assert named("--since", "2026-01-20T00:00:02+00:00") == []
        assert named("--agent", "codex") == ["s-3"]
        os.utime(folder / "b.jsonl", (0, 0))  # written before: nothing in it can be later
        assert named("--since", "2026-01-02") == []
        found = kedge.json("drift", "replay", str(folder), "--min-level", "halt")
        assert [each["alarms"] for each in found] == [[], [], []]

    def test_damage_is_one_warning_for_each_file(self, kedge: Kedge, strayed: Path) -> None:
        text = strayed.read_text()
        strayed.write_text(text + "garbage\n" + text[:100] + "\n" + "{")
        document = kedge("drift", "replay", str(strayed), "--json").document
        assert document["warnings"] == [f"{strayed}:5: 3 damaged lines"]
        assert document["data"][0]["actions"] == 3
        assert document["warnings"][0] in kedge("drift", "replay", str(strayed)).err

    def test_secrets_and_controls_are_not_printed(self, kedge: Kedge, tmp_path: Path) -> None:
        session = Session("s-\x1b[31m", f"/gone/{KEY}").asks(
            f"Fix \x1b[2J the lexer with {KEY}. Don't push."
        )
        path = session.calls("Bash", command=f"git push https://u:{KEY}@example.org").write(
            tmp_path / "s.jsonl"
        )
        for flags in ((), ("--json",), ("-v",)):
            out = kedge("drift", "replay", str(path), *flags).out
            assert "git push" in out
            assert KEY[:20] not in out
            assert "\x1b" not in out

    def test_wrong_usage(self, kedge: Kedge, tmp_path: Path, strayed: Path) -> None:
        (tmp_path / "other.jsonl").write_text('{"id": "t-1"}\n')
        for args, code, says in (
            ((), 2, "give either PATH or --all"),
            (("--all", str(strayed)), 2, "give either PATH or --all"),
            ((str(strayed), "--since", "yesterday"), 2, "is not a date"),
            ((str(strayed), "--since", "0001-01-01T00:00+14:00"), 2, "is not a date"),
            ((str(strayed), "--min-level", "none"), 2, "--min-level"),
            ((str(strayed), "--agent", "other"), 2, "--agent"),
            ((str(tmp_path / "missing"),), 1, "no file or directory"),
            ((str(tmp_path / "other.jsonl"),), 1, "is not a transcript"),
        ):
            assert_clear(kedge("drift", "replay", *args, code=code), code=code, says=says)

    def test_a_directory_with_nothing_in_it(self, kedge: Kedge, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert kedge.json("drift", "replay", str(tmp_path / "empty")) == []
        ran = kedge("drift", "replay", str(tmp_path / "empty"))
        assert ran.out == ""
        assert f"opencode was found; looked in {tmp_path}" in ran.err


class TestHistory:
    """`--all`: the sessions of this project in the user's home."""

    def test_those_that_ran_in_this_project(self, kedge: Kedge, repo: Path, tmp_path: Path) -> None:
        home = tmp_path / "home"
        projects = home / ".claude" / "projects"

        def claude(session: str, cwd: Path) -> None:
            slug = "".join(each if each.isalnum() else "-" for each in str(cwd))
            Session(session, str(cwd)).calls("Bash", command="ls").write(
                projects / slug / f"{session}.jsonl"
            )

        claude("here", repo)
        claude("below", repo / "src")
        claude("beside", tmp_path / "repo-two")
        claude("above", tmp_path)
        day = home / ".codex" / "sessions" / "2026" / "01" / "01"
        day.mkdir(parents=True)
        for session, cwd in (("codex-here", repo), ("codex-other", tmp_path), ("relative", ".")):
            meta = {"type": "session_meta", "payload": {"id": session, "cwd": str(cwd)}}
            stamped = {"timestamp": "2026-01-03T00:00:00Z", **meta}
            (day / f"rollout-{session}.jsonl").write_text(json.dumps(stamped) + "\n")

        def named(*flags: str, **env: str) -> list[str]:
            home_ = {"HOME": str(home), **env}
            found = kedge.json("drift", "replay", "--all", *flags, env=home_)
            return sorted(each["session"] for each in found)

        assert named() == ["below", "codex-here", "here"]
        assert named("--agent", "claude") == ["below", "here"]
        shutil.move(home / ".claude", tmp_path / "moved")
        assert named() == ["codex-here"]
        moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved"), "CODEX_HOME": str(tmp_path / "no")}
        assert named(**moved) == ["below", "here"]

    def test_a_path_that_is_cut_in_the_name_of_its_directory(
        self, kedge: Kedge, tmp_path: Path
    ) -> None:
        long = tmp_path.joinpath(*["deep" * 12] * 6)
        long.mkdir(parents=True)
        git(long, "init", "--quiet")
        slug = "".join(each if each.isalnum() else "-" for each in str(long))[:200] + "-1x2y3z"
        place = tmp_path / "home" / ".claude" / "projects" / slug / "s-1.jsonl"
        Session("s-1", str(long)).calls("Bash", command="ls").write(place)
        env = {"HOME": str(tmp_path / "home")}
        found = kedge.json("drift", "replay", "--all", cwd=long, env=env)
        assert [each["session"] for each in found] == ["s-1"]


def test_the_map_of_the_current_project_is_used(kedge: Kedge, repo: Path, tmp_path: Path) -> None:
    """A change that shares nothing with the request is seen with the map alone."""
    mapped.fill(repo)
    work = {
        "src/auth/token.py": "if claim['exp'] < now(): raise Expired",
        "src/charts/pie.py": "radius = 12",
        "src/charts/svg/path.py": "sweep = 360",
        "src/auth/claims.py": "def has_passed(exp): return exp < now()",
    }
    found = {}
    for place in (str(repo), "/gone/repo"):
        session = Session(cwd=place).asks(mapped.GOAL)
        for path, text in work.items():
            session.calls("Edit", file_path=f"{place}/{path}", old_string="", new_string=text)
        file = session.write(tmp_path / "one" / "s-1.jsonl")
        (told,) = kedge.json("drift", "replay", "--min-level", "nudge", str(file))
        found[place] = told["alarms"]
    assert found["/gone/repo"] == []
    assert [(each["step"], each["score"]) for each in found[str(repo)]] == [(2, 7), (3, 6)]
    evidence = "src/charts/pie.py: shares no file, folder or word with the request"
    assert found[str(repo)][0]["rules"][0]["evidence"].startswith(evidence)


@pytest.mark.parametrize(
    ("calls", "deleted"),
    [
        (["pytest tests/test_claim.py", "rm tests/test_claim.py"], 0),
        (["python3 try_claim", "rm -rf try_claim"], 0),
        (["python3 try_claim", "rm -r try_claim tests/test_claim.py"], 0),
        (["rm tests/test_claim.py"], 1),  # nothing shows that it is the session's
        (["pytest tests/test_token.py", "rm tests/test_token.py"], 1),
        (["pytest tests/test_old.py", "rm tests/test_old.py"], 1),  # git had it
        (["python3 src/auth", "rm -rf src/auth"], 1),
        (["python3 try_claim", "rm -rf try_claim src/auth/*"], 1),
    ],
)
def test_what_is_run_is_own_if_the_project_never_had_it(
    kedge: Kedge, repo: Path, tmp_path: Path, calls: list[str], deleted: int
) -> None:
    """The call that creates a script or a test is not always in the record."""
    mapped.fill(repo)
    (repo / "tests" / "test_old.py").write_text("def test_old(): pass\n")
    for message in ("tests: add", "tests: remove"):
        git(repo, "add", "-A")
        git(repo, "commit", "--quiet", "-m", message)
        (repo / "tests" / "test_old.py").unlink(missing_ok=True)
    session = Session(cwd=str(repo)).asks(mapped.GOAL)
    for command in calls:
        session.calls("Bash", command=command)
    (told,) = kedge.json("drift", "replay", str(session.write(tmp_path / "s-1.jsonl")))
    assert len(told["alarms"]) == deleted


def test_a_map_that_cannot_be_made_is_a_warning(kedge: Kedge, repo: Path, tmp_path: Path) -> None:
    session = Session(cwd=str(repo)).asks(GOAL).edits(f"{repo}/src/grammar.py")
    file = session.write(tmp_path / "s-1.jsonl")
    (repo / ".git" / "kedge").write_text("not a directory")
    done = kedge("drift", "replay", "--json", str(file))
    answer = json.loads(done.out)
    assert [each["score"] for each in answer["data"][0]["alarms"]] == [3]
    assert answer["warnings"][0].startswith("replayed without a map: ")


GENERIC = (
    "Clean up: enhance readability, avoid redundant wording, simplify and unify legacy workarounds,"
    " tighten and modernize outdated handling, ensure consistent behavior"
)
ELSEWHERE = {"src/charts/bar.py": "ticks = 3", "src/charts/pie.py": "sweep = 4"}
TEXTS = {"docs/upgrade.md": "Call it a voucher.", "docs/intro.rst": "Call it a voucher."}


@pytest.mark.parametrize(
    ("goal", "work", "alarms"),
    [
        (GENERIC, ELSEWHERE, False),
        ("Reject tokens whose claims have passed their expiry", ELSEWHERE, True),
        ("Extend the documentation of claims for Windows", TEXTS, False),
        ("Extend the login by claims for Windows", TEXTS, True),
    ],
)
def test_short_requests_are_judged_by_what_they_name(
    kedge: Kedge, repo: Path, tmp_path: Path, goal: str, work: dict[str, str], alarms: bool
) -> None:
    """Words that any request has name no place; others name files for what they are."""
    mapped.fill(repo)
    for path in TEXTS:
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text("x\n")
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "add")
    session = Session(cwd=str(repo)).asks(goal)
    for path, text in work.items():
        session.calls("Edit", file_path=f"{repo}/{path}", old_string="", new_string=text)
    file = session.write(tmp_path / "s-1.jsonl")
    (told,) = kedge.json("drift", "replay", "--min-level", "nudge", str(file))
    assert bool(told["alarms"]) is alarms, told["alarms"]


LONG = (
    "Fix `verify_token`: tokens whose exp claim has passed must be rejected, tokens whose audience"
    " differs must be logged, and the login must count refused attempts per client."
)
SCRIPTS = ["probe_1.py", "trial/run.py", "probe_2.sh", "probe_3.py"]


@pytest.mark.parametrize(
    ("paths", "scores"),
    [
        (SCRIPTS, [(3, 6), (4, 6)]),  # the first ones cost nothing
        (["src/charts/bar.py", "src/charts/pie.py"], [(2, 7)]),
        ([*SCRIPTS[:2], "src/charts/bar.py"], [(3, 6)]),  # they count when the project changes
        (["notes/a.css", "notes/b.css"], [(2, 7)]),  # no script
    ],
)
def test_the_first_scripts_that_try_something_cost_nothing(
    kedge: Kedge, repo: Path, tmp_path: Path, paths: list[str], scores: list[tuple[int, int]]
) -> None:
    mapped.fill(repo)
    session = Session(cwd=str(repo)).asks(LONG)
    for path in paths:
        text = "radius = 12\nsweep = 360\n"
        if path.startswith("src/"):
            session.calls("Edit", file_path=f"{repo}/{path}", old_string="", new_string=text)
        else:
            session.calls("Write", file_path=f"{repo}/{path}", content=text)
    file = session.write(tmp_path / "s-1.jsonl")
    (told,) = kedge.json("drift", "replay", "--min-level", "nudge", str(file))
    assert [(each["step"], each["score"]) for each in told["alarms"]] == scores


@pytest.mark.parametrize(("word", "term"), [("pie", "-1.0"), ("path", "+0.0")])
def test_a_file_that_a_request_names_by_a_word_is_evidence(
    kedge: Kedge, repo: Path, tmp_path: Path, word: str, term: str
) -> None:
    mapped.fill(repo)
    session = Session(cwd=str(repo)).asks(f"{LONG} Log them for the {word}, too.")
    for text in ("radius = 12", "sweep = 360"):
        place = f"{repo}/src/charts/pie.py"
        session.calls("Edit", file_path=place, old_string="", new_string=text)
    file = session.write(tmp_path / "s-1.jsonl")
    (told,) = kedge.json("drift", "replay", "--min-level", "nudge", str(file))
    assert f"files named like it {term}," in told["alarms"][0]["rules"][0]["evidence"]
