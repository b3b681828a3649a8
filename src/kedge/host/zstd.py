"""Read a file that is compressed with zstd, by the program of that name.

Python has no zstd before 3.14. The program is in every package manager, and a library would be a
dependency of all who have no such file.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kedge.errors import FileError, ProgramError
from kedge.host import proc

INSTALL = "install zstd (apt install zstd, brew install zstd)"


@contextlib.contextmanager
def open_zstd(path: Path) -> Iterator[IO[bytes]]:
    """Open the content of a compressed file for reading.

    Raises ProgramError without the program, and FileError at the end of a file that is damaged.
    """
    program = shutil.which("zstd")
    if program is None or not Path(program).is_absolute():
        raise ProgramError(
            f"cannot read {path}: it is compressed, and zstd is not on PATH", hint=INSTALL
        )
    with proc.hold_signals() as let_through:
        child = proc.start([program, "-dcq", "--", str(path)], None, None, piped=False)
        try:
            let_through()
            assert child.stdout and child.stderr  # noqa: S101 - proc.start makes them
            yield child.stdout
            if child.stdout.read(1):  # the caller has seen enough
                return
            said = child.stderr.read().decode("utf-8", "replace").strip()
            if proc.wait(child):
                raise FileError(f"cannot read {path}: {said or 'zstd failed'}")
        finally:
            proc.end_group(child, 0)
