"""Fixtures of the tests of snapshots."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from handoff.snapshot.snapshot_support import make


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("template"))


@pytest.fixture
def work(template: Path, tmp_path: Path) -> Path:
    """A copy of a repository with a bit of everything."""
    subprocess.run(["cp", "-a", template, tmp_path / "repo"], check=True)
    return tmp_path / "repo"
