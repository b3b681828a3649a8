"""`kedge anchor`: its sources, its budget, and deltas."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge, assert_clear, git

from kedge.context import anchor
from kedge.context.workspace import Workspace
from kedge.host import project, tokens
from kedge.settings import Settings
from kedge.store import sessions, sqlite

ACCEPT = ["no plain password is stored", "old hashes are still read"]


@pytest.fixture
def login(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with an epic, three of its tasks, and a commit."""
    (repo / "a.py").write_text("def a(): ...\n")
    git(repo, "add", "a.py")
    git(repo, "commit", "-qm", "Add a")
    kedge("task", "add", "Login", "--id", "login", "--type", "epic", "--description", "All of it")
    kedge("task", "add", "Table", "--id", "l0", "--epic", "login")
    kedge("task", "close", "l0")
    accept = [word for one in ACCEPT for word in ("--accept", one)]
    kedge(
        *["task", "add", "Hash passwords", "--id", "l1", "--epic", "login", "--scope", "src/auth/"],
        *["--out-of-scope", "db/", "--check", "make test", "--description", "Use scrypt.", *accept],
    )
    kedge("task", "add", "Form", "--id", "l2", "--epic", "login", "--depends", "l1")
    return kedge


def test_the_anchor_reports_task_git_and_lessons(login: Kedge) -> None:
    login("task", "claim", "l1", "--as", "ada")
    login("task", "block", "l1", "--type", "tooling", "--reason", "no openssl", "--avoid", "md5")
    login("task", "reopen", "l1")
    text = login("anchor", "l1", "--iteration", "1").out  # in a loop there is nobody to ask
    for said in [
        "## Re-anchoring Context",
        "### System Instructions",
        "<stuck>",
        "ID: l1\nTitle: Hash passwords",
        "Use scrypt.",
        "Scope: src/auth/\nOut of scope: db/\nChecks: `make test`",
        "Needed by: l2",
        "Acceptance criteria:\n- [ ] no plain password is stored\n- [ ] old hashes are still read",
        "Branch: main\n",
        "Recent commits:\n  " + git(login.directory, "log", "--format=%h %s").strip(),
        "- l1 #1 blocked: tooling: no openssl\n- l1: avoid md5",
        "### Epic Context\nlogin: Login\nAll of it\nFinished in this epic:\n- l0: Table\n"
        "Still to do after this one:\n- l2: Form",
    ]:
        assert said in text, said
    assert "progress.txt" not in text


def test_without_an_id_the_task_in_progress_is_anchored(login: Kedge) -> None:
    assert "None is in progress. `kedge task ready`" in login("anchor").out
    login("task", "claim", "l1", "--as", "ada")
    assert "ID: l1" in login("anchor").out
    login("task", "add", "Other", "--id", "o1")
    login("task", "claim", "o1", "--as", "bob")
    assert_clear(login("anchor", code=1), code=1, says="2 tasks are in progress: l1, o1")
    assert "ID: o1" in login("anchor", env={"KEDGE_TASKS_ACTOR": "bob"}).out


def test_sources_are_selected_by_flag_and_by_setting(login: Kedge) -> None:
    data = login.json("anchor", "l1", "--sources", "git,task")
    assert [one["source"] for one in data["sections"]] == ["git", "task"]
    data = login.json("anchor", "l1", "--sources", "epic,git,task,,")
    assert [one["source"] for one in data["sections"]] == ["epic", "git", "task"]
    assert "System Instructions" not in login("anchor", "l1").out
    assert data["text"].index("Git State") < data["text"].index("Current Task")
    login("config", "set", "anchor.sources", "task")
    login("config", "set", "anchor.include_epic", "false")
    assert [one["source"] for one in login.json("anchor", "l1")["sections"]] == ["task"]
    ran = login("anchor", "l1", "--sources", "tusk", code=1)
    assert_clear(ran, code=1, says="anchor.sources cannot contain 'tusk'")


def test_prompt_agent_and_progress_files_of_the_project_are_used(login: Kedge) -> None:
    root = login.directory
    (root / "PROMPT.md").write_text("<!-- not this -->\nBe brief.\n" + "line\n" * 200)
    (root / "AGENT.md").write_text("Build with ninja.\n")
    (root / "progress.txt").write_text("\n".join(f"note {n}" for n in range(100)))
    text = login("anchor", "l1", "--sources", "prompt,agent,progress").out
    assert "### System Instructions (PROMPT.md)\nBe brief.\n" in text
    assert "[… 101 lines left out; `cat PROMPT.md` prints all]" in text
    assert "not this" not in text
    assert "Build with ninja." in text
    assert "note 99" in text
    assert "note 80\n" in text
    assert "note 79\n" not in text
    login("config", "set", "anchor.progress_lines", "2")
    login("config", "set", "anchor.max_prompt_lines", "1")
    text = login("anchor", "l1", "--sources", "prompt,progress").out
    assert "note 98" in text
    assert "note 97" not in text
    assert "[… 200 lines left out;" in text


def test_the_agents_guide_comes_from_the_projects_configuration(login: Kedge) -> None:
    (login.directory / "Makefile").write_text("test:\n\tpytest\n")
    assert "- test: `make test` (Makefile:1)" in login("anchor", "--sources", "agent").out
    assert "### Project Map" in login("anchor", "l1", "--sources", "map").out


def test_a_source_that_fails_is_reported_and_the_others_are_printed(login: Kedge) -> None:
    (login.directory / ".kedge" / "tasks.jsonl").write_text("{broken\n")
    ran = login("anchor", "l1")
    assert "This cannot be read now: " in ran.out
    assert "### Git State\nBranch: main" in ran.out
    assert ran.err.count("warning: This cannot be read now") == 1
    assert ran.out.count("This cannot be read now") == 1
    (login.directory / "PROMPT.md").write_bytes(b"\xff\xfe\x00")
    assert "PROMPT.md is not UTF-8" in login("anchor", "--sources", "prompt,git").out


def test_an_unknown_task_is_refused(login: Kedge) -> None:
    assert_clear(login("anchor", "nope", code=1), code=1, says="no task 'nope'")
    assert_clear(login("prompt", "nope", code=1), code=1, says="no task 'nope'")


@pytest.mark.parametrize("command", ["anchor", "prompt"])
def test_a_long_description_is_cut_and_criteria_are_not(login: Kedge, command: str) -> None:
    long = "\n".join(f"line {number} of a long story about harbours" for number in range(5000))
    login("task", "update", "l1", "--description", "-", input=long)
    for budget in (300, 500, 2000):
        data = login.json(command, "l1", "--tokens", str(budget))
        assert data["tokens"] <= budget
        assert tokens.count(data["text"]) == data["tokens"]
        for one in ACCEPT:
            assert f"- [ ] {one}" in data["text"]
        assert re.search(r"about [\d,]+ tokens left out; `kedge task show l1` prints", data["text"])
        assert next(one for one in data["sections"] if one["source"] == "task")["cut"] > 40_000
    ran = login(command, "l1", "--explain")
    assert re.search(r"^task\t\d+\t\d+\tlonger than its share$", ran.out, re.MULTILINE)
    assert re.search(r"^all\t\d+\t\tof \d+$", ran.out, re.MULTILINE)


def test_criteria_that_exceed_the_budget_are_printed_with_a_warning(login: Kedge) -> None:
    many = [f"criterion number {n} of very many" for n in range(100)]
    login("task", "add", "Big", "--id", "big", *[w for one in many for w in ("--accept", one)])
    ran = login("anchor", "big", "--tokens", "200")
    assert all(f"- [ ] {one}\n" in ran.out for one in many)
    assert "above the budget of 200" in ran.err


def test_the_anchor_changes_only_when_its_sources_change(login: Kedge) -> None:
    root = login.directory
    said = [login("anchor", "l1").out]

    def make_change(*did: object) -> None:
        now = login("anchor", "l1").out
        assert now not in said, did
        assert login("anchor", "l1").out == now
        said.append(now)

    assert login("anchor", "l1").out == said[0]
    make_change((root / "new.py").write_text("x"))
    make_change(git(root, "add", "new.py"))
    make_change(git(root, "commit", "-qm", "Add new"))
    make_change(git(root, "switch", "-qc", "other"))
    make_change(login("task", "update", "l1", "--title", "Hash all passwords"))
    make_change(login("task", "update", "l1", "--accept", "and one more"))
    make_change(login("task", "close", "l2"))
    make_change(login("task", "claim", "l1", "--as", "ada"))
    (root / "a.py").touch()
    login("task", "add", "Elsewhere", "--id", "e1")
    assert login("anchor", "l1").out == said[-1]
    make_change(git(root, "checkout", "-q", "--detach"))


def test_beads_tasks_are_anchored_too(repo: Path, kedge: Kedge) -> None:
    issue = {
        "id": "bd-1",
        "title": "Tie up",
        "description": "At the pier.",
        "acceptance_criteria": "- it is tied\n- it holds",
        "status": "open",
        "priority": 1,
        "issue_type": "task",
    }
    (repo / ".beads").mkdir()
    (repo / ".beads" / "issues.jsonl").write_text(json.dumps(issue) + "\n")
    first = kedge("anchor", "bd-1").out
    assert "ID: bd-1\nTitle: Tie up" in first
    assert "- [ ] it is tied" in first
    assert kedge("anchor", "bd-1").out == first
    issue["title"] = "Tie up well"
    (repo / ".beads" / "issues.jsonl").write_text(json.dumps(issue) + "\n")
    assert kedge("anchor", "bd-1").out == first.replace("Tie up", "Tie up well")
    assert "Tasks are kept by beads" in kedge("prompt", "bd-1").out


# Delta, frequency, the compressed form


def test_a_delta_holds_only_what_changed(login: Kedge) -> None:
    delta = ("anchor", "l1", "--mode", "delta")
    assert "### Current Task" in login(*delta).out
    data = login.json(*delta)
    assert data["tokens"] < 60
    assert data["sections"] == []
    assert set(data["unchanged"]) == {"task", "git", "epic"}
    assert "no change" in data["text"]
    assert "`kedge anchor l1 --mode full` prints all" in data["text"]
    (login.directory / "b.py").write_text("x")
    data = login.json(*delta)
    assert [one["source"] for one in data["sections"]] == ["git"]
    assert "b.py" in data["text"]
    assert "Acceptance" not in data["text"]
    assert login.json(*delta)["sections"] == []
    login("task", "update", "l1", "--accept", "it is fast")
    assert "- [ ] it is fast" in login(*delta).out


def test_a_delta_is_for_one_session_and_one_task(login: Kedge) -> None:
    one = {"KEDGE_SESSION": "s1"}
    login("anchor", "l1", env=one)  # a full anchor counts as well
    assert "no change" in login("anchor", "l1", "--mode", "delta", env=one).out
    assert "no change" in login("anchor", "l1", "--mode", "delta", "--session", "s1").out
    assert "no change" not in login("anchor", "l1", "--mode", "delta", "--session", "s2").out
    assert "no change" not in login("anchor", "l2", "--mode", "delta", env=one).out


def test_a_delta_without_a_database_is_a_full_anchor(login: Kedge, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    env = {"KEDGE_HOME": str(tmp_path / "file" / "home")}
    for _ in range(2):
        ran = login("anchor", "l1", "--mode", "delta", env=env)
        assert "### Current Task" in ran.out
        assert "warning: the next anchor cannot be a delta" in ran.err


def test_the_frequency_is_a_setting(login: Kedge) -> None:
    def due(iteration: int) -> bool:
        return bool(login("anchor", "l1", "--iteration", str(iteration)).out)

    assert [due(n) for n in (1, 2, 3)] == [True, True, True]
    login("config", "set", "anchor.frequency", "3")
    assert [due(n) for n in (1, 2, 3, 4)] == [True, False, False, True]
    login("config", "set", "anchor.frequency", "on-drift")
    assert [due(n) for n in (1, 2)] == [True, False]
    ledger = login.directory / ".kedge" / "ledger" / "l1.jsonl"
    ledger.parent.mkdir()
    record = {"task": "l1", "number": 1, "run": "r", "role": "implementer", "agent": "a"}
    record |= {"started_at": "t", "ended_at": "t", "outcome": "drifted", "reason": "edited db/"}
    ledger.write_text(json.dumps({**record, "drift": {"score": 3, "rule": "scope"}}) + "\n")
    assert due(2)
    text = login("anchor", "l1", "--sources", "drift").out
    assert "The last attempt (#1) strayed:\n- score: 3\n- rule: scope" in text
    login("config", "set", "anchor.enabled", "false")
    assert not due(1)
    ran = login("config", "set", "anchor.frequency", "often", code=1)
    assert_clear(ran, code=1, says="anchor.frequency must be a number of iterations, or on-drift")


def test_the_compressed_form_of_short_text_has_the_same_words(login: Kedge) -> None:
    text = "## Why\n\n\n**Because**  it   is so.\n\n```\nx  =  1\n\n```\n\n- [ ] one\n- [ ] two\n"
    login("task", "update", "l1", "--description", "-", input=text)
    plain, short = (login.json("anchor", "l1", "--form", form) for form in ("full", "compressed"))
    assert short["tokens"] < plain["tokens"]
    assert "x  =  1\n\n```" in short["text"]
    assert "Because it is so." in short["text"]
    words = re.findall(r"\w+", plain["text"])
    assert re.findall(r"\w+", short["text"]) == words


def test_the_compressed_form_keeps_the_first_sentences_and_says_so(login: Kedge) -> None:
    prose = "Salt each hash. The salt is\nrandom, since equal words must differ.\n\n- Use scrypt.\n"
    prose += "  It is in the standard library, e.g. Python's. Nothing else is needed.\n"
    login("task", "update", "l1", "--description", "-", input=prose * 20)
    (login.directory / "PROMPT.md").write_text(f"# Rules\n\n{prose * 20}")
    plain, short = (login.json("anchor", "l1", "--form", form) for form in ("full", "compressed"))
    assert short["tokens"] < 0.5 * plain["tokens"]
    for kept in ("Salt each hash.", "- Use scrypt.", "Scope: src/auth/", *ACCEPT):
        assert kept in short["text"]
    for gone in ("random, since", "standard library"):
        assert gone in plain["text"]
        assert gone not in short["text"]
    assert re.search(r"tokens of detail left out; `kedge task show l1` prints all\]", short["text"])
    assert re.search(r"tokens of detail left out; `cat PROMPT.md` prints all\]", short["text"])
    assert "only first sentences" in login("anchor", "l1", "--form", "compressed", "--explain").out


def test_a_dropped_part_gets_the_room_that_is_left(login: Kedge) -> None:
    (login.directory / "PROMPT.md").write_text("Keep every change small, and say what it is for.\n")
    login("task", "add", "Tie", "--id", "t")
    used = login.json("anchor", "t", "--sources", "prompt,task,git")
    for budget in range(max(100, used["tokens"] + 10), 240, 5):
        data = login.json("anchor", "t", "--sources", "prompt,task,git", "--tokens", str(budget))
        assert data["text"] == used["text"], budget


def test_a_session_off_its_course_gets_an_anchor_on_drift(login: Kedge, repo: Path) -> None:
    login("config", "set", "anchor.frequency", "on-drift")
    session = {"KEDGE_SESSION": "s1"}
    arguments = ["anchor", "l1", "--iteration", "2"]
    assert login(*arguments, env=session).out == ""
    add_session(repo, "s1", "FORCED")
    assert "### Current Task" in login(*arguments, env=session).out
    assert login(*arguments, "--session", "s2").out == ""
    add_session(repo, "s3", "DRIFTED", task="l1")
    assert "### Current Task" in login(*arguments).out


def add_session(repo: Path, name: str, course: str, task: str | None = None) -> None:
    """Store a session as hooks leave it."""
    db, _ = sqlite.connect(repo / ".git" / "kedge")
    with closing(db):
        values = {"agent": "claude", "project": str(repo), "policy": "advise"}
        values |= {"started_at": "2026-01-01", "checked_at": "2026-01-01"}
        sessions.add(db, name, **values, task=task, course=course)


def test_what_a_source_leaves_out_itself_is_explained(login: Kedge) -> None:
    lines = "".join(f"Rule {n}: keep the deck dry.\n" for n in range(150))
    (login.directory / "PROMPT.md").write_text(lines)
    arguments = ["anchor", "l1", "--tokens", "9000"]
    assert "50 lines left out" in login(*arguments).out
    (row,) = (one for one in login.json(*arguments)["sections"] if one["source"] == "prompt")
    assert 300 < row["cut"] < 700
    ran = login(*arguments, "--explain")
    assert "50 lines above anchor.max_prompt_lines" in ran.out


def test_what_kedge_writes_is_no_change_of_the_work(login: Kedge) -> None:
    git(login.directory, "add", "--all")
    git(login.directory, "commit", "--quiet", "--message", "all")
    login("task", "claim", "l1")
    (login.directory / "new.py").write_text("x = 1\n")
    text = login("anchor", "l1").out
    assert "Uncommitted changes: 1 file (1 untracked)\n  ? new.py\n" in text
    git(login.directory, "add", "--all")
    git(login.directory, "commit", "--quiet", "--message", "more")
    text = login("anchor", "l1").out
    assert ".kedge" not in text
    assert "Committed since the task was started:" in text


def test_the_small_anchor_is_for_after_a_compaction(login: Kedge) -> None:
    data = login.json("anchor", "l1", "--mode", "small")
    assert data["tokens"] <= anchor.SMALL
    for said in ("l1: Hash passwords", "Only change: src/auth/", "Do not change: db/", *ACCEPT):
        assert said in data["text"]
    assert "`kedge anchor l1` prints everything" in data["text"]
    many = [f"criterion number {n} of very many" for n in range(100)]
    login("task", "add", "Big", "--id", "big", *[w for one in many for w in ("--accept", one)])
    data = login.json("anchor", "big", "--mode", "small")
    assert data["tokens"] <= anchor.SMALL
    assert "criterion number 0" in data["text"]
    assert "tokens left out; `kedge task show big` prints all" in data["text"]
    assert login("anchor", "--mode", "small").out == ""


# Unusual states of git


def test_git_in_unusual_states(tmp_path: Path, repo: Path, kedge: Kedge) -> None:
    assert "Branch: main (no commits yet)\nUncommitted changes: none" in kedge("anchor").out
    (repo / "one\ntwo.py").write_text("x")
    (repo / "\x1b[31m").write_text("x")
    text = kedge("anchor").out
    assert "\x1b" not in text
    assert "Uncommitted changes: 2 files (2 untracked)" in text
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "\x07bell " + "x" * 400)
    git(repo, "mv", "one\ntwo.py", "three.py")
    text = kedge("anchor").out
    assert "1 file (1 renamed)" in text
    assert "\x07" not in text
    assert max(map(len, text.splitlines())) < 200
    git(repo, "commit", "-qm", "rename")
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert "Branch: side" in kedge("anchor", cwd=tmp_path / "side").out
    git(repo, "clone", "-q", ".", str(tmp_path / "clone"))
    clone = tmp_path / "clone"
    (clone / "b").write_text("b")
    git(clone, "add", "b")
    git(clone, "commit", "-qm", "b")
    assert "Branch: main (1 ahead of origin/main)" in kedge("anchor", cwd=clone).out
    git(repo, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(clone, "fetch", "-q")
    assert "Branch: main (1 ahead of and 1 behind origin/main)" in kedge("anchor", cwd=clone).out
    git(clone, "reset", "-q", "--hard", "HEAD^")
    assert "Branch: main (1 behind origin/main)" in kedge("anchor", cwd=clone).out
    outside = tmp_path / "plain"
    (outside / ".kedge").mkdir(parents=True)
    ran = kedge("anchor", cwd=outside)
    assert "This cannot be read now: not in a git repository" in ran.out


@settings(max_examples=25)
@given(description=st.text(max_size=4000), budget=st.integers(200, 1500))
def test_no_text_of_a_task_breaks_the_budget(
    tmp_path_factory: pytest.TempPathFactory, description: str, budget: int
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / ".kedge").mkdir()
    task = {"id": "t", "title": "T", "description": description * 20, "acceptance": ["done"]}
    (root / ".kedge" / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    wanted = Settings()
    wanted = replace(wanted, anchor=replace(wanted.anchor, tokens=budget, sources=("task",)))
    made = anchor.make_full(Workspace(project.find(root), wanted, "t"))
    assert made.tokens <= budget
    assert "- [ ] done" in made.text
