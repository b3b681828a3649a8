"""The text that a working tree adds to its base, by file, to be scanned for secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.handoff.snapshot import snapshots
from kedge.host.project import Project

_MAX_BINARY = 2_000_000  # bytes; a larger binary file is not scanned
_NAMED = re.compile(rb'^(?:\+\+\+|rename to) "?(?:b/)?([^\n"]*)', re.MULTILINE)


def find_added_text(project: Project, base: str, now: str) -> Iterator[tuple[str, str]]:
    """Yield each changed path with its added lines; removed lines are already in git."""
    diff = snapshots.diff(project, base, now)
    for part in re.split(rb"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        named = _NAMED.search(part) or re.match(rb'"?a/.*? "?b/([^\n"]*)', part)
        path = named[1].decode("utf-8", "backslashreplace") if named else ""
        if b"\nGIT binary patch\n" not in part:
            yield path, _extract_added(part)
            continue
        where = project.root / path
        if where.is_file() and not where.is_symlink() and where.stat().st_size <= _MAX_BINARY:
            yield path, _decode_guesses(where.read_bytes())


def _extract_added(part: bytes) -> str:
    _, _, hunks = part.partition(b"\n@@ ")
    lines = (line[1:] for line in hunks.split(b"\n") if line[:1] == b"+")
    return b"\n".join(lines).decode("utf-8", "replace")


def _decode_guesses(data: bytes) -> str:
    """Decode a binary file every way that could reveal text: without NULs, and as UTF-16."""
    texts = [data.replace(b"\0", b"").decode("utf-8", "replace")]
    texts += [data.decode(name, "replace") for name in ("utf-16-le", "utf-16-be")]
    return "\n".join(texts)
