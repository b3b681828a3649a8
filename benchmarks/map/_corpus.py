"""Clones of repositories to map."""

from __future__ import annotations

import subprocess
from pathlib import Path


def clone(repository: Path, scratch: Path, commit: str = "HEAD") -> Path:
    """Clone without copying objects. Large files that a mirror lacks are left out."""
    tree = scratch / "tree"
    subprocess.run(
        ["git", "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(tree)],
        check=True,
    )
    subprocess.run(
        ["git", "-C", str(tree), "checkout", "--quiet", "--detach", commit],
        check=False,
        stderr=subprocess.DEVNULL,
    )
    return tree


def label(repository: Path) -> str:
    path = repository.resolve()
    return path.parent.name if path.name == "repo" else path.name
