"""The commit of a finished task: exactly the proven content, on the branch the task started on.

The commit is built in a private index from the objects of the proven snapshot, never from files on
the disk, which a process may have changed since. Git makes the commit, so that the user's hooks,
identity and signature apply; a commit that is not the expected tree on the expected parent is
taken back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import GitError
from kedge.handoff.snapshot import nested, shadow_git, snapshots
from kedge.handoff.snapshot.listing import display_path
from kedge.handoff.snapshot.shadow_git import ShadowGit
from kedge.handoff.snapshot.tree_changes import LINK
from kedge.host import files
from kedge.host.digest import blob
from kedge.host.git import Repo, split_z
from kedge.host.own_edits import OwnEdits
from kedge.host.project import Project
from kedge.host.text import shorten
from kedge.model.task import Task
from kedge.run import git_objects, worktrees

_MOST_TITLE = 100  # characters
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
SCRATCH = "commit-"  # what scratch directories are called
_TRIES, _PAUSE = 10, 0.3  # for the lock of the user's index
# What kedge itself records beside the work, in the project that holds the tasks.
_RECORDS = (
    *(".kedge/tasks.jsonl", ".kedge/.gitattributes", ".kedge/ledger/", ".kedge/handoffs/"),
    *(".kedge/reviews/", ".kedge/implementation-log.md", ".kedge/reports/", ".kedge/archive/"),
    ".kedge/retros/",
)


@dataclass(frozen=True, slots=True)
class Head:
    """Where HEAD is: its commit, and the branch; None while there is none."""

    commit: str | None
    branch: str | None


def find_head(project: Project) -> Head:
    repo = project.repo
    return Head(repo.head(), repo.branch()) if repo is not None else Head(None, None)


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


def list_uncommitted(project: Project, paths: Collection[str]) -> set[str]:
    """Return those of the paths that differ from HEAD."""
    if project.repo is None:
        return set(paths)
    return set(worktrees.list_changes(project)).intersection(paths)


def list_records(project: Project, task: str) -> list[str]:
    """Return the files with kedge's own records that differ from HEAD, for the task's commit.

    A document outside of `.kedge` is one only if kedge alone has changed it since HEAD.
    """
    own_tree = worktrees.is_own(project, task)
    prefixes = worktrees.RECORDS if own_tree else _RECORDS
    edits = OwnEdits(project.root)
    changed = worktrees.list_changes(project, [".kedge", *edits.paths])
    return [
        path
        for path in changed
        if path.startswith(prefixes) or edits.explain(path, *_find_blobs(project, path))
    ]


def commit(
    project: Project,
    task: Task,
    began: Head,
    proven: str,
    paths: Collection[str],
    records: Sequence[str],
    why: str,
    warn: Callable[[str], None],
) -> str | None:
    """Commit these paths as they are in the proven tree, and the records; None if nothing changes.

    `began` is where HEAD was when the task started: what was committed since is part of the work.
    Other changes of the user stay as they are, staged or not. Raises GitError if a hook refuses,
    or if the commit would not be what was proven.
    """
    repo = project.repo
    if repo is None:
        return None
    now = find_head(project)
    if now.branch != began.branch:
        raise GitError(
            f"HEAD is {_describe(now)} and the task began {_describe(began)}",
            hint=f"git switch {began.branch or began.commit}",
        )
    _refuse_unfinished(repo)
    _refuse_rewritten(repo, began, now)
    every = {*paths, *_list_committed(repo, began.commit, now.commit)}
    with _build_index(project, now, proven, every, records) as (index, tree):
        if now.commit and tree == _find_tree(repo, now.commit):
            return None  # the agent has committed it
        message = f"{task.type}({task.id}): {shorten(task.title, _MOST_TITLE)}\n\n{why}\n"
        repo.as_user("commit", "--quiet", "--message", message, env={"GIT_INDEX_FILE": str(index)})
    made = repo.head()
    if made is None or made == now.commit:
        raise GitError("git made no commit", hint="git status may tell more")
    _check(repo, made, tree, now)
    _refuse_other_branch(repo, made, now)
    try:
        update_index(repo, now.commit, made)
    except GitError as error:  # the commit is made
        warn(f"git's index is not up to date: {error.message}; git reset brings it up to HEAD")
    return made


def _refuse_unfinished(repo: Repo) -> None:
    """Refuse to commit in the middle of a merge and the like: git would conclude it."""
    for name, what in _UNFINISHED.items():
        if (repo.git_dir / name).exists():
            raise GitError(f"a {what} is not finished", hint=f"git {what} --abort, or finish it")


def _refuse_rewritten(repo: Repo, began: Head, now: Head) -> None:
    """Refuse a branch that lost commits since the task began, or that is a link to another."""
    ref = f"refs/heads/{now.branch}"
    if now.branch is not None and repo.ask("symbolic-ref", "--quiet", ref):
        raise GitError(f"{now.branch} is a link to another branch", hint=f"git symbolic-ref {ref}")
    if began.commit is None:
        return
    words = ("merge-base", "--is-ancestor", began.commit, now.commit or "HEAD")
    if now.commit is None or repo.ask(*words) is None:
        raise GitError(
            f"{_describe(now)} the commits from before the task are gone",
            hint=f"git reset {began.commit[:12]} brings them back",
        )


@contextlib.contextmanager
def _build_index(
    project: Project, now: Head, proven: str, paths: Collection[str], records: Sequence[str]
) -> Iterator[tuple[Path, str]]:
    """Yield an index with the proven paths and the records on top of HEAD, and its tree."""
    repo = project.repo
    assert repo is not None  # noqa: S101 - the caller has one
    if forged := git_objects.find_forged(repo, now.commit, proven):
        for oid in forged:
            shadow_git.open_shadow(project).remove_object(oid)
        raise GitError(
            f"somebody replaced object {forged[0]} of the snapshot",
            hint="it is removed; let another attempt store it again",
        )
    with _scratch_directory(repo) as scratch:
        for number in range(2):
            folder = scratch / str(number)
            folder.mkdir()
            env = {"GIT_INDEX_FILE": str(folder / "index"), "GIT_DIR": str(repo.git_dir)}
            repo.as_user("read-tree", *([now.commit] if now.commit else ["--empty"]), env=env)
            _enter_proven(project, folder, env, proven, paths)
            _enter_records(project, env, records)
            tree = repo.as_user("write-tree", env=env).decode().strip()
            forged = git_objects.find_forged(repo, now.commit, tree)
            if not forged:
                break
            git_objects.remove_loose(repo, forged)  # git stores them again
        else:
            raise GitError(
                f"object {forged[0]} is not what its name says", hint="git fsck shows more"
            )
        yield folder / "index", tree


def _refuse_other_branch(repo: Repo, made: str, before: Head) -> None:
    """Take back a commit that is not on the branch on which HEAD was just before."""
    now = repo.branch()
    if now == before.branch:
        return
    move_head(repo, made, before.commit, "kedge: on another branch")
    raise GitError(f"HEAD went to {now or 'no branch'} in the same moment", hint="git reflog")


def _check(repo: Repo, made: str, tree: str, before: Head) -> None:
    """Take back a commit that is not the expected tree on the expected parent."""
    held, *parents = repo.git("log", "-n1", "--format=%T %P", made, "--").decode().split()
    expected = [before.commit] if before.commit else []
    if parents == expected and held == tree:
        return
    if parents != expected:
        why = "HEAD was moved by something else in the same moment"
    else:
        names = split_z(repo.git("diff-tree", "-r", "-z", "--name-only", tree, made, "--"))
        why = f"a hook changed what was to be committed: {', '.join(names[:5])}"
    move_head(repo, made, parents[0] if parents else None, "kedge: not what was proven")
    raise GitError(why, hint="what a task commits is the tree on which its checks passed")


def move_head(repo: Repo, old: str, new: str | None, why: str) -> None:
    """Move HEAD, or its branch, from one commit to another; GitError if it is not at `old`."""
    words = ["HEAD", new, old] if new is not None else ["-d", "HEAD", old]
    repo.git("update-ref", "-m", why, *words)


def update_index(repo: Repo, old: str | None, new: str | None) -> None:
    """Make the user's index equal to commit `new` where `old` differs; other entries stay."""
    raw = diff_trees(repo, old, new, "--raw", "--no-abbrev")
    fields = iter(raw.split(b"\0"))
    lines = b""
    for facts in fields:
        if facts:
            _, mode, _, oid, _ = facts.removeprefix(b":").split(b" ")
            lines += mode + b" " + oid + b"\t" + next(fields) + b"\0"
    for left in range(_TRIES, 0, -1):
        try:
            repo.git("update-index", "-z", "--index-info", input=lines)
            break
        except GitError:  # another git holds the lock
            if left == 1:
                raise
            time.sleep(_PAUSE)
    with contextlib.suppress(GitError):  # it says no where a file differs
        repo.git("update-index", "-q", "--refresh", filters=True)


def diff_trees(repo: Repo, old: str | None, new: str | None, *options: str) -> bytes:
    if old is None or new is None:
        empty = repo.git("hash-object", "-t", "tree", "--stdin", input=b"").decode().strip()
        old, new = old or empty, new or empty
    trees = (old, new)
    return repo.git("diff-tree", "-r", "-z", "--no-renames", *options, *trees, "--")


def _list_committed(repo: Repo, old: str | None, new: str | None) -> list[str]:
    """Return the paths outside of `.kedge` that commits since the task's start have changed."""
    if old == new:
        return []
    paths = split_z(diff_trees(repo, old, new, "--name-only"))
    return [path for path in paths if not path.startswith(".kedge/")]


def _find_tree(repo: Repo, commit_id: str) -> str:
    return repo.git("rev-parse", "--verify", f"{commit_id}^{{tree}}").decode().strip()


def _find_blobs(project: Project, path: str) -> tuple[str, str]:
    """Return the blobs of a path in HEAD and on the disk; empty for none."""
    repo = project.repo
    assert repo is not None  # noqa: S101 - it has changes
    held = repo.ask("rev-parse", "--verify", "--quiet", f"HEAD:{path}")
    data = files.read_bytes(project.path(*path.split("/")))
    if data is None:
        return (held or b"").decode().strip(), ""
    now = repo.git("hash-object", "--no-filters", "--stdin", input=data)
    return (held or b"").decode().strip(), now.decode().strip()


def _describe(head: Head) -> str:
    return f"on {head.branch}" if head.branch else f"detached at {(head.commit or '')[:12]}"


@contextlib.contextmanager
def _scratch_directory(repo: Repo) -> Iterator[Path]:
    parent = repo.git_dir / "kedge"
    parent.mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _enter_proven(
    project: Project, scratch: Path, env: dict[str, str], proven: str, paths: Collection[str]
) -> None:
    """Enter paths into the index as the proven tree has them.

    Their bytes are written to a directory of their own, and git takes them from there, so that
    its conversions (line endings, filters) apply as in any commit.
    """
    repo = project.repo
    assert repo is not None  # noqa: S101 - the caller has one
    if not paths:
        return
    shadow = shadow_git.open_shadow(project).prepare()
    wanted = {os.fsencode(path) for path in paths}
    listed = shadow.git("ls-tree", "-r", "-z", proven).split(b"\0")
    held = {line.partition(b"\t")[2]: line.partition(b"\t")[0].split() for line in listed if line}
    found = {path: held[path] for path in wanted if path in held}
    links = {path: facts for path, facts in found.items() if facts[0] == LINK.encode()}
    lines = b"".join(
        b"%s %s\t%s\0" % (facts[0], facts[2], path)
        for path, facts in found.items()
        if path not in links
    )
    work, index = scratch / "work", scratch / "proven"
    work.mkdir()
    shadow.git("update-index", "-z", "--index-info", input=lines, index=index)
    shadow.git("checkout-index", "--all", f"--prefix={work}/", index=index)
    _refuse_forged(shadow, work, {path: one for path, one in found.items() if path not in links})
    for path in sorted(wanted):
        _refuse_nested(project, path, held)
    names = b"\0".join(sorted(wanted - links.keys()))
    there = {**env, "GIT_WORK_TREE": str(work)}
    options = ("--add", "--remove", "--replace", "-z", "--stdin")
    if names:
        repo.as_user("update-index", *options, input=names + b"\0", env=there, cwd=work)
    if links:
        lines = b"".join(b"160000 %s\t%s\0" % (one[2], path) for path, one in links.items())
        repo.as_user("update-index", "-z", "--index-info", input=lines, env=env)


def _refuse_forged(shadow: ShadowGit, work: Path, proven: Mapping[bytes, Sequence[bytes]]) -> None:
    """Refuse objects of the snapshot whose content is not what was read from the work tree."""
    for path, facts in proven.items():
        full, oid = work / os.fsdecode(path), facts[2].decode()
        data = os.fsencode(full.readlink()) if full.is_symlink() else full.read_bytes()
        if blob(data, oid) != oid:
            shadow.remove_object(oid)
            raise GitError(
                f"somebody replaced the object with the content of {display_path(path)}",
                hint="it is removed; let another attempt store it again",
            )


def _refuse_nested(project: Project, path: bytes, held: dict[bytes, list[bytes]]) -> None:
    """Refuse a path in a nested repository that is not committed there: no commit can hold it."""
    parts = path.split(b"/")
    for end in range(1, len(parts) + 1):
        facts = held.get(b"/".join(parts[:end]))
        if facts is None or facts[0] != LINK.encode():
            continue
        top = b"/".join(parts[:end])
        repo = nested.open_repo(project, top)
        if repo is not None and nested.find_parent(repo, facts[2].decode()) is not None:
            shown = display_path(top)
            raise GitError(
                f"{shown} is a repository of its own, with changes that are not committed in it",
                hint=f"commit them in {shown}, or undo them",
            )


def _quote(path: str) -> str:
    """Quote a path that starts with a quotation mark or has a line break, as git reads it."""
    if not path.startswith('"') and "\n" not in path:
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _enter_records(project: Project, env: dict[str, str], records: Sequence[str]) -> None:
    repo = project.repo
    assert repo is not None  # noqa: S101 - the caller has one
    there = [path for path in records if project.path(*path.split("/")).is_file()]
    gone = b"".join(os.fsencode(path) + b"\0" for path in records if path not in there)
    if there:
        names = "".join(f"{_quote(path)}\n" for path in there).encode("utf-8", "surrogateescape")
        blobs = repo.as_user("hash-object", "-w", "--stdin-paths", input=names).split()
        lines = b"".join(
            b"100644 %s\t%s\0" % (blob, os.fsencode(path))
            for blob, path in zip(blobs, there, strict=True)
        )
        repo.as_user("update-index", "-z", "--index-info", input=lines, env=env)
    if gone:
        repo.as_user("update-index", "--force-remove", "-z", "--stdin", input=gone, env=env)
