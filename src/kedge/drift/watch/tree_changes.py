"""What a command changed whose effects could not be known before it ran.

The files that differ from HEAD are noted before and after it, with their size and time. What git
ignores is not seen, nor what a script commits: it may have pulled the work of others.
"""

from __future__ import annotations

import json
import os

from kedge.drift.watch.work_tree import WorkTree
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kedge.drift.actions import Action
    from kedge.drift.engine import Session
    from kedge.drift.scoring import Verdict

    Stamp = dict[str, str]

_MOST = 100  # files that one action changes
_HEAD = ""  # the entry of HEAD, which is no path
_MOST_STAMPED = 300  # files that differ from HEAD


class TreeChanges(NamedTuple):
    """Paths that a command wrote and deleted; `created` are those of `written` that are new."""

    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    created: tuple[str, ...] = ()


def take_stamp(root: str, faults: list[str], *, commits: bool = False) -> Stamp | None:
    """Return the state of each file that differs from HEAD; None, and a fault, if git fails.

    With `commits` it has HEAD as well, for a command that commits what it changes.
    """
    tree = WorkTree(root)
    status = tree.read_status()
    if status is not None and len(status) > _MOST_STAMPED:
        tree.fault = f"{len(status)} files differ from HEAD"
        status = None
    if status is None:
        faults.append(f"the files that a command changes are not compared: {tree.fault}")
        return None
    stamp = {path: f"{state} {_stat(tree, path)}" for path, state in status.items()}
    return {**stamp, _HEAD: tree.find_head()} if commits else stamp


def take_second_stamp(engine: str, call: str, root: str, faults: list[str]) -> Stamp | None:
    """Return the state after a call, if the stored engine has its state before."""
    if not engine or call not in json.loads(engine).get("stamps", ()):
        return None
    return take_stamp(root, faults)


def _stat(tree: WorkTree, path: str) -> str:
    try:
        status = os.lstat(f"{tree.root}/{path}")
    except OSError:
        return ""
    return f"{status.st_size} {status.st_mtime_ns}"


def compare(before: Mapping[str, str], after: Mapping[str, str], tree: WorkTree) -> TreeChanges:
    """Return what changed between two stamps."""
    written: list[str] = []
    deleted: list[str] = []
    created: list[str] = []
    if before.get(_HEAD):
        for path, letter in tree.find_committed(before[_HEAD]).items():
            (deleted if letter == "D" else written).append(path)
            if letter == "A":
                created.append(path)
    for path, stamp in after.items():
        was = before.get(path)
        if was is not None and was[3:] == stamp[3:]:
            continue
        if not stamp[3:]:
            deleted.append(path)
        else:
            written.append(path)
            if was is None and stamp.startswith("??"):
                created.append(path)
    for path, stamp in before.items():
        if path in after or path in (*written, *deleted, _HEAD):
            continue
        now = _stat(tree, path)
        if now and now != stamp[3:]:  # put back to what is committed
            written.append(path)
        elif not now and stamp.startswith("??"):
            deleted.append(path)
    return TreeChanges(tuple(written[:_MOST]), tuple(deleted[:_MOST]), tuple(created))


def make_action(action: Action, changes: TreeChanges) -> Action | None:
    """Return the action of changes that the command's own text did not tell; None if it has all."""
    from kedge.drift.evidence.memory import find_changed_files
    from kedge.drift.shell.effects import Effects

    known = {*find_changed_files(action), *action.effects.directories}
    if action.effects.kedge:
        known.update(filter(_is_kedges_own, (*changes.written, *changes.deleted)))
    written = tuple(path for path in changes.written if path not in known)
    deleted = tuple(path for path in changes.deleted if path not in known)
    if not written and not deleted:
        return None
    existing = tuple(path for path in written if path not in changes.created)
    return action._replace(
        kind="write" if written else "delete",
        effects=Effects(written=written, deleted=deleted, existing=existing),
        text="",
        removed="",
        changes=(),
        command="",
    )


def _is_kedges_own(path: str) -> bool:
    """True for the files that kedge's commands write: tasks, the map; not the settings."""
    return path.partition("/")[0] == ".kedge" and path != ".kedge/config.toml"


def judge_changes(
    session: Session, action: Action, stamp: Mapping[str, str]
) -> tuple[Action, Verdict] | None:
    """Judge what a call changed beyond the effects of its action; None if that is nothing."""
    before = session.stamps.pop(action.id, None)
    if before is None or session.root is None:
        return None
    tree = WorkTree(session.root)
    changes = compare(before, stamp, tree)
    found = make_action(action, changes)
    if found is None:
        return None

    def existed(path: str) -> bool:
        return path not in changes.created and (path in changes.deleted or tree.exists(path))

    session.exists, session.tree, session.read = existed, None, None
    verdict = session.judge(found)
    session.record_breach(found, verdict, before)
    return found, verdict
