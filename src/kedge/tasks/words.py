"""The words that people use for a status."""

from __future__ import annotations

import re

from kedge.model.task import Status

_STATUS = {
    word: status
    for status, words in {
        Status.OPEN: "open todo to_do pending not_started draft ready new planned backlog",
        Status.IN_PROGRESS: "in_progress doing wip started active claimed review in_review",
        Status.BLOCKED: "blocked on_hold paused waiting deferred",
        # what was given up is finished, and what waits for it goes on waiting
        Status.FAILED: "failed cancelled canceled abandoned rejected wontfix duplicate obsolete",
        Status.DONE: "done completed complete closed finished resolved merged",
    }.items()
    for word in words.split()
}
_SYNONYMS = {*Status, "todo", "to_do", "pending", "doing", "completed", "complete", "closed"}


def status_of(word: str) -> Status | None:
    return _STATUS.get(_normal(word))


def is_synonym(word: str) -> bool:
    """Whether the word means its status and nothing more, so that kedge may write it too."""
    return _normal(word) in _SYNONYMS


def _normal(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().lower())
