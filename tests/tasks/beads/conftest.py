"""The fake bd, and a project that uses it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import fake_bd
import pytest
from tasks.beads.world import World


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bd.install(tmp_path_factory.mktemp("bin"))


@pytest.fixture(scope="session")
def template(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template")
    subprocess.run([program, "init", "--prefix", "kx"], cwd=root, check=True)
    return root / ".beads"


@pytest.fixture
def world(tmp_path: Path, program: Path, template: Path) -> World:
    shutil.copytree(template, tmp_path / ".beads")
    return World(tmp_path, program)
