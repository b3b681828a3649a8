"""Writes the related files of each file to the database, for hooks (`neighbours.py`).

A map without a text computes the dependencies of all files: one row per file, for a work tree at a
commit. Files that change together are stored once per commit, for all work trees. Only rows that
changed are written.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kedge.repomap.cache import VERSION
from kedge.repomap.files import encode_path, is_excluded
from kedge.repomap.neighbours import ALL, WorkTreeId, pack, path_id

if TYPE_CHECKING:
    import sqlite3

    from kedge.host.project import Project
    from kedge.repomap.cache import Cache
    from kedge.repomap.history import History
    from kedge.repomap.listing import Listing
    from kedge.repomap.rank import Ranker

    Rows = dict[bytes, bytes]


PARTNERS = 12  # per file
_BATCH = 5_000  # rows in one transaction
_PAUSE = 0.03  # seconds between two of them, for those who wait
_KEPT = 8  # work trees per repository, and as many histories


def keep_neighbours(cache: Cache, project: Project, listing: Listing, ranker: Ranker) -> None:
    """Store the neighbours of all files, unless they are stored for this state already."""
    tree, past = WorkTreeId.of(project), listing.history_key or ""
    states = tree.load_states(cache, past)
    if states.get(tree.tree) != listing.state:
        key = (tree.repo, tree.tree, past)
        cache.use(lambda db: _replace_rows(db, key, listing.state, _dependency_rows(ranker)))
    if ALL not in states:
        key = (tree.repo, ALL, past)
        cache.use(lambda db: _replace_rows(db, key, past, _partner_rows(ranker.history, listing)))


def _replace_rows(
    db: sqlite3.Connection, key: tuple[str, str, str], state: str, rows: Rows
) -> None:
    """Bring the rows of a work tree, or of a history, up to date.

    Many rows take several transactions, so that hooks do not wait long for any of them. Until the
    last one the rows have no version, and nobody uses them.
    """
    with _transaction(db):
        db.execute(
            "INSERT OR IGNORE INTO map_tree (repo, place, past, version, state, made)"
            " VALUES (?, ?, ?, '', '', 0)",
            key,
        )
        (number,) = db.execute(
            "SELECT number FROM map_tree WHERE repo = ? AND place = ? AND past = ?", key
        ).fetchone()
        # as the newest it is not deleted by others meanwhile
        db.execute("UPDATE map_tree SET made = ? WHERE number = ?", (time.time_ns(), number))
    changes = _find_changes(db, number, rows)
    while len(changes) > _BATCH:
        with _transaction(db):
            db.execute("UPDATE map_tree SET version = '' WHERE number = ?", (number,))
            _apply(db, number, changes[:_BATCH])
        changes = changes[_BATCH:]
        time.sleep(_PAUSE)
    with _transaction(db):
        _apply(db, number, changes)
        db.execute(
            "UPDATE map_tree SET version = ?, state = ?, made = ? WHERE number = ?",
            (VERSION, state, time.time_ns(), number),
        )
        _delete_old(db, *key[:2])


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    yield
    db.execute("COMMIT")  # after an error, the cache closes the database


def _find_changes(
    db: sqlite3.Connection, number: int, fresh: Rows
) -> list[tuple[bytes, bytes | None]]:
    """Return the files whose rows differ, each with its new data, or None to delete it."""
    sql = "SELECT file, CAST(data AS BLOB) FROM map_near WHERE tree = ?"
    old = dict(db.execute(sql, (number,)))
    gone = [(file, None) for file in old.keys() - fresh.keys()]
    return [*gone, *sorted(row for row in fresh.items() if old.get(row[0]) != row[1])]


def _apply(
    db: sqlite3.Connection, number: int, changes: Sequence[tuple[bytes, bytes | None]]
) -> None:
    db.executemany(
        "DELETE FROM map_near WHERE tree = ? AND file = ?",
        [(number, file) for file, data in changes if data is None],
    )
    db.executemany(
        "INSERT OR REPLACE INTO map_near VALUES (?, ?, ?)",
        [(number, file, data) for file, data in changes if data is not None],
    )


def _delete_old(db: sqlite3.Connection, repo: str, place: str) -> None:
    """Delete all but the newest trees, or histories, of a repository."""
    old = db.execute(
        "SELECT number FROM map_tree WHERE repo = ? AND (place = ?) = (? = ?)"
        " ORDER BY made DESC LIMIT -1 OFFSET ?",
        (repo, ALL, place, ALL, _KEPT),
    ).fetchall()
    db.executemany("DELETE FROM map_near WHERE tree = ?", old)
    db.executemany("DELETE FROM map_tree WHERE number = ?", old)


def _dependency_rows(ranker: Ranker) -> Rows:
    """Files that use each other, by imports and names."""
    near, paths = ranker.graph.neighbours, ranker.index.paths
    ids = [path_id(path or "") for path in paths]
    return {
        ids[number]: pack(path, [ids[other] for other, _ in near(number)])
        for number, path in enumerate(paths)
        if path is not None
    }


def _partner_rows(history: History, listing: Listing) -> Rows:
    """Files that change together, in any language."""
    present = {
        path
        for path in history.paths
        if encode_path(path) in listing.names and path.isprintable() and not is_excluded(path)
    }
    return {
        path_id(path): pack(path, [path_id(other) for other, _ in partners if other in present])
        for path, partners in history.find_partners(present, PARTNERS).items()
    }
