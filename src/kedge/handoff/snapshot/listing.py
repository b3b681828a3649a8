"""The paths of the working tree: tracked in the user's index, or untracked and not ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from kedge.errors import FileError, GitError, KedgeError
from kedge.handoff.snapshot import nested
from kedge.handoff.snapshot.shadow_git import ShadowGit
from kedge.handoff.snapshot.tree_changes import LINK, TreeEntry
from kedge.host import git
from kedge.host.text import clean

_OTHER, _SKIPPED = b"? ", b"S "


def display_path(path: bytes) -> str:
    """Return the path for a message: one line, whatever its bytes are."""
    return clean(path.decode("utf-8", "backslashreplace")).replace("\n", "\\n")


def make_unreadable_error(what: str) -> FileError:
    return FileError(
        f"a part of the working tree cannot be read: {what}",
        hint="make it readable, or ignore it in .gitignore: a snapshot must be complete",
    )


def list_paths(shadow: ShadowGit) -> tuple[set[bytes], list[TreeEntry]]:
    """Return the paths, and the index entries of those that a sparse checkout leaves out.

    Names that differ by case are different files, whatever core.ignoreCase says; that setting
    applies to the ignore rules only.
    """
    out, messages = shadow.run_verbose(
        *["ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard", "--"],
        *shadow.exclude,
        as_user=True,
    )
    for line in messages:
        if "could not open directory" in line:
            raise make_unreadable_error(line.removeprefix("warning: "))
    lines = out.split(b"\0")[:-1]
    paths = {line[2:].rstrip(b"/") for line in lines}  # a slash ends a nested repository
    others = {line[2:] for line in lines if line[:2] == _OTHER}
    if others and _ignores_case(shadow):
        paths -= _find_ignored(shadow, others)
        paths -= _find_case_twins(shadow, paths, others)
    skipped = {line[2:] for line in lines if line[:2] == _SKIPPED}
    absent = {path for path in skipped if not os.path.lexists(_absolute(shadow, path))}
    return paths, [one for one in read_index(shadow) if one.path in absent] if absent else []


def read_index(shadow: ShadowGit, paths: Iterable[bytes] = ()) -> list[TreeEntry]:
    """Return the entries of the user's index, at these paths or all of them."""
    names = [f":(top,literal){os.fsdecode(path)}" for path in paths]
    options = ["-z", "--stage", "--", *(names or shadow.exclude)]
    out, _ = shadow.run_verbose("ls-files", *options, as_user=True)
    entries = []
    for line in out.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        if path:
            mode, oid, stage = facts.decode().split(" ")
            if stage == "0":
                entries.append(TreeEntry(mode, oid, path))
    return entries


@dataclass(frozen=True, slots=True)
class NestedRepo:
    """A repository inside the work tree. Without `head` a tree cannot hold it."""

    head: str | None
    repo: git.Repo | None = None
    why: str | None = None  # a warning for the user


def find_nested(shadow: ShadowGit, paths: Iterable[bytes]) -> dict[bytes, NestedRepo]:
    """Inspect the directories that git lists: submodules, other repositories, or neither."""
    names = sorted(paths)
    known = read_index(shadow, names) if names else []
    links = {one.path: one.oid for one in known if one.mode == LINK}
    return {path: _inspect_nested(shadow, path, links.get(path)) for path in names}


def _inspect_nested(shadow: ShadowGit, path: bytes, tracked: str | None) -> NestedRepo:
    name = display_path(path)
    full = shadow.repo.root / os.fsdecode(path)
    try:
        repo = nested.find_repo(full)
        if repo is None:  # a submodule without a checkout keeps the commit of the index
            empty = tracked is None or not any(full.iterdir())
            why = None if empty else f"{name} is a submodule whose files git does not see"
            return NestedRepo(tracked, why=why)
        if repo.common_dir == shadow.repo.common_dir and tracked is None:
            return NestedRepo(None)  # another work tree of the same repository
        head = repo.head()
    except (KedgeError, OSError) as error:
        return NestedRepo(None, why=f"{name} is left out: the repository cannot be read: {error}")
    if head is None:
        return NestedRepo(
            tracked, why=f"{name} is a repository without a commit: its files are left out"
        )
    return NestedRepo(head, repo)


def _ignores_case(shadow: ShadowGit) -> bool:
    value = shadow.repo.ask("config", "--type=bool", "--get", "core.ignoreCase")
    return value is not None and value.strip() == b"true"


def _find_ignored(shadow: ShadowGit, paths: Iterable[bytes]) -> set[bytes]:
    """Return the paths that are ignored if case makes no difference."""
    names = b"".join(b"./%s\0" % path for path in paths)  # with `./` no name is a pattern
    try:
        out = shadow.repo.git(
            *["-c", "core.ignoreCase=true", "check-ignore", "-z", "--stdin"],
            input=names,
            env={"GIT_LITERAL_PATHSPECS": "0"},
        )
    except GitError:  # none of them is ignored
        return set()
    return {path.removeprefix(b"./").rstrip(b"/") for path in out.split(b"\0")}


def _find_case_twins(shadow: ShadowGit, paths: set[bytes], others: set[bytes]) -> set[bytes]:
    """Return the tracked names that differ from an untracked file's name by case alone.

    Where the file system ignores case, both name the same file.
    """
    folded = {path.lower() for path in others}
    twins = {path for path in paths - others if path.lower() in folded}
    return {path for path in twins if not _has_exact_name(shadow, path)}


def _has_exact_name(shadow: ShadowGit, path: bytes) -> bool:
    directory = _absolute(shadow, b"")
    for part in path.split(b"/"):
        try:
            if part not in os.listdir(directory):  # noqa: PTH208 - names as bytes
                return False
        except OSError:
            return False
        directory = directory + part + b"/"
    return True


def _absolute(shadow: ShadowGit, path: bytes) -> bytes:
    return os.fsencode(shadow.repo.root) + b"/" + path
