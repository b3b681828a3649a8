"""What git does with a file of the project: tracks it, or ignores it."""

from __future__ import annotations

from kedge.errors import GitError
from kedge.host.project import Project


def is_tracked(project: Project, path: str) -> bool:
    """True if git tracks the file."""
    repo = project.repo
    return repo is not None and bool(repo.git("ls-files", "-z", "--", path))


def is_ignored(project: Project, path: str) -> bool:
    """True if git ignores the file, or if there is no git."""
    if project.repo is None:
        return True
    try:
        return bool(project.repo.list_ignored([path]))
    except GitError:  # as for a path behind a link, which git neither ignores nor adds
        return False
