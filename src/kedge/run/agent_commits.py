"""What an agent committed in an attempt that did not succeed: taken back, and kept under a ref.

A run commits what is proven and nothing else. Commits of a failed attempt would stay on the user's
branch when its files are set aside. Only HEAD, its branch and the index move; no file is touched.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.handoff.snapshot.commits import list_refs
from kedge.host.git import Repo
from kedge.host.project import Project
from kedge.run import commits
from kedge.run.commits import Head


@dataclass(frozen=True, slots=True)
class TakenBack:
    """Commits that were taken off the branch. `ref` keeps them; None if HEAD only left its branch.

    `other` is the branch on which HEAD was found if the agent had left its own.
    """

    ref: str | None
    count: int
    branch: str | None
    other: str | None = None


def take_back(project: Project, task: str, began: Head) -> TakenBack | None:
    """Put HEAD and its branch back to where the task began; None if they are still there."""
    repo = project.repo
    now = commits.find_head(project)
    if repo is None or now == began:
        return None
    other = None
    if now.branch != began.branch:
        other = now.branch or "a detached HEAD"
        if began.branch is not None:
            repo.git("symbolic-ref", "-m", "kedge: back", "HEAD", f"refs/heads/{began.branch}")
        elif began.commit is not None:
            repo.git("update-ref", "--no-deref", "-m", "kedge: back", "HEAD", began.commit)
    ref, count = None, 0
    if now.commit is not None and now.commit != began.commit:
        ref = _find_free_ref(project, task)
        repo.git("update-ref", "--no-deref", ref, now.commit)
        count = _count(repo, began.commit, now.commit)
        commits.update_index(repo, now.commit, began.commit)
    here = repo.head()
    if here is not None and here != began.commit:
        if here != now.commit:
            repo.git("update-ref", "--no-deref", _find_free_ref(project, task), here)
            count += _count(repo, began.commit, here)
        commits.move_head(repo, here, began.commit, "kedge: the attempt did not succeed")
    elif here is None and began.commit is not None:
        repo.git("update-ref", "-m", "kedge: back", "HEAD", began.commit)
    return TakenBack(ref, count, began.branch, other)


def _find_free_ref(project: Project, task: str) -> str:
    name = f"set-aside/{task[:40]}-commits"
    taken, number, free = set(list_refs(project, "set-aside")), 1, f"refs/kedge/{name}"
    while free in taken:
        number += 1
        free = f"refs/kedge/{name}-{number}"
    return free


def _count(repo: Repo, old: str | None, new: str) -> int:
    words = ["rev-list", "--count", new, *([f"^{old}"] if old else []), "--"]
    return int(repo.git(*words).decode().strip())
