"""The commit of a finished task: the files that were changed for it, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kedge.errors import GitError
from kedge.handoff.snapshot import snapshots
from kedge.host.project import Project
from kedge.host.text import shorten
from kedge.model.task import Task
from kedge.run import worktrees

_MOST_TITLE = 100  # characters


def check_identity(project: Project) -> None:
    """Refuse if git does not know who commits: no agent could solve that."""
    try:
        if project.repo is not None:
            project.repo.as_user("var", "GIT_COMMITTER_IDENT")
    except GitError as error:
        raise GitError(
            "git does not know who commits here",
            hint="set git config user.name and user.email, or use kedge run --no-commit",
        ) from error


def list_changed(project: Project, start: str, tree: str) -> set[str]:
    """Return the paths that differ between two trees, old names of renamed files included."""
    changes = snapshots.compare(project, start, tree)
    return {path for one in changes for path in (one.path, one.old_path) if path}


def list_uncommitted(project: Project, files: Collection[str]) -> set[str]:
    """Return those of the files that differ from HEAD."""
    if project.repo is None:
        return set(files)
    return set(worktrees.list_changes(project)).intersection(files)


def commit(project: Project, task: Task, files: Sequence[str], why: str) -> str | None:
    """Commit these files with the user's hooks and identity; return the commit, None if none.

    Other staged changes stay staged. Raises GitError if a hook refuses.
    """
    repo = project.repo
    if repo is None or not files:
        return None
    uncommitted = list_uncommitted(project, files)
    if not uncommitted:
        return None  # the agent has committed it
    paths = "\0".join(sorted(uncommitted)).encode("utf-8", "surrogateescape")
    from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
    repo.git("add", "--all", *from_stdin, input=paths)
    before = repo.head()
    message = f"{task.type}({task.id}): {shorten(task.title, _MOST_TITLE)}\n\n{why}\n"
    repo.as_user("commit", "--quiet", "--only", "--message", message, *from_stdin, input=paths)
    after = repo.head()
    if after is None or after == before:
        raise GitError("git made no commit", hint="git status may tell more")
    return after
