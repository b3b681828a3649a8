"""A name for bytes, without OpenSSL: to load that takes longer than most commands have."""

from __future__ import annotations

from collections.abc import Iterable

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter that is built otherwise
    from hashlib import blake2b


def digest(parts: Iterable[bytes]) -> str:
    """The same name for the same parts, and for no others."""
    found = blake2b(digest_size=20)
    for part in parts:
        found.update(b"%d:" % len(part))
        found.update(part)
    name: str = found.hexdigest()
    return name
