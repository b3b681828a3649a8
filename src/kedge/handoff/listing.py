"""Which paths make the working tree: tracked by the user's index, or untracked and not ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from kedge.errors import FileError, GitError, KedgeError
from kedge.handoff.shadow_git import ShadowGit
from kedge.host import files, git
from kedge.host.record import NamedTuple
from kedge.host.text import clean

LINK = "160000"
_MANY = 200
_OTHER, _SKIPPED = b"? ", b"S "


class Entry(NamedTuple):
    """What a tree says of a path."""

    mode: str
    oid: str
    path: bytes


def shown(path: bytes) -> str:
    """A path for a message: on one line, whatever its bytes are."""
    return clean(path.decode("utf-8", "backslashreplace")).replace("\n", "\\n")


def listing(shadow: ShadowGit) -> bytes:
    """Git's own list, each entry with a tag before it, as one text that can be compared.

    Case counts, whatever the user has set: two names are two files. But where it does not count
    for the user, it does not count for what is ignored, either.
    """
    out, said = shadow.theirs_heard(
        *["ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard", "--"],
        *shadow.apart,
    )
    for line in said:
        if "could not open directory" in line:
            raise FileError(
                f"a part of the working tree cannot be read: {line.removeprefix('warning: ')}",
                hint="make it readable, or ignore it in .gitignore",
            )
    if _OTHER in out and _ignores_case(shadow):
        return _without_twins(shadow, _without_ignored(shadow, out))
    return out


def members(raw: bytes) -> set[bytes]:
    """The paths of a listing. A nested repository has a slash at its end."""
    return {line[2:].rstrip(b"/") for line in raw.split(b"\0") if line}


def skipped(shadow: ShadowGit, raw: bytes) -> list[Entry]:
    """Files that a sparse checkout leaves out of the work tree, as the user's index has them."""
    if not raw.startswith(_SKIPPED) and b"\0" + _SKIPPED not in raw:
        return []
    names = {line[2:] for line in raw.split(b"\0") if line[:2] == _SKIPPED}
    absent = {name for name in names if not os.path.lexists(_full(shadow, name))}
    return [one for one in staged(shadow) if one.path in absent]


def staged(shadow: ShadowGit, paths: Iterable[bytes] = ()) -> list[Entry]:
    """The user's index, or what it has at these paths."""
    names = [f":(top,literal){os.fsdecode(path)}" for path in paths]
    out, _ = shadow.theirs_heard("ls-files", "-z", "--stage", "--", *(names or shadow.apart))
    found = []
    for line in out.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        if path:
            mode, oid, stage = facts.decode().split(" ")
            if stage == "0":
                found.append(Entry(mode, oid, path))
    return found


class Nested(NamedTuple):
    """A repository inside the work tree. Without `head` there is nothing that a tree can name."""

    head: str | None
    repo: git.Repo | None = None
    why: str | None = None  # what to tell the user, when it is not as one would expect


def nested(shadow: ShadowGit, paths: Iterable[bytes]) -> dict[bytes, Nested]:
    """What the directories are that git lists: submodules, other repositories, or neither."""
    names = sorted(paths)
    known = staged(shadow, names if len(names) < _MANY else ()) if names else []
    links = {one.path: one.oid for one in known if one.mode == LINK}
    return {path: _nested(shadow, path, links.get(path)) for path in names}


def _nested(shadow: ShadowGit, path: bytes, tracked: str | None) -> Nested:
    name = shown(path)
    full = shadow.repo.root / os.fsdecode(path)
    try:
        found = _repo_at(full)
        if found is None:  # a submodule that is not set up stays what the index says
            seen = tracked is None or not any(full.iterdir())
            said = None if seen else f"{name} is a submodule whose files git does not see"
            return Nested(tracked, why=said)
        if found.common_dir == shadow.repo.common_dir and tracked is None:
            return Nested(None)  # another work tree of the same repository
        head = found.head()
    except (KedgeError, OSError) as error:
        return Nested(None, why=f"{name} is left out, a repository that cannot be read: {error}")
    if head is None:
        return Nested(tracked, why=f"{name} is a repository without a commit: its files are not in")
    return Nested(head, found)


def _repo_at(root: Path) -> git.Repo | None:
    """The repository whose work tree this directory is, when it is one."""
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


def dirty(repo: git.Repo) -> bool:
    """Whether a nested repository has changes that its HEAD does not tell of."""
    return bool(repo.git("status", "--porcelain", "-z", "--untracked-files=normal"))


def _ignores_case(shadow: ShadowGit) -> bool:
    try:
        changed = (shadow.repo.common_dir / "config").stat().st_mtime_ns
    except OSError:
        changed = 0
    return _is_set(shadow.repo, changed)


@lru_cache(8)  # a process of git for each look would be most of its time
def _is_set(repo: git.Repo, _changed: int) -> bool:
    found = repo.ask("config", "--type=bool", "--get", "core.ignoreCase")
    return found is not None and found.strip() == b"true"


def _without_ignored(shadow: ShadowGit, raw: bytes) -> bytes:
    lines = raw.split(b"\0")
    # A dot before the name, so that none is taken for a pattern.
    others = b"".join(b"./%s\0" % line[2:] for line in lines if line[:2] == _OTHER)
    try:
        found = shadow.repo.git(
            *["-c", "core.ignoreCase=true", "check-ignore", "-z", "--stdin"],
            input=others,
            env={"GIT_LITERAL_PATHSPECS": "0"},
        )
    except GitError:  # none of them is ignored
        return raw
    ignored = {path.removeprefix(b"./") for path in found.split(b"\0")}
    return b"\0".join(one for one in lines if one[:2] != _OTHER or one[2:] not in ignored)


def _without_twins(shadow: ShadowGit, raw: bytes) -> bytes:
    """Where the file system ignores case, a tracked name and the file's own name are one file."""
    lines = raw.split(b"\0")
    others = {line[2:].lower() for line in lines if line[:2] == _OTHER}
    return b"\0".join(
        line
        for line in lines
        if line[:2] == _OTHER or line[2:].lower() not in others or _is_so_named(shadow, line[2:])
    )


def _is_so_named(shadow: ShadowGit, path: bytes) -> bool:
    directory = _full(shadow, b"")
    for part in path.split(b"/"):
        try:
            if part not in os.listdir(directory):  # noqa: PTH208 - names as bytes
                return False
        except OSError:
            return False
        directory = directory + part + b"/"
    return True


def _full(shadow: ShadowGit, path: bytes) -> bytes:
    return os.fsencode(shadow.repo.root) + b"/" + path
