"""Find the JSON object in an agent's answer: bare, in a code fence, or among prose."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from kedge.text.fences import CLOSE, CODE, OPEN, read_fences

Object: TypeAlias = "dict[str, Any]"

_TRIES = 50  # lines in prose where an object may begin
_DEPTH = 4  # levels of nesting that are searched and printed
_OBJECT_START = re.compile(r"^[ \t]*+(?=\{)", re.MULTILINE)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
# Keys whose value says what an object is about.
_MAIN_KEY = re.compile(
    r"description|decision|deviation|concern|issue|problem|finding|message|text|title|what|name|"
    r"detail|summary|claim|question|risk|change|comment",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedObject:
    """An object, and the keys that occur twice in it or in an object inside it."""

    value: Object
    duplicate_keys: tuple[str, ...]


def parse_objects(text: str) -> list[ParsedObject]:
    """Return the objects in the text: the whole text, else those in fences, else in prose.

    In prose an object has to begin a line.
    """
    whole = text.strip().removeprefix("\ufeff")
    alone = _parse(whole)
    if alone is not None:
        return [alone]
    fenced = [one for content in _fence_contents(whole) if (one := _parse(content)) is not None]
    return fenced or list(_objects_in_prose(whole))


def explain_failure(text: str) -> str:
    """Say what is wrong with the first thing that looks like an object; empty if nothing does."""
    candidate = text[text.find("{") :] if "{" in text else ""
    try:
        _decoder(set()).raw_decode(candidate)
    except json.JSONDecodeError as error:
        return f"{error.msg} on line {error.lineno} of it" if candidate else ""
    except ValueError as error:
        return str(error)[:80]
    except RecursionError:
        return "it is nested too deeply"
    return ""


def find_object(text: str, score: Callable[[Object], int]) -> Object | None:
    """Return the object with the highest score above 0, nested objects included."""
    objects = [inner for outer in _parse_leniently(text) for inner in _walk(outer, _DEPTH)]
    best = max(objects, key=score, default=None)
    return best if best is not None and score(best) > 0 else None


def parse_whole(text: str) -> Object | None:
    """Parse a text that is one JSON object and nothing else; None for any other text."""
    bare = text.strip()
    parsed = _parse(bare) or _parse(_TRAILING_COMMA.sub("", bare))
    return parsed.value if parsed else None


def to_text(value: Any, depth: int = _DEPTH) -> str:
    """Format a JSON value as text: a list as items, an object by its main value, then the rest."""
    if value is None or depth < 0:
        return ""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().strip()
    if isinstance(value, list):
        items = [to_text(one, depth - 1).replace("\n", "\n  ") for one in value]
        items = [item for item in items if item]
        return items[0] if len(items) == 1 else "\n".join(f"- {item}" for item in items)
    if isinstance(value, dict):
        return _object_to_text(value, depth)
    return json.dumps(value)


def _object_to_text(value: Object, depth: int) -> str:
    texts = {key: to_text(one, depth - 1) for key, one in value.items()}
    texts = {to_text(key): text for key, text in texts.items() if text}
    main = next((key for key in texts if _MAIN_KEY.search(key)), None)
    rest = ", ".join(f"{key}: {text}" for key, text in texts.items() if key != main)
    if main is None:
        return rest
    return f"{texts[main]} ({rest})" if rest else texts[main]


def _parse_leniently(text: str) -> list[Object]:
    """Parse also an object that begins within a line, or has trailing commas, as models write."""
    from_brace = text[text.find("{") :] if "{" in text else ""
    without_commas = (_TRAILING_COMMA.sub("", text), _TRAILING_COMMA.sub("", from_brace))
    variants = dict.fromkeys((text, from_brace, *without_commas))
    return [parsed.value for variant in variants for parsed in parse_objects(variant)]


def _walk(value: Any, depth: int) -> Iterator[Object]:
    if isinstance(value, dict):
        yield value
        if depth:
            for one in value.values():
                yield from _walk(one, depth - 1)


def _parse(text: str) -> ParsedObject | None:
    duplicates: set[str] = set()
    try:
        value = _decoder(duplicates).decode(text)
    except (ValueError, RecursionError):
        return None
    return ParsedObject(value, tuple(sorted(duplicates))) if isinstance(value, dict) else None


def _objects_in_prose(text: str) -> Iterator[ParsedObject]:
    end = tries = 0
    for start in _OBJECT_START.finditer(text):
        if start.end() < end:
            continue  # inside the object before
        tries += 1
        if tries > _TRIES:
            return
        duplicates: set[str] = set()
        try:
            value, end = _decoder(duplicates).raw_decode(text, start.end())
        except (ValueError, RecursionError):
            continue
        yield ParsedObject(value, tuple(sorted(duplicates)))


def _fence_contents(text: str) -> Iterator[str]:
    """Yield the content of each closed code fence."""
    code: list[str] = []
    lines = text.split("\n")
    for line, role in zip(lines, read_fences(lines), strict=True):
        if role == OPEN:
            code = []
        elif role == CODE:
            code.append(line)
        elif role == CLOSE:
            yield "\n".join(code)


def _decoder(duplicates: set[str]) -> json.JSONDecoder:
    """Return a decoder that collects duplicate keys and refuses NaN and Infinity."""

    def build(pairs: list[tuple[str, Any]]) -> Object:
        value = dict(pairs)
        if len(value) < len(pairs):
            times = Counter(key for key, _ in pairs)
            duplicates.update(key[:40] for key, count in times.items() if count > 1)
        return value

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not valid JSON")

    return json.JSONDecoder(object_pairs_hook=build, parse_constant=refuse)
