"""Issues of bd as tasks."""

from __future__ import annotations

from typing import Any

import pytest
from tasks.beads.world import AT, World, line

from kedge.model.ids import TaskId
from kedge.model.task import BlockType, Status, Task
from kedge.tasks.beads.issue import list_items, read_export, to_tasks


def test_an_issue_is_read_as_a_task(world: World) -> None:
    world.seed(
        {"id": "kx-e1", "issue_type": "epic"},
        {"id": "kx-b2", "status": "closed", "close_reason": "Closed", "closed_at": AT},
        {
            "id": "kx-a1",
            "title": "Tie up",
            "description": "first\n\n  second",
            "acceptance_criteria": "## Done when\n- [ ] it holds\n- [x] it is dry",
            "status": "in_progress",
            "priority": 0,
            "issue_type": "bug",
            "assignee": "ada",
            "started_at": AT,
            "labels": ["sea", "air"],
            "design": "a knot",
            "dependencies": [
                {"depends_on_id": "kx-b2", "type": "blocks"},
                {"depends_on_id": "kx-e1", "type": "parent-child"},
            ],
            "metadata": {"team": "quay"},
        },
    )
    tasks = {task.id: task for task in world.beads().read().tasks}
    done = tasks[TaskId("kx-b2")]
    assert (done.status, done.close_reason, done.closed_at) == (Status.DONE, "Closed", AT)
    assert tasks[TaskId("kx-a1")] == Task(
        id=TaskId("kx-a1"),
        title="Tie up",
        type="bug",
        status=Status.IN_PROGRESS,
        priority="P0",
        description="first\n\n  second",
        acceptance=("it holds", "it is dry"),
        labels=("air", "sea"),
        epic=TaskId("kx-e1"),
        depends_on=(TaskId("kx-b2"),),
        assignee="ada",
        created_at=AT,
        updated_at=AT,
        started_at=AT,
        extra={"design": "a knot", "metadata": {"team": "quay"}},
    )


@pytest.mark.parametrize(
    ("issue", "status", "reason"),
    [
        ({}, Status.OPEN, None),
        ({"status": "open"}, Status.OPEN, None),
        ({"status": "in_progress"}, Status.IN_PROGRESS, None),
        ({"status": "hooked"}, Status.IN_PROGRESS, None),
        ({"status": "blocked"}, Status.BLOCKED, None),
        ({"status": "closed"}, Status.DONE, None),
        ({"status": "deferred"}, Status.BLOCKED, "deferred in beads"),
        ({"defer_until": "2999-01-01T00:00:00Z"}, Status.BLOCKED, "deferred in beads until 2999"),
        ({"defer_until": "2001-01-01T00:00:00Z"}, Status.OPEN, None),
        ({"status": "pinned"}, Status.BLOCKED, "pinned in beads"),
        ({"pinned": True}, Status.BLOCKED, "pinned in beads"),
        ({"status": "in-review"}, Status.BLOCKED, "its status in beads is 'in-review'"),
        ({"issue_type": "gate"}, Status.BLOCKED, "beads never lists a gate as ready"),
    ],
)
def test_every_state_of_an_issue_has_a_status(
    issue: dict[str, Any], status: Status, reason: str | None
) -> None:
    (task,), warnings = to_tasks({"kx-1": {"id": "kx-1", "title": "x", **issue}}, AT)
    assert not warnings
    assert task.status is status
    assert (task.blocked is None) == (reason is None)
    if task.blocked and reason:
        assert task.blocked.type is BlockType.EXTERNAL
        assert task.blocked.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        ("one\n\ntwo\n", ("one", "two")),
        ("* one\n+ two\n• three", ("one", "two", "three")),
        ("1. one\n2) two", ("one", "two")),
        ("# Title\n\nIt works.\n---\n- [ ] a\n- [X] b\r\n", ("It works.", "a", "b")),
        ("- a\n  more\n\n  last\n\n- b", ("a\nmore\n\nlast", "b")),
        ("- a\n  - nested\nplain", ("a\n- nested", "plain")),
        ("- a\n\tby a tab", ("a\nby a tab",)),
    ],
)
def test_acceptance_criteria_are_read_from_lists_and_lines(
    text: str, items: tuple[str, ...]
) -> None:
    assert list_items(text) == items


def test_lines_of_other_records_are_skipped() -> None:
    lines = [
        '{"_schema": "beads-jsonl/1"}',
        line(),
        line(id="kx-2", status="tombstone"),
        '{"_type": "memory", "key": "a", "value": "b"}',
        "",
        line(id="kx-3", _type="issue"),
    ]
    tasks, warnings = read_export("\n".join(lines).encode(), "x")
    assert [task.id for task in tasks] == ["kx-1", "kx-3"]
    assert warnings == []


@pytest.mark.parametrize(
    "stamp", ["2026-01-21T12:42:24.45793434Z", "2026-01-21T12:42:24.123456789+02:00", AT]
)
def test_stamps_are_not_reformatted(stamp: str) -> None:
    fields = dict.fromkeys(("created_at", "updated_at", "started_at", "closed_at"), stamp)
    (task,), _ = read_export(line(status="closed", **fields).encode(), "x")
    assert [getattr(task, name) for name in fields] == [stamp] * 4


@pytest.mark.parametrize(
    ("held", "counts"),
    [("2026-03-01T10:00:01Z", "2026-03-01T10:00:00.600000Z"), ("2026-03-01T10:00:02Z", None)],
)
def test_an_exact_stamp_is_used_while_the_rounded_one_matches(
    held: str, counts: str | None
) -> None:
    exact = {"kedge": {"at": {"updated_at": "2026-03-01T10:00:00.600000Z"}}}
    (task,), _ = read_export(line(updated_at=held, metadata=exact).encode(), "x")
    assert task.updated_at == (counts or held)


def test_an_unusable_issue_is_skipped_with_a_warning(world: World) -> None:
    world.seed(
        {"id": "a b/c"},
        {"id": "kx-1", "dependencies": [{"depends_on_id": "a b/c", "type": "blocks"}]},
        {"id": "kx-2", "description": "\x1b[1m bold"},
    )
    listing = world.beads().read()
    tasks = {task.id: task for task in listing.tasks}
    assert set(tasks) == {"kx-1", "kx-2"}
    assert len(listing.warnings) == 1
    assert "a b/c" in listing.warnings[0]
    assert tasks[TaskId("kx-2")].description == "\ufffd[1m bold"
    assert [task.id for task in world.board.ready()] == ["kx-2"]
    world.board.claim("kx-2", "ada")
    assert world.issue("kx-2")["description"] == "\x1b[1m bold"


@pytest.mark.parametrize(
    "bad",
    [
        {"title": 5},
        {"title": " "},
        {"priority": "high"},
        {"priority": 7},
        {"labels": "a"},
        {"issue_type": ["x"]},
        {"created_at": 5},
        {"metadata": {"kedge": {"depends_on": 5}}},
    ],
)
def test_a_malformed_issue_does_not_stop_the_others(bad: dict[str, Any]) -> None:
    text = "\n".join([line(**{"id": "kx-9", **bad}), line()])
    tasks, warnings = read_export(text.encode(), "x")
    assert [task.id for task in tasks] == ["kx-1"]
    assert len(warnings) == 1
    assert "'kx-9'" in warnings[0]


def test_links_that_bd_does_not_wait_for_are_no_dependencies(world: World) -> None:
    others = [
        {"depends_on_id": "kx-gone", "type": "blocks"},
        {"depends_on_id": "kx-pin", "type": "blocks"},
        {"depends_on_id": "kx-2", "type": "related"},
        {"depends_on_id": "external:proj:cap", "type": "blocks"},
    ]
    (task, *_), _ = to_tasks(
        {
            "kx-1": {"id": "kx-1", "title": "x", "dependencies": others},
            "kx-2": {"id": "kx-2", "title": "x"},
            "kx-pin": {"id": "kx-pin", "title": "x", "status": "pinned"},
        },
        AT,
    )
    assert (task.status, task.depends_on) == (Status.OPEN, ())
    assert task.extra["dependencies"] == others
