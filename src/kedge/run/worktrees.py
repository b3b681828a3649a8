"""Work trees for tasks: each on its own branch, beside the user's tree, which is left alone.

The work tree of a task is `.kedge/worktrees/<task>`, its branch `kedge/<task>`. Finished work is
on the branch; the user merges it. A work tree with anything else in it is never removed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from kedge.errors import GitError, KedgeError
from kedge.handoff import lifecycle
from kedge.handoff.snapshot import nested, snapshots
from kedge.host import files, git
from kedge.host.git import Repo, split_z
from kedge.host.project import Project
from kedge.model.ids import TaskId, is_id, task_id
from kedge.model.task import BlockType, Task
from kedge.run import ignored_files, worktree_remains
from kedge.run.worktree_remains import TIMEOUT
from kedge.tasks import rules

FOLDER = worktree_remains.FOLDER
# Records for git that are written beside the work: they go with it, on its branch.
RECORDS = tuple(
    f".kedge/{name}"
    for name in ("implementation-log.md", "reports/", "archive/", "retros/", "knowledge/")
)
_MERGED_RECORDS = (".kedge/handoffs/", ".kedge/reviews/")  # merged line by line
_MAP = ".kedge/map.md"
_MOST_PATHS = 5  # of a conflict
_MERGE_FLAGS = ("--quiet", "--ff", "--commit", "--no-squash", "--no-edit", "--no-autostash")


class WorktreeRefused(KedgeError):
    """A task cannot be started in a work tree. With `block`, somebody has to decide first."""

    code: ClassVar[str] = "work-tree"

    def __init__(self, message: str, *, hint: str | None = None, block: BlockType | None = None):
        super().__init__(message, hint=hint)
        self.block = block


def branch(task: str) -> str:
    return f"kedge/{task_id(task)}"


def check(project: Project) -> None:
    """Refuse where no work trees can be made."""
    if _repo(project).head() is None:
        raise GitError(
            "there is no commit that a work tree could start from", hint="make a first commit"
        )


def is_own(project: Project, task: str) -> bool:
    """True if the project is the work tree that kedge made for the task."""
    linked = project.repo is not None and project.repo.linked
    return linked and project.root.parts[-3:] == (".kedge", FOLDER, task)


def list_dependencies(tasks: Mapping[TaskId, Task], task: Task) -> list[TaskId]:
    """Return all tasks that a task builds on, directly or not, in the order of the board."""
    found: set[TaskId] = set()
    waiting = [task.id]
    while waiting:
        one = tasks.get(waiting.pop())
        links: list[TaskId] = []
        while one is not None:  # a task depends on what its epic depends on
            links += one.depends_on
            one = tasks.get(one.epic) if one.epic else None
        links += [child.id for link in links for child in rules.children(tasks, link)]
        waiting += [link for link in links if link not in found]
        found.update(links)
    return [name for name in tasks if name in found - {task.id}]


def locate(main: Project, task: str) -> Path:
    """Return where the work tree of a task is, if there is one."""
    return main.own(FOLDER, task_id(task))


def find_worktree(main: Project, task: str) -> Project | None:
    """Return the work tree that an earlier run left for the task.

    Raises WorktreeRefused if something else is in its place.
    """
    path = locate(main, task)
    if not os.path.lexists(path):
        return None
    shown = f".kedge/{FOLDER}/{task}"
    try:
        repo = git.find(path)
    except GitError as error:
        raise WorktreeRefused(f"{shown} is not a work tree", hint="move it away") from error
    common = main.repo.common_dir if main.repo else None
    if (repo.root, repo.common_dir, repo.branch()) != (path, common, branch(task)):
        raise WorktreeRefused(
            f"{shown} is not a work tree on the branch {branch(task)}",
            hint="check that branch out in it, or move it away",
        )
    if (repo.git_dir / "MERGE_HEAD").exists() and not _unfinished(repo).exists():
        raise WorktreeRefused(
            f"a merge in {shown} is not finished", hint=f"git -C {shown} merge --abort, or commit"
        )
    return Project(path, repo)


def clear_remains(main: Project) -> None:
    """Clear what a killed run has left of work trees that it was making or deleting."""
    worktree_remains.clear(main, _repo(main))


def list_own(main: Project) -> list[Project]:
    """Return the work trees that runs have left."""
    folder = main.own(FOLDER)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    found = []
    for name in filter(is_id, names):
        with contextlib.suppress(WorktreeRefused):
            found.append(find_worktree(main, name))
    return [one for one in found if one is not None]


def open_worktree(main: Project, task: str, dependencies: Sequence[str]) -> Project:
    """Return the work tree of a task, new or from an earlier run, with its dependencies merged.

    A branch that the user has merged, or that has no commits yet, is brought up to HEAD.
    """
    check(main)
    worktree, is_new = find_worktree(main, task), False
    if worktree is not None:
        _complete(main, worktree, task)
    if worktree is None:
        worktree, is_new = _add_worktree(main, task)
    repo, head = _repo(worktree), _repo(main).head() or "HEAD"
    names = [_ref(one) for one in dependencies if _find_commit(repo, _ref(one))]
    if _contains(repo, head, _ref(task)):
        names.insert(0, head)
    try:
        _merge(repo, names)
    except WorktreeRefused:
        if is_new:
            _delete_worktree(main, worktree, task, with_branch=True)
        raise
    return worktree


def copy_records(main: Project, worktree: Project) -> set[str]:
    """Add the records of a work tree to those of the user's tree; return the paths copied."""
    copied = set()
    for path in list_changes(worktree):
        if path == _MAP:
            copied.add(path)
        elif path.startswith(_MERGED_RECORDS) and path.endswith(".jsonl"):
            names = path.split("/")[1:]
            lines = (files.read_bytes(worktree.own(*names)) or b"").split(b"\n")
            target = main.own(*names)
            known = set((files.read_bytes(target) or b"").split(b"\n"))
            for line in lines:
                if line.strip() and line not in known:
                    files.append_line(target, line)
            copied.add(path)
    return copied


def remove_worktree(main: Project, worktree: Project, task: str, *, done: bool) -> str | None:
    """Remove a work tree that has nothing to lose; otherwise return why it stays.

    The branch of a finished task stays. A branch without commits of its own is deleted.
    """
    copied = copy_records(main, worktree)
    left = [path for path in list_changes(worktree) if path not in copied]
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        return f"{left[0]}{more} not committed"
    foreign = ignored_files.find_foreign(_repo(worktree))
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        return f"{foreign[0]}{more} (ignored by git) made by neither kedge nor an agent"
    merged = _contains(_repo(main), "HEAD", _ref(task))
    if not done and not merged:
        return f"{branch(task)} has commits of work that is not done"
    lifecycle.purge(worktree, task)
    _delete_worktree(main, worktree, task, with_branch=merged and not done)
    return None


def list_changes(project: Project, paths: Sequence[str] = ()) -> list[str]:
    """Return the paths that differ from HEAD, staged or not, and those of untracked files.

    With `paths`, only those at or below them.
    """
    repo = _repo(project)
    words = ("status", "--porcelain", "--no-renames", "-uall", "-z", "--ignore-submodules=dirty")
    changed = [entry[3:] for entry in split_z(repo.git(*words, "--", *paths))]
    if changed:  # to git without filters, a file with one may look changed
        listed = split_z(repo.git(*words, "--", *paths, filters=True))
        really = {entry[3:] for entry in listed}
        changed = [one for one in changed if one in really]
    inside = [one for one in nested.list_dirty(repo) if one not in changed]
    return changed + [one for one in inside if not paths]


def list_branches_to_merge(main: Project, tasks: Iterable[str]) -> list[str]:
    """Return the branches that together hold all finished work that is not in HEAD yet."""
    repo = _repo(main)
    commits = {branch(one): _find_commit(repo, _ref(one)) for one in tasks}
    unmerged = {
        name: one for name, one in commits.items() if one and not _contains(repo, "HEAD", one)
    }
    if not unmerged:
        return []
    tips = repo.git("merge-base", "--independent", *unmerged.values()).decode().split()
    return [name for name, one in unmerged.items() if one in tips]


def _ref(task: str) -> str:
    return f"refs/heads/{branch(task)}"


def _repo(project: Project) -> Repo:
    if project.repo is None:
        raise GitError("work trees need a git repository", hint="git init, and a first commit")
    return project.repo


def _add_worktree(main: Project, task: str) -> tuple[Project, bool]:
    """Return a new work tree, and True if its branch is new, too."""
    repo, path, name = _repo(main), locate(main, task), branch(task)
    ignore = main.own(FOLDER, ".gitignore")
    if files.read_bytes(ignore) is None:
        files.write_atomic(ignore, b"*\n")
    repo.ask("worktree", "remove", str(path))  # git may remember one that was deleted
    is_new = _find_commit(repo, _ref(task)) is None
    what = ("-b", name, str(path), "HEAD") if is_new else (str(path), name)
    try:
        repo.git("worktree", "add", "--quiet", *what, timeout=TIMEOUT, filters=True)
        return Project(path, git.find(path)), is_new
    except GitError as error:
        if is_new:
            repo.ask("branch", "--quiet", "-D", name)
        raise WorktreeRefused(
            f"no work tree for {task}: {error.message}", hint="git worktree list shows all"
        ) from error


def _complete(main: Project, worktree: Project, task: str) -> None:
    """Complete a work tree that git was killed in the middle of making, or of merging into."""
    repo = _repo(worktree)
    is_new = worktree_remains.is_unfinished(repo.git_dir)
    before = files.read_bytes(_unfinished(repo))
    if not is_new and before is None:
        return
    for name in ("index.lock", "HEAD.lock"):  # of that git, which is dead
        (repo.git_dir / name).unlink(missing_ok=True)
    snapshots.take(worktree, snapshots.make_ref(worktree, task, "half-made"))
    commit = (before or b"HEAD").decode()
    repo.git("reset", "--quiet", "--hard", commit, "--", timeout=TIMEOUT, filters=True)
    _unfinished(repo).unlink(missing_ok=True)
    if is_new:
        _repo(main).git("worktree", "unlock", str(worktree.root))


def _merge(repo: Repo, names: Sequence[str]) -> None:
    """Merge what is not there yet, all of it or nothing."""
    missing = [name for name in names if not _contains(repo, "HEAD", name)]
    if not missing:
        return
    before = repo.head() or "HEAD"
    files.write_atomic(_unfinished(repo), before.encode())
    _merge_each(repo, missing, before)
    _unfinished(repo).unlink()


def _unfinished(repo: Repo) -> Path:
    """The file that says from which commit a merge began that has not ended."""
    return repo.git_dir / "kedge" / "merging"


def _merge_each(repo: Repo, names: Sequence[str], before: str) -> None:
    for name in names:
        if _contains(repo, "HEAD", name):
            continue
        shown = name.removeprefix("refs/heads/")
        try:
            repo.as_user("merge", *_MERGE_FLAGS, "--no-verify", "-m", f"Merge {shown}", name)
        except GitError as error:
            paths = split_z(repo.git("diff", "--name-only", "--diff-filter=U", "-z"))
            if (repo.git_dir / "MERGE_HEAD").exists():
                repo.git("merge", "--abort", filters=True)
            repo.git("reset", "--quiet", "--keep", before, filters=True)
            _unfinished(repo).unlink(missing_ok=True)
            if not paths:
                raise WorktreeRefused(f"{shown} cannot be merged: {error.message}") from error
            conflicts = ", ".join(paths[:_MOST_PATHS])
            more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
            raise WorktreeRefused(
                f"{shown} conflicts with what the task starts from: {conflicts}{more}",
                hint=f"merge {shown}, then reopen the task",
                block=BlockType.DESIGN_CONFLICT,
            ) from error


def _delete_worktree(main: Project, worktree: Project, task: str, *, with_branch: bool) -> None:
    repo = _repo(main)
    worktree_remains.delete(repo, worktree.root)
    if with_branch:
        repo.git("branch", "--quiet", "-D", branch(task))


def _find_commit(repo: Repo, name: str) -> str | None:
    commit = repo.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return commit.decode().strip() if commit else None


def _contains(repo: Repo, commit: str, name: str) -> bool:
    """True if the history of a commit contains another one."""
    return repo.ask("merge-base", "--is-ancestor", name, commit) is not None
