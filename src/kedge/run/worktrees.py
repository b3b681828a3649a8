"""Work trees for tasks: each on a branch of its own, beside the user's tree, which is left alone.

The work tree of a task is `.kedge/worktrees/<task>`, its branch `kedge/<task>`. What is done is on
the branch; merging it is up to the user. A work tree with anything else in it is never removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kedge.errors import GitError, KedgeError
from kedge.handoff import lifecycle
from kedge.host import files, git
from kedge.host.git import Repo, split_z
from kedge.host.project import Project
from kedge.model.ids import TaskId, task_id
from kedge.model.task import BlockType, Task
from kedge.tasks import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

FOLDER = "worktrees"
# What else is written for a task, for git: it goes with the work, on its branch.
RECORDS = tuple(
    f".kedge/{name}"
    for name in ("implementation-log.md", "reports/", "archive/", "retros/", "knowledge/")
)
_LINES = (".kedge/handoffs/", ".kedge/reviews/")  # lines that join those of the user's tree
_MAP = ".kedge/map.md"
_LONG = 900.0  # seconds: a large tree is written
_NAMED = 5  # paths of a conflict
_PLAINLY = ("--quiet", "--ff", "--commit", "--no-squash", "--no-edit", "--no-autostash")


class Refused(KedgeError):
    """A task that cannot be begun in a work tree. With `block` it needs somebody's decision."""

    code: ClassVar[str] = "work-tree"

    def __init__(self, message: str, *, hint: str | None = None, block: BlockType | None = None):
        super().__init__(message, hint=hint)
        self.block = block


def branch(task: str) -> str:
    return f"kedge/{task_id(task)}"


def check(project: Project) -> None:
    """Refuse where there can be no work trees."""
    if project.repo is None:
        raise GitError("work trees need a git repository", hint="git init, and a first commit")
    if project.repo.head() is None:
        raise GitError(
            "there is no commit that a work tree could begin from", hint="make a first commit"
        )


def is_own(project: Project, task: str) -> bool:
    """Whether this is the work tree of the task, and all that is in it there for the task."""
    linked = project.repo is not None and project.repo.linked
    return linked and project.root.parts[-3:] == (".kedge", FOLDER, task)


def needed(tasks: Mapping[TaskId, Task], task: Task) -> list[TaskId]:
    """All that a task builds on, near and far, in the order of the board."""
    found: set[TaskId] = set()
    waiting = [task.id]
    while waiting:
        one = tasks.get(waiting.pop())
        links: list[TaskId] = []
        while one is not None:  # what its epic waits for, it waits for
            links += one.depends_on
            one = tasks.get(one.epic) if one.epic else None
        links += [child.id for link in links for child in rules.children(tasks, link)]
        waiting += [link for link in links if link not in found]
        found.update(links)
    return [name for name in tasks if name in found - {task.id}]


def existing(main: Project, task: str) -> Project | None:
    """The work tree of a task as an earlier run left it; Refused where something else is there."""
    path = _place(main, task)
    if not os.path.lexists(path):
        return None
    shown = f".kedge/{FOLDER}/{task}"
    try:
        repo = git.find(path)
    except GitError as error:
        raise Refused(f"{shown} is not a work tree", hint="move it away") from error
    common = main.repo.common_dir if main.repo else None
    if (repo.root, repo.common_dir, repo.branch()) != (path, common, branch(task)):
        raise Refused(
            f"{shown} is not a work tree on the branch {branch(task)}",
            hint="check that branch out in it, or move it away",
        )
    if (repo.git_dir / "MERGE_HEAD").exists():
        raise Refused(
            f"a merge in {shown} is not finished", hint=f"git -C {shown} merge --abort, or commit"
        )
    return Project(path, repo)


def opened(main: Project, task: str, builds_on: Sequence[str]) -> Project:
    """The work tree of a task, made or gone on with, with the work of those that it builds on.

    A branch that the user has merged, or that has nothing yet, is brought up to HEAD.
    """
    check(main)
    there, new = existing(main, task), False
    if there is None:
        there, new = _made(main, task)
    repo, head = _repo(there), _repo(main).head() or "HEAD"
    names = [_ref(one) for one in builds_on if _commit(repo, _ref(one))]
    if _has(repo, head, _ref(task)):
        names.insert(0, head)
    try:
        _merge(repo, names)
    except Refused:
        if new:
            _removed(main, there, task, branch_too=True)
        raise
    return there


def bring_home(main: Project, there: Project) -> set[str]:
    """Add what was recorded in a work tree to the records of the user's; the paths at home."""
    home = set()
    for _, path in changes(there):
        if path == _MAP:
            home.add(path)
        elif path.startswith(_LINES) and path.endswith(".jsonl"):
            own = path.split("/")[1:]
            lines = (files.read_bytes(there.own(*own)) or b"").split(b"\n")
            target = main.own(*own)
            known = set((files.read_bytes(target) or b"").split(b"\n"))
            for line in lines:
                if line.strip() and line not in known:
                    files.append_line(target, line)
            home.add(path)
    return home


def put_away(main: Project, there: Project, task: str, *, done: bool) -> str | None:
    """Remove a work tree that has nothing to lose; otherwise say why it stays.

    The branch of a task that is done stays. One with nothing of its own goes.
    """
    home = bring_home(main, there)
    left = [path for _, path in changes(there) if path not in home]
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        return f"{left[0]}{more} not committed"
    repo = _repo(main)
    merged = _has(repo, "HEAD", _ref(task))
    if not done and not merged:
        return f"{branch(task)} has commits of work that is not done"
    lifecycle.purge(there, task)
    _removed(main, there, task, branch_too=merged and not done)
    return None


def changes(project: Project) -> list[tuple[str, str]]:
    """What differs from HEAD, staged or not, and what is there besides: git's sign, the path."""
    listed = _repo(project).git("status", "--porcelain", "--no-renames", "-uall", "-z")
    return [(entry[:2], entry[3:]) for entry in split_z(listed)]


def to_merge(main: Project, tasks: Iterable[str]) -> list[str]:
    """The branches whose merging brings all that was done and is not in HEAD yet."""
    repo = _repo(main)
    made = {branch(one): _commit(repo, _ref(one)) for one in tasks}
    open_ = {name: one for name, one in made.items() if one and not _has(repo, "HEAD", one)}
    if not open_:
        return []
    tips = repo.git("merge-base", "--independent", *open_.values()).decode().split()
    return [name for name, one in open_.items() if one in tips]


def _ref(task: str) -> str:
    return f"refs/heads/{branch(task)}"


def _place(main: Project, task: str) -> Path:
    return main.own(FOLDER, task_id(task))


def _repo(project: Project) -> Repo:
    if project.repo is None:
        raise GitError("work trees need a git repository", hint="git init, and a first commit")
    return project.repo


def _made(main: Project, task: str) -> tuple[Project, bool]:
    """The work tree, and whether its branch is new, too."""
    repo, path, name = _repo(main), _place(main, task), branch(task)
    ignore = main.own(FOLDER, ".gitignore")
    if files.read_bytes(ignore) is None:
        files.write_atomic(ignore, b"*\n")
    repo.ask("worktree", "remove", str(path))  # git may remember one that was deleted
    new = _commit(repo, _ref(task)) is None
    what = ("-b", name, str(path), "HEAD") if new else (str(path), name)
    try:
        repo.git("worktree", "add", "--quiet", *what, timeout=_LONG)
        return Project(path, git.find(path)), new
    except GitError as error:
        if new:
            repo.ask("branch", "--quiet", "-D", name)
        raise Refused(
            f"no work tree for {task}: {error.message}", hint="git worktree list shows all"
        ) from error


def _merge(repo: Repo, names: Sequence[str]) -> None:
    """Merge what is not there yet, all of it or nothing."""
    before = repo.head() or "HEAD"
    for name in names:
        if _has(repo, "HEAD", name):
            continue
        shown = name.removeprefix("refs/heads/")
        try:
            repo.as_user("merge", *_PLAINLY, "--no-verify", "-m", f"Merge {shown}", name)
        except GitError as error:
            paths = split_z(repo.git("diff", "--name-only", "--diff-filter=U", "-z"))
            if (repo.git_dir / "MERGE_HEAD").exists():
                repo.git("merge", "--abort")
            repo.git("reset", "--quiet", "--keep", before)
            if not paths:
                raise Refused(f"{shown} cannot be merged: {error.message}") from error
            told = ", ".join(paths[:_NAMED])
            more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            raise Refused(
                f"{shown} does not go together with what it begins from: {told}{more}",
                hint=f"merge {shown}, then reopen the task",
                block=BlockType.DESIGN_CONFLICT,
            ) from error


def _removed(main: Project, there: Project, task: str, *, branch_too: bool) -> None:
    repo = _repo(main)
    repo.git("worktree", "remove", "--force", str(there.root), timeout=_LONG)
    if branch_too:
        repo.git("branch", "--quiet", "-D", branch(task))


def _commit(repo: Repo, name: str) -> str | None:
    found = repo.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return found.decode().strip() if found else None


def _has(repo: Repo, commit: str, name: str) -> bool:
    """Whether a commit has all that another has."""
    return repo.ask("merge-base", "--is-ancestor", name, commit) is not None
