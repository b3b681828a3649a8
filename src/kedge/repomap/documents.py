"""Phase one: every source file is read for its words alone, as fast as Python can."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from kedge.repomap import files
from kedge.repomap.files import File
from kedge.repomap.imports import answers_to, asked_for
from kedge.repomap.index import DEFINED, IMPORTED, MOST, Document
from kedge.repomap.languages import PROSE
from kedge.repomap.progress import Tick, no_tick
from kedge.repomap.words import words

# Files, below which a second process, at the cost of a tenth more work, saves no tenth of a second.
MIN_PARALLEL = 2500
_STEP = 50  # files between two signs of progress
_DEFINITION = 4  # what a definition counts beside a use
_SHORTEST_DEFINED = 4  # a shorter name is defined everywhere
_PATH_WORD = re.compile(r"\w{3,}", re.ASCII)


def document(file: File, root: Path) -> Document | None:
    """What the file says, or None when it is none that a person wrote."""
    if file.language is None:
        return None
    names: dict[str, int] = {}
    if file.language.name not in PROSE:
        data = files.read(root, file.path)
        if not data or files.is_made(data):
            return None
        names, defined, imported = words(file.language.name, data)
        for name in defined:
            count = min(names[name] + _DEFINITION, MOST)
            names[name] = count | DEFINED if len(name) >= _SHORTEST_DEFINED else count
        for key in asked_for(file.path, imported):
            if key.isascii():  # so that lower case has as many letters
                names[key] = IMPORTED
        for key in answers_to(file.path):
            if key.isascii():
                names[key] = names.get(key, 0) | DEFINED
    for word in _PATH_WORD.findall(file.path):
        names[word] = MOST | names.get(word, 0) & DEFINED
    return names


def read(wanted: Sequence[File], root: Path, progress: Tick = no_tick) -> list[Document | None]:
    """The document of each file; half of the work in a forked child where there is much."""
    if len(wanted) < MIN_PARALLEL or _cores() < 2 or not hasattr(os, "fork"):
        return _all(wanted, root, progress)
    return _shared(wanted, root, progress)


def _cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _all(wanted: Sequence[File], root: Path, progress: Tick) -> list[Document | None]:
    found = []
    for done, file in enumerate(wanted):
        if not done % _STEP:
            progress(done, len(wanted))
        found.append(document(file, root))
    return found


def _shared(wanted: Sequence[File], root: Path, progress: Tick) -> list[Document | None]:
    import marshal

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            half = _all(wanted[1::2], root, no_tick)
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(marshal.dumps(half))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    found: list[Document | None] = [None] * len(wanted)
    found[0::2] = _all(wanted[0::2], root, lambda done, _: progress(2 * done, len(wanted)))
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        found[1::2] = marshal.loads(data)  # noqa: S302 - from our own child
    else:
        found[1::2] = _all(wanted[1::2], root, no_tick)
    return found
