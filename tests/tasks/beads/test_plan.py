"""Changes of tasks as commands of bd."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from fake_bd.database import round_stamp
from hypothesis import given
from hypothesis import strategies as st
from tasks.beads.world import AT

from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task
from kedge.tasks.backend import TaskChange
from kedge.tasks.beads.issue import to_tasks
from kedge.tasks.beads.plan import plan_change

TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t\r"),
    min_size=1,
    max_size=40,
)
ITEMS = st.lists(TEXTS.filter(str.strip), max_size=3).map(tuple)
MOMENTS = st.integers(0, 10**15).map(
    lambda us: (
        f"{datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=us):%Y-%m-%dT%H:%M:%S.%f}Z"
    )
)


@given(
    status=st.sampled_from(Status),
    acceptance=ITEMS,
    scope=ITEMS,
    labels=st.lists(st.sampled_from("abcd"), unique=True).map(tuple),
    stamps=st.lists(MOMENTS, min_size=4, max_size=4),
    text=st.text(st.characters(exclude_categories=("Cs", "Cc"))),
)
def test_any_task_comes_back_from_its_issue(
    status: Status,
    acceptance: tuple[str, ...],
    scope: tuple[str, ...],
    labels: tuple[str, ...],
    stamps: list[str],
    text: str,
) -> None:
    """From the line for `bd import`, as bd stores it: stamps rounded, labels sorted."""
    names = ("created_at", "updated_at", "started_at", "closed_at")
    ended = status in (Status.DONE, Status.FAILED)
    times: dict[str, Any] = dict(zip(names, stamps, strict=True))
    task = Task(
        id=TaskId("kx-1"),
        title="x",
        status=status,
        description=text,
        acceptance=acceptance,
        labels=labels,
        scope_in=scope,
        checks=scope[:1],
        area=text.strip() or None,
        blocked=Block(BlockType.EXTERNAL, text) if status is Status.BLOCKED else None,
        close_reason=text.strip() or None if ended else None,
        **(times if ended else {**times, "closed_at": None}),
    )
    issue = json.loads(json.dumps(plan_change(TaskChange(None, task), {}, {}).record))
    for name in names:
        if name in issue:
            issue[name] = round_stamp(issue[name])
    if labels:
        issue["labels"] = sorted(labels)
    assert to_tasks({"kx-1": issue}, AT) == ([task], [])
