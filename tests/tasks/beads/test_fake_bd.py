"""The fake bd refuses what bd refuses, and has the same gaps."""

from __future__ import annotations

import subprocess
from pathlib import Path

import fake_bd
import pytest
from tasks.beads.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    program = fake_bd.install(tmp_path / "bin")
    subprocess.run([program, "init", "--prefix", "kx"], cwd=tmp_path, check=True)
    return World(tmp_path, program)


def test_unknown_commands_and_invalid_values_are_refused(world: World) -> None:
    world.seed({"id": "kx-a1"}, {"id": "kx-e1", "issue_type": "epic"})
    for args, says in (
        (["frob"], 'unknown command "frob" for "bd"'),
        (["list", "--frob"], "unknown flag: --frob"),
        (["update", "kx-gone", "--status", "open"], 'no issue found matching "kx-gone"'),
        (["dep", "add", "kx-a1", "kx-gone"], "issue kx-gone not found"),
        (["dep", "add", "kx-a1", "kx-e1"], "tasks can only block other tasks"),
        (["create", "x", "--id", "other-1"], "prefix mismatch"),
        (["update", "kx-a1", "--status", "frob"], "invalid status"),
    ):
        done = subprocess.run(
            [world.program, *args], cwd=world.root, capture_output=True, text=True
        )
        assert done.returncode == 1, args
        assert done.stderr.startswith("Error: "), args
        assert says in done.stderr, args


def test_an_import_does_not_update_the_issues_that_wait(world: World) -> None:
    """This is why kedge closes issues with `bd batch`."""
    link = {"depends_on_id": "kx-a1", "type": "blocks"}
    world.seed({"id": "kx-a1"}, {"id": "kx-b1", "dependencies": [link]})
    world.seed({"id": "kx-a1", "status": "closed"})
    assert world.ready() == set()
    world.bd("reopen", "kx-a1")
    world.bd("close", "kx-a1")
    assert world.ready() == {"kx-b1"}
