"""The answer to `kedge map` while nothing has changed since the last one.

The map on disk goes by files that are known by what the file system says of them, and by what git
says of the tree. Both are noted when a map turns out to be as it was, and looked at before
anything else is loaded: a map is asked for often, and mostly nothing has changed. What git says
stays the same while each file and directory of the tree is as it was, so that git need not be asked
where there are not too many of them.
"""

from __future__ import annotations

import marshal
import os
import zlib

from kedge import __version__
from kedge.host import plain_git, plain_repo
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "unchanged"
LISTED = ("ls-files", "-z", "-v", "--cached", "--stage")
# All files of the tree, changed and untracked ones apart.
ALL = (*LISTED, "--modified", "--others", "--exclude-standard")
# Changed and untracked files, by an index that has notes on directories.
CHANGED = (
    *("-c", "core.untrackedCache=true", "-c", "status.showUntrackedFiles=all"),
    *("-c", "core.splitIndex=false"),
    *("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"),
)
MOST = 500  # files of which all is compared
MOST_PLACES = 40_000  # of a tree; of more, git on two cores is quicker by far
# Nanoseconds in which a file may change twice and have the same time; where a file system keeps
# whole seconds only, the second.
_STEP, _COARSE = 10**8, 2 * 10**9
_LARGEST = 1 << 24  # bytes of a note
_PATIENCE = 5.0  # seconds for git; the long way has more
_HOMES = ("HOME", "XDG_CONFIG_HOME")
_ELSEWHERE = ("KEDGE_HOME", "KEDGE_TASKS")
_OURS = ("KEDGE_", "GIT_CONFIG")
# What a file has that changes with it: link or file, which one, its size and its times.
_Seen = tuple[int, int, int, int, int]


def index_at(path: str) -> dict[str, str]:
    """The environment for a question by this index, to which git may write."""
    return {"GIT_INDEX_FILE": path, "GIT_OPTIONAL_LOCKS": "1"}


def answer(tokens: int) -> str:
    """What is said of a map that was written, or is as it should be."""
    return f".kedge/map.md: {tokens} tokens"


class Tree(NamedTuple):
    """A work tree, git's directory for it, the one that all share, and the commit that is there."""

    root: str
    git_dir: str
    common_dir: str
    past: str


class Asked(NamedTuple):
    """What git said of a tree: to `CHANGED` by the copy of the index of that name, or to `ALL`
    without one."""

    copy: str
    said: bytes


def keep(
    tree: Tree, begun: int, paths: Iterable[str], asked: Asked, places: list[bytes], tokens: int
) -> None:
    """Note how large the map is of a command that began then, and what it went by: these files, and
    what git said, which it will say again while nothing happens to any of `places`; without such,
    it must be asked.

    Nothing is noted where a file is so new that it may have changed after it was read.
    """
    around = _around()
    seen = {path: _seen(path) for path in paths}
    try:
        times = _times(tree.root, places)
    except OSError:
        return
    latest = [*times, *(time for one in seen.values() if one for time in one[3:])]
    new = any(time > begun - (_STEP if time % 10**9 else _COARSE) for time in latest)
    if around is None or len(seen) > MOST or new:
        return
    from contextlib import suppress
    from pathlib import Path

    from kedge.errors import FileError
    from kedge.host.files import write_atomic
    from kedge.repomap import neighbours

    kept = {path: _seen(path) for path in neighbours.files(tree.common_dir)}
    if not neighbours.at_hand(tree.root, tree.common_dir, tree.past):
        return
    happened = hash(tuple(times)) if places else None
    data = marshal.dumps((__version__, tuple(tree), around, seen, kept, *asked, happened, tokens))
    note = (zlib.crc32(data).to_bytes(4, "big") + data).hex().encode()
    path = Path(tree.git_dir, "kedge", FILE)
    if not path.parent.is_symlink():
        with suppress(FileError):  # the map is made, with a note or without
            write_atomic(path, b"\0".join((note, *places)))


def answered() -> bool:
    """Whether what was said to the last `kedge map` here would be said again, and now is.

    With any doubt, and with anything that goes wrong, it is not: the long way finds out more.
    """
    try:
        tokens = _tokens()
        if tokens is None:
            return False
        said = f"{answer(tokens)}\n".encode()
        while said:
            said = said[os.write(1, said) :]
        return True
    except Exception:  # noqa: BLE001 - see above
        return False


def _tokens() -> int | None:
    found = plain_repo.find(".")
    if found is None:
        return None
    home = f"{found[1]}/kedge"
    # Places that are not those that were noted have other times.
    head, *places = plain_repo.small(f"{home}/{FILE}", _LARGEST).split(b"\0")
    note = bytes.fromhex(head.decode())
    if os.path.islink(home) or zlib.crc32(note[4:]).to_bytes(4, "big") != note[:4]:
        return None
    version, tree, around, seen, kept, copy, said, happened, tokens = marshal.loads(note[4:])  # noqa: S302 - ours
    if (version, tree[:3], around) != (__version__, found, _around()) or type(tokens) is not int:
        return None
    if any(_seen(path) != before for path, before in seen.items()):
        return None
    if happened is not None:
        if hash(tuple(_times(found[0], places))) != happened:
            return None
    else:
        env = index_at(f"{home}/{copy}") if copy else {}
        question = CHANGED if copy else ALL
        if "/" in copy or plain_git.said(found[0], question, env, _PATIENCE) != said:
            return None
    if any(_seen(path) != before for path, before in kept.items()):
        from kedge.repomap import neighbours

        return tokens if neighbours.at_hand(found[0], found[2], tree[3]) else None
    return tokens


def _around() -> tuple[tuple[str, str], ...] | None:
    """What of the environment decides where settings are and what they say; None where it says
    that things are kept elsewhere."""
    if any(os.environ.get(name) for name in _ELSEWHERE):
        return None
    names = (name for name in os.environ if name in _HOMES or name.startswith(_OURS))
    return tuple((name, os.environ[name]) for name in sorted(names))


def _seen(path: str) -> _Seen | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    times = found.st_mtime_ns, found.st_ctime_ns
    return found.st_mode, found.st_ino, found.st_size, *times


def _times(root: str, places: list[bytes]) -> list[int]:
    """When anything last happened to each of them, to what is in it or to what it is called."""
    if not places:
        return []
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(root)
        lstat = os.lstat
        return [lstat(place).st_ctime_ns for place in places]
    finally:
        os.fchdir(here)
        os.close(here)
