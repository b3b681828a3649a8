"""The exact bytes of files, read once, and stored as git objects."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kedge.errors import FileError
from kedge.handoff.snapshot.listing import TreeEntry, display_path
from kedge.handoff.snapshot.shadow_git import ShadowGit

SYMLINK, PLAIN, PROGRAM = "120000", "100644", "100755"
GONE = (errno.ENOENT, errno.ENOTDIR)
_BIG = 1 << 25  # bytes; a larger file is not held in memory
_BATCH = 1 << 26  # bytes passed to git at once
_FEW = 50  # objects; so few are written faster than looked up


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file as it was read. `data` is None for a file too big to hold in memory."""

    entry: TreeEntry
    data: bytes | None
    steady: bool  # nobody wrote to it while it was read


class FilesChanged(Exception):
    """Files changed between two readings."""

    def __init__(self, paths: Iterable[bytes]) -> None:
        super().__init__()
        self.paths = frozenset(paths)


class FileContents:
    """Reads the files of a work tree and stores their bytes as git objects."""

    def __init__(self, shadow: ShadowGit) -> None:
        self._shadow = shadow
        self._root = os.fsencode(shadow.repo.root) + b"/"
        self._sha256 = shadow.sha256

    def status(self, path: bytes) -> os.stat_result | None:
        """Return the status of the path itself, not of a link's target; None if it is missing."""
        try:
            return os.lstat(self._root + path)
        except OSError as error:
            if error.errno in GONE:
                return None
            raise make_unreadable_error([path], error) from error

    def read(self, path: bytes, *, tries: int = 3) -> FileRead | None:
        """Read the file, or the target of the symbolic link; None if there is neither."""
        try:
            for left in reversed(range(tries)):
                mode = os.lstat(self._root + path).st_mode
                if stat.S_ISLNK(mode):
                    target = os.readlink(self._root + path)  # noqa: PTH115 - as bytes
                    return self._make_link(path, target)
                found = self._read_file(path) if stat.S_ISREG(mode) else None
                if found is None or found.steady or not left:
                    return found
        except OSError as error:
            if error.errno in GONE:
                return None
            raise make_unreadable_error([path], error) from error
        return None

    def store(
        self, entries: Iterable[TreeEntry], held: Mapping[bytes, bytes], *, keep: bool
    ) -> int:
        """Store the objects of the entries; return how many bytes were new.

        `held` has the bytes that were already read. FilesChanged if a file no longer matches its
        entry.
        """
        wanted = {one.oid: one for one in entries}
        if len(wanted) > _FEW:
            wanted = {oid: wanted[oid] for oid in self._find_missing(wanted, keep=keep)}
        big = {one.path: size for one in wanted.values() if (size := self._measure(one)) > _BIG}
        total = sum(big.values())
        for batch in self._batches(wanted.values(), held, big):
            total += sum(len(data) for _, data in batch)
            self._import(batch, keep=keep)
        for one in wanted.values():
            if one.path in big and self._hash_by_git(one.path, keep=keep) != one.oid:
                raise FilesChanged([one.path])
        return total

    def _find_missing(self, oids: Iterable[str], *, keep: bool) -> list[str]:
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        out = self._shadow.git("cat-file", "--batch-check=%(objectname)", input=asked, keep=keep)
        return [line.split(b" ")[0].decode() for line in out.splitlines() if b" " in line]

    def _batches(
        self, entries: Iterable[TreeEntry], held: Mapping[bytes, bytes], big: Mapping[bytes, int]
    ) -> Iterator[list[tuple[TreeEntry, bytes]]]:
        batch: list[tuple[TreeEntry, bytes]] = []
        size = 0
        for one in entries:
            if one.path in big:
                continue
            data = held.get(one.path)
            if data is None:
                found = self.read(one.path, tries=1)
                if found is None or found.data is None:
                    raise FilesChanged([one.path])
                data = found.data
            batch.append((one, data))
            size += len(data)
            if size > _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _import(self, batch: list[tuple[TreeEntry, bytes]], *, keep: bool) -> None:
        """Store a batch at once: a few become loose objects, many a pack, as in a fetch."""
        parts = []
        for number, (_, data) in enumerate(batch, 1):
            parts += [b"blob\nmark :%d\ndata %d\n" % (number, len(data)), data]
            parts.append(b"\nget-mark :%d\n" % number)
        out = self._shadow.git(
            *["-c", "fastimport.unpackLimit=100", "-c", "pack.compression=1"],
            *["fast-import", "--quiet", "--depth=0"],
            input=b"".join(parts),
            keep=keep,
        )
        oids = out.decode().split()
        changed = [one.path for (one, _), oid in zip(batch, oids, strict=True) if one.oid != oid]
        if changed:
            raise FilesChanged(changed)

    def _make_link(self, path: bytes, target: bytes) -> FileRead:
        return FileRead(TreeEntry(SYMLINK, self._hash(target), path), target, steady=True)

    def _read_file(self, path: bytes) -> FileRead | None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(self._root + path, flags)
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link has replaced it
                return None
            raise
        with os.fdopen(fd, "rb", buffering=0) as file:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                return None
            data = None if before.st_size > _BIG else file.readall()
            oid = self._hash_by_git(path) if data is None else self._hash(data)
            after = os.fstat(fd)
        mode = PROGRAM if after.st_mode & stat.S_IXUSR else PLAIN
        return FileRead(TreeEntry(mode, oid, path), data, steady=stamp(before) == stamp(after))

    def _hash(self, data: bytes) -> str:
        import hashlib

        kind = hashlib.sha256 if self._sha256 else hashlib.sha1
        digest = kind(b"blob %d\0" % len(data), usedforsecurity=False)
        digest.update(data)
        return digest.hexdigest()

    def _hash_by_git(self, path: bytes, *, keep: bool | None = None) -> str:
        """Hash the file with git, which streams it. Store the object unless `keep` is None."""
        write = [] if keep is None else ["-w"]
        out = self._shadow.git(
            *["hash-object", *write, "--no-filters", "--", os.fsdecode(path)], keep=bool(keep)
        )
        return out.decode().strip()

    def _measure(self, one: TreeEntry) -> int:
        status = self.status(one.path)
        return status.st_size if status and one.mode != SYMLINK else 0


def stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return the stat data that change whenever the file does."""
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_mode, status.st_size, status.st_dev, status.st_ino, *times)


def make_unreadable_error(paths: Iterable[bytes], error: OSError) -> FileError:
    names = sorted(display_path(path) for path in paths)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    reason = (error.strerror or str(error)).lower()
    return FileError(
        f"cannot read {', '.join(names[:3])}{more}: {reason}",
        hint="make it readable, or ignore it in .gitignore: a snapshot must be complete",
        data={"paths": names},
    )
