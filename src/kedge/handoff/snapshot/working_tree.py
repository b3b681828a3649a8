"""Read the working tree as a git tree, with an index that remembers earlier readings.

A file is not read again while its stat data match the private index. Git compares times to the
second, so a file that changed in the second of the reading is entered without stat data, and is
read again the next time.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from kedge.errors import FileError, GitError, KedgeError
from kedge.handoff.snapshot import listing, private_index
from kedge.handoff.snapshot.file_contents import (
    FileContents,
    FilesChanged,
    make_unreadable_error,
    stamp,
)
from kedge.handoff.snapshot.listing import LINK, TreeEntry, display_path
from kedge.handoff.snapshot.private_index import ABSENT, IndexState
from kedge.handoff.snapshot.shadow_git import WHOLE, ShadowGit, TreeId
from kedge.host import files, git

_TRIES = 4
_HELD = 1 << 26  # bytes of files to hold in memory until they are stored
_MUCH = 1 << 30  # bytes; storing more gets a warning
_FEW = 64  # changed files; so few are read faster each time than remembered
_SMALL = 1 << 22  # bytes of these files
_KINDS = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)


@dataclass(frozen=True, slots=True)
class TreeReading:
    """The tree, warnings for the user, and the repositories inside the work tree."""

    tree: TreeId
    warnings: tuple[str, ...]
    nested: Mapping[bytes, git.Repo]


def read(
    shadow: ShadowGit, *, keep: bool, base: str | None, also: Collection[bytes] = ()
) -> TreeReading:
    """Read the working tree. The caller holds the lock.

    With `keep` the user's object directory has all of its objects afterwards, provided that it has
    those of the commit `base`. `also` are ignored files to include.
    """
    try:
        return _Reader(shadow, keep, base).run(also)
    except GitError:  # the private index may be damaged; start without it
        private_index.forget(shadow)
        return _Reader(shadow, keep, base).run(also)


@dataclass(frozen=True, slots=True)
class _Work:
    """The paths to read, the paths to drop, and what the index knows about them."""

    paths: set[bytes]
    dropped: set[bytes]
    changed: set[bytes]
    unstable: Mapping[bytes, str]

    def was_in_index(self, path: bytes) -> bool:
        """True if the index has an entry for exactly this path."""
        if path in self.changed:
            return True
        known = self.unstable.get(path)
        return path in self.dropped if known is None else known != ABSENT

    def is_known(self, one: TreeEntry) -> bool:
        """True if the index already has this entry of a nested repository."""
        return self.unstable.get(one.path) == one.oid and one.path not in self.changed


@dataclass(frozen=True, slots=True)
class _IndexUpdate:
    """Entries to add, paths to remove, and files that git itself may read, with their stamps."""

    entries: list[TreeEntry]
    gone: set[bytes]
    settled: dict[bytes, tuple[int, ...]]


class _Reader:
    """One reading of the working tree."""

    def __init__(self, shadow: ShadowGit, keep: bool, base: str | None) -> None:
        self._shadow = shadow
        self._keep = keep
        self._base = base
        self._contents = FileContents(shadow)
        self._parents: dict[bytes, bool] = {b"": True}
        self._reset()

    def _reset(self) -> None:
        self._unstable: dict[bytes, str] = {}
        self._held: dict[bytes, bytes] = {}
        self._space = _HELD
        self._warnings: list[str] = []
        self._nested: dict[bytes, git.Repo] = {}

    def run(self, also: Collection[bytes]) -> TreeReading:
        before = private_index.load(self._shadow)
        raw, changed = _run_both(lambda: listing.list_paths(self._shadow), self._find_changed)
        paths, dropped = {*changed, *before.unstable}, set[bytes]()
        if raw != before.raw:
            old, new = listing.parse_paths(before.raw), listing.parse_paths(raw)
            dropped = old - new
            paths = (paths | (new - old)) - dropped
        todo = _Work(paths, dropped, changed, before.unstable)
        over = listing.find_skipped(self._shadow, raw)
        tree = None if self._keep or over or also else self._try_graft(before.tree, todo)
        if tree is None:
            self._update_index(todo)
            over += self._read_ignored(also)
            tree = self._store_tree(over, also)
            state = IndexState(raw, self._unstable, "" if over else tree)
            private_index.save(self._shadow, state)
        return TreeReading(tree, tuple(self._warnings), self._nested)

    def _try_graft(self, known: str, todo: _Work) -> TreeId | None:
        """Return the tree of the index with a few files changed, without writing the index.

        None if they are many or large: then the index should remember them.
        """
        if (
            not known
            or known != self._read_whole_tree()
            or len(todo.paths) + len(todo.dropped) > _FEW
        ):
            return None
        update = self._sort_paths(todo, 0)
        tree = TreeId(known) if not update.entries and not update.gone else None
        held = {one.path for one in update.entries if one.mode != LINK} <= self._held.keys()
        if tree is None and held and self._space > _HELD - _SMALL:
            tree = private_index.graft_tree(
                self._shadow, known, update.entries, sorted(update.gone), self._held
            )
        if tree is None:
            self._reset()
        return tree

    def _find_changed(self) -> set[bytes]:
        """Return the paths of the index whose stat data do not match."""
        options = ["-z", "--name-only", "--ignore-submodules=dirty"]
        out, messages = self._shadow.run_verbose("diff-files", *options)
        if messages:
            raise FileError(
                f"a part of the working tree cannot be read: {messages[0]}",
                hint="make it readable, or ignore it in .gitignore",
            )
        return {path for path in out.split(b"\0") if path}

    def _update_index(self, todo: _Work) -> None:
        """Bring the index up to date."""
        update = self._sort_paths(todo, self._read_clock() if todo.paths else 0)
        private_index.add_entries(self._shadow, update.entries, sorted(update.gone))
        if update.settled:
            self._read_again(self._refresh_settled(update.settled))

    def _sort_paths(self, todo: _Work, second: int) -> _IndexUpdate:
        """Sort the paths by what to do; files last changed before `second` are settled."""
        fresh, settled, directories = [], {}, set()
        for path in sorted(todo.paths):  # so that warnings come in the same order each time
            status = self._check_status(path)
            if status is None:
                self._unstable[path] = ABSENT  # listed but missing; it may come back
            elif stat.S_ISDIR(status.st_mode):
                directories.add(path)
            elif status.st_ctime_ns // 10**9 >= second:
                fresh.append(path)
            else:
                settled[path] = stamp(status)
        entries = self._read_links(directories)
        entries += [one for path in fresh if (one := self._read_fresh(path))]
        absent = {path for path, what in self._unstable.items() if what == ABSENT}
        gone = {path for path in absent | todo.dropped if todo.was_in_index(path)}
        entries = [one for one in entries if not todo.is_known(one)]
        return _IndexUpdate(entries, gone, settled)

    def _check_status(self, path: bytes) -> os.stat_result | None:
        """Return the status of a path that a tree can hold; None for any other."""
        status = self._contents.status(path) if self._is_reachable(path) else None
        if status is None:
            return None
        if b".git" in (name := path.lower()) and b".git" in name.split(b"/"):
            self._warnings.append(f"{display_path(path)} is left out: git cannot store such a name")
            return None
        if stat.S_IFMT(status.st_mode) in _KINDS:
            return status
        self._warnings.append(f"{display_path(path)} is left out: it is neither a file nor a link")
        return None

    def _read_links(self, directories: Collection[bytes]) -> list[TreeEntry]:
        entries = []
        for path, one in listing.find_nested(self._shadow, directories).items():
            self._unstable[path] = one.head or ABSENT
            if one.head is not None:
                entries.append(TreeEntry(LINK, one.head, path))
            if one.repo is not None:
                self._nested[path] = one.repo
            if one.why:
                self._warnings.append(one.why)
        return entries

    def _read_fresh(self, path: bytes) -> TreeEntry | None:
        """Read the file here, so that the stored bytes are the hashed ones even if it changes."""
        file = self._contents.read(path)
        if file is None:
            self._unstable[path] = ABSENT
            return None
        if file.data is not None and len(file.data) <= self._space:
            self._held[path] = file.data
            self._space -= len(file.data)
        if not file.steady:
            self._warnings.append(f"{display_path(path)} changed while it was read")
        return file.entry

    def _read_again(self, paths: Iterable[bytes]) -> None:
        """Read the paths that changed during the reading."""
        entries, gone = [], []
        for path in sorted(paths):
            self._space = max(self._space, 1 << 25)
            one = self._read_fresh(path)
            if one is None:
                gone.append(path)
            else:
                entries.append(one)
        private_index.add_entries(self._shadow, entries, gone)

    def _refresh_settled(self, settled: Mapping[bytes, tuple[int, ...]]) -> set[bytes]:
        """Let git read the settled files; return those that changed during that."""
        names = b"\0".join(sorted(settled)) + b"\0"
        options = ["--add", "--remove", "--replace", "--info-only", "-z", "--stdin"]
        try:
            self._shadow.git("update-index", *options, input=names)
        except GitError:
            self._blame_unreadable(settled)
            raise
        changed = set()
        for path, before in settled.items():
            now = self._contents.status(path)
            if now is None or stamp(now) != before:
                changed.add(path)
        return changed

    def _blame_unreadable(self, paths: Iterable[bytes]) -> None:
        """Raise an error that names the unreadable files, if there are any."""
        denied, reason = [], OSError()
        root = os.fsencode(self._shadow.repo.root)
        for path in paths:
            try:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                os.close(os.open(root + b"/" + path, flags))
            except PermissionError as error:
                denied.append(path)
                reason = error
            except OSError:
                continue
        if denied:
            raise make_unreadable_error(denied, reason)

    def _read_ignored(self, also: Iterable[bytes]) -> list[TreeEntry]:
        paths = [path for path in sorted(also) if self._check_status(path)]
        return [one for path in paths if (one := self._read_fresh(path))]

    def _store_tree(self, over: list[TreeEntry], also: Collection[bytes]) -> TreeId:
        """Write the tree of the index, and store all objects that it names."""
        changed: Iterable[bytes] = ()
        not_checked_out = {one.path for one in over} - {
            *also
        }  # not in the work tree: the user's affair
        for _ in range(_TRIES):
            tree = private_index.write_tree(self._shadow, over, keep=self._keep)
            base = self._base if self._keep else self._read_whole_tree() or self._base
            new = private_index.find_added(self._shadow, base, tree, keep=self._keep)
            wanted = [one for one in new if one.path not in not_checked_out]
            try:
                size = self._contents.store(wanted, self._held, keep=self._keep)
            except FilesChanged as error:
                changed = error.paths
                self._read_again(changed)
                continue
            if size > _MUCH:
                self._warnings.append(f"{size / _MUCH:.1f} GB of files were stored as git objects")
            (self._shadow.path / WHOLE).write_bytes(tree.encode())
            return tree
        raise FileError(
            f"{', '.join(sorted(map(display_path, changed))[:3])} keeps changing while it is read",
            hint="stop the process that writes it, or ignore the file, and try again",
        )

    def _read_whole_tree(self) -> str:
        """Return the id of the tree whose objects are all present."""
        return (files.read_bytes(self._shadow.path / WHOLE) or b"").decode()

    def _is_reachable(self, path: bytes) -> bool:
        """True if no parent directory is a link, so that the path is in the work tree."""
        parent = path.rpartition(b"/")[0]
        if parent not in self._parents:
            above = b""
            for part in parent.split(b"/"):
                inside, above = self._parents[above], above + b"/" + part if above else part
                if above not in self._parents:
                    status = self._contents.status(above) if inside else None
                    self._parents[above] = status is not None and stat.S_ISDIR(status.st_mode)
        return self._parents[parent]

    def _read_clock(self) -> int:
        """Return the second that the file system would give a file written now."""
        probe = self._shadow.path / "clock"
        probe.write_bytes(b".")
        return probe.stat().st_ctime_ns // 10**9


def _run_both(
    first: Callable[[], bytes], second: Callable[[], set[bytes]]
) -> tuple[bytes, set[bytes]]:
    """Run both at the same time: each waits for its own process."""
    results: list[set[bytes]] = []

    def work() -> None:
        with contextlib.suppress(KedgeError):
            results.append(second())

    thread = threading.Thread(target=work)
    thread.start()
    try:
        result = first()
    finally:
        thread.join()
    return result, results[0] if results else second()  # again, to raise its error here
