"""Numbers of tasks, as documents and users write them."""

from __future__ import annotations

import re

TaskKey = tuple[str, ...]


def task_key(number: str) -> TaskKey:
    """Return the form in which numbers are compared: `T-01`, `Task 1` and `1` are the same."""
    bare = re.sub(r"\A(?:sub-?)?t(?:ask)?[-_ .#]*(?=[a-z]?-?[0-9])", "", number.strip().lower())
    return tuple(part.lstrip("0") or "0" for part in re.split(r"[.\s_-]+", bare) if part)
