"""What git looked at when it said what is untracked, read from its own notes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from repomap.test_shadow import fill
from support import git

from kedge.host import git as host_git
from kedge.host.project import Project
from kedge.repomap import files, grounds
from kedge.repomap.cache import Cache
from kedge.repomap.unchanged import CHANGED

ODD = ["UNTR/UNTR", "a b/\n", "\udcff", "deep/" + "/".join("abcdefghij")]


def asked(root: Path) -> bytes:
    """An index with git's notes on directories."""
    for _ in range(2):
        subprocess.run(["git", "-C", str(root), *CHANGED], capture_output=True, check=True)
    return (root / ".git" / "index").read_bytes()


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_the_directories_are_those_that_git_looked_into(tmp_path: Path, hashes: str) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={hashes}", str(tmp_path)], check=True)
    for number, name in enumerate(ODD):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "UNTR").write_text("x")
        if number % 2:
            git(tmp_path, "add", "-A")
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("built\n")
    (tmp_path / "built" / "inner").mkdir(parents=True)
    git(tmp_path, "init", "--quiet", "other")
    (tmp_path / "other" / "inner").mkdir()
    walked = set()
    for folder, inside, _ in os.walk(os.fsencode(tmp_path)):
        inside[:] = [name for name in inside if name not in (b".git", b"built", b"other")]
        walked.add(os.path.relpath(folder, os.fsencode(tmp_path)).replace(b".", b"", 1))
    found = grounds.folders(asked(tmp_path))
    assert found is not None
    assert len(found) == len(set(found))
    assert walked <= set(found) <= walked | {b"other"}


def test_an_index_without_notes_or_with_broken_ones_has_none(repo: Path) -> None:
    fill(repo)
    git(repo, "add", "-A")
    assert grounds.folders((repo / ".git" / "index").read_bytes()) is None
    assert grounds.folders(b"") is None
    assert grounds.folders(b"UNTR") is None
    whole = asked(repo)
    assert grounds.folders(whole)
    at = whole.rindex(b"UNTR")
    size = int.from_bytes(whole[at + 4 : at + 8], "big")
    for left in (120, size // 2):
        cut = whole[: at + 4] + left.to_bytes(4, "big") + whole[at + 8 : at + 8 + left]
        assert grounds.folders(cut + whole[at + 8 + size :]) is None


def test_settings_name_more_files_with_rules(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
    (tmp_path / "mine").write_text(
        '[include]\npath = more\n[includeIf "onbranch:x"]\npath = ~/else\n'
        "[core]\nexcludesFile = ~/rules\n"
    )
    (tmp_path / "more").write_text("[core]\nattributesFile = own/attributes\n")
    found = grounds.rules(host_git.find(repo))
    assert found is not None
    names = {"mine", "more", "else", "rules"}
    assert {*(tmp_path / name for name in names), repo / "own" / "attributes"} <= found
    assert {repo / ".git" / "config", repo / ".git" / "info" / "exclude"} <= found
    (tmp_path / "mine").write_text("[include]\npath = %(prefix)/more\n")
    assert grounds.rules(host_git.find(repo)) is None
    monkeypatch.delenv("HOME")
    assert grounds.rules(host_git.find(repo)) is None


def test_of_very_many_files_git_is_asked_better(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(repo)
    own = host_git.find(repo)
    cache = Cache(repo / ".git" / "kedge")
    listing = files.listing(Project(repo, own), cache)
    places, rules = grounds.of(own, files.listing(Project(repo, own), cache))
    ((top, *names),) = places
    assert top == b"."
    assert {b".", b"quay7"} <= set(names)
    monkeypatch.setattr(grounds, "_MANY", 5)
    groups = {folder: names for folder, *names in grounds.of(own, listing).places}
    assert {b".", b"quay7"} <= set(groups)
    whole = {folder + b"/" + one for folder, names in groups.items() for one in names}
    assert {one.removeprefix(b"./") for one in whole} == set(names)
    assert str(repo / ".git" / "info" / "exclude") in rules
    for most in (len(listing.names) - 1, len(listing.names)):  # files, and with directories
        monkeypatch.setattr(grounds, "MOST_PLACES", most)
        assert grounds.of(own, listing) == grounds.NONE
