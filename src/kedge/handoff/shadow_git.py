"""A private git directory beside the user's: the same work tree and objects, nothing else shared.

It has an index of its own, whose stat data make the next look at the tree quick, and attributes
of its own that outrank the repository's, so that git reads files as they are on the disk. The
user's settings do not reach it. It can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from kedge.errors import FileError, GitError, InvalidValue, NoRepository
from kedge.host import files, git
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NewType

    TreeId = NewType("TreeId", str)
else:
    TreeId = str

WHOLE = "objects/info/whole"  # names the tree whose objects are all there
LONG = 900.0  # seconds: reading a large tree from a slow disk takes a while
OWN = ":(top,exclude).kedge"
_LOCK = 120.0
_MOST_LOOSE = 100  # objects in one of 256 directories
_MOST_PACKS = 40

# Not one of the conversions that git knows. How a file is shown in a diff is decided by its bytes.
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


class ShadowGit(NamedTuple):
    """Git on the work tree of `repo` by way of the private directory `path`."""

    repo: git.Repo
    path: Path
    apart: tuple[str, ...]  # pathspecs of what is kedge's own

    @property
    def theirs(self) -> Path:
        return self.repo.common_dir / "objects"

    @property
    def sha256(self) -> bool:
        """Whether objects are named by SHA-256; to be asked while it is locked."""
        return b"sha256" in (files.read_bytes(self.path / "config") or b"")

    def git(
        self,
        *args: str,
        input: bytes | None = None,  # noqa: A002 - the word subprocess uses
        keep: bool = False,
        index: Path | None = None,
    ) -> bytes:
        """The output of a git command. With `keep` it writes to the user's objects, and sees
        only those; otherwise to private ones, and it sees both."""
        env = self._env(keep=keep, index=index)
        return git.run(self.repo.root, args, input=input, env=env, timeout=LONG)

    def ask(self, *args: str, keep: bool = False) -> bytes | None:
        """As `git`, but None where git fails."""
        try:
            return self.git(*args, keep=keep)
        except GitError:
            return None

    def heard(self, *args: str) -> tuple[bytes, list[str]]:
        """The output of a git command, and the lines that it said beside it."""
        return _heard(self.repo.root, args, self._env())

    def theirs_heard(self, *args: str) -> tuple[bytes, list[str]]:
        """As `heard`, by the user's index and rules for what is ignored."""
        return _heard(self.repo.root, args, {"GIT_LITERAL_PATHSPECS": "0"})

    def _env(self, *, keep: bool = False, index: Path | None = None) -> dict[str, str]:
        own = self.path / "objects"
        return {
            "GIT_DIR": str(self.path),
            "GIT_WORK_TREE": str(self.repo.root),
            "GIT_INDEX_FILE": str(index or self.path / "index"),
            "GIT_OBJECT_DIRECTORY": str(self.theirs if keep else own),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": "" if keep else _quoted(self.theirs),
            "GIT_LITERAL_PATHSPECS": "0",
            "GIT_CONFIG_COUNT": "0",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "HOME": str(self.path),  # before git 2.32 there was no variable for the settings
            "XDG_CONFIG_HOME": str(self.path),
        }

    def ready(self) -> ShadowGit:
        """Itself, with the directory in place, for commands that only read objects."""
        if not (self.path / "config").is_file():
            with self.locked():
                pass
        return self

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """For one process at a time, with the directory in place."""
        if self.path.is_symlink() or self.path.parent.is_symlink():
            raise FileError(f"{self.path} is a link, or lies behind one", hint="remove the link")
        with files.lock(self.path.with_suffix(".lock"), timeout=_LOCK):
            try:
                self._prepare()
            except OSError as error:
                raise files.file_error("prepare", self.path, error) from error
            yield

    def _prepare(self) -> None:
        (self.path / "index.lock").unlink(missing_ok=True)  # of one that was killed
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
        files.write_atomic(self.path / "config", text.encode())  # last: it says that all is there


def of(project: Project) -> ShadowGit:
    """The shadow of the project's work tree; nothing is made by this."""
    repo = project.repo
    if repo is None:
        raise NoRepository(f"{project.root} is not in a git repository", hint="run git init there")
    home = project.home().absolute()
    apart = [OWN]
    inside = home.is_relative_to(repo.root) and home != repo.root
    if inside and not home.is_relative_to(repo.common_dir):
        apart.append(f":(top,exclude,literal){home.relative_to(repo.root)}")
    if home == repo.common_dir / "kedge":
        home = repo.git_dir / "kedge"  # that of a linked work tree goes when the work tree does
    name = digest([os.fsencode(repo.git_dir), os.fsencode(repo.root)])[:16]
    return ShadowGit(repo, home / "snapshots" / name, tuple(apart))


def object_id(text: str) -> str:
    """The text, when it is a full id, and nothing that git might take for something else."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise InvalidValue(f"{text[:80]!r} is not a tree", hint="a tree is named by its full id")
    return text


def _heard(cwd: Path, args: tuple[str, ...], env: dict[str, str]) -> tuple[bytes, list[str]]:
    settings = ["-c", "core.ignoreCase=false"]
    return git.heard(cwd, [*settings, *args], env=env, timeout=LONG)


def _quoted(path: Path) -> str:
    """A path for git's list of object directories, where a colon separates."""
    text = str(path)
    if re.search(r'[:"\\\n]', text):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return text


def _tidy(objects: Path) -> None:
    """Objects of looks that nobody needs any more go when there are many."""
    limits = {"17": _MOST_LOOSE, "pack": 2 * _MOST_PACKS}
    if any(_count(objects / name) > limit for name, limit in limits.items()):
        shutil.rmtree(objects, ignore_errors=True)
    for name in ("pack", "info"):
        (objects / name).mkdir(parents=True, exist_ok=True)


def _count(directory: Path) -> int:
    try:
        return len(os.listdir(directory))  # noqa: PTH208 - only their number
    except FileNotFoundError:
        return 0
