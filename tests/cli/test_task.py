"""`kedge task`, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import Kedge, assert_clear

from kedge.model.task import FIELDS


def add(kedge: Kedge, task_id: str, *more: str) -> None:
    assert kedge("task", "add", f"Task {task_id}", "--id", task_id, *more).out == f"{task_id}\n"


def ids(kedge: Kedge, *args: str) -> list[str]:
    return [task["id"] for task in kedge.json("task", *args)]


def test_add_prints_the_id_alone_and_show_has_every_field(kedge: Kedge) -> None:
    add(kedge, "E-1", "--type", "epic")
    add(kedge, "T-0")
    out = kedge(
        *["task", "add", "Moor the boat", "--type", "bug", "--priority", "p1"],
        *["--description", "Use the\nlong line.", "--accept", "it holds", "--accept", "no chafe"],
        *["--epic", "E-1", "--depends", "T-0", "--scope", "src/boat", "--out-of-scope", "src/sea"],
        *["--check", "make test", "--label", "harbour", "--area", "backend"],
    ).out
    task_id = out.strip()
    assert out == f"{task_id}\n"
    task = kedge.json("task", "show", task_id)
    assert set(FIELDS) <= set(task)
    expected = {
        "id": task_id,
        "title": "Moor the boat",
        "type": "bug",
        "status": "open",
        "priority": "P1",
        "description": "Use the\nlong line.",
        "acceptance": ["it holds", "no chafe"],
        "labels": ["harbour"],
        "epic": "E-1",
        "depends_on": ["T-0"],
        "scope_in": ["src/boat"],
        "scope_out": ["src/sea"],
        "checks": ["make test"],
        "area": "backend",
        "assignee": None,
        "blocked": None,
    }
    assert {name: task[name] for name in expected} == expected
    text = kedge("task", "show", task_id).out
    for words in ("Moor the boat", "long line.", "- it holds", "- make test", "waits for:", "T-0"):
        assert words in text


def test_a_description_from_standard_input(kedge: Kedge) -> None:
    kedge("task", "add", "x", "--id", "T-1", "--description", "-", input="two\nlines\n")
    assert kedge.json("task", "show", "T-1")["description"] == "two\nlines\n"
    ran = kedge("task", "add", "y", "--description", "-", input=b"K\xe4se", code=2)
    assert_clear(ran, code=2, says="standard input:1: not UTF-8")


def test_list_filters(kedge: Kedge) -> None:
    add(kedge, "E-1", "--type", "epic")
    add(kedge, "T-1", "--label", "a", "--label", "b", "--epic", "E-1", "--priority", "P0")
    add(kedge, "T-2", "--label", "a", "--type", "bug", "--description", "the Tide turns")
    add(kedge, "T-10")
    kedge("task", "claim", "T-10", "--as", "ada")
    assert ids(kedge, "list") == ["E-1", "T-1", "T-2", "T-10"]
    assert ids(kedge, "list", "--label", "a") == ["T-1", "T-2"]
    assert ids(kedge, "list", "--label", "a", "--label", "b") == ["T-1"]
    assert ids(kedge, "list", "--type", "bug") == ["T-2"]
    assert ids(kedge, "list", "--priority", "P0") == ["T-1"]
    assert ids(kedge, "list", "--epic", "E-1") == ["T-1"]
    assert ids(kedge, "list", "--assignee", "ada") == ["T-10"]
    assert ids(kedge, "list", "--search", "tide TURNS") == ["T-2"]
    assert ids(kedge, "list", "--status", "in_progress", "--status", "done") == ["T-10"]
    assert ids(kedge, "ready") == ["T-1", "T-2"]
    assert ids(kedge, "ready", "--limit", "1") == ["T-1"]
    assert ids(kedge, "ready", "--label", "a", "--epic", "E-1") == ["T-1"]
    assert_clear(kedge("task", "list", "--epic", "E-9", code=1), code=1, says="no task 'E-9'")
    assert kedge("task", "list", "--type", "bug").out == "T-2\topen\tP2\tbug\tTask T-2\n"


def test_update_changes_what_it_names(kedge: Kedge) -> None:
    add(kedge, "E-1", "--type", "epic")
    add(kedge, "T-1", "--label", "a", "--accept", "old", "--epic", "E-1", "--scope", "src")
    kedge("task", "update", "T-1", "--title", "New", "--accept", "new", "--label", "b")
    kedge("task", "update", "T-1", "--unlabel", "a", "--clear", "epic", "--priority", "P3")
    task = kedge.json("task", "show", "T-1")
    assert (task["title"], task["acceptance"], task["labels"]) == ("New", ["new"], ["b"])
    assert (task["epic"], task["priority"], task["scope_in"]) == (None, "P3", ["src"])
    assert_clear(kedge("task", "update", "T-1", code=2), code=2, says="nothing to change")
    assert_clear(
        kedge("task", "update", "T-1", "--epic", "T-1", code=1), code=1, says="not an epic"
    )
    kedge("task", "update", "T-1", "--epic", "E-1")
    ran = kedge("task", "update", "E-1", "--type", "task", code=1)
    assert_clear(ran, code=1, says="is the epic of T-1")


def test_claims_exclude_each_other(kedge: Kedge) -> None:
    add(kedge, "E-1", "--type", "epic")
    add(kedge, "T-1")
    add(kedge, "T-2", "--depends", "T-1")
    kedge("task", "claim", "T-1", "--as", "ada")
    kedge("task", "claim", "T-1", "--as", "ada")
    assert_clear(kedge("task", "claim", "T-1", "--as", "bob", code=1), code=1, says="by ada")
    assert_clear(kedge("task", "claim", "T-2", code=1), code=1, says="waits for T-1")
    assert_clear(kedge("task", "claim", "E-1", code=1), code=1, says="is an epic")
    kedge("task", "reopen", "T-1")
    ran = kedge("task", "claim", "T-1", "--json", env={"KEDGE_TASKS_ACTOR": "env-actor"})
    assert ran.data["assignee"] == "env-actor"
    kedge("task", "reopen", "T-1")
    kedge("task", "claim", "T-1")
    assert_clear(kedge("task", "claim", "T-1", code=1), code=1, says="already claimed")
    kedge("task", "claim", "T-1", "--again")


def test_a_claim_whose_place_cannot_be_recorded_is_a_claim(kedge: Kedge, tmp_path: Path) -> None:
    add(kedge, "T-1")
    (tmp_path / "file").write_text("")
    ran = kedge("task", "claim", "T-1", env={"KEDGE_HOME": str(tmp_path / "file" / "home")})
    assert "the work tree of this claim was not recorded" in ran.err
    assert kedge.json("task", "show", "T-1")["status"] == "in_progress"


def test_close_block_reopen_and_the_ledger(kedge: Kedge) -> None:
    add(kedge, "T-1")
    kedge("task", "claim", "T-1", "--as", "ada")
    kedge(
        *["task", "block", "T-1", "--type", "tooling", "--reason", "no compiler"],
        *["--tried", "apt", "--avoid", "building it by hand"],
    )
    task = kedge.json("task", "show", "T-1")
    assert task["blocked"] == {"type": "tooling", "reason": "no compiler"}
    assert ids(kedge, "ready") == []
    kedge("task", "reopen", "T-1")
    kedge("task", "claim", "T-1", "--as", "bob")
    token = "ghp_" + "a1B2" * 9
    kedge("task", "close", "T-1", "--failed", "--reason", "gave up", "--avoid", f"use {token}")
    assert kedge.json("task", "show", "T-1")["status"] == "failed"
    assert_clear(kedge("task", "close", "T-1", code=1), code=1, says="T-1 is failed")
    kedge("task", "reopen", "T-1")
    kedge("task", "close", "T-1", "--reason", "by hand, never claimed")
    attempts = kedge.json("log", "show", "T-1")
    assert [one["number"] for one in attempts] == [1, 2]
    assert [one["outcome"] for one in attempts] == ["blocked", "given-up"]
    assert [one["agent"] for one in attempts] == ["ada", "bob"]
    assert attempts[0]["reason"] == "tooling: no compiler"
    assert attempts[0]["tried"] == ["apt"]
    assert attempts[0]["avoid"] == ["building it by hand"]
    assert attempts[0]["started_at"] <= attempts[0]["ended_at"]
    assert token not in json.dumps(attempts)
    text = kedge("log", "show", "T-1", "--last", "1").out
    assert text.startswith("#2  given-up  ")
    assert "avoid: use [redacted:" in text
    add(kedge, "T-2")
    assert "no attempts" in kedge("log", "show", "T-2").out
    assert_clear(kedge("log", "show", "T-9", code=1), code=1, says="no task 'T-9'")
    kedge("task", "close", "T-2", "--failed", "--tried", "brute force")
    assert kedge.json("log", "show", "T-2")[0]["tried"] == ["brute force"]
    kedge("task", "close", "T-2", "--failed", "--reason", "said later")
    assert kedge.json("task", "show", "T-2")["close_reason"] == "said later"
    assert_clear(kedge("log", "show", "../x", code=1), code=1, says="not a valid id")


def test_a_torn_ledger_line_is_reported_and_skipped(repo: Path, kedge: Kedge) -> None:
    add(kedge, "T-1")
    for _ in range(2):
        kedge("task", "claim", "T-1")
        kedge("task", "block", "T-1", "--type", "external", "--reason", "rain")
        path = repo / ".kedge" / "ledger" / "T-1.jsonl"
        path.write_bytes(path.read_bytes() + b'{"task": "T-1", "num')
        kedge("task", "reopen", "T-1")
    ran = kedge("log", "show", "T-1", "--json")
    assert [one["number"] for one in ran.data] == [1, 2]
    assert len(ran.document["warnings"]) == 2


def test_dependencies_and_epics(kedge: Kedge) -> None:
    add(kedge, "E-1", "--type", "epic")
    for name in ("T-1", "T-2", "T-3"):
        add(kedge, name, "--epic", "E-1")
    data = kedge.json("task", "dep", "T-2", "--on", "T-1", "--on", "T-3")
    assert data["depends_on"] == ["T-1", "T-3"]
    assert len(data["waiting_for"]) == 2
    assert kedge.json("task", "dep", "T-1")["dependents"] == ["T-2"]
    ran = kedge("task", "dep", "T-1", "--on", "T-2", code=1)
    assert_clear(ran, code=1, says="T-1 → T-2 → T-1")
    assert_clear(kedge("task", "dep", "T-1", "--on", "E-1", code=1), code=1, says="cycle")
    assert_clear(kedge("task", "dep", "T-1", "--on", "T-9", code=1), code=1, says="'T-9'")
    kedge("task", "dep", "T-2", "--drop", "T-3")
    assert kedge.json("task", "show", "T-2")["depends_on"] == ["T-1"]
    kedge("task", "close", "T-1")
    kedge("task", "close", "T-2")
    assert kedge("task", "close", "T-3").out == "T-3 is done\nepic E-1 is now done\n"
    assert kedge.json("task", "show", "E-1")["status"] == "done"
    assert_clear(kedge("task", "add", "x", "--epic", "T-1", code=1), code=1, says="not an epic")


@pytest.mark.parametrize("bad", ["../x", "a/b", "", ".hidden", "-x", "a b", "x" * 65, "a..b", "ü"])
def test_unsafe_ids_are_refused(repo: Path, kedge: Kedge, bad: str) -> None:
    ran = kedge("task", "add", "x", f"--id={bad}", code=1)
    assert_clear(ran, code=1, says="is not a valid id")
    assert not (repo / ".kedge").exists()


def test_a_description_of_ten_megabytes(kedge: Kedge) -> None:
    ran = kedge("task", "add", "x", "--description", "-", input="é" * 5_000_000, code=1)
    assert_clear(ran, code=1, says="at most 1 MiB")
    assert kedge.json("task", "list") == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["   "], "the title is empty"),
        (["two\nlines"], "must be a single line"),
        (["x" * 501], "at most 500"),
        (["x", "--type", "Big Thing"], "not a valid type"),
        (["x", "--description", "bell\x07"], "the character U+0007"),
        (["x", "--label", "a\nb"], "must be a single line"),
        (["x", "--accept", " "], "is empty"),
    ],
)
def test_invalid_values_are_refused(repo: Path, kedge: Kedge, args: list[str], says: str) -> None:
    assert_clear(kedge("task", "add", *args, code=1), code=1, says=says)
    assert kedge.json("task", "list") == []


def test_secrets_are_refused_unless_allowed(repo: Path, kedge: Kedge) -> None:
    one, two = "ghp_" + "a1B2" * 9, "ghp_" + "c3D4" * 9
    args = ["task", "add", "x", "--id", "T-1", "--description", f"{one} and {two}"]
    first = kedge(*args, "--json", code=1).document
    assert first["code"] == "secret"
    second = kedge(*args, "--allow-secret", first["data"]["finding"], "--json", code=1).document
    assert second["data"]["finding"] != first["data"]["finding"]
    assert not (repo / ".kedge" / "tasks.jsonl").exists()
    found = [first["data"]["finding"], second["data"]["finding"]]
    kedge(*args, "--allow-secret", found[0], "--allow-secret", found[1])
    assert one in kedge.json("task", "show", "T-1")["description"]
    file = repo / "prd.json"
    file.write_text(json.dumps({"tasks": [{"id": "T-2", "title": f"use {one}"}]}))
    assert kedge("task", "import", str(file), "--json", code=1).document["code"] == "secret"
    hidden = {"id": "bd-1", "title": "x", "comments": [{"id": 1, "text": f"see {two}x9"}]}
    (repo / "export.jsonl").write_text(json.dumps(hidden) + "\n")
    kedge("task", "import", "export.jsonl", code=1)
    third = "ghp_" + "e5F6" * 9
    for args in (
        ["close", "T-1", "--reason", third],
        ["block", "T-1", "--type", "external", "--reason", third],
        ["claim", "T-1", "--as", third],
    ):
        assert kedge("task", *args, "--json", code=1).document["code"] == "secret"
    assert third not in (repo / ".kedge" / "tasks.jsonl").read_text()


def test_fields_can_be_emptied(kedge: Kedge) -> None:
    add(kedge, "T-1", "--accept", "x", "--description", "y", "--check", "z", "--label", "a")
    kedge("task", "update", "T-1", "--description", "")
    kedge(
        "task", "update", "T-1", "--clear", "acceptance", "--clear", "checks", "--clear", "labels"
    )
    task = kedge.json("task", "show", "T-1")
    assert [task[name] for name in ("description", "acceptance", "checks", "labels")] == [
        "",
        [],
        [],
        [],
    ]


def test_a_user_without_a_name_or_a_home(repo: Path, kedge: Kedge) -> None:
    add(kedge, "T-1")
    code = (
        "import getpass, sys\n"
        "def nobody(): raise KeyError('uid not found')\n"
        "getpass.getuser = nobody\n"
        "from kedge.cli.edge import run\n"
        "sys.exit(run(['task', 'claim', 'T-1']))\n"
    )
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "USER")}
    subprocess.run([sys.executable, "-c", code], cwd=repo, env=env, check=True)
    assert kedge.json("task", "show", "T-1")["assignee"] == f"uid-{os.getuid()}"


def test_outside_a_repository(kedge: Kedge, tmp_path: Path) -> None:
    ran = kedge("task", "list", code=1, cwd=tmp_path)
    assert_clear(ran, code=1, says="is not in a git repository")
    (tmp_path / ".kedge").mkdir()
    kedge("task", "add", "x", "--id", "T-1", cwd=tmp_path)
    assert (tmp_path / ".kedge" / "tasks.jsonl").exists()


def test_a_subdirectory_has_the_same_tasks(repo: Path, kedge: Kedge) -> None:
    (repo / "a" / "b").mkdir(parents=True)
    kedge("task", "add", "x", "--id", "T-1", cwd=repo / "a" / "b")
    assert (repo / ".kedge" / "tasks.jsonl").exists()
    assert ids(kedge, "list") == ["T-1"]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ({"tasks/T-1.task.yaml": "title: one\n"}, "task_yaml"),
        ({"docs/features/007-x/tasks.md": "### Task 1.1: one\n"}, "feature_docs"),
        ({".beads/issues.jsonl": '{"id":"bd-1","title":"one"}\n'}, "beads"),
        ({}, "jsonl"),
        ({"tasks/T-1.task.yaml": "title: one\n", ".kedge/tasks.jsonl": ""}, "jsonl"),
    ],
)
def test_the_backend_is_detected(repo: Path, kedge: Kedge, make: dict[str, str], name: str) -> None:
    for path, text in make.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    ran = kedge("-v", "task", "list")
    assert f"note: tasks are kept by the {name} backend" in ran.err
    ran = kedge("-v", "task", "--backend", "task_yaml", "list")
    assert "kept by the task_yaml backend" in ran.err
