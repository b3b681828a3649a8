"""How the working tree differs from an agent's snapshot: each path, its change, its scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kedge.errors import CheckFound
from kedge.handoff.snapshot.tree_changes import PathChange
from kedge.handoff.task_context import SnapshotRecord

_NAMED = 5  # paths in a message


@dataclass(frozen=True, slots=True)
class Verification:
    """The tree `now` against the snapshot `before` of the agent `since`."""

    since: str
    before: SnapshotRecord
    now: str
    what: str
    drift: tuple[Mapping[str, Any], ...]

    @property
    def same(self) -> bool:
        return not self.drift


def describe_change(one: PathChange, in_scope: Callable[[str], bool] | None) -> dict[str, Any]:
    """Return the change as it is stored and printed; `scope` is in, out, or none."""
    scope = "none" if in_scope is None else ("in" if in_scope(one.path) else "out")
    row = {"path": escape_path(one.path), "change": one.change, "scope": scope}
    if one.old_path is not None and one.old_path != one.path:
        row["old_path"] = escape_path(one.old_path)
    return row


def escape_path(path: str) -> str:
    """Return the path as valid text; bytes that are not UTF-8 are escaped."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def make_drift_error(task: str, outcome: Verification) -> CheckFound:
    """Return the error for a working tree that differs."""
    names = ", ".join(str(one["path"]) for one in outcome.drift[:_NAMED])
    more = f" and {len(outcome.drift) - _NAMED} more" if len(outcome.drift) > _NAMED else ""
    return CheckFound(
        f"the working tree is not what {outcome.since} left ({outcome.what}): {names}{more}",
        hint=f"kedge context resolve {task} --accept or --revert, with --note",
        data={
            "state": "drift",
            "since": outcome.since,
            "at": outcome.before.at,
            "what": outcome.what,
            "drift": [dict(one) for one in outcome.drift],
        },
    )
