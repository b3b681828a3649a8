"""How `init`, `update` and `uninstall` show what they do."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kedge.cli.plain import clean, table
from kedge.context.diff import patch
from kedge.context.setup import Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def data(plan: Plan, **more: Any) -> dict[str, Any]:
    changes = [{"path": change.path, "what": change.what} for change in plan.changes]
    return {"changes": changes, "same": list(plan.same), "notes": list(plan.notes), **more}


def text(plan: Plan, *, nothing: str, then: tuple[str, ...] = (), saved: Sequence[str] = ()) -> str:
    """The table of files, the notes, and what to do next."""
    rows = [(change.path, change.what) for change in plan.changes]
    parts = [table(("file", "what"), rows) if rows else nothing + "\n"]
    parts += [clean(f"note: {note}") + "\n" for note in plan.notes]
    parts += [clean(f"backup: {path}") + "\n" for path in saved]
    if then and rows:
        parts.append("\nNext:\n" + "".join(f"  {line}\n" for line in then))
    return "".join(parts)


def diff(plan: Plan) -> str:
    """All changes as one patch; for a terminal, with control characters made visible."""
    found = "".join(patch(change.path, change.before, change.after) for change in plan.changes)
    return clean(found) if sys.stdout.isatty() else found
