"""The private index, and a record of what it was built from, without which it is not trusted."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import FileError
from kedge.handoff.snapshot.listing import LINK, TreeEntry
from kedge.handoff.snapshot.shadow_git import WHOLE, ShadowGit, TreeId
from kedge.host import files

ABSENT = ""


@dataclass(frozen=True, slots=True)
class IndexState:
    """The listing that the index holds, and its tree, if that is known.

    `unstable` are listed paths whose stat data prove nothing: nested repositories, by their
    commits, and missing files (`ABSENT`). They are read each time.
    """

    raw: bytes
    unstable: Mapping[bytes, str]
    tree: str = ""


def load(shadow: ShadowGit) -> IndexState:
    """Load the state; if it does not match the index, delete both and return an empty one."""
    try:
        head, _, raw = (files.read_bytes(shadow.path / "state") or b"").partition(b"\n")
        value = json.loads(head)
        if value["index"] == _stamp_index(shadow.path / "index"):
            unstable = {os.fsencode(name): str(what) for name, what in value["odd"].items()}
            return IndexState(raw, unstable, str(value["tree"]))
    except (ValueError, KeyError, TypeError, AttributeError, FileError):
        pass  # it is only a cache
    forget(shadow)
    return IndexState(b"", {})


def forget(shadow: ShadowGit) -> None:
    """Delete the index and its state, so that the next reading starts from nothing."""
    for name in ("index", "state", WHOLE):
        (shadow.path / name).unlink(missing_ok=True)


def save(shadow: ShadowGit, state: IndexState) -> None:
    """Record what the present index was built from."""
    value = {
        "index": _stamp_index(shadow.path / "index"),
        "odd": {os.fsdecode(path): what for path, what in state.unstable.items()},
        "tree": state.tree,
    }
    data = json.dumps(value).encode() + b"\n" + state.raw
    if data != files.read_bytes(shadow.path / "state"):
        staged = shadow.path / "state.new"
        staged.write_bytes(data)
        staged.replace(shadow.path / "state")


def add_entries(
    shadow: ShadowGit,
    entries: Iterable[TreeEntry],
    gone: Iterable[bytes] = (),
    *,
    index: Path | None = None,
) -> None:
    """Remove the `gone` paths from the index, then add the entries without stat data."""
    none = b"0" * (64 if shadow.sha256 else 40)
    lines = [b"0 %s\t%s\0" % (none, path) for path in gone]
    lines += [f"{one.mode} {one.oid}\t".encode() + one.path + b"\0" for one in entries]
    if lines:
        shadow.git("update-index", "-z", "--index-info", input=b"".join(lines), index=index)


def write_tree(shadow: ShadowGit, over: Iterable[TreeEntry], *, keep: bool) -> TreeId:
    """Write the tree of the index together with the entries `over`, which it does not hold."""
    entries = list(over)
    if not entries:
        return TreeId(shadow.git("write-tree", "--missing-ok", keep=keep).decode().strip())
    index = shadow.path / "index.over"
    index.write_bytes(files.read_bytes(shadow.path / "index") or b"")
    if not index.stat().st_size:
        index.unlink()
    try:
        add_entries(shadow, entries, index=index)
        tree = shadow.git("write-tree", "--missing-ok", keep=keep, index=index)
    finally:
        index.unlink(missing_ok=True)
    return TreeId(tree.decode().strip())


def graft_tree(
    shadow: ShadowGit,
    tree: str,
    entries: Iterable[TreeEntry],
    gone: Iterable[bytes],
    held: Mapping[bytes, bytes],
) -> TreeId | None:
    """Write the tree with a few paths changed, bypassing the index, which is slow to write.

    None if git cannot make one, as when no file is left.
    """
    blobs, lines = [], []
    for number, one in enumerate(entries, 1):
        what = one.oid
        if one.mode != LINK:
            what = f":{number}"
            data = held[one.path]
            blobs.append(b"blob\nmark :%d\ndata %d\n%s\n" % (number, len(data), data))
        lines.append(f"M {one.mode} {what} ".encode() + _quote(one.path) + b"\n")
    removed = [b"D %s\n" % _quote(path) for path in gone]
    start = b"commit refs/heads/graft\ncommitter kedge <> 0 +0000\ndata 0\n"
    root = f'M 040000 {tree} ""\n'.encode()
    script = b"".join([*blobs, start, root, *removed, *lines, b'ls ""\n'])
    out = shadow.git("fast-import", "--quiet", "--force", "--depth=0", input=script)
    match = re.fullmatch(rb"040000 tree ([0-9a-f]+)\t\n", out)
    return TreeId(match[1].decode()) if match else None


def _quote(path: bytes) -> bytes:
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % escaped


def find_added(shadow: ShadowGit, base: str | None, tree: str, *, keep: bool) -> list[TreeEntry]:
    """Return the files that the tree has and the base has not; all of them without a base."""
    changes = find_differences(shadow, base, tree, keep=keep) if base else None
    if changes is not None:
        entries = [one.entry for one in changes if one.status != "D"]
    else:
        entries = []
        for line in shadow.git("ls-tree", "-r", "-z", "--full-tree", tree, keep=keep).split(b"\0"):
            facts, _, path = line.partition(b"\t")
            if path:
                mode, _, oid = facts.decode().split(" ")
                entries.append(TreeEntry(mode, oid, path))
    return [one for one in entries if one.mode != LINK]


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """A path that differs between two trees: git's status letter, and the entry of the second."""

    old_mode: str
    status: str
    entry: TreeEntry


def find_differences(
    shadow: ShadowGit, base: str, tree: str, *, keep: bool = False
) -> list[TreeDifference] | None:
    """Return the paths that differ, without kedge's own; None if the base does not exist.

    A rename is a deletion and an addition.
    """
    options = ["-r", "-z", "--raw", "--no-abbrev", "--no-renames"]
    out = shadow.ask("diff-tree", *options, base, tree, "--", *shadow.exclude, keep=keep)
    if out is None:
        return None
    fields = out.split(b"\0")
    changes = []
    for facts, path in zip(fields[:-1:2], fields[1::2], strict=True):
        old, mode, _, oid, status = facts.decode().split(" ")
        changes.append(TreeDifference(old.removeprefix(":"), status, TreeEntry(mode, oid, path)))
    return changes


def _stamp_index(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns]
