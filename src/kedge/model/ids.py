"""Ids that are safe as file names, git refs and command-line arguments."""

from __future__ import annotations

import re
from typing import NewType

from kedge.errors import InvalidValue

TaskId = NewType("TaskId", str)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
RULE = "letters, digits, '.', '_' and '-', at most 64, starting with a letter or digit"


def is_id(text: str) -> bool:
    # Without '/' an id cannot leave its directory; git refuses '..', and '.' or '.lock' at the end.
    return bool(_ID.match(text)) and ".." not in text and not text.endswith((".", ".lock"))


def task_id(text: str) -> TaskId:
    """Return the text as an id of a task. Raises InvalidValue if it breaks the rule."""
    if not is_id(text):
        shown = text if len(text) <= 80 else text[:77] + "…"
        raise InvalidValue(f"{shown!r} is not a valid id", hint=f"an id has {RULE}")
    return TaskId(text)
