"""A name for bytes, without OpenSSL: to load that takes longer than most commands have."""

from __future__ import annotations

from collections.abc import Iterable

try:
    from _blake2 import blake2b
    from _sha1 import sha1  # type: ignore[import-not-found]
except ImportError:  # an interpreter that is built otherwise
    from hashlib import blake2b, sha1


def blob(data: bytes, like: str = "") -> str:
    """The id that git has for this content; `like` is one of the repository's."""
    head = b"blob %d\0" % len(data)
    if len(like) == 64:
        from hashlib import sha256

        return sha256(head + data, usedforsecurity=False).hexdigest()
    name: str = sha1(head + data, usedforsecurity=False).hexdigest()
    return name


def digest(parts: Iterable[bytes]) -> str:
    """The same name for the same parts, and for no others."""
    found = blake2b(digest_size=20)
    for part in parts:
        found.update(b"%d:" % len(part))
        found.update(part)
    name: str = found.hexdigest()
    return name
