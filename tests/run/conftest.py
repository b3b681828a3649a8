"""Fixtures for the tests of runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from run.harness import RunHarness
from support import Kedge, git


@pytest.fixture
def harness(repo: Path, kedge: Kedge, tmp_path: Path) -> RunHarness:
    """A project whose `check.sh` passes once the file `ok` exists."""
    (repo / "check.sh").write_text('test -f ok || { echo "E: there is no file ok"; exit 1; }\n')
    (repo / "app.py").write_text("def sail(): ...\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return RunHarness(kedge, tmp_path)
