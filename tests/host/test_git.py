"""Git: repositories are found, and no setting of the user changes an answer."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import astuple
from pathlib import Path

import pytest
from support import Kedge, assert_clear, git, wait_for_aside

from kedge.errors import BareRepository, GitError, NoRepository
from kedge.host import git as host
from kedge.host import git_settings, plain_repo, project

SOURCES = Path(host.__file__).parents[1]


def _commit(repo: Path, name: str = "file", text: str = "text\n") -> None:
    (repo / name).write_text(text)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", name)


def _find(start: Path) -> host.Repo:
    """Return what `find` returns, after checking that it agrees with git itself."""
    slow = host._find_by_git(start)
    quick = plain_repo.find(str(start))
    assert quick in (None, tuple(map(str, astuple(slow))))
    found = host.find(start)
    assert found == slow
    for path in (found.root, found.git_dir, found.common_dir):
        assert path.is_absolute()
        assert path == path.resolve()
    return found


def _find_error(start: Path) -> GitError:
    assert plain_repo.find(str(start)) is None
    with pytest.raises(GitError) as caught:
        host.find(start)
    assert caught.value.hint
    return caught.value


# Finding a repository


def test_a_directory_outside_a_repository_is_an_error(tmp_path: Path) -> None:
    error = _find_error(tmp_path)
    assert type(error) is NoRepository
    assert error.message == f"{tmp_path} is not in a git repository"


def test_the_command_reports_a_directory_outside_a_repository(tmp_path: Path) -> None:
    ran = Kedge(tmp_path)("task", "list", code=1)
    assert_clear(ran, code=1, says="is not in a git repository")


def test_an_empty_repository_is_found_from_its_subdirectories(repo: Path) -> None:
    deep = repo / "a" / "b"
    deep.mkdir(parents=True)
    for start in (repo, deep):
        assert _find(start) == host.Repo(repo, repo / ".git", repo / ".git")
        assert plain_repo.find(str(start)) is not None
    assert _find(repo).linked is False


def test_the_common_case_starts_no_process(
    repo: Path, kedge: Kedge, monkeypatch: pytest.MonkeyPatch
) -> None:
    _commit(repo)
    monkeypatch.setenv("PATH", "")
    assert host.find(repo).root == repo
    assert kedge("config", "path", "--project").out == f"{repo}/.kedge/config.toml\n"


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "x.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    for start in (bare, bare / "refs"):
        error = _find_error(start)
        assert type(error) is BareRepository
        assert "is in a bare repository" in error.message


def test_a_repository_that_became_bare_is_refused(repo: Path) -> None:
    for value in ("true", "1", "Yes"):
        git(repo, "config", "core.bare", value)
        assert type(_find_error(repo)) is BareRepository
    git(repo, "config", "--unset", "core.bare")
    with (repo / ".git" / "config").open("a") as config:
        config.write("[CORE]\n\tBare\n")
    assert type(_find_error(repo)) is BareRepository


def test_the_git_directory_itself_is_refused(repo: Path) -> None:
    for start in (repo / ".git", repo / ".git" / "objects"):
        error = _find_error(start)
        assert type(error) is BareRepository
        assert "is in the .git directory" in error.message


def test_a_linked_work_tree_is_found(repo: Path, tmp_path: Path) -> None:
    _commit(repo)
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "--quiet", str(tree))
    (tree / "deep").mkdir()
    for start in (tree, tree / "deep"):
        found = _find(start)
        assert found == host.Repo(tree, repo / ".git" / "worktrees" / "tree", repo / ".git")
        assert found.linked
    assert not _find(repo).linked
    home = project.find(tree).home()
    assert home == project.find(repo).home() == repo / ".git" / "kedge"


def test_a_work_tree_of_a_bare_repository_is_found(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "--quiet")
    _commit(source)
    bare = tmp_path / "x.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(source), str(bare))
    git(bare, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    found = _find(tmp_path / "tree")
    assert (found.root, found.common_dir) == (tmp_path / "tree", bare)


def test_a_submodule_is_found(repo: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    _commit(inner)
    allow = ("-c", "protocol.file.allow=always")
    git(repo, *allow, "submodule", "--quiet", "add", str(inner), "sub")
    module = repo / ".git" / "modules" / "sub"
    assert _find(repo / "sub") == host.Repo(repo / "sub", module, module)
    assert _find(repo).root == repo


def test_a_separate_git_directory_is_found(tmp_path: Path) -> None:
    tree, store = tmp_path / "tree", tmp_path / "store"
    git(tmp_path, "init", "--quiet", f"--separate-git-dir={store}", str(tree))
    assert (tree / ".git").is_file()
    assert _find(tree) == host.Repo(tree, store, store)


def test_a_git_directory_behind_a_link_is_found(repo: Path, tmp_path: Path) -> None:
    (repo / ".git").rename(tmp_path / "store")
    (repo / ".git").symlink_to(tmp_path / "store")
    assert _find(repo).root == repo


def test_the_setting_core_worktree_is_respected(repo: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(repo, "config", "core.worktree", str(elsewhere))
    error = _find_error(repo)
    assert type(error) is BareRepository
    assert "is outside its work tree" in error.message
    git(repo, "config", "--unset", "core.worktree")
    with (repo / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tWorkTree = {elsewhere}\n")
    assert type(_find_error(repo)) is BareRepository
    git(repo, "config", "core.worktree", str(repo.parent))
    assert _find(repo).root == repo.parent


def test_a_setting_in_an_included_file_is_treated_as_by_git(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "more").write_text(f"[core]\n\tbare = true\n\tworktree = {tmp_path}\n")
    git(repo, "config", "include.path", str(tmp_path / "more"))
    assert _find(repo).root == repo


def test_the_innermost_repository_is_found(repo: Path) -> None:
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    assert _find(inner).root == inner
    (repo / "vendored" / ".git").mkdir(parents=True)
    (repo / "vendored" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert _find(repo / "vendored").root == repo


@pytest.mark.parametrize("name", ["HEAD", "refs", "objects"])
def test_a_broken_git_directory_is_ignored(repo: Path, name: str) -> None:
    """Like git, which continues with the parent directory."""
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    if name == "HEAD":
        (inner / ".git" / "HEAD").write_text("nonsense")
    else:
        shutil.rmtree(inner / ".git" / name)
    assert _find(inner).root == repo


def test_a_dangling_git_file_is_an_error(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / ".git").write_text(f"gitdir: {tmp_path / 'gone'}\n")
    error = _find_error(place)
    assert type(error) is GitError
    assert str(tmp_path / "gone") in error.message


def test_variables_of_a_surrounding_git_do_not_mislead(
    repo: Path, kedge: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    _commit(other)
    _commit(repo, "mine")
    head = git(repo, "rev-parse", "HEAD").strip()
    for name, value in {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git" / "objects"),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_PREFIX": "sub/",
        "GIT_NAMESPACE": "x",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_GLOB_PATHSPECS": "1",
        "GIT_TRACE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    found = _find(repo)
    assert found.root == repo
    assert found.head() == head
    assert host.split_z(found.git("ls-files", "-z")) == ["mine"]
    assert kedge("config", "path", "--project").out == f"{repo}/.kedge/config.toml\n"


def test_the_repository_is_found_inside_a_git_hook(repo: Path, tmp_path: Path) -> None:
    """With the real variables that git sets during a commit from a subdirectory."""
    out = tmp_path / "out"
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    code = (
        "from pathlib import Path; from kedge.host import git; import os\n"
        "repo = git.find(Path.cwd())\n"
        "assert repo == git._find_by_git(Path.cwd()) and 'GIT_INDEX_FILE' in os.environ\n"
        f"Path({str(out)!r}).write_text(f'{{repo.root}} {{repo.head()}}')\n"
    )
    hook.write_text(f"#!{sys.executable}\n{code}")
    hook.chmod(0o755)
    (repo / "sub").mkdir()
    (repo / "sub" / "file").touch()
    git(repo, "add", "--all")
    git(repo / "sub", "commit", "--quiet", "--message", "x")
    assert out.read_text() == f"{repo} None"


def test_ceiling_directories_are_respected(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = repo / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo / "a"))
    assert type(_find_error(deep)) is NoRepository
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo.parent))
    assert _find(deep).root == repo


@pytest.mark.parametrize(
    "name",
    ["with space", "new\nline", "ends in\n", "größe 漢字", "-dash", "quote'\"", "back\\slash"],
)
def test_directories_with_unusual_names_are_found(tmp_path: Path, name: str) -> None:
    repo = tmp_path / name
    repo.mkdir()
    git(repo, "init", "--quiet")
    _commit(repo)
    assert _find(repo) == host.Repo(repo, repo / ".git", repo / ".git")
    assert _find(repo).head() == git(repo, "rev-parse", "HEAD").strip()
    tree = tmp_path / f"tree {name}"
    git(repo, "worktree", "add", "--quiet", "--detach", str(tree))
    if "\n" not in name:  # git itself cannot read such a link back
        assert _find(tree).root == tree
        assert _find(tree).common_dir == repo / ".git"


def test_a_directory_name_that_is_not_utf8_is_found(tmp_path: Path) -> None:
    repo = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    try:
        repo.mkdir()
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    git(repo, "init", "--quiet")
    assert _find(repo).root == repo


def test_a_repository_is_found_through_a_link(repo: Path, tmp_path: Path) -> None:
    (repo / "deep").mkdir()
    (tmp_path / "link").symlink_to(repo / "deep")
    assert _find(tmp_path / "link").root == repo
    (tmp_path / "loop").symlink_to("loop")
    assert type(_find_error(tmp_path / "loop")) is NoRepository


def test_a_deleted_directory_is_an_error(repo: Path, tmp_path: Path) -> None:
    gone = repo / "gone"
    error = _find_error(gone)
    assert type(error) is NoRepository
    assert error.message == f"no directory {gone}"
    with pytest.raises(NoRepository):
        project.find(gone)
    found = host.find(repo)
    shutil.rmtree(repo)
    with pytest.raises(GitError, match="no directory") as caught:
        found.head()
    assert caught.value.hint


def test_a_deleted_current_directory_is_an_error(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from kedge.errors import NoRepository\n"
        "from kedge.host import project\n"
        "os.chdir(sys.argv[1])\n"
        "os.rmdir(sys.argv[1])\n"
        "try:\n"
        "    project.find(Path())\n"
        "except NoRepository as error:\n"
        "    print(error.message, error.hint)\n"
    )
    place = tmp_path / "place"
    place.mkdir()
    argv = [sys.executable, "-c", code, str(place)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.stdout == "the current directory was deleted go to an existing directory\n", done


def test_a_file_instead_of_a_directory_is_an_error(repo: Path) -> None:
    (repo / "file").touch()
    assert type(_find_error(repo / "file")) is NoRepository


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("what", ["", ".git"])
def test_a_repository_of_another_user_is_refused_as_by_git(
    repo: Path, kedge: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    os.chown(repo / what, 12345, 12345)
    error = _find_error(repo)
    assert type(error) is GitError
    assert "belongs to another user" in error.message
    assert error.hint == f"if you trust it: git config --global --add safe.directory {repo}"
    assert_clear(kedge("task", "list", code=1), code=1, says="belongs to another user")
    with pytest.raises(GitError, match="belongs to another user"):
        host.Repo(repo, repo / ".git", repo / ".git").head()
    git(repo, "config", "--global", "--add", "safe.directory", str(repo))
    assert _find(repo).root == repo
    assert kedge("task", "list").code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_a_repository_trusted_in_the_environment_is_accepted(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(repo, 12345, 12345)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(repo))
    assert _find(repo).root == repo
    monkeypatch.delenv("GIT_CONFIG_COUNT")
    assert "another user" in _find_error(repo).message
    (tmp_path / "settings").write_text(f"[safe]\n\tdirectory = {repo}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    assert _find(repo).root == repo


# Questions about a repository


def test_the_head_and_the_branch_are_reported(repo: Path) -> None:
    found = host.find(repo)
    assert (found.head(), found.branch()) == (None, "main")
    _commit(repo)
    first = git(repo, "rev-parse", "HEAD").strip()
    assert (found.head(), found.branch()) == (first, "main")
    assert re.fullmatch(r"[0-9a-f]{40}", first)
    git(repo, "checkout", "--quiet", "--detach")
    assert (found.head(), found.branch()) == (first, None)
    git(repo, "checkout", "--quiet", "-b", "feat/größe")
    assert found.branch() == "feat/größe"
    git(repo, "checkout", "--quiet", "--orphan", "bare-start")
    assert (found.head(), found.branch()) == (None, "bare-start")


def test_the_head_is_found_wherever_git_stores_it(repo: Path, tmp_path: Path) -> None:
    """For refs that are packed, replaced, detached or in a linked work tree."""
    _commit(repo)
    for name in ("ma", "feat/main"):
        git(repo, "branch", name)
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "second")
    git(repo, "tag", "--annotate", "-m", "one", "v1")
    git(repo, "pack-refs", "--all")
    second = git(repo, "rev-parse", "HEAD").strip()
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "--quiet", str(linked), "ma")
    other = host.find(linked)
    found = host.find(repo)
    assert found.head() == second
    assert other.head() not in (None, second)
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "third")
    third = git(repo, "rev-parse", "HEAD").strip()
    assert found.head() == third != second
    git(repo, "checkout", "--quiet", "--detach", "HEAD~1")
    assert found.head() == second


def test_a_tag_of_the_same_name_does_not_change_the_branch(repo: Path) -> None:
    _commit(repo)
    git(repo, "tag", "main")
    assert host.find(repo).branch() == "main"


def test_a_branch_name_that_is_not_utf8_survives(repo: Path) -> None:
    _commit(repo)
    (repo / ".git" / "HEAD").write_bytes(b"ref: refs/heads/caf\xe9\xa0\n")
    name = host.find(repo).branch()
    assert name is not None
    assert os.fsencode(name) == b"caf\xe9\xa0"


def test_a_repository_that_git_refuses_does_not_look_empty(repo: Path) -> None:
    _commit(repo)
    found = host.find(repo)
    with (repo / ".git" / "config").open("a") as config:
        config.write("[broken\n")
    for question in (found.head, found.branch, lambda: found.ask("cat-file", "-e", "HEAD:none")):
        with pytest.raises(GitError, match="bad config line") as caught:
            question()
        assert caught.value.hint


def test_a_missing_commit_does_not_look_like_no_commit(repo: Path) -> None:
    _commit(repo)
    head = git(repo, "rev-parse", "HEAD").strip()
    (repo / ".git" / "objects" / head[:2] / head[2:]).unlink()
    assert host.find(repo).head() == head


def test_ask_returns_none_where_git_raises(repo: Path) -> None:
    _commit(repo)
    found = host.find(repo)
    assert found.ask("rev-parse", "--verify", "--quiet", "refs/heads/none") is None
    assert found.ask("config", "--get", "none.such") is None
    assert found.ask("cat-file", "-e", "HEAD:none") is None
    assert found.ask("cat-file", "-e", "HEAD:file") == b""
    with pytest.raises(GitError, match="git cat-file failed: ") as caught:
        found.git("cat-file", "-e", "HEAD:none")
    assert caught.value.hint
    with pytest.raises(GitError, match="git frobnicate failed: "):
        found.git("frobnicate")
    with pytest.raises(GitError, match=r"git log failed: .*unrecognized argument"):
        found.git("log", "--frobnicate")
    assert found.git("hash-object", "--stdin", input=b"") == (
        b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
    )
    ann = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org"}
    assert found.git("var", "GIT_AUTHOR_IDENT", env=ann).startswith(b"Ann <ann@example.org>")


def test_pathspecs_are_taken_literally(repo: Path) -> None:
    _commit(repo, "*")
    _commit(repo, "other")
    assert host.split_z(host.find(repo).git("ls-files", "-z", "--", "*")) == ["*"]


def test_file_names_that_are_not_utf8_survive(repo: Path) -> None:
    names = [b"caf\xe9", b"new\nline", "größe".encode(), b'tab\t"quote"', b"back\\slash"]
    for name in names:
        Path(os.fsdecode(os.fsencode(repo) + b"/" + name)).touch()
    git(repo, "add", "--all")
    listed = host.split_z(host.find(repo).git("ls-files", "-z"))
    assert sorted(os.fsencode(name) for name in listed) == sorted(names)
    assert all((repo / name).exists() for name in listed)
    assert host.split_z(b"") == []


# Settings of the user


_HOSTILE = """
[alias]
	ls-files = !touch {ran}
	status = !touch {ran}
	ask = !touch {ran}
[branch]
	sort = -committerdate
[color]
	ui = always
	branch = always
	diff = always
	grep = always
	status = always
[column]
	ui = always
[core]
	abbrev = 30
	fsmonitor = {script}
	hooksPath = {hooks}
	pager = touch {ran}
	quotePath = true
	editor = touch {ran}
[diff]
	algorithm = patience
	context = 9
	interHunkContext = 40
	mnemonicPrefix = true
	noprefix = true
	relative = true
	renames = false
	submodule = log
	suppressBlankEmpty = true
	wordRegex = .
[format]
	pretty = oneline
[gpg]
	program = {script}
[i18n]
	logOutputEncoding = ISO-8859-1
[log]
	decorate = full
	showSignature = true
	follow = true
[pager]
	log = touch {ran}
	status = touch {ran}
[status]
	branch = true
	renames = false
	short = true
	showStash = true
	showUntrackedFiles = no
	relativePaths = false
[submodule]
	recurse = true
"""
_QUESTIONS = (
    ("status",),
    ("status", "--short"),
    ("status", "--porcelain"),
    ("status", "--porcelain=v2", "-z"),
    ("diff",),
    ("diff", "--cached"),
    ("diff", "--cached", "--stat"),
    ("log",),
    ("log", "--oneline"),
    ("show", "HEAD"),
    ("branch",),
    ("grep", "line"),
    ("ls-files",),
    ("ls-files", "--others"),
    ("ls-files", "-z"),
    ("rev-parse", "--short", "HEAD"),
    ("rev-parse", "--abbrev-ref", "HEAD"),
)


def _sign_head(repo: Path) -> None:
    """Add an invalid signature that git would check if asked to."""
    head, _, message = git(repo, "cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    signed = repo.parent / "signed"
    signed.write_text(f"{head}\n{signature}\n\n{message}")
    commit = git(repo, "hash-object", "-t", "commit", "-w", str(signed)).strip()
    git(repo, "update-ref", "HEAD", commit)


def test_no_setting_of_the_user_changes_an_answer(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {n}\n" for n in range(60)]
    lines[22] = "\n"
    (repo / "deep").mkdir()
    _commit(repo, "größe", "".join(lines))
    _commit(repo, "deep/renamed", "".join(reversed(lines)))
    (repo / "größe").write_text("".join([*lines[:20], "\n", *lines[21:40], *lines[42:]]))
    git(repo, "mv", "deep/renamed", "name")
    (repo / "untracked").touch()
    git(repo, "branch", "other")
    git(repo, "commit", "--quiet", "--amend", "--message", "Größe")
    git(repo, "mv", "name", "again")
    git(repo, "stash", "store", git(repo, "stash", "create").strip())
    _sign_head(repo)
    found = host.Repo(repo, repo / ".git", repo / ".git")
    plain = [found.git(*question) for question in _QUESTIONS]

    ran, hooks, script = tmp_path / "ran", tmp_path / "hooks", tmp_path / "script"
    hooks.mkdir()
    for path in (script, hooks / "post-index-change", hooks / "reference-transaction"):
        path.write_text(f"#!/bin/sh\ntouch {ran}\n")
        path.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(_HOSTILE.format(ran=ran, hooks=hooks, script=script))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_PAGER", f"touch {ran}")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert git(repo, "diff") != plain[_QUESTIONS.index(("diff",))].decode()  # they do matter
    git(repo, "status")
    ran.unlink()  # it was made: they do run programs, too

    for question, answer in zip(_QUESTIONS, plain, strict=True):
        assert found.git(*question) == answer, question
    assert found.git("ls-files").decode().split() == ["again", "größe"]  # not quoted
    assert found.branch() == "main"
    assert found.head() == git(repo, "rev-parse", "HEAD").strip()
    found.git("add", "untracked")
    found.git("update-ref", "refs/kedge/test", "HEAD")
    assert not ran.exists(), "a program of the user's settings was run"


# Git itself


def test_a_missing_git_is_an_error(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = host.find(repo)
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = Kedge(empty)("task", "list", code=1, env={"PATH": str(empty)})
    assert_clear(ran, code=1, says="git is not installed")
    monkeypatch.setenv("PATH", str(empty))
    with pytest.raises(GitError, match="git is not installed") as caught:
        found.head()
    assert caught.value.hint


def test_an_impossible_argument_does_not_look_like_a_missing_git(repo: Path) -> None:
    found = host.find(repo)
    for argument in ("a\0b", "x" * (64 << 20)):
        with pytest.raises(GitError) as caught:
            found.git("log", argument)
        assert "git log failed: cannot start 'git'" in caught.value.message
        assert caught.value.hint


def _replace_git(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


def test_a_hanging_git_is_stopped(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = host.find(repo)
    _replace_git(tmp_path, "exec sleep 300", monkeypatch)
    with pytest.raises(GitError) as caught:
        found.git("log", timeout=0.2)
    assert caught.value.message == "git log took more than 0.2 s and was stopped"
    assert caught.value.hint
    monkeypatch.setattr(host, "TIMEOUT", 0.2)
    with pytest.raises(GitError, match="took more than"):
        found.ask("status")
    with pytest.raises(GitError, match="took more than"):
        host._find_by_git(repo)


def test_a_killed_git_is_an_error_and_not_a_no(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = host.find(repo)
    _replace_git(tmp_path, "kill -KILL $$", monkeypatch)
    for question in (found.head, found.branch, lambda: found.git("status")):
        with pytest.raises(GitError, match="failed"):
            question()


def test_one_place_starts_git() -> None:
    """So that its environment is always scrubbed."""
    git_word = re.compile(r"""\[\s*["'](?:[^"'\s]*/)?git["']\s*[,\]]""")
    process = re.compile(
        r"^\s*(?:import|from) (?:subprocess|pty|asyncio\.subprocess)\b"
        r"|\bos\.(?:system|popen|exec|spawn|posix_spawn)|create_subprocess",
        re.MULTILINE,
    )
    starts_git, starts_programs = set(), set()
    for path in SOURCES.rglob("*.py"):
        name = path.relative_to(SOURCES).as_posix()
        text = path.read_text()
        if git_word.search(text):
            starts_git.add(name)
        if process.search(text) and not name.startswith("testing/"):
            starts_programs.add(name)
    # The demo starts it as the person whom it plays, in an environment of its own.
    assert starts_git == {"host/git.py", "demo/stage.py"}
    types_alone = {"host/running.py"}
    # kedge's own work, aside and beside the relay
    starts_python = {"host/detached.py", "proxy/watch_process.py"}
    # The status line that the user had before, and what they give to `kedge exec`.
    starts_users_own = {"statusline.py", "cli/exec.py"}
    assert starts_programs == {"host/proc.py"} | types_alone | starts_python | starts_users_own


def test_an_interrupted_command_leaves_no_git_running(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    _replace_git(tmp_path, f"echo $$ >{pid}\nexec sleep 600", monkeypatch)
    with subprocess.Popen([sys.executable, "-m", "kedge", "map"], cwd=repo) as child:
        end = time.monotonic() + 60
        while not (pid.exists() and pid.read_text().strip()):
            assert time.monotonic() < end
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_git_answers_also_where_signals_of_children_are_ignored(repo: Path) -> None:
    code = "import os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    code += "os.execv(sys.executable, [sys.executable, '-m', 'kedge', 'map'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=repo, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (repo / ".kedge" / "map.md").exists()


# Programs that a repository names

LOOKING = (
    *("map", "anchor", "init", "doctor", "task list", "knowledge list --diff", "retro"),
    *("context brief", "update --check", "drift status"),
)


def _plant_filter(settings: Path, mark: Path) -> None:
    for name in ("filter.x.clean", "filter.x.smudge", "core.fsmonitor", "filter.y.process"):
        program = f"touch '{mark}'; cat"
        subprocess.run(["git", "config", "--file", settings, name, program], check=True)


@pytest.mark.parametrize("command", LOOKING)
def test_no_program_that_a_repository_names_is_run(
    kedge: Kedge, repo: Path, tmp_path: Path, command: str
) -> None:
    mark = tmp_path / "ran"
    _commit(repo, "a.py", "def f(): pass\n")
    _plant_filter(repo / ".git" / "config", mark)
    (repo / ".gitattributes").write_text("* filter=x\n*.md filter=y\n")
    (repo / "a.py").write_text("def g(): pass\n")
    kedge(*command.split(), code=None)
    assert not mark.exists()
    subprocess.run(["git", "status"], cwd=repo, capture_output=True, timeout=60)
    assert mark.exists()  # git itself runs them


def test_what_is_missing_is_not_fetched_with_a_program_of_the_repository(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a git either that does not know GIT_NO_LAZY_FETCH."""
    mark = tmp_path / "ran"
    _commit(repo, "a.py", "def f(): pass\n")
    name = host.find(repo).git("rev-parse", "HEAD:a.py").decode().strip()
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()
    values = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "protocol.allow": "always",
        "remote.origin.url": str(tmp_path),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": f"touch '{mark}';",
    }
    for key, value in values.items():
        subprocess.run(["git", "config", key, value], cwd=repo, check=True)
    monkeypatch.delitem(git_settings._SET, "GIT_NO_LAZY_FETCH")
    assert host.find(repo).ask("cat-file", "-e", name) is None
    assert not mark.exists()
    subprocess.run(["git", "cat-file", "-e", name], cwd=repo, capture_output=True, timeout=60)
    assert mark.exists()  # git itself runs it


def test_a_hook_runs_no_program_that_a_repository_names(
    kedge: Kedge, repo: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    _commit(repo, "a.py", "def f(): pass\n")
    _plant_filter(repo / ".git" / "config", mark)
    (repo / ".gitattributes").write_text("* filter=x\n*.md filter=y\n")
    (repo / "a.py").write_text("def g(): pass\n")
    about = {"session_id": "s", "cwd": str(repo), "transcript_path": str(tmp_path / "none")}
    call = {"tool_name": "Bash", "tool_input": {"command": "git checkout -- a.py; git clean -fd"}}
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"):
        value = {**about, "hook_event_name": event, "prompt": "Improve g", "source": "startup"}
        kedge("hook", "claude", input=json.dumps({**value, **call}), code=None)
    wait_for_aside(repo / ".git" / "kedge")
    assert not mark.exists()


def test_no_program_that_a_submodule_names_is_run(kedge: Kedge, repo: Path, tmp_path: Path) -> None:
    mark, other = tmp_path / "ran", tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    _commit(other, "b.py", "def f(): pass\n")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    git(repo, "commit", "-qm", "sub")
    _plant_filter(repo / ".git" / "modules" / "sub" / "config", mark)
    (repo / "sub" / ".gitattributes").write_text("* filter=x\n")
    (repo / "sub" / "b.py").write_text("def g(): pass\n")
    kedge("anchor")
    kedge("map")
    assert not mark.exists()
