"""What a report says was changed, against what was: who is right is not for the report to say."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path

from kedge.host import git
from kedge.host.project import Project
from kedge.host.record import NamedTuple


class Changed(NamedTuple):
    """The paths that really differ, each with its old one where it was renamed; since what."""

    paths: tuple[tuple[str, str | None], ...]
    since: str


class Check(NamedTuple):
    """Where a report and the files differ."""

    since: str
    unchanged: tuple[str, ...] = ()  # reported, and as they were
    unreported: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        return bool(self.unchanged or self.unreported)


_BESIDE = re.compile(
    r"\.kedge/|\.beads/|tasks/[^/]+\.task\.ya?ml\Z|"
    r"(?:.*/)?implementation-log\.md\Z|docs/features/[^/]+/(?:tasks\.md|\.meta\.json)\Z"
)


def is_beside(path: str) -> bool:
    """Whether a file is written beside the work: kedge's own, and those where tasks are kept."""
    return _BESIDE.match(path) is not None


def check(reported: Sequence[str], changed: Changed, root: Path) -> Check:
    """Compare. A name may be a path, the end of one, a folder or a pattern."""
    names = {name: _normal(name, root) for name in reported}
    unchanged = [
        name
        for name, plain in names.items()
        if not any(_means(plain, one) for pair in changed.paths for one in pair if one)
    ]
    unreported = [
        path
        for path, old in changed.paths
        if not is_beside(path)
        and not any(_means(plain, one) for plain in names.values() for one in (path, old) if one)
    ]
    return Check(changed.since, tuple(unchanged), tuple(unreported))


def by_git(project: Project, started_at: str | None) -> Changed | None:
    """What differs in the working tree from the last commit before the start; else from HEAD.

    None where that says nothing: without git, or with all committed and no start known.
    """
    repo = project.repo
    if repo is None:
        return None
    base, since = repo.head(), "HEAD"
    if base is not None and started_at:
        found = repo.ask(
            "rev-list", "-n1", "--first-parent", f"--before={started_at}", "HEAD", "--"
        )
        base = (found or b"").decode().strip() or None
        since = "the commit before the task was started" if base else "the start"
    others = (
        ["--others", "--exclude-standard"]
        if base
        else ["--cached", "--others", "--exclude-standard"]
    )
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
    return Changed(tuple(sorted(set(paths), key=lambda pair: pair[0])), since)


def _normal(name: str, root: Path) -> str:
    plain = name.strip().replace("\\", "/").removeprefix("./")
    top = f"{root.as_posix()}/"
    return plain.removeprefix(top) if plain.startswith(top) else plain


def _means(name: str, path: str) -> bool:
    """Whether a name in a report means this path."""
    if any(sign in name for sign in "*?"):
        return fnmatch.fnmatchcase(path, name) or fnmatch.fnmatchcase(path, f"*/{name}")
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
