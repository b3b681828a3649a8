"""How git is called so that nothing the user has set up changes an answer: the environment is
scrubbed, and what matters is set on each call. Little is imported to know it."""

from __future__ import annotations

import os
import time

from kedge.host import plain_repo

SECONDS = 60.0

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Where the user's own settings are: a repository may be trusted there.
_SETTINGS = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT")
_KEPT = ("GIT_EXEC_PATH", *plain_repo.LIMITS, *_SETTINGS)
_KEPT_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
_SET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_FLUSH": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "",
}
_CONFIG = {
    "advice.detachedHead": "false",
    "color.branch": "false",
    "color.diff": "false",
    "color.grep": "false",
    "color.status": "false",
    "color.ui": "false",
    "column.ui": "never",
    "core.abbrev": "auto",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "false",
    "diff.algorithm": "default",
    "diff.context": "3",
    "diff.interHunkContext": "0",
    "diff.mnemonicPrefix": "false",
    "diff.noprefix": "false",
    "diff.orderFile": os.devnull,
    "diff.relative": "false",
    "diff.renames": "true",
    "diff.submodule": "short",
    "diff.suppressBlankEmpty": "false",
    "format.pretty": "medium",
    "gc.auto": "0",
    "i18n.logOutputEncoding": "UTF-8",
    "log.decorate": "false",
    "log.showRoot": "true",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "status.branch": "false",
    "status.relativePaths": "true",
    "status.renames": "true",
    "status.short": "false",
    "status.showStash": "false",
    "status.showUntrackedFiles": "normal",
    "submodule.recurse": "false",
}
OPTIONS = [word for key, value in _CONFIG.items() for word in ("-c", f"{key}={value}")]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    return {**kept, **_SET, **(extra or {})}


def said(
    root: str, args: Sequence[str], extra: Mapping[str, str], seconds: float = SECONDS
) -> bytes | None:
    """The output of one git command in a work tree; None when it fails, for whatever reason, and
    TimeoutError when it takes too long.

    For questions that can be asked again through `git.py`, which tells what is wrong: it takes as
    long to load the modules for that as git takes to answer.
    """
    try:
        out, into = os.pipe()
    except OSError:
        return None
    try:
        # Not where one of kedge's own streams is closed, and the pipe takes its place.
        child = _started(["git", "-C", root, *OPTIONS, *args], into, extra) if out > 2 else None
    finally:
        os.close(into)
    try:
        return None if child is None else _heard(child, out, seconds)
    finally:
        os.close(out)


def _started(command: list[str], into: int, extra: Mapping[str, str]) -> int | None:
    actions = [
        (os.POSIX_SPAWN_DUP2, into, 1),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        return os.posix_spawnp("git", command, environment(extra), file_actions=actions)
    except OSError:
        return None


def _heard(child: int, out: int, seconds: float) -> bytes | None:
    import select

    poll = select.poll()
    poll.register(out, select.POLLIN)
    end = time.monotonic() + seconds
    parts: list[bytes] = []
    try:
        while True:
            if not poll.poll(max(end - time.monotonic(), 0) * 1000):
                raise TimeoutError
            part = os.read(out, 1 << 16)
            if not part:
                return b"".join(parts) if os.waitpid(child, 0)[1] == 0 else None
            parts.append(part)
    except ChildProcessError:  # where signals of children are ignored, nobody knows how it ended
        return None
    except BaseException:
        _end(child)
        raise


def _end(child: int) -> None:
    import signal

    try:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ProcessLookupError, ChildProcessError):
        pass
