"""Read the working tree as a git tree, with a private index that remembers earlier readings.

Git does not read a file again while its stat data match the index. It compares times to the
second, so a file that changed in the second of the reading is entered without stat data, and is
read again the next time.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kedge.errors import GitError
from kedge.handoff.snapshot import listing, nested
from kedge.handoff.snapshot.listing import display_path
from kedge.handoff.snapshot.shadow_git import ShadowGit, TreeId
from kedge.handoff.snapshot.tree_changes import LINK, TreeEntry
from kedge.host import git

_KINDS = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)


@dataclass(frozen=True, slots=True)
class TreeReading:
    """The tree, warnings for the user, and the changed repositories inside the work tree."""

    tree: TreeId
    warnings: tuple[str, ...]
    nested: Mapping[bytes, tuple[git.Repo, str]]  # each with the commit that stands for it


def read(shadow: ShadowGit, *, keep: bool, also: Collection[bytes] = ()) -> TreeReading:
    """Read the working tree. The caller holds the lock.

    With `keep` the user's repository has all objects of the tree afterwards. `also` are ignored
    files to include.
    """
    try:
        return _Reader(shadow).run(keep, also)
    except GitError:  # the private index is damaged, or names objects that git has deleted
        shadow.forget_index()
        return _Reader(shadow).run(keep, also)


class _Reader:
    """One reading of the working tree."""

    def __init__(self, shadow: ShadowGit) -> None:
        self._shadow = shadow
        self._root = os.path.realpath(os.fsencode(shadow.repo.root))
        self._inside: dict[bytes, bool] = {}
        self._warnings: list[str] = []
        self._nested: dict[bytes, tuple[git.Repo, str]] = {}

    def run(self, keep: bool, also: Collection[bytes]) -> TreeReading:
        with ThreadPoolExecutor() as pool:  # each waits for its own git
            index = pool.submit(self._list_index)
            changed = pool.submit(self._find_changed)
            paths, skipped = listing.list_paths(self._shadow)
        paths.update(also)
        known = index.result()
        links = {path for path, line in known.items() if line.startswith(LINK.encode())}
        todo = (paths - known.keys()) | (paths & (changed.result() | links))
        todo -= {one.path for one in skipped}
        files, entries = self._sort_paths(todo, keep)
        entries += skipped
        gone = (known.keys() - paths) | (todo & known.keys()).difference(
            files, [one.path for one in entries]
        )
        self._remove(gone)
        self._enter(one.line for one in entries if one.line != known.get(one.path))
        self._read_files(files, keep)
        if keep:
            kept = (line for path, line in known.items() if path not in gone)
            self._shadow.keep_objects(line.split(b" ")[1].decode() for line in kept)
        # Git checks that it has all objects, but files that are not checked out are its own affair.
        options = [] if keep and not skipped else ["--missing-ok"]
        tree = TreeId(self._shadow.git("write-tree", *options, keep=keep).decode().strip())
        return TreeReading(tree, tuple(self._warnings), self._nested)

    def _list_index(self) -> dict[bytes, bytes]:
        """Return the lines of the private index by their paths."""
        lines = self._shadow.git("ls-files", "-z", "--stage").split(b"\0")
        return {line.partition(b"\t")[2]: line for line in lines if line}

    def _find_changed(self) -> set[bytes]:
        """Return the paths of the index whose stat data do not match."""
        options = ["-z", "--name-only", "--ignore-submodules=dirty"]
        out, messages = self._shadow.run_verbose("diff-files", *options)
        if messages:
            raise listing.make_unreadable_error(messages[0])
        return {path for path in out.split(b"\0") if path}

    def _sort_paths(self, todo: Iterable[bytes], keep: bool) -> tuple[list[bytes], list[TreeEntry]]:
        """Return the files that git can read, and the entries of nested repositories."""
        files: list[bytes] = []
        directories: list[bytes] = []
        for path in sorted(todo):  # so that warnings come in the same order each time
            status = self._check_status(path)
            if status is not None:
                (directories if stat.S_ISDIR(status.st_mode) else files).append(path)
        entries = []
        for path, one in listing.find_nested(self._shadow, directories).items():
            commit = one.head
            if one.repo is not None and commit is not None:
                commit = self._find_nested_commit(path, one.repo, commit, keep)
                if commit != one.head:
                    self._nested[path] = (one.repo, commit)
            if commit is not None:
                entries.append(TreeEntry(LINK, commit, path))
            if one.why:
                self._warnings.append(one.why)
        return files, entries

    def _find_nested_commit(self, path: bytes, repo: git.Repo, head: str, keep: bool) -> str:
        """Return the commit that stands for a nested repository, with its uncommitted changes."""
        shown = display_path(path)

        def read_nested(shadow: ShadowGit, keep: bool) -> TreeId:
            reading = read(shadow, keep=keep)
            self._warnings.extend(f"{shown}: {one}" for one in reading.warnings)
            return reading.tree

        try:
            return nested.find_commit(repo, head, keep, read_nested)
        except GitError as error:
            self._warnings.append(f"cannot check {shown} for uncommitted changes: {error.message}")
            return head

    def _check_status(self, path: bytes) -> os.stat_result | None:
        """Return the status of a path that a tree can hold; None for any other."""
        status = self._read_status(path) if self._is_inside(path.rpartition(b"/")[0]) else None
        if status is None:
            return None
        if b".git" in path.lower().split(b"/"):
            self._warnings.append(f"{display_path(path)} is left out: git cannot store such a name")
            return None
        if stat.S_IFMT(status.st_mode) in _KINDS:
            return status
        self._warnings.append(f"{display_path(path)} is left out: it is neither a file nor a link")
        return None

    def _read_status(self, path: bytes) -> os.stat_result | None:
        try:
            return os.lstat(self._root + b"/" + path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise listing.make_unreadable_error(
                f"{display_path(path)}: {error.strerror}"
            ) from error

    def _is_inside(self, directory: bytes) -> bool:
        """True if no part of the directory's path is a link, so that it is in the work tree."""
        if directory not in self._inside:
            place = self._root + (b"/" + directory if directory else b"")
            self._inside[directory] = os.path.realpath(place) == place
        return self._inside[directory]

    def _remove(self, paths: Collection[bytes]) -> None:
        if paths:
            names = b"\0".join(sorted(paths)) + b"\0"
            self._shadow.git("update-index", "--force-remove", "-z", "--stdin", input=names)

    def _enter(self, lines: Iterable[bytes]) -> None:
        """Enter lines of an index without stat data."""
        if data := b"".join(line + b"\0" for line in lines):
            self._shadow.git("update-index", "-z", "--index-info", input=data)

    def _read_files(self, paths: list[bytes], keep: bool) -> None:
        """Let git read the files and store them as objects."""
        if not paths:
            return
        second = self._read_clock()
        options = ["--add", "--remove", "--replace", "-z", "--stdin"]
        try:
            names = b"\0".join(paths) + b"\0"
            self._shadow.git("update-index", *options, input=names, keep=keep)
        except GitError as error:
            if "Permission denied" in error.message:
                raise listing.make_unreadable_error(error.message) from error
            raise
        fresh = [path for path in paths if self._has_changed_since(path, second)]
        if fresh:
            lines = self._list_index()
            self._enter(lines[path] for path in fresh if path in lines)

    def _has_changed_since(self, path: bytes, second: int) -> bool:
        status = self._read_status(path)
        return status is None or status.st_ctime_ns // 10**9 >= second

    def _read_clock(self) -> int:
        """Return the second that the file system would give a file written now."""
        probe = self._shadow.path / "clock"
        probe.write_bytes(b".")
        return probe.stat().st_ctime_ns // 10**9
