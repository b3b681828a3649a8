"""What differs between two trees: the paths, a patch that makes one of the other, the lines."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kedge.errors import GitError
from kedge.handoff import shadow_git
from kedge.handoff.shadow_git import WHOLE, ShadowGit, object_id
from kedge.host.project import Project
from kedge.host.record import NamedTuple

_RENAMES = ("-M50%", "-l1000")
_KINDS = {"A": "added", "D": "deleted", "T": "type", "R": "renamed"}


class Change(NamedTuple):
    """What happened to a path: added, changed, deleted, renamed, mode, or type.

    A file that was renamed and edited is `renamed` with a similarity below 100. Modes are git's,
    `000000` where there is nothing. `type` is a file that became a link, or the like.
    """

    path: str
    change: str
    old_path: str | None = None
    old_mode: str = "000000"
    new_mode: str = "000000"
    similarity: int | None = None


class Lines(NamedTuple):
    """How many lines a file gained and lost; None for a binary one."""

    path: str
    added: int | None
    deleted: int | None


def compare(project: Project, before: str, after: str) -> list[Change]:
    """Every path that differs, in the order of the paths. kedge's own files are left out."""
    if before == after:
        return []
    shadow = shadow_git.of(project)
    options = ["-r", "-z", "--raw", "--no-abbrev", *_RENAMES]
    fields = iter(_between(shadow, options, before, after).split(b"\0"))
    found = []
    for facts in fields:
        if not facts:
            continue
        old_mode, new_mode, old, new, status = facts.decode().removeprefix(":").split(" ")
        first = os.fsdecode(next(fields))
        path = os.fsdecode(next(fields)) if status[0] in "RC" else first
        kind = _KINDS.get(status[0], "changed")
        if kind == "changed" and old == new:
            kind = "mode"
        similarity = int(status[1:]) if kind == "renamed" else None
        gone = None if kind == "added" else first
        found.append(Change(path, kind, gone, old_mode, new_mode, similarity))
    return sorted(found, key=lambda one: (os.fsencode(one.path), one.change))


def diff(project: Project, before: str, after: str, paths: Sequence[str] | None = None) -> bytes:
    """A patch: `git apply --binary` makes of the one tree exactly the other, here in `paths`."""
    if before == after or paths == []:
        return b""
    options = ["-r", "-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv"]
    shadow = shadow_git.of(project)
    return _between(shadow, [*options, *_RENAMES], before, after, paths or ())


def stat(project: Project, before: str, after: str) -> list[Lines]:
    """The lines that each file gained and lost, in the order of the paths."""
    if before == after:
        return []
    options = ["-r", "-z", "--numstat", "--no-ext-diff", "--no-textconv", *_RENAMES]
    fields = iter(_between(shadow_git.of(project), options, before, after).split(b"\0"))
    found = []
    for facts in fields:
        if not facts:
            continue
        added, deleted, path = facts.split(b"\t", 2)
        if not path:  # renamed: both names follow
            next(fields)
            path = next(fields)
        found.append(Lines(os.fsdecode(path), _number(added), _number(deleted)))
    return sorted(found, key=lambda one: os.fsencode(one.path))


def _between(
    shadow: ShadowGit,
    options: Sequence[str],
    before: str,
    after: str,
    paths: Sequence[str] = (),
) -> bytes:
    trees = [object_id(before), object_id(after)]
    named = [f":(top,literal){path}" for path in paths]
    try:
        return shadow.ready().git("diff-tree", *options, *trees, "--", *named, *shadow.apart)
    except GitError as error:
        # What a look left may be gone; the next one then puts it there again.
        (shadow.path / WHOLE).unlink(missing_ok=True)
        raise GitError(
            f"the trees cannot be compared: {error.message}",
            hint="a tree that no ref keeps goes in time: look again, or take a snapshot",
        ) from error


def _number(text: bytes) -> int | None:
    return None if text == b"-" else int(text)
