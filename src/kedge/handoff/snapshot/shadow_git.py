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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NewType

from kedge.errors import FileError, InvalidValue, NoRepository
from kedge.host import files, git
from kedge.host.digest import digest
from kedge.host.project import Project

TreeId = NewType("TreeId", str)

TIMEOUT = 900.0  # seconds, for a large tree on a slow disk
OWN = ":(top,exclude).kedge"
_LOCK_TIMEOUT = 120.0
_MAX_PRIVATE = 25_000  # objects; more are deleted once a snapshot has what it needs of them
_FEW = 100  # objects; more are stored in a pack, as in a fetch
_SMALL = 1 << 25  # bytes of a few objects

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
_VALUES = {"{version}": "[01]", "{shared}": r"\w+", "{format}": r"\w+"}
_CONFIG_PATTERN = re.compile(
    re.sub(
        r"\\\{\w+\\\}",
        lambda found: _VALUES[found[0].replace("\\", "")],
        re.escape(_CONFIG.partition("[extensions]")[0])
        + "(?:"
        + re.escape("[extensions]" + _CONFIG.partition("[extensions]")[2])
        + ")?",
    )
)


@dataclass(frozen=True, slots=True)
class ShadowGit:
    """Runs git on the work tree of `repo` with the private git directory `path`."""

    repo: git.Repo
    path: Path
    exclude: tuple[str, ...]  # pathspecs that exclude kedge's own files

    @property
    def user_objects(self) -> Path:
        return self.repo.common_dir / "objects"

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

    def run_verbose(self, *args: str, as_user: bool = False) -> tuple[bytes, list[str]]:
        """Run a git command; return its output and the lines it wrote to stderr.

        With `as_user` it has the user's own index and ignore rules.
        """
        env = {"GIT_LITERAL_PATHSPECS": "0"} if as_user else self._env()
        argv = ["-c", "core.ignoreCase=false", *args]
        return git.run_with_messages(self.repo.root, argv, env=env, timeout=TIMEOUT)

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

    def keep_objects(self, oids: Iterable[str]) -> None:
        """Copy those of the objects that are private to the user's repository."""
        objects = self.path / "objects"
        private = {path.parent.name + path.name: path for path in objects.glob("??/*")}
        wanted = private.keys() & set(oids) if private else set()
        if not wanted:
            return
        ids = "".join(f"{oid}\n" for oid in sorted(wanted)).encode()
        pack = ["pack-objects", "-q", "--local", "--non-empty", "--window=0", "--compression=1"]
        if len(wanted) > _FEW or sum(private[oid].stat().st_size for oid in wanted) > _SMALL:
            (self.user_objects / "pack").mkdir(exist_ok=True)
            self.git(*pack, str(self.user_objects / "pack" / "pack"), input=ids)
        elif data := self.git(*pack, "--stdout", input=ids):
            self.git("unpack-objects", "-q", input=data, keep=True)
        if len(private) > _MAX_PRIVATE:
            self._clear_objects()

    def forget_objects(self) -> None:
        """Delete the private objects, and the index that names them. Hold the lock."""
        self.forget_index()
        self._clear_objects()

    def _clear_objects(self) -> None:
        shutil.rmtree(self.path / "objects")
        self._create_objects()

    def forget_index(self) -> None:
        """Delete the index, so that the next reading starts from nothing. Hold the lock."""
        (self.path / "index").unlink(missing_ok=True)
        (self.path / "distrusted").unlink(missing_ok=True)

    def distrust_index(self) -> None:
        """Make the next holder of the lock forget the index."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "distrusted").touch()

    def remove_object(self, oid: str) -> None:
        """Remove an object whose content is not what its id says, here and in the repository."""
        for objects in (self.path / "objects", self.user_objects):
            (objects / oid[:2] / oid[2:]).unlink(missing_ok=True)
        self.distrust_index()

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
        if self._is_intact():
            self._create_objects()
            if (self.path / "distrusted").exists():
                self.forget_index()
            return
        shutil.rmtree(self.path, ignore_errors=True)
        self._create_objects()
        for name in ("refs", "info"):
            (self.path / name).mkdir()
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
        # The last file marks the directory as complete.
        files.write_atomic(self.path / "config", text.encode())

    def _is_intact(self) -> bool:
        """True if the directory is as kedge made it, without filters that somebody added."""
        if (files.read_bytes(self.path / "info" / "attributes") or b"") != _ATTRIBUTES:
            return False
        data = (files.read_bytes(self.path / "config") or b"").decode("utf-8", "replace")
        return _CONFIG_PATTERN.fullmatch(data) is not None

    def _create_objects(self) -> None:
        for name in ("pack", "info"):
            (self.path / "objects" / name).mkdir(parents=True, exist_ok=True)


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


def _quote(path: Path) -> str:
    """Quote a path for git's list of object directories, which is separated by colons."""
    text = str(path)
    if re.search(r'[:"\\\n]', text):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return text
