"""The user's branches, tags and stashes, which no agent may lose.

HEAD and its branch are not among them: `agent_commits` takes those back.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import GitError
from kedge.host import files
from kedge.host.git import Repo

_OWN = ("refs/kedge/", "refs/heads/kedge/")  # kedge moves and removes these itself
_STASH, _REPLACED = "refs/stash", "refs/replace/"
_ASIDE = "refs/kedge/set-aside/refs"


@dataclass(frozen=True, slots=True)
class Refs:
    """Where the refs point to, and the list of stashes, which only a log has.

    `links` are refs that stand for another ref.
    """

    commits: dict[str, str]
    links: dict[str, str]
    stashes: bytes


def read(repo: Repo) -> Refs:
    out = repo.git("for-each-ref", "--format=%(objectname) %(refname) %(symref)")
    rows = [line.split(" ") for line in out.decode("utf-8", "replace").splitlines()]
    rows = [row for row in rows if not row[1].startswith(_OWN)]
    commits = {name: commit for commit, name, _ in rows}
    links = {name: target for _, name, target in rows if target}
    return Refs(commits, links, files.read_bytes(_log(repo)) or b"")


def put_back(repo: Repo, before: Refs) -> list[str]:
    """Recreate refs that are gone, and drop those that stand for other objects; return both.

    The old commits of a ref that was rewritten are kept under a ref of their own.
    """
    now, changed = read(repo), []
    for name in sorted(now.links.keys() - before.links.keys()):
        if name in before.commits:  # what is committed on it would go to another branch
            repo.git("update-ref", "--no-deref", name, before.commits[name])
            changed.append(name)
    now = read(repo) if changed else now
    for name, commit in before.commits.items():
        current = now.commits.get(name)
        if name == _STASH or current == commit or not _exists(repo, commit):
            continue
        if current is None:
            repo.git("update-ref", "--no-deref", name, commit)
            changed.append(name)
        elif repo.ask("merge-base", "--is-ancestor", commit, current) is None:
            repo.git("update-ref", "--no-deref", f"{_ASIDE}/{name.removeprefix('refs/')}", commit)
            changed.append(f"{name} (its old commits are in {_ASIDE})")
    for name in now.commits.keys() - before.commits.keys():
        if name.startswith(_REPLACED):
            repo.git("update-ref", "--no-deref", "-d", name)
            changed.append(name)
    if _list_stashes(before) - _list_stashes(now):
        _restore_stashes(repo, before, now)
        changed.append(_STASH)
    return sorted(changed)


def _restore_stashes(repo: Repo, before: Refs, now: Refs) -> None:
    current = now.commits.get(_STASH)
    if current is not None and current not in _list_stashes(before):
        repo.git("update-ref", "--no-deref", f"{_ASIDE}/stash", current)
    with contextlib.suppress(GitError):  # its object is gone, too
        repo.git("update-ref", "--no-deref", _STASH, before.commits[_STASH])
        files.write_atomic(_log(repo), before.stashes)


def _list_stashes(refs: Refs) -> set[str]:
    """Return the commits in the log of stashes."""
    lines = [line.split(b" ", 2) for line in refs.stashes.splitlines()]
    return {words[1].decode("ascii", "replace") for words in lines if len(words) > 1}


def _exists(repo: Repo, commit: str) -> bool:
    return repo.ask("cat-file", "-e", commit) is not None


def _log(repo: Repo) -> Path:
    return repo.common_dir / "logs" / "refs" / "stash"
