"""Fixtures of the plugin tests: trusted folders, a feature, an installed plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from clients import Claude
from support import Kedge, git

FEATURE = "docs/features/014-mooring"
DOCUMENTS = {
    "prd.md": "# PRD\n## Problem Statement\nBoats drift away.\n## Goals\n- a boat stays\n",
    "spec.md": "# Spec\n## AC-1\nA moored boat does not move.\n",
    "design.md": "# Design\n## C1: Rope\nHemp, twelve strands.\n## C2: Knot\nA bowline.\n"
    "## C3: Bollard\nCast iron.\n",
    "plan.md": "# Plan\n### Step 1.1: Rope\nTwist the rope.\n### Step 1.2: Knot\nTie the knot.\n"
    "### Step 1.3: Bollard\nSet the bollard.\n",
    "tasks.md": "# Tasks\n"
    "### Task 1.1: Twist a rope\n**Why:** Plan 1.1 / Design C1\n**Done when:** rope.txt\n"
    "### Task 1.2: Tie a knot\n**Why:** Plan 1.2 / Design C2\n**Done when:** knot.txt\n"
    "### Task 1.3: Set a bollard\n**Why:** Plan 1.3 / Design C3\n**Done when:** bollard.txt\n",
}


@pytest.fixture
def trust(claude: Claude) -> Callable[[Path], None]:
    """Mark a folder as trusted in Claude Code, as a user does in its dialog."""

    def accept(folder: Path) -> None:
        file = claude.home / ".claude.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        known.setdefault("projects", {})[str(folder.resolve())] = {"hasTrustDialogAccepted": True}
        file.write_text(json.dumps(known))

    return accept


@pytest.fixture
def feature(repo: Path) -> Path:
    """A feature with three tasks, each with a section of its own in design and plan."""
    folder = repo / FEATURE
    folder.mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def installed(repo: Path, kedge: Kedge, feature: Path, trust: Callable[[Path], None]) -> Kedge:
    """A trusted repository with the feature and the plugin committed."""
    kedge("init", "--plugin", "--no-hooks")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    trust(repo)
    return kedge
