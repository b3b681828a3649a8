"""Recall: four queries, the nearest answers first, and never a step that strayed."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from kedge.store import sessions
from kedge.store.recall import MOST, recall

STEP: dict[str, Any] = {
    "subagent": "",
    "tool": "Edit",
    "action_type": "edit",
    "folders": [],
    "command": "",
    "reasoning": "",
    "drift_type": "none",
    "level": "none",
    "rules": [],
    "recalled": [],
    "decision": "allow",
    "correction_given": "",
    "changes": True,
    "keywords": [],
    "at": "2026-01-01",
}


def add(
    db: sqlite3.Connection,
    name: str,
    *,
    session: str = "s1",
    files: Sequence[str] = (),
    folders: Sequence[str] = (),
    keywords: Sequence[str] = (),
    score: int = 9,
    decision: bool = False,
    validated: bool | None = None,
) -> None:
    terms = {"file": files, "folder": folders, "keyword": keywords}
    values = {"files": list(files), "drift_score": score, "is_key_decision": decision}
    values["is_validated"] = score >= 5 if validated is None else validated
    sessions.add_step(db, session, terms, id=name, position=1, **STEP, **values)


def names(steps: list[dict[str, Any]]) -> list[str]:
    return [step["id"] for step in steps]


def test_each_query_finds_its_steps(db: sqlite3.Connection) -> None:
    add(db, "file", files=["src/a.py"])
    add(db, "folder", folders=["src"])
    add(db, "word", keywords=["tide"])
    add(db, "decision", decision=True)
    add(db, "none of these", files=["src/b.py"], folders=["doc"], keywords=["moon"])
    steps = recall(db, "s1", files=["src/a.py"], folders=["src"], keywords=["tide"])
    assert [(step["id"], step["why"]) for step in steps] == [
        ("file", "same file"),
        ("folder", "same folder"),
        ("word", "words of the goal"),
        ("decision", "key decision"),
    ]
    assert steps[0]["files"] == ["src/a.py"]
    assert names(recall(db, "s1")) == ["decision"]


def test_a_file_does_not_match_a_folder_or_a_word(db: sqlite3.Connection) -> None:
    add(db, "x", keywords=["src"])
    assert recall(db, "s1", files=["src"], folders=["src"]) == []


def test_steps_that_strayed_are_left_out(db: sqlite3.Connection) -> None:
    for score in (4, 5, 7, 8):
        add(db, f"file-{score}", files=["a"], score=score)
        add(db, f"decision-{score}", decision=True, score=score)
    found = names(recall(db, "s1", files=["a"]))
    assert found == ["file-8", "file-7", "file-5", "decision-8"]


def test_the_own_session_comes_first_then_the_latest(db: sqlite3.Connection) -> None:
    for name, session in (("old", "s1"), ("other", "s2"), ("new", "s1"), ("last", "s3")):
        add(db, name, session=session, files=["a"])
    assert names(recall(db, "s1", files=["a"])) == ["new", "old", "last", "other"]
    for name, session in (("d1", "s1"), ("d2", "s2")):
        add(db, name, session=session, decision=True)
    assert names(recall(db, "s1")) == ["d1", "d2"]


def test_the_current_step_is_left_out_in_its_own_session_only(db: sqlite3.Connection) -> None:
    add(db, "call", session="s1", files=["a"])
    add(db, "call", session="s2", files=["a"])
    steps = recall(db, "s1", files=["a"], besides="call")
    assert [step["session"] for step in steps] == ["s2"]


def test_ten_steps_are_returned_besides_the_current_one(db: sqlite3.Connection) -> None:
    for number in range(12):
        add(db, f"call-{number}", files=["a"])
    steps = recall(db, "s1", files=["a"], besides="call-11")
    assert names(steps) == [f"call-{number}" for number in range(10, 0, -1)]


def test_a_step_is_returned_once_under_its_first_query(db: sqlite3.Connection) -> None:
    add(db, "x", files=["a"], folders=["f"], keywords=["k"], decision=True)
    steps = recall(db, "s1", files=["a"], folders=["f"], keywords=["k"])
    assert [(step["id"], step["why"]) for step in steps] == [("x", "same file")]


def test_every_query_gets_four_places_before_one_gets_more(db: sqlite3.Connection) -> None:
    for number in range(20):
        add(db, f"file-{number}", files=["a"])
        add(db, f"folder-{number}", folders=["f"])
    steps = recall(db, "s1", files=["a"], folders=["f"])
    assert len(steps) == MOST == 10
    whys = [step["why"] for step in steps]
    assert whys == ["same file"] * 4 + ["same folder"] * 4 + ["same file"] * 2
    assert names(steps)[:2] == ["file-19", "file-18"]


def test_many_terms_are_cut_and_still_answered(db: sqlite3.Connection) -> None:
    add(db, "early", files=["file-0"])
    add(db, "late", files=["file-40"])
    assert names(recall(db, "s1", files=[f"file-{n}" for n in range(50_000)])) == ["early"]
