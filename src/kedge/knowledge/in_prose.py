"""A JSON object in what an agent says: all of it, in a fence of code, or in the midst of prose."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TRIES = 50  # places in prose where an object may begin
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PLACE = re.compile(r"^[ \t]*+(?=\{)", re.MULTILINE)


class Said(NamedTuple):
    """An object, and the keys that it, or one in it, has twice."""

    value: dict[str, Any]
    twice: tuple[str, ...]


def objects(text: str) -> list[Said]:
    """The objects in the text. In fences they are looked for first, then at the start of lines."""
    whole = text.strip().removeprefix("\ufeff")
    alone = _read(whole)
    if alone is not None:
        return [alone]
    fenced = [said for part in _fenced(whole) if (said := _read(part)) is not None]
    return fenced or list(_loose(whole))


def fault(text: str) -> str:
    """Why there is none: what is wrong with the first thing that looks like one."""
    whole = text.strip().removeprefix("\ufeff")
    parts = [part.strip() for part in (*_fenced(whole), whole[whole.find("{") :])]
    tried = next((part for part in parts if part.startswith("{")), "")
    try:
        _decoder(set()).decode(tried)
    except json.JSONDecodeError as error:
        return f"{error.msg} in its line {error.lineno}" if tried else ""
    except (ValueError, RecursionError) as error:
        return str(error)[:80] if isinstance(error, ValueError) else "it is nested too deeply"
    return ""


def _read(text: str) -> Said | None:
    twice: set[str] = set()
    try:
        value = _decoder(twice).decode(text)
    except (ValueError, RecursionError):
        return None
    return Said(value, tuple(sorted(twice))) if isinstance(value, dict) else None


def _loose(text: str) -> Iterator[Said]:
    end = tries = 0
    for place in _PLACE.finditer(text):
        if place.end() < end:
            continue  # within the one before
        tries += 1
        if tries > _TRIES:
            return
        twice: set[str] = set()
        try:
            value, end = _decoder(twice).raw_decode(text, place.end())
        except (ValueError, RecursionError):
            continue
        yield Said(value, tuple(sorted(twice)))


def _fenced(text: str) -> Iterator[str]:
    """What stands in each fence of code that is closed."""
    fence, lines = "", list[str]()
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence and mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            yield "\n".join(lines)
            fence, lines = "", []
        elif fence:
            lines.append(line)
        elif mark:
            fence = mark[1]


def _decoder(twice: set[str]) -> json.JSONDecoder:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            often = Counter(key for key, _ in found)
            twice.update(key[:40] for key, times in often.items() if times > 1)
        return made

    def refused(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.JSONDecoder(object_pairs_hook=pairs, parse_constant=refused)
