"""Folders of features: how they are named, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.errors import FileError, InvalidValue
from kedge.features.folders import find_feature, list_features, match_folders, read_meta
from kedge.features.task_numbers import task_key
from kedge.host.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name in ("007-rope", "014-mooring", "014a-late", "F2-flags", ".hidden", "plain"):
        (tmp_path / "docs" / "features" / name).mkdir(parents=True)
    (tmp_path / "docs" / "features" / "README.md").write_text("not a folder")
    return Project(tmp_path, None)


def test_features_are_listed_by_name(project: Project) -> None:
    names = [path.name for path in list_features(project)]
    assert names == ["007-rope", "014-mooring", "014a-late", "F2-flags", "plain"]


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        *(("7", "007-rope"), ("#007", "007-rope"), ("0007", "007-rope"), ("14", "014-mooring")),
        *(("14a", "014a-late"), ("f2", "F2-flags"), ("plain", "plain"), ("007-rope", "007-rope")),
        ("docs/features/plain", "plain"),
    ],
)
def test_a_feature_is_found_by_path_name_or_number(
    project: Project, name: str, folder: str
) -> None:
    assert find_feature(project, project.root, name).name == folder


@pytest.mark.parametrize("name", ["", "8", "moor", "rope", "docs/features"])
def test_nothing_else_names_a_feature(project: Project, name: str) -> None:
    assert match_folders(list_features(project), name) == []


def test_an_ambiguous_or_unknown_name_is_refused_with_a_hint(project: Project) -> None:
    (project.root / "docs/features/7-other").mkdir()
    (project.root / "docs/features/07-third").mkdir()
    assert find_feature(project, project.root, "7").name == "7-other"
    with pytest.raises(InvalidValue, match="may be 007-rope, 07-third, 7-other"):
        find_feature(project, project.root, "00007")
    with pytest.raises(FileError) as caught:
        find_feature(project, project.root, "mooring")
    assert caught.value.hint == "for example 014-mooring"


def test_a_folder_outside_the_project_is_refused(project: Project, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is outside"):
        find_feature(project, tmp_path, "..")


@pytest.mark.parametrize(
    ("text", "meta", "warnings"),
    [
        ('{"status": "done"}', {"status": "done"}, 0),
        ('\ufeff{"a": 1}', {"a": 1}, 0),
        ("[]", {}, 0),
        ("{", {}, 1),
        ("[" * 100_000, {}, 1),
    ],
)
def test_a_meta_file_that_is_not_an_object_is_empty(
    project: Project, text: str, meta: dict[str, object], warnings: int
) -> None:
    folder = project.root / "docs/features/plain"
    (folder / ".meta.json").write_text(text)
    said: list[str] = []
    assert read_meta(project.root, folder, said) == meta
    assert len(said) == warnings


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "Task 1"), ("T-01", "1"), ("task_2.3", "T2.3"), ("1A.1", "1a.01"), ("Subtask 3", "3")],
)
def test_numbers_of_tasks_that_are_the_same(one: str, other: str) -> None:
    assert task_key(one) == task_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("1", "10"), ("1.2", "1.20"), ("1", "1.0"), ("A1", "1")]
)
def test_numbers_of_tasks_that_differ(one: str, other: str) -> None:
    assert task_key(one) != task_key(other)
