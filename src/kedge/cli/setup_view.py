"""The output of `init`, `update` and `uninstall`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kedge.cli.plain import clean, table
from kedge.context.diff import make_patch
from kedge.context.setup_plan import SetupPlan


def data(plan: SetupPlan, **more: Any) -> dict[str, Any]:
    changes = [{"path": change.path, "what": change.what} for change in plan.changes]
    return {"changes": changes, "same": list(plan.same), "notes": list(plan.notes), **more}


def text(
    plan: SetupPlan, *, nothing: str, then: tuple[str, ...] = (), saved: Sequence[str] = ()
) -> str:
    """Return the table of changed files, the notes, and what to do next."""
    rows = [(change.path, change.what) for change in plan.changes]
    parts = [table(("file", "what"), rows) if rows else nothing + "\n"]
    parts += [clean(f"note: {note}") + "\n" for note in plan.notes]
    parts += [clean(f"backup: {path}") + "\n" for path in saved]
    if then and rows:
        parts.append("\nNext:\n" + "".join(f"  {line}\n" for line in then))
    return "".join(parts)


def diff(plan: SetupPlan) -> str:
    """Return all changes as one patch; on a terminal, control characters are made visible."""
    text = "".join(make_patch(change.path, change.before, change.after) for change in plan.changes)
    return clean(text) if sys.stdout.isatty() else text
