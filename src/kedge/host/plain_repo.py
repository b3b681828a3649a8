"""Find the repository of a directory in the common cases, without running git.

Anything unusual (a ceiling, a bare repository, settings that move the work tree, files of another
user) is left to git itself. Hook path: no `pathlib`, no `subprocess`.
"""

from __future__ import annotations

import os
import stat

LIMITS = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
_MOST = 1 << 20  # bytes to read of one of git's files
_HEX = frozenset(b"0123456789abcdef")


def find(start: str) -> tuple[str, str, str] | None:
    """Return the root, the git directory and the common directory; None if only git can tell."""
    if any(os.environ.get(name) for name in LIMITS):
        return None
    try:
        root = os.path.realpath(start, strict=True)
        first = os.stat(root)
        if not stat.S_ISDIR(first.st_mode):
            return None
        while True:
            if os.stat(root).st_dev != first.st_dev:
                return None
            places = _repository(root)
            if places is not None or root == "/":
                return places if places != _UNUSUAL else None
            root = os.path.dirname(root)
    except OSError:
        return None


_UNUSUAL = ("", "", "")  # a repository that only git can judge


def _repository(root: str) -> tuple[str, str, str] | None:
    dot_git = os.path.join(root, ".git")
    if os.path.isdir(dot_git):
        plain = _is_mine(root, dot_git) and not os.path.islink(dot_git) and _is_git(dot_git)
        return (root, dot_git, dot_git) if plain else _UNUSUAL
    if os.path.isfile(dot_git):
        return _linked_worktree(root, dot_git) or _UNUSUAL
    bare = os.path.isfile(os.path.join(root, "HEAD")) and os.path.isdir(
        os.path.join(root, "objects")
    )
    return _UNUSUAL if bare or os.path.lexists(dot_git) else None


def _linked_worktree(root: str, dot_git: str) -> tuple[str, str, str] | None:
    """Return the places of a linked work tree, if it and its repository refer to each other."""
    pointer = read_small(dot_git)
    if not pointer.startswith(b"gitdir: /") or not pointer.endswith(b"\n"):
        return None
    git_dir = os.fsdecode(pointer[8:-1])
    back = read_small(os.path.join(git_dir, "gitdir"))
    shared = read_small(os.path.join(git_dir, "commondir"))
    if os.fsdecode(back[:-1]) != dot_git or shared != b"../..\n":
        return None
    common = os.path.dirname(os.path.dirname(git_dir))
    plain = _is_mine(root, git_dir, common) and _has_head(git_dir) and _is_git(common)
    return (root, git_dir, common) if plain else None


def _is_mine(*paths: str) -> bool:
    return all(os.stat(path).st_uid == os.geteuid() for path in paths)


def _is_git(directory: str) -> bool:
    """True if git would use this directory, with its parent directory as the work tree."""
    if not all(os.path.isdir(os.path.join(directory, name)) for name in ("objects", "refs")):
        return False
    config = read_small(os.path.join(directory, "config"))
    if not config or not _has_head(directory):
        return False
    settings = config.lower().replace(b"bare = false", b"")
    return b"bare" not in settings and b"worktree" not in settings


def _has_head(directory: str) -> bool:
    head = read_small(os.path.join(directory, "HEAD"))
    return head.startswith(b"ref: refs/") or (len(head) >= 40 and _HEX.issuperset(head[:40]))


def read_small(path: str | os.PathLike[str], most: int = _MOST) -> bytes:
    """Return the first `most` bytes of a regular file; nothing for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, most) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)
