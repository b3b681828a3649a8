"""The paths of the working tree: tracked in the user's index, or untracked and not ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kedge.errors import FileError, GitError, KedgeError
from kedge.handoff.snapshot.shadow_git import ShadowGit
from kedge.handoff.snapshot.tree_changes import LINK, TreeEntry
from kedge.host import files, git
from kedge.host.text import clean

_MANY = 200
_OTHER, _SKIPPED = b"? ", b"S "


def display_path(path: bytes) -> str:
    """Return the path for a message: one line, whatever its bytes are."""
    return clean(path.decode("utf-8", "backslashreplace")).replace("\n", "\\n")


def make_unreadable_error(what: str) -> FileError:
    return FileError(
        f"a part of the working tree cannot be read: {what}",
        hint="make it readable, or ignore it in .gitignore: a snapshot must be complete",
    )


def list_paths(shadow: ShadowGit) -> bytes:
    """Return git's own list with a tag before each path, as bytes that can be compared.

    Names that differ by case are different files, whatever core.ignoreCase says; that setting
    applies to the ignore rules only.
    """
    out, messages = shadow.run_user_git(
        *["ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard", "--"],
        *shadow.exclude,
    )
    for line in messages:
        if "could not open directory" in line:
            raise make_unreadable_error(line.removeprefix("warning: "))
    if _OTHER in out and _ignores_case(shadow):
        return _drop_case_twins(shadow, _drop_ignored(shadow, out))
    return out


def parse_paths(raw: bytes) -> set[bytes]:
    """Return the paths of a listing, without the slash that ends a nested repository."""
    return {line[2:].rstrip(b"/") for line in raw.split(b"\0") if line}


def find_skipped(shadow: ShadowGit, raw: bytes) -> list[TreeEntry]:
    """Return the index entries of files that a sparse checkout leaves out of the work tree."""
    if not raw.startswith(_SKIPPED) and b"\0" + _SKIPPED not in raw:
        return []
    names = {line[2:] for line in raw.split(b"\0") if line[:2] == _SKIPPED}
    absent = {name for name in names if not os.path.lexists(_absolute(shadow, name))}
    return [one for one in read_index(shadow) if one.path in absent]


def read_index(shadow: ShadowGit, paths: Iterable[bytes] = ()) -> list[TreeEntry]:
    """Return the entries of the user's index, at these paths or all of them."""
    names = [f":(top,literal){os.fsdecode(path)}" for path in paths]
    out, _ = shadow.run_user_git("ls-files", "-z", "--stage", "--", *(names or shadow.exclude))
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
    known = read_index(shadow, names if len(names) < _MANY else ()) if names else []
    links = {one.path: one.oid for one in known if one.mode == LINK}
    return {path: _inspect_nested(shadow, path, links.get(path)) for path in names}


def _inspect_nested(shadow: ShadowGit, path: bytes, tracked: str | None) -> NestedRepo:
    name = display_path(path)
    full = shadow.repo.root / os.fsdecode(path)
    try:
        repo = _find_repo(full)
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


def _find_repo(root: Path) -> git.Repo | None:
    """Return the repository whose work tree is this directory, if there is one."""
    path = root / ".git"
    if not path.is_dir():
        text = (files.read_bytes(path) or b"").rstrip(b"\n")
        if not text.startswith(b"gitdir: "):
            return None
        path = root / os.fsdecode(text.removeprefix(b"gitdir: "))
    if not (path / "HEAD").exists():
        return None
    path = Path(os.path.realpath(path))
    shared = files.read_bytes(path / "commondir")
    common = path / os.fsdecode(shared.rstrip(b"\n")) if shared else path
    return git.Repo(root, path, Path(os.path.realpath(common)))


def is_dirty(repo: git.Repo) -> bool:
    """True if a nested repository has uncommitted changes."""
    return bool(repo.git("status", "--porcelain", "-z", "--untracked-files=normal"))


def _ignores_case(shadow: ShadowGit) -> bool:
    try:
        changed = (shadow.repo.common_dir / "config").stat().st_mtime_ns
    except OSError:
        changed = 0
    return _reads_ignore_case(shadow.repo, changed)


@lru_cache(8)  # a git process each time would take most of the time
def _reads_ignore_case(repo: git.Repo, _changed: int) -> bool:
    value = repo.ask("config", "--type=bool", "--get", "core.ignoreCase")
    return value is not None and value.strip() == b"true"


def _drop_ignored(shadow: ShadowGit, raw: bytes) -> bytes:
    lines = raw.split(b"\0")
    # With `./` before it no name is read as a pattern.
    others = b"".join(b"./%s\0" % line[2:] for line in lines if line[:2] == _OTHER)
    try:
        out = shadow.repo.git(
            *["-c", "core.ignoreCase=true", "check-ignore", "-z", "--stdin"],
            input=others,
            env={"GIT_LITERAL_PATHSPECS": "0"},
        )
    except GitError:  # none of them is ignored
        return raw
    ignored = {path.removeprefix(b"./") for path in out.split(b"\0")}
    return b"\0".join(one for one in lines if one[:2] != _OTHER or one[2:] not in ignored)


def _drop_case_twins(shadow: ShadowGit, raw: bytes) -> bytes:
    """Drop tracked names that differ from an untracked file's name by case alone.

    Where the file system ignores case, both name the same file.
    """
    lines = raw.split(b"\0")
    others = {line[2:].lower() for line in lines if line[:2] == _OTHER}
    return b"\0".join(
        line
        for line in lines
        if line[:2] == _OTHER or line[2:].lower() not in others or _has_exact_name(shadow, line[2:])
    )


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
