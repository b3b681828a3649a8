"""Bytes stored by their hash: equal bytes share one file, and a changed file is detected."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.handoff import repo_files
from kedge.handoff.canonical_form import sha256
from kedge.host import files

COMPRESS_ABOVE = 64 << 10
MAX_BYTES = 256 << 20
_GZIP = 16 + zlib.MAX_WBITS  # without time and name: equal bytes give equal files
_SHA = re.compile(r"[0-9a-f]{64}\Z")


class Artifacts:
    """A directory of artifacts, created with the first one. Links in it are never followed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes) -> str:
        """Store the bytes, unless they are already there intact; return their hash."""
        if len(data) > MAX_BYTES:
            raise InvalidValue(
                f"an artifact has {len(data) >> 20} MiB; the limit is {MAX_BYTES >> 20} MiB",
                hint="keep the part that matters",
            )
        sha = sha256(data)
        compressed = len(data) > COMPRESS_ABOVE
        path = self._directory / (f"{sha}.gz" if compressed else sha)
        self._refuse_links(path)
        if self._read(path, compressed=compressed) != data:
            files.write_atomic(path, zlib.compress(data, 9, wbits=_GZIP) if compressed else data)
        return sha

    def get(self, sha: str) -> bytes:
        """Return the bytes with this hash; FileError if they are missing or changed."""
        if not _SHA.match(sha):
            raise InvalidValue(
                f"{sha!r:.80} is not a SHA-256 hash", hint="give 64 hexadecimal digits"
            )
        exists = False
        for name in (sha, f"{sha}.gz"):
            path = self._directory / name
            self._refuse_links(path)
            data = self._read(path, compressed=name != sha)
            if data is not None and sha256(data) == sha:
                return data
            exists = exists or os.path.lexists(path)
        raise FileError(
            f"artifact {sha[:12]} {'was changed' if exists else 'is missing'}",
            hint="record it again from its source",
        )

    def _read(self, path: Path, *, compressed: bool) -> bytes | None:
        """Return the uncompressed bytes, None if they cannot be read."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            data = repo_files.read_bounded(fd, MAX_BYTES + (1 << 20))
        except OSError:
            return None
        return _decompress(data) if compressed and data is not None else data

    def _refuse_links(self, path: Path) -> None:
        for each in (self._directory, path):
            if each.is_symlink():
                raise FileError(
                    f"{each} is a symbolic link",
                    hint="remove it: kedge follows no links to its own files",
                )


def _decompress(data: bytes) -> bytes | None:
    inflate = zlib.decompressobj(_GZIP)
    try:
        plain = inflate.decompress(data, MAX_BYTES + 1)
    except zlib.error:
        return None
    return plain if inflate.eof and not inflate.unused_data else None
