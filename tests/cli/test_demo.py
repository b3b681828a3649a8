"""The demo shows what kedge really does, and leaves nothing."""

from __future__ import annotations

import os
from pathlib import Path

from support import Kedge


def test_demo_runs_the_real_commands_and_cleans_up(kedge: Kedge, tmp_path: Path) -> None:
    before = set(Path(os.environ["TMPDIR"]).glob("kedge-demo-*"))
    data = kedge("--json", "demo", cwd=tmp_path).data
    outputs = {" ".join(step["args"][:3]): step["output"] for step in data["steps"]}
    assert outputs["task ready"] == "login-1\topen\tP1\ttask\tHash passwords with a salt\n"
    assert "epic login is now done" in outputs["task close login-2"]
    assert "avoid: inventing a hash" in outputs["log show login-1"]
    assert set(Path(os.environ["TMPDIR"]).glob("kedge-demo-*")) == before


def test_demo_tells_the_story_as_text(kedge: Kedge, tmp_path: Path) -> None:
    text = kedge("demo", cwd=tmp_path).out
    assert "$ kedge task claim login-1 --as bob" in text
    assert "error: login-1 is claimed by ada" in text


def test_demo_can_leave_its_repository(kedge: Kedge, tmp_path: Path) -> None:
    import shutil

    path = Path(kedge("--json", "demo", "--keep", cwd=tmp_path).data["path"])
    try:
        assert len(Kedge(path).json("task", "list")) == 3
    finally:
        shutil.rmtree(path)
