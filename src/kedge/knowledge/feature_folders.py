"""Names of feature folders: match a number or a name to one, and format it."""

from __future__ import annotations

import re
from collections.abc import Collection

_NUMBER = re.compile(r"#?0*([0-9]{1,9})(?![0-9])")


def match_folder(ref: str, folders: Collection[str]) -> str | None:
    """Return the folder with this name, this number, or this name after its number."""
    if ref in folders:
        return ref
    number = feature_number(ref)
    if number is not None:
        return next((one for one in folders if feature_number(one) == number), None)
    matches = [one for one in folders if one.partition("-")[2] == ref]
    return matches[0] if len(matches) == 1 else None


def feature_number(name: str) -> int | None:
    """Return the number at the start of a folder's name or of a reference such as `#012`."""
    match = _NUMBER.match(name)
    return int(match[1]) if match else None


def feature_label(folder: str) -> str:
    """Format a feature as knowledge entries refer to it: `Feature #012`, or `Feature name`."""
    digits = folder.partition("-")[0]
    return f"Feature #{digits}" if digits.isdecimal() else f"Feature {folder}"
