"""A fake `bd`: the commands, flags, JSON and rules of beads 1.x that matter to kedge.

Its state is a SQLite file in `.beads/`; `.beads/issues.jsonl` is not part of it. It refuses unknown
commands and flags as bd does. Where kedge depends on bd, it behaves like bd even where that is
inconvenient: `import` adds labels and links but removes none, leaves some columns of existing
issues unchanged, skips lines older than its record, and does not update the issues that wait for
one that it closes; stamps are rounded to the second; `dep add` treats an id with another prefix as
another project's. Standard library only: it runs in isolation.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_START = (
    "import sys; sys.path.insert(0, {tests!r});"
    " from fake_bd.__main__ import main; sys.exit(main(sys.argv[1:]))"
)


def install(directory: Path) -> Path:
    """Write an executable `bd` that runs this package."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory.resolve() / "bd"
    code = _START.format(tests=str(Path(__file__).parents[1]))
    words = shlex.join([sys.executable, "-I", "-S", "-c", code])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return program
