"""Outside of git, a directory has the files that git would list in a repository there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import git

from kedge.host.project import Project
from kedge.repomap.listing import list_files
from kedge.repomap.outside_git import list_paths

FILES = {
    ".gitignore": "*.log\n!keep.log\n*.[oa]\ntmp[0-9]/\n/top.txt\ndocs/**/draft\n"
    "\\#odd\nspace\\ \n",
    "run.log": "",
    "keep.log": "",
    "main.o": "",
    "main.c": "",
    "top.txt": "",
    "tmp1/x.py": "",
    "tmpx/x.py": "",
    "#odd": "",
    "space ": "",
    "sub/top.txt": "",
    "sub/.gitignore": "!run.log\nlocal.py\n/deep/*\n!/deep/stay.py\n",
    "sub/run.log": "",
    "sub/local.py": "",
    "sub/deep/gone.py": "",
    "sub/deep/stay.py": "",
    "sub/deep/er/local.py": "",
    "docs/a/b/draft/page.md": "",
    "docs/a/b/final.md": "",
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def by_git(root: Path) -> list[str]:
    """The files that git lists in a copy of the directory that is a repository."""
    copy = root.with_name("copy")
    shutil.copytree(root, copy, symlinks=True)
    git(copy, "init", "--quiet")
    names = git(copy, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    shutil.rmtree(copy)
    return sorted(filter(None, names))


def list_names(root: Path) -> list[str]:
    return [os.fsdecode(name) for name in list_paths(root)]


def test_ignore_files_mean_what_they_mean_in_a_repository(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    write(root, FILES)
    assert list_names(root) == by_git(root)
    assert {"keep.log", "sub/run.log", "sub/deep/stay.py", "tmpx/x.py"} <= set(list_names(root))
    assert not {"run.log", "main.o", "tmp1/x.py", "sub/local.py", "#odd"} & set(list_names(root))


PATTERNS = st.lists(
    st.tuples(
        st.sampled_from(["", "!", "/", "!/", "**/"]),
        st.sampled_from(["a", "*", "?", "[ab]", "[!a]", "a*", "a/b", "**", "\\a", "a/**", "d[^a]"]),
        st.sampled_from(["", "/", " ", "/*", ".py"]),
    ).map("".join),
    max_size=5,
).map("\n".join)
TREE = ["a", "b", "ab.py", "d/a", "d/b", "d/da/a", "a.py", "d/a.py", "db/a/b", "db/a/c.py"]


@settings(max_examples=25)
@given(PATTERNS, PATTERNS)
def test_any_rules(tmp_path_factory: pytest.TempPathFactory, top: str, nested: str) -> None:
    root = tmp_path_factory.mktemp("rules") / "plain"
    write(root, {**dict.fromkeys(TREE, ""), ".gitignore": top, "d/.gitignore": nested})
    assert list_names(root) == by_git(root)
    shutil.rmtree(root.parent)


def test_nothing_is_written_and_no_link_is_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "plain", tmp_path / "outside"
    write(root, {"a.py": "x = 1\n"})
    write(outside, {"secret.py": "x = 1\n", "repo/inner.py": "x = 1\n"})
    git(outside / "repo", "init", "--quiet")
    (root / "folder").symlink_to(outside)
    (root / "clone").symlink_to(outside / "repo")
    (root / "file.py").symlink_to(outside / "secret.py")
    before = sorted(root.rglob("*")), root.stat()
    assert [file.path for file in list_files(Project(root, None)).files] == ["a.py"]
    assert (sorted(root.rglob("*")), root.stat()) == before


def test_clones_inside_are_listed_without_their_settings(tmp_path: Path) -> None:
    root, ran = tmp_path / "plain", tmp_path / "ran"
    write(root, {"a.py": "", "one/b.py": "", "one/c.log": "", "one/.gitignore": "*.log\n"})
    write(root, {"one/two/d.py": "", "node_modules/x.js": "", "one/.venv/e.py": ""})
    for clone in (root / "one", root / "one" / "two"):
        git(clone, "init", "--quiet")
    git(root / "one", "add", "b.py")
    for clone in (root / "one", root / "one" / "two"):
        git(clone, "config", "core.fsmonitor", f"touch {ran}")
    assert list_names(root) == ["a.py", "one/.gitignore", "one/b.py", "one/two/d.py"]
    assert not ran.exists()


def test_the_scratch_repository_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.py": ""})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert list_names(tmp_path) == ["a.py"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_settings_of_a_surrounding_git_command_have_no_effect(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "plain", {"a.py": ""})
    write(repo, {"other.py": ""})
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / ".git" / "index"))
    assert list_names(tmp_path / "plain") == ["a.py"]
