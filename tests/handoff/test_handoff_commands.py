"""`kedge context`: what it accepts, what it refuses, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Kedge, git


@pytest.fixture
def handed_over(repo: Path, kedge: Kedge) -> Path:
    """A task `t` whose implementer has left a snapshot."""
    (repo / "src").mkdir()
    (repo / "src" / "a").write_text("a\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    more = ("--description", "d", "--accept", "c", "--scope", "src/", "--check", "true")
    kedge("task", "add", "Sail", "--id", "t", *more)
    kedge("context", "init", "t")
    kedge("context", "begin", "t", "--agent", "implementer")
    (repo / "src" / "a").write_text("b\n")
    kedge("context", "snapshot", "t", "--agent", "implementer")
    return repo


def _events(kedge: Kedge) -> list[str]:
    return [one["state"] for one in kedge("context", "show", "t", "--json").data["drift"]]


# Events


def test_verify_writes_nothing(handed_over: Path, kedge: Kedge) -> None:
    stored = handed_over / ".kedge" / "context" / "t" / "context.json"
    before = stored.read_bytes()
    (handed_over / "src" / "a").write_text("c\n")
    kedge("context", "verify", "t", code=4)
    assert stored.read_bytes() == before
    (handed_over / "src" / "a").write_text("b\n")
    kedge("context", "verify", "t")
    kedge("context", "begin", "t", "--agent", "reviewer")
    assert _events(kedge) == []


def test_an_event_whose_paths_are_back_closes_itself(handed_over: Path, kedge: Kedge) -> None:
    (handed_over / "src" / "a").write_text("c\n")
    kedge("context", "begin", "t", "--agent", "reviewer", code=4)
    assert _events(kedge) == ["open"]
    (handed_over / "src" / "a").write_text("b\n")
    ran = kedge("context", "begin", "t", "--agent", "reviewer")
    assert "every path is back" in ran.err
    assert _events(kedge) == ["returned"]


def test_what_verify_found_can_be_resolved_at_once(handed_over: Path, kedge: Kedge) -> None:
    (handed_over / "src" / "a").write_text("c\n")
    kedge("context", "verify", "t", code=4)
    kedge("context", "resolve", "t", "--revert", "--note", "a slip")
    assert (handed_over / "src" / "a").read_text() == "b\n"
    assert _events(kedge) == ["reverted"]


# Submodules


@pytest.fixture
def submodule(repo: Path, kedge: Kedge, tmp_path: Path) -> Path:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "f").write_text("1\n")
    git(library, "add", ".")
    git(library, "commit", "-qm", "library")
    allow = ("-c", "protocol.file.allow=always")
    git(repo, *allow, "submodule", "--quiet", "add", str(library), "sub")
    git(repo, "commit", "-qm", "submodule")
    kedge(
        "task", "add", "Sail", "--id", "t", "--description", "d", "--accept", "c", "--check", "true"
    )
    kedge("context", "init", "t")
    kedge("context", "begin", "t", "--agent", "implementer")
    return repo / "sub"


def test_an_uncommitted_edit_inside_a_submodule_is_seen(submodule: Path, kedge: Kedge) -> None:
    (submodule / "f").write_text("2\n")
    kedge("context", "snapshot", "t", "--agent", "implementer")
    kedge("context", "verify", "t")
    (submodule / "f").write_text("3\n")
    (submodule / "new").write_text("x\n")
    ran = kedge("context", "begin", "t", "--agent", "reviewer", "--json", code=4)
    changes = {one["path"]: one["change"] for one in ran.document["data"]["drift"]}
    assert changes == {"sub/f": "changed", "sub/new": "added"}
    kedge("context", "resolve", "t", "--revert", "--note", "a slip")
    assert (submodule / "f").read_text() == "2\n"
    assert not (submodule / "new").exists()
    kedge("context", "begin", "t", "--agent", "reviewer")


def test_a_submodule_is_left_as_it_was(submodule: Path, kedge: Kedge) -> None:
    index = (submodule.parent / ".git" / "modules" / "sub" / "index").read_bytes()
    head = git(submodule, "rev-parse", "HEAD")
    (submodule / "f").write_text("2\n")
    kedge("context", "snapshot", "t", "--agent", "implementer")
    assert git(submodule, "for-each-ref", "refs/kedge")
    kedge("context", "purge", "t", "--yes")
    assert git(submodule, "for-each-ref", "refs/kedge") == ""
    assert (submodule.parent / ".git" / "modules" / "sub" / "index").read_bytes() == index
    assert git(submodule, "rev-parse", "HEAD") == head


# What is shown


def test_show_says_that_head_has_moved(handed_over: Path, kedge: Kedge) -> None:
    assert "HEAD has moved" not in kedge("context", "show", "t").err
    git(handed_over, "commit", "-qam", "mine")
    ran = kedge("context", "show", "t")
    assert "HEAD has moved since the context was made" in ran.err
    assert git(handed_over, "rev-parse", "HEAD")[:12] in ran.err


def test_cited_standards_are_in_the_summary_and_the_manifest(repo: Path, kedge: Kedge) -> None:
    (repo / "std.md").write_text("# Sails\n\nReef early.\n")
    mapping = '[[standards]]\narea = ["backend"]\npriority = ["P1"]\ncite = ["std.md#Sails"]\n'
    (repo / ".kedge").mkdir(exist_ok=True)
    (repo / ".kedge" / "standards.toml").write_text(mapping)
    (repo / "tasks").mkdir()
    (repo / "tasks" / "T-1.task.yaml").write_text(
        "id: T-1\ntitle: t\nstatus: todo\ndescription: d\nstandards: ['std.md#Sails']\n"
    )
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    (repo / ".kedge" / "standards.toml").unlink()
    made = kedge("context", "init", "T-1")
    assert "standards_citations\tfrom 1 section: std.md" in made.out
    manifest = json.loads((repo / ".kedge" / "context" / "T-1" / "context.manifest").read_text())
    assert any(one["name"].startswith("std.md#") for one in manifest["sources"])


def test_a_view_does_not_ask_to_change_what_is_ruled_out(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Sail", "--id", "t", "--description", "d", "--accept", "c",
          "--out-of-scope", "backend/", "--check", "true")  # fmt: skip
    kedge("context", "init", "t")
    view = kedge("context", "show", "t", "--role", "implementer").out
    assert "## Only change" not in view
    assert "!backend/" not in view
    assert "## Do not change\n\n- backend/\n" in view


def test_one_file_is_not_files(handed_over: Path, kedge: Kedge) -> None:
    assert "1 file +1 -1" in kedge("context", "show", "t").out
    assert "implementer: 1 file, +1" in kedge("context", "show", "t", "--role", "reviewer").out


def test_a_snapshot_says_what_was_recorded(handed_over: Path, kedge: Kedge) -> None:
    del handed_over
    ran = kedge("context", "snapshot", "t", "--agent", "implementer")
    assert ran.out.startswith("recorded what implementer left: 1 file, +1 -1 (tree ")


def test_a_first_run_on_the_changed_tree_is_no_baseline(handed_over: Path, kedge: Kedge) -> None:
    ran = kedge("context", "record-qa", "t", "--agent", "implementer", "--", "true")
    assert "first run, on the changed tree" in ran.out
    (handed_over / "src" / "a").write_text("a\n")
    ran = kedge("context", "record-qa", "t", "--agent", "implementer", "--", "test", "-e", "src/a")
    assert "baseline" in ran.out


def test_rows_of_drift_explain_themselves_in_a_pipe(handed_over: Path, kedge: Kedge) -> None:
    (handed_over / "src" / "a").write_text("c\n")
    (handed_over / "other").write_text("c\n")
    ran = kedge("context", "verify", "t", code=4)
    assert ran.out.splitlines() == ["added\tother\tout of scope", "changed\tsrc/a\tin scope"]


# What is accepted and refused


def test_both_names_of_the_agent_option_are_accepted(handed_over: Path, kedge: Kedge) -> None:
    kedge("context", "verify", "t", "--agent", "implementer")
    kedge("context", "verify", "t", "--expected-agent", "implementer")
    assert kedge("context", "diff", "t", "--expected-agent", "implementer").out


@pytest.mark.parametrize("name", ["implementr", "Reviewer", "validatr-unit"])
def test_a_slip_in_an_agents_name_is_refused(handed_over: Path, kedge: Kedge, name: str) -> None:
    ran = kedge("context", "snapshot", "t", "--agent", name, code=1)
    assert f"there is no agent '{name}'" in ran.err
    assert "did you mean" in ran.err
    kedge("context", "snapshot", "t", "--agent", "auditor")


def test_a_diff_from_base_is_spelled_either_way(handed_over: Path, kedge: Kedge) -> None:
    one = kedge("context", "diff", "t", "--agent", "implementer", "--type", "from_base").out
    assert one == kedge("context", "diff", "t", "--agent", "implementer", "--type", "from-base").out


def test_a_log_that_does_not_exist_is_refused(handed_over: Path, kedge: Kedge) -> None:
    update = ("context", "update", "t", "--agent", "implementer", "--qa-log")
    assert "there is no file 'gone.log'" in kedge(*update, "gone.log", code=1).err
    (handed_over / "qa.log").write_text("fine\n")
    kedge(*update, "qa.log")


def test_an_imported_log_can_name_its_command(handed_over: Path, kedge: Kedge) -> None:
    (handed_over / "qa.log").write_text("1 passed in 0.1s\n")
    record = ("context", "record-qa", "t", "--agent", "implementer")
    named = kedge(
        *record, "--from", "qa.log", "--command", "pytest -q", "--exit-code", "0", "--json"
    )
    assert named.data["command"] == "pytest -q"
    assert kedge(*record, "--command", "pytest -q", code=2).err


# Leftovers


def test_a_ref_lock_that_a_killed_git_left_does_not_stop_the_next_snapshot(
    handed_over: Path, kedge: Kedge
) -> None:
    refs = handed_over / ".git" / "refs" / "kedge"
    (ref,) = [path for path in refs.rglob("implementer*") if path.is_file()]
    lock = ref.with_name(f"{ref.name}.lock")
    lock.touch()
    kedge("context", "begin", "t", "--agent", "implementer", code=None)
    (handed_over / "src" / "a").write_text("c\n")
    kedge("context", "snapshot", "t", "--agent", "implementer")
    assert not lock.exists()
