from __future__ import annotations

from pathlib import Path

import pytest
from repomap.port import fill
from support import git


@pytest.fixture
def harbour(repo: Path) -> Path:
    fill(repo)
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "harbour: berths and tides")
    return repo
