"""What is left of a commit when its run is killed: a stale index, and scratch directories."""

from __future__ import annotations

import shutil

from kedge.host.git import split_z
from kedge.host.project import Project
from kedge.run import commits, git_locks
from kedge.run.commits import Head


def complete_index(project: Project, began: Head) -> None:
    """Bring the user's index up to a commit whose run was killed before it could.

    Nothing is done if the index has anything but the old content where the commit differs.
    """
    repo, now = project.repo, commits.find_head(project)
    if repo is None or began.commit is None or now.branch != began.branch:
        return
    if now.commit is None or now.commit == began.commit:
        return
    paths = split_z(commits.diff_trees(repo, began.commit, now.commit, "--name-only"))
    staged = repo.git("diff-index", "--cached", "--name-only", "-z", began.commit, "--")
    if not set(paths).intersection(split_z(staged)):
        commits.update_index(repo, began.commit, now.commit)


def clear_scratch(project: Project) -> None:
    """Remove what killed runs left of commits; the caller's run is the only one in this tree."""
    repo = project.repo
    left = sorted((repo.git_dir / "kedge").glob(f"{commits.SCRATCH}*")) if repo is not None else []
    if repo is not None and left and git_locks.wait_for_git(repo):  # one may still use them
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
