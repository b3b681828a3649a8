"""Related files, as the last map of the work tree found them (`neighbour_writer.py`).

Hooks use this, so nothing else of the map is imported: a lookup in the database is all it does.
"""

from __future__ import annotations

import _sqlite3 as sqlite3  # `sqlite3` adds conversions of dates, whose import would slow hooks
import os

from kedge.host import plain_repo
from kedge.host.digest import digest
from kedge.host.record import NamedTuple
from kedge.repomap.cache import VERSION, seal, unseal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from kedge.host.project import Project
    from kedge.repomap.cache import Cache
    from kedge.repomap.listing import Listing

NAMES, PAST, BOTH = "names", "past", "names and past"  # how two files are related
MOST = 24  # neighbours per file
ALL = ""  # the place of a history, which all work trees share
_DAMAGED = "damaged"  # the version of damaged rows
_ID = 8  # bytes of a path's id
_STATES = "SELECT place, state FROM map_tree WHERE repo = ? AND past = ? AND version = ?"


class WorkTreeId(NamedTuple):
    """Digests that identify a repository and one of its work trees."""

    repo: str
    tree: str

    @classmethod
    def of(cls, project: Project) -> WorkTreeId:
        return cls.at(project.root, project.repo.common_dir if project.repo else project.root)

    @classmethod
    def at(cls, root: str | Path, common_dir: str | Path) -> WorkTreeId:
        return cls(digest([os.fsencode(common_dir)]), digest([os.fsencode(root)]))

    def load_states(self, cache: Cache, past: str) -> dict[str, str]:
        """The listing state of each place that has neighbours at this commit: work trees, and
        `ALL` for the history."""
        values = (self.repo, past, VERSION)
        return cache.use(lambda db: dict(db.execute(_STATES, values).fetchall())) or {}


class MapChoice(NamedTuple):
    """The rows to use (0 for none), and True if they are of the current commit."""

    tree: int = 0
    past: int = 0
    same: bool = False


class Neighbours:
    """Looks up the neighbours of a project's files.

    Damaged rows give no neighbours but a warning; the next map replaces them.
    """

    def __init__(self, db: sqlite3.Connection, root: str) -> None:
        self.warnings: list[str] = []
        self._db = db
        self._root = root
        self._chosen: MapChoice | None = None
        self._found: dict[str, dict[str, str]] = {}

    @property
    def lacks(self) -> tuple[str, ...]:
        """("map",) if no map was made at this commit, so that an earlier one answers."""
        return () if self._choice().same else ("map",)

    def near(self, path: str) -> Mapping[str, str]:
        """The related files, nearest first, each with the kind of relation."""
        if path not in self._found:
            self._found[path] = self._near(path)
        return self._found[path]

    def _near(self, path: str) -> dict[str, str]:
        own = {number: near for number, _, _, near in self._rows([path_id(path)])}
        kinds = dict.fromkeys(own.get(self._choice().past, ()), PAST)
        for other in own.get(self._choice().tree, ()):
            kinds[other] = BOTH if other in kinds else NAMES
        paths = {other: found for _, other, found, _ in self._rows(kinds)}
        known = [(paths[other], kind) for other, kind in kinds.items() if other in paths]
        return dict(known[:MOST])

    def _choice(self) -> MapChoice:
        if self._chosen is None:
            root, git_dir, common_dir = plain_repo.find(self._root) or _find_by_git(self._root)
            rows = self._ask(
                "SELECT number, place, past FROM map_tree WHERE repo = ? AND version = ?"
                " ORDER BY made DESC",
                [(here := WorkTreeId.at(root, common_dir)).repo, VERSION],
            )
            self._chosen = _choose(rows, here.tree, _head(git_dir, common_dir))
        return self._chosen

    def _rows(self, ids: Collection[bytes]) -> Iterator[tuple[int, bytes, str, list[bytes]]]:
        """The rows of these ids: number of the tree, id, path, and the ids of the neighbours."""
        which = self._choice()
        marks = ",".join("?" * len(ids))
        for number, file, data in self._ask(
            "SELECT tree, file, CAST(data AS BLOB) FROM map_near"  # noqa: S608 - only marks
            f" WHERE tree IN (?, ?) AND file IN ({marks})",
            [which.tree, which.past, *ids],
        ):
            row = unpack(data)
            if row is None:
                self._mark_damaged(number)
            else:
                yield number, file, *row

    def _mark_damaged(self, number: int) -> None:
        self._warn("the map's table of related files was damaged; the next map rebuilds it")
        self._ask("UPDATE map_tree SET version = ? WHERE number = ?", [_DAMAGED, number])
        self._chosen = MapChoice()

    def _ask(self, sql: str, values: list[Any]) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._warn(f"the map's table of related files cannot be read: {error}")
            self._chosen = MapChoice()
            return []

    def _warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)


def has_neighbours(cache: Cache, project: Project, listing: Listing) -> bool:
    """True if there are neighbours at this commit, of this work tree or another."""
    states = WorkTreeId.of(project).load_states(cache, listing.history_key or "")
    return ALL in states and len(states) > 1


def _choose(rows: Iterable[tuple[int, str, str]], tree: str, head: str) -> MapChoice:
    """Choose this work tree at this commit, or else another one at it, or else the newest."""
    kinds: tuple[list[tuple[bool, bool, int]], ...] = ([], [])
    for number, place, past in rows:
        same = str(past).partition(" ")[0] == head
        kinds[place == ALL].append((same, place == tree, number))
    trees, pasts = (max(kind, key=lambda row: row[:2], default=None) for kind in kinds)
    if trees is None:
        return MapChoice()
    return MapChoice(trees[2], pasts[2] if pasts else 0, trees[0])


def _find_by_git(root: str) -> tuple[str, str, str]:
    """The root, git directory and common directory of an unusual repository, or of none."""
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
    """The commit of HEAD, if it is in a plain file; otherwise some other text."""
    found = plain_repo.read_small(f"{git_dir}/HEAD").removesuffix(b"\n")
    if found.startswith(b"ref: refs/heads/") and b".." not in found:
        branch = found[5:]
        found = plain_repo.read_small(f"{common_dir}/{os.fsdecode(branch)}").removesuffix(b"\n")
        if not found:
            others = b"\n" + plain_repo.read_small(f"{common_dir}/packed-refs")
            found = others.partition(b" " + branch + b"\n")[0].rpartition(b"\n")[2]
    return found.decode("ascii", "replace")


def path_id(path: str) -> bytes:
    """A short id of a path."""
    return bytes.fromhex(digest([path.encode("utf-8", "surrogatepass")])[: 2 * _ID])


def pack(path: str, near: Iterable[bytes]) -> bytes:
    """Serialise a path and the ids of its neighbours, nearest first."""
    return seal(b"%b\0%b" % (path.encode(), b"".join(near)))


def unpack(data: object) -> tuple[str, list[bytes]] | None:
    """The path and the ids of its neighbours; None if the data is damaged."""
    content = unseal(data)
    if content is None:
        return None
    path, _, near = bytes(content).partition(b"\0")
    names = [near[at : at + _ID] for at in range(0, len(near), _ID)]
    return path.decode("utf-8", "replace"), names[:MOST]
