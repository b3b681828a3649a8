"""One text and one JSON for the same content, on every machine, and a seal that shows a change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kedge.errors import InvalidValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = "1"  # of `normalised`: another one may make other text of the same source
SERIALIZER = "kedge-json"
SERIALIZER_VERSION = "1"
SEAL = "seal"
MAX_DEPTH = 64


def normalised(text: str) -> str:
    """The text with `\\n` at line ends, no spaces before them, and one at the end.

    Every other character stays. What has no text in it becomes empty.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = "\n".join(line.rstrip(" \t") for line in lines).rstrip("\n")
    return kept + "\n" if kept else ""


def canonical(value: Any) -> bytes:
    """The only JSON of a value: sorted keys, UTF-8, two spaces deep, one newline at the end.

    InvalidValue where JSON has no such value, or cannot give the same one back.
    """
    _check(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2)
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise InvalidValue("a text has half a character in it (a lone surrogate)") from error
    except ValueError as error:
        raise InvalidValue(f"not for JSON: {error}") from error


def sha256(data: bytes) -> str:
    from hashlib import sha256 as made  # loads OpenSSL, which takes longer than most commands have

    return made(data).hexdigest()


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value with the hash of all the rest as its seal."""
    bare = {key: item for key, item in value.items() if key != SEAL}
    return {**bare, SEAL: sha256(canonical(bare))}


def is_sealed(value: object) -> bool:
    """Whether nothing in the value has changed since it was sealed."""
    if not isinstance(value, Mapping) or not isinstance(value.get(SEAL), str):
        return False
    try:
        return bool(sealed(value)[SEAL] == value[SEAL])
    except InvalidValue:
        return False


def opened(data: bytes) -> dict[str, Any]:
    """The sealed value that these bytes are the canonical form of, to the byte; or InvalidValue."""
    try:
        value = json.loads(data.decode())
        if is_sealed(value) and canonical(value) == data:
            return dict(value)
        reason = "its content is not what was sealed"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except (ValueError, RecursionError):
        reason = "it is not JSON"
    raise InvalidValue(reason, hint="something other than kedge has changed it")


def _check(value: Any) -> None:
    """By hand and level by level: json would turn keys into texts, and recurse."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            below.extend(_inside(item))
        if not below:
            return
        level = below
    raise InvalidValue(f"nested more than {MAX_DEPTH} deep")


def _inside(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        if type(item) is not dict:
            raise InvalidValue(f"{type(item).__name__} is no JSON value")
        for key in item:
            if not isinstance(key, str):
                raise InvalidValue(f"a key must be a text, not {key!r:.80}")
        return item.values()
    if isinstance(item, (list, tuple)):
        return item
    if item is None or isinstance(item, (str, int, float)):
        return ()
    raise InvalidValue(f"{type(item).__name__} is no JSON value")
