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
import stat
import zlib

from kedge import __version__
from kedge.host import plain_repo
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
MOST_PLACES = 40_000  # of a tree; of more, git on two cores has sooner looked
# Nanoseconds in which a file may change twice and have the same time; where a file system keeps
# whole seconds only, the second.
_STEP, _COARSE = 10**8, 2 * 10**9
_LARGEST = 1 << 24  # bytes of a note
_PATIENCE = 5.0  # seconds for git; the long way has more
_HOMES = ("HOME", "XDG_CONFIG_HOME")
_ELSEWHERE = ("KEDGE_HOME", "KEDGE_TASKS")
_OURS = ("KEDGE_", "GIT_CONFIG")
# What a file has that changes with it: link or file, which one, its size and its two times; of a
# link, then the same of what is behind it.
_Seen = tuple[int, ...]


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


class Grounds(NamedTuple):
    """What git's answer rests upon: it stays the same while nothing happens to any of `places` in
    the tree, and while the `rules` outside of it are as they were. Places come in groups, each
    behind the directory that their paths begin at."""

    places: list[list[bytes]]
    rules: set[str]


class Note(NamedTuple):
    """What a map went by, and how large it is. `seen` and `rules` are files, `kept` those of the
    database; `happened` stands for the times of all places, and is None where git must be asked."""

    version: str
    tree: tuple[str, ...]
    around: tuple[tuple[str, str], ...]
    seen: dict[str, _Seen | None]
    kept: dict[str, _Seen | None]
    copy: str
    said: bytes
    rules: dict[str, _Seen | None]
    happened: int | None
    tokens: int


def keep(
    tree: Tree, begun: int, paths: Iterable[str], asked: Asked, grounds: Grounds, tokens: int
) -> None:
    """Note how large the map is of a command that began then, and what it went by: these files, and
    what git said, with its grounds, if there are any that can be told and are not too new.

    Nothing is noted where a file is so new that it may have changed after it was read.
    """
    around = _around()
    seen = {path: _seen(path) for path in paths}
    if around is None or len(seen) > MOST or not are_old(_stamps(seen), begun):
        return
    from kedge.repomap import neighbours

    kept = {path: _seen(path) for path in neighbours.files(tree.common_dir)}
    if not neighbours.at_hand(tree.root, tree.common_dir, tree.past):
        return
    rules = {path: _seen(path) for path in grounds.rules}
    happened: int | None = None
    try:
        found = _times(tree.root, grounds.places)
    except OSError:
        found = []
    if found and len(rules) <= MOST and are_old([*found, *_stamps(rules)], begun):
        happened = hash(tuple(found))
    note = Note(__version__, tuple(tree), around, seen, kept, *asked, rules, happened, tokens)
    _write(note, grounds.places)


def _write(note: Note, places: list[list[bytes]]) -> None:
    from contextlib import suppress
    from pathlib import Path

    from kedge.errors import FileError
    from kedge.host.files import write_atomic

    data = marshal.dumps(tuple(note))
    head = (zlib.crc32(data).to_bytes(4, "big") + data).hex().encode()
    path = Path(note.tree[1], "kedge", FILE)
    if not path.parent.is_symlink():
        with suppress(FileError):  # the map is made, with a note or without
            groups = map(b"\0".join, places if note.happened is not None else ())
            write_atomic(path, b"\0\0".join((head, *groups)))


def are_old(stamps: Iterable[int], begun: int) -> bool:
    """Whether nothing happened at these times that one who began then might not have seen."""
    return all(time <= begun - (_STEP if time % 10**9 else _COARSE) for time in stamps)


def _stamps(seen: Mapping[str, _Seen | None]) -> list[int]:
    """When files, and what is known of them, changed; of one that is not there, when the directory
    did that it is gone from."""
    around = (_around_of(path) for path, one in seen.items() if not one)
    there = [one for one in (*seen.values(), *around) if one]
    return [time for one in there for time in one[3:5] + one[8:10]]


def _around_of(path: str) -> _Seen | None:
    while path != "/" and not os.path.lexists(path):
        path = os.path.dirname(path)
    return _seen(path)


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
    head, *groups = plain_repo.small(f"{home}/{FILE}", _LARGEST).split(b"\0\0")
    data = bytes.fromhex(head.decode())
    if os.path.islink(home) or zlib.crc32(data[4:]).to_bytes(4, "big") != data[:4]:
        return None
    note = Note(*marshal.loads(data[4:]))  # noqa: S302 - our own
    if (note.version, note.tree[:3], note.around) != (__version__, found, _around()):
        return None
    if type(note.tokens) is not int or not _is_so(note.seen):
        return None
    if not _stands(note, found[0], groups) and not _said_again(note, found[0], home):
        return None
    if not _is_so(note.kept):
        from kedge.repomap import neighbours

        return note.tokens if neighbours.at_hand(found[0], found[2], note.tree[3]) else None
    return note.tokens


def _is_so(seen: Mapping[str, _Seen | None]) -> bool:
    return all(_seen(path) == before for path, before in seen.items())


def _stands(note: Note, root: str, groups: list[bytes]) -> bool:
    """Whether nothing has happened to what git's answer rests upon."""
    if note.happened is None or not _is_so(note.rules):
        return False
    try:
        return hash(tuple(_times(root, [group.split(b"\0") for group in groups]))) == note.happened
    except OSError:
        return False


def _said_again(note: Note, root: str, home: str) -> bool:
    """Whether git, asked again, says what it said. It then is each time, until the next note: where
    files come and go that it ignores, it is asked sooner than all are looked at."""
    from kedge.host import plain_git

    env = index_at(f"{home}/{note.copy}") if note.copy else {}
    question = CHANGED if note.copy else ALL
    if "/" in note.copy or plain_git.said(root, question, env, _PATIENCE) != note.said:
        return False
    if note.happened is not None:
        _write(note._replace(happened=None), [])
    return True


def _around() -> tuple[tuple[str, str], ...] | None:
    """What of the environment decides where settings are and what they say; None where it says
    that things are kept elsewhere."""
    if any(os.environ.get(name) for name in _ELSEWHERE):
        return None
    names = (name for name in os.environ if name in _HOMES or name.startswith(_OURS))
    return tuple((name, os.environ[name]) for name in sorted(names))


def _seen(path: str) -> _Seen | None:
    """Of a link also what is behind it."""
    try:
        found = os.lstat(path)
        if not stat.S_ISLNK(found.st_mode):
            return _known(found)
        return (*_known(found), *(_known(os.stat(path)) if os.path.exists(path) else ()))
    except (OSError, ValueError):
        return None


def _known(found: os.stat_result) -> _Seen:
    times = found.st_mtime_ns, found.st_ctime_ns
    return found.st_mode, found.st_ino, found.st_size, *times


def _times(root: str, places: list[list[bytes]]) -> list[int]:
    """When anything last happened to each of them, to what is in it or to what it is called. A path
    from near by is sooner gone through."""
    if not places:
        return []
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    top, lstat = os.fsencode(root), os.lstat
    found: list[int] = []
    try:
        for group in places:
            os.chdir(b"%b/%b" % (top, group[0]))
            found += [lstat(place).st_ctime_ns for place in group[1:]]
    finally:
        os.fchdir(here)
        os.close(here)
    return found
