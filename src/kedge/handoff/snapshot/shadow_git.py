"""A private git directory beside the user's, which shares only the work tree and the objects.

Its own index makes the next reading of the tree quick, and its own attributes override the
repository's, so that git reads files exactly as they are on the disk. The user's settings do not
apply to it. It can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NewType

from kedge.errors import FileError, GitError, InvalidValue, NoRepository
from kedge.host import files, git
from kedge.host.digest import digest
from kedge.host.project import Project

TreeId = NewType("TreeId", str)

WHOLE = "objects/info/whole"  # a file that names the tree whose objects are all present
TIMEOUT = 900.0  # seconds, for a large tree on a slow disk
OWN = ":(top,exclude).kedge"
_LOCK_TIMEOUT = 120.0
_MAX_LOOSE = 100  # objects in one of 256 directories
_MAX_PACKS = 40

# Switches off every conversion of git; whether a diff treats a file as text depends on its bytes.
_ATTRIBUTES = b"* -text -eol -crlf -filter -ident -working-tree-encoding !diff\n"
_CONFIG = """\
[core]
\trepositoryFormatVersion = {version}
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tprotectHFS = false
\tprotectNTFS = false
\ttrustCtime = true
\tcheckStat = default
\tsplitIndex = false
\tuntrackedCache = false
\tpreloadIndex = true
\tlogAllRefUpdates = false
\tsharedRepository = {shared}
[index]
\tversion = 4
\tskipHash = true
[extensions]
\tobjectFormat = {format}
"""


@dataclass(frozen=True, slots=True)
class ShadowGit:
    """Runs git on the work tree of `repo` with the private git directory `path`."""

    repo: git.Repo
    path: Path
    exclude: tuple[str, ...]  # pathspecs that exclude kedge's own files

    @property
    def user_objects(self) -> Path:
        return self.repo.common_dir / "objects"

    @property
    def sha256(self) -> bool:
        """True if object ids are SHA-256 hashes. Read it while the lock is held."""
        return b"sha256" in (files.read_bytes(self.path / "config") or b"")

    def git(
        self,
        *args: str,
        input: bytes | None = None,  # noqa: A002 - the word subprocess uses
        keep: bool = False,
        index: Path | None = None,
    ) -> bytes:
        """Run a git command and return its output.

        With `keep` it reads and writes the user's objects only; otherwise it writes private ones
        and reads both.
        """
        env = self._env(keep=keep, index=index)
        return git.run(self.repo.root, args, input=input, env=env, timeout=TIMEOUT)

    def ask(self, *args: str, keep: bool = False) -> bytes | None:
        """Like `git`, but return None if git fails."""
        try:
            return self.git(*args, keep=keep)
        except GitError:
            return None

    def run_verbose(self, *args: str) -> tuple[bytes, list[str]]:
        """Run a git command; return its output and the lines it wrote to stderr."""
        return _run_verbose(self.repo.root, args, self._env())

    def run_user_git(self, *args: str) -> tuple[bytes, list[str]]:
        """Like `run_verbose`, with the user's own index and ignore rules."""
        return _run_verbose(self.repo.root, args, {"GIT_LITERAL_PATHSPECS": "0"})

    def _env(self, *, keep: bool = False, index: Path | None = None) -> dict[str, str]:
        own = self.path / "objects"
        return {
            "GIT_DIR": str(self.path),
            "GIT_WORK_TREE": str(self.repo.root),
            "GIT_INDEX_FILE": str(index or self.path / "index"),
            "GIT_OBJECT_DIRECTORY": str(self.user_objects if keep else own),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": "" if keep else _quote(self.user_objects),
            "GIT_LITERAL_PATHSPECS": "0",
            "GIT_CONFIG_COUNT": "0",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "HOME": str(self.path),  # git before 2.32 has no variable for the settings
            "XDG_CONFIG_HOME": str(self.path),
        }

    def prepare(self) -> ShadowGit:
        """Create the directory if needed and return self, for commands that only read objects."""
        if not (self.path / "config").is_file():
            with self.lock():
                pass
        return self

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock, with the directory in place."""
        if self.path.is_symlink() or self.path.parent.is_symlink():
            raise FileError(
                f"{self.path} is a symbolic link, or in a linked directory", hint="remove the link"
            )
        with files.lock(self.path.with_suffix(".lock"), timeout=_LOCK_TIMEOUT):
            try:
                self._create()
            except OSError as error:
                raise files.file_error("prepare", self.path, error) from error
            yield

    def _create(self) -> None:
        (self.path / "index.lock").unlink(missing_ok=True)  # left by a killed process
        if (self.path / "config").is_file():
            _tidy(self.path / "objects")
            return
        shutil.rmtree(self.path, ignore_errors=True)
        for name in ("objects/pack", "objects/info", "refs", "info"):
            (self.path / name).mkdir(parents=True)
        (self.path / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        (self.path / "info" / "attributes").write_bytes(_ATTRIBUTES)
        kind = self.repo.git("rev-parse", "--show-object-format").decode().strip()
        shared = self.repo.ask("config", "--get", "core.sharedRepository") or b""
        text = _CONFIG.format(
            version=0 if kind == "sha1" else 1,
            format=kind,
            shared=shared.decode().strip() if re.fullmatch(rb"\w+\n", shared) else "umask",
        )
        if kind == "sha1":
            text = text.partition("[extensions]")[0]
        files.write_atomic(
            self.path / "config", text.encode()
        )  # last: it marks the directory as complete


def open_shadow(project: Project) -> ShadowGit:
    """Return the shadow of the project's work tree, without creating anything."""
    repo = project.repo
    if repo is None:
        raise NoRepository(f"{project.root} is not in a git repository", hint="run git init there")
    home = project.home().absolute()
    exclude = [OWN]
    inside = home.is_relative_to(repo.root) and home != repo.root
    if inside and not home.is_relative_to(repo.common_dir):
        exclude.append(f":(top,exclude,literal){home.relative_to(repo.root)}")
    if home == repo.common_dir / "kedge":
        home = repo.git_dir / "kedge"  # so that git removes it with a linked work tree
    name = digest([os.fsencode(repo.git_dir), os.fsencode(repo.root)])[:16]
    return ShadowGit(repo, home / "snapshots" / name, tuple(exclude))


def check_object_id(text: str) -> str:
    """Return the text if it is a full object id, so that git reads it as nothing else."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise InvalidValue(f"{text[:80]!r} is not a tree", hint="give the full id of a tree")
    return text


def _run_verbose(cwd: Path, args: tuple[str, ...], env: dict[str, str]) -> tuple[bytes, list[str]]:
    settings = ["-c", "core.ignoreCase=false"]
    return git.run_with_messages(cwd, [*settings, *args], env=env, timeout=TIMEOUT)


def _quote(path: Path) -> str:
    """Quote a path for git's list of object directories, which is separated by colons."""
    text = str(path)
    if re.search(r'[:"\\\n]', text):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return text


def _tidy(objects: Path) -> None:
    """Delete the private objects of earlier readings when there are many."""
    limits = {"17": _MAX_LOOSE, "pack": 2 * _MAX_PACKS}
    if any(_count(objects / name) > limit for name, limit in limits.items()):
        shutil.rmtree(objects, ignore_errors=True)
    for name in ("pack", "info"):
        (objects / name).mkdir(parents=True, exist_ok=True)


def _count(directory: Path) -> int:
    try:
        return len(os.listdir(directory))  # noqa: PTH208 - only the count
    except FileNotFoundError:
        return 0
