"""Files outside git: a walk that honours `.gitignore` files and follows no links."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from kedge.host.record import NamedTuple

MOST = 200_000
_ALWAYS = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".kedge"}


class Rule(NamedTuple):
    pattern: re.Pattern[str]
    keeps: bool
    directories: bool


def walk(root: Path) -> Iterator[str]:
    """Relative paths of plain files, sorted, at most so many."""
    found = 0
    stack: list[tuple[str, tuple[tuple[str, list[Rule]], ...]]] = [("", ())]
    while stack:
        directory, above = stack.pop()
        rules = above
        own = _read(root / directory / ".gitignore")
        if own:
            rules = (*above, (directory, own))
        below = []
        try:
            entries = sorted(os.scandir(root / directory), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            path = f"{directory}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _ALWAYS and not _ignored(path, rules, directory=True):
                    below.append((f"{path}/", rules))
            elif entry.is_file(follow_symlinks=False) and not _ignored(
                path, rules, directory=False
            ):
                yield path
                found += 1
                if found >= MOST:
                    return
        stack.extend(reversed(below))


def _ignored(path: str, rules: tuple[tuple[str, list[Rule]], ...], *, directory: bool) -> bool:
    for base, own in reversed(rules):
        inside = path[len(base) :]
        for rule in reversed(own):
            if (directory or not rule.directories) and rule.pattern.match(inside):
                return not rule.keeps
    return False


def _read(path: Path) -> list[Rule]:
    try:
        if path.is_symlink() or path.stat().st_size > 1_000_000:
            return []
        text = path.read_text("utf-8", "replace")
    except OSError:
        return []
    return [rule for line in text.splitlines() if (rule := _rule(line)) is not None]


@lru_cache(maxsize=4096)
def _rule(line: str) -> Rule | None:
    """One line of a .gitignore as a pattern on paths relative to its directory."""
    line = line.rstrip()
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    body = line[1:] if keeps else line
    directories = body.endswith("/")
    body = body.rstrip("/")
    anchored = "/" in body
    body = body.lstrip("/")
    pattern, index = "", 0
    while index < len(body):
        if body.startswith("**/", index):
            pattern, index = pattern + "(?:.*/)?", index + 3
        elif body.startswith("/**", index) and index + 3 == len(body):
            pattern, index = pattern + "/.*", index + 3
        elif body[index] == "*":
            pattern, index = pattern + "[^/]*", index + 1
        elif body[index] == "?":
            pattern, index = pattern + "[^/]", index + 1
        else:
            pattern, index = pattern + re.escape(body[index]), index + 1
    return Rule(re.compile(("" if anchored else "(?:.*/)?") + pattern + r"\Z"), keeps, directories)
