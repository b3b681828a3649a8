"""The choice of a backend, and of the work tree that holds the tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support import git

from kedge.host import project
from kedge.settings import Settings
from kedge.tasks import choose
from kedge.tasks.beads.backend import Beads
from kedge.tasks.feature_docs import FeatureDocs
from kedge.tasks.jsonl import Jsonl
from kedge.tasks.task_master.backend import TaskMaster
from kedge.tasks.task_yaml.backend import TaskYaml

SETTINGS = Settings().tasks
FILES = {
    "task_master": ".taskmaster/tasks/tasks.json",
    "kiro": ".kiro/specs/x/tasks.md",
    "spec_kit": "specs/001-x/tasks.md",
    "feature_docs": "docs/features/001-x/tasks.md",
    "task_yaml": "tasks/deep/x.task.yml",
    "beads": ".beads/x",
    "jsonl": ".kedge/tasks.jsonl",
}


def test_the_first_backend_that_finds_tasks_is_chosen(repo: Path) -> None:
    place = project.find(repo)
    assert choose.detect(place) is None
    assert isinstance(choose.open_backend(place, SETTINGS), Jsonl)
    kinds = {"task_yaml": TaskYaml, "beads": Beads, "jsonl": Jsonl, "task_master": TaskMaster}
    for name, file in FILES.items():  # each comes before those that are there already
        path = repo / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        assert choose.detect(place) == name
        backend = choose.open_backend(place, SETTINGS)
        assert isinstance(backend, kinds.get(name, FeatureDocs))
        assert backend.name == name


@pytest.mark.parametrize("name", FILES)
def test_a_backend_that_is_set_is_used_whatever_is_found(repo: Path, name: str) -> None:
    (repo / ".beads").mkdir()
    backend = choose.open_backend(project.find(repo), replace(SETTINGS, backend=name))
    assert backend.name == name


def test_the_environment_names_the_work_tree_that_holds_the_tasks(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    git(tmp_path, "init", "--quiet", "stranger")
    (repo / "below").mkdir()
    linked = project.find(tmp_path / "linked")
    for value, root in (
        (str(repo), repo),
        (str(repo / "below"), linked.root),
        (str(tmp_path / "stranger"), linked.root),
        (str(tmp_path / "none"), linked.root),
        ("", linked.root),
    ):
        monkeypatch.setenv(choose.VARIABLE, value)
        assert choose.task_project(linked).root == root.resolve()


def test_outside_git_the_environment_is_ignored(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    (plain / ".kedge").mkdir(parents=True)
    monkeypatch.setenv(choose.VARIABLE, str(repo))
    assert choose.task_project(project.find(plain)).root == plain.resolve()
