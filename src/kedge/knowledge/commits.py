"""What was committed in the course of some work: the commits, the files, how much was changed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.errors import GitError, InvalidValue
from kedge.host import git
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.host.text import shortened
from kedge.knowledge.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = 1000  # commits that are looked at
_OWN = ".kedge/"
_ALL = "All commits, whoever made them, but for merges,"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ROW = re.compile(r"\n?(?P<new>[0-9]+|-)\t(?P<old>[0-9]+|-)\t(?P<path>.+)", re.DOTALL)


class Commit(NamedTuple):
    id: str
    subject: str
    added: int
    deleted: int


class Touched(NamedTuple):
    """A file: how many commits changed it, and the lines that these added and deleted."""

    path: str
    commits: int
    added: int
    deleted: int


class Course(NamedTuple):
    """The commits since some work began, the latest first, and how that beginning was found."""

    told: str
    commits: tuple[Commit, ...] = ()
    files: tuple[Touched, ...] = ()  # those that changed most first
    uncommitted: tuple[str, ...] = ()
    more: bool = False  # whether there are earlier ones that were not looked at

    @property
    def added(self) -> int:
        return sum(one.added for one in self.commits)

    @property
    def deleted(self) -> int:
        return sum(one.deleted for one in self.commits)

    def data(self) -> dict[str, Any]:
        return {
            "range": self.told,
            "commits": [one._asdict() for one in self.commits],
            "files": [one._asdict() for one in self.files],
            "added": self.added,
            "deleted": self.deleted,
            "uncommitted": list(self.uncommitted),
            "more": self.more,
        }


class _Start(NamedTuple):
    """What `git log` is asked for, and why."""

    range: tuple[str, ...]
    why: str


def course(
    project: Project,
    work: Work,
    *,
    since: str | None = None,
    bases: Sequence[str] = (),
    began: Sequence[str] = (),
) -> Course | None:
    """What was committed since the work began, by anybody. None outside of git.

    That is since the commit that is named; else since a feature's folder was first committed, since
    the oldest of `bases`, on which tasks were begun, or since the first of the moments in `began`.
    """
    repo = project.repo
    if repo is None:
        return None
    if repo.head() is None:
        return Course("There are no commits yet", uncommitted=_uncommitted(repo))
    start = _named(repo, since) if since is not None else _found(repo, work, bases, began)
    if not start.range:
        return Course(start.why, uncommitted=_uncommitted(repo))
    return _summed(repo, start)


def _named(repo: git.Repo, since: str) -> _Start:
    commit = _commit(repo, since)
    if commit is None:
        raise InvalidValue(f"no commit {since[:80]!r}", hint="give a commit of this repository")
    return _Start((f"{commit}..HEAD",), f"{_ALL} since {commit[:10]}, as --since says")


def _found(repo: git.Repo, work: Work, bases: Sequence[str], began: Sequence[str]) -> _Start:
    if work.folder:
        log = repo.git(
            "log", "--reverse", "--diff-filter=A", "--format=%H", "--", work.folder
        ).split()
        if log:
            first = log[0].decode()
            why = f"{_ALL} from {first[:10]} on, the first one with {work.folder}"
            parent = _commit(repo, f"{first}^")
            return _Start((f"{parent}..HEAD",) if parent else ("HEAD",), why)
    known = {commit for base in bases if (commit := _commit(repo, base)) is not None}
    if known:
        order = repo.git("rev-list", "--no-walk=sorted", *sorted(known)).split()
        oldest = order[-1].decode()
        return _Start((f"{oldest}..HEAD",), f"{_ALL} since {oldest[:10]}, on which work was begun")
    if began:
        moment = shortened(min(began), 40)
        why = f"{_ALL} since {moment}, when it was begun, by their dates"
        return _Start((f"--since={moment}", "HEAD"), why)
    return _Start((), "Nothing tells on which commit it was begun: --since COMMIT does")


def _commit(repo: git.Repo, named: str) -> str | None:
    found = repo.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
    return found.decode().strip() if found else None


def _summed(repo: git.Repo, start: _Start) -> Course:
    options = ["--no-merges", "--no-renames", "--numstat", "-z", f"-n{_MOST + 1}"]
    try:
        log = repo.git("log", *options, "--format=%H%x00%s", *start.range, "--")
    except GitError as error:
        return Course(f"{start.why}; git cannot tell: {error.message}")
    commits = list[Commit]()
    files: dict[str, Touched] = {}
    parts = iter(log.decode("utf-8", "surrogateescape").split("\0"))
    for part in parts:
        if _COMMIT.fullmatch(part):
            commits.append(Commit(part[:10], next(parts, ""), 0, 0))
        elif (row := _ROW.fullmatch(part)) and not row["path"].startswith(_OWN):
            added, deleted = (int(row[name]) if row[name] != "-" else 0 for name in ("new", "old"))
            last = commits[-1]
            commits[-1] = last._replace(added=last.added + added, deleted=last.deleted + deleted)
            one = files.get(row["path"], Touched(row["path"], 0, 0, 0))
            files[one.path] = Touched(
                one.path, one.commits + 1, one.added + added, one.deleted + deleted
            )
    most = sorted(
        files.values(), key=lambda one: (-one.commits, -one.added - one.deleted, one.path)
    )
    more = len(commits) > _MOST
    return Course(start.why, tuple(commits[:_MOST]), tuple(most), _uncommitted(repo), more)


def _uncommitted(repo: git.Repo) -> tuple[str, ...]:
    out = repo.git("status", "--porcelain", "-z", "--no-renames")
    paths = sorted(entry[3:] for entry in git.split_z(out))
    return tuple(path for path in paths if not path.startswith(_OWN))
