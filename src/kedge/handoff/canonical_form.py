"""The canonical form of text and JSON, the same on every machine, and a seal that shows changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kedge.errors import InvalidValue

VERSION = "1"  # of `normalise_text`; raise it when its output changes
SERIALIZER = "kedge-json"
SERIALIZER_VERSION = "1"
SEAL = "seal"
MAX_DEPTH = 64


def normalise_text(text: str) -> str:
    """Return the text with `\\n` as line ending, no trailing spaces, and one final newline.

    Every other character stays. Text that is all white space becomes empty.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    normal = "\n".join(line.rstrip(" \t") for line in lines).rstrip("\n")
    return normal + "\n" if normal else ""


def encode_canonical(value: Any) -> bytes:
    """Encode a value as canonical JSON: sorted keys, UTF-8, indented by two, one final newline.

    InvalidValue if JSON cannot hold the value, or could not return the same one.
    """
    _check(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2)
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise InvalidValue("a string holds half a character (a lone surrogate)") from error
    except ValueError as error:
        raise InvalidValue(f"JSON cannot hold it: {error}") from error


def sha256(data: bytes) -> str:
    import hashlib  # loads OpenSSL, which costs more than most commands may take

    return hashlib.sha256(data).hexdigest()


def seal(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value with a seal: the hash of everything else in it."""
    bare = {key: item for key, item in value.items() if key != SEAL}
    return {**bare, SEAL: sha256(encode_canonical(bare))}


def is_sealed(value: object) -> bool:
    """True if nothing in the value has changed since it was sealed."""
    if not isinstance(value, Mapping) or not isinstance(value.get(SEAL), str):
        return False
    try:
        return bool(seal(value)[SEAL] == value[SEAL])
    except InvalidValue:
        return False


def _check(value: Any) -> None:
    """Check for values that JSON would change: keys that are not strings, or too deep nesting.

    Level by level, because recursion could overflow.
    """
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            below.extend(_children(item))
        if not below:
            return
        level = below
    raise InvalidValue(f"it is nested more than {MAX_DEPTH} levels deep")


def _children(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        if type(item) is not dict:
            raise InvalidValue(f"{type(item).__name__} is not a JSON value")
        for key in item:
            if not isinstance(key, str):
                raise InvalidValue(f"a key must be a string, not {key!r:.80}")
        return item.values()
    if isinstance(item, (list, tuple)):
        return item
    if item is None or isinstance(item, (str, int, float)):
        return ()
    raise InvalidValue(f"{type(item).__name__} is not a JSON value")
