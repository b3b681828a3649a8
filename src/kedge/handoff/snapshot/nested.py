"""Repositories inside the work tree (submodules and others), as entries of a snapshot.

A tree holds a nested repository as one commit. With uncommitted changes in it that is a commit of
kedge: its tree has the files as they are, its parent is the repository's HEAD. The same files give
the same commit, so that a comparison of two trees sees every edit inside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kedge.errors import KedgeError
from kedge.handoff.snapshot import refs, shadow_git
from kedge.handoff.snapshot.shadow_git import ShadowGit, TreeId
from kedge.host import files, git
from kedge.host.project import Project

_LINK = "160000 "  # how git lists a nested repository in its index
_AUTHOR = "kedge <kedge@localhost> 0 +0000"
_MARK = b"\nauthor kedge <kedge@localhost> 0 +0000\n"


def find_commit(
    repo: git.Repo, head: str, keep: bool, read: Callable[[ShadowGit, bool], TreeId]
) -> str:
    """Return the commit that stands for the repository: HEAD, or one with its changed files.

    `read` reads a working tree. With `keep` the commit is stored in the repository itself.
    """
    if not is_dirty(repo):
        return head
    shadow = shadow_git.open_shadow(Project(repo.root, repo))
    with shadow.lock():
        tree = read(shadow, keep)
        if tree == repo.git("rev-parse", "--verify", f"{head}^{{tree}}").decode().strip():
            return head
        lines = [f"tree {tree}", f"parent {head}", f"author {_AUTHOR}", f"committer {_AUTHOR}"]
        text = "\n".join([*lines, "", "uncommitted changes\n"]).encode()
        out = shadow.git("hash-object", "-t", "commit", "-w", "--stdin", input=text, keep=keep)
    return out.decode().strip()


def protect(project: Project, nested: Mapping[bytes, tuple[git.Repo, str]], ref: str) -> None:
    """Keep kedge's own commits of nested repositories from being collected, under the ref."""
    for repo, commit in nested.values():
        refs.write(project.home(), repo, ref, commit)


def release(project: Project, paths: Iterable[bytes], ref: str) -> None:
    """Delete the ref in the nested repositories at these paths."""
    for path in paths:
        repo = open_repo(project, path)
        if repo is not None and repo.ask("rev-parse", "--verify", "--quiet", ref):
            refs.delete(project.home(), repo, [ref])


def open_repo(project: Project, path: bytes) -> git.Repo | None:
    """Return the repository that is checked out at the path; None if there is none."""
    return _find_checkout(project.root / Path(os.fsdecode(path)))


def find_parent(repo: git.Repo, commit: str) -> str | None:
    """Return the HEAD on which a commit of kedge stands; None for any other commit."""
    try:
        data = _read(repo, "cat-file", "commit", commit)
    except KedgeError:
        return None
    head = data.partition(b"\n\n")[0] + b"\n"
    if _MARK not in head:
        return None
    return next(
        line.split()[1].decode() for line in head.splitlines() if line.startswith(b"parent ")
    )


def _read(repo: git.Repo, *args: str) -> bytes:
    """Run git where it finds kedge's own objects, too; nothing is created for that."""
    shadow = shadow_git.open_shadow(Project(repo.root, repo))
    there = (shadow.path / "config").is_file()
    return shadow.git(*args) if there else repo.git(*args)


def find_trees(repo: git.Repo, old: str, new: str) -> tuple[str, str] | None:
    """Return the trees of two commits of a repository whose HEAD is the same; None otherwise."""
    before, after = find_parent(repo, old) or old, find_parent(repo, new) or new
    if before != after or old == new:
        return None
    words = [f"{one}^{{tree}}" for one in (old, new)]
    try:
        trees = [_read(repo, "rev-parse", "--verify", one).decode().strip() for one in words]
    except KedgeError:
        return None
    return trees[0], trees[1]


def find_repo(root: Path) -> git.Repo | None:
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
    """True if a nested repository, or one inside it, has uncommitted changes."""
    options = ("--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=dirty")
    return bool(repo.git("status", *options) or list_dirty(repo))


def list_dirty(repo: git.Repo) -> list[str]:
    """Return the submodules with uncommitted changes.

    `git status` would ask each with its own settings, and run the filters that they name.
    """
    found = []
    for line in git.split_z(repo.git("ls-files", "--stage", "-z")):
        facts, _, path = line.partition("\t")
        if facts.startswith(_LINK):
            inner = _find_checkout(repo.root / path)
            if inner is not None and is_dirty(inner):
                found.append(path)
    return found


def _find_checkout(path: Path) -> git.Repo | None:
    try:
        return find_repo(path)
    except (KedgeError, OSError):
        return None
