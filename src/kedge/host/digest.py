"""Stable names for bytes.

Hook path: `digest` takes BLAKE2 from its own module, because `hashlib` loads OpenSSL, which takes
longer than a hook may.
"""

from __future__ import annotations

from collections.abc import Iterable

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter without the separate module
    from hashlib import blake2b


def blob(data: bytes, like: str = "") -> str:
    """Return git's object id for this content. `like` is another id of the same repository."""
    from hashlib import sha1, sha256

    algorithm = sha256 if len(like) == 64 else sha1
    return algorithm(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest(parts: Iterable[bytes]) -> str:
    """Return a hash of the parts that also tells where one ends and the next begins."""
    total = blake2b(digest_size=20)
    for part in parts:
        total.update(b"%d:" % len(part))
        total.update(part)
    name: str = total.hexdigest()
    return name
