"""Snapshots that last: commits under `refs/kedge/<task>/` in the user's repository."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator

from kedge.errors import GitError, InvalidValue
from kedge.handoff import listing, private_index, shadow_git, working_tree
from kedge.handoff.context import OTHERS
from kedge.handoff.listing import LINK, Entry, shown
from kedge.handoff.shadow_git import ShadowGit, TreeId, object_id
from kedge.host import files, git
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.model.ids import RULE, is_id

REFS = "refs/kedge/"
_WHO = "kedge <kedge@localhost>"


class Snapshot(NamedTuple):
    """The working tree at one moment. `clean` is as git has it: nothing to commit."""

    tree: TreeId
    commit: str
    head: str | None
    branch: str | None
    clean: bool
    warnings: tuple[str, ...] = ()


def take(project: Project, ref: str, *, also: Collection[str] = ()) -> Snapshot:
    """Keep the working tree as it is now under `refs/kedge/<task>/<name>`.

    `also` names ignored files that are to be in it. The user's index, HEAD, stash, reflogs,
    settings and files stay as they are.
    """
    name = checked(ref)
    shadow = shadow_git.of(project)
    with shadow.locked():
        head = shadow.repo.head()
        base = _last(shadow) or head
        paths = [os.fsencode(path) for path in also]
        seen = working_tree.read(shadow, keep=True, base=base, also=paths)
        commit = _kept(shadow, seen.tree, head, name)
        clean = is_clean(shadow, head, seen.tree)
    dirty = [_warning(path, repo) for path, repo in sorted(seen.nested.items())]
    warnings = (*seen.warnings, *(line for line in dirty if line))
    return Snapshot(seen.tree, commit, head, shadow.repo.branch(), clean, warnings)


def look(project: Project) -> TreeId:
    """The tree of the working tree now. Nothing is written to the user's repository."""
    shadow = shadow_git.of(project)
    with shadow.locked():
        return working_tree.read(shadow, keep=False, base=shadow.repo.head()).tree


def base(project: Project, ref: str, commit: str | None) -> Snapshot:
    """Keep what the commit is in this work tree: its files with the bytes that they have here.

    Where git converts files (line endings, filters), a file that git calls unchanged has other
    bytes on the disk than in the commit. Compared with this, only what was changed differs.
    """
    name = checked(ref)
    shadow = shadow_git.of(project)
    with shadow.locked():
        head = shadow.repo.head()
        start = tree_of(project, commit)
        now = working_tree.read(shadow, keep=True, base=head)
        same = _converted(shadow, commit, start, now.tree) if commit else []
        tree = _having(shadow, start, same) if same else start
        kept = _kept(shadow, tree, commit, name)
        clean = is_clean(shadow, commit, now.tree)
    return Snapshot(tree, kept, commit, shadow.repo.branch(), clean, now.warnings)


def tree_of(project: Project, commit: str | None) -> TreeId:
    """The tree of a commit; that without files for None."""
    shadow = shadow_git.of(project)
    if commit is None:
        made = shadow.repo.git("hash-object", "-t", "tree", "--stdin", input=b"")
        return TreeId(made.decode().strip())
    name = f"{object_id(commit)}^{{tree}}"
    return TreeId(shadow.repo.git("rev-parse", "--verify", name).decode().strip())


def drop(project: Project, prefix: str) -> int:
    """Delete the refs of a task, or the one that is named; how many there were."""
    name = prefix.removeprefix(REFS).rstrip("/")
    if not 1 <= len(name.split("/")) <= 2 or not all(is_id(part) for part in name.split("/")):
        raise InvalidValue(f"{prefix[:80]!r} names no snapshots", hint=f"an id has {RULE}")
    repo = shadow_git.of(project).repo
    names = refs(project, name)
    lines = [f"option no-deref\ndelete {one}\n" for one in names]
    if lines:
        repo.git(*_QUIETLY, "update-ref", "--stdin", input="".join(lines).encode())
    return len(names)


def refs(project: Project, prefix: str) -> list[str]:
    """The refs at or below `refs/kedge/<prefix>`."""
    repo = shadow_git.of(project).repo
    out = repo.git("for-each-ref", "--format=%(refname)", REFS + prefix)
    return out.decode("utf-8", "surrogateescape").splitlines()


def ref_of(project: Project, task: str, name: str) -> str:
    """What a snapshot is called. Work trees share refs, not contexts: each has its own names."""
    return checked(f"{task}/{name}{_tail(project)}")


def _tail(project: Project) -> str:
    repo = project.repo
    if repo is None or not repo.linked:
        return ""
    return f"{OTHERS}{digest([os.fsencode(repo.git_dir)])[:8]}"


class Ref(NamedTuple):
    """A snapshot as git keeps it; `at` is when it was taken."""

    ref: str
    commit: str
    tree: str
    at: str


def kept(project: Project, task: str) -> list[tuple[str, Ref]]:
    """The snapshots of a task in this work tree by their names, the oldest first."""
    form = (
        "%(refname)%00%(objectname)%00%(tree)%00%(committerdate:format:%Y-%m-%dT%H:%M:%S.000000Z)"
    )
    repo = shadow_git.of(project).repo
    out = repo.git("for-each-ref", f"--format={form}", REFS + checked(f"{task}/x").split("/")[2])
    rows = [line.split("\0") for line in out.decode("utf-8", "surrogateescape").splitlines()]
    found = []
    for one in (Ref(*row) for row in rows if len(row) == 4):
        name, mark, tail = one.ref.rsplit("/", 1)[1].partition(OTHERS)
        if mark + tail == _tail(project):
            found.append((name, one))
    return sorted(found, key=lambda pair: pair[1].at)


def checked(ref: str) -> str:
    """The full name of `<task>/<name>`, with or without `refs/kedge/` before it."""
    parts = ref.removeprefix(REFS).split("/")
    if len(parts) != 2 or not all(is_id(part) for part in parts):
        raise InvalidValue(
            f"{ref[:80]!r} is no name for a snapshot", hint=f"<task>/<name>, each with {RULE}"
        )
    return REFS + "/".join(parts)


def is_clean(shadow: ShadowGit, commit: str | None, tree: str) -> bool:
    """Whether the tree, which is that of the work tree, is what git would commit unchanged."""
    if commit is None:
        return not shadow.git("ls-tree", tree)
    found = private_index.differing(shadow, commit, tree)
    if found is None or any(status in "AD" for *_, status, _ in found):
        return False
    # Files may differ by a conversion alone, and so be unchanged to git.
    return not found or not _differing(shadow, commit)


def _differing(shadow: ShadowGit, commit: str) -> set[bytes]:
    """The paths that are changed since the commit by the user's own git, conversions included.

    Filters are not run: what they would say is known where git has not seen the file change.
    """
    options = ["--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"]
    options += ["--ignore-submodules=dirty", commit, "--"]
    with _index_copy(shadow) as env:
        out = shadow.repo.git(*_without_filters(shadow.repo), "diff", *options, env=env)
    return {path for path in out.split(b"\0") if path and not path.startswith(b".kedge/")}


def _without_filters(repo: git.Repo) -> list[str]:
    found = repo.ask(
        "config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"
    )
    words = []
    for key in git.split_z(found or b""):
        name = key.rpartition(".")[0]
        words += [f"{name}.clean=", f"{name}.process=", f"{name}.required=false"]
    return [word for setting in words for word in ("-c", setting)]


@contextlib.contextmanager
def _index_copy(shadow: ShadowGit) -> Iterator[dict[str, str]]:
    """The user's index for `git diff`, which writes what it finds out into the one it is given."""
    own = shadow.repo.git_dir / "index"
    copy = shadow.path / f"index.theirs-{os.getpid()}"
    try:
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(own, copy)  # with its time, by which git tells what it must read again
        yield {"GIT_INDEX_FILE": str(copy)}
    except OSError as error:
        raise files.file_error("copy", own, error) from error
    finally:
        copy.unlink(missing_ok=True)


def _converted(shadow: ShadowGit, commit: str, start: str, now: str) -> list[Entry]:
    found = private_index.differing(shadow, start, now) or []
    maybe = [Entry(mode, oid, path) for _, mode, oid, status, path in found if status in "MT"]
    changed = _differing(shadow, commit) if maybe else set()
    return [one for one in maybe if one.path not in changed and one.mode != LINK]


def _having(shadow: ShadowGit, tree: str, entries: list[Entry]) -> TreeId:
    index = shadow.path / "index.base"
    try:
        shadow.git("read-tree", tree, index=index)
        private_index.enter(shadow, entries, index=index)
        made = shadow.git("write-tree", "--missing-ok", index=index, keep=True)
    finally:
        index.unlink(missing_ok=True)
    return TreeId(made.decode().strip())


# Neither a line in a reflog nor a hook of the user's.
_QUIETLY = ("-c", "core.logAllRefUpdates=false", "-c", f"core.hooksPath={os.devnull}")


def _kept(shadow: ShadowGit, tree: str, head: str | None, ref: str) -> str:
    """The commit that keeps the tree, and HEAD, from being collected."""
    who = f"{_WHO} {int(time.time())} +0000"
    lines = [f"tree {tree}"]
    lines += [f"parent {head}"] if head else []
    lines += [f"author {who}", f"committer {who}", "", f"{ref}\n"]
    text = "\n".join(lines).encode()
    made = shadow.git("hash-object", "-t", "commit", "-w", "--stdin", input=text, keep=True)
    commit = made.decode().strip()
    shadow.repo.git(*_QUIETLY, "update-ref", "--no-deref", ref, commit)
    (shadow.path / "kept").write_text(f"{ref} {commit}")
    return commit


def _last(shadow: ShadowGit) -> str | None:
    """The commit that was kept last, while a ref still holds it with all that it needs."""
    text = (files.read_bytes(shadow.path / "kept") or b"").decode()
    found = re.fullmatch(rf"({REFS}[\w./-]+) ([0-9a-f]+)", text)
    if not found:
        return None
    now = shadow.repo.ask("rev-parse", "--verify", "--quiet", found[1])
    return found[2] if now is not None and now.decode().strip() == found[2] else None


def _warning(path: bytes, repo: git.Repo) -> str | None:
    try:
        if not listing.dirty(repo):
            return None
    except GitError as error:
        return f"whether {shown(path)} has changes inside cannot be told: {error.message}"
    return f"{shown(path)} has changes inside that are in no commit: they are not in the snapshot"
