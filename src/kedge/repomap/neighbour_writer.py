"""Writes the related files of each file to the database, for hooks (`neighbours.py`).

A map without a text computes the dependencies of all files: one row per file, for a work tree at a
commit. Files that change together are stored once per commit, for all work trees. Only rows that
changed are written.
"""

from __future__ import annotations

import time
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
    """Bring the rows of a work tree, or of a history, up to date in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    db.execute(
        "INSERT OR IGNORE INTO map_tree (repo, place, past, version, state, made)"
        " VALUES (?, ?, ?, '', '', 0)",
        key,
    )
    (number,) = db.execute(
        "SELECT number FROM map_tree WHERE repo = ? AND place = ? AND past = ?", key
    ).fetchone()
    _update(db, number, rows)
    db.execute(
        "UPDATE map_tree SET version = ?, state = ?, made = ? WHERE number = ?",
        (VERSION, state, time.time_ns(), number),
    )
    _delete_old(db, *key[:2])
    db.execute("COMMIT")


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
