"""The words that other tools and people use for a status or a priority."""

from __future__ import annotations

import re

from kedge.model.task import PRIORITIES, Status

_STATUS = {
    word: status
    for status, words in {
        Status.OPEN: "open todo to_do pending not_started draft ready new planned backlog",
        Status.IN_PROGRESS: "in_progress doing wip started active claimed review in_review",
        Status.BLOCKED: "blocked on_hold paused waiting deferred",
        # tasks that depend on a cancelled one must stay unready, as after a failure
        Status.FAILED: "failed cancelled canceled abandoned rejected wontfix duplicate obsolete",
        Status.DONE: "done completed complete closed finished resolved merged",
    }.items()
    for word in words.split()
}
_SYNONYMS = {*Status, "todo", "to_do", "pending", "doing", "completed", "complete", "closed"}

_PRIORITY = {
    **{word: level for level in PRIORITIES for word in (level.lower(), level[1])},
    "critical": "P0",
    "urgent": "P0",
    "highest": "P0",
    "high": "P1",
    "medium": "P2",
    "normal": "P2",
    "low": "P3",
    "lowest": "P4",
}


def priority_of(word: str) -> str | None:
    """Return the priority that a word or a number stands for, or None."""
    return _PRIORITY.get(word.strip().lower())


def status_of(word: str) -> Status | None:
    """Return the status that the word stands for, or None if kedge does not know it."""
    return _STATUS.get(_normalise(word))


def is_synonym(word: str) -> bool:
    """True if the word says no more than its status, so that kedge may write it as well."""
    return _normalise(word) in _SYNONYMS


def _normalise(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().lower())
