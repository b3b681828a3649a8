"""Git: where a repository is, and answers that no setting of the user's changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import Kedge, assert_clear, git

from kedge.errors import BareRepository, GitError, NoRepository
from kedge.host import git as host
from kedge.host import plain_repo, project

SOURCES = Path(host.__file__).parents[1]


def _commit(repo: Path, name: str = "file", text: str = "text\n") -> None:
    (repo / name).write_text(text)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", name)


def _found(start: Path) -> host.Repo:
    """What `find` says, after making sure that its quick way agrees with git's own."""
    slow = host._find_by_git(start)
    quick = plain_repo.find(str(start))
    assert quick in (None, tuple(map(str, slow)))
    found = host.find(start)
    assert found == slow
    for path in (found.root, found.git_dir, found.common_dir):
        assert path.is_absolute()
        assert path == path.resolve()
    return found


def _refused(start: Path) -> GitError:
    assert plain_repo.find(str(start)) is None
    with pytest.raises(GitError) as caught:
        host.find(start)
    assert caught.value.hint
    return caught.value


# Where a repository is


def test_outside_of_a_repository(tmp_path: Path) -> None:
    error = _refused(tmp_path)
    assert type(error) is NoRepository
    assert error.message == f"{tmp_path} is not in a git repository"


def test_outside_of_a_repository_through_the_command(tmp_path: Path) -> None:
    ran = Kedge(tmp_path)("task", "list", code=1)
    assert_clear(ran, code=1, says="is not in a git repository")


def test_an_empty_repository_and_its_subdirectories(repo: Path) -> None:
    deep = repo / "a" / "b"
    deep.mkdir(parents=True)
    for start in (repo, deep):
        assert _found(start) == host.Repo(repo, repo / ".git", repo / ".git")
        assert plain_repo.find(str(start)) is not None
    assert _found(repo).linked is False


def test_the_common_case_starts_no_process(
    repo: Path, kedge: Kedge, monkeypatch: pytest.MonkeyPatch
) -> None:
    _commit(repo)
    monkeypatch.setenv("PATH", "")
    assert host.find(repo).root == repo
    assert kedge("config", "path", "--project").out == f"{repo}/.kedge/config.toml\n"


def test_a_bare_repository(tmp_path: Path) -> None:
    bare = tmp_path / "x.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    for start in (bare, bare / "refs"):
        error = _refused(start)
        assert type(error) is BareRepository
        assert "is in a bare repository" in error.message


def test_a_repository_that_was_made_bare(repo: Path) -> None:
    for value in ("true", "1", "Yes"):
        git(repo, "config", "core.bare", value)
        assert type(_refused(repo)) is BareRepository
    git(repo, "config", "--unset", "core.bare")
    with (repo / ".git" / "config").open("a") as config:
        config.write("[CORE]\n\tBare\n")
    assert type(_refused(repo)) is BareRepository


def test_inside_of_the_git_directory(repo: Path) -> None:
    for start in (repo / ".git", repo / ".git" / "objects"):
        error = _refused(start)
        assert type(error) is BareRepository
        assert "is in the .git directory" in error.message


def test_a_linked_work_tree(repo: Path, tmp_path: Path) -> None:
    _commit(repo)
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "--quiet", str(tree))
    (tree / "deep").mkdir()
    for start in (tree, tree / "deep"):
        found = _found(start)
        assert found == host.Repo(tree, repo / ".git" / "worktrees" / "tree", repo / ".git")
        assert found.linked
    assert not _found(repo).linked
    home = project.find(tree).home()
    assert home == project.find(repo).home() == repo / ".git" / "kedge"


def test_a_work_tree_of_a_bare_repository(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "--quiet")
    _commit(source)
    bare = tmp_path / "x.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(source), str(bare))
    git(bare, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    found = _found(tmp_path / "tree")
    assert (found.root, found.common_dir) == (tmp_path / "tree", bare)


def test_a_submodule(repo: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    _commit(inner)
    allow = ("-c", "protocol.file.allow=always")
    git(repo, *allow, "submodule", "--quiet", "add", str(inner), "sub")
    module = repo / ".git" / "modules" / "sub"
    assert _found(repo / "sub") == host.Repo(repo / "sub", module, module)
    assert _found(repo).root == repo


def test_a_separate_git_directory(tmp_path: Path) -> None:
    tree, store = tmp_path / "tree", tmp_path / "store"
    git(tmp_path, "init", "--quiet", f"--separate-git-dir={store}", str(tree))
    assert (tree / ".git").is_file()
    assert _found(tree) == host.Repo(tree, store, store)


def test_a_git_directory_that_is_a_link(repo: Path, tmp_path: Path) -> None:
    (repo / ".git").rename(tmp_path / "store")
    (repo / ".git").symlink_to(tmp_path / "store")
    assert _found(repo).root == repo


def test_core_worktree(repo: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(repo, "config", "core.worktree", str(elsewhere))
    error = _refused(repo)
    assert type(error) is BareRepository
    assert "is outside its work tree" in error.message
    git(repo, "config", "--unset", "core.worktree")
    with (repo / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tWorkTree = {elsewhere}\n")
    assert type(_refused(repo)) is BareRepository
    git(repo, "config", "core.worktree", str(repo.parent))
    assert _found(repo).root == repo.parent


def test_a_setting_in_an_included_file_is_what_git_makes_of_it(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "more").write_text(f"[core]\n\tbare = true\n\tworktree = {tmp_path}\n")
    git(repo, "config", "include.path", str(tmp_path / "more"))
    assert _found(repo).root == repo


def test_a_repository_inside_of_another(repo: Path) -> None:
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    assert _found(inner).root == inner
    (repo / "vendored" / ".git").mkdir(parents=True)
    (repo / "vendored" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert _found(repo / "vendored").root == repo


@pytest.mark.parametrize("name", ["HEAD", "refs", "objects"])
def test_a_broken_git_directory_is_none(repo: Path, name: str) -> None:
    """As for git, which goes on with the directory above."""
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    if name == "HEAD":
        (inner / ".git" / "HEAD").write_text("nonsense")
    else:
        shutil.rmtree(inner / ".git" / name)
    assert _found(inner).root == repo


def test_a_git_file_that_leads_nowhere_is_said(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / ".git").write_text(f"gitdir: {tmp_path / 'gone'}\n")
    error = _refused(place)
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
    found = _found(repo)
    assert found.root == repo
    assert found.head() == head
    assert host.split_z(found.git("ls-files", "-z")) == ["mine"]
    assert kedge("config", "path", "--project").out == f"{repo}/.kedge/config.toml\n"


def test_in_a_hook_of_git(repo: Path, tmp_path: Path) -> None:
    """Real variables, as git sets them while it commits from a subdirectory."""
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


def test_ceiling_directories(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = repo / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo / "a"))
    assert type(_refused(deep)) is NoRepository
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo.parent))
    assert _found(deep).root == repo


@pytest.mark.parametrize(
    "name",
    ["with space", "new\nline", "ends in\n", "größe 漢字", "-dash", "quote'\"", "back\\slash"],
)
def test_strange_names_of_directories(tmp_path: Path, name: str) -> None:
    repo = tmp_path / name
    repo.mkdir()
    git(repo, "init", "--quiet")
    _commit(repo)
    assert _found(repo) == host.Repo(repo, repo / ".git", repo / ".git")
    assert _found(repo).head() == git(repo, "rev-parse", "HEAD").strip()
    tree = tmp_path / f"tree {name}"
    git(repo, "worktree", "add", "--quiet", "--detach", str(tree))
    if "\n" not in name:  # git itself cannot read such a link back
        assert _found(tree).root == tree
        assert _found(tree).common_dir == repo / ".git"


def test_a_directory_whose_name_is_no_utf8(tmp_path: Path) -> None:
    repo = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    try:
        repo.mkdir()
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    git(repo, "init", "--quiet")
    assert _found(repo).root == repo


def test_through_a_link(repo: Path, tmp_path: Path) -> None:
    (repo / "deep").mkdir()
    (tmp_path / "link").symlink_to(repo / "deep")
    assert _found(tmp_path / "link").root == repo
    (tmp_path / "loop").symlink_to("loop")
    assert type(_refused(tmp_path / "loop")) is NoRepository


def test_a_directory_that_was_deleted(repo: Path, tmp_path: Path) -> None:
    gone = repo / "gone"
    error = _refused(gone)
    assert type(error) is NoRepository
    assert error.message == f"no directory {gone}"
    with pytest.raises(NoRepository):
        project.find(gone)
    found = host.find(repo)
    shutil.rmtree(repo)
    with pytest.raises(GitError, match="no directory") as caught:
        found.head()
    assert caught.value.hint


def test_a_current_directory_that_was_deleted(tmp_path: Path) -> None:
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
    assert done.stdout == "the current directory was deleted go to one that is there\n", done


def test_a_file_is_no_directory(repo: Path) -> None:
    (repo / "file").touch()
    assert type(_refused(repo / "file")) is NoRepository


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("what", ["", ".git"])
def test_a_repository_of_another_user(
    repo: Path, kedge: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    os.chown(repo / what, 12345, 12345)
    error = _refused(repo)
    assert type(error) is GitError
    assert "belongs to another user" in error.message
    assert error.hint == f"git config --global --add safe.directory {repo}, if you do"
    assert_clear(kedge("task", "list", code=1), code=1, says="belongs to another user")
    with pytest.raises(GitError, match="belongs to another user"):
        host.Repo(repo, repo / ".git", repo / ".git").head()
    git(repo, "config", "--global", "--add", "safe.directory", str(repo))
    assert _found(repo).root == repo
    assert kedge("task", "list").code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_trust_that_is_given_by_the_environment_counts(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(repo, 12345, 12345)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(repo))
    assert _found(repo).root == repo
    monkeypatch.delenv("GIT_CONFIG_COUNT")
    assert "another user" in _refused(repo).message
    (tmp_path / "settings").write_text(f"[safe]\n\tdirectory = {repo}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    assert _found(repo).root == repo


# What is asked of a repository


def test_head_and_branch(repo: Path) -> None:
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


def test_a_head_is_found_wherever_git_keeps_it(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a process, and as git has it: packed, replaced by a newer one, detached, linked."""
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
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))  # where there is no git
        assert found.head() == second
        assert other.head() not in (None, second)
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "third")
    third = git(repo, "rev-parse", "HEAD").strip()
    assert found.head() == third != second
    git(repo, "checkout", "--quiet", "--detach", "HEAD~1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found.head() == second


def test_a_tag_of_the_same_name_does_not_change_the_branch(repo: Path) -> None:
    _commit(repo)
    git(repo, "tag", "main")
    assert host.find(repo).branch() == "main"


def test_a_branch_whose_name_is_no_utf8(repo: Path) -> None:
    _commit(repo)
    (repo / ".git" / "HEAD").write_bytes(b"ref: refs/heads/caf\xe9\xa0\n")
    name = host.find(repo).branch()
    assert name is not None
    assert os.fsencode(name) == b"caf\xe9\xa0"


def test_a_repository_that_git_refuses_is_not_taken_for_an_empty_one(repo: Path) -> None:
    _commit(repo)
    found = host.find(repo)
    with (repo / ".git" / "config").open("a") as config:
        config.write("[broken\n")
    assert found.head() is not None
    for question in (found.branch, lambda: found.ask("cat-file", "-e", "HEAD:none")):
        with pytest.raises(GitError, match="bad config line") as caught:
            question()
        assert caught.value.hint


def test_a_commit_that_is_lost_is_not_taken_for_none(repo: Path) -> None:
    _commit(repo)
    head = git(repo, "rev-parse", "HEAD").strip()
    (repo / ".git" / "objects" / head[:2] / head[2:]).unlink()
    assert host.find(repo).head() == head


def test_ask_and_git(repo: Path) -> None:
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


def test_names_that_are_no_utf8_survive(repo: Path) -> None:
    names = [b"caf\xe9", b"new\nline", "größe".encode(), b'tab\t"quote"', b"back\\slash"]
    for name in names:
        Path(os.fsdecode(os.fsencode(repo) + b"/" + name)).touch()
    git(repo, "add", "--all")
    listed = host.split_z(host.find(repo).git("ls-files", "-z"))
    assert sorted(os.fsencode(name) for name in listed) == sorted(names)
    assert all((repo / name).exists() for name in listed)
    assert host.split_z(b"") == []


# Settings of the user's


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
    """With a signature that is none, but that git would have looked at."""
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


def test_git_that_is_missing(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = host.find(repo)
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = Kedge(empty)("task", "list", code=1, env={"PATH": str(empty)})
    assert_clear(ran, code=1, says="git is not installed")
    monkeypatch.setenv("PATH", str(empty))
    with pytest.raises(GitError, match="git is not installed") as caught:
        found.head()
    assert caught.value.hint


def test_what_git_cannot_be_given_is_not_a_missing_git(repo: Path) -> None:
    found = host.find(repo)
    for argument in ("a\0b", "x" * (64 << 20)):
        with pytest.raises(GitError) as caught:
            found.git("log", argument)
        assert "git log failed: cannot start 'git'" in caught.value.message
        assert caught.value.hint


def _put_in_place_of_git(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


def test_a_git_that_hangs_is_ended(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = host.find(repo)
    _put_in_place_of_git(tmp_path, "exec sleep 300", monkeypatch)
    with pytest.raises(GitError) as caught:
        found.git("status", timeout=0.2)
    assert caught.value.message == "git status took more than 0.2 s and was ended"
    assert caught.value.hint
    monkeypatch.setattr(host, "TIMEOUT", 0.2)
    with pytest.raises(GitError, match="took more than"):
        found.ask("status")
    with pytest.raises(GitError, match="took more than"):
        host._find_by_git(repo)


def test_a_git_that_is_killed_has_not_said_no(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = host.find(repo)
    _put_in_place_of_git(tmp_path, "kill -KILL $$", monkeypatch)
    for question in (found.head, found.branch, lambda: found.git("status")):
        with pytest.raises(GitError, match="failed"):
            question()


def test_one_place_starts_git() -> None:
    """The others say what they want of it: its environment is scrubbed in one place, and a quick
    question is asked from there."""
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
    assert starts_git == {"host/git.py", "host/plain_git.py"}
    types_alone = {"host/running.py"}
    assert starts_programs == {"host/proc.py", "host/plain_git.py"} | types_alone
