"""Breaches of a limit or a scope that git can take back, and whether an action does that.

A file counts only if it was as committed before the breach: restoring it then loses nothing of
anybody else.
"""

from __future__ import annotations

from kedge.drift.evidence.memory import find_changed_files, record_breaches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kedge.drift.actions import Action
    from kedge.drift.evidence.memory import SessionMemory
    from kedge.drift.evidence.work_tree import WorkTree
    from kedge.drift.shell.effects import VcsCommand

# words of `git checkout` and `git restore` that leave it at what is committed
_PLAIN = ("--", "HEAD", "-f", "--force", "-q", "--quiet", "-S", "--staged", "-W", "--worktree")


def record_breach(
    memory: SessionMemory, action: Action, dirty: Collection[str] | None
) -> SessionMemory:
    """Return the memory with the files that an action changes against what was declared.

    `dirty` are those that differed from what is committed before it; None if that is not known.
    """
    if dirty is None:
        return memory
    clean = (path for path in find_changed_files(action) if path not in dirty)
    return record_breaches(memory, clean)


def record_undo(memory: SessionMemory, undone: Iterable[str]) -> SessionMemory:
    """Return the memory after an action that restored these files and folders."""
    places = tuple(map(_as_prefix, undone))
    kept = (path for path in memory.breached if not f"{path}/".startswith(places))
    return memory._replace(breached=dict.fromkeys(kept))


def find_undone(memory: SessionMemory, action: Action, tree: WorkTree | None) -> frozenset[str]:
    """Return the paths that an action only restores, after the session broke a limit there."""
    effects = action.effects
    if not memory.breached or not effects.vcs or effects.unread or effects.runs:
        return frozenset()
    if not all(map(_restores, effects.vcs)) or not _does_no_more(action):
        return frozenset()
    gone = {*effects.deleted, *(path for pair in effects.moved for path in pair)}
    paths = {path for act in effects.vcs for path in act.paths} - gone
    return frozenset(path for path in paths if _is_breach(path, memory, tree))


def _restores(act: VcsCommand) -> bool:
    """True if a git command brings its paths back to what is committed, or staged."""
    if act.verb not in ("checkout", "restore") or not act.destructive or act.away:
        return False
    named = [word for word in act.args if word not in _PLAIN]
    return bool(act.paths) and len(named) == len(act.paths)  # no other commit is named


def _does_no_more(action: Action) -> bool:
    """True if no other part of a command can write to a file that it restores."""
    from kedge.drift.limits.programs import list_programs

    if ">" in action.command:
        return False
    return all(
        program.name == "cd"
        or (program.name == "git" and not any(w.startswith(("-o", "--out")) for w in program.args))
        for program in list_programs(action.command)
    )


def _is_breach(path: str, memory: SessionMemory, tree: WorkTree | None) -> bool:
    """True for a file that was changed in a breach, and a folder where nothing else is changed."""
    if path in memory.breached:
        return True
    place = _as_prefix(path)
    if tree is None or not any(each.startswith(place) for each in memory.breached):
        return False
    changed = tree.find_uncommitted(untracked=False) or ()
    inside = [each for each in changed if each.startswith(place)]
    return bool(inside) and all(each in memory.breached for each in inside)


def _as_prefix(place: str) -> str:
    """Return what the paths in a folder start with, and a file's own path with a slash."""
    return "" if place == "." else place.rstrip("/") + "/"
