"""Compare the files that a report names with those that really changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kedge.host import git
from kedge.host.project import Project
from kedge.text.globs import Glob


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The paths that changed, each with its former path if it was renamed, and since when."""

    paths: tuple[tuple[str, str | None], ...]
    since: str


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The differences between a report and the changed files."""

    since: str
    unchanged: tuple[str, ...] = ()  # reported but unchanged
    unreported: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        return bool(self.unchanged or self.unreported)


_BOOKKEEPING = re.compile(
    r"\.kedge/|\.beads/|tasks/[^/]+\.task\.ya?ml\Z|"
    r"(?:.*/)?implementation-log\.md\Z|docs/features/[^/]+/(?:tasks\.md|\.meta\.json)\Z"
)


def is_bookkeeping(path: str) -> bool:
    """True for files that record the work instead of being part of it: kedge's own, and tasks."""
    return _BOOKKEEPING.match(path) is not None


def check_files(reported: Sequence[str], changed: ChangedFiles, root: Path) -> FileCheck:
    """Compare the names in a report with the changed paths.

    A name may be a path, the end of one, a folder or a glob.
    """
    names = {name: _normalize(name, root) for name in reported}
    unchanged = [
        name
        for name, plain in names.items()
        if not any(_matches(plain, one) for pair in changed.paths for one in pair if one)
    ]
    unreported = [
        path
        for path, old in changed.paths
        if not is_bookkeeping(path)
        and not any(_matches(plain, one) for plain in names.values() for one in (path, old) if one)
    ]
    return FileCheck(changed.since, tuple(unchanged), tuple(unreported))


def find_changed_files(project: Project, started_at: str | None) -> ChangedFiles | None:
    """Return what differs from the last commit before the start; without a start, from HEAD.

    None if there is nothing to compare: no git, or all is committed and the start is unknown.
    """
    repo = project.repo
    if repo is None:
        return None
    base, since = repo.head(), "HEAD"
    if base is not None and started_at:
        commit = repo.ask(
            "rev-list", "-n1", "--first-parent", f"--before={started_at}", "HEAD", "--"
        )
        base = (commit or b"").decode().strip() or None
        since = "the commit before the task was started" if base else "the start"
    others = ["--others", "--exclude-standard", *([] if base else ["--cached"])]
    paths: list[tuple[str, str | None]] = []
    if base:
        options = ["-z", "-M", "--name-status", "--no-ext-diff", "--ignore-submodules=dirty"]
        fields = iter(git.split_z(repo.git("diff", *options, base, "--")))
        for status in fields:
            first = next(fields)
            renamed = status[:1] in "RC"
            paths.append((next(fields), first) if renamed else (first, None))
    paths += [(path, None) for path in git.split_z(repo.git("ls-files", "-z", *others))]
    if not paths and not started_at:
        return None
    return ChangedFiles(tuple(sorted(set(paths), key=lambda pair: pair[0])), since)


def _normalize(name: str, root: Path) -> str:
    plain = name.strip().replace("\\", "/").removeprefix("./")
    top = f"{root.as_posix()}/"
    return plain.removeprefix(top) if plain.startswith(top) else plain


def _matches(name: str, path: str) -> bool:
    """True if a name in a report refers to this path."""
    if any(sign in name for sign in "*?"):
        return Glob(f"**/{name.lstrip('/')}").matches(path)
    bare = name.strip("/")
    if not bare:
        return False
    return (
        path == bare
        or path.startswith(f"{bare}/")
        or path.endswith(f"/{bare}")
        or bare.endswith(f"/{path}")
        or f"/{bare}/" in f"/{path}"
    )
