"""The text that a working tree adds to its base, by file, to be scanned for secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from kedge.handoff.snapshot import nested, shadow_git, snapshots, tree_changes
from kedge.host.project import Project

_MAX_BINARY = 2_000_000  # bytes; a larger binary file is not scanned
_NAMED = re.compile(rb'^(?:\+\+\+|rename to) "?(?:b/)?([^\n"]*)', re.MULTILINE)


def find_added_text(project: Project, base: str, now: str) -> Iterator[tuple[str, str]]:
    """Yield each changed path with its added lines; removed lines are already in git."""
    diff = snapshots.diff(project, base, now)
    for part in re.split(rb"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        named = _NAMED.search(part) or re.match(rb'"?a/.*? "?b/([^\n"]*)', part)
        path = named[1].decode("utf-8", "backslashreplace") if named else ""
        if b"\nGIT binary patch\n" not in part:
            yield path, _extract_added(part)
    for one in snapshots.count_lines(project, base, now):  # a patch may hold a name in quotes
        where = project.root / one.path
        if one.added is None and _is_readable(where):
            yield _show(os.fsencode(one.path)), _decode_guesses(where.read_bytes())
    for at, inner, before, after in _list_nested(project, base, now):
        for path, text in find_added_text(inner, before, after):
            yield f"{_show(at)}/{path}", text


def forget_text(project: Project, base: str, now: str) -> None:
    """Delete kedge's private copies of the files, also those in nested repositories."""
    for _, inner, before, after in list(_list_nested(project, base, now)):
        forget_text(inner, before, after)
    snapshots.forget_objects(project)


def _list_nested(
    project: Project, base: str, now: str
) -> Iterator[tuple[bytes, Project, str, str]]:
    """Yield nested repositories with uncommitted changes: path, trees of HEAD and of the files."""
    shadow = shadow_git.open_shadow(project)
    for one in tree_changes.find_differences(shadow, base, now):
        repo = (
            nested.open_repo(project, one.new.path) if one.new.mode == tree_changes.LINK else None
        )
        head = nested.find_parent(repo, one.new.oid) if repo is not None else None
        trees = nested.find_trees(repo, head, one.new.oid) if repo is not None and head else None
        if repo is not None and trees is not None:
            yield one.new.path, Project(repo.root, repo), *trees


def _is_readable(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_BINARY


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _extract_added(part: bytes) -> str:
    _, _, hunks = part.partition(b"\n@@ ")
    lines = (line[1:] for line in hunks.split(b"\n") if line[:1] == b"+")
    return b"\n".join(lines).decode("utf-8", "replace")


def _decode_guesses(data: bytes) -> str:
    """Decode a binary file every way that could reveal text: without NULs, and as UTF-16."""
    texts = [data.replace(b"\0", b"").decode("utf-8", "replace")]
    texts += [data.decode(name, "replace") for name in ("utf-16-le", "utf-16-be")]
    return "\n".join(texts)
