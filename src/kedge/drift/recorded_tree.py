"""The working tree of a project as a recorded session left it, call by call.

The tree itself is as it was before the session: its calls are not run again. What they wrote and
removed is kept on top of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from kedge.drift.actions import Action
from kedge.drift.evidence.memory import find_changed_files
from kedge.drift.watch.work_tree import WorkTree


class RecordedTree:
    """A working tree with the changes of a session. Paths are relative to the root."""

    def __init__(self, root: str) -> None:
        self._tree = WorkTree(root)
        self._files: dict[str, bytes | None] = {}  # what was written; None if the text is unknown
        self._folders: set[str] = set()
        self._gone: set[str] = set()
        self._uncommitted: dict[str, bool] = {}  # changed paths; True if git does not know them

    def take(self, action: Action) -> None:
        """Apply an action that succeeded."""
        effects = action.effects
        texts = dict(self._find_texts(action))
        for old, new in effects.moved:
            texts.setdefault(new, self.read(old))
        for path in find_changed_files(action):
            known = self._tree.exists(path)
            self._uncommitted[path] = not known
        for path in (*effects.deleted, *(old for old, _ in effects.moved)):
            self._remove(path)
        self._folders.update(effects.directories)
        for path in (*effects.written, *(new for _, new in effects.moved)):
            self._files[path] = texts.get(path)
            self._gone.discard(path)
        if any(act.verb == "commit" for act in effects.vcs):
            self._uncommitted.clear()

    def exists(self, path: str) -> bool:
        if path in self._files or self.is_folder(path):
            return True
        return not self._is_gone(path) and self._tree.exists(path)

    def is_folder(self, path: str) -> bool:
        below = path.rstrip("/") + "/"
        if path in self._folders or any(each.startswith(below) for each in self._files):
            return True
        return not self._is_gone(path) and self._tree.is_folder(path)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a regular file; None if it is missing, too large or not known."""
        if path in self._files:
            return self._files[path]
        return None if self._is_gone(path) else self._tree.read(path)

    def expand(self, pattern: str) -> Sequence[str] | None:
        """Return the paths that a pattern matches; None if they are too many."""
        found = self._tree.expand(pattern)
        if found is None:
            return None
        left = [path for path in found if not self._is_gone(path)]
        depth = None if "**" in pattern else pattern.count("/")
        own = (path for path in self._files if depth in (None, path.count("/")))
        return list(dict.fromkeys((*left, *(path for path in own if fnmatchcase(path, pattern)))))

    def is_tracked(self, path: str) -> bool | None:
        """True if git tracks the file, or a file in the folder; None if git does not say."""
        return self._tree.is_tracked(path)

    def find_uncommitted(self, *, untracked: bool) -> Sequence[str] | None:
        """Return the changed files, or those that git does not know; None if git does not say."""
        found = self._tree.find_uncommitted(untracked=untracked)
        if found is None:
            return None
        own = (path for path, unknown in self._uncommitted.items() if unknown is untracked)
        return list(dict.fromkeys((*found, *own)))

    def _find_texts(self, action: Action) -> Iterator[tuple[str, bytes | None]]:
        """Yield the files that an action changes, each with its text afterwards."""
        from kedge.drift.limits.api_changes import apply_change

        texts: dict[str, bytes | None] = {}
        for change in action.changes:
            before = texts[change.path] if change.path in texts else self.read(change.path)
            after = apply_change(before or b"", change)
            texts[change.path] = after
            yield change.path, after

    def _remove(self, path: str) -> None:
        below = path.rstrip("/") + "/"
        self._gone.add(path)
        self._folders = {each for each in self._folders if not f"{each}/".startswith(below)}
        for each in [each for each in self._files if f"{each}/".startswith(below)]:
            del self._files[each]

    def _is_gone(self, path: str) -> bool:
        return any(f"{path}/".startswith(each.rstrip("/") + "/") for each in self._gone)
