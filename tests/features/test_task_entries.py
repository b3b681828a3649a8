"""Tasks of tasks.md in kedge's model: status, criteria and dependencies; writing states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import Kedge

from kedge.features.task_entries import read_entries, write_states
from kedge.model.task import Block, BlockType, Status, Task


def tasks_of(text: str) -> dict[str, Task]:
    entries, problems = read_entries(text, "021", Status.OPEN)
    assert problems == []
    return {str(task_id): entry.task for task_id, entry in entries.items()}


def task_of(body: str) -> Task:
    """Return the task with this body."""
    return tasks_of("### Task 1: x\n" + body)["021-1"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("", {}),
        ("**Status:** open", {}),
        ("**Status:** pending", {}),
        ("- **Status**: Not started", {}),
        ("**Status:** in progress", {"status": Status.IN_PROGRESS}),
        (
            "**Status:** in progress (claimed by ada (the first))",
            {"status": Status.IN_PROGRESS, "assignee": "ada (the first)"},
        ),
        (
            "**Status:** blocked (spec-unclear): which: tide (low)?",
            {
                "status": Status.BLOCKED,
                "blocked": Block(BlockType.SPEC_UNCLEAR, "which: tide (low)?"),
            },
        ),
        (
            "**Status:** Blocked (vendor): no rope",
            {
                "status": Status.BLOCKED,
                "blocked": Block(BlockType.EXTERNAL, "vendor: no rope"),
            },
        ),
        ("**Status:** blocked", {"status": Status.BLOCKED}),
        ("**Status:** failed: sunk", {"status": Status.FAILED, "close_reason": "sunk"}),
        ("**Status:** abandoned", {"status": Status.FAILED}),
        ("**Status:** done  ", {"status": Status.DONE}),
        ("**Status:** ✅ Completed", {"status": Status.DONE}),
        ("**Status:** done: it: is", {"status": Status.DONE, "close_reason": "it: is"}),
        ("text\n\n  - **Status:** done\n", {"status": Status.DONE}),
        ("**Status:** done\n**Status:** failed", {"status": Status.DONE}),
        ("- [x] a\n1. [X] b", {"status": Status.DONE}),
        ("- [x] a\n- [ ] b", {}),
        ("- [x] a\n```\n- [ ] code\n```", {"status": Status.DONE}),
        ("- [x] a\n**Status:** open", {}),
    ],
)
def test_forms_of_a_status(body: str, fields: dict[str, Any]) -> None:
    task = task_of(body)
    found = {
        name: getattr(task, name) for name in ("status", "assignee", "blocked", "close_reason")
    }
    plain = {"status": Status.OPEN, "assignee": None, "blocked": None, "close_reason": None}
    assert found == {**plain, **fields}
    assert "**Status:** in progress" not in task.description


@pytest.mark.parametrize(
    ("body", "criteria"),
    [
        ("**Done when:** one line", ("one line",)),
        ("**Done When**: one line", ("one line",)),
        ("**Done when:**\none line\nand more", ("one line and more",)),
        ("**Acceptance criteria:**\n\n- a\n  more\n\n- b\n\ntext\n- c", ("a more", "b")),
        ("**Done when:** all of\n1. a\n2) b\n* [ ] c\n+ d", ("all of", "a", "b", "c", "d")),
        ("- **Done when:**\n  - [ ] a\n  - b\n- c", ("a", "b")),
        ("**Done when:**\n- a\n**Files:** x\n- b", ("a",)),
        ("**Done when:**\n- a\n#### More\n- b", ("a",)),
        ("**Done when:**\n- a\n```\n- code\n```\n- b", ("a\n- code", "b")),
        ("**Done when:** a\n**Acceptance criteria:** b", ("a", "b")),
        ("**Done when:**", ()),
        ("no criteria\n- a", ()),
    ],
)
def test_forms_of_acceptance_criteria(body: str, criteria: tuple[str, ...]) -> None:
    assert task_of(body).acceptance == criteria


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("**Depends on:** 1.1, 1.2", ["021-1.1", "021-1.2"]),
        ("- **Depends on:** Task 1.1 and Tasks 1.2", ["021-1.1", "021-1.2"]),
        ("**Depends on:** T1.1 (schema, 7), 1.1", ["021-1.1"]),
        ("**Depends on:** 1.1-1.3", ["021-1.1", "021-1.2", "021-1.3"]),
        ("**Depends on:** 020-4.1", ["020-4.1"]),
        ("**Dependencies:** 9.9", ["021-9.9"]),
        ("**Blocked by:** 1.1; 1.3", ["021-1.1", "021-1.3"]),
        ("**Depends on:** none", []),
        ("**Depends on:** the 1st phase", []),
        ("**Depends on:** 1st phase", []),
        ("```\n**Depends on:** 1.1\n```", []),
    ],
)
def test_forms_of_dependencies(text: str, needs: list[str]) -> None:
    heads = "".join(f"## Task 1.{n}: x\n" for n in (1, 2, 3))
    tasks = tasks_of(heads + "## Task 2: y\n" + text)
    assert list(tasks["021-2"].depends_on) == needs


def test_a_dependency_is_found_however_its_number_is_written() -> None:
    tasks = tasks_of(
        "### T-01 Tie\n### T-02 Cast\n**Depends on:** T1\n### T-03 Sail\nDepends on: Task 2\n"
    )
    assert tasks["021-T-02"].depends_on == ("021-T-01",)
    assert tasks["021-T-03"].depends_on == ("021-T-02",)


def test_a_task_without_a_status_has_the_default() -> None:
    text = "### Task 1: x\n### Task 2: y\n**Status:** open\n"
    entries, _ = read_entries(text, "021", Status.DONE)
    assert [entry.task.status for entry in entries.values()] == [Status.DONE, Status.OPEN]


def test_tasks_that_are_not_valid_are_left_out_with_line_and_reason() -> None:
    text = "## Task 1: a\n\n## Task 1: b\n## Task 2: c\n**Status:** who knows\n## Task 3: d\n"
    entries, problems = read_entries(text, "021", Status.OPEN)
    assert list(entries) == ["021-1", "021-3"]
    assert problems == [
        (3, "'021-1' is already defined in line 1"),
        (4, "'who knows' is not a status"),
    ]


def test_several_states_are_written_at_once() -> None:
    text = "## Task 1: a\n## Task 2: b\n- [ ] box\n## Task 3: c\n**Status:** open\n"
    entries, _ = read_entries(text, "021", Status.OPEN)
    done = {i: replace(entry.task, status=Status.DONE) for i, entry in entries.items()}
    assert write_states(text, entries, done) == (
        "## Task 1: a\n**Status:** done\n## Task 2: b\n**Status:** done\n- [ ] box\n"
        "## Task 3: c\n**Status:** done\n"
    )
    same = {i: entry.task for i, entry in entries.items()}
    assert write_states(text, entries, same) == text


# As found in real documents


def write_tasks(repo: Path, text: str, **files: str) -> None:
    folder = repo / "docs" / "features" / "001-boat"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text(text)
    for stem, content in files.items():
        (folder / f"{stem}.md").write_text(content)


def test_a_number_may_end_with_a_word(repo: Path, kedge: Kedge) -> None:
    write_tasks(
        repo,
        "### Task 1a: Tie\n\nDo.\n\n### Task 1a.docs: Write\n\n**Depends on:** 1a\n\n"
        "### Task 1b: Sail\n\n**Depends on:** 1a.docs\n\n### Task 2.setup the mast\n\nDo.\n",
    )
    tasks = {one["id"]: one for one in kedge.json("task", "list", "--epic", "001")}
    assert {i: one["title"] for i, one in tasks.items()} == {
        "001-1a": "Tie",
        "001-1a.docs": "Write",
        "001-1b": "Sail",
        "001-2": "setup the mast",
    }
    assert tasks["001-1b"]["depends_on"] == ["001-1a.docs"]
    kedge("task", "close", "001-1a")
    kedge("task", "claim", "001-1a.docs", "--as", "ada")
    assert "Write" in kedge("prompt", "001-1a.docs").out


@pytest.mark.parametrize(
    ("field", "criteria"),
    [
        ("**Done when:**\n```bash\nmake test\nmake lint\n```\n", ["make test", "make lint"]),
        (
            "**Done when:**\n\n- it prints\n\n  ```\n  ok\n  ```\n- it ends\n",
            ["it prints\nok", "it ends"],
        ),
        ("**Done when:** it prints\n```\nok\n```\n\nMore:\n```\nno\n```\n", ["it prints\nok"]),
        ("**Files:**\n```\na.py\n```\n\n**Done when:** it ends\n", ["it ends"]),
    ],
)
def test_criteria_in_a_fence_count(
    repo: Path, kedge: Kedge, field: str, criteria: list[str]
) -> None:
    write_tasks(repo, f"### Task 1.1: Tie\n\n{field}\n### Task 1.2: Sail\n")
    assert kedge.json("task", "show", "001-1.1")["acceptance"] == criteria
    assert kedge.json("feature", "tasks", "001")[0]["done_criteria"] == criteria


def test_a_ratio_is_no_number_of_a_task(repo: Path, kedge: Kedge) -> None:
    write_tasks(repo, "### 1.1 Tie\n\n**Done when:** tied\n\n### 4.5:1 Contrast\n\nText.\n")
    assert [one["number"] for one in kedge.json("feature", "tasks", "001")] == ["1.1"]


@pytest.mark.parametrize(
    "design",
    [
        "# Design\n\n## Rate Limiter Core\n\nBuckets.\n\n### Rate Limiter Errors\n\n## Log\n",
        "# Rate Limiter for all\n\n## The Rate Limiter Core\n\nBuckets.\n\n## Log\n\nLines.\n",
    ],
)
def test_a_component_is_found_though_a_heading_near_it_repeats_its_name(
    repo: Path, kedge: Kedge, design: str
) -> None:
    write_tasks(repo, "### Task 1.1: Tie\n\n**Why:** Design Rate Limiter\n", design=design)
    ran = kedge("feature", "scope", "001", "1.1")
    assert ran.err == ""
    assert "Buckets." in ran.out
    assert "leads nowhere" not in ran.out + ran.err
    assert "has no section" not in ran.out
    assert "Lines." not in ran.out
