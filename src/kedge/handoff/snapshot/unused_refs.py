"""Snapshots that no context can use any more: of killed runs, and of work trees that are gone."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kedge.handoff.snapshot.commits import REFS, SAVED_WORK, list_refs, make_ref
from kedge.handoff.snapshot.shadow_git import open_shadow
from kedge.handoff.task_context import WORKTREE_MARK
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.model.ids import is_id


@dataclass(frozen=True, slots=True)
class UnusedRef:
    """A snapshot without a context. `is_lost` means that its work tree is gone, too."""

    task: str
    ref: str
    at: str
    is_lost: bool


def find_unused(project: Project, contexts: Collection[str]) -> list[UnusedRef]:
    """Return the snapshots of this work tree whose task is not in `contexts`, and those of work
    trees that are gone. What is kept for the user, such as work set aside, is not among them."""
    own = make_ref(project, "x", "x").removeprefix(f"{REFS}x/x")
    linked = set(_list_worktree_marks(project))
    found = []
    for ref in list_refs(project, ""):
        task, _, name = ref.removeprefix(REFS).partition("/")
        if ref.startswith(SAVED_WORK) or not is_id(task) or not is_id(name):
            continue
        _, mark, tail = name.partition(WORKTREE_MARK)
        is_lost = bool(mark) and mark + tail not in linked
        if is_lost or (mark + tail == own and task not in contexts):
            found.append(UnusedRef(task, ref, _read_time(project, ref), is_lost))
    return found


def _list_worktree_marks(project: Project) -> Iterator[str]:
    """Yield what the snapshots of each linked work tree end with."""
    if project.repo is None:
        return
    folder = project.repo.common_dir / "worktrees"
    for path in folder.iterdir() if folder.is_dir() else ():
        yield f"{WORKTREE_MARK}{digest([os.fsencode(path)])[:8]}"


def _read_time(project: Project, ref: str) -> str:
    form = "--format=%(committerdate:format:%Y-%m-%dT%H:%M:%S.000000Z)"
    return open_shadow(project).repo.git("for-each-ref", form, ref).decode().strip()
