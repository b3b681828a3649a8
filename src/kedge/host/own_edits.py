"""Remember kedge's own edits of the project's documents, so that nobody takes them for drift.

`.kedge/locks/own-edits.jsonl` has one line per edit: the path, and the git blobs of its content
before and after. A change between two trees is kedge's own if a chain of its edits leads from one
content to the other; one foreign byte in between breaks the chain.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.project import Project

_FILE = "own-edits.jsonl"
_MOST_BYTES = 1 << 20  # then the older half is dropped
# Where kedge writes outside of `.kedge`. A line about any other file has no effect.
_DOCUMENTS = re.compile(
    r"docs/(?:.*/)?(?:[^/]+\.md|\.meta\.json)\Z|(?:.*/)?[^/]+\.task\.ya?ml\Z"
    r"|(?:.*/)?(?:AGENTS|CLAUDE|GEMINI|copilot-instructions)\.md\Z"
)
_ABSENT = re.compile(r"0*\Z")


def note(root: Path, edits: Iterable[tuple[Path, bytes | None, bytes | None]]) -> None:
    """Remember edits: each a path, its bytes before and its bytes after, None for no file.

    Nothing is written before kedge has its own directory, and a failure costs the record alone.
    """
    with contextlib.suppress(KedgeError, OSError):
        project = Project(root, None)
        path = project.own("locks", _FILE)
        if not path.parent.is_dir():
            return
        lines = []
        for place, before, after in edits:
            name = os.fsencode(place.relative_to(root).as_posix()).decode("utf-8", "replace")
            if before != after and _DOCUMENTS.match(name):
                lines.append([name, _blobs(before), _blobs(after)])
        if not lines:
            return
        with files.lock(project.own("locks", "own-edits.lock")):
            if path.exists() and path.stat().st_size > _MOST_BYTES:
                kept = path.read_bytes()[-_MOST_BYTES // 2 :].partition(b"\n")[2]
                files.write_atomic(path, kept)
            for line in lines:
                files.append_line(path, json.dumps(line).encode())


class OwnEdits:
    """The edits that kedge remembers for a project."""

    def __init__(self, root: Path) -> None:
        self._steps: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        with contextlib.suppress(KedgeError):
            data = files.read_bytes(Project(root, None).own("locks", _FILE)) or b""
            for line in data.splitlines():
                with contextlib.suppress(ValueError, TypeError):
                    name, before, after = json.loads(line)
                    for old, new in zip(before, after, strict=True):
                        self._steps[str(name)][str(old)].add(str(new))

    def __bool__(self) -> bool:
        return bool(self._steps)

    @property
    def paths(self) -> list[str]:
        return [path for path in self._steps if _DOCUMENTS.match(path)]

    def explain(self, path: str, before: str, after: str) -> bool:
        """True if edits of kedge alone lead from one blob to the other; zeros mean no file."""
        steps = self._steps.get(path)
        if steps is None or not _DOCUMENTS.match(path):
            return False
        start, end = _normalise(before), _normalise(after)
        reached, waiting = {start}, [start]
        while waiting:
            for one in steps.get(waiting.pop(), ()):
                if one == end:
                    return True
                if one not in reached:
                    reached.add(one)
                    waiting.append(one)
        return False


def _normalise(blob: str) -> str:
    return "" if _ABSENT.match(blob) else blob


def _blobs(data: bytes | None) -> list[str]:
    """Return the ids that git gives the content, in each of its formats; empty for no file."""
    if data is None:
        return ["", ""]
    whole = b"blob %d\0" % len(data) + data
    sha1 = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    return [sha1, hashlib.sha256(whole).hexdigest()]
