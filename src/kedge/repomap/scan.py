"""Phase one: every source file is read for its words alone, as fast as Python can."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedge.repomap import files
from kedge.repomap.files import File

MIN_PARALLEL = 400  # files, below which a second process costs more than it saves
_DEFINED = re.compile(
    rb"\b(?:def|class|func|fn|struct|enum|interface|trait|type|const|function|module|namespace|"
    rb"protocol|object|record|macro_rules!|impl|let|val)\s+(?:\([^)\n]*\)\s*)?([A-Za-z_]\w{2,})"
)
_NAMES = re.compile(r"[A-Za-z_]\w{2,59}", re.ASCII)

Facts = tuple[dict[str, int], list[str], list[str]]  # names, those defined here, imports


def facts(file: File, root: Path) -> Facts | None:
    """What the file says, or None when it is none that a person wrote."""
    data = files.read(root, file.path)
    if data is None or file.language is None or files.is_made(data):
        return None
    names = dict(Counter(_NAMES.findall(data.decode("latin-1"))))
    defined = dict.fromkeys(name.decode("ascii", "replace") for name in _DEFINED.findall(data))
    return names, list(defined), []


def scan(
    wanted: Sequence[File], root: Path, processes: int | None = None
) -> dict[str, Facts | None]:
    """The facts of each file by its path."""
    workers = min(processes or os.cpu_count() or 1, 2)
    if workers < 2 or len(wanted) < MIN_PARALLEL or not hasattr(os, "fork"):
        return {file.path: facts(file, root) for file in wanted}
    return _shared(wanted, root)


def _shared(wanted: Sequence[File], root: Path) -> dict[str, Facts | None]:
    """Half of the work in a forked child, which sends its half back through a pipe."""
    import marshal

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            half: Any = [facts(file, root) for file in wanted[1::2]]
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(marshal.dumps(half))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    mine = [facts(file, root) for file in wanted[0::2]]
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    theirs = (
        marshal.loads(data)  # noqa: S302 - from our own child
        if status == 0
        else [facts(file, root) for file in wanted[1::2]]
    )
    found: dict[str, Facts | None] = {}
    for file, fact in zip(wanted[0::2], mine, strict=True):
        found[file.path] = fact
    for file, fact in zip(wanted[1::2], theirs, strict=True):
        found[file.path] = fact
    return found
