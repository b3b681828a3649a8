"""Names for sets of paths, as the project's own files define them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kedge import config
from kedge.errors import ConfigError, InvalidValue
from kedge.handoff import places
from kedge.handoff.places import Unreadable, shown
from kedge.host.project import Project
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILES = (".kedge/scopes.toml", "docs/templates/scope-globs.json")
_MAX_FILE = 1 << 20
_MACRO = re.compile(r"!?:([A-Za-z0-9][\w.-]{0,99})\Z")


class Replaced(NamedTuple):
    """The entries without names, the names that nothing defines, and the files that were read."""

    entries: list[str]
    unknown: list[str]
    sources: tuple[str, ...]


def replaced(project: Project, entries: Sequence[str], file: str | None) -> Replaced:
    """No file is read for a scope that has no name in it."""
    if not any(_MACRO.match(entry) for entry in entries):
        return Replaced(list(entries), [], ())
    known, sources = _read(project, (file,) if file else FILES)
    return Replaced(*_followed(entries, known), sources)


def _followed(
    entries: Iterable[str], known: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    _refuse_circles(entries, known)
    plain, unknown = [], set()
    todo = list(entries)
    done = set()
    while todo:
        entry = todo.pop()
        if entry in done:
            continue
        done.add(entry)
        found = _MACRO.match(entry)
        if not found:
            plain.append(entry)
        elif found[1] not in known:
            unknown.add(f":{found[1]}")
        else:
            todo += [_signed(entry, each, found[1]) for each in known[found[1]]]
    return plain, sorted(unknown)


def _signed(entry: str, below: str, name: str) -> str:
    if not entry.startswith("!"):
        return below
    if below.startswith("!"):
        raise InvalidValue(
            f"!:{name} is an exception to an exception ({shown(below)})",
            hint=f"take the exceptions out of :{name}, or name the paths themselves",
        )
    return "!" + below


def _refuse_circles(entries: Iterable[str], known: Mapping[str, Sequence[str]]) -> None:
    from graphlib import CycleError, TopologicalSorter

    leads: dict[str, list[str]] = {}
    todo = _named(entries)
    while todo:
        name = todo.pop()
        if name not in leads:
            leads[name] = _named(known.get(name, ()))
            todo += leads[name]
    try:
        TopologicalSorter({name: leads[name] for name in sorted(leads)}).prepare()
    except CycleError as error:
        circle = [f":{name}" for name in error.args[1][::-1]]
        shortly = circle if len(circle) <= 6 else [*circle[:3], "…", *circle[-2:]]
        raise InvalidValue(
            f"scope {circle[0]} leads to itself: {' → '.join(shortly)}",
            hint="take one of these names out of the other's entries",
        ) from error


def _named(entries: Iterable[str]) -> list[str]:
    return [found[1] for entry in entries if (found := _MACRO.match(entry))]


def _read(
    project: Project, names: Iterable[str]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """What each name stands for, the first file first, and the files that there are."""
    known: dict[str, tuple[str, ...]] = {}
    sources = []
    for name in names:
        try:
            text = places.text(project, name, _MAX_FILE)
        except Unreadable as error:
            raise ConfigError(error.message, hint=error.hint) from error
        if text is None:
            continue
        sources.append(name)
        for key, value in _parsed(name, text).items():
            macro = key.removeprefix(":")
            if not _MACRO.match(f":{macro}"):
                raise ConfigError(
                    f"{name}: {shown(key)!r} cannot be the name of a scope",
                    hint="letters, digits, '.', '_' and '-'",
                )
            items = value if isinstance(value, list) else [value]
            if not all(isinstance(item, str) for item in items):
                raise ConfigError(
                    f"{name}: {shown(key)} must be a list of paths and patterns",
                    hint='such as ["src/ui/", "src/**/*.css"]',
                )
            known.setdefault(macro, tuple(item.strip() for item in items if item.strip()))
    return known, tuple(sources)


def _parsed(name: str, text: str) -> Mapping[str, Any]:
    if not name.endswith(".json"):
        return config.parse(Path(name), text)
    try:
        data = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise ConfigError(f"{name}:{line}: not JSON", hint="mend that line") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{name}: not an object", hint='it has {"name": ["glob", …]}')
    return data
