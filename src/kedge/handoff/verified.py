"""How a working tree compares with what an agent left: each path, what became of it, its scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kedge.errors import CheckFound
from kedge.handoff.changes import Change
from kedge.handoff.context import Kept
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMED = 5  # paths in a message


class Verified(NamedTuple):
    since: str
    before: Kept
    now: str
    what: str
    drift: tuple[Mapping[str, Any], ...]

    @property
    def same(self) -> bool:
        return not self.drift


def row(one: Change, in_scope: Callable[[str], bool] | None) -> dict[str, Any]:
    """A change as it is kept and printed; without a scope there is none to be in."""
    scope = "none" if in_scope is None else ("in" if in_scope(one.path) else "out")
    made = {"path": shown(one.path), "change": one.change, "scope": scope}
    if one.old_path is not None and one.old_path != one.path:
        made["old_path"] = shown(one.old_path)
    return made


def shown(path: str) -> str:
    """A path as text, whatever bytes its name has."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def drifted(task: str, found: Verified) -> CheckFound:
    names = ", ".join(str(one["path"]) for one in found.drift[:_NAMED])
    more = f" and {len(found.drift) - _NAMED} more" if len(found.drift) > _NAMED else ""
    return CheckFound(
        f"the working tree is not what {found.since} left ({found.what}): {names}{more}",
        hint=f"kedge context resolve {task} --accept or --revert, with --note",
        data={
            "state": "drift",
            "since": found.since,
            "at": found.before.at,
            "what": found.what,
            "drift": [dict(one) for one in found.drift],
        },
    )
