"""How a difference from a snapshot is described, stored and reported."""

from __future__ import annotations

import pytest

from kedge.errors import CheckFound
from kedge.handoff.snapshot.tree_changes import PathChange
from kedge.handoff.task_context import SnapshotRecord
from kedge.handoff.verification import (
    Verification,
    describe_change,
    escape_path,
    make_drift_error,
)

LEFT = SnapshotRecord("tree-1", "commit", "refs/kedge/t1/implementer", "t2", "ann")


def verification(*paths: str) -> Verification:
    rows = tuple({"path": path, "change": "changed", "scope": "in"} for path in paths)
    return Verification("implementer", LEFT, "tree-2", "new commits", rows)


@pytest.mark.parametrize(
    ("change", "row"),
    [
        (PathChange("a", "added"), {"path": "a", "change": "added", "scope": "in"}),
        (PathChange("b", "deleted", "b"), {"path": "b", "change": "deleted", "scope": "out"}),
        (
            PathChange("a", "renamed", "b"),
            {"path": "a", "change": "renamed", "scope": "in", "old_path": "b"},
        ),
        (
            PathChange("b", "renamed", "caf\udce9"),
            {"path": "b", "change": "renamed", "scope": "out", "old_path": "caf\\xe9"},
        ),
    ],
)
def test_a_change_names_its_path_its_scope_and_a_former_name(
    change: PathChange, row: dict[str, str]
) -> None:
    assert describe_change(change, lambda path: path == "a") == row
    assert describe_change(change, None) == {**row, "scope": "none"}


def test_a_path_becomes_text_whatever_its_bytes_are() -> None:
    assert escape_path("größe.txt") == "größe.txt"
    assert escape_path("caf\udce9") == "caf\\xe9"


def test_a_tree_without_drift_is_the_same() -> None:
    assert verification().same
    assert not verification("a").same


def test_the_error_names_five_paths_and_holds_them_all() -> None:
    five = make_drift_error("t7", verification("a", "b", "c", "d", "e"))
    assert five.message == (
        "the working tree is not what implementer left (new commits): a, b, c, d, e"
    )
    six = make_drift_error("t7", verification("a", "b", "c", "d", "e", "f"))
    assert six.message.endswith("a, b, c, d, e and 1 more")
    assert isinstance(six, CheckFound)
    assert six.hint == "kedge context resolve t7 --accept or --revert, with --note"
    assert six.data == {
        "state": "drift",
        "since": "implementer",
        "at": "t2",
        "what": "new commits",
        "drift": [{"path": p, "change": "changed", "scope": "in"} for p in "abcdef"],
    }
