"""Bytes kept by their hash: the same bytes are one file, and a changed file is noticed."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.handoff import places
from kedge.handoff.normalise import sha256
from kedge.host import files
from kedge.host.record import NamedTuple

COMPRESS_ABOVE = 64 << 10
MAX_BYTES = 256 << 20
_SHA = re.compile(r"[0-9a-f]{64}\Z")
# no time, no name, no operating system: the same bytes wherever they are compressed
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


class Stored(NamedTuple):
    """The hash of the plain bytes, and the file that holds them."""

    sha256: str
    name: str
    compressed: bool


class Artifacts:
    """The directory is made with the first artifact. No link in it is followed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes) -> Stored:
        """Keep the bytes; nothing is written when they are there, unharmed."""
        if len(data) > MAX_BYTES:
            raise InvalidValue(
                f"an artifact has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are kept",
                hint="keep the part that matters",
            )
        sha = sha256(data)
        stored = Stored(sha, f"{sha}.gz", True)
        if len(data) <= COMPRESS_ABOVE:
            stored = Stored(sha, sha, False)
        path = self._directory / stored.name
        self._refuse_links(path)
        if self._read(path, compressed=stored.compressed) != data:
            files.write_atomic(path, _compressed(data) if stored.compressed else data)
        return stored

    def get(self, sha: str) -> bytes:
        """The bytes with this hash; FileError when they are gone or no longer the same."""
        if not _SHA.match(sha):
            raise InvalidValue(f"{sha!r:.80} is no SHA-256", hint="64 digits, 0 to 9 and a to f")
        there = False
        for name in (sha, f"{sha}.gz"):
            path = self._directory / name
            self._refuse_links(path)
            data = self._read(path, compressed=name != sha)
            if data is not None and sha256(data) == sha:
                return data
            there = there or os.path.lexists(path)
        raise FileError(
            f"artifact {sha[:12]} {'was changed' if there else 'is gone'}",
            hint="record it again from its source",
        )

    def _read(self, path: Path, *, compressed: bool) -> bytes | None:
        """The plain bytes, None when there are none that can be used."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            data = places.bounded(fd, MAX_BYTES + (1 << 20))
        except OSError:
            return None
        return _plain(data) if compressed and data is not None else data

    def _refuse_links(self, path: Path) -> None:
        for each in (self._directory, path):
            if each.is_symlink():
                raise FileError(
                    f"{each} is a link", hint="kedge follows no links to its own files: remove it"
                )


def _compressed(data: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    check = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return _HEADER + body + check


def _plain(data: bytes) -> bytes | None:
    inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        plain = inflate.decompress(data, MAX_BYTES + 1)
    except zlib.error:
        return None
    return plain if inflate.eof and not inflate.unused_data else None
