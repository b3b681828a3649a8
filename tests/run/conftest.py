"""What the tests of runs share."""

from __future__ import annotations

from pathlib import Path

import pytest
from run.yard import Yard
from support import Kedge, git


@pytest.fixture
def yard(repo: Path, kedge: Kedge, tmp_path: Path) -> Yard:
    """`check.sh` is green once there is a file `ok`."""
    (repo / "check.sh").write_text('test -f ok || { echo "E: there is no file ok"; exit 1; }\n')
    (repo / "app.py").write_text("def sail(): ...\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return Yard(kedge, tmp_path)
