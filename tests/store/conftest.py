"""A database in a scratch directory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kedge.store import sqlite


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    database, warnings = sqlite.connect(tmp_path / "home")
    assert warnings == []
    with closing(database):
        yield database
