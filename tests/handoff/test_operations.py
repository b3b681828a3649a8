"""`kedge context`: from implementer to reviewer to validator, with nothing committed in between."""

from __future__ import annotations

import json
import os
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, Ran, assert_clear, git, run_killed_at

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


def show(kedge: Kedge, task: str = "t1") -> dict[str, Any]:
    data: dict[str, Any] = kedge.json("context", "show", task)
    return data


def begin(kedge: Kedge, agent: str, **more: Any) -> Ran:
    return kedge("context", "begin", "t1", "--agent", agent, **more)


def snapshot(kedge: Kedge, agent: str, *args: str, **more: Any) -> Ran:
    return kedge("context", "snapshot", "t1", "--agent", agent, *args, **more)


def folder(kedge: Kedge) -> Path:
    return kedge.directory / ".kedge" / "context" / "t1"


# Init


def test_the_request_is_frozen_with_its_sources(work: Kedge) -> None:
    data = show(work)
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


def test_init_prints_the_origin_of_each_field(work: Kedge) -> None:
    work("task", "add", "Other", "--id", "t2", "--description", "x")
    (work.directory / "Makefile").write_text("test:\n\tpytest\n")
    (work.directory / "src" / "a.py").write_text("one = 0\n")
    ran = work("context", "init", "t2")
    assert "task_snapshot\tfrom task t2\n" in ran.out
    assert "validation_baseline.commands\tfrom Makefile:1\n" in ran.out
    assert "the working tree is dirty at the start: Makefile, src/a.py" in ran.err
    assert show(work, "t2")["immutable"]["validation_baseline"]["commands"] == ["make test"]


def test_a_title_and_criteria_are_enough_for_a_context(work: Kedge) -> None:
    work("task", "add", "Brief", "--id", "t2", "--accept", "it holds")
    asked = work.json("context", "init", "t2")["immutable"]["task_snapshot"]
    assert asked["acceptance_criteria"] == ["it holds"]


def test_a_context_of_a_task_that_is_not_in_progress_is_warned_about(work: Kedge) -> None:
    for number, acts in enumerate([[], ["close"], ["close", "--failed"]], 2):
        id_ = f"t{number}"
        work("task", "add", "Brief", "--id", id_, "--accept", "it holds")
        if acts:
            work("task", *acts, id_)
        status = work.json("task", "show", id_)["status"]
        ran = work("context", "init", id_)
        act = "claim" if status == "open" else "reopen"
        words = f"{id_} is {status}, not in progress: `kedge task {act} {id_}`"
        assert f"warning: {words}\n" in ran.err
    work("task", "add", "Brief", "--id", "t9", "--accept", "it holds")
    work("task", "claim", "t9")
    assert "not in progress" not in work("context", "init", "t9").err


def test_a_context_can_claim_its_task(work: Kedge) -> None:
    work("task", "add", "Brief", "--id", "t2", "--accept", "it holds")
    ran = work("context", "init", "t2", "--claim", "--actor", "ada")
    assert "not in progress" not in ran.err
    task = work.json("task", "show", "t2")
    assert (task["status"], task["assignee"]) == ("in_progress", "ada")
    work("task", "add", "Brief", "--id", "t3", "--accept", "it holds")
    work("task", "close", "t3")
    assert_clear(work("context", "init", "t3", "--claim", code=1), code=1, says="t3 is done")
    assert "no context" in work("context", "show", "t3", code=1).err


def test_missing_fields_of_a_task_are_listed(work: Kedge) -> None:
    work("task", "add", "Bare", "--id", "t2")
    ran = work("context", "init", "t2", code=1)
    assert_clear(ran, code=1, says="t2 lacks a description or acceptance criteria")
    work("config", "set", "context.require_citations", "true")
    ran = work("context", "init", "t2", code=1)
    assert "citations" in ran.err
    assert_clear(work("context", "init", "nope", code=1), code=1, says="no task 'nope'")
    assert not (work.directory / ".kedge" / "context" / "t2").exists()


def test_a_large_field_gets_a_warning(work: Kedge) -> None:
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
    (cited,) = show(work, "t2")["immutable"]["standards_citations"]
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
    assert_clear(ran, code=1, says="t2 already has a context")
    assert show(work, "t2")["audit"]["count"] == 1


# A whole handoff


def test_a_whole_handoff_with_edits_at_each_step_and_drift(work: Kedge) -> None:
    root = work.directory
    begin(work, "implementer")
    (root / "src" / "a.py").write_text("one = 11\n")
    (root / "src" / "new.py").write_text("new = 1\n")
    ran = snapshot(work, "implementer", "--actor", "ada")
    assert "recorded what implementer left: 2 files, +2 -1 (tree " in ran.out
    assert work("context", "verify", "t1").code == 0

    # An edit in between is found, path by path, and stops the reviewer.
    (root / "src" / "a.py").write_text("one = 111\n")
    (root / "README.md").unlink()
    ran = work("context", "verify", "t1", "--json", code=4)
    drift = ran.document["data"]
    assert drift["since"] == "implementer"
    assert drift["drift"] == [
        {"path": "README.md", "change": "deleted", "scope": "out"},
        {"path": "src/a.py", "change": "changed", "scope": "in"},
    ]
    begin(work, "reviewer", code=4)
    assert_clear(begin(work, "reviewer", code=1), code=1, says="is not what implementer left")
    assert len(show(work)["drift"]) == 1

    # Reverted with a note; the tree from before is kept.
    ran = work("context", "resolve", "t1", "--revert", "--note", "not mine")
    assert (
        "warning: the tree before the revert is kept as refs/kedge/before-revert/t1-d-" in ran.err
    )
    assert (root / "src" / "a.py").read_text() == "one = 11\n"
    assert (root / "README.md").read_text() == "# Boats\n"
    assert "before-revert" in git(root, "for-each-ref", "refs/kedge")
    begin(work, "reviewer")

    # The reviewer edits and takes a snapshot, and is not locked out.
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
    assert ran.out == "changed\tsrc/b.py\tin scope\n"
    assert "the working tree is not what reviewer left" in ran.err
    assert_clear(begin(work, "validator", code=1), code=1, says="is not what reviewer left")
    assert show(work)["coordination"]["validator"]["drift_budget"] == 1
    work("context", "resolve", "t1", "--accept", "--note", "I mended b")
    begin(work, "validator")
    begin(work, "validator-2")
    work("context", "record-qa", "t1", "--agent", "validator", "--", "true")
    for agent in ("validator", "validator-2"):
        snapshot(work, agent)
    data = show(work)
    assert {name: one["status"] for name, one in data["coordination"].items()} == dict.fromkeys(
        ("implementer", "reviewer", "validator", "validator-2"), "done"
    )
    assert [(one["state"], one["note"]) for one in data["drift"]] == [
        ("reverted", "not mine"),
        ("accepted", "I mended b"),
    ]
    assert data["coordination"]["validator"]["drift_budget"] == 0

    # Closing archives a summary and purges the rest.
    work("task", "close", "t1")
    assert not folder(work).exists()
    refs = git(root, "for-each-ref", "--format=%(refname)", "refs/kedge").split()
    assert [ref.rsplit("-d-", 1)[0] for ref in refs] == ["refs/kedge/before-revert/t1"]
    (line,) = (root / ".kedge" / "handoffs" / "t1.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["agents"].keys() == {"implementer", "reviewer", "validator", "validator-2"}
    assert record["checks"][0]["exit_code"] == 0
    assert len(record["drift"]) == 2


def test_an_agent_that_begins_again_continues(work: Kedge) -> None:
    snapshot(work, "implementer")
    begin(work, "reviewer", env={"KEDGE_TASKS_ACTOR": "ann"})
    (work.directory / "src" / "a.py").write_text("mine = 1\n")
    begin(work, "reviewer", env={"KEDGE_TASKS_ACTOR": "ann"})  # its own work is not drift
    ran = begin(work, "reviewer", env={"KEDGE_TASKS_ACTOR": "bob"}, code=1)
    assert_clear(ran, code=1, says="ann is already at work as reviewer")
    assert show(work)["drift"] == []


def test_of_concurrent_begins_one_succeeds(work: Kedge) -> None:
    snapshot(work, "implementer")

    def start(name: str) -> int:
        return begin(work, name, code=None).code

    with ThreadPoolExecutor(3) as pool:
        codes = list(pool.map(start, ["implementer", "reviewer", "validator"]))
    assert sorted(codes) == [0, 1, 1]


def test_a_snapshot_is_refused_while_drift_is_open(work: Kedge) -> None:
    snapshot(work, "implementer")
    (work.directory / "src" / "stray.py").write_text("x = 1\n")
    begin(work, "reviewer", code=4)
    ran = snapshot(work, "implementer", code=1)
    assert_clear(ran, code=1, says="is not what implementer left")


def test_paths_out_of_scope_are_reported_and_a_changed_macro_makes_stale(work: Kedge) -> None:
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
    kept = show(work, "t2")["coordination"]["implementer"]["snapshot"]
    assert kept["outside"] == ["src/ui/gen/b.py"]
    (work.directory / ".kedge" / "scopes.toml").write_text('ui = ["src/"]\n')
    ran = work("context", "begin", "t2", "--agent", "reviewer", code=1)
    assert_clear(ran, code=1, says="the context is stale: .kedge/scopes.toml has changed")


def test_sweep_refuses_while_a_task_cannot_be_read(work: Kedge) -> None:
    (work.directory / "tasks").mkdir()
    (work.directory / "tasks" / "t1.task.yaml").write_text('id: t1\ntitle: "torn\n')
    (work.directory / ".kedge" / "tasks.jsonl").unlink()
    ran = work("context", "sweep", "--ttl", "0s", code=1)
    assert "not all tasks could be read" in ran.err
    assert folder(work).exists()


def test_each_work_tree_keeps_its_own_snapshots(work: Kedge, tmp_path: Path) -> None:
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


def test_verifying_an_older_snapshot_opens_no_event(work: Kedge) -> None:
    root = work.directory
    snapshot(work, "implementer")
    (root / "src" / "a.py").write_text("one = 3\n")
    snapshot(work, "reviewer")
    work("context", "verify", "t1", "--expected-agent", "implementer", code=4)
    assert show(work)["drift"] == []
    begin(work, "validator")


def test_a_path_that_is_not_utf_8_is_reported_escaped(work: Kedge) -> None:
    snapshot(work, "implementer")
    Path(os.fsdecode(os.fsencode(work.directory) + b"/src/caf\xe9.py")).write_text("x = 1\n")
    drift = work("context", "verify", "t1", "--json", code=4).document["data"]["drift"]
    assert [one["path"] for one in drift] == ["src/caf\\xe9.py"]
    work("context", "resolve", "t1", "--accept", "--note", "mine")


def test_an_unknown_or_skipped_role_gets_a_warning(work: Kedge) -> None:
    snapshot(work, "implementer")
    assert "warning: auditor is not one of implementer, reviewer" in begin(work, "auditor").err
    snapshot(work, "auditor")
    assert "warning: reviewer is skipped: it has no snapshot" in begin(work, "validator").err


def test_rebuild_replaces_an_unreadable_context_and_recovers_its_snapshots(work: Kedge) -> None:
    (work.directory / "src" / "a.py").write_text("one = 3\n")
    snapshot(work, "implementer")
    tree = show(work)["coordination"]["implementer"]["snapshot"]["tree"]
    (folder(work) / "context.json").write_text("{broken")
    ran = work("context", "rebuild", "t1")
    assert "checks, findings and events were not" in ran.err
    assert show(work)["coordination"]["implementer"]["snapshot"]["tree"] == tree
    begin(work, "reviewer")


def test_closing_warns_about_open_findings_and_archives_them(work: Kedge) -> None:
    work("context", "block", "t1", "--agent", "reviewer", "--finding", "very wrong")
    work("context", "record-qa", "t1", "--agent", "implementer", "--", "false")
    ran = work("task", "close", "t1")
    assert "warning: reviewer had an open finding: very wrong" in ran.err
    assert "warning: the check `false` failed when it last ran" in ran.err
    record = json.loads((work.directory / ".kedge" / "handoffs" / "t1.jsonl").read_text())
    assert record["findings"][0]["text"] == "very wrong"


def test_a_reviewer_needs_a_snapshot_of_the_implementer(work: Kedge) -> None:
    ran = begin(work, "reviewer", code=1)
    assert_clear(ran, code=1, says="there is no snapshot of implementer to continue from")
    begin(work, "implementer")
    snapshot(work, "implementer", "--at-work")
    ran = begin(work, "reviewer", code=1)
    assert_clear(ran, code=1, says="implementer is still at work")
    (work.directory / "src" / "a.py").write_text("still = 1\n")
    assert work("context", "verify", "t1", code=4).code == 4
    assert show(work)["drift"] == []  # an agent at work may change files


def test_findings_block_later_roles(work: Kedge) -> None:
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
    begin(work, "implementer")  # the implementer has to fix it
    snapshot(work, "implementer")
    work("context", "unblock", "t1", "--agent", "reviewer", "--finding", "f1")
    begin(work, "reviewer")
    snapshot(work, "reviewer")
    begin(work, "validator")
    ran = work("context", "unblock", "t1", "--agent", "reviewer", code=1)
    assert_clear(ran, code=1, says="reviewer has no open finding")


def test_update_sets_fields_and_refuses_wrong_values(work: Kedge) -> None:
    (work.directory / "logs").mkdir()
    (work.directory / "logs" / "qa.txt").write_text("fine\n")
    work("context", "update", "t1", "--agent", "implementer", "--qa-log", "logs/qa.txt")
    assert show(work)["coordination"]["implementer"]["qa_log"] == "logs/qa.txt"
    ran = work("context", "update", "t1", "--agent", "implementer", "--status", "done", code=1)
    assert_clear(ran, code=1, says="implementer cannot be done: it has no snapshot")
    ran = work("context", "update", "t1", "--agent", "implementer", "--status", "blocked", code=1)
    assert_clear(ran, code=1, says="a blocked agent needs a finding")
    ran = work("context", "update", "t1", "--agent", "reviewer", "--status", "in_progress", code=1)
    assert_clear(ran, code=1, says="there is no snapshot of implementer to continue from")
    ran = work("context", "update", "t1", "--agent", "implementer", "--status", "odd", code=1)
    assert_clear(ran, code=1, says="'odd' is not a status")
    assert work("context", "update", "t1", "--agent", "implementer", code=2).code == 2
    ran = work("context", "resolve", "t1", "--accept", "--note", "x", code=1)
    assert_clear(ran, code=1, says="there is no open drift")


def test_a_snapshot_reports_paths_out_of_scope(work: Kedge) -> None:
    (work.directory / "README.md").write_text("# Ships\n")
    (work.directory / "src" / "a.py").write_text("one = 2\n")
    ran = snapshot(work, "implementer")
    assert "warning: out of scope: README.md" in ran.err
    assert show(work)["coordination"]["implementer"]["snapshot"]["outside"] == ["README.md"]


def test_a_commit_does_not_change_the_tree(work: Kedge) -> None:
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


def test_an_edit_of_the_context_by_hand_is_detected(work: Kedge) -> None:
    path = folder(work) / "context.json"
    path.write_text(path.read_text().replace("it holds", "whatever"))
    ran = work("context", "show", "t1")
    assert "warning: the context of t1 was edited by something other than kedge" in ran.err
    for command in (["begin", "t1", "--agent", "implementer"], ["verify", "t1"]):
        ran = work("context", *command, code=1)
        assert_clear(ran, code=1, says="was edited by something other than kedge")
    ran = work("context", "rebuild", "t1")
    assert "cannot be trusted and is kept as context.json.broken-" in ran.err
    assert show(work)["immutable"]["task_snapshot"]["acceptance_criteria"] == ["it holds"]
    begin(work, "implementer")
    assert show(work)["revision"] == 2


def test_a_changed_task_makes_the_context_stale_and_rebuild_keeps_the_rest(work: Kedge) -> None:
    begin(work, "implementer")
    snapshot(work, "implementer")
    work("context", "record-qa", "t1", "--agent", "implementer", "--", "true")
    work("task", "claim", "t1", "--as", "ada")  # the status is not part of the request
    begin(work, "reviewer")
    snapshot(work, "reviewer")
    work("task", "update", "t1", "--accept", "and it floats")
    ran = begin(work, "validator", code=1)
    assert_clear(ran, code=1, says="the context is stale: the task has changed")
    ran = work("context", "rebuild", "t1")
    assert "and it floats" in ran.out
    data = show(work)
    assert data["revision"] == 2
    assert len(data["checks"]) == 1
    assert data["coordination"]["reviewer"]["snapshot"]
    begin(work, "validator")


def test_a_newer_or_missing_context_is_refused(work: Kedge) -> None:
    path = folder(work) / "context.json"
    whole = path.read_text()
    path.write_text(whole.replace('"version": 1', '"version": 9'))
    ran = work("context", "show", "t1", code=1)
    assert_clear(ran, code=1, says="a newer kedge wrote it (version 9)")
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


def test_checks_are_run_and_compared_with_the_baseline(work: Kedge) -> None:
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
    first, second = show(work)["checks"]
    assert (first["baseline"], second["baseline"]) == (True, False)
    assert first["tree"] != second["tree"]
    assert (folder(work) / "artifacts" / second["log_artifact"]).exists()
    ran = work("context", "record-qa", "t1", "--agent", "implementer")
    # the check that the context names
    assert ran.out == "true: passed; by implementer, first run, on the changed tree\n"
    work("context", "record-qa", "t1", "--agent", "implementer", "--", "no-such-program")
    assert show(work)["checks"][-1]["baseline"] is False


def test_a_log_from_elsewhere_is_recorded(work: Kedge, tmp_path: Path) -> None:
    log = tmp_path / "qa.log"
    log.write_text("Found 2 errors in 1 file (checked 3 source files)\n")
    base = ("context", "record-qa", "t1", "--agent", "implementer", "--from")
    data = work.json(*base, str(log), "--exit-code", "1")
    assert data["exit_code"] == 1
    assert work.json(*base, str(log))["exit_code"] is None
    ran = work(*base, str(tmp_path / "none.log"), code=1)
    assert_clear(ran, code=1, says="no file")


def test_evidence_is_stored_by_hash_and_a_change_is_reported(work: Kedge) -> None:
    root = work.directory
    (root / "notes.md").write_text("# A\n\nalpha\n\n# B\n\nbeta\n")
    first = work.json("context", "attach", "t1", "notes.md", "--heading", "B")
    second = work.json("context", "attach", "t1", "notes.md", "--lines", "1-3")
    assert work.json("context", "attach", "t1", "notes.md", "--lines", "1-3")["id"] == second["id"]
    assert len(show(work)["evidence"]) == 2
    (root / "notes.md").write_text("# A\n\nalpha\n\n# B\n\nchanged\n")
    assert [one["id"] for one in show(work)["changed_evidence"]] == [first["id"]]
    assert f"warning: {first['id']} has changed" in work("context", "show", "t1").err
    ran = work("context", "attach", "t1", "../out.md", code=1)
    assert ran.code == 1


def test_role_views_hold_what_the_role_needs(work: Kedge) -> None:
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


def test_a_secret_in_a_nested_repository_is_refused_and_no_copy_is_kept(work: Kedge) -> None:
    inner = work.directory / "src" / "inner"
    git(work.directory, "init", "-q", str(inner))
    (inner / "a").write_text("a\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "first")
    (inner / "b.txt").write_text(f"token {SECRET}\n")
    ran = work("context", "snapshot", "t1", "--agent", "implementer", code=1)
    assert "src/inner/b.txt" in ran.err
    finding(ran)
    (inner / "b.txt").unlink()
    copies = [zlib.decompress(path.read_bytes()) for path in work.directory.rglob("objects/??/*")]
    assert copies
    assert not [one for one in copies if SECRET.encode() in one]


def test_secrets_are_refused_wherever_they_would_be_stored(work: Kedge, tmp_path: Path) -> None:
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
        ("tab\t.bin", b"\0" + SECRET.encode()),  # git quotes such names
        ('quote".bin', b"\0" + SECRET.encode()),
        (f"{SECRET}.txt", b"x\n"),
    ):
        (root / "notes.md").unlink(missing_ok=True)
        (root / "src" / name).write_bytes(data)
        finding(work("context", *commands[3], code=1))
        (root / "src" / name).unlink()
    (root / "notes.md").write_text(f"token {SECRET}\n")
    work("context", *commands[0], "--allow-secret", found)
    assert found in show(work)["audit"]["allowed_secrets"]
    work("context", *commands[3])  # a secret that was allowed once stays allowed


# Concurrency and crashes


def test_many_writers_lose_nothing(work: Kedge) -> None:
    def write(number: int) -> None:
        (work.directory / f"{number}.log").touch()
        work("context", "update", "t1", "--agent", f"agent{number}", "--qa-log", f"{number}.log")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    data = show(work)
    assert {f"agent{n}": f"{n}.log" for n in range(16)} == {
        name: one["qa_log"] for name, one in data["coordination"].items() if one["qa_log"]
    }
    assert data["audit"]["count"] == 17


def test_a_kill_at_any_write_leaves_the_old_context_or_the_new(work: Kedge) -> None:
    path = folder(work) / "context.json"
    update = ["context", "update", "t1", "--agent", "reviewer", "--qa-log"]
    before = path.read_bytes()
    killed = 0
    for write in range(60):
        log = f"{write}.log"
        (work.directory / log).touch()
        done = run_killed_at(write, "-C", str(work.directory), *update, log)
        if path.read_bytes() != before:
            assert show(work)["coordination"]["reviewer"]["qa_log"] == log
            before = path.read_bytes()
        if done.returncode == 0:
            break
        assert done.returncode == 9, done.stderr
        killed += 1
    assert show(work)["coordination"]["reviewer"]["qa_log"] == log
    assert killed > 2
    assert "edited" not in work("context", "show", "t1").err


# The user's repository


def users_git(root: Path) -> dict[str, Any]:
    """Return the user's part of `.git`: index, HEAD, refs, stash, reflogs, settings."""
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
    (root / "x.log").write_text("fine\n")
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


def test_sweep_deletes_contexts_of_finished_and_missing_tasks(work: Kedge) -> None:
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
    assert_clear(
        work("context", "sweep", "--ttl", "soon", code=1), code=1, says="is not a duration"
    )


def test_purge_asks_first_and_can_be_repeated(work: Kedge) -> None:
    assert_clear(work("context", "purge", "t1", code=1), code=1, says="purge needs confirmation")
    work("context", "purge", "t1", "--yes")
    assert work("context", "purge", "t1").out == "t1 has no context\n"
    assert not folder(work).exists()


def test_closing_never_fails_because_of_a_context(work: Kedge) -> None:
    (folder(work) / "context.json").write_text("{broken")
    ran = work("task", "close", "t1")
    assert "t1 is done" in ran.out
    assert "warning: the context of t1 was not archived" in ran.err
