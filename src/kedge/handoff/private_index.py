"""The private index, and what it was made from: without that it is not believed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from kedge.errors import FileError
from kedge.handoff.listing import LINK, Entry
from kedge.handoff.shadow_git import WHOLE, ShadowGit, TreeId
from kedge.host import files
from kedge.host.record import NamedTuple

ABSENT = ""


class State(NamedTuple):
    """The listing that the index holds, and the tree that it makes, where that is known.

    `odd` are listed paths whose stat data say nothing: repositories, by their commits, and what
    is not there (`ABSENT`). They are looked at each time.
    """

    raw: bytes
    odd: Mapping[bytes, str]
    tree: str = ""


def load(shadow: ShadowGit) -> State:
    """Empty, as is the index then, when that was written by one who did not finish."""
    try:
        head, _, raw = (files.read_bytes(shadow.path / "state") or b"").partition(b"\n")
        value = json.loads(head)
        if value["index"] == _identity(shadow.path / "index"):
            odd = {os.fsencode(name): str(what) for name, what in value["odd"].items()}
            return State(raw, odd, str(value["tree"]))
    except (ValueError, KeyError, TypeError, AttributeError, FileError):
        pass  # it is a cache
    forget(shadow)
    return State(b"", {})


def forget(shadow: ShadowGit) -> None:
    """Begin with nothing the next time."""
    for name in ("index", "state", WHOLE):
        (shadow.path / name).unlink(missing_ok=True)


def save(shadow: ShadowGit, state: State) -> None:
    """Note what the index was made from, as it is at this moment."""
    value = {
        "index": _identity(shadow.path / "index"),
        "odd": {os.fsdecode(path): what for path, what in state.odd.items()},
        "tree": state.tree,
    }
    data = json.dumps(value).encode() + b"\n" + state.raw
    if data != files.read_bytes(shadow.path / "state"):
        staged = shadow.path / "state.new"
        staged.write_bytes(data)
        staged.replace(shadow.path / "state")


def enter(
    shadow: ShadowGit,
    entries: Iterable[Entry],
    gone: Iterable[bytes] = (),
    *,
    index: Path | None = None,
) -> None:
    """Put entries into the index, without stat data, after taking others out."""
    none = b"0" * (64 if shadow.sha256 else 40)
    lines = [b"0 %s\t%s\0" % (none, path) for path in gone]
    lines += [f"{one.mode} {one.oid}\t".encode() + one.path + b"\0" for one in entries]
    if lines:
        shadow.git("update-index", "-z", "--index-info", input=b"".join(lines), index=index)


def write(shadow: ShadowGit, over: Iterable[Entry], *, keep: bool) -> TreeId:
    """The tree of the index, with some entries more that it does not hold itself."""
    entries = list(over)
    if not entries:
        return TreeId(shadow.git("write-tree", "--missing-ok", keep=keep).decode().strip())
    index = shadow.path / "index.over"
    index.write_bytes(files.read_bytes(shadow.path / "index") or b"")
    if not index.stat().st_size:
        index.unlink()
    try:
        enter(shadow, entries, index=index)
        made = shadow.git("write-tree", "--missing-ok", keep=keep, index=index)
    finally:
        index.unlink(missing_ok=True)
    return TreeId(made.decode().strip())


def grafted(
    shadow: ShadowGit,
    tree: str,
    entries: Iterable[Entry],
    gone: Iterable[bytes],
    held: Mapping[bytes, bytes],
) -> TreeId | None:
    """The tree with a few paths changed, without the index: to write that takes longest.

    None where git makes none of it, as when nothing is left.
    """
    blobs, lines = [], []
    for number, one in enumerate(entries, 1):
        what = one.oid
        if one.mode != LINK:
            what = f":{number}"
            data = held[one.path]
            blobs.append(b"blob\nmark :%d\ndata %d\n%s\n" % (number, len(data), data))
        lines.append(f"M {one.mode} {what} ".encode() + _quoted(one.path) + b"\n")
    removed = [b"D %s\n" % _quoted(path) for path in gone]
    start = b"commit refs/heads/graft\ncommitter kedge <> 0 +0000\ndata 0\n"
    root = f'M 040000 {tree} ""\n'.encode()
    script = b"".join([*blobs, start, root, *removed, *lines, b'ls ""\n'])
    said = shadow.git("fast-import", "--quiet", "--force", "--depth=0", input=script)
    found = re.fullmatch(rb"040000 tree ([0-9a-f]+)\t\n", said)
    return TreeId(found[1].decode()) if found else None


def _quoted(path: bytes) -> bytes:
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % escaped


def added(shadow: ShadowGit, base: str | None, tree: str, *, keep: bool) -> list[Entry]:
    """The files that the tree has and the base has not; all of them where there is no base."""
    out = differing(shadow, base, tree, keep=keep) if base else None
    if out is not None:
        found = [Entry(mode, oid, path) for _, mode, oid, status, path in out if status != "D"]
    else:
        found = []
        for line in shadow.git("ls-tree", "-r", "-z", "--full-tree", tree, keep=keep).split(b"\0"):
            facts, _, path = line.partition(b"\t")
            if path:
                mode, _, oid = facts.decode().split(" ")
                found.append(Entry(mode, oid, path))
    return [one for one in found if one.mode != LINK]


def differing(
    shadow: ShadowGit, base: str, tree: str, *, keep: bool = False
) -> list[tuple[str, str, str, str, bytes]] | None:
    """Old mode, mode, id, status and path of what differs; None where the base is not there.

    Renames are not looked for, and kedge's own files not looked at.
    """
    options = ["-r", "-z", "--raw", "--no-abbrev", "--no-renames"]
    out = shadow.ask("diff-tree", *options, base, tree, "--", *shadow.apart, keep=keep)
    if out is None:
        return None
    fields = out.split(b"\0")
    found = []
    for facts, path in zip(fields[:-1:2], fields[1::2], strict=True):
        old, mode, _, oid, status = facts.decode().split(" ")
        found.append((old.removeprefix(":"), mode, oid, status, path))
    return found


def _identity(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns]
