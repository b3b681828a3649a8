"""Files of the work tree that decide which programs git runs: hooks, and the names of filters.

They are part of the work, so they are not put back. A commit that would run them is refused,
unless the task names them as its scope.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

from kedge.handoff.snapshot import snapshots
from kedge.host.project import Project
from kedge.model.task import Task
from kedge.run import repository_guard

_ATTRIBUTES = ".gitattributes"
_PROGRAM = re.compile(rb"\bfilter\b|\[attr\]")  # a macro may stand for a filter


def find_planted(
    project: Project, task: Task, start: str, tree: str, changed: Collection[str]
) -> tuple[str, ...]:
    """Return the changed files that decide which programs git runs, without the task's scope."""
    if project.repo is None:
        return ()
    hooks = repository_guard.find_hooks(project.repo)
    top = hooks.relative_to(project.root).as_posix() if hooks is not None else None
    found = [path for path in changed if top is not None and path.startswith(f"{top}/")]
    attributes = [path for path in changed if posixpath.basename(path) == _ATTRIBUTES]
    if attributes:
        before, after = (snapshots.list_files(project, one) for one in (start, tree))
        found += [
            path
            for path in attributes
            if _list_programs(project, before.get(path)) != _list_programs(project, after.get(path))
        ]
    return tuple(sorted(one for one in found if one not in task.scope_in))


def _list_programs(project: Project, blob: str | None) -> list[bytes]:
    """Return the lines of attributes that name a filter, in their order."""
    data = snapshots.read_blob(project, blob) if blob is not None else b""
    return [line.strip() for line in data.splitlines() if _PROGRAM.search(line)]
