"""The commit of a task that is done: what was changed for it, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kedge.errors import GitError
from kedge.handoff import snapshots
from kedge.host.git import split_z
from kedge.host.project import Project
from kedge.host.text import shortened
from kedge.model.task import Task

_TITLE = 100  # characters


def message(task: Task, why: str) -> str:
    return f"{task.type}({task.id}): {shortened(task.title, _TITLE)}\n\n{why}\n"


def check_identity(project: Project) -> None:
    """Refuse where git does not know who commits: no agent could mend that."""
    try:
        if project.repo is not None:
            project.repo.as_user("var", "GIT_COMMITTER_IDENT")
    except GitError as error:
        raise GitError(
            "git does not know who commits here",
            hint="git config user.name and user.email, or kedge run --no-commit",
        ) from error


def changed(project: Project, start: str, tree: str) -> set[str]:
    """The paths that differ between two trees, old names included."""
    changes = snapshots.compare(project, start, tree)
    return {path for one in changes for path in (one.path, one.old_path) if path}


def left(project: Project, files: Collection[str]) -> set[str]:
    """Those of the files that are not committed as they are."""
    if project.repo is None:
        return set(files)
    listed = project.repo.git("status", "--porcelain", "--no-renames", "-uall", "-z")
    return {entry[3:] for entry in split_z(listed)}.intersection(files)


def commit(project: Project, task: Task, files: Sequence[str], why: str) -> str | None:
    """Commit these files with the user's own hooks and identity; the commit, or None for none.

    What else is staged stays staged. A hook that refuses raises GitError.
    """
    repo = project.repo
    if repo is None or not files:
        return None
    open_ = left(project, files)
    if not open_:
        return None  # the agent has committed it
    paths = "\0".join(sorted(open_)).encode("utf-8", "surrogateescape")
    named = ("--pathspec-from-file=-", "--pathspec-file-nul")
    repo.git("add", "--all", *named, input=paths)
    before = repo.head()
    repo.as_user(
        "commit", "--quiet", "--only", "--message", message(task, why), *named, input=paths
    )
    made = repo.head()
    if made is None or made == before:
        raise GitError("git made no commit", hint="git status may tell more")
    return made
