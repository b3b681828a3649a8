"""The nearest files of each, kept so that they are known without the map (`neighbours.py`).

A map without a text works out who uses whom for all files, and leaves it in the database: a row for
each file, as of a work tree at a commit. Who changes together is left as of the commit, for all
work trees. Where few files changed, few rows are written.
"""

from __future__ import annotations

import time

from kedge.repomap.cache import VERSION
from kedge.repomap.files import encoded, is_foreign
from kedge.repomap.neighbours import ALL, Place, name, packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from kedge.host.project import Project
    from kedge.repomap.cache import Cache
    from kedge.repomap.files import Listing
    from kedge.repomap.history import History
    from kedge.repomap.rank import Known

    Rows = dict[bytes, bytes]

PARTNERS = 12  # files that change together with one
_KEPT = 8  # work trees at their commits, of a repository, and as many pasts


def keep(cache: Cache, project: Project, listing: Listing, known: Known) -> None:
    """Keep what a map found out."""
    here, past = Place.of(project), listing.past or ""
    places = here.places(cache, past)
    if places.get(here.tree) != listing.state:
        cache.use(_replacing((here.repo, here.tree, past), listing.state, lambda: _users(known)))
    if ALL not in places:
        cache.use(
            _replacing((here.repo, ALL, past), past, lambda: _partners(known.history, listing))
        )


def _replacing(
    key: tuple[str, str, str], state: str, rows: Callable[[], Rows]
) -> Callable[[sqlite3.Connection], None]:
    """What brings the rows of a tree up to date, in one transaction."""

    def work(db: sqlite3.Connection) -> None:
        fresh = rows()
        db.execute("BEGIN IMMEDIATE")
        db.execute(
            "INSERT OR IGNORE INTO map_tree (repo, place, past, version, state, made)"
            " VALUES (?, ?, ?, '', '', 0)",
            key,
        )
        (number,) = db.execute(
            "SELECT number FROM map_tree WHERE repo = ? AND place = ? AND past = ?", key
        ).fetchone()
        _update(db, number, fresh)
        db.execute(
            "UPDATE map_tree SET version = ?, state = ?, made = ? WHERE number = ?",
            (VERSION, state, time.time_ns(), number),
        )
        _tidy(db, *key[:2])
        db.execute("COMMIT")

    return work


def _update(db: sqlite3.Connection, number: int, fresh: Rows) -> None:
    sql = "SELECT file, CAST(data AS BLOB) FROM map_near WHERE tree = ?"
    old = dict(db.execute(sql, (number,)))
    db.executemany(
        "INSERT OR REPLACE INTO map_near VALUES (?, ?, ?)",
        sorted((number, file, data) for file, data in fresh.items() if old.get(file) != data),
    )
    db.executemany(
        "DELETE FROM map_near WHERE tree = ? AND file = ?",
        [(number, file) for file in old.keys() - fresh.keys()],
    )


def _tidy(db: sqlite3.Connection, repo: str, place: str) -> None:
    """Only the last of a repository stay."""
    old = db.execute(
        "SELECT number FROM map_tree WHERE repo = ? AND (place = ?) = (? = ?)"
        " ORDER BY made DESC LIMIT -1 OFFSET ?",
        (repo, ALL, place, ALL, _KEPT),
    ).fetchall()
    db.executemany("DELETE FROM map_near WHERE tree = ?", old)
    db.executemany("DELETE FROM map_tree WHERE number = ?", old)


def _users(known: Known) -> Rows:
    """By imports and names, either way."""
    near, paths = known.graph.neighbours, known.index.paths
    names = [name(path or "") for path in paths]
    return {
        names[number]: packed(path, [names[other] for other, _ in near(number)])
        for number, path in enumerate(paths)
        if path is not None
    }


def _partners(history: History, listing: Listing) -> Rows:
    """By changing together, of all files that there are, in whatever language."""
    there = {
        path
        for path in history.paths
        if encoded(path) in listing.names and path.isprintable() and not is_foreign(path)
    }
    return {
        name(path): packed(path, [name(other) for other, _ in partners if other in there])
        for path, partners in history.together(there, PARTNERS).items()
    }
