"""`kedge feature lint`: one line for each problem, with file, line and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Kedge

DESIGN = "# D\n## Components\n### C1: a\n### C2: b\n### C3: c\n## X\n### Notes\n## Y\n### Notes\n"
PLAN = "# P\n## Phase 1\n### Step 1: a\n## Phase 2\n### Step 1: b\n"


def put(repo: Path, name: str, **files: str) -> None:
    path = repo / "docs" / "features" / name
    path.mkdir(parents=True, exist_ok=True)
    for stem, text in files.items():
        (path / f"{stem}.md").write_text(text)


def lines(kedge: Kedge, *args: str) -> list[str]:
    ran = kedge("feature", "lint", *args, code=4)
    assert ran.err.startswith("error: ")
    assert "hint: each line says what to do" in ran.err
    return ran.out.splitlines()


def test_a_feature_without_problems_passes(kedge: Kedge, repo: Path) -> None:
    tasks = "### Task 1: x\n**Why:** Design C1–C3, Plan Phase 1\n### Task 2: y\n**Covers:** AC-7\n"
    put(repo, "001-a", tasks=tasks, design=DESIGN, plan=PLAN, spec="We want AC-7 here.\n")
    assert kedge("feature", "lint", "1").out == "1 feature checked, no problems\n"
    assert kedge.json("feature", "lint") == []


@pytest.mark.parametrize(
    ("tasks", "wanted"),
    [
        ("text\n", ["tasks.md:1: no tasks found"]),
        (
            "# T\n### Task 1: x\n**Why:** Design C1-C3\n### Task 1: y\n**Why:** C1\n",
            ["tasks.md:4: task 1 is already defined in line 2"],
        ),
        (
            "### Task 1: x\n**Why:** Design C1, C2, C3\n\n### Task 2: y\n",
            ["tasks.md:4: task 2 refers to no section of design.md or plan.md"],
        ),
        (
            "### Task 1: x\n**Why:** Design C1-C3, C9\n",
            ["tasks.md:1: 'C9' in task 1 is nowhere in design.md"],
        ),
        (
            "### Task 1: x\n**Why:** Design C1-C3, Plan Step 1\n",
            ["tasks.md:1: 'Plan Step 1' in task 1 fits lines 3 and 5 of plan.md"],
        ),
        (
            '### Task 1: x\n**Why:** Design C1-C3, "Notes"\n',
            ["tasks.md:1: '\"Notes\"' in task 1 fits lines 7 and 9 of design.md"],
        ),
        ("### Task 1: x\n**Why:** Design C1, C3\n", ["design.md:4: no task refers to 'C2: b'"]),
        (
            "### Task 1: x\n**Why:** Design C1-C3, AC-8\n",
            ["tasks.md:1: 'AC-8' in task 1 is nowhere in spec.md"],
        ),
        (
            "### Task 1: x\n**Why:** Design C1-C3, PRD 2.1\n",
            ["tasks.md:1: task 1 refers to 'PRD 2.1', but there is no prd.md"],
        ),
    ],
)
def test_problems(kedge: Kedge, repo: Path, tasks: str, wanted: list[str]) -> None:
    put(repo, "001-a", tasks=tasks, design=DESIGN, plan=PLAN, spec="AC-7\n")
    found = lines(kedge, "001-a")
    assert [line.rpartition("; ")[0] for line in found] == [
        f"docs/features/001-a/{w}" for w in wanted
    ]
    assert all(line.rpartition("; ")[2] for line in found)


def test_all_features_are_checked(kedge: Kedge, repo: Path) -> None:
    put(repo, "001-a", tasks="### Task 1: x\n", plan=PLAN)
    put(repo, "002-b", tasks="### Task 1: x\n")
    put(repo, "003-c", design=DESIGN)
    found = lines(kedge)
    assert [line.split(":")[0] for line in found] == [
        "docs/features/001-a/tasks.md",
        "docs/features/003-c/tasks.md",
    ]
    ran = kedge("feature", "lint", "--json", code=4)
    assert ran.document["success"] is False
    assert [(one["rule"], one["path"], one["line"]) for one in ran.document["data"]] == [
        ("no-trace", "docs/features/001-a", 1),
        ("no-tasks", "docs/features/003-c", 1),
    ]
    assert ran.document["code"] == "check-found"


def test_an_unreadable_feature_is_one_problem(kedge: Kedge, repo: Path) -> None:
    put(repo, "001-a", tasks="### Task 1: x\n")
    (repo / "docs/features/001-a/plan.md").write_bytes(b"\xff")
    put(repo, "002-b", tasks="text\n")
    assert lines(kedge) == [
        "docs/features/001-a/plan.md:1: it is not UTF-8; save the file as UTF-8 text",
        "docs/features/002-b/tasks.md:1: no tasks found; "
        "give each task a heading such as '### Task 1.1: Title'",
    ]


# All features


def write_feature(repo: Path, name: str, tasks: str, meta: str = "") -> None:
    folder = repo / "docs" / "features" / name
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text(tasks)
    (folder / "design.md").write_text("# Design\n\n## C1: Line\n\nLong.\n")
    if meta:
        (folder / ".meta.json").write_text(meta)


def test_finished_features_are_left_out_unless_asked_for(repo: Path, kedge: Kedge) -> None:
    task = "### Task 1.1: Tie up\n\nText without a reference.\n"
    write_feature(repo, "001-meta", task, '{"status": "completed"}')
    write_feature(repo, "002-ticked", task.replace("Text", "**Status:** done\n\nText"))
    ran = kedge("feature", "lint")
    assert ran.out == (
        "0 features checked, no problems; 2 finished features left out, --all checks all\n"
    )
    write_feature(repo, "003-open", task)
    ran = kedge("feature", "lint", code=4)
    assert "docs/features/003-open/tasks.md:1: " in ran.out
    assert "001-meta" not in ran.out
    assert "2 finished features left out" in ran.err
    ran = kedge("feature", "lint", "--all", code=4)
    assert [name in ran.out for name in ("001-meta", "002-ticked", "003-open")] == [True] * 3
    assert "docs/features/001-meta" in kedge("feature", "lint", "001", code=4).out


def test_many_problems_are_counted_by_feature(repo: Path, kedge: Kedge) -> None:
    for number in range(1, 9):
        tasks = [f"### Task 1.{n}: Tie up\n\nText without a reference.\n" for n in range(1, 11)]
        write_feature(repo, f"{number:03d}-part", "\n".join(tasks))
    ran = kedge("feature", "lint", code=4)
    assert len(ran.out.splitlines()) == 8
    assert ran.out.splitlines()[0].startswith("001-part\t10\t10 ")
    assert "kedge feature lint DIR" in ran.err
    assert len(kedge("feature", "lint", "--all", code=4).out.splitlines()) == 80
    assert len(kedge("feature", "lint", "--json", code=4).document["data"]) == 80


def test_a_feature_without_tasks_says_so_in_a_pipe(repo: Path, kedge: Kedge) -> None:
    write_feature(repo, "001-empty", "# Tasks\n\nNone yet.\n")
    ran = kedge("feature", "tasks", "001")
    assert ran.out == ""
    assert "warning: 001-empty/tasks.md has no tasks: give each task a heading" in ran.err
    (repo / "docs" / "features" / "001-empty" / "tasks.md").unlink()
    (repo / "docs" / "features" / "001-empty" / "spec.md").write_text("# Spec\n")
    assert "001-empty/tasks.md is missing" in kedge("feature", "tasks", "001").err
