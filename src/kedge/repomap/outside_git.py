"""The files of a directory that is in no repository, by git's own rules of what is ignored."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kedge.errors import FileError
from kedge.host import git

MAX_FILES = 200_000
_MAX_REPOSITORIES = 200  # clones inside the directory
_NEVER = ("node_modules/", "__pycache__/", ".venv/", ".kedge/", ".hg/", ".svn/")


def list_paths(root: Path) -> list[bytes]:
    """The sorted paths of files and links below `root` that no `.gitignore` excludes.

    Git is asked through an empty repository in a temporary directory: it writes nothing below
    `root`, and the settings of a repository found there have no effect. Clones inside `root` are
    listed like other directories.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="kedge-list-", ignore_cleanup_errors=True) as home:
            # The name matters where `home` is below `root`: git never lists a `.git`.
            scratch = Path(home, ".git")
            git.run(root, ["init", "--quiet", "--template=", "--bare", str(scratch)])
            return _list_all(root, scratch)
    except OSError as error:
        raise FileError(
            f"no temporary directory: {error.strerror}", hint="point TMPDIR at a writable directory"
        ) from error


def _list_all(root: Path, git_dir: Path) -> list[bytes]:
    folders, paths = [b""], list[bytes]()
    for number, folder in enumerate(folders):
        if number > _MAX_REPOSITORIES or len(paths) > MAX_FILES:
            break
        for name in _list_untracked(root / os.fsdecode(folder), git_dir):
            (folders if name.endswith(b"/") else paths).append(folder + name)
    return sorted(paths)[:MAX_FILES]


def _list_untracked(folder: Path, git_dir: Path) -> list[bytes]:
    """The paths in `folder`; a repository inside it is one path that ends with a slash."""
    never = [f"--exclude={name}" for name in _NEVER]
    output = git.run(
        folder,
        ["ls-files", "-z", "--others", "--exclude-standard", *never],
        env={"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(folder)},
    )
    return [name for name in output.split(b"\0") if name]
