"""Start a Python program that outlives its parent: no pipe, no terminal, a session of its own.

Hook path: a client waits for its hooks, and for everything that holds their pipes.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence


def start_python(program: str, args: Sequence[str], environment: Mapping[str, str]) -> None:
    """Start the text of a program with this interpreter, isolated from the user's modules."""
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-c", program, *args],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM),
    )
