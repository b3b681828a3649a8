"""Which files are near which, as the last map of the tree found it (`nearest.py`).

This is asked in an agent's path, where nothing else of the map may be loaded: what is near a file
is looked up in the database, and no more is done.
"""

from __future__ import annotations

import _sqlite3 as sqlite3  # what `sqlite3` adds to it are conversions of dates, which cost a hook
import os

from kedge.host import plain_repo
from kedge.host.digest import digest
from kedge.host.record import NamedTuple
from kedge.repomap.cache import VERSION, sealed, unsealed
from kedge.store.sqlite import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from kedge.host.project import Project
    from kedge.repomap.cache import Cache
    from kedge.repomap.files import Listing

NAMES, PAST, BOTH = "names", "past", "names and past"  # what joins two files
MOST = 24  # neighbours of a file
ALL = ""  # the place of a past: all work trees share it
_DAMAGED = "damaged"  # in the place of a version
_NAME = 8  # bytes that stand for a path
_WAIT = 0.5  # seconds for those who write
_PLACES = "SELECT place, state FROM map_tree WHERE repo = ? AND past = ? AND version = ?"


class Place(NamedTuple):
    """Which repository, and which of its work trees."""

    repo: str
    tree: str

    @classmethod
    def of(cls, project: Project) -> Place:
        return cls.at(project.root, project.repo.common_dir if project.repo else project.root)

    @classmethod
    def at(cls, root: str | Path, common_dir: str | Path) -> Place:
        return cls(digest([os.fsencode(common_dir)]), digest([os.fsencode(root)]))

    def places(self, cache: Cache, past: str) -> dict[str, str]:
        """The places of the repository that have something of this commit, and of what state."""
        values = (self.repo, past, VERSION)
        return cache.use(lambda db: dict(db.execute(_PLACES, values).fetchall())) or {}


class Chosen(NamedTuple):
    """The numbers of what answers, 0 for none, and whether it is of the commit that is there."""

    tree: int = 0
    past: int = 0
    same: bool = False


class Neighbours:
    """The neighbours of a project's files, looked up when they are asked for.

    What is damaged gives nothing; `warnings` says so, and the next map makes it anew.
    """

    def __init__(self, db: sqlite3.Connection, root: str) -> None:
        self.warnings: list[str] = []
        self._db = db
        self._root = root
        self._chosen: Chosen | None = None
        self._found: dict[str, dict[str, str]] = {}

    @property
    def lacks(self) -> tuple[str, ...]:
        """("map",) where none was made at this commit; then the last that was made answers."""
        return () if self._choice().same else ("map",)

    def near(self, path: str) -> Mapping[str, str]:
        """The files near this one, the nearest first, each with what joins the two."""
        if path not in self._found:
            self._found[path] = self._near(path)
        return self._found[path]

    def _near(self, path: str) -> dict[str, str]:
        own = {number: near for number, _, _, near in self._rows([name(path)])}
        kinds = dict.fromkeys(own.get(self._choice().past, ()), PAST)
        for other in own.get(self._choice().tree, ()):
            kinds[other] = BOTH if other in kinds else NAMES
        paths = {other: found for _, other, found, _ in self._rows(kinds)}
        known = [(paths[other], kind) for other, kind in kinds.items() if other in paths]
        return dict(known[:MOST])

    def _choice(self) -> Chosen:
        if self._chosen is None:
            root, git_dir, common_dir = plain_repo.find(self._root) or _by_git(self._root)
            rows = self._ask(
                "SELECT number, place, past FROM map_tree WHERE repo = ? AND version = ?"
                " ORDER BY made DESC",
                [(here := Place.at(root, common_dir)).repo, VERSION],
            )
            self._chosen = _chosen(rows, here.tree, _head(git_dir, common_dir))
        return self._chosen

    def _rows(self, names: Collection[bytes]) -> Iterator[tuple[int, bytes, str, list[bytes]]]:
        """These files in the tree and in the past: name, path, and the names of those near."""
        which = self._choice()
        marks = ",".join("?" * len(names))
        for number, file, data in self._ask(
            "SELECT tree, file, CAST(data AS BLOB) FROM map_near"  # noqa: S608 - only marks
            f" WHERE tree IN (?, ?) AND file IN ({marks})",
            [which.tree, which.past, *names],
        ):
            row = unpacked(data)
            if row is None:
                self._damaged(number)
            else:
                yield number, file, *row

    def _damaged(self, number: int) -> None:
        self._warn("what the map knows of neighbours was damaged; the next map makes it anew")
        self._ask("UPDATE map_tree SET version = ? WHERE number = ?", [_DAMAGED, number])
        self._chosen = Chosen()

    def _ask(self, sql: str, values: list[Any]) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._warn(f"what the map knows of neighbours cannot be read: {error}")
            self._chosen = Chosen()
            return []

    def _warn(self, told: str) -> None:
        if told not in self.warnings:
            self.warnings.append(told)


def are_kept(cache: Cache, project: Project, listing: Listing) -> bool:
    """Whether there is something of this commit, for this work tree or another."""
    return _suffices(Place.of(project).places(cache, listing.past or ""))


def files(common_dir: str) -> tuple[str, ...]:
    """The files of the database, in which alone it can change."""
    path = os.path.join(common_dir, "kedge", FILE)  # noqa: PTH118
    return path, f"{path}-wal"


def at_hand(root: str, common_dir: str, past: str) -> bool:
    """The same, for one who has not opened the database and leaves it as it is."""
    path = files(common_dir)[0]
    if not os.path.isfile(path):  # noqa: PTH113
        return False
    db = sqlite3.connect(path, timeout=_WAIT)
    try:
        places = dict(db.execute(_PLACES, (Place.at(root, common_dir).repo, past, VERSION)))
    except sqlite3.Error:  # it is in use, or not a database: who knows
        return False
    finally:
        db.close()
    return _suffices(places)


def _suffices(places: Collection[str]) -> bool:
    return ALL in places and len(places) > 1


def _chosen(rows: Iterable[tuple[int, str, str]], tree: str, head: str) -> Chosen:
    """This work tree at this commit, else another one at it, else the last that was made."""
    kinds: tuple[list[tuple[bool, bool, int]], ...] = ([], [])
    for number, place, past in rows:
        same = str(past).partition(" ")[0] == head
        kinds[place == ALL].append((same, place == tree, number))
    trees, pasts = (max(kind, key=lambda row: row[:2], default=None) for kind in kinds)
    if trees is None:
        return Chosen()
    return Chosen(trees[2], pasts[2] if pasts else 0, trees[0])


def _by_git(root: str) -> tuple[str, str, str]:
    """The directories of a project that is no plain repository, or none at all."""
    from pathlib import Path

    from kedge.errors import KedgeError
    from kedge.host import project

    try:
        found = project.find(Path(root))
    except KedgeError:
        return root, root, root
    repo = found.repo
    where = (repo.git_dir, repo.common_dir) if repo else (found.root, found.root)
    return str(found.root), str(where[0]), str(where[1])


def _head(git_dir: str, common_dir: str) -> str:
    """The commit of HEAD where git keeps it in a plain file; else a text that is none."""
    found = plain_repo.small(f"{git_dir}/HEAD").removesuffix(b"\n")
    if found.startswith(b"ref: refs/heads/") and b".." not in found:
        branch = found[5:]
        found = plain_repo.small(f"{common_dir}/{os.fsdecode(branch)}").removesuffix(b"\n")
        if not found:
            others = b"\n" + plain_repo.small(f"{common_dir}/packed-refs")
            found = others.partition(b" " + branch + b"\n")[0].rpartition(b"\n")[2]
    return found.decode("ascii", "replace")


def name(path: str) -> bytes:
    """What stands for a path."""
    return bytes.fromhex(digest([path.encode("utf-8", "surrogatepass")])[: 2 * _NAME])


def packed(path: str, near: Iterable[bytes]) -> bytes:
    """A file and the names of those near it, the nearest first."""
    return sealed(b"%b\0%b" % (path.encode(), b"".join(near)))


def unpacked(data: bytes) -> tuple[str, list[bytes]] | None:
    """What was packed; None for anything else."""
    content = unsealed(data)
    if content is None:
        return None
    path, _, near = bytes(content).partition(b"\0")
    names = [near[at : at + _NAME] for at in range(0, len(near), _NAME)]
    return path.decode("utf-8", "replace"), names[:MOST]
