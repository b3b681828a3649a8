"""Git: the one place that runs it, and that knows where a repository is.

Whatever the user has set up (aliases, colours, quoting, hooks that watch the file system,
variables of a surrounding git command) must not change an answer: see `plain_git`.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from kedge.errors import BareRepository, GitError, NoRepository, ProgramError
from kedge.host import plain_git, plain_repo
from kedge.host.plain_git import OPTIONS, environment
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.host import proc

TIMEOUT = 60.0
HOOKS_TIMEOUT = 1800.0  # for what may run the user's hooks, tests and all
_IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")


class Repo(NamedTuple):
    """A git work tree. `common_dir` is shared by all work trees of the repository."""

    root: Path
    git_dir: Path
    common_dir: Path

    def git(
        self,
        *args: str,
        input: bytes | None = None,  # noqa: A002 - the word subprocess uses
        env: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> bytes:
        """The output of one git command in the work tree; a failure raises GitError."""
        return run(self.root, args, input=input, env=env, timeout=timeout)

    def quick(self, *args: str, env: Mapping[str, str] | None = None) -> bytes:
        """As `git`, without loading what it takes to tell a failure, unless there is one."""
        try:
            found = plain_git.said(str(self.root), args, env or {}, TIMEOUT)
        except TimeoutError:
            raise _too_long(args, TIMEOUT) from None
        return self.git(*args, env=env) if found is None else found

    def as_user(self, *args: str, input: bytes | None = None) -> bytes:  # noqa: A002
        """As `git`, with the user's own hooks and settings in force, for what is theirs to make."""
        own = {key: value for key, value in os.environ.items() if key.startswith(_IDENTITY)}
        done = _start(self.root, args, input, own, HOOKS_TIMEOUT, options=())
        if done.code != 0:
            raise _failure(args, done)
        return done.stdout

    def ask(self, *args: str) -> bytes | None:
        """As `git`, but None where git says no (a missing ref, an unset value)."""
        done = _start(self.root, args, None, None, TIMEOUT)
        if done.code not in (0, 1, 128):
            raise _failure(args, done)
        if done.code == 128:
            self.git("rev-parse", "--git-dir")  # raises when git refuses the repository as such
        return done.stdout if done.code == 0 else None

    def head(self) -> str | None:
        """The commit of HEAD, or None while the branch has none."""
        if plain := self._plain_head():
            return plain
        found = self.ask("rev-parse", "--verify", "--quiet", "HEAD")
        return found.decode().strip() if found else None

    def _plain_head(self) -> str | None:
        """The common cases without a process: a commit, or a branch in a file as git writes it."""
        found = plain_repo.small(self.git_dir / "HEAD").removesuffix(b"\n")
        if re.fullmatch(rb"ref: refs/heads/[\w/.-]+", found) and b".." not in found:
            name = found[5:]
            own = self.common_dir / name.decode()
            if os.path.lexists(own):
                found = plain_repo.small(own).removesuffix(b"\n")
            else:
                packed = b"\n" + plain_repo.small(self.common_dir / "packed-refs")
                found = packed.partition(b" " + name + b"\n")[0].rpartition(b"\n")[2]
        return found.decode() if re.fullmatch(rb"[0-9a-f]{40}|[0-9a-f]{64}", found) else None

    def head_files(self) -> list[Path] | None:
        """The files that say which commit HEAD is, and what of its history is there; None where
        only git knows."""
        if self._plain_head() is None:
            return None
        head = plain_repo.small(self.git_dir / "HEAD").removesuffix(b"\n")
        named = [os.fsdecode(head[5:])] if head.startswith(b"ref: ") else []
        shared = [self.common_dir / name for name in (*named, "packed-refs", "shallow")]
        return [self.git_dir / "HEAD", *shared]

    def shallow(self) -> str:
        """Names what of the history is there: another text when a shallow clone gets more."""
        return str(zlib.crc32(plain_repo.small(self.common_dir / "shallow")))

    def branch(self) -> str | None:
        """The branch's name, also while it has no commit; None when HEAD is detached."""
        found = self.ask("symbolic-ref", "--quiet", "HEAD")
        if not found:
            return None
        # git's own short form says heads/x where there is a tag x, too.
        name = found.removesuffix(b"\n").removeprefix(b"refs/heads/")
        return name.decode("utf-8", "surrogateescape")

    @property
    def linked(self) -> bool:
        """Whether this is one of several work trees, and not the main one."""
        return self.git_dir != self.common_dir


def find(start: Path) -> Repo:
    """The work tree that holds `start`. NoRepository and BareRepository say why there is none."""
    plain = plain_repo.find(str(start))
    return Repo(*map(Path, plain)) if plain is not None else _find_by_git(start)


def run(
    cwd: Path,
    args: Sequence[str],
    *,
    input: bytes | None = None,  # noqa: A002 - the word subprocess uses
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> bytes:
    done = _start(cwd, args, input, env, timeout)
    if done.code != 0:
        raise _failure(args, done)
    return done.stdout


def heard(
    cwd: Path,
    args: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> tuple[bytes, list[str]]:
    """As `run`, with the lines that git said beside its output."""
    done = _start(cwd, args, None, env, timeout)
    if done.code != 0:
        raise _failure(args, done)
    said = done.stderr.decode("utf-8", "surrogateescape")
    return done.stdout, [line for line in said.splitlines() if line.strip()]


def is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises where one may not look


def split_z(output: bytes) -> list[str]:
    """The entries of `-z` output; bytes that are no UTF-8 survive as surrogates."""
    return [part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part]


def _start(
    cwd: Path,
    args: Sequence[str],
    data: bytes | None,
    env: Mapping[str, str] | None,
    timeout: float,
    options: Sequence[str] = OPTIONS,
) -> proc.Finished:
    from kedge.host import proc

    try:
        done = proc.run(
            ["git", *options, *args], cwd=cwd, env=environment(env), input=data, timeout=timeout
        )
    except ProgramError as error:
        if not is_directory(cwd):
            raise GitError(f"no directory {cwd}", hint="go to one that is there") from error
        if isinstance(error.__cause__, FileNotFoundError):
            raise GitError("git is not installed", hint="install git 2.30 or later") from error
        raise GitError(f"git {args[0]} failed: {error.message}", hint=error.hint) from error
    if done.timed_out:
        raise _too_long(args, timeout)
    return done


def _too_long(args: Sequence[str], seconds: float) -> GitError:
    return GitError(
        f"git {args[0]} took more than {seconds:g} s and was ended",
        hint="see whether another git is at work, or the disk is slow",
    )


def _failure(args: Sequence[str], done: proc.Finished) -> GitError:
    said = done.stderr.decode("utf-8", "replace").strip()
    if "dubious ownership" in said or "unsafe repository" in said:
        trust = "git config --global --add safe.directory "
        told = [line.strip() for line in said.splitlines() if trust in line]
        return GitError(
            "git does not trust this repository: it belongs to another user",
            hint=f"{told[0] if told else trust + 'PATH'}, if you do",
        )
    lines = [line for line in said.splitlines() if not line.startswith("hint:")]
    reason = lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else "no message"
    return GitError(f"git {args[0]} failed: {reason}", hint="git status may tell more")


def _find_by_git(start: Path) -> Repo:
    if not is_directory(start):
        raise NoRepository(f"no directory {start}", hint="go to one that is there")
    asked = ("rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree")
    done = _start(start, asked, None, None, TIMEOUT)
    if done.code != 0:
        if b"not a git repository (or any" in done.stderr:
            raise NoRepository(
                f"{start} is not in a git repository", hint="go into one, or run git init"
            )
        raise _failure(asked, done)
    bare, in_git_dir, inside = (word == b"true" for word in done.stdout.split())
    if not inside:
        what = "a bare repository" if bare else "the .git directory"
        raise BareRepository(
            f"{start} is {'in ' + what if bare or in_git_dir else 'outside its work tree'}, "
            "where there are no files to work on",
            hint="go into a work tree (git worktree list shows them)",
        )
    return Repo(
        _path(start, "--show-toplevel"),
        _path(start, "--absolute-git-dir"),
        Path(os.path.realpath(start / _path(start, "--git-common-dir"))),
    )


def _path(start: Path, what: str) -> Path:
    # One at a time: a directory's name may have a line break in it.
    return Path(os.fsdecode(run(start, ["rev-parse", what]).removesuffix(b"\n")))
