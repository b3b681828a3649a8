"""Macros: names for sets of paths, defined in the project's own files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge import config
from kedge.errors import ConfigError, InvalidValue
from kedge.handoff import repo_files
from kedge.handoff.repo_files import UnreadableFile, display_text
from kedge.host.project import Project

FILES = (".kedge/scopes.toml", "docs/templates/scope-globs.json")
_MAX_FILE = 1 << 20
_MACRO = re.compile(r"!?:([A-Za-z0-9][\w.-]{0,99})\Z")


@dataclass(frozen=True, slots=True)
class ExpandedMacros:
    """The entries without macros, the macros that nothing defines, and the files that were read."""

    entries: list[str]
    unknown: list[str]
    sources: tuple[str, ...]


def expand_macros(project: Project, entries: Sequence[str], file: str | None) -> ExpandedMacros:
    """Replace macros by their entries. Files are read only if there is a macro."""
    if not any(_MACRO.match(entry) for entry in entries):
        return ExpandedMacros(list(entries), [], ())
    known, sources = _read(project, (file,) if file else FILES)
    return ExpandedMacros(*_follow(entries, known), sources)


def _follow(
    entries: Iterable[str], known: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    _refuse_cycles(entries, known)
    plain, unknown = [], set()
    todo = list(entries)
    done = set()
    while todo:
        entry = todo.pop()
        if entry in done:
            continue
        done.add(entry)
        match = _MACRO.match(entry)
        if not match:
            plain.append(entry)
        elif match[1] not in known:
            unknown.add(f":{match[1]}")
        else:
            todo += [_apply_sign(entry, each, match[1]) for each in known[match[1]]]
    return plain, sorted(unknown)


def _apply_sign(entry: str, below: str, name: str) -> str:
    if not entry.startswith("!"):
        return below
    if below.startswith("!"):
        raise InvalidValue(
            f"!:{name} is an exception to an exception ({display_text(below)})",
            hint=f"remove the exceptions from :{name}, or list the paths instead",
        )
    return "!" + below


def _refuse_cycles(entries: Iterable[str], known: Mapping[str, Sequence[str]]) -> None:
    from graphlib import CycleError, TopologicalSorter

    uses: dict[str, list[str]] = {}
    todo = _find_macros(entries)
    while todo:
        name = todo.pop()
        if name not in uses:
            uses[name] = _find_macros(known.get(name, ()))
            todo += uses[name]
    try:
        TopologicalSorter({name: uses[name] for name in sorted(uses)}).prepare()
    except CycleError as error:
        cycle = [f":{name}" for name in error.args[1][::-1]]
        excerpt = cycle if len(cycle) <= 6 else [*cycle[:3], "…", *cycle[-2:]]
        raise InvalidValue(
            f"scope {cycle[0]} contains itself: {' → '.join(excerpt)}",
            hint="remove one of these names from the entries of another",
        ) from error


def _find_macros(entries: Iterable[str]) -> list[str]:
    return [match[1] for entry in entries if (match := _MACRO.match(entry))]


def _read(
    project: Project, names: Iterable[str]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the entries of each macro, and the files that exist; the first file wins."""
    known: dict[str, tuple[str, ...]] = {}
    sources = []
    for name in names:
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
