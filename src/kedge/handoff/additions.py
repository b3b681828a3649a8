"""What a working tree adds to where it started, by file: it is looked through for secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.handoff import snapshots
from kedge.host.project import Project

_SCANNED = 2_000_000  # bytes of a binary file that are looked at
_NAMED = re.compile(rb'^(?:\+\+\+|rename to) "?(?:b/)?([^\n"]*)', re.MULTILINE)


def additions(project: Project, base: str, now: str) -> Iterator[tuple[str, str]]:
    """Paths with the text that is new in them: what is taken out is in git already."""
    diff = snapshots.diff(project, base, now)
    for part in re.split(rb"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        named = _NAMED.search(part) or re.match(rb'"?a/.*? "?b/([^\n"]*)', part)
        path = named[1].decode("utf-8", "backslashreplace") if named else ""
        if b"\nGIT binary patch\n" not in part:
            yield path, _added(part)
            continue
        where = project.root / path
        if where.is_file() and not where.is_symlink() and where.stat().st_size <= _SCANNED:
            yield path, _readable(where.read_bytes())


def _added(part: bytes) -> str:
    _, _, hunks = part.partition(b"\n@@ ")
    lines = (line[1:] for line in hunks.split(b"\n") if line[:1] == b"+")
    return b"\n".join(lines).decode("utf-8", "replace")


def _readable(data: bytes) -> str:
    """What may be text in a file that git takes for binary: without NULs, and as UTF-16."""
    texts = [data.replace(b"\0", b"").decode("utf-8", "replace")]
    texts += [data.decode(name, "replace") for name in ("utf-16-le", "utf-16-be")]
    return "\n".join(texts)
