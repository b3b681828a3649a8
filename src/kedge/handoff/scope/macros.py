"""Macros: names for sets of paths, defined in the project's own files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge import config
from kedge.errors import ConfigError, InvalidValue
from kedge.handoff import repo_files
from kedge.handoff.repo_files import UnreadableFile, display_text
from kedge.host.project import Project
from kedge.host.text import shorten

FILES = (".kedge/scopes.toml", "docs/templates/scope-globs.json")
_MAX_FILE = 1 << 20
_MAX_NESTING = 50
_MACRO = re.compile(r"!?:([A-Za-z0-9][\w.-]{0,99})\Z")


@dataclass(frozen=True, slots=True)
class ExpandedMacros:
    """The entries without macros, the macros that nothing defines, and the files that were read."""

    entries: list[str]
    unknown: list[str]
    sources: tuple[str, ...]


def expand_macros(project: Project, entries: Sequence[str]) -> ExpandedMacros:
    """Replace macros by their entries. Files are read only if there is a macro."""
    if not any(_MACRO.match(entry) for entry in entries):
        return ExpandedMacros(list(entries), [], ())
    known, sources = _read(project)
    done: set[str] = set()
    plain = [each for entry in entries for each in _follow(entry, known, done, ())]
    unknown = [f":{match[1]}" for entry in done if (match := _MACRO.match(entry))]
    return ExpandedMacros(plain, sorted({*unknown} - {f":{name}" for name in known}), sources)


def _follow(
    entry: str, known: Mapping[str, Sequence[str]], done: set[str], above: tuple[str, ...]
) -> Iterator[str]:
    """Yield the entry, or those of its macro and of all macros below it, each macro once."""
    match = _MACRO.match(entry)
    if match is None:
        yield entry
        return
    name = match[1]
    if name in above:
        cycle = " → ".join(f":{each}" for each in (*above[above.index(name) :], name))
        raise InvalidValue(
            f"scope :{name} contains itself: {shorten(cycle, 100)}",
            hint="remove one of these names from the entries of another",
        )
    if len(above) == _MAX_NESTING:
        raise InvalidValue(
            f"scope :{above[0]} is nested more than {_MAX_NESTING} levels deep",
            hint="list the paths instead of names",
        )
    if entry not in done:
        done.add(entry)
        for below in known.get(name, ()):
            yield from _follow(_apply_sign(entry, below, name), known, done, (*above, name))


def _apply_sign(entry: str, below: str, name: str) -> str:
    if not entry.startswith("!"):
        return below
    if below.startswith("!"):
        raise InvalidValue(
            f"!:{name} is an exception to an exception ({display_text(below)})",
            hint=f"remove the exceptions from :{name}, or list the paths instead",
        )
    return "!" + below


def _read(project: Project) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the entries of each macro, and the files that exist; the first file wins."""
    known: dict[str, tuple[str, ...]] = {}
    sources = []
    for name in FILES:
        try:
            text = repo_files.read_text(project, name, _MAX_FILE)
        except UnreadableFile as error:
            raise ConfigError(error.message, hint=error.hint) from error
        if text is None:
            continue
        sources.append(name)
        for key, value in _parse(name, text).items():
            macro = key.removeprefix(":")
            if not _MACRO.match(f":{macro}"):
                raise ConfigError(
                    f"{name}: {display_text(key)!r} is not a valid name for a scope",
                    hint="use letters, digits, '.', '_' and '-'",
                )
            items = value if isinstance(value, list) else [value]
            if not all(isinstance(item, str) for item in items):
                raise ConfigError(
                    f"{name}: {display_text(key)} must be a list of paths and patterns",
                    hint='write it such as ["src/ui/", "src/**/*.css"]',
                )
            known.setdefault(macro, tuple(item.strip() for item in items if item.strip()))
    return known, tuple(sources)


def _parse(name: str, text: str) -> Mapping[str, Any]:
    if not name.endswith(".json"):
        return config.parse_toml(Path(name), text)
    try:
        data = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise ConfigError(f"{name}:{line}: this is not JSON", hint="correct that line") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{name} is not a JSON object", hint='write it as {"name": ["glob", …]}')
    return data
