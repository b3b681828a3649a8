"""Check that git's objects are what their names say: git itself does not look when it reads them.

Whoever can write to `.git/objects` can put any content behind the name of a file that will be
committed later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from kedge.host.git import Repo

_BATCH = 32 << 20  # bytes that are read at once
_NESTED = b"160000"


def find_forged(repo: Repo, old: str | None, new: str) -> list[str]:
    """Return the objects that tree `new` adds to commit `old` and that are not what they say."""
    if old is None:
        listed = repo.git("ls-tree", "-r", "-t", "-z", new).split(b"\0")
        named = [line.split(b"\t")[0].split() for line in listed if line]
        wanted = {facts[2].decode() for facts in named if facts[0] != _NESTED}
    else:
        options = ("-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames")
        facts = repo.git("diff-tree", *options, old, new, "--").split(b"\0")[::2]
        named = [one.removeprefix(b":").split(b" ") for one in facts if one]
        wanted = {one[3].decode() for one in named if one[1] not in (_NESTED, b"000000")}
    return sorted(
        oid for batch in _split(repo, {*wanted, new}) for oid in _check_batch(repo, batch)
    )


def remove_loose(repo: Repo, oids: Iterable[str]) -> None:
    """Remove the files of objects that are not in a pack."""
    for oid in oids:
        (repo.common_dir / "objects" / oid[:2] / oid[2:]).unlink(missing_ok=True)


def _split(repo: Repo, oids: set[str]) -> Iterator[list[str]]:
    """Yield the objects in batches that fit into memory."""
    names = sorted(oids)
    data = "".join(f"{oid}\n" for oid in names).encode()
    lines = repo.git("cat-file", "--batch-check=%(objectsize)", input=data).splitlines()
    batch, size = list[str](), 0
    for oid, line in zip(names, lines, strict=True):
        batch.append(oid)
        size += int(line) if line.isdigit() else 0
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def _check_batch(repo: Repo, oids: list[str]) -> Iterator[str]:
    if not oids:
        return
    out = repo.git("cat-file", "--batch", input="".join(f"{oid}\n" for oid in oids).encode())
    at = 0
    for oid in oids:
        end = out.index(b"\n", at)
        words = out[at:end].split()
        if len(words) != 3:  # missing
            yield oid
            at = end + 1
            continue
        size = int(words[2])
        data = out[end + 1 : end + 1 + size]
        at = end + size + 2
        algorithm = hashlib.sha256 if len(oid) == 64 else hashlib.sha1
        total = algorithm(b"%s %d\0" % (words[1], size) + data, usedforsecurity=False)
        if total.hexdigest() != oid:
            yield oid
