"""Start and end the process that works aside for a session, after a hook has answered.

One process works at a time, for the latest turn of the session: a message, or a change of its task.
A small file in kedge's home names the turn; a process ends itself when its file changes or is gone.
"""

from __future__ import annotations

import contextlib
import os
from contextlib import closing

from kedge.drift.watch.messages import LONGEST
from kedge.host.detached import start_python
from kedge.host.digest import digest
from kedge.store import sessions, sqlite

FOLDER = "aside"
JUDGED = ".judged"  # ending of the file that names the last revision that a judge has read
_PROGRAM = """\
import sys
sys.path.insert(0, sys.argv.pop(1))
from kedge.drift.watch import aside_process
aside_process.main(sys.argv[1:])
"""
# what clients set for their own session: a client that a judge starts is not part of it
_OF_THE_SESSION = (
    "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_ENV_FILE", "CLAUDE_PID",
    "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR", "CODEX_SESSION_ID", "CODEX_THREAD_ID",
    "KEDGE_RUN", "KEDGE_TASK",
)  # fmt: skip


def start(root: str, home: str, agent: str, session: str, *, unattended: bool) -> None:
    """Start the process, unless it has worked on this turn of the session already.

    It is detached: a client waits for its hooks, and for everything that holds their pipes.
    """
    name = session[:LONGEST]
    turn = _find_turn(home, name)
    if not turn or not _change_turn(locate_turn(home, name), turn):
        return
    sources = os.path.realpath(__file__).removesuffix("/kedge/drift/watch/aside.py")
    kind = "unattended" if unattended else "attended"
    environment = {key: value for key, value in os.environ.items() if key not in _OF_THE_SESSION}
    start_python(_PROGRAM, [sources, root, home, agent, name, str(turn), kind], environment)


def end(home: str, session: str) -> None:
    """End the session's process: it notices that its file is gone."""
    path = locate_turn(home, session[:LONGEST])
    for name in (path, path + JUDGED):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def locate_turn(home: str, session: str) -> str:
    """Return the file that names the turn to work on."""
    return os.path.join(home, FOLDER, digest([session.encode("utf-8", "replace")])[:16])


def read_number(path: str) -> int | None:
    """Return the number in a file; None if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return int(os.read(fd, 20))
    except (OSError, ValueError):
        return None
    finally:
        os.close(fd)


def write_number(path: str, number: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    try:
        os.ftruncate(fd, os.write(fd, b"%d" % number))
    finally:
        os.close(fd)


def _find_turn(home: str, session: str) -> int:
    """Return the latest turn of a session that is watched; 0 if there is none."""
    with closing(sqlite.connect(home)[0]) as db:
        row = sessions.get(db, session)
    if row is None or row["policy"] == "off" or row["status"] != "active":
        return 0
    return int(row["turn"])


def _change_turn(path: str, turn: int) -> bool:
    """Set the turn to work on; return False if it is worked on already."""
    if read_number(path) == turn:
        return False
    write_number(path, turn)
    return True
