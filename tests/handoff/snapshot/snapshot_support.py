"""A repository with a bit of everything, and checks that kedge leaves it alone."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support import git

from kedge.host import project

LATIN = "Größe = 3 Fuß\n".encode("latin-1")
TEXT = "".join(f"line {number}\n" for number in range(40))
BINARY = bytes(range(256)) * 8
NEWLINE = "two\nlines.txt"
BYTES = os.fsdecode(b"caf\xe9.txt")  # not UTF-8


def make(root: Path) -> Path:
    """Make a repository with all kinds of files, a submodule, and an ignored tracked file."""
    other = root / "other"
    other.mkdir(parents=True)
    git(other, "init", "--quiet", "--initial-branch=main")
    for text in ("one\n", "two\n"):
        (other / "lib.txt").write_text(text)
        git(other, "add", "--all")
        git(other, "commit", "--quiet", "--message", text.strip())
    repo = root / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main")
    (repo / ".gitignore").write_text("*.log\nbuild/\n/.kedge/\n")
    for name in ("src/app.py", "src/deep/er/mod.py", "docs/guide.md", "README"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(f"{name}\n{TEXT}")
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("docs/guide.md")
    (repo / "data.bin").write_bytes(BINARY)
    (repo / "latin.txt").write_bytes(LATIN)
    (repo / "crlf.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    (repo / "lf.txt").write_bytes(b"a\nb\nc\n")
    for name in ("ünï.txt", NEWLINE, BYTES):
        (repo / name).write_text(f"{name!r}\n")
    (repo / "kept.log").write_text("tracked, and ignored\n")
    (repo / "seen.log").write_text("ignored\n")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other", "sub")
    git(repo, "add", "--all")
    git(repo, "add", "--force", "kept.log")
    git(repo, "commit", "--quiet", "--message", "base")
    return repo


def open_project(root: Path) -> project.Project:
    return project.find(root)


def read_all_state(repo: Path) -> dict[str, tuple[int, bytes]]:
    """Return the state of the work tree and `.git`, without objects and kedge's own files."""
    seen = {}
    for directory, names, plain in os.walk(repo):
        at = Path(directory)
        inside = at.relative_to(repo).as_posix()
        if inside == ".git":
            names[:] = [name for name in names if name not in ("objects", "kedge")]
        if inside == ".git/refs":
            names[:] = [name for name in names if name != "kedge"]
        for name in (*names, *plain):
            path = at / name
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                data = os.fsencode(path.readlink())
            elif stat.S_ISREG(mode):
                data = path.read_bytes()
            else:
                data = b""
            seen[str(path.relative_to(repo))] = (mode, data)
    return seen


def objects(repo: Path) -> set[str]:
    return {str(path) for path in (repo / ".git" / "objects").rglob("*") if path.is_file()}


@contextlib.contextmanager
def assert_untouched(repo: Path, *, with_objects: bool = False) -> Iterator[None]:
    """Assert that the user's files are the same afterwards."""
    before = read_all_state(repo), objects(repo) if with_objects else set()
    yield
    after = read_all_state(repo), objects(repo) if with_objects else set()
    for name in sorted({*before[0]} | {*after[0]}):
        assert after[0].get(name) == before[0].get(name), name
    assert after[1] == before[1]


def apply_patches(repo: Path, tree: str, patches: list[bytes], scratch: Path) -> str:
    """Return the tree that git makes by applying the patches to a tree, in an index."""
    own = next((repo / ".git" / "kedge" / "snapshots").glob("*/objects"))
    env = {
        **os.environ,
        "GIT_INDEX_FILE": str(scratch / "index-of-patches"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(own),
    }
    (scratch / "index-of-patches").unlink(missing_ok=True)

    def run(*args: str, input: bytes | None = None) -> bytes:
        argv = ["git", "-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null", *args]
        done = subprocess.run(argv, cwd=repo, env=env, input=input, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("read-tree", tree)
    for patch in patches:
        if patch:
            run("apply", "--binary", "--cached", "--whitespace=nowarn", input=patch)
    return run("write-tree").decode().strip()
