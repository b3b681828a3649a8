"""The JSON object that an agent answers with, as far as it is worth something, and its words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from kedge.knowledge import in_prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

Object: TypeAlias = "dict[str, Any]"

_COMMA = re.compile(r",(?=\s*[}\]])")
_DEPTH = 4
# Which of an object's values says what it is about.
_MAIN = re.compile(
    r"description|decision|deviation|concern|issue|problem|finding|message|text|title|what|name|"
    r"detail|summary|claim|question|risk|change|comment",
    re.IGNORECASE,
)


def find(text: str, worth: Callable[[Object], int]) -> Object | None:
    """The object in the text, or within another there, that is worth most, and more than 0."""
    found = [one for said in _said(text) for one in _objects(said, _DEPTH)]
    best = max(found, key=worth, default=None)
    return best if best is not None and worth(best) > 0 else None


def whole(text: str) -> Object | None:
    """The object that the text is, if it is one and nothing else."""
    bare = text.strip()
    found = _said(bare) if bare.startswith("{") and bare.endswith("}") else []
    return found[0] if found and all(one == found[0] for one in found) else None


def words(value: Any, depth: int = _DEPTH) -> str:
    """A value as text: lists as items, objects by what they are about and then the rest."""
    if value is None or depth < 0:
        return ""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().strip()
    if isinstance(value, list):
        lines = [words(one, depth - 1).replace("\n", "\n  ") for one in value]
        told = [line for line in lines if line]
        return told[0] if len(told) == 1 else "\n".join(f"- {line}" for line in told)
    if isinstance(value, dict):
        return _object_words(value, depth)
    return json.dumps(value)


def _object_words(value: Object, depth: int) -> str:
    told = {key: words(one, depth - 1) for key, one in value.items()}
    told = {words(key): text for key, text in told.items() if text}
    main = next((key for key in told if _MAIN.search(key)), None)
    rest = ", ".join(f"{key}: {text}" for key, text in told.items() if key != main)
    if main is None:
        return rest
    return f"{told[main]} ({rest})" if rest else told[main]


def _said(text: str) -> list[Object]:
    """Also an object that does not begin a line, or has a comma before a bracket, as models do."""
    later = text[text.find("{") :] if "{" in text else ""
    mended = (_COMMA.sub("", text), _COMMA.sub("", later))
    tries = dict.fromkeys((text, later, *mended))
    return [said.value for one in tries for said in in_prose.objects(one)]


def _objects(value: Any, depth: int) -> Iterator[Object]:
    if isinstance(value, dict):
        yield value
        if depth:
            for one in value.values():
                yield from _objects(one, depth - 1)
