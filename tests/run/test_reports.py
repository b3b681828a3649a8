"""Tasks of a feature: done in the order of its document, with reports in its log."""

from __future__ import annotations

import pytest
from run.harness import RunHarness
from support import git

DESIGN = """\
# Design

### Component 1: Hull

HULL-TEXT

### Component 2: Sail

SAIL-TEXT

### Component 3: Rudder

RUDDER-TEXT
"""
TASKS = """\
# Tasks

### Task 1.1: Build the hull
**Why:** Implements Design Component 1
**Done when:** there is a hull

### Task 1.2: Sew the sail
**Why:** Implements Design Component 2
**Done when:** there is a sail

### Task 1.3: Hang the rudder
**Why:** Implements Design Component 3
**Done when:** there is a rudder
"""


def report(name: str, files: str) -> str:
    return (
        f"## Implemented\nThe {name}.\n## Tested\nsh check.sh\n## Files changed\n- {files}\n"
        f"## Decisions\n- oak for the {name}\n## Deviations\nnone\n## Concerns\nnone\n"
    )


@pytest.fixture
def feature(harness: RunHarness) -> RunHarness:
    folder = harness.root / "docs" / "features" / "001-boat"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text(TASKS)
    (folder / "design.md").write_text(DESIGN)
    (folder / "spec.md").write_text("# Spec\n\nA boat.\n")
    (harness.root / "ok").write_text("")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "feature")
    harness.kedge("config", "set", "context.commands", "sh check.sh")
    return harness


def test_each_task_gets_its_sections_and_leaves_its_report(feature: RunHarness) -> None:
    feature.plays(
        {"write": {"src/hull.py": "x"}, "say": report("hull", "src/hull.py")},
        {"write": {"src/sail.py": "x", "src/mast.py": "x"}, "say": report("sail", "src/sail.py")},
        {"write": {"rudder": "x"}, "say": "I hung it."},
    )
    ran = feature.run("--feature", "001-boat", "--json")
    events = feature.events(ran)
    assert events[-1]["done"] == 3
    for prompt, own, others in zip(
        feature.prompts,
        ("HULL-TEXT", "SAIL-TEXT", "RUDDER-TEXT"),
        (("SAIL", "RUDDER"), ("HULL", "RUDDER"), ("HULL", "SAIL")),
        strict=True,
    ):
        assert own in prompt
        assert not [other for other in others if f"{other}-TEXT" in prompt]
        assert "- Files changed" in prompt
    log = (feature.root / "docs/features/001-boat/implementation-log.md").read_text()
    assert "## Task 1.1: Build the hull\n- **Files changed:** src/hull.py\n" in log
    assert "oak for the sail" in log
    assert log.index("Task 1.1") < log.index("Task 1.2") < log.index("Task 1.3")
    reports = {one["task"]: one for one in events if one["event"] == "report"}
    assert [one["partial"] for one in reports.values()] == [False, False, True]
    assert list(reports.values())[1]["unreported"] == ["src/mast.py"]
    assert feature.log()[:3] == [
        "task(001-1.3): Hang the rudder",
        "task(001-1.2): Sew the sail",
        "task(001-1.1): Build the hull",
    ]
    # The lessons of the feature are collected for a retro.
    (retro,) = [one for one in events if one["event"] == "retro"]
    bundle = (feature.root / retro["path"]).read_text()
    assert "oak for the hull" in bundle
    assert "Build the hull" in bundle
