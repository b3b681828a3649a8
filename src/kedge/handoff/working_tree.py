"""The working tree as a git tree, by an index that remembers what it has read.

A file counts as read when its stat data in the private index match. Git compares those to the
second, so that a file which was touched in the very second of the reading gets none: it is read
again the next time.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Mapping

from kedge.errors import FileError, GitError, KedgeError
from kedge.handoff import listing, private_index
from kedge.handoff.contents import Contents, Moved, stamp, unreadable
from kedge.handoff.listing import LINK, Entry, shown
from kedge.handoff.private_index import ABSENT, State
from kedge.handoff.shadow_git import WHOLE, ShadowGit, TreeId
from kedge.host import files, git
from kedge.host.record import NamedTuple

_TRIES = 4
_HELD = 1 << 26  # bytes of files that are kept in memory until they are stored
_MUCH = 1 << 30
_FEW = 64  # files that are quicker read each time than remembered
_SMALL = 1 << 22  # bytes of them
_KINDS = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)


class Seen(NamedTuple):
    """What was found: the tree, what to tell the user, and the repositories inside of it."""

    tree: TreeId
    warnings: tuple[str, ...]
    nested: Mapping[bytes, git.Repo]


def read(shadow: ShadowGit, *, keep: bool, base: str | None, also: Collection[bytes] = ()) -> Seen:
    """The tree of the working tree now; the caller holds the lock.

    With `keep` all that it names is among the user's objects afterwards, given that all of the
    commit `base` is. `also` are ignored files that are to be in it, too.
    """
    try:
        return _Reading(shadow, keep, base).run(also)
    except GitError:  # the private index may be broken, and is not needed
        private_index.forget(shadow)
        return _Reading(shadow, keep, base).run(also)


class _Todo(NamedTuple):
    """The paths to look at, those to take out, and what the index says of them."""

    paths: set[bytes]
    dropped: set[bytes]
    changed: set[bytes]
    odd: Mapping[bytes, str]

    def was_there(self, path: bytes) -> bool:
        """Whether the index has an entry for this very path."""
        if path in self.changed:
            return True
        known = self.odd.get(path)
        return path in self.dropped if known is None else known != ABSENT

    def is_known(self, one: Entry) -> bool:
        """Whether the index says so already of a nested repository."""
        return self.odd.get(one.path) == one.oid and one.path not in self.changed


class _Sorted(NamedTuple):
    entries: list[Entry]
    gone: set[bytes]
    settled: dict[bytes, tuple[int, ...]]


class _Reading:
    """One reading of the working tree: what was met on the way."""

    def __init__(self, shadow: ShadowGit, keep: bool, base: str | None) -> None:
        self._shadow = shadow
        self._keep = keep
        self._base = base
        self._contents = Contents(shadow)
        self._parents: dict[bytes, bool] = {b"": True}
        self._reset()

    def _reset(self) -> None:
        self._odd: dict[bytes, str] = {}
        self._held: dict[bytes, bytes] = {}
        self._space = _HELD
        self._warnings: list[str] = []
        self._nested: dict[bytes, git.Repo] = {}

    def run(self, also: Collection[bytes]) -> Seen:
        before = private_index.load(self._shadow)
        raw, changed = _both(lambda: listing.listing(self._shadow), self._changed)
        paths, dropped = {*changed, *before.odd}, set[bytes]()
        if raw != before.raw:
            old, new = listing.members(before.raw), listing.members(raw)
            dropped = old - new
            paths = (paths | (new - old)) - dropped
        todo = _Todo(paths, dropped, changed, before.odd)
        over = listing.skipped(self._shadow, raw)
        tree = None if self._keep or over or also else self._grafted(before.tree, todo)
        if tree is None:
            self._update(todo)
            over += self._ignored(also)
            tree = self._stored(over, also)
            state = State(raw, self._odd, "" if over else tree)
            private_index.save(self._shadow, state)
        return Seen(tree, tuple(self._warnings), self._nested)

    def _grafted(self, known: str, todo: _Todo) -> TreeId | None:
        """The tree of the index with a few files changed, while the index stays as it is.

        None where they are many, or large: then it is worth to remember them.
        """
        if not known or known != self._whole() or len(todo.paths) + len(todo.dropped) > _FEW:
            return None
        found = self._sorted(todo, 0)
        tree = TreeId(known) if not found.entries and not found.gone else None
        held = {one.path for one in found.entries if one.mode != LINK} <= self._held.keys()
        if tree is None and held and self._space > _HELD - _SMALL:
            tree = private_index.grafted(
                self._shadow, known, found.entries, sorted(found.gone), self._held
            )
        if tree is None:
            self._reset()
        return tree

    def _changed(self) -> set[bytes]:
        """The paths of the index whose stat data do not match."""
        options = ["-z", "--name-only", "--ignore-submodules=dirty"]
        out, said = self._shadow.heard("diff-files", *options)
        if said:
            raise FileError(
                f"a part of the working tree cannot be read: {said[0]}",
                hint="make it readable, or ignore it in .gitignore",
            )
        return {path for path in out.split(b"\0") if path}

    def _update(self, todo: _Todo) -> None:
        """Bring the index up to date."""
        found = self._sorted(todo, self._clock() if todo.paths else 0)
        private_index.enter(self._shadow, found.entries, sorted(found.gone))
        if found.settled:
            self._again(self._refresh(found.settled))

    def _sorted(self, todo: _Todo, second: int) -> _Sorted:
        """What to put into the index and to take out, but for what was settled before `second`."""
        fresh, settled, directories = [], {}, set()
        for path in todo.paths:
            status = self._status(path)
            if status is None:
                self._odd[path] = ABSENT  # it is listed, and it may come back
            elif stat.S_ISDIR(status.st_mode):
                directories.add(path)
            elif status.st_ctime_ns // 10**9 >= second:
                fresh.append(path)
            else:
                settled[path] = stamp(status)
        entries = self._links(directories)
        entries += [one for path in sorted(fresh) if (one := self._fresh(path))]
        absent = {path for path, what in self._odd.items() if what == ABSENT}
        gone = {path for path in absent | todo.dropped if todo.was_there(path)}
        entries = [one for one in entries if not todo.is_known(one)]
        return _Sorted(entries, gone, settled)

    def _status(self, path: bytes) -> os.stat_result | None:
        """Of what a tree can name; None where there is nothing of the kind."""
        status = self._contents.status(path) if self._reachable(path) else None
        if status is None:
            return None
        if b".git" in (name := path.lower()) and b".git" in name.split(b"/"):
            self._warnings.append(f"{shown(path)} is left out: git can hold no such name")
            return None
        if stat.S_IFMT(status.st_mode) in _KINDS:
            return status
        self._warnings.append(f"{shown(path)} is left out: it is neither a file nor a link")
        return None

    def _links(self, directories: Collection[bytes]) -> list[Entry]:
        entries = []
        for path, one in listing.nested(self._shadow, directories).items():
            self._odd[path] = one.head or ABSENT
            if one.head is not None:
                entries.append(Entry(LINK, one.head, path))
            if one.repo is not None:
                self._nested[path] = one.repo
            if one.why:
                self._warnings.append(one.why)
        return entries

    def _fresh(self, path: bytes) -> Entry | None:
        """Read here: what is stored is then what was hashed, even while somebody writes to it."""
        got = self._contents.read(path)
        if got is None:
            self._odd[path] = ABSENT
            return None
        if got.data is not None and len(got.data) <= self._space:
            self._held[path] = got.data
            self._space -= len(got.data)
        if not got.steady:
            self._warnings.append(f"{shown(path)} was written to while it was read")
        return got.entry

    def _again(self, paths: Iterable[bytes]) -> None:
        """Read what has changed since it was looked at."""
        entries, gone = [], []
        for path in sorted(paths):
            self._space = max(self._space, 1 << 25)
            one = self._fresh(path)
            if one is None:
                gone.append(path)
            else:
                entries.append(one)
        private_index.enter(self._shadow, entries, gone)

    def _refresh(self, settled: Mapping[bytes, tuple[int, ...]]) -> set[bytes]:
        """Let git read files that nobody touched in this second; those that somebody did now."""
        names = b"\0".join(sorted(settled)) + b"\0"
        options = ["--add", "--remove", "--replace", "--info-only", "-z", "--stdin"]
        try:
            self._shadow.git("update-index", *options, input=names)
        except GitError:
            self._blame(settled)
            raise
        moved = set()
        for path, before in settled.items():
            now = self._contents.status(path)
            if now is None or stamp(now) != before:
                moved.add(path)
        return moved

    def _blame(self, paths: Iterable[bytes]) -> None:
        """Name the files that cannot be read, when that was it."""
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
            raise unreadable(denied, reason)

    def _ignored(self, also: Iterable[bytes]) -> list[Entry]:
        paths = [path for path in sorted(also) if self._status(path)]
        return [one for path in paths if (one := self._fresh(path))]

    def _stored(self, over: list[Entry], also: Collection[bytes]) -> TreeId:
        """The tree of the index, once all that it names is stored."""
        moved: Iterable[bytes] = ()
        theirs = {one.path for one in over} - {*also}  # not in the work tree: the user's affair
        for _ in range(_TRIES):
            tree = private_index.write(self._shadow, over, keep=self._keep)
            base = self._base if self._keep else self._whole() or self._base
            new = private_index.added(self._shadow, base, tree, keep=self._keep)
            wanted = [one for one in new if one.path not in theirs]
            try:
                size = self._contents.store(wanted, self._held, keep=self._keep)
            except Moved as error:
                moved = error.paths
                self._again(moved)
                continue
            if size > _MUCH:
                self._warnings.append(f"{size / _MUCH:.1f} GB of files went into git's objects")
            (self._shadow.path / WHOLE).write_bytes(tree.encode())
            return tree
        raise FileError(
            f"{', '.join(sorted(shown(path) for path in moved)[:3])} changes while it is read",
            hint="stop what writes there, or ignore the file, and try again",
        )

    def _whole(self) -> str:
        """The tree whose objects are all there."""
        return (files.read_bytes(self._shadow.path / WHOLE) or b"").decode()

    def _reachable(self, path: bytes) -> bool:
        """Whether no directory above is a link: what is behind one is not in the work tree."""
        parent = path.rpartition(b"/")[0]
        if parent not in self._parents:
            above = b""
            for part in parent.split(b"/"):
                inside, above = self._parents[above], above + b"/" + part if above else part
                if above not in self._parents:
                    status = self._contents.status(above) if inside else None
                    self._parents[above] = status is not None and stat.S_ISDIR(status.st_mode)
        return self._parents[parent]

    def _clock(self) -> int:
        """The second that a file would get that is written now."""
        probe = self._shadow.path / "clock"
        probe.write_bytes(b".")
        return probe.stat().st_ctime_ns // 10**9


def _both(first: Callable[[], bytes], second: Callable[[], set[bytes]]) -> tuple[bytes, set[bytes]]:
    """Both results, at the same time: each waits for a process of its own."""
    results: list[set[bytes]] = []

    def work() -> None:
        with contextlib.suppress(KedgeError):
            results.append(second())

    thread = threading.Thread(target=work)
    thread.start()
    try:
        found = first()
    finally:
        thread.join()
    return found, results[0] if results else second()  # which says here what went wrong
