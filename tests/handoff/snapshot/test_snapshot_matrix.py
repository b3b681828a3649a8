"""Every kind of change is reported with every path, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from handoff.snapshot.snapshot_support import (
    BYTES,
    LATIN,
    NEWLINE,
    TEXT,
    apply_patches,
    assert_untouched,
    open_project,
)
from support import git

from kedge.handoff.snapshot import snapshots
from kedge.handoff.snapshot.snapshots import RepoStatus

Facts = set[tuple[str, ...]]


def _append(path: Path, text: str = "more\n") -> None:
    path.write_text(path.read_text() + text)


def edit(repo: Path) -> Facts:
    _append(repo / "src/app.py")
    return {("changed", "src/app.py")}


def new_file(repo: Path) -> Facts:
    (repo / "new.txt").write_text("new\n")
    return {("added", "new.txt")}


def staged_new(repo: Path) -> Facts:
    (repo / "new.txt").write_text("new\n")
    git(repo, "add", "new.txt")
    return {("added", "new.txt")}


def staged_then_edited(repo: Path) -> Facts:
    (repo / "new.txt").write_text("new\n")
    _append(repo / "README")
    git(repo, "add", "--all")
    _append(repo / "new.txt")
    _append(repo / "README", "even more\n")
    return {("added", "new.txt"), ("changed", "README")}


def staged_only(repo: Path) -> Facts:
    """Staged and then undone on the disk: the disk counts."""
    before = (repo / "README").read_bytes()
    _append(repo / "README")
    git(repo, "add", "README")
    (repo / "README").write_bytes(before)
    return set()


def rename(repo: Path) -> Facts:
    (repo / "src/app.py").rename(repo / "src/main.py")
    return {("renamed", "src/main.py", "src/app.py", "100")}


def rename_by_git(repo: Path) -> Facts:
    git(repo, "mv", "docs/guide.md", "docs/manual.md")
    return {("renamed", "docs/manual.md", "docs/guide.md", "100")}


def rename_and_edit(repo: Path) -> Facts:
    (repo / "src/app.py").rename(repo / "main.py")
    _append(repo / "main.py")
    return {("renamed", "main.py", "src/app.py", "98")}


def case_only_rename(repo: Path) -> Facts:
    (repo / "README").rename(repo / "readme")
    git(repo, "config", "core.ignoreCase", "true")
    return {("renamed", "readme", "README", "100")}


def directory_rename(repo: Path) -> Facts:
    (repo / "src").rename(repo / "lib")
    return {
        ("renamed", "lib/app.py", "src/app.py", "100"),
        ("renamed", "lib/deep/er/mod.py", "src/deep/er/mod.py", "100"),
    }


def chmod(repo: Path) -> Facts:
    (repo / "run.sh").chmod(0o644)
    (repo / "README").chmod(0o755)
    return {("mode", "run.sh"), ("mode", "README")}


def chmod_that_git_does_not_look_at(repo: Path) -> Facts:
    git(repo, "config", "core.fileMode", "false")
    (repo / "README").chmod(0o755)
    return {("mode", "README")}


def delete(repo: Path) -> Facts:
    (repo / "src/deep/er/mod.py").unlink()
    git(repo, "rm", "--quiet", "latin.txt")
    return {("deleted", "src/deep/er/mod.py"), ("deleted", "latin.txt")}


def untracked_by_git_but_there(repo: Path) -> Facts:
    git(repo, "rm", "--quiet", "--cached", "latin.txt")
    return set()


def link_retarget(repo: Path) -> Facts:
    (repo / "link").unlink()
    (repo / "link").symlink_to("README")
    return {("changed", "link")}


def dangling_and_outward_links(repo: Path) -> Facts:
    (repo / "nowhere").symlink_to("no/such/file")
    (repo / "out").symlink_to("/etc")
    return {("added", "nowhere"), ("added", "out")}


def file_to_link(repo: Path) -> Facts:
    (repo / "README").unlink()
    (repo / "README").symlink_to("docs/guide.md")
    return {("type", "README")}


def link_to_file(repo: Path) -> Facts:
    (repo / "link").unlink()
    (repo / "link").write_text("docs/guide.md")
    return {("type", "link")}


def link_without_core_symlinks(repo: Path) -> Facts:
    git(repo, "config", "core.symlinks", "false")
    return link_retarget(repo)


def file_to_directory(repo: Path) -> Facts:
    (repo / "README").unlink()
    (repo / "README").mkdir()
    (repo / "README/part").write_text("entirely other text\n")
    return {("deleted", "README"), ("added", "README/part")}


def directory_to_link(repo: Path) -> Facts:
    """Files behind a link are not in the work tree, though git still lists them."""
    (repo / "src").rename(repo.parent / "elsewhere")
    (repo / "src").symlink_to(repo.parent / "elsewhere")
    return {("deleted", "src/app.py"), ("deleted", "src/deep/er/mod.py"), ("added", "src")}


def binary(repo: Path) -> Facts:
    data = bytearray((repo / "data.bin").read_bytes())
    data[1000] ^= 1
    (repo / "data.bin").write_bytes(data)
    return {("changed", "data.bin")}


def latin_1(repo: Path) -> Facts:
    (repo / "latin.txt").write_bytes(LATIN.replace(b"\xdf", b"\xe4"))
    return {("changed", "latin.txt")}


def odd_names(repo: Path) -> Facts:
    for name in ("ünï.txt", NEWLINE, BYTES):
        _append(repo / name)
    other = os.fsdecode(b"\xff\xfe\t\"'*?[x]")
    (repo / other).write_text("new\n")
    (repo / "-rf").write_text("new, too\n")
    (repo / ":(top)x").write_text("new, as well\n")
    return {
        *(("changed", name) for name in ("ünï.txt", NEWLINE, BYTES)),
        *(("added", name) for name in (other, "-rf", ":(top)x")),
    }


def submodule_moves(repo: Path) -> Facts:
    git(repo / "sub", "checkout", "--quiet", "HEAD~1")
    return {("changed", "sub")}


def submodule_removed(repo: Path) -> Facts:
    subprocess.run(["rm", "-rf", repo / "sub"], check=True)
    return {("deleted", "sub")}


def nested_repository(repo: Path) -> Facts:
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    (inner / "file").write_text("inside\n")
    git(inner, "add", "--all")
    git(inner, "commit", "--quiet", "--message", "inside")
    return {("added", "inner")}


def crlf_flip(repo: Path) -> Facts:
    (repo / "lf.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    (repo / "crlf.txt").write_bytes(b"a\nb\nc\n")
    return {("changed", "lf.txt"), ("changed", "crlf.txt")}


def crlf_flip_with_autocrlf(repo: Path) -> Facts:
    git(repo, "config", "core.autocrlf", "true")
    return crlf_flip(repo)


def crlf_flip_with_text_auto(repo: Path) -> Facts:
    (repo / ".git/info/attributes").write_text("* text=auto eol=lf\n")
    return crlf_flip(repo)


def text_auto_in_the_tree(repo: Path) -> Facts:
    (repo / ".gitattributes").write_text("* text=auto\n")
    return {*crlf_flip(repo), ("added", ".gitattributes")}


def crlf_flip_back(repo: Path) -> Facts:
    (repo / "crlf.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    (repo / "lf.txt").write_bytes(b"a\nb\r\nc\n")
    return {("changed", "lf.txt"), ("changed", "crlf.txt")}


def directory_rename_of_docs(repo: Path) -> Facts:
    (repo / "docs").rename(repo / "manual")
    return {("renamed", "manual/guide.md", "docs/guide.md", "100")}


def empty_directory_gets_a_file(repo: Path) -> Facts:
    (repo / "hollow/way").mkdir(parents=True)
    (repo / "hollow/way/file").write_text("")
    return {("added", "hollow/way/file")}


def tracked_but_ignored(repo: Path) -> Facts:
    _append(repo / "kept.log")
    return {("changed", "kept.log")}


def same_size_same_time(repo: Path) -> Facts:
    status = (repo / "README").stat()
    data = (repo / "README").read_bytes()
    (repo / "README").write_bytes(data.replace(b"line 7\n", b"line x\n"))
    os.utime(repo / "README", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (repo / "README").stat().st_size == status.st_size
    assert (repo / "README").stat().st_mtime_ns == status.st_mtime_ns
    return {("changed", "README")}


def committed(repo: Path) -> Facts:
    """Commit everything: the files stay the same."""
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "all")
    return set()


def commit_with_an_edit(repo: Path) -> Facts:
    facts = edit(repo)
    git(repo, "commit", "--quiet", "--all", "--message", "more")
    return facts


def amend(repo: Path) -> Facts:
    facts = edit(repo)
    git(repo, "commit", "--quiet", "--all", "--amend", "--message", "amended")
    return facts


def stash(repo: Path) -> Facts:
    _append(repo / "README")
    git(repo, "stash", "--quiet")
    _append(repo / "docs/guide.md")
    return {("changed", "docs/guide.md")}


def switch(repo: Path) -> Facts:
    git(repo, "switch", "--quiet", "--create", "other")
    facts = edit(repo)
    git(repo, "commit", "--quiet", "--all", "--message", "other")
    return facts


def rebase(repo: Path) -> Facts:
    git(repo, "switch", "--quiet", "--create", "topic")
    _append(repo / "README")
    git(repo, "commit", "--quiet", "--all", "--message", "topic")
    git(repo, "switch", "--quiet", "main")
    _append(repo / "docs/guide.md")
    git(repo, "commit", "--quiet", "--all", "--message", "main")
    git(repo, "rebase", "--quiet", "main", "topic")
    return {("changed", "README"), ("changed", "docs/guide.md")}


def stopped_being_ignored(repo: Path) -> Facts:
    (repo / ".gitignore").write_text("build/\n/.kedge/\n")
    return {("changed", ".gitignore"), ("added", "seen.log")}


def assumed_unchanged(repo: Path) -> Facts:
    git(repo, "update-index", "--assume-unchanged", "README")
    git(repo, "update-index", "--skip-worktree", "lf.txt")
    _append(repo / "README")
    _append(repo / "lf.txt")
    return {("changed", "README"), ("changed", "lf.txt")}


def conflict(repo: Path) -> Facts:
    for name, text in (("left", "left\n"), ("right", "right\n")):
        git(repo, "switch", "--quiet", "--create", name, "main")
        (repo / "lf.txt").write_text(text)
        git(repo, "commit", "--quiet", "--all", "--message", name)
    done = subprocess.run(["git", "merge", "left"], cwd=repo, capture_output=True)
    assert done.returncode == 1
    return {("changed", "lf.txt")}


def with_filters(repo: Path) -> Facts:
    """Clean filters, encodings and identifiers do not apply."""
    (repo / ".git/info/attributes").write_text(
        "lf.txt filter=upper ident\nREADME working-tree-encoding=UTF-16\n"
        "latin.txt working-tree-encoding=ISO-8859-1\n"
    )
    git(repo, "config", "filter.upper.clean", "touch filter-ran; tr a-z A-Z")
    git(repo, "config", "filter.upper.required", "true")
    (repo / "lf.txt").write_text("$Id: 1 $\n")
    _append(repo / "README")
    return {("changed", "lf.txt"), ("changed", "README")}


CHANGES = [
    edit, new_file, staged_new, staged_then_edited, staged_only, rename, rename_by_git,
    rename_and_edit, case_only_rename, directory_rename, chmod, chmod_that_git_does_not_look_at,
    delete, untracked_by_git_but_there, link_retarget, dangling_and_outward_links, file_to_link,
    link_to_file, link_without_core_symlinks, file_to_directory, directory_to_link, binary, latin_1,
    odd_names, submodule_moves, submodule_removed, nested_repository, crlf_flip,
    crlf_flip_with_autocrlf, crlf_flip_with_text_auto, text_auto_in_the_tree,
    empty_directory_gets_a_file, tracked_but_ignored, same_size_same_time, committed,
    commit_with_an_edit, amend, stash, switch, rebase, stopped_being_ignored, assumed_unchanged,
    conflict, with_filters,
]  # fmt: skip


def _facts(changes: list[snapshots.PathChange]) -> Facts:
    facts: Facts = set()
    for one in changes:
        if one.change == "renamed":
            assert one.old_path is not None
            facts.add((one.change, one.path, one.old_path, str(one.similarity)))
        else:
            facts.add((one.change, one.path))
    return facts


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_a_change_is_reported_with_every_path(
    work: Path, tmp_path: Path, change: Callable[[Path], Facts]
) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/before")
    expected = change(work)
    with assert_untouched(work, with_objects=True):
        now = snapshots.read_tree(project)
        changes = snapshots.compare(project, before.tree, now)
    assert _facts(changes) == expected
    assert [one.path for one in changes] == sorted((one.path for one in changes), key=os.fsencode)
    with assert_untouched(work):
        after = snapshots.take(project, "t-1/after")
        patch = snapshots.diff(project, before.tree, after.tree)
        lines = snapshots.count_lines(project, before.tree, after.tree)
    assert after.tree == now
    assert apply_patches(work, before.tree, [patch], tmp_path) == after.tree
    assert {one.path for one in lines} == {one.path for one in changes}
    # The answer does not depend on the private index.
    subprocess.run(["rm", "-rf", work / ".git/kedge"], check=True)
    assert snapshots.read_tree(project) == now


def test_many_changes_at_once_now_and_a_second_later(work: Path, tmp_path: Path) -> None:
    """Files that were just written are read each time, with the same result."""
    project = open_project(work)
    for change in (crlf_flip_with_autocrlf, text_auto_in_the_tree):
        change(work)
    git(work, "config", "core.fileMode", "false")
    git(work, "config", "core.symlinks", "false")
    with_filters(work)
    with (work / ".gitattributes").open("ab") as file:
        file.write((work / ".git/info/attributes").read_bytes())
    time.sleep(1.1)
    before = snapshots.take(project, "t-1/before")
    assert snapshots.read_tree(project) == before.tree
    for name in ("lf.txt", "crlf.txt", "README", "latin.txt", ".gitattributes"):
        argv = ["git", "cat-file", "blob", f"{before.tree}:{name}"]
        done = subprocess.run(argv, cwd=work, capture_output=True, check=True)
        assert done.stdout == (work / name).read_bytes()
    steps = [
        edit, new_file, directory_rename_of_docs, chmod, link_retarget, binary, latin_1, odd_names,
        submodule_moves, nested_repository, crlf_flip_back, empty_directory_gets_a_file,
        tracked_but_ignored,
    ]  # fmt: skip
    expected = set().union(*(step(work) for step in steps))
    now = snapshots.read_tree(project)
    assert _facts(snapshots.compare(project, before.tree, now)) == expected
    time.sleep(1.1)
    assert snapshots.read_tree(project) == now
    assert snapshots.read_tree(project) == now
    subprocess.run(["rm", "-rf", work / ".git/kedge"], check=True)
    with assert_untouched(work, with_objects=True):
        assert snapshots.read_tree(project) == now
    patch = snapshots.diff(project, before.tree, now)
    assert apply_patches(work, before.tree, [patch], tmp_path) == now
    assert [*work.glob("*-ran")] == []


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_a_change_is_restored(work: Path, change: Callable[[Path], Facts]) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/before")
    change(work)
    now = snapshots.read_tree(project)
    index = (work / ".git/index").read_bytes()
    done = snapshots.restore(project, before.tree, "t-1/before-restore")
    left = {"sub", "inner"} & {one.path for one in snapshots.compare(project, before.tree, now)}
    assert {*done.left} == left
    assert {
        one.path for one in snapshots.compare(project, before.tree, snapshots.read_tree(project))
    } == left
    assert done.before.tree == now
    assert git(work, "rev-parse", "refs/kedge/t-1/before-restore^{tree}").strip() == now
    assert (work / ".git/index").read_bytes() == index
    assert (work / "seen.log").read_text() == "ignored\n"
    again = snapshots.restore(project, now, "t-1/before-restore")
    assert not {*again.refs} & {*done.refs}
    assert snapshots.compare(project, now, snapshots.read_tree(project)) == []


def color(repo: Path) -> None:
    git(repo, "config", "color.ui", "always")


def no_prefix(repo: Path) -> None:
    git(repo, "config", "diff.noprefix", "true")
    git(repo, "config", "diff.external", "false")
    git(repo, "config", "diff.orderFile", "README")


def quote_path(repo: Path) -> None:
    git(repo, "config", "core.quotePath", "true")
    git(repo, "config", "core.abbrev", "4")


def autocrlf(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    git(repo, "config", "core.safecrlf", "true")


def touch(repo: Path) -> None:
    for name in ("README", "src/app.py", "data.bin"):
        os.utime(repo / name)
    time.sleep(0.01)


def collect(repo: Path) -> None:
    git(repo, "gc", "--quiet", "--prune=now")


def refresh(repo: Path) -> None:
    os.utime(repo / "README")
    git(repo, "update-index", "--refresh")
    git(repo, "status")


def ignored(repo: Path) -> None:
    (repo / "noise.log").write_text("noise\n")
    (repo / "seen.log").write_text("other noise\n")
    (repo / "build").mkdir()
    (repo / "build/out").write_text("out\n")


def ignored_elsewhere(repo: Path) -> None:
    with (repo / ".git/info/exclude").open("a") as file:
        file.write("*.tmp\n")
    mine = repo.parent / "mine"
    mine.write_text("*.swp\n")
    git(repo, "config", "core.excludesFile", str(mine))
    (repo / "x.tmp").write_text("")
    (repo / ".x.swp").write_text("")


def ignored_in_another_case(repo: Path) -> None:
    git(repo, "config", "core.ignoreCase", "true")
    for name in ("NOISE.LOG", ":(top)X.Log", "Build/x"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("noise\n")


def own_files(repo: Path) -> None:
    (repo / ".gitignore").write_bytes((repo / ".gitignore").read_bytes())
    (repo / ".kedge/ledger").mkdir(parents=True)
    (repo / ".kedge/ledger/t-1.jsonl").write_text("{}\n")
    (repo / ".kedge/config.toml").write_text("")
    git(repo, "add", "--force", ".kedge/config.toml")


def another_work_tree(repo: Path) -> None:
    for place in (repo.parent / "beside", repo / "inside"):
        git(repo, "worktree", "add", "--quiet", "--detach", str(place))
        (place / "README").write_text("elsewhere\n")
        git(place, "commit", "--quiet", "--all", "--message", "elsewhere")


def added_as_it_is(repo: Path) -> None:
    git(repo, "add", "--all")


def renames_off(repo: Path) -> None:
    git(repo, "config", "diff.renames", "false")
    git(repo, "config", "status.showUntrackedFiles", "no")
    git(repo, "config", "core.fsmonitor", "touch fsmonitor-ran")
    git(repo, "config", "core.trustctime", "false")
    git(repo, "config", "core.checkStat", "minimal")


def hooks(repo: Path) -> None:
    for name in ("reference-transaction", "post-index-change", "pre-auto-gc"):
        hook = repo / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch hook-ran\n")
        hook.chmod(0o755)
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "core.logAllRefUpdates", "always")


def split_index(repo: Path) -> None:
    git(repo, "update-index", "--split-index")


def untracked_cache(repo: Path) -> None:
    git(repo, "update-index", "--untracked-cache")
    git(repo, "config", "feature.manyFiles", "true")


def sparse(repo: Path) -> None:
    git(repo, "sparse-checkout", "set", "--cone", "docs")
    assert not (repo / "src").exists()


def submodule_not_set_up(repo: Path) -> None:
    git(repo, "submodule", "--quiet", "deinit", "--force", "sub")
    git(repo, "add", ".gitmodules")


def reset(repo: Path) -> None:
    (repo / "README").write_text("")
    (repo / "new").write_text("")
    git(repo, "add", "--all")
    git(repo, "reset", "--quiet", "--hard")


def empty_directory(repo: Path) -> None:
    (repo / "hollow/way").mkdir(parents=True)


NO_CHANGES = [
    color, no_prefix, quote_path, autocrlf, touch, collect, refresh, ignored, ignored_elsewhere,
    ignored_in_another_case, own_files, another_work_tree, added_as_it_is, renames_off, hooks,
    split_index, untracked_cache, sparse, submodule_not_set_up, reset, empty_directory,
]  # fmt: skip


@pytest.mark.parametrize("change", NO_CHANGES, ids=lambda one: one.__name__)
def test_harmless_operations_are_not_changes(work: Path, change: Callable[[Path], None]) -> None:
    project = open_project(work)
    (work / "mine.txt").write_text("untracked\n")
    git(work, "add", "mine.txt")
    git(work, "commit", "--quiet", "--message", "mine")
    before = snapshots.take(project, "t-1/before")
    change(work)
    with assert_untouched(work, with_objects=True):
        now = snapshots.read_tree(project)
        assert snapshots.compare(project, before.tree, now) == []
    assert now == before.tree
    with assert_untouched(work):
        after = snapshots.take(project, "t-1/after")
    assert after.tree == before.tree
    assert [*work.glob("*-ran")] == []


ENVIRONMENT = {
    "GIT_DIR": "/nowhere",
    "GIT_WORK_TREE": "/nowhere",
    "GIT_INDEX_FILE": "/nowhere",
    "GIT_OBJECT_DIRECTORY": "/nowhere",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nowhere",
    "GIT_CONFIG_PARAMETERS": "'core.autocrlf=true'",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.autocrlf",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_CONFIG_KEY_1": "core.fileMode",
    "GIT_CONFIG_VALUE_1": "false",
    "GIT_EXTERNAL_DIFF": "false",
    "GIT_DIFF_OPTS": "-u0",
    "GIT_ICASE_PATHSPECS": "1",
    "GIT_TRACE": "1",
    "GIT_DEFAULT_HASH": "sha256",
    "LC_ALL": "de_DE.UTF-8",
}


def test_environment_variables_do_not_change_the_result(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/before")
    expected = edit(work) | chmod(work)
    after = snapshots.take(project, "t-1/after")
    patch = snapshots.diff(project, before.tree, after.tree)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    subprocess.run(["rm", "-rf", work / ".git/kedge"], check=True)
    assert snapshots.read_tree(project) == after.tree
    assert _facts(snapshots.compare(project, before.tree, after.tree)) == expected
    assert snapshots.diff(project, before.tree, after.tree) == patch
    assert snapshots.take(project, "t-1/again").tree == after.tree


def test_settings_of_the_user_do_not_change_a_patch(work: Path) -> None:
    project = open_project(work)
    before = snapshots.take(project, "t-1/before")
    edit(work)
    rename_by_git(work)
    binary(work)
    after = snapshots.take(project, "t-1/after")
    patch = snapshots.diff(project, before.tree, after.tree)
    for setting in (color, no_prefix, quote_path, autocrlf, renames_off):
        setting(work)
    for key, value in {
        "diff.context": "0",
        "diff.algorithm": "patience",
        "diff.x.binary": "true",
    }.items():
        git(work, "config", key, value)
    (work / ".git/info/attributes").write_text("*.py diff=x -diff\n")
    assert snapshots.diff(project, before.tree, after.tree) == patch
    assert snapshots.read_tree(project) == after.tree


def _lines(*numbers: int, text: str = TEXT) -> str:
    lines = text.splitlines(keepends=True)
    for number in numbers:
        lines[number] = f"{lines[number].strip()} again\n"
    return "".join(lines)


def _back_to_a_file(repo: Path) -> None:
    (repo / "README").rmdir()
    (repo / "README").write_text("back\n")


def _back_to_a_directory(repo: Path) -> None:
    (repo / "src").unlink()
    (repo / "src").mkdir()
    (repo / "src/app.py").write_text("x\n")


def _program_again(repo: Path) -> None:
    _append(repo / "run.sh")
    (repo / "run.sh").chmod(0o755)


STEPS: dict[str, list[Callable[[Path], object]]] = {
    "other files": [edit, chmod, delete],
    "overlapping lines": [
        lambda repo: (repo / "README").write_text(_lines(3, 4, 5)),
        lambda repo: (repo / "README").write_text(_lines(4, text=_lines(3, 4, 5))),
        lambda repo: (repo / "README").write_text(_lines(3, 5, 6)),
    ],
    "the same lines, and back": [
        lambda repo: (repo / "README").write_text(_lines(3)),
        lambda repo: (repo / "README").write_text(TEXT),
        lambda repo: (repo / "README").write_text(_lines(3)),
    ],
    "new, edited, deleted": [
        new_file,
        lambda repo: _append(repo / "new.txt"),
        lambda repo: (repo / "new.txt").unlink(),
    ],
    "renamed, edited, renamed back": [
        rename,
        lambda repo: _append(repo / "src/main.py"),
        lambda repo: (repo / "src/main.py").rename(repo / "src/app.py"),
    ],
    "binary over and over": [
        binary,
        lambda repo: (repo / "data.bin").write_bytes(b"\0x"),
        lambda repo: (repo / "data.bin").write_bytes(b""),
    ],
    "line endings": [
        crlf_flip,
        lambda repo: (repo / "lf.txt").write_bytes(b"a\rb\r\nc"),
        crlf_flip,
    ],
    "kinds": [
        file_to_link,
        lambda repo: (repo / "README").unlink(),
        lambda repo: (repo / "README").write_text("x"),
    ],
    "file, directory, file": [
        file_to_directory,
        lambda repo: (repo / "README/part").unlink(),
        _back_to_a_file,
    ],
    "directory, link, directory": [
        directory_to_link,
        _back_to_a_directory,
    ],
    "names": [
        odd_names,
        lambda repo: (repo / "-rf").rename(repo / "two\nlines"),
        lambda repo: (repo / BYTES).unlink(),
    ],
    "submodule": [submodule_moves, lambda repo: git(repo / "sub", "checkout", "--quiet", "main")],
    "commits between": [edit, committed, rename_and_edit],
    "no newline at the end": [
        lambda repo: (repo / "README").write_text(TEXT.rstrip("\n")),
        lambda repo: (repo / "README").write_text(TEXT),
        lambda repo: (repo / "README").write_text(TEXT.rstrip("\n") + "x"),
    ],
    "empty, and not": [
        lambda repo: (repo / "README").write_text(""),
        lambda repo: (repo / "README").write_text("x"),
    ],
    "modes with edits": [
        chmod,
        _program_again,
    ],
}


@pytest.mark.parametrize("name", STEPS)
def test_applying_the_patch_of_each_step_gives_the_last_tree(
    work: Path, tmp_path: Path, name: str
) -> None:
    project = open_project(work)
    trees = [snapshots.take(project, "t-1/step-0").tree]
    patches = []
    for number, step in enumerate(STEPS[name], 1):
        step(work)
        trees.append(snapshots.take(project, f"t-1/step-{number}").tree)
        patches.append(snapshots.diff(project, trees[-2], trees[-1]))
    assert apply_patches(work, trees[0], patches, tmp_path) == trees[-1]
    whole = snapshots.diff(project, trees[0], trees[-1])
    assert apply_patches(work, trees[0], [whole], tmp_path) == trees[-1]
    back = snapshots.diff(project, trees[-1], trees[0])
    assert apply_patches(work, trees[-1], [back], tmp_path) == trees[0]


def _amend(repo: Path) -> None:
    edit(repo)
    git(repo, "commit", "--quiet", "--all", "--amend", "--no-edit")


def _switch(repo: Path) -> None:
    git(repo, "stash", "--quiet", "--include-untracked")
    git(repo, "switch", "--quiet", "sibling")


def _commit_all(repo: Path) -> None:
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "all of it")


def _commit_a_part(repo: Path) -> None:
    git(repo, "commit", "--quiet", "--message", "a part", "README")


def _reset(repo: Path) -> None:
    git(repo, "stash", "--quiet", "--include-untracked")


STATES = {
    RepoStatus.SAME: lambda repo: None,
    RepoStatus.CHANGED: lambda repo: _append(repo / "src/app.py"),
    RepoStatus.COMMITTED: _commit_all,
    RepoStatus.ADVANCED: _commit_a_part,
    RepoStatus.AMENDED: _amend,
    RepoStatus.REVERTED: _reset,
    RepoStatus.REBASED: _switch,
}


@pytest.mark.parametrize("settings", ["plain", "autocrlf"])
@pytest.mark.parametrize("state", STATES)
def test_the_state_of_head_is_described(work: Path, state: RepoStatus, settings: str) -> None:
    git(work, "commit", "--quiet", "--allow-empty", "--message", "second")
    git(work, "branch", "sibling", "HEAD~1")
    if settings == "autocrlf":
        # With conversions even an unchanged file has other bytes on the disk than in the commit.
        (work / "crlf.txt").write_bytes(b"a\nb\n")
        git(work, "commit", "--quiet", "--all", "--message", "lf")
        git(work, "config", "core.autocrlf", "true")
        (work / "crlf.txt").unlink()
        git(work, "checkout", "--quiet", "crlf.txt")
        assert (work / "crlf.txt").read_bytes() == b"a\r\nb\r\n"
    project = open_project(work)
    clean = snapshots.take(project, "t-1/clean")
    assert clean.clean
    assert snapshots.describe(project, clean.tree, clean.head) is RepoStatus.CLEAN
    _append(work / "README")
    (work / "new.txt").write_text("new\n")
    taken = snapshots.take(project, "t-1/taken")
    assert not taken.clean
    STATES[state](work)
    with assert_untouched(work, with_objects=True):
        assert snapshots.describe(project, taken.tree, taken.head) is state
    assert f"{snapshots.describe(project, taken.tree, taken.head)}" == state.value


def test_a_rebase_is_recognised(work: Path) -> None:
    git(work, "branch", "upstream")
    edit(work)
    git(work, "commit", "--quiet", "--all", "--message", "mine")
    git(work, "switch", "--quiet", "upstream")
    _append(work / "README")
    git(work, "commit", "--quiet", "--all", "--message", "theirs")
    git(work, "switch", "--quiet", "main")
    project = open_project(work)
    taken = snapshots.take(project, "t-1/taken")
    git(work, "rebase", "--quiet", "upstream")
    assert snapshots.describe(project, taken.tree, taken.head) is RepoStatus.REBASED
