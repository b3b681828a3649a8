"""Releases, dependency updates and change logs are not work on the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repomap.port import fill
from support import Kedge, git

from kedge.repomap.history import build_history
from kedge.repomap.upkeep import find_upkeep, is_record, is_upkeep


@pytest.mark.parametrize(
    "subject",
    """Release v1.2.0
release: v8.2.2
release: harbour@9.1.2
harbour 12.0.1
1.4.0-rc.1
v2.0 (#31)
[skip ci] Bump version to 2.1
Bumped version; main is now 5.2 pre-alpha.
chore(release): 4.5.6
chore(deps): update all
build(deps-dev): bump gauge from 1.0 to 1.1
Bump gauge from 2.33.1 to 2.34.2 (#83)
Update dependency gauge to v3.1
Update CHANGELOG
chore: prepare 3.14.0-rc.0 (#19)
start version 3.1.2
Move to v1.19-dev""".splitlines(),
)
def test_releases_and_dependency_updates_are_upkeep(subject: str) -> None:
    assert is_upkeep(subject)


@pytest.mark.parametrize(
    "subject",
    """Fix the tide tables of 2.0
Release the berth when a ship leaves
feat(tides): read version 2 of the gauges
Update the tide tables
Support TLS 1.3
prepare the berths
versions of the gauge are compared
x

fix: reset in 1.5 seconds""".splitlines(),
)
def test_other_subjects_are_not_upkeep(subject: str) -> None:
    assert not is_upkeep(subject)


def test_change_logs_and_lock_files_are_records() -> None:
    for path in (
        *("CHANGELOG.md", "CHANGES", "activetide/CHANGELOG.md", "docs/releases/6.1.txt"),
        *("Cargo.lock", "web/pnpm-lock.yaml", "package-lock.json", "go.sum", "NEWS.rst"),
    ):
        assert is_record(path), path
    for path in ("src/lock.py", "history.py", "docs/changes.py", "releases/tide.go", "clock.c"):
        assert not is_record(path), path


def _churn(commits: list[tuple[str, list[str]]]) -> dict[str, float]:
    past = build_history(commits)
    return {path: round(count, 2) for path, count in zip(past.paths, past.changes, strict=True)}


def test_a_file_that_releases_change_has_no_churn() -> None:
    releases = [
        ("reopen main", ["version.py"]),
        ("harbour 1.2", ["version.py", "CHANGELOG.md"]),
    ] * 5
    churn = _churn([*releases, *[("tide: fix", ["tide.py"])] * 5])
    assert churn["version.py"] == churn["CHANGELOG.md"] == 0
    assert churn["tide.py"] > 4


def test_other_changes_of_a_file_that_releases_change_count() -> None:
    commits = [("Release 1.2", ["core.py"])] * 4 + [("tide: fix", ["core.py", "tide.py"])] * 4
    churn = _churn(commits)
    assert churn["core.py"] == churn["tide.py"] > 3
    seldom = [("Release 1.2", ["core.py"])] * 4 + [("tide: fix", ["core.py"])] * 7
    assert _churn(seldom)["core.py"] > 6, "most of its changes are not upkeep"


def test_a_change_log_that_every_commit_changes_has_no_churn() -> None:
    churn = _churn([("tide: fix", ["tide.py", "CHANGELOG.md"])] * 3)
    assert churn["CHANGELOG.md"] == 0
    assert churn["tide.py"] > 2


def test_subjects_say_nothing_if_all_are_releases() -> None:
    dumps = [(f"v1.{n}", ["tide.py"]) for n in range(9)]
    assert find_upkeep(dumps) == [False] * 9
    assert _churn(dumps)["tide.py"] > 8


def test_a_commit_without_files_is_no_upkeep() -> None:
    assert find_upkeep([("x", []), ("y", ["CHANGELOG.md"])]) == [False, True]


def test_a_history_of_upkeep_only_can_be_ranked(repo: Path, kedge: Kedge) -> None:
    fill(repo, {"Cargo.lock": "x", "tide.py": "def neap_tide(): pass\n"})
    git(repo, "add", "Cargo.lock")
    git(repo, "commit", "--quiet", "-m", "Add the lock file")
    assert kedge.json("map", "--for", "neap tide")["files"][0]["path"] == "tide.py"


def test_releases_do_not_raise_a_file_in_the_map(repo: Path, kedge: Kedge) -> None:
    body = "def harbour_{0}():\n    return {1}\n"
    for number in range(6):
        fill(repo, {"src/a_version.py": body.format("a", number)})
        git(repo, "add", "-A")
        git(repo, "commit", "--quiet", "-m", f"harbour 1.{number}")
        if number < 3:
            fill(repo, {"src/tide.py": body.format("b", number)})
            git(repo, "add", "-A")
            git(repo, "commit", "--quiet", "-m", "tide: count the hours")
    files = [one["path"] for one in kedge.json("map")["files"]]
    assert files == ["src/tide.py", "src/a_version.py"]


@given(st.text(max_size=300))
def test_any_subject_can_be_judged(subject: str) -> None:
    assert is_upkeep(subject) in (True, False)
    assert is_record(subject) in (True, False)
