"""The commits of some work, with the files and the number of lines they changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kedge.errors import GitError, InvalidValue
from kedge.features.folders import FEATURES
from kedge.host import git
from kedge.host.project import Project
from kedge.host.text import shorten
from kedge.knowledge.retro.subject import FEATURE, Subject

_MAX_COMMITS = 1000
_OWN = ".kedge/"
_STATE = '"(status|completed(At|_at)?)"'
_ALL = "All commits (any author, without merges)"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ROW = re.compile(r"\n?(?P<new>[0-9]+|-)\t(?P<old>[0-9]+|-)\t(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Commit:
    id: str
    subject: str
    added: int
    deleted: int


@dataclass(frozen=True, slots=True)
class FileChanges:
    """A file, the number of commits that changed it, and the lines they added and deleted."""

    path: str
    commits: int
    added: int
    deleted: int


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits since some work began, the latest first. `description` says since when."""

    description: str
    commits: tuple[Commit, ...] = ()
    files: tuple[FileChanges, ...] = ()  # the most often changed first
    uncommitted: tuple[str, ...] = ()
    more: bool = False  # True if there are earlier commits that are not included

    @property
    def added(self) -> int:
        return sum(one.added for one in self.commits)

    @property
    def deleted(self) -> int:
        return sum(one.deleted for one in self.commits)

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        lines = {"added": self.added, "deleted": self.deleted}
        return {"range": data.pop("description"), **data, **lines}


def collect_commits(
    project: Project,
    subject: Subject,
    *,
    since: str | None = None,
    until: str | None = None,
    ended: str | None = None,
    bases: Sequence[str] = (),
    began: Sequence[str] = (),
) -> CommitRange | None:
    """Return what anybody committed from the beginning of the work to its end; None outside git.

    The work began at `since`, else with the commit that added the feature's folder, else at the
    oldest of `bases`, on which tasks were started, else at the earliest time in `began`. It ended
    with the commit `until`, else with the one that finished the feature, or for tasks with the
    last one before the time `ended`; without that time it goes on.
    """
    repo = project.repo
    if repo is None:
        return None
    if repo.head() is None:
        return CommitRange("There are no commits yet", uncommitted=_list_uncommitted(repo))
    revisions, why = _find_range(repo, subject, since, bases, began)
    if not revisions:
        return CommitRange(why, uncommitted=_list_uncommitted(repo))
    end, until_why = _find_last(repo, subject, until, ended)
    if end is not None:
        revisions = [_bound(one, end) for one in revisions]
        why = f"{why}; {until_why}"
    return _read_commits(repo, revisions, why)


def _bound(revision: str, end: str) -> str:
    """Return an argument of `git log` that ends at a commit instead of HEAD."""
    return f"{revision.removesuffix('HEAD')}{end}" if revision.endswith("HEAD") else revision


def _find_last(
    repo: git.Repo, subject: Subject, until: str | None, ended: str | None
) -> tuple[str | None, str]:
    """Return the commit with which the work ended, and why; None if it ends at HEAD."""
    if until is not None:
        commit = _commit(repo, until)
        if commit is None:
            raise InvalidValue(f"no commit {until[:80]!r}", hint="give a commit of this repository")
        return commit, f"up to {commit[:10]}, given by --until"
    if not ended:
        return None, ""
    if subject.kind == FEATURE:
        end = _find_finish(repo, subject.folder)
    else:
        moment = f"{ended[:19]}+00:00" if "T" in ended else ended
        options = ("--first-parent", "-n1", "--format=%H", f"--until={moment}")
        end = repo.git("log", *options, "HEAD", "--").decode().strip()
    if not end or end == repo.head():
        return None, ""
    return end, f"up to {end[:10]}, with which it was finished"


def _find_finish(repo: git.Repo, folder: str) -> str:
    """Return the commit that finished a feature: the last in which its state changed.

    A state that was there from the beginning says nothing: then the work ends where the next
    feature begins. Empty if nothing tells.
    """
    log = ("log", "--format=%H")
    first = repo.git(*log, "--diff-filter=A", "HEAD", "--", folder).split()[-1:]
    for name, options in ((".meta.json", ("-G", _STATE)), ("tasks.md", ())):
        mark = repo.git(*log, "-n1", *options, "HEAD", "--", f"{folder}/{name}").split()
        if mark and mark != first:
            return mark[0].decode()
    if not first:
        return ""
    begun = repo.git(
        *log,
        *("--reverse", "--diff-filter=A", "--no-merges", f"{first[0].decode()}..HEAD", "--"),
        *(f":(glob){FEATURES}/*/{name}" for name in (".meta.json", "tasks.md", "spec.md")),
        f":(exclude){folder}",
        env={"GIT_LITERAL_PATHSPECS": "0"},
    ).split()
    return _commit(repo, f"{begun[0].decode()}^") or "" if begun else ""


def _find_range(
    repo: git.Repo,
    subject: Subject,
    since: str | None,
    bases: Sequence[str],
    began: Sequence[str],
) -> tuple[list[str], str]:
    """Return the arguments of `git log` for the range, and why it starts there."""
    if since is not None:
        commit = _commit(repo, since)
        if commit is None:
            raise InvalidValue(f"no commit {since[:80]!r}", hint="give a commit of this repository")
        return [f"{commit}..HEAD"], f"{_ALL} since {commit[:10]}, given by --since"
    options = ("--reverse", "--diff-filter=A", "--format=%H")
    added = repo.git("log", *options, "--", subject.folder).split() if subject.folder else []
    if added:
        first = added[0].decode()
        parent = _commit(repo, f"{first}^")
        why = f"{_ALL} from {first[:10]}, which added {subject.folder}"
        return [f"{parent}..HEAD" if parent else "HEAD"], why
    known = {commit for base in bases if (commit := _commit(repo, base)) is not None}
    if known:
        oldest = repo.git("rev-list", "--no-walk=sorted", *sorted(known)).split()[-1].decode()
        return [f"{oldest}..HEAD"], f"{_ALL} since {oldest[:10]}, where the work started"
    if began:
        moment = shorten(min(began), 40)
        why = f"{_ALL} dated since {moment}, when the work started"
        return [f"--since={moment}", "HEAD"], why
    return [], "The commit on which the work started is unknown: give it with --since COMMIT"


def _commit(repo: git.Repo, named: str) -> str | None:
    output = repo.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
    return output.decode().strip() if output else None


def _read_commits(repo: git.Repo, revisions: Sequence[str], why: str) -> CommitRange:
    options = ["--no-merges", "--no-renames", "--numstat", "-z", f"-n{_MAX_COMMITS + 1}"]
    try:
        log = repo.git("log", *options, "--format=%H%x00%s", *revisions, "--")
    except GitError as error:
        return CommitRange(f"{why}; git failed: {error.message}")
    commits = list[Commit]()
    files: dict[str, FileChanges] = {}
    parts = iter(log.decode("utf-8", "surrogateescape").split("\0"))
    for part in parts:
        if _COMMIT.fullmatch(part):
            commits.append(Commit(part[:10], next(parts, ""), 0, 0))
        elif (row := _ROW.fullmatch(part)) and not row["path"].startswith(_OWN):
            added, deleted = (int(row[name]) if row[name] != "-" else 0 for name in ("new", "old"))
            last = commits[-1]
            commits[-1] = replace(last, added=last.added + added, deleted=last.deleted + deleted)
            one = files.get(row["path"], FileChanges(row["path"], 0, 0, 0))
            files[one.path] = FileChanges(
                one.path, one.commits + 1, one.added + added, one.deleted + deleted
            )
    most = sorted(
        files.values(), key=lambda one: (-one.commits, -one.added - one.deleted, one.path)
    )
    more = len(commits) > _MAX_COMMITS
    return CommitRange(
        why, tuple(commits[:_MAX_COMMITS]), tuple(most), _list_uncommitted(repo), more
    )


def _list_uncommitted(repo: git.Repo) -> tuple[str, ...]:
    out = repo.git("status", "--porcelain", "-z", "--no-renames")
    paths = sorted(entry[3:] for entry in git.split_z(out))
    return tuple(path for path in paths if not path.startswith(_OWN))
