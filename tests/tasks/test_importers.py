"""`kedge task import` reads the files of other tools, with their ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Kedge, assert_clear


def put(repo: Path, name: str, text: str) -> str:
    (repo / name).write_text(text)
    return name


def tasks(kedge: Kedge) -> dict[str, dict[str, object]]:
    return {task["id"]: task for task in kedge.json("task", "list")}


def test_user_stories_of_a_prd_are_imported(repo: Path, kedge: Kedge) -> None:
    stories = [
        {
            "id": "US-001",
            "title": "Add a berth",
            "description": "As a harbour master …",
            "acceptanceCriteria": ["it is stored", "typecheck passes"],
            "priority": 1,
            "passes": True,
            "notes": "",
        },
        {"id": "US-002", "title": "List berths", "priority": 12, "passes": False, "notes": "slow"},
    ]
    file = put(repo, "prd.json", json.dumps({"project": "x", "userStories": stories}))
    assert kedge("task", "import", file).out == "2 added\n"
    found = tasks(kedge)
    assert list(found) == ["US-001", "US-002"]
    assert found["US-001"]["status"] == "done"
    assert found["US-001"]["acceptance"] == ["it is stored", "typecheck passes"]
    assert found["US-001"]["priority"] == "P1"
    assert found["US-002"]["priority"] == "P4"
    assert found["US-002"]["description"] == "Notes: slow"


def test_tasks_of_a_prd_are_imported_with_their_links(repo: Path, kedge: Kedge) -> None:
    entries = [
        {"id": "e1", "title": "Epic", "type": "epic"},
        {"id": "t2", "title": "Second", "dependsOn": ["t1"], "parent": "e1", "priority": "P0"},
        {"id": "t1", "title": "First", "labels": ["a", "a"], "parent": "e1", "priority": "high"},
    ]
    file = put(repo, "prd.json", json.dumps({"tasks": entries}))
    kedge("task", "import", file)
    found = tasks(kedge)
    assert found["t2"]["depends_on"] == ["t1"]
    assert found["t1"]["labels"] == ["a"]
    assert found["t1"]["priority"] == "P1"
    assert [task["id"] for task in kedge.json("task", "ready")] == ["t1"]


def test_an_export_of_beads_is_imported(repo: Path, kedge: Kedge) -> None:
    lines = [
        {"id": "bd-a1", "title": "Epic", "issue_type": "epic", "priority": 1, "status": "open"},
        {
            "id": "bd-a1.1",
            "title": "Child",
            "status": "closed",
            "priority": 0,
            "issue_type": "bug",
            "acceptance_criteria": "- one\n- two",
            "labels": ["x"],
            "dependencies": [
                {"issue_id": "bd-a1.1", "depends_on_id": "bd-a1", "type": "parent-child"}
            ],
        },
        {
            "id": "bd-b2",
            "title": "Next",
            "status": "open",
            "priority": 2,
            "dependencies": [
                {"issue_id": "bd-b2", "depends_on_id": "bd-a1.1", "type": "blocks"},
                {"issue_id": "bd-b2", "depends_on_id": "bd-a1", "type": "related"},
            ],
        },
        {"id": "bd-c3", "title": "gone", "status": "tombstone"},
        {"_type": "memory", "key": "x"},
    ]
    file = put(repo, "export.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    kedge("task", "import", file)
    found = tasks(kedge)
    assert set(found) == {"bd-a1", "bd-a1.1", "bd-b2"}
    assert found["bd-a1.1"]["epic"] == "bd-a1"
    assert found["bd-a1.1"]["status"] == "done"
    assert found["bd-a1.1"]["acceptance"] == ["one", "two"]
    assert found["bd-b2"]["depends_on"] == ["bd-a1.1"]
    assert found["bd-b2"]["priority"] == "P2"


CHECKLIST = """\
# Plan

- [ ] **T-1**: Build the quay
  Out of stone.
  - [ ] it floats not
  - [x] it is straight
- [x] T-2 - Dig the basin
* [ ] no id here
  - a note
- plain bullet, no task

```
- [ ] T-9: in a fence
```

1. [ ] `T-3`: numbered
"""


def test_a_markdown_checklist_is_imported(repo: Path, kedge: Kedge) -> None:
    file = put(repo, "TODO.md", CHECKLIST)
    assert kedge("task", "import", file).out == "4 added\n"
    found = list(tasks(kedge).values())
    assert [task["title"] for task in found] == [
        "Build the quay",
        "Dig the basin",
        "no id here",
        "numbered",
    ]
    assert [task["id"] for task in found][:2] == ["T-1", "T-2"]
    assert found[3]["id"] == "T-3"
    assert found[0]["description"] == "Out of stone."
    assert found[0]["acceptance"] == ["it floats not", "it is straight"]
    assert [task["status"] for task in found] == ["open", "done", "open", "open"]
    assert found[2]["description"] == "a note"


def test_a_second_import_adds_only_what_is_new(repo: Path, kedge: Kedge) -> None:
    file = put(repo, "TODO.md", CHECKLIST)
    kedge("task", "import", file)
    kedge("task", "claim", "T-1", "--as", "ada")
    put(repo, "TODO.md", CHECKLIST + "- [ ] T-4: one more\n")
    assert kedge("task", "import", file).out == "1 added, 4 skipped because they exist\n"
    assert tasks(kedge)["T-1"]["assignee"] == "ada"


def test_the_same_words_twice_are_two_tasks(repo: Path, kedge: Kedge) -> None:
    text = "## API\n- [ ] add tests\n  of the routes\n\n## UI\n- [ ] add tests\n  of the form\n"
    file = put(repo, "TODO.md", text)
    kedge("task", "import", file)
    assert [task["description"] for task in tasks(kedge).values()] == [
        "of the routes",
        "of the form",
    ]
    assert kedge("task", "import", file).out == "0 added, 2 skipped because they exist\n"


def test_every_status_of_a_prd_is_imported(repo: Path, kedge: Kedge) -> None:
    words = {"a": "cancelled", "b": "blocked", "c": "resolved", "d": "todo"}
    entries = [{"id": key, "title": "x", "status": word} for key, word in words.items()]
    kedge("task", "import", put(repo, "prd.json", json.dumps(entries)))
    assert [task["id"] for task in kedge.json("task", "ready")] == ["d"]
    put(repo, "odd.json", '[{"id": "e", "title": "x", "status": "sideways"}]')
    assert_clear(kedge("task", "import", "odd.json", code=1), code=1, says="'sideways'")


def test_a_file_is_relative_to_the_directory_of_the_command(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    put(repo, "TODO.md", "- [ ] T-1: x\n")
    kedge("-C", str(repo), "task", "import", "TODO.md", cwd=tmp_path)
    assert list(tasks(kedge)) == ["T-1"]


def test_tasks_are_imported_from_standard_input(kedge: Kedge) -> None:
    kedge("task", "import", "-", input="- [ ] T-1: x\n")
    assert list(tasks(kedge)) == ["T-1"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("prd.json", '{"tasks": [{"id": "t1", "title": "x"}, {"id": "../y", "title": "y"}]}', "y"),
        ("prd.json", '{"tasks": [{"id": "t1"}]}', "has no title"),
        ("prd.json", '{"tasks": 5}', "no list of tasks"),
        ("prd.json", '{"tasks": [1]}', "is not an object"),
        ("prd.json", '[{"title": "x"},\n  oops]', "prd.json:2: not JSON"),
        ("export.jsonl", '{"id": "bd-1", "title": "x"}\n{"id": \n', "export.jsonl:2"),
        ("TODO.md", "nothing to do\n", "no checklist items"),
        (
            "prd.json",
            '{"tasks": [{"id": "a", "title": "x", "dependsOn": ["b"]},'
            ' {"id": "b", "title": "y", "dependsOn": ["a"]}]}',
            "cycle",
        ),
    ],
)
def test_a_malformed_file_imports_nothing(
    repo: Path, kedge: Kedge, name: str, text: str, says: str
) -> None:
    ran = kedge("task", "import", put(repo, name, text), code=1)
    assert_clear(ran, code=1, says=says)
    assert tasks(kedge) == {}


def test_a_missing_file_is_an_error(kedge: Kedge) -> None:
    ran = kedge("task", "import", "nowhere.md", code=1)
    assert_clear(ran, code=1, says="no file nowhere.md")
