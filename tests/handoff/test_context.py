"""`kedge context`: from implementer to reviewer to validator, with nothing committed in between."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, Ran, assert_clear, git

SECRET = "ghp_" + "k3dg" * 9


@pytest.fixture
def work(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with a commit and a task that has a context."""
    (repo / "src").mkdir()
    (repo / "src" / "a.py").write_text("one = 1\n")
    (repo / "src" / "b.py").write_text("two = 2\n")
    (repo / "README.md").write_text("# Boats\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    kedge(
        *["task", "add", "Moor the boat", "--id", "t1", "--scope", "src/", "--check", "true"],
        *["--description", "Tie it up.  \r\nWell.", "--accept", "it holds"],
    )
    kedge("context", "init", "t1", "--actor", "ada")
    return kedge


def shown(kedge: Kedge, task: str = "t1") -> dict[str, Any]:
    data: dict[str, Any] = kedge.json("context", "show", task)
    return data


def begin(kedge: Kedge, agent: str, **more: Any) -> Ran:
    return kedge("context", "begin", "t1", "--agent", agent, **more)


def snapshot(kedge: Kedge, agent: str, *args: str, **more: Any) -> Ran:
    return kedge("context", "snapshot", "t1", "--agent", agent, *args, **more)


def folder(kedge: Kedge) -> Path:
    return kedge.directory / ".kedge" / "context" / "t1"


# Init


def test_what_was_asked_is_frozen_with_where_it_came_from(work: Kedge) -> None:
    data = shown(work)
    assert data["version"] == 1
    assert data["task_id"] == "t1"
    assert data["created_by"] == "ada"
    assert data["git"]["head"] == git(work.directory, "rev-parse", "HEAD").strip()
    asked = data["immutable"]["task_snapshot"]
    assert asked["description"] == "Tie it up.\nWell.\n"
    assert asked["acceptance_criteria"] == ["it holds"]
    assert data["immutable"]["validation_baseline"]["commands"] == ["true"]
    assert data["immutable"]["repo_paths"] == ["src/"]
    assert [one["actor"] for one in data["audit"]["log"]] == ["ada"]
    manifest = json.loads((folder(work) / "context.manifest").read_text())
    assert manifest["serializer"]
    assert manifest["normaliser_version"]
    assert [one["name"] for one in manifest["sources"]] == ["task t1"]
    assert git(work.directory, "status", "--porcelain", "--", ".kedge/context") == ""
    whole = (folder(work) / "context.json").read_bytes()
    assert whole == json.dumps(json.loads(whole), sort_keys=True, indent=2).encode() + b"\n"


def test_init_says_where_fields_came_from(work: Kedge) -> None:
    work("task", "add", "Other", "--id", "t2", "--description", "x")
    (work.directory / "Makefile").write_text("test:\n\tpytest\n")
    (work.directory / "src" / "a.py").write_text("one = 0\n")
    ran = work("context", "init", "t2")
    assert "task_snapshot\ttask t2\n" in ran.out
    assert "validation_baseline.commands\tMakefile:1\n" in ran.out
    assert "the working tree is dirty at the start: Makefile, src/a.py" in ran.err
    assert shown(work, "t2")["immutable"]["validation_baseline"]["commands"] == ["make test"]


def test_what_is_missing_is_listed(work: Kedge) -> None:
    work("task", "add", "Bare", "--id", "t2")
    ran = work("context", "init", "t2", code=1)
    assert_clear(ran, code=1, says="t2 lacks a description, acceptance criteria")
    work("config", "set", "context.require_citations", "true")
    ran = work("context", "init", "t2", code=1)
    assert "citations" in ran.err
    assert_clear(work("context", "init", "nope", code=1), code=1, says="no task 'nope'")
    assert not (work.directory / ".kedge" / "context" / "t2").exists()


def test_a_large_field_is_told(work: Kedge) -> None:
    work("task", "add", "Long", "--id", "t2", "--description", "word " * 1000)
    assert "description has 5" in work("context", "init", "t2").err


def test_citations_come_from_the_mapping(work: Kedge) -> None:
    root = work.directory
    (root / "standards").mkdir()
    text = "# Ropes\n\n## Knots\n\nEvery knot is **checked** twice. And more.\n\n## Other\n\nx\n"
    (root / "standards" / "ropes.md").write_text(text)
    (root / ".kedge" / "standards.toml").write_text(
        '[[standards]]\npriority = ["P2"]\ncite = ["standards/ropes.md#Knots"]\n'
    )
    work("task", "add", "Cited", "--id", "t2", "--description", "x")
    work("context", "init", "t2")
    (cited,) = shown(work, "t2")["immutable"]["standards_citations"]
    assert cited["section"] == "knots"
    assert cited["requirement"] == "Every knot is checked twice."
    assert cited["line_span"].startswith("L3-")
    (root / "standards" / "ropes.md").write_text(text.replace("twice", "once"))
    ran = work("context", "begin", "t2", "--agent", "implementer", code=1)
    assert_clear(ran, code=1, says="the context is stale: standards/ropes.md#knots")
    work("context", "begin", "t2", "--agent", "implementer", "--accept-stale")


def test_only_one_of_many_inits_wins(work: Kedge) -> None:
    work("task", "add", "Many", "--id", "t2", "--description", "x")

    def init(number: int) -> int:
        return work("context", "init", "t2", "--actor", f"a{number}", code=None).code

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(init, range(8)))
    assert sorted(codes) == [0, *[1] * 7]
    ran = work("context", "init", "t2", code=1)
    assert_clear(ran, code=1, says="t2 has a context already")
    assert shown(work, "t2")["audit"]["count"] == 1


# The whole path


def test_the_whole_path_with_edits_at_each_step_and_drift_in_between(work: Kedge) -> None:
    root = work.directory
    begin(work, "implementer")
    (root / "src" / "a.py").write_text("one = 11\n")
    (root / "src" / "new.py").write_text("new = 1\n")
    ran = snapshot(work, "implementer", "--actor", "ada")
    assert "implementer leaves 2 files, +2 -1 (tree " in ran.out
    assert work("context", "verify", "t1").code == 0

    # Somebody edits in between: it is found, path by path, and stops the reviewer.
    (root / "src" / "a.py").write_text("one = 111\n")
    (root / "README.md").unlink()
    ran = work("context", "verify", "t1", "--json", code=4)
    drift = ran.document["data"]
    assert drift["since"] == "implementer"
    assert drift["drift"] == [
        {"path": "README.md", "change": "deleted", "scope": "out"},
        {"path": "src/a.py", "change": "changed", "scope": "in"},
    ]
    assert_clear(begin(work, "reviewer", code=1), code=1, says="is not what implementer left")
    assert len(shown(work)["drift"]) == 1

    # Put back, with a note; what it was is kept.
    ran = work("context", "resolve", "t1", "--revert", "--note", "not mine")
    assert "warning: what was there is kept as refs/kedge/before-revert/t1-d-" in ran.err
    assert (root / "src" / "a.py").read_text() == "one = 11\n"
    assert (root / "README.md").read_text() == "# Boats\n"
    assert "before-revert" in git(root, "for-each-ref", "refs/kedge")
    begin(work, "reviewer")

    # The reviewer edits and snapshots, and is not locked out.
    (root / "src" / "a.py").write_text("one = 12\n")
    snapshot(work, "reviewer", "--actor", "bob")
    increment = work("context", "diff", "t1", "--agent", "reviewer", "--type", "incremental").out
    assert "-one = 11\n+one = 12\n" in increment
    assert "new.py" not in increment
    whole = work("context", "diff", "t1", "--agent", "reviewer").out
    assert "-one = 1\n+one = 12\n" in whole
    assert "new.py" in whole
    against = work("context", "diff", "t1", "--agent", "implementer", "--against", "reviewer").out
    assert "-one = 12\n+one = 11\n" in against

    # Drift again, accepted this time.
    (root / "src" / "b.py").write_text("two = 22\n")
    ran = begin(work, "validator", code=4)
    assert ran.out == "changed\tin\tsrc/b.py\t\n"
    assert "the working tree is not what reviewer left" in ran.err
    assert_clear(begin(work, "validator", code=1), code=1, says="is not what reviewer left")
    assert shown(work)["coordination"]["validator"]["drift_budget"] == 1
    work("context", "resolve", "t1", "--accept", "--note", "I mended b")
    begin(work, "validator")
    begin(work, "validator-2")
    work("context", "record-qa", "t1", "--agent", "validator", "--", "true")
    for agent in ("validator", "validator-2"):
        snapshot(work, agent)
    data = shown(work)
    assert {name: one["status"] for name, one in data["coordination"].items()} == dict.fromkeys(
        ("implementer", "reviewer", "validator", "validator-2"), "done"
    )
    assert [(one["state"], one["note"]) for one in data["drift"]] == [
        ("reverted", "not mine"),
        ("accepted", "I mended b"),
    ]
    assert data["coordination"]["validator"]["drift_budget"] == 0

    # Closing archives a few lines and purges the rest.
    work("task", "close", "t1")
    assert not folder(work).exists()
    refs = git(root, "for-each-ref", "--format=%(refname)", "refs/kedge").split()
    assert [ref.rsplit("-d-", 1)[0] for ref in refs] == ["refs/kedge/before-revert/t1"]
    (line,) = (root / ".kedge" / "handoffs" / "t1.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["agents"].keys() == {"implementer", "reviewer", "validator", "validator-2"}
    assert record["checks"][0]["exit_code"] == 0
    assert len(record["drift"]) == 2


def test_an_agent_that_begins_again_goes_on(work: Kedge) -> None:
    snapshot(work, "implementer")
    begin(work, "reviewer", env={"KEDGE_TASKS_ACTOR": "ann"})
    (work.directory / "src" / "a.py").write_text("mine = 1\n")
    begin(work, "reviewer", env={"KEDGE_TASKS_ACTOR": "ann"})  # its own work is no drift
    ran = begin(work, "reviewer", env={"KEDGE_TASKS_ACTOR": "bob"}, code=1)
    assert_clear(ran, code=1, says="reviewer is at work already, as ann")
    assert shown(work)["drift"] == []


def test_of_those_who_begin_at_once_one_does(work: Kedge) -> None:
    snapshot(work, "implementer")

    def start(name: str) -> int:
        return begin(work, name, code=None).code

    with ThreadPoolExecutor(3) as pool:
        codes = list(pool.map(start, ["implementer", "reviewer", "validator"]))
    assert sorted(codes) == [0, 1, 1]


def test_drift_is_answered_before_anybody_snapshots(work: Kedge) -> None:
    snapshot(work, "implementer")
    (work.directory / "src" / "stray.py").write_text("x = 1\n")
    work("context", "verify", "t1", code=4)
    ran = snapshot(work, "implementer", code=1)
    assert_clear(ran, code=1, says="is not what implementer left")


def test_what_is_out_of_scope_is_told_and_a_changed_macro_makes_stale(work: Kedge) -> None:
    (work.directory / ".kedge" / "scopes.toml").write_text('ui = ["src/ui/"]\n')
    work(
        *["task", "add", "Paint", "--id", "t2", "--description", "x", "--scope", ":ui"],
        *["--out-of-scope", "src/ui/gen/"],
    )
    work("context", "init", "t2")
    for name in ("src/ui/a.py", "src/ui/gen/b.py"):
        (work.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (work.directory / name).write_text("x = 1\n")
    work("context", "snapshot", "t2", "--agent", "implementer")
    kept = shown(work, "t2")["coordination"]["implementer"]["snapshot"]
    assert kept["outside"] == ["src/ui/gen/b.py"]
    (work.directory / ".kedge" / "scopes.toml").write_text('ui = ["src/"]\n')
    ran = work("context", "begin", "t2", "--agent", "reviewer", code=1)
    assert_clear(ran, code=1, says="the context is stale: .kedge/scopes.toml has changed")


def test_a_typo_in_a_task_sweeps_nothing(work: Kedge) -> None:
    (work.directory / "tasks").mkdir()
    (work.directory / "tasks" / "t1.task.yaml").write_text('id: t1\ntitle: "torn\n')
    (work.directory / ".kedge" / "tasks.jsonl").unlink()
    ran = work("context", "sweep", "--ttl", "0s", code=1)
    assert "not all tasks could be read" in ran.err
    assert folder(work).exists()


def test_work_trees_keep_their_own_snapshots(work: Kedge, tmp_path: Path) -> None:
    root, side = work.directory, tmp_path / "side"
    git(root, "add", ".kedge")
    git(root, "commit", "-qm", "tasks")
    git(root, "worktree", "add", "-q", "-b", "side", str(side))
    (root / "src" / "a.py").write_text("here = 1\n")
    snapshot(work, "implementer")
    work("context", "init", "t1", cwd=side)
    (side / "src" / "a.py").write_text("there = 1\n")
    snapshot(work, "implementer", cwd=side)
    work("context", "purge", "t1", "--yes", cwd=side)
    assert work("context", "verify", "t1").code == 0
    assert "here = 1" in git(root, "show", "refs/kedge/t1/implementer:src/a.py")


def test_a_look_at_an_older_snapshot_opens_nothing(work: Kedge) -> None:
    root = work.directory
    snapshot(work, "implementer")
    (root / "src" / "a.py").write_text("one = 3\n")
    snapshot(work, "reviewer")
    work("context", "verify", "t1", "--expected-agent", "implementer", code=4)
    assert shown(work)["drift"] == []
    begin(work, "validator")


def test_a_name_that_is_no_utf_8_is_told(work: Kedge) -> None:
    snapshot(work, "implementer")
    Path(os.fsdecode(os.fsencode(work.directory) + b"/src/caf\xe9.py")).write_text("x = 1\n")
    drift = work("context", "verify", "t1", "--json", code=4).document["data"]["drift"]
    assert [one["path"] for one in drift] == ["src/caf\\xe9.py"]
    work("context", "resolve", "t1", "--accept", "--note", "mine")


def test_a_role_that_nobody_knows_or_is_passed_over_is_told(work: Kedge) -> None:
    snapshot(work, "implementer")
    assert "warning: reveiwer is none of implementer, reviewer" in begin(work, "reveiwer").err
    snapshot(work, "reveiwer")
    assert "warning: reviewer has left no snapshot" in begin(work, "validator").err


def test_a_context_that_cannot_be_read_is_made_anew_with_its_snapshots(work: Kedge) -> None:
    (work.directory / "src" / "a.py").write_text("one = 3\n")
    snapshot(work, "implementer")
    tree = shown(work)["coordination"]["implementer"]["snapshot"]["tree"]
    (folder(work) / "context.json").write_text("{broken")
    ran = work("context", "rebuild", "t1")
    assert "checks, findings and events were not" in ran.err
    assert shown(work)["coordination"]["implementer"]["snapshot"]["tree"] == tree
    begin(work, "reviewer")


def test_closing_with_open_ends_says_so_and_archives_them(work: Kedge) -> None:
    work("context", "block", "t1", "--agent", "reviewer", "--finding", "very wrong")
    work("context", "record-qa", "t1", "--agent", "implementer", "--", "false")
    ran = work("task", "close", "t1")
    assert "warning: reviewer had an open finding: very wrong" in ran.err
    assert "warning: the last run failed: false" in ran.err
    record = json.loads((work.directory / ".kedge" / "handoffs" / "t1.jsonl").read_text())
    assert record["findings"][0]["text"] == "very wrong"


def test_a_reviewer_needs_what_an_implementer_left(work: Kedge) -> None:
    ran = begin(work, "reviewer", code=1)
    assert_clear(ran, code=1, says="implementer has left no snapshot to go on from")
    begin(work, "implementer")
    snapshot(work, "implementer", "--at-work")
    ran = begin(work, "reviewer", code=1)
    assert_clear(ran, code=1, says="implementer is still at work")
    (work.directory / "src" / "a.py").write_text("still = 1\n")
    assert work("context", "verify", "t1", code=4).code == 4
    assert shown(work)["drift"] == []  # the one at work may change things


def test_findings_hold_up_those_who_come_later(work: Kedge) -> None:
    begin(work, "implementer")
    snapshot(work, "implementer")
    begin(work, "reviewer")
    ran = work("context", "block", "t1", "--agent", "reviewer", "--finding", "no test")
    assert ran.out == "reviewer is blocked\n"
    snapshot(work, "reviewer")
    ran = begin(work, "validator", code=1)
    assert_clear(ran, code=1, says="reviewer is blocked: no test")
    ran = work("context", "update", "t1", "--agent", "reviewer", "--status", "done", code=1)
    assert_clear(ran, code=1, says="reviewer is blocked: no test")
    begin(work, "implementer")  # it is for the implementer to mend
    snapshot(work, "implementer")
    work("context", "unblock", "t1", "--agent", "reviewer", "--finding", "f1")
    begin(work, "reviewer")
    snapshot(work, "reviewer")
    begin(work, "validator")
    ran = work("context", "unblock", "t1", "--agent", "reviewer", code=1)
    assert_clear(ran, code=1, says="reviewer has no open finding")


def test_updates_and_wrong_ones(work: Kedge) -> None:
    work("context", "update", "t1", "--agent", "implementer", "--qa-log", "logs/qa.txt")
    assert shown(work)["coordination"]["implementer"]["qa_log"] == "logs/qa.txt"
    ran = work("context", "update", "t1", "--agent", "implementer", "--status", "done", code=1)
    assert_clear(ran, code=1, says="implementer cannot be done without a snapshot")
    ran = work("context", "update", "t1", "--agent", "implementer", "--status", "blocked", code=1)
    assert_clear(ran, code=1, says="a block needs a finding")
    ran = work("context", "update", "t1", "--agent", "reviewer", "--status", "in_progress", code=1)
    assert_clear(ran, code=1, says="implementer has left no snapshot")
    ran = work("context", "update", "t1", "--agent", "implementer", "--status", "odd", code=1)
    assert_clear(ran, code=1, says="'odd' is no status")
    assert work("context", "update", "t1", "--agent", "implementer", code=2).code == 2
    ran = work("context", "resolve", "t1", "--accept", "--note", "x", code=1)
    assert_clear(ran, code=1, says="there is no open drift")


def test_out_of_scope_work_is_told(work: Kedge) -> None:
    (work.directory / "README.md").write_text("# Ships\n")
    (work.directory / "src" / "a.py").write_text("one = 2\n")
    ran = snapshot(work, "implementer")
    assert "warning: out of scope: README.md" in ran.err
    assert shown(work)["coordination"]["implementer"]["snapshot"]["outside"] == ["README.md"]


def test_a_commit_in_between_is_no_change_of_the_tree(work: Kedge) -> None:
    root = work.directory
    (root / "src" / "a.py").write_text("one = 2\n")
    snapshot(work, "implementer")
    git(root, "add", ".")
    git(root, "commit", "-qm", "early")
    data = work.json("context", "verify", "t1")
    assert data["state"] == "same"
    assert "committed" in data["what"]
    git(root, "reset", "-q", "--hard", "HEAD~1")
    drift = work("context", "verify", "t1", "--json", code=4).document["data"]
    assert [one["path"] for one in drift["drift"]] == ["src/a.py"]


# Tampering, rebuilding, staleness


def test_an_edit_by_hand_is_seen(work: Kedge) -> None:
    path = folder(work) / "context.json"
    path.write_text(path.read_text().replace("it holds", "whatever"))
    ran = work("context", "show", "t1")
    assert "warning: the context of t1 was edited by something other than kedge" in ran.err
    for command in (["begin", "t1", "--agent", "implementer"], ["verify", "t1"]):
        ran = work("context", *command, code=1)
        assert_clear(ran, code=1, says="was edited by something other than kedge")
    ran = work("context", "rebuild", "t1")
    assert "cannot be trusted and is kept as context.json.broken-" in ran.err
    assert shown(work)["immutable"]["task_snapshot"]["acceptance_criteria"] == ["it holds"]
    begin(work, "implementer")
    assert shown(work)["revision"] == 2


def test_a_changed_task_makes_the_context_stale_and_rebuild_keeps_the_rest(work: Kedge) -> None:
    begin(work, "implementer")
    snapshot(work, "implementer")
    work("context", "record-qa", "t1", "--agent", "implementer", "--", "true")
    work("task", "claim", "t1", "--as", "ada")  # its state is not what it asks for
    begin(work, "reviewer")
    snapshot(work, "reviewer")
    work("task", "update", "t1", "--accept", "and it floats")
    ran = begin(work, "validator", code=1)
    assert_clear(ran, code=1, says="the context is stale: the task has changed")
    ran = work("context", "rebuild", "t1")
    assert "and it floats" in ran.out
    data = shown(work)
    assert data["revision"] == 2
    assert len(data["checks"]) == 1
    assert data["coordination"]["reviewer"]["snapshot"]
    begin(work, "validator")


def test_a_context_of_a_newer_kedge_or_none_at_all(work: Kedge) -> None:
    path = folder(work) / "context.json"
    whole = path.read_text()
    path.write_text(whole.replace('"version": 1', '"version": 9'))
    ran = work("context", "show", "t1", code=1)
    assert_clear(ran, code=1, says="has version 9, which a newer kedge wrote")
    for broken in (
        "",
        "{",
        "[]",
        "null",
        '{"version": 1}',
        whole.replace("coordination", "x")[:90],
    ):
        path.write_text(broken)
        ran = work("context", "show", "t1", code=1)
        assert ran.err.startswith("error: the context of t1"), ran
    assert_clear(work("context", "show", "t9", code=1), code=1, says="t9 has no context")


# Checks and evidence


def test_checks_are_run_and_compared_with_the_first(work: Kedge) -> None:
    root = work.directory
    script = root / "check.sh"
    script.write_text("echo '=== 3 passed in 0.1s ==='\n")
    run = ("context", "record-qa", "t1", "--agent", "implementer", "--", "sh", "check.sh")
    ran = work(*run)
    assert "3 passed" in ran.err  # streamed
    assert "sh check.sh: passed (pytest: 3 passed)" in ran.out
    script.write_text("echo '=== 1 failed, 2 passed in 0.1s ==='; exit 1\n")
    data = work("--json", *run).data
    assert data["exit_code"] == 1
    assert data["compared"]["regressed"] is True
    assert "; worse than the baseline: " in work("context", "show", "t1").out
    first, second = shown(work)["checks"]
    assert (first["baseline"], second["baseline"]) == (True, False)
    assert first["tree"] != second["tree"]
    assert (folder(work) / "artifacts" / second["log_artifact"]).exists()
    ran = work("context", "record-qa", "t1", "--agent", "implementer")
    assert ran.out == "true: passed; by implementer, baseline\n"  # what the context names
    work("context", "record-qa", "t1", "--agent", "implementer", "--", "no-such-program")
    assert shown(work)["checks"][-1]["baseline"] is False


def test_a_log_is_taken_over(work: Kedge, tmp_path: Path) -> None:
    log = tmp_path / "qa.log"
    log.write_text("Found 2 errors in 1 file (checked 3 source files)\n")
    base = ("context", "record-qa", "t1", "--agent", "implementer", "--from")
    data = work.json(*base, str(log), "--exit-code", "1")
    assert data["exit_code"] == 1
    assert work.json(*base, str(log))["exit_code"] is None
    ran = work(*base, str(tmp_path / "none.log"), code=1)
    assert_clear(ran, code=1, says="no file")


def test_evidence_is_kept_by_hash_and_watched(work: Kedge) -> None:
    root = work.directory
    (root / "notes.md").write_text("# A\n\nalpha\n\n# B\n\nbeta\n")
    first = work.json("context", "attach", "t1", "notes.md", "--heading", "B")
    second = work.json("context", "attach", "t1", "notes.md", "--lines", "1-3")
    assert work.json("context", "attach", "t1", "notes.md", "--lines", "1-3")["id"] == second["id"]
    assert len(shown(work)["evidence"]) == 2
    (root / "notes.md").write_text("# A\n\nalpha\n\n# B\n\nchanged\n")
    assert [one["id"] for one in shown(work)["changed_evidence"]] == [first["id"]]
    assert f"warning: {first['id']} has changed" in work("context", "show", "t1").err
    ran = work("context", "attach", "t1", "../out.md", code=1)
    assert ran.code == 1


def test_role_views_have_what_the_role_needs(work: Kedge) -> None:
    begin(work, "implementer")
    (work.directory / "src" / "a.py").write_text("one = 2\n")
    snapshot(work, "implementer")
    work("context", "record-qa", "t1", "--agent", "implementer", "--", "true")
    views = {
        role: work.json("context", "show", "t1", "--role", role)
        for role in ("implementer", "reviewer", "validator")
    }
    assert "validation" in views["implementer"]
    assert "handed_over" not in views["implementer"]
    assert "validation" not in views["reviewer"]
    assert views["reviewer"]["handed_over"][0]["agent"] == "implementer"
    assert "paths" not in views["validator"]
    text = work("context", "show", "t1", "--role", "reviewer").out
    assert text == views["reviewer"]["text"]
    assert "# t1: Moor the boat\n" in text
    assert "- [ ] it holds\n" in text
    assert views["reviewer"]["tokens"] > 20


def test_exports_are_listed_in_the_manifest(work: Kedge) -> None:
    work("context", "purge", "t1", "--yes")
    work("context", "init", "t1", "--export")
    manifest = json.loads((folder(work) / "context.manifest").read_text())
    names = [one["file"] for one in manifest["derived"]]
    assert names == [f"context-{role}.json" for role in ("implementer", "reviewer", "validator")]
    exported = json.loads((folder(work) / "context-reviewer.json").read_text())
    assert exported["seal"] == manifest["derived"][1]["seal"]


# Secrets


def finding(ran: Ran) -> str:
    assert ran.code == 1, ran
    assert "seems to hold a secret" in ran.err
    assert SECRET not in ran.out + ran.err
    return ran.err.split("--allow-secret ")[1].split()[0]


def test_secrets_are_refused_wherever_they_would_be_kept(work: Kedge, tmp_path: Path) -> None:
    root = work.directory
    log = tmp_path / "qa.log"
    log.write_text(f"token {SECRET}\n")
    (root / "notes.md").write_text(f"token {SECRET}\n")
    commands = [
        ("block", "t1", "--agent", "reviewer", "--finding", f"it has {SECRET}"),
        ("record-qa", "t1", "--agent", "reviewer", "--from", str(log)),
        ("attach", "t1", "notes.md"),
        ("snapshot", "t1", "--agent", "implementer"),
    ]
    for command in commands:
        found = finding(work("context", *command, code=1))
        assert SECRET not in "".join(
            path.read_text(errors="replace") for path in folder(work).rglob("*") if path.is_file()
        )
        wrong = work("context", *command, "--allow-secret", "x" + found[1:], code=1)
        assert finding(wrong) == found
    for name, data in (
        ("plus.txt", f"++ token={SECRET}\n".encode()),
        ("wide.txt", SECRET.encode("utf-16")),
        ("nul.txt", b"\0" + SECRET.encode()),
        (f"{SECRET}.txt", b"x\n"),
    ):
        (root / "notes.md").unlink(missing_ok=True)
        (root / "src" / name).write_bytes(data)
        finding(work("context", *commands[3], code=1))
        (root / "src" / name).unlink()
    (root / "notes.md").write_text(f"token {SECRET}\n")
    work("context", *commands[0], "--allow-secret", found)
    assert found in shown(work)["audit"]["allowed_secrets"]
    work("context", *commands[3])  # what was let through once is let through


# Several at once, and crashes


def test_many_writers_lose_nothing(work: Kedge) -> None:
    def write(number: int) -> None:
        work("context", "update", "t1", "--agent", f"agent{number}", "--qa-log", f"{number}.log")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    data = shown(work)
    assert {f"agent{n}": f"{n}.log" for n in range(16)} == {
        name: one["qa_log"] for name, one in data["coordination"].items() if one["qa_log"]
    }
    assert data["audit"]["count"] == 17


def test_a_kill_at_any_moment_leaves_a_readable_context(work: Kedge) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    begin_ = time.monotonic()
    work("context", "update", "t1", "--agent", "whole", "--qa-log", "x.log")
    usual = time.monotonic() - begin_
    for number in range(100):
        log = f"{number}.log"
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "kedge",
                "context",
                "update",
                "t1",
                "--agent",
                f"a{number}",
                "--qa-log",
                log,
            ],
            cwd=work.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ,
        )
        time.sleep(chance.uniform(0.2, 1.3) * usual)
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        if out:
            acknowledged.add(f"a{number}")
    data = shown(work)
    assert 0 < len(acknowledged) < 100  # some were killed, and some were not
    assert acknowledged <= data["coordination"].keys()
    assert not [w for w in work("context", "show", "t1").err.splitlines() if "edited" in w]


# What is the user's


def users_git(root: Path) -> dict[str, Any]:
    """What of the repository is not kedge's: index, HEAD, refs, stash, reflogs, settings."""
    top = root / ".git"
    found: dict[str, Any] = {
        path.relative_to(top).as_posix(): path.read_bytes()
        for name in ("index", "HEAD", "config", "packed-refs", "ORIG_HEAD", "info/exclude")
        for path in [top / name]
        if path.is_file()
    }
    for folder_ in ("logs", "refs"):
        for path in sorted((top / folder_).rglob("*")):
            name = path.relative_to(top).as_posix()
            if path.is_file() and not name.startswith("refs/kedge/"):
                found[name] = path.read_bytes()
    return found


def test_every_command_leaves_the_users_index_stash_and_history_alone(work: Kedge) -> None:
    root = work.directory
    (root / "src" / "b.py").write_text("stashed = 1\n")
    git(root, "stash", "push", "--quiet")
    (root / "src" / "a.py").write_text("staged = 1\n")
    git(root, "add", "src/a.py")
    (root / "src" / "a.py").write_text("staged = 1\nand_not = 2\n")
    (root / "src" / "new.py").write_text("new = 1\n")
    before = users_git(root)
    implementer, reviewer = ("--agent", "implementer"), ("--agent", "reviewer")
    for args, code in (
        (("begin", "t1", *implementer), 0),
        (("update", "t1", *implementer, "--qa-log", "x.log"), 0),
        (("snapshot", "t1", *implementer), 0),
        (("verify", "t1"), 0),
        (("show", "t1"), 0),
        (("show", "t1", "--role", "reviewer"), 0),
        (("diff", "t1", *implementer), 0),
        (("record-qa", "t1", *implementer, "--", "true"), 0),
        (("attach", "t1", "README.md"), 0),
        (("list",), 0),
        (("block", "t1", *implementer, "--finding", "no"), 0),
        (("unblock", "t1", *implementer), 0),
        (("rebuild", "t1"), 0),
        (("begin", "t1", *reviewer), 0),
        (("snapshot", "t1", *reviewer), 0),
    ):
        work("context", *args, code=code)
        assert users_git(root) == before, args
    (root / "src" / "new.py").write_text("changed = 1\n")
    work("context", "begin", "t1", "--agent", "validator", code=4)
    assert users_git(root) == before
    work("context", "resolve", "t1", "--revert", "--note", "not mine")
    assert (root / "src" / "new.py").read_text() == "new = 1\n"
    assert users_git(root) == before
    (root / "src" / "new.py").write_text("again = 1\n")
    work("context", "begin", "t1", "--agent", "validator", code=4)
    work("context", "resolve", "t1", "--accept", "--note", "mine")
    work("context", "sweep")
    work("context", "purge", "t1", "--yes")
    assert users_git(root) == before
    assert (root / "src" / "a.py").read_text() == "staged = 1\nand_not = 2\n"


# Ids and links


@pytest.mark.parametrize("name", ["../src", "/etc", "a/b", "a\\b/..", "..", "a..b", "x.lock", "-x"])
def test_no_id_leads_out_of_its_directory(work: Kedge, name: str) -> None:
    before = sorted(path for path in work.directory.rglob("*") if ".git/" not in str(path))
    for command in (["show", name], ["purge", "--yes", "--", name], ["init", "--", name]):
        assert work("context", *command, code=None).code in (1, 2)
    ran = work("context", "snapshot", "t1", "--agent", name, code=None)
    assert ran.code in (1, 2)
    assert sorted(p for p in work.directory.rglob("*") if ".git/" not in str(p)) == before


def test_a_linked_context_directory_is_not_followed(work: Kedge, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    folder(work).rename(outside)
    folder(work).symlink_to(outside)
    for command in (["show", "t1"], ["purge", "t1", "--yes"]):
        ran = work("context", *command, code=1)
        assert_clear(ran, code=1, says="leads out of")
    assert (outside / "context.json").exists()


# List, purge, sweep


def test_orphans_are_found_and_swept(work: Kedge) -> None:
    assert work.json("context", "sweep", "--ttl", "0s", "--dry-run") == []
    tasks = work.directory / ".kedge" / "tasks.jsonl"
    tasks.write_text("")
    assert work.json("context", "sweep", "--ttl", "7d") == []
    (orphan,) = work.json("context", "sweep", "--ttl", "0s", "--dry-run")
    assert orphan["task"] == "t1"
    assert orphan["why"] == "its task is gone"
    assert len(work.json("context", "list")) == 1
    work("context", "sweep", "--ttl", "0s")
    assert work.json("context", "list") == []
    assert_clear(work("context", "sweep", "--ttl", "soon", code=1), code=1, says="is no time")


def test_purge_asks_and_repeats_harmlessly(work: Kedge) -> None:
    assert_clear(work("context", "purge", "t1", code=1), code=1, says="purge asks")
    work("context", "purge", "t1", "--yes")
    assert work("context", "purge", "t1").out == "t1 has no context\n"
    assert not folder(work).exists()


def test_closing_never_fails_because_of_a_context(work: Kedge) -> None:
    (folder(work) / "context.json").write_text("{broken")
    ran = work("task", "close", "t1")
    assert "t1 is done" in ran.out
    assert "warning: the context of t1 was not archived" in ran.err
