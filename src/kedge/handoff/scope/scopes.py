"""The scope of a task: the paths that it may change.

An entry is a path (`src/app.py`), a directory with everything below it (`src/`), a pattern
(`src/**/*.py`, `*.md` in every directory, `*.{ts,tsx}`), an exception to all others
(`!src/gen/**`), or a macro (`:mobile-ui`, `!:generated`) that `.kedge/scopes.toml` or
`docs/templates/scope-globs.json` defines:

    mobile-ui = ["mobile/ui/", "shared/theme/**", ":icons"]

An entry with a space is a path only if its first part exists, or if it is written as one: with `./`
(`./My notes/`) or in backquotes. Otherwise it is prose, which is kept and matches nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from kedge.errors import InvalidValue
from kedge.handoff import repo_files
from kedge.handoff.scope import macros
from kedge.host.project import Project
from kedge.text.globs import Glob, expand_braces, is_glob, literal_prefix

MAX_ENTRIES = 5000


@dataclass(frozen=True, slots=True)
class ScopePaths:
    """A scope's patterns, prose, unknown macros and source files, each sorted."""

    paths: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def expand(project: Project, scope_in: Iterable[str]) -> ScopePaths:
    """Expand the macros of a task's scope.

    InvalidValue for an entry that leaves the repository, and for a macro that contains itself.
    """
    entries = [entry.strip() for entry in scope_in if entry.strip()]
    expanded = macros.expand_macros(project, entries)
    parsed = {entry: _parse_entry(project, entry) for entry in expanded.entries}
    paths = {path for path in parsed.values() if path is not None}
    prose = {entry for entry, path in parsed.items() if path is None}
    if len(paths) > MAX_ENTRIES:
        raise InvalidValue(
            f"the scope has {len(paths)} entries",
            hint=f"at most {MAX_ENTRIES}: name directories instead",
        )
    unknown = tuple(expanded.unknown)
    return ScopePaths(tuple(sorted(paths)), tuple(sorted(prose)), unknown, expanded.sources)


def make_matcher(paths: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that decides whether a relative path is in the scope.

    An exception overrides every other entry. With exceptions alone everything else is in scope;
    without any entry nothing is.
    """
    wanted, excluded = _PathSet(), _PathSet()
    for path in paths:
        (excluded if path.startswith("!") else wanted).add(path.removeprefix("!").rstrip("/"))
    if wanted.empty and not excluded.empty:
        wanted.add(".")

    def in_scope(path: str) -> bool:
        return wanted.has(path) and not excluded.has(path)

    return in_scope


def find_vanished(project: Project, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the entries that name a single path which does not exist."""
    return tuple(
        path
        for path in paths
        if not path.startswith("!")
        and not is_glob(path)
        and not os.path.lexists(repo_files.resolve_inside(project, path))
    )


class _PathSet:
    """A set of paths and patterns."""

    def __init__(self) -> None:
        self._literal: set[str] = set()
        self._globs: list[Glob] = []

    @property
    def empty(self) -> bool:
        return not self._literal and not self._globs

    def add(self, path: str) -> None:
        self._literal.add(path)
        for pattern in expand_braces(path) if is_glob(path) else []:
            if is_glob(pattern):
                self._globs.append(Glob(pattern))
            else:
                self._literal.add(pattern)

    def has(self, path: str) -> bool:
        above = (path[: slash.start()] for slash in re.finditer("/", path))
        if not self._literal.isdisjoint(chain((".", path), above)):
            return True
        return any(glob.matches(path) for glob in self._globs)


def _parse_entry(project: Project, entry: str) -> str | None:
    """Return the entry in the form that is matched, None if it is prose."""
    sign, text = ("!", entry[1:].strip()) if entry.startswith("!") else ("", entry)
    quoted = len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]
    text = text[1:-1].strip() if quoted else text
    if any(map(str.isspace, text)) and not quoted and not text.startswith(("./", "../", "/")):
        first = text.partition("/")[0]
        try:
            exists = os.path.lexists(project.root / first)
        except (OSError, ValueError):
            exists = False
        if not exists:
            return None
    path = repo_files.parse_relative(text, what="scope entry")
    repo_files.resolve_inside(project, literal_prefix(path) or ".")
    expand_braces(path)  # raises if there are too many
    return sign + path
