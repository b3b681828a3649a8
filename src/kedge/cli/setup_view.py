"""The output of `init`, `update` and `uninstall`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kedge.cli.plain import clean, table
from kedge.context.diff import make_patch
from kedge.context.setup_plan import SetupPlan

_COLUMN = 56  # characters of a command beyond which it does not move the other lines' purposes


def data(plan: SetupPlan, **more: Any) -> dict[str, Any]:
    return {
        "changes": [{"path": path, "what": what} for path, what in _rows(plan)],
        "same": list(plan.same),
        "notes": list(plan.notes),
        **more,
    }


def text(
    plan: SetupPlan,
    *,
    nothing: str,
    then: Sequence[tuple[str, str]] = (),
    saved: Sequence[str] = (),
) -> str:
    """Return the table of changes, the notes, and what to do next: commands with their purpose."""
    rows = _rows(plan)
    parts = [table(("file", "what"), rows) if rows else nothing + "\n"]
    parts += [clean(f"note: {note}") + "\n" for note in plan.notes]
    parts += [clean(f"backup: {path}") + "\n" for path in saved]
    if then and rows:
        width = max((len(line) for line, _ in then if len(line) <= _COLUMN), default=0)
        parts.append("\nNext:\n")
        parts += [f"  {clean(line):<{width}}   {purpose}\n" for line, purpose in then]
    return "".join(parts)


def _rows(plan: SetupPlan) -> list[tuple[str, str]]:
    return [*((change.path, change.what) for change in plan.changes), *plan.outside]


def diff(plan: SetupPlan) -> str:
    """Return all changes as one patch; on a terminal, control characters are made visible."""
    text = "".join(make_patch(change.path, change.before, change.after) for change in plan.changes)
    return clean(text) if sys.stdout.isatty() else text
