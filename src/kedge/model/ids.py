"""Ids that may become file names, refs and arguments, and so must be harmless in all of them."""

from __future__ import annotations

import re

from kedge.errors import InvalidValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NewType

    TaskId = NewType("TaskId", str)
else:
    TaskId = str

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
RULE = "letters, digits, '.', '_' and '-', at most 64, starting with a letter or digit"


def is_id(text: str) -> bool:
    # '..' cannot start an id, and a name without '/' cannot leave its directory; a trailing
    # '.lock' or '.' is what git refuses in a ref.
    return bool(_ID.match(text)) and ".." not in text and not text.endswith((".", ".lock"))


def task_id(text: str) -> TaskId:
    if not is_id(text):
        shown = text if len(text) <= 80 else text[:77] + "…"
        raise InvalidValue(f"{shown!r} is not a valid id", hint=f"an id has {RULE}")
    return TaskId(text)
