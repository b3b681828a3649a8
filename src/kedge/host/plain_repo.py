"""Where a repository is, in the common cases, without a process and with little to import.

Anything unusual (a ceiling, a bare repository, settings that move the work tree, files of another
user) is left to git itself.
"""

from __future__ import annotations

import os
import stat

LIMITS = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
_MOST = 1 << 20  # bytes of a file of git's own that are read here
_HEX = frozenset(b"0123456789abcdef")


def find(start: str) -> tuple[str, str, str] | None:
    """The root, git's directory and the one that all work trees share; None when git must say."""
    if any(os.environ.get(name) for name in LIMITS):
        return None
    try:
        root = os.path.realpath(start, strict=True)
        about = os.stat(root)
        if not stat.S_ISDIR(about.st_mode):
            return None
        while True:
            if os.stat(root).st_dev != about.st_dev:
                return None
            found = _repository(root)
            if found is not None or root == "/":
                return found if found != _OTHER else None
            root = os.path.dirname(root)
    except OSError:
        return None


_OTHER = ("", "", "")  # a repository, but not a plain one


def _repository(root: str) -> tuple[str, str, str] | None:
    dot_git = os.path.join(root, ".git")
    if os.path.isdir(dot_git):
        plain = _is_mine(root, dot_git) and not os.path.islink(dot_git) and _is_git(dot_git)
        return (root, dot_git, dot_git) if plain else _OTHER
    if os.path.isfile(dot_git):
        return _linked(root, dot_git) or _OTHER
    bare = os.path.isfile(os.path.join(root, "HEAD")) and os.path.isdir(
        os.path.join(root, "objects")
    )
    return _OTHER if bare or os.path.lexists(dot_git) else None


def _linked(root: str, dot_git: str) -> tuple[str, str, str] | None:
    """A linked work tree, when it and its repository name each other."""
    named = small(dot_git)
    if not named.startswith(b"gitdir: /") or not named.endswith(b"\n"):
        return None
    git_dir = os.fsdecode(named[8:-1])
    back = small(os.path.join(git_dir, "gitdir"))
    shared = small(os.path.join(git_dir, "commondir"))
    if os.fsdecode(back[:-1]) != dot_git or shared != b"../..\n":
        return None
    common = os.path.dirname(os.path.dirname(git_dir))
    plain = _is_mine(root, git_dir, common) and _has_head(git_dir) and _is_git(common)
    return (root, git_dir, common) if plain else None


def _is_mine(*paths: str) -> bool:
    return all(os.stat(path).st_uid == os.geteuid() for path in paths)


def _is_git(directory: str) -> bool:
    """Whether git would take this directory as its own, and what is around it as the work tree."""
    if not all(os.path.isdir(os.path.join(directory, name)) for name in ("objects", "refs")):
        return False
    found = small(os.path.join(directory, "config"))
    if not found or not _has_head(directory):
        return False
    settings = found.lower().replace(b"bare = false", b"")
    return b"bare" not in settings and b"worktree" not in settings


def _has_head(directory: str) -> bool:
    head = small(os.path.join(directory, "HEAD"))
    return head.startswith(b"ref: refs/") or (len(head) >= 40 and _HEX.issuperset(head[:40]))


def small(path: str | os.PathLike[str], most: int = _MOST) -> bytes:
    """A plain file of git's own, up to so many bytes; nothing for anything else."""
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
