"""Paths as kedge displays them, worked out from their names without looking at the disk."""

from __future__ import annotations

from functools import lru_cache
from posixpath import join, normpath

NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "-", ""})
_LONGEST = 1000


class ProjectPaths:
    """Displays paths relative to a root; guesses the home directory from where the root lies."""

    __slots__ = ("home", "root")

    def __init__(self, root: str) -> None:
        self.root = normalize_path(root or "/")
        parts = self.root.split("/")
        self.home = ""
        if len(parts) > 2 and parts[1] in ("home", "Users"):
            self.home = "/".join(parts[:3])
        elif parts[1:2] == ["root"]:
            self.home = "/root"

    def absolute(self, text: str, cwd: str | None) -> str | None:
        """Return the absolute path, or one from `~` if the home directory is not known."""
        if text == "~" or text.startswith("~/"):
            return normalize_path(self.home + text[1:]) if self.home else normpath(text)
        if text.startswith(("/", "~")):
            return normalize_path(text)
        return None if cwd is None else normalize_path(join(cwd, text))

    def display(self, text: str, cwd: str | None) -> tuple[str, bool] | None:
        """Return the displayed path and whether it is outside the root; None if it is unknown."""
        full = self.absolute(text[:_LONGEST], cwd)
        if full is None:
            return None
        if full == self.root:
            return ".", False
        prefix = self.root if self.root.endswith("/") else self.root + "/"
        if full.startswith(prefix):
            return full[len(prefix) :], False
        if text.startswith("~") and self.home and full.startswith(self.home):
            full = "~" + full[len(self.home) :]
        return full, True


project_paths = lru_cache(8)(ProjectPaths)  # the actions of a session share one project


def normalize_path(path: str) -> str:
    """Remove `.`, `..`, double slashes, and the `/private` that macOS puts before `/tmp`."""
    path = normpath(path)
    if path.startswith("//"):
        path = path[1:]
    if path.startswith(("/private/tmp", "/private/var")):
        path = path[len("/private") :]
    return path
