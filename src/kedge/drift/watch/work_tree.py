"""The working tree of a project, as the judgement of an act needs it.

git is started only by `is_tracked` and `read_status`, which few commands need. It runs no filter,
hook or monitor of the repository, takes no lock and gets little time.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LARGEST = 200_000  # bytes of a file that are read
_SECONDS = 2.0  # for one answer of git
_MOST = 1_000  # changed files, or files that a pattern matches
_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty")


class WorkTree:
    """Answers about paths relative to the root. A fault of git is kept in `fault`."""

    __slots__ = ("fault", "root")

    def __init__(self, root: str) -> None:
        self.root = root
        self.fault = ""

    def exists(self, path: str) -> bool:
        return os.path.lexists(f"{self.root}/{path}")

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(f"{self.root}/{path}")  # noqa: PTH112 - pathlib takes time to load

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a regular file; None if it is missing or too large."""
        try:
            fd = os.open(f"{self.root}/{path}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                return None
            return os.read(fd, _LARGEST)
        except OSError:
            return None
        finally:
            os.close(fd)

    def expand(self, pattern: str) -> Sequence[str] | None:
        """Return the paths that a pattern matches; None if they are too many."""
        from glob import iglob
        from itertools import islice

        found = iglob(  # noqa: PTH207 - as above
            pattern, root_dir=self.root, recursive=True, include_hidden=True
        )
        first = list(islice(found, _MOST + 1))
        return None if len(first) > _MOST else first

    def is_tracked(self, path: str) -> bool | None:
        """True if git tracks the file, or a file in the folder; None if git does not say."""
        output = self._git("ls-files", "-z", "--", path)
        return None if output is None else bool(output)

    def find_uncommitted(self, *, untracked: bool) -> Sequence[str] | None:
        """Return the changed files, or those that git does not know; None if git does not say."""
        status = self.read_status()
        if status is None:
            return None
        return [path for path, state in status.items() if (state == "??") is untracked]

    def read_status(self) -> dict[str, str] | None:
        """Return what git says about each path that differs from HEAD; None if it does not say."""
        from kedge.host.git import split_z

        output = self._git(*_STATUS)
        if output is None:
            return None
        entries = split_z(output)
        if len(entries) > _MOST:
            self.fault = f"more than {_MOST} files differ from HEAD"
            return None
        return {entry[3:].rstrip("/"): entry[:2] for entry in entries}

    def find_head(self) -> str:
        """Return the commit of HEAD; "" if git does not say."""
        return (self._git("rev-parse", "--verify", "HEAD") or b"").decode().strip()

    def find_committed(self, since: str) -> dict[str, str]:
        """Return the files that differ between a commit and HEAD, with git's letter for each."""
        from kedge.host.git import split_z

        output = self._git("diff", "--name-status", "-z", "--no-renames", since, "HEAD", "--")
        words = split_z(output or b"")
        return dict(zip(words[1::2], words[::2], strict=False))

    def _git(self, *args: str) -> bytes | None:
        from kedge.errors import GitError
        from kedge.host import git

        try:
            return git.run(self._path(), args, timeout=_SECONDS)
        except GitError as error:
            self.fault = error.message
            return None

    def _path(self) -> Path:
        from pathlib import Path

        return Path(self.root)
