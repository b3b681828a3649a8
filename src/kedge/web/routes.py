"""Which page a path names, and what a request may ask of it. Nothing here reads or waits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote

PREFIX = "/kedge/"
STATIC = f"{PREFIX}static/"
LIVE = f"{PREFIX}live"
ACTS = f"{PREFIX}acts/"
LONGEST = 2_000  # characters of a path with its query
_LONGEST_VALUE = 300
_LONGEST_NAME = 300
_PAGES = ("tasks", "handoffs", "knowledge", "runs", "map")
_WITH_ITEMS = ("sessions", "tasks", "handoffs", "runs")
_ITEM = re.compile(rf"{PREFIX}([a-z]+)/([^/]+)(/transcript)?\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NUMBER = re.compile(r"[0-9]{1,9}\Z")


class Refused(Exception):
    """A request that no page answers: an HTTP status and a sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Target:
    """A page, the thing it is about, and its query."""

    page: str
    item: str = ""
    query: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        return self.query.get(name, "")

    def number(self, name: str) -> int:
        """Return a number of the query, 0 if it has none; Refused for anything else."""
        value = self.query.get(name, "")
        if not value:
            return 0
        if not _NUMBER.match(value):
            raise Refused(400, f"{name} must be a number")
        return int(value)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Return a value of the query that is one of the choices; Refused for another one."""
        value = self.query.get(name, "")
        if value and value not in choices:
            raise Refused(400, f"{name} must be one of: {', '.join(choices)}")
        return value


def is_own(path: str) -> bool:
    """True if the dashboard answers this path; a raw path without its query."""
    if path == "/":
        return True
    if not path.startswith(PREFIX):
        return False
    first = path.removeprefix(PREFIX).partition("/")[0]
    return first in {*_PAGES, "sessions", "static", "live", "acts"}


def find_target(path: str, query: str) -> Target:
    """Return what a raw path and its query ask for; Refused if no page answers it."""
    if len(path) + len(query) > LONGEST:
        raise Refused(414, "the address is too long")
    values = _parse_query(query)
    if path == "/":
        return Target("now", query=values)
    name = path.removeprefix(PREFIX)
    if name in _PAGES:
        return Target(name, query=values)
    found = _ITEM.match(path)
    if found is None or found[1] not in _WITH_ITEMS or (found[3] and found[1] != "sessions"):
        raise Refused(404, "there is no such page")
    item = _decode(found[2])
    if not item or len(item) > _LONGEST_NAME or _CONTROL.search(item):
        raise Refused(400, "this is not a valid name")
    return Target("transcript" if found[3] else found[1].removesuffix("s"), item, values)


def write_path(page: str, item: str = "", **query: object) -> str:
    """Return the path of a page; values that are empty are left out of the query."""
    path = f"{PREFIX}{page}" if page else "/"
    path += f"/{quote(item, safe='')}" if item else ""
    pairs = [f"{name}={quote(str(value), safe='')}" for name, value in query.items() if value]
    return path + (f"?{'&'.join(pairs)}" if pairs else "")


def is_safe_return(path: str) -> bool:
    """True if a form may lead back to this path: one of our pages, on this server."""
    bare = path.partition("?")[0].partition("#")[0]
    return len(path) <= LONGEST and not _CONTROL.search(path) and "\\" not in path and is_own(bare)


def _parse_query(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=20, errors="strict")
    except (ValueError, UnicodeDecodeError) as error:
        raise Refused(400, "the query cannot be read") from error
    for name, value in pairs:
        if len(value) > _LONGEST_VALUE or _CONTROL.search(name + value):
            raise Refused(400, f"the value of {name[:40]!r} is too long or not text")
    return dict(pairs)


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise Refused(400, "the path is not UTF-8") from error
