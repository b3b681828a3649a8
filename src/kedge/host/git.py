"""Run git, and find the repository of a directory.

The user's setup (aliases, colours, quoting, file system monitors, variables of a surrounding git
command) must not change an answer: see `git_settings`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.errors import BareRepository, GitError, NoRepository, ProgramError
from kedge.host import plain_repo
from kedge.host.git_settings import OPTIONS, environment

if TYPE_CHECKING:
    from kedge.host import proc


TIMEOUT = 60.0
HOOKS_TIMEOUT = 1800.0  # for commands that run the user's hooks, which may run tests
_IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")
# Commands that convert files between the work tree and git, and run the filters for that.
_CONVERTING = frozenset(
    ("add", "blame", "checkout-index", "describe", "diff", "diff-files", "diff-index")
).union(("hash-object", "merge", "reset", "status", "update-index", "worktree"))
_RECURSING, _IGNORE = ("diff", "status"), "--ignore-submodules"
_FILTERS = r"^filter\..*\.(clean|smudge|process)$"


@dataclass(frozen=True, slots=True)
class Repo:
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
        filters: bool = False,
    ) -> bytes:
        """Run a git command in the work tree and return its output. Raises GitError on failure.

        With `filters` it runs the filters of the user's settings, which may be programs.
        """
        return run(self.root, args, input=input, env=env, timeout=timeout, filters=filters)

    def as_user(
        self,
        *args: str,
        input: bytes | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> bytes:
        """Like `git`, but with the user's own hooks, settings and identity."""
        own = {key: value for key, value in os.environ.items() if key.startswith(_IDENTITY)}
        own |= env or {}
        done = _start(cwd or self.root, args, input, own, HOOKS_TIMEOUT, options=())
        return _check(args, done).stdout

    def ask(self, *args: str) -> bytes | None:
        """Like `git`, but None where git answers no (a missing ref, an unset value)."""
        done = _start(self.root, args, None, None, TIMEOUT)
        if done.code not in (0, 1, 128):
            raise _failure(args, done)
        if done.code == 128:
            self.git("rev-parse", "--git-dir")  # raises if git refuses the repository itself
        return done.stdout if done.code == 0 else None

    def list_ignored(self, paths: Iterable[str]) -> set[str]:
        """Return those of the paths that git ignores, and `git add` therefore refuses."""
        data = b"".join(os.fsencode(path) + b"\0" for path in paths)
        # `check-ignore` refuses to take paths literally
        env = {"GIT_LITERAL_PATHSPECS": "0"}
        args = ("check-ignore", "-z", "--stdin")
        done = _start(self.root, args, data, env, TIMEOUT)
        if done.code not in (0, 1):
            raise _failure(args, done)
        return {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}

    def head(self) -> str | None:
        """Return the commit of HEAD, or None while the branch has no commit."""
        output = self.ask("rev-parse", "--verify", "--quiet", "HEAD")
        return output.decode().strip() if output else None

    def shallow(self) -> str:
        """Return a stamp that changes when a shallow clone gets more history."""
        return str(zlib.crc32(plain_repo.read_small(self.common_dir / "shallow")))

    def branch(self) -> str | None:
        """Return the branch's name, also while it has no commit; None if HEAD is detached."""
        output = self.ask("symbolic-ref", "--quiet", "HEAD")
        if not output:
            return None
        # git's --short form says heads/x if there is also a tag x.
        name = output.removesuffix(b"\n").removeprefix(b"refs/heads/")
        return name.decode("utf-8", "surrogateescape")

    @property
    def linked(self) -> bool:
        """True for a linked work tree, false for the repository's main one."""
        return self.git_dir != self.common_dir


def find(start: Path) -> Repo:
    """Return the work tree that contains `start`. Raises NoRepository or BareRepository."""
    plain = plain_repo.find(str(start))
    return Repo(*map(Path, plain)) if plain is not None else _find_by_git(start)


def run(
    cwd: Path,
    args: Sequence[str],
    *,
    input: bytes | None = None,  # noqa: A002 - the word subprocess uses
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    filters: bool = False,
) -> bytes:
    """Run a git command in a directory and return its output. Raises GitError on failure."""
    return _check(args, _start(cwd, args, input, env, timeout, filters=filters)).stdout


def run_with_messages(
    cwd: Path,
    args: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> tuple[bytes, list[str]]:
    """Like `run`, but also return the lines that git printed to standard error."""
    done = _check(args, _start(cwd, args, None, env, timeout))
    messages = done.stderr.decode("utf-8", "surrogateescape")
    return done.stdout, [line for line in messages.splitlines() if line.strip()]


def is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises PermissionError


def split_z(output: bytes) -> list[str]:
    """Return the entries of `-z` output; bytes that are not UTF-8 become surrogates."""
    return [part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part]


def _start(
    cwd: Path,
    args: Sequence[str],
    data: bytes | None,
    env: Mapping[str, str] | None,
    timeout: float,
    options: Sequence[str] = OPTIONS,
    *,
    filters: bool = False,
) -> proc.ProgramResult:
    from kedge.host import proc

    words = [*options, *args]
    if options:  # kedge only looks: git must not fetch what is missing, with whatever program
        env = {"GIT_ALLOW_PROTOCOL": "", **(env or {})}
    own = env is not None and "GIT_DIR" in env  # a private repository, which names no filter
    if options and not filters and not own and _is_converting(args):
        words = [*options, *_guard(cwd, args, timeout)]
    try:
        done = proc.run(["git", *words], cwd=cwd, env=environment(env), input=data, timeout=timeout)
    except ProgramError as error:
        if not is_directory(cwd):
            raise GitError(f"no directory {cwd}", hint="go to an existing directory") from error
        if isinstance(error.__cause__, FileNotFoundError):
            raise GitError("git is not installed", hint="install git 2.30 or later") from error
        raise GitError(f"git {args[0]} failed: {error.message}", hint=error.hint) from error
    if done.timed_out:
        raise GitError(
            f"git {args[0]} took more than {timeout:g} s and was stopped",
            hint="check whether another git is running, or the disk is slow",
        )
    return done


def _is_converting(args: Sequence[str]) -> bool:
    """True if git compares or converts files of the work tree for this command."""
    command = _find_command(args)
    return command in _CONVERTING or (command == "ls-files" and "--modified" in args)


def _find_command(args: Sequence[str]) -> str:
    """Return git's command: the first word after settings."""
    at = 0
    while at < len(args) and args[at] == "-c":
        at += 2
    return args[at] if at < len(args) else ""


def _guard(cwd: Path, args: Sequence[str], timeout: float) -> list[str]:
    """Return the arguments with which git runs none of the filters that settings name.

    Git would ask submodules for changed files, too, with the settings and filters of each.
    """
    words = ("config", "-z", "--name-only", "--get-regexp", _FILTERS)
    done = _start(cwd, words, None, None, timeout)
    if done.code not in (0, 1):
        raise _failure(words, done)
    values = []
    for name in dict.fromkeys(key.rpartition(".")[0] for key in split_z(done.stdout)):
        values += [f"{name}.{key}" for key in ("clean=", "smudge=", "process=", "required=false")]
    guarded = [word for value in values for word in ("-c", value)] + [*args]
    command = _find_command(args)
    if command in _RECURSING and not any(one.startswith(_IGNORE) for one in args):
        guarded.insert(guarded.index(command) + 1, f"{_IGNORE}=dirty")
    return guarded


def _check(args: Sequence[str], done: proc.ProgramResult) -> proc.ProgramResult:
    if done.code != 0:
        raise _failure(args, done)
    return done


def _failure(args: Sequence[str], done: proc.ProgramResult) -> GitError:
    message = done.stderr.decode("utf-8", "replace").strip()
    if "dubious ownership" in message or "unsafe repository" in message:
        trust = "git config --global --add safe.directory "
        advice = [line.strip() for line in message.splitlines() if trust in line]
        return GitError(
            "git does not trust this repository: it belongs to another user",
            hint=f"if you trust it: {advice[0] if advice else trust + 'PATH'}",
        )
    lines = [line for line in message.splitlines() if not line.startswith("hint:")]
    reason = lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else "no message"
    return GitError(f"git {args[0]} failed: {reason}", hint="git status may show why")


def _find_by_git(start: Path) -> Repo:
    if not is_directory(start):
        raise NoRepository(f"no directory {start}", hint="go to an existing directory")
    asked = ("rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree")
    done = _start(start, asked, None, None, TIMEOUT)
    if done.code != 0:
        if b"not a git repository (or any" in done.stderr:
            raise NoRepository(
                f"{start} is not in a git repository", hint="go to a repository, or run git init"
            )
        raise _failure(asked, done)
    bare, in_git_dir, inside = (word == b"true" for word in done.stdout.split())
    if not inside:
        what = "a bare repository" if bare else "the .git directory"
        raise BareRepository(
            f"{start} is {'in ' + what if bare or in_git_dir else 'outside its work tree'}, "
            "where there are no files to work on",
            hint="go to a work tree (git worktree list shows them)",
        )
    return Repo(
        _path(start, "--show-toplevel"),
        _path(start, "--absolute-git-dir"),
        Path(os.path.realpath(start / _path(start, "--git-common-dir"))),
    )


def _path(start: Path, what: str) -> Path:
    # One query at a time: a directory's name may contain a line break.
    return Path(os.fsdecode(run(start, ["rev-parse", what]).removesuffix(b"\n")))
