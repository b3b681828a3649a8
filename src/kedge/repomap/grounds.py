"""What git goes by when it says which files of a tree are untracked: while all of it is as it was,
git need not be asked again. Where anything is unusual it cannot be told, and git is asked."""

from __future__ import annotations

import os
import shutil
import struct
from collections import Counter
from pathlib import Path

from kedge.errors import GitError
from kedge.repomap.unchanged import MOST_PLACES, Grounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kedge.host.git import Repo
    from kedge.repomap.files import Listing

NONE = Grounds([], set())
_NOTES = b"UNTR"  # the part of an index with git's notes on directories
_HASHES = (20, 32)  # bytes of a hash
_STATUS = 36  # bytes of what the file system says of a file
_FLAGS = 4
_SECOND = 10**9
_MANY = 500  # places, for which it is worth to go there
_RULES = ("core.excludesfile", "core.attributesfile")


def of(repo: Repo, listing: Listing) -> Grounds:
    """All files and directories of the tree by which git, asked by a copy of its index, knows what
    is in it, and the other files that say what it ignores; nothing where that cannot be told, or
    where they are so many that git is asked better."""
    same = listing.names - listing.changed
    copy = listing.asked.copy if listing.asked else ""
    if not copy or len(same) > MOST_PLACES:
        return NONE
    path = repo.git_dir / "kedge" / copy
    try:
        inside = folders(path.read_bytes())
        found = rules(repo)
        if inside is None or found is None or not _are_so(repo.root, inside):
            return NONE
        ignoring = (f"{repo.root}/{os.fsdecode(folder)}/.gitignore" for folder in inside)
        # Not all of them are listed: some are ignored by themselves.
        found |= {Path(one) for one in ignoring if os.path.lexists(one)}
        if not _is_after(path, found):
            path.unlink()  # the next copy will be
            return NONE
    except (OSError, GitError):
        return NONE
    around = set(inside)  # and where git does not look, as it ignores all but what it has
    for name in listing.names:
        folder = name.rpartition(b"/")[0]
        while folder not in around:
            around.add(folder)
            folder = folder.rpartition(b"/")[0]
    places = [*same, *(folder or b"." for folder in around)]
    if len(places) > MOST_PLACES:
        return NONE
    others = sorted(place for place in places if (place + b"/")[:7] != b".kedge/")
    return Grounds(_grouped(others), set(map(str, found)))


def _grouped(places: list[bytes]) -> list[list[bytes]]:
    """By the innermost directory that many of them are in."""
    inside: Counter[bytes] = Counter()
    for place in places:
        folder = place.rpartition(b"/")[0]
        while folder:
            inside[folder] += 1
            folder = folder.rpartition(b"/")[0]
    groups: dict[bytes, list[bytes]] = {}
    for place in places:
        folder = place.rpartition(b"/")[0]
        while folder and inside[folder] < _MANY:
            folder = folder.rpartition(b"/")[0]
        group = groups.setdefault(folder, [folder or b"."])
        group.append(place[len(folder) + 1 :] if folder else place)
    return list(groups.values())


def _are_so(root: Path, inside: Mapping[bytes, int]) -> bool:
    """Whether nothing has happened to the directories since git noted them: it may have seen more
    than it could note, while another git held the lock."""
    top = os.fsencode(root)
    for folder, noted in inside.items():
        time = os.lstat(b"%b/%b" % (top, folder)).st_ctime_ns
        if noted not in (time, time // _SECOND * _SECOND):
            return False
    return True


def _is_after(copy: Path, found: Iterable[Path]) -> bool:
    """Whether git noted what it saw after the last change of a rule: it does so at once, unless
    another git holds the lock."""
    noted = copy.stat().st_ctime_ns
    return all(one.lstat().st_ctime_ns <= noted for one in found if os.path.lexists(one))


def folders(index: bytes) -> dict[bytes, int] | None:
    """The directories that git looked into, each with when anything had last happened to it, by its
    notes in this index; None without any."""
    place = index.rfind(_NOTES)
    while place >= 0:
        for size in _HASHES:
            if _is_part(index, place, len(index) - size):
                try:
                    return _noted(index, place + 8, size) or None
                except (IndexError, ValueError, struct.error):
                    return None
        place = index.rfind(_NOTES, 0, place)
    return None


def _is_part(index: bytes, place: int, end: int) -> bool:
    """Whether parts follow each other from this place to the end: a path may say the same."""
    while place + 8 <= end:
        place += 8 + int.from_bytes(index[place + 4 : place + 8], "big")
    return place == end


def _noted(data: bytes, at: int, size: int) -> dict[bytes, int]:
    named, at = _number(data, at)
    at += named + 2 * _STATUS + _FLAGS + 2 * size
    at = data.index(0, at) + 1  # how files with rules are called
    count, at = _number(data, at)
    names: list[bytes] = []
    around = [(b"", 1)]  # each with how many directories in it are still to come
    for _ in range(count):
        untracked, at = _number(data, at)
        inner, at = _number(data, at)
        end = data.index(0, at)
        name, at = data[at:end], end + 1
        for _ in range(untracked):
            at = data.index(0, at) + 1
        while not around[-1][1]:
            around.pop()
        parent, left = around.pop()
        around.append((parent, left - 1))
        names.append(parent + name)
        around.append((parent + name + b"/" if name else b"", inner))
    if not count:
        return {}
    known, at = _bits(data, at)  # of which directories the times are
    for _ in range(2):  # of which all files are untracked, and which have rules
        _, at = _bits(data, at)
    if known != count:
        raise ValueError("git has no times for some")
    times = struct.iter_unpack(">II28x", data[at : at + count * _STATUS])
    return {name: s * _SECOND + ns for name, (s, ns) in zip(names, times, strict=True)}


def _bits(data: bytes, at: int) -> tuple[int, int]:
    """How many are set of bits that git has packed, and where they end."""
    _, count = struct.unpack_from(">II", data, at)
    words = struct.unpack_from(f">{count}Q", data, at + 8)
    found = place = 0
    while place < count:
        run, plain = words[place] >> 1 & 0xFFFFFFFF, words[place] >> 33
        found += 64 * run * (words[place] & 1)
        found += sum(word.bit_count() for word in words[place + 1 : place + 1 + plain])
        place += 1 + plain
    return found, at + 12 + 8 * count


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number as git writes it, and where it ends."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = (value + 1 << 7) | data[at] & 127
    return value, at + 1


def rules(repo: Repo) -> set[Path] | None:
    """The files that say, or would say if they were there, what git ignores, but for those in the
    tree; None where that cannot be told."""
    home = os.environ.get("HOME")
    if not home:
        return None
    found = set(_usual(repo, Path(home)))
    said = repo.quick("config", "--list", "-z", "--show-origin")
    parts = [os.fsdecode(part) for part in said.split(b"\0")[:-1]]
    for origin, entry in zip(parts[::2], parts[1::2], strict=True):
        kind, _, place = origin.partition(":")
        name, _, value = entry.partition("\n")
        where = repo.root
        if kind == "file":
            file = repo.root / place
            found.add(file)
            where = repo.root if name in _RULES else file.parent
        elif kind != "command line":
            return None
        if name in _RULES or name.startswith("include"):
            if value.startswith(("%", "~", ":")) and not value.startswith("~/"):
                return None
            found.add(where / value.replace("~", home, 1) if value[:1] == "~" else where / value)
    return found


def _usual(repo: Repo, home: Path) -> Iterator[Path]:
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    yield from (settings / "git" / name for name in ("config", "ignore", "attributes"))
    yield home / ".gitconfig"
    program = Path(shutil.which("git") or "/usr/bin/git").resolve()
    for top in {Path("/"), program.parent.parent}:
        yield from (top / "etc" / name for name in ("gitconfig", "gitattributes"))
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    for own in {repo.git_dir, repo.common_dir}:
        inside = ("config", "config.worktree", "info/exclude", "info/attributes")
        yield from (own / name for name in (*inside, "info/sparse-checkout"))
