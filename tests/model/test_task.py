"""Tasks: JSON values come and go unchanged, and every rule of a field is enforced."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId
from kedge.model.task import (
    FIELDS,
    Block,
    BlockType,
    Status,
    Task,
    parse,
    parse_block_type,
    parse_status,
    replace_fields,
    unique,
    validate,
)

TASK = Task(id=TaskId("T-1"), title="Moor the ship")
FULL = Task(
    id=TaskId("T-1"),
    title="Moor the ship",
    type="bug",
    status=Status.BLOCKED,
    priority="P0",
    description="two\nlines",
    acceptance=("it is moored",),
    labels=("harbour",),
    epic=TaskId("E-1"),
    depends_on=(TaskId("T-0"),),
    scope_in=("src/",),
    scope_out=("doc/",),
    checks=("make test",),
    area="quay",
    assignee="ada",
    blocked=Block(BlockType.TOOLING, "no rope"),
    close_reason="none",
    created_at="2026-01-01",
    updated_at="2026-01-02",
    started_at="2026-01-03",
    closed_at="2026-01-04",
    extra={"points": 3},
)


def test_a_task_comes_back_from_its_json() -> None:
    assert parse(json.loads(json.dumps(FULL.data()))) == FULL
    assert parse(json.loads(json.dumps(TASK.data()))) == TASK


def test_json_values_are_in_the_order_of_the_fields_with_unknown_ones_last() -> None:
    assert list(FULL.data()) == [*FIELDS, "points"]
    assert FULL.data()["blocked"] == {"type": "tooling", "reason": "no rope"}
    assert FULL.data()["status"] == "blocked"
    assert FULL.data()["labels"] == ["harbour"]
    assert TASK.data()["blocked"] is None


def test_missing_and_null_fields_have_defaults() -> None:
    task = parse({"id": "T-1", "title": "Moor the ship", "status": None, "labels": None})
    assert task == TASK
    assert (task.type, task.status, task.priority) == ("task", Status.OPEN, "P2")


def test_unknown_fields_are_kept() -> None:
    assert parse({"id": "T-1", "title": "x", "points": None, "mood": [1]}).extra == {
        "points": None,
        "mood": [1],
    }


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"id": None}, "a task needs an 'id' and a 'title'"),
        ({"title": None}, "a task needs an 'id' and a 'title'"),
        ({"id": "../x"}, "'../x' is not a valid id"),
        ({"title": 5}, "'title' must be a string, not int"),
        ({"area": True}, "'area' must be a string, not bool"),
        ({"labels": "x"}, "'labels' must be a list of strings"),
        ({"labels": ["x", 1]}, "'labels' must be a list of strings"),
        ({"checks": {"a": 1}}, "'checks' must be a list of strings"),
        ({"status": "perfect"}, "'perfect' is not a status"),
        ({"blocked": "yes"}, "'blocked' must have a type and a reason"),
        ({"blocked": {"reason": 1}}, "'blocked' must have a type and a reason"),
        ({"blocked": {"type": "mood"}}, "'mood' is not a type of block"),
    ],
)
def test_a_malformed_value_is_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse({"id": "T-1", "title": "x", **values})
    assert caught.value.message == says


def test_a_block_without_a_type_is_external() -> None:
    task = parse({"id": "T-1", "title": "x", "blocked": {}})
    assert task.blocked == Block(BlockType.EXTERNAL, "")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"id": "a/b"}, "'a/b' is not a valid id"),
        ({"title": ""}, "the title is empty"),
        ({"title": " \t"}, "the title is empty"),
        ({"title": "a\nb"}, "title must be a single line"),
        ({"title": "a\rb"}, "title must be a single line"),
        ({"title": "x" * 501}, "title has 501 characters; at most 500 are allowed"),
        ({"title": "a\x07b"}, "title contains the character U+0007"),
        ({"type": ""}, "'' is not a valid type"),
        ({"type": "Bug"}, "'Bug' is not a valid type"),
        ({"type": "1st"}, "'1st' is not a valid type"),
        ({"type": "bug\n"}, "'bug\\n' is not a valid type"),
        ({"type": "x" * 33}, f"{'x' * 33!r} is not a valid type"),
        ({"priority": "P5"}, "'P5' is not a priority"),
        ({"priority": "p1"}, "'p1' is not a priority"),
        ({"description": "a\0b"}, "description contains the character U+0000"),
        ({"description": "a\x1b[31m"}, "description contains the character U+001B"),
        ({"description": "\ud800"}, "description contains the character U+D800"),
        (
            {"description": "é" * ((1 << 19) + 1)},
            "description has 1.0 MiB; at most 1 MiB is allowed",
        ),
        ({"description": "x" * (5 << 18)}, "description has 1.2 MiB; at most 1 MiB is allowed"),
        ({"acceptance": ("a", " ")}, "an entry of acceptance is empty"),
        ({"checks": ("",)}, "an entry of checks is empty"),
        ({"checks": ("a\x07",)}, "checks contains the character U+0007"),
        ({"labels": ("x",) * 1001}, "labels has 1001 entries; at most 1000 are allowed"),
        ({"labels": ("a\nb",)}, "labels must be a single line"),
        ({"labels": ("x" * 501,)}, "labels has 501 characters; at most 500 are allowed"),
        ({"scope_in": ("a\nb",)}, "scope_in must be a single line"),
        ({"scope_out": ("a\nb",)}, "scope_out must be a single line"),
        ({"depends_on": ("a b",)}, "'a b' is not a valid id"),
        ({"epic": "a b"}, "'a b' is not a valid id"),
        ({"epic": ""}, "'' is not a valid id"),
        ({"area": "\x00"}, "area contains the character U+0000"),
        ({"assignee": "\x00"}, "assignee contains the character U+0000"),
        ({"close_reason": "\x00"}, "close_reason contains the character U+0000"),
        (
            {"blocked": Block(BlockType.EXTERNAL, "\x00")},
            "reason contains the character U+0000",
        ),
    ],
)
def test_a_task_that_breaks_a_rule_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        replace_fields(TASK, **values)
    assert caught.value.message == says


@pytest.mark.parametrize(
    "values",
    [
        {"title": "x" * 500},
        {"type": "x" * 32},
        {"type": "user-story_2"},
        {"priority": "P0"},
        {"priority": "P4"},
        {"description": "x" * (1 << 20)},
        {"description": "tab\tline\nreturn\r äöü 🚢"},
        {"acceptance": ("two\nlines",)},
        {"checks": ("two\nlines",)},
        {"labels": ("x",) * 1000},
        {"area": ""},
    ],
)
def test_a_task_at_the_limits_is_accepted(values: dict[str, Any]) -> None:
    task = replace_fields(TASK, **values)
    assert validate(task) is task


def test_a_type_that_is_not_allowed_names_examples() -> None:
    with pytest.raises(InvalidValue) as caught:
        replace_fields(TASK, type="X")
    assert "task, bug, feature, chore or epic" in (caught.value.hint or "")
    with pytest.raises(InvalidValue) as caught:
        parse_status("x")
    assert caught.value.hint == "use one of open, in_progress, blocked, failed, done"
    with pytest.raises(InvalidValue) as caught:
        parse_block_type("x")
    assert "spec-unclear, dependency" in (caught.value.hint or "")


def test_done_and_failed_tasks_are_finished() -> None:
    finished = {status for status in Status if replace_fields(TASK, status=status).finished}
    assert finished == {Status.DONE, Status.FAILED}


def test_duplicates_are_dropped_in_order() -> None:
    assert unique(["b", "a", "b", "c", "a"]) == ("b", "a", "c")
