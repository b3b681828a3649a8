"""Paths as kedge shows them, found by their names alone and never by looking at the disk."""

from __future__ import annotations

from functools import lru_cache
from posixpath import join, normpath

NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "-", ""})
_LONGEST = 1000


class Places:
    """The root that paths are shown from, and the home that it lies in, if that can be told."""

    __slots__ = ("home", "root")

    def __init__(self, root: str) -> None:
        self.root = normal(root or "/")
        parts = self.root.split("/")
        self.home = ""
        if len(parts) > 2 and parts[1] in ("home", "Users"):
            self.home = "/".join(parts[:3])
        elif parts[1:2] == ["root"]:
            self.home = "/root"

    def absolute(self, text: str, cwd: str | None) -> str | None:
        """The path from the file system's root, or from `~` where the home is not known."""
        if text == "~" or text.startswith("~/"):
            return normal(self.home + text[1:]) if self.home else normpath(text)
        if text.startswith(("/", "~")):
            return normal(text)
        return None if cwd is None else normal(join(cwd, text))

    def shown(self, text: str, cwd: str | None) -> tuple[str, bool] | None:
        """The path as it is shown and whether it is out of the root; None if it is unknown."""
        full = self.absolute(text[:_LONGEST], cwd)
        if full is None:
            return None
        if full == self.root:
            return ".", False
        under = self.root if self.root.endswith("/") else self.root + "/"
        if full.startswith(under):
            return full[len(under) :], False
        if text.startswith("~") and self.home and full.startswith(self.home):
            full = "~" + full[len(self.home) :]
        return full, True


places = lru_cache(8)(Places)  # a session's actions are all of one project


def normal(path: str) -> str:
    """Without `.`, `..`, double slashes, or the `/private` that macOS puts before `/tmp`."""
    path = normpath(path)
    if path.startswith("//"):
        path = path[1:]
    if path.startswith(("/private/tmp", "/private/var")):
        path = path[len("/private") :]
    return path


def under(directory: str, pattern: str) -> str:
    """A pattern below a directory, written as short as it can be."""
    return pattern if directory in (".", "./", "") else f"{directory.rstrip('/')}/{pattern}"
