"""Git: the one place that runs it, and that knows where a repository is.

Whatever the user has set up (aliases, colours, quoting, hooks that watch the file system,
variables of a surrounding git command) must not change an answer: the environment is scrubbed
and what matters is set on each call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import BareRepository, GitError, NoRepository, ProgramError
from kedge.host import proc

TIMEOUT = 60.0
_KEPT = ("GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
_SET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "",
}
_CONFIG = {
    "advice.detachedHead": "false",
    "color.ui": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "false",
    "diff.mnemonicPrefix": "false",
    "diff.noprefix": "false",
    "gc.auto": "0",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "status.branch": "false",
    "status.relativePaths": "true",
    "status.showStash": "false",
    "submodule.recurse": "false",
}
_OPTIONS = [word for key, value in _CONFIG.items() for word in ("-c", f"{key}={value}")]


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
    ) -> bytes:
        """The output of one git command in the work tree; a failure raises GitError."""
        return run(self.root, args, input=input, env=env, timeout=timeout)

    def ask(self, *args: str) -> bytes | None:
        """As `git`, but None where git says no (a missing ref, an unset value)."""
        done = _start(self.root, args, None, None, TIMEOUT)
        if done.code > 1 and done.code != 128:
            raise _failure(args, done)
        return done.stdout if done.code == 0 else None

    def head(self) -> str | None:
        """The commit of HEAD, or None while the branch has none."""
        found = self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return found.decode().strip() if found else None

    def branch(self) -> str | None:
        """The branch's name, also while it has no commit; None when HEAD is detached."""
        found = self.ask("symbolic-ref", "--quiet", "--short", "HEAD")
        return found.decode("utf-8", "surrogateescape").strip() if found else None

    @property
    def linked(self) -> bool:
        """Whether this is one of several work trees, and not the main one."""
        return self.git_dir != self.common_dir


def find(start: Path) -> Repo:
    """The work tree that holds `start`. NoRepository and BareRepository say why there is none."""
    found = _find_plainly(start)
    return found if found is not None else _find_by_git(start)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _KEPT}
    return {**kept, **_SET, **(extra or {})}


def run(
    cwd: Path,
    args: Sequence[str],
    *,
    input: bytes | None = None,  # noqa: A002 - the word subprocess uses
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> bytes:
    done = _start(cwd, args, input, env, timeout)
    if done.code != 0 or done.timed_out:
        raise _failure(args, done)
    return done.stdout


def split_z(output: bytes) -> list[str]:
    """The entries of `-z` output; bytes that are no UTF-8 survive as surrogates."""
    return [part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part]


def _start(
    cwd: Path,
    args: Sequence[str],
    data: bytes | None,
    env: Mapping[str, str] | None,
    timeout: float,
) -> proc.Finished:
    try:
        return proc.run(
            ["git", *_OPTIONS, *args], cwd=cwd, env=environment(env), input=data, timeout=timeout
        )
    except ProgramError as error:
        if not cwd.is_dir():
            raise GitError(f"no directory {cwd}") from error
        raise GitError("git is not installed", hint="install git 2.30 or later") from error


def _failure(args: Sequence[str], done: proc.Finished) -> GitError:
    if done.timed_out:
        return GitError(f"git {args[0]} took more than {done.seconds:.0f} s and was ended")
    said = done.stderr.decode("utf-8", "replace").strip()
    if "dubious ownership" in said:
        return GitError(
            "git does not trust this repository: it belongs to another user",
            hint="git config --global --add safe.directory PATH, if you do",
        )
    lines = [line for line in said.splitlines() if not line.startswith("hint:")]
    reason = lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else "no message"
    return GitError(f"git {args[0]} failed: {reason}")


def _find_plainly(start: Path) -> Repo | None:
    """The common case without a process: the nearest `.git`, when it is what git writes.

    Anything unusual (a ceiling, another work tree, a bare repository) is left to git itself.
    """
    if any(os.environ.get(name) for name in _KEPT[1:]):
        return None
    try:
        here = start.resolve(strict=True)
        device = here.stat().st_dev
        for root in (here, *here.parents):
            if root.stat().st_dev != device:
                return None
            dot_git = root / ".git"
            if dot_git.is_dir():
                plain = (dot_git / "HEAD").is_file() and (dot_git / "objects").is_dir()
                ours = dot_git.stat().st_uid == os.getuid()
                if not plain or not ours or b"worktree" in (dot_git / "config").read_bytes():
                    return None
                return Repo(root, dot_git, dot_git)
            if dot_git.exists() or ((root / "HEAD").is_file() and (root / "objects").is_dir()):
                return None
    except OSError:
        return None
    return None


def _find_by_git(start: Path) -> Repo:
    if not start.is_dir():
        raise NoRepository(f"no directory {start}")
    asked = ("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    done = _start(start, asked, None, None, TIMEOUT)
    if done.code != 0:
        if b"not a git repository" in done.stderr:
            raise NoRepository(
                f"{start} is not in a git repository", hint="go into one, or run git init"
            )
        raise _failure(asked, done)
    bare, inside = done.stdout.decode().split()
    if inside != "true":
        what = "a bare repository" if bare == "true" else "the .git directory"
        raise BareRepository(
            f"{start} is in {what}, which has no files to work on",
            hint="go into a work tree (git worktree list shows them)",
        )
    return Repo(
        _path(start, "--show-toplevel"),
        _path(start, "--absolute-git-dir"),
        (start / _path(start, "--git-common-dir")).resolve(),
    )


def _path(start: Path, what: str) -> Path:
    # One at a time: a directory's name may have a line break in it.
    return Path(os.fsdecode(run(start, ["rev-parse", what]).removesuffix(b"\n")))
