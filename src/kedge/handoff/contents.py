"""The bytes of files, read once and exactly, and their place among git's objects."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping

from kedge.errors import FileError
from kedge.handoff.listing import Entry, shown
from kedge.handoff.shadow_git import ShadowGit
from kedge.host.record import NamedTuple

SYMLINK, PLAIN, PROGRAM = "120000", "100644", "100755"
GONE = (errno.ENOENT, errno.ENOTDIR)
_BIG = 1 << 25  # bytes of a file that is not held in memory
_BATCH = 1 << 26  # bytes that are given to git at once
_FEW = 50  # objects that are quicker written than looked for


class Read(NamedTuple):
    """A file as it was when it was read. `data` is None for one that is too big to hold."""

    entry: Entry
    data: bytes | None
    steady: bool  # nobody wrote to it meanwhile


class Moved(Exception):
    """Files are not what they were a moment ago."""

    def __init__(self, paths: Iterable[bytes]) -> None:
        super().__init__()
        self.paths = frozenset(paths)


class Contents:
    """The files of a work tree, and git's objects, which have the same bytes."""

    def __init__(self, shadow: ShadowGit) -> None:
        self._shadow = shadow
        self._root = os.fsencode(shadow.repo.root) + b"/"
        self._sha256 = shadow.sha256

    def status(self, path: bytes) -> os.stat_result | None:
        """Of the path itself; None when there is nothing."""
        try:
            return os.lstat(self._root + path)
        except OSError as error:
            if error.errno in GONE:
                return None
            raise unreadable([path], error) from error

    def read(self, path: bytes, *, tries: int = 3) -> Read | None:
        """The file or symbolic link at the path, itself; None when there is neither."""
        try:
            for left in reversed(range(tries)):
                mode = os.lstat(self._root + path).st_mode
                if stat.S_ISLNK(mode):
                    target = os.readlink(self._root + path)  # noqa: PTH115 - as bytes
                    return self._link(path, target)
                found = self._file(path) if stat.S_ISREG(mode) else None
                if found is None or found.steady or not left:
                    return found
        except OSError as error:
            if error.errno in GONE:
                return None
            raise unreadable([path], error) from error
        return None

    def store(self, entries: Iterable[Entry], held: Mapping[bytes, bytes], *, keep: bool) -> int:
        """Put what the entries name among the objects; how many bytes were not there before.

        `held` is what was read already. Moved is raised where a file is not what its entry says.
        """
        wanted = {one.oid: one for one in entries}
        if len(wanted) > _FEW:
            wanted = {oid: wanted[oid] for oid in self._missing(wanted, keep=keep)}
        big = {one.path: size for one in wanted.values() if (size := self._size(one)) > _BIG}
        total = sum(big.values())
        for batch in self._batches(wanted.values(), held, big):
            total += sum(len(data) for _, data in batch)
            self._import(batch, keep=keep)
        for one in wanted.values():
            if one.path in big and self._hashed(one.path, keep=keep) != one.oid:
                raise Moved([one.path])
        return total

    def _missing(self, oids: Iterable[str], *, keep: bool) -> list[str]:
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        said = self._shadow.git("cat-file", "--batch-check=%(objectname)", input=asked, keep=keep)
        return [line.split(b" ")[0].decode() for line in said.splitlines() if b" " in line]

    def _batches(
        self, entries: Iterable[Entry], held: Mapping[bytes, bytes], big: Mapping[bytes, int]
    ) -> Iterator[list[tuple[Entry, bytes]]]:
        batch: list[tuple[Entry, bytes]] = []
        size = 0
        for one in entries:
            if one.path in big:
                continue
            data = held.get(one.path)
            if data is None:
                found = self.read(one.path, tries=1)
                if found is None or found.data is None:
                    raise Moved([one.path])
                data = found.data
            batch.append((one, data))
            size += len(data)
            if size > _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _import(self, batch: list[tuple[Entry, bytes]], *, keep: bool) -> None:
        """All at once: a few become loose objects, many become a pack, as when git fetches."""
        parts = []
        for number, (_, data) in enumerate(batch, 1):
            parts += [b"blob\nmark :%d\ndata %d\n" % (number, len(data)), data]
            parts.append(b"\nget-mark :%d\n" % number)
        said = self._shadow.git(
            *["-c", "fastimport.unpackLimit=100", "-c", "pack.compression=1"],
            *["fast-import", "--quiet", "--depth=0"],
            input=b"".join(parts),
            keep=keep,
        )
        made = said.decode().split()
        moved = [one.path for (one, _), oid in zip(batch, made, strict=True) if one.oid != oid]
        if moved:
            raise Moved(moved)

    def _link(self, path: bytes, target: bytes) -> Read:
        return Read(Entry(SYMLINK, self._oid(target), path), target, steady=True)

    def _file(self, path: bytes) -> Read | None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(self._root + path, flags)
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link that was put there meanwhile
                return None
            raise
        with os.fdopen(fd, "rb", buffering=0) as file:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                return None
            data = None if before.st_size > _BIG else file.readall()
            oid = self._hashed(path) if data is None else self._oid(data)
            after = os.fstat(fd)
        mode = PROGRAM if after.st_mode & stat.S_IXUSR else PLAIN
        return Read(Entry(mode, oid, path), data, steady=stamp(before) == stamp(after))

    def _oid(self, data: bytes) -> str:
        import hashlib

        kind = hashlib.sha256 if self._sha256 else hashlib.sha1
        found = kind(b"blob %d\0" % len(data), usedforsecurity=False)
        found.update(data)
        return found.hexdigest()

    def _hashed(self, path: bytes, *, keep: bool | None = None) -> str:
        """By git, which needs no memory for it. It is written unless `keep` is None."""
        write = [] if keep is None else ["-w"]
        said = self._shadow.git(
            *["hash-object", *write, "--no-filters", "--", os.fsdecode(path)], keep=bool(keep)
        )
        return said.decode().strip()

    def _size(self, one: Entry) -> int:
        found = self.status(one.path)
        return found.st_size if found and one.mode != SYMLINK else 0


def stamp(status: os.stat_result) -> tuple[int, ...]:
    """What is another one when a file was changed."""
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_mode, status.st_size, status.st_dev, status.st_ino, *times)


def unreadable(paths: Iterable[bytes], error: OSError) -> FileError:
    names = sorted(shown(path) for path in paths)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    reason = (error.strerror or str(error)).lower()
    return FileError(
        f"cannot read {', '.join(names[:3])}{more}: {reason}",
        hint="make it readable, or ignore it in .gitignore: a snapshot leaves nothing out",
        data={"paths": names},
    )
