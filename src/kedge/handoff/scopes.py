"""Where a task may change things: its scope, with the project's own names for sets of paths.

An entry is a path (`src/app.py`), a directory, which covers all below it (`src/`), a pattern
(`src/**/*.py`, `*.md` in every directory, `*.{ts,tsx}`), an exception to all others
(`!src/gen/**`), or a name (`:mobile-ui`, `!:generated`) that `.kedge/scopes.toml` or
`docs/templates/scope-globs.json` has entries for:

    mobile-ui = ["mobile/ui/", "shared/theme/**", ":icons"]

What has a space in it is a path only when its first part is there, or when it is written as one:
`./My notes/` or in backquotes. Otherwise it is prose, which is kept and matches nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from kedge.errors import InvalidValue
from kedge.handoff import globs, macros, places
from kedge.host.project import Project
from kedge.host.record import NamedTuple

MOST = 5000  # entries of one scope


class Paths(NamedTuple):
    """The patterns of a scope and what else it says: sorted, so that their order means nothing."""

    paths: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def expanded(project: Project, scope_in: Iterable[str], macros_file: str | None = None) -> Paths:
    """A task's scope with all names replaced; `macros_file` is read instead of the usual two.

    InvalidValue for an entry that leads out of the repository and for a name that leads to itself.
    """
    entries = [entry.strip() for entry in scope_in if entry.strip()]
    plain, unknown, sources = macros.replaced(project, entries, macros_file)
    paths, prose = set(), set()
    for entry in plain:
        path = _path(project, entry)
        if path is None:
            prose.add(entry)
        else:
            paths.add(path)
    if len(paths) > MOST:
        raise InvalidValue(
            f"the scope has {len(paths)} entries", hint=f"at most {MOST}: name directories instead"
        )
    return Paths(tuple(sorted(paths)), tuple(sorted(prose)), tuple(sorted(unknown)), sources)


def matcher(paths: Iterable[str]) -> Callable[[str], bool]:
    """Decides whether a changed path, relative and with `/`, is in the scope.

    An exception wins whatever stands beside it; where there is nothing else, all but it is in
    scope. Without any entry nothing is.
    """
    wanted, refused = _Set(), _Set()
    for path in paths:
        (refused if path.startswith("!") else wanted).add(path.removeprefix("!").rstrip("/"))
    if wanted.empty and not refused.empty:
        wanted.add(".")

    def in_scope(path: str) -> bool:
        parts = path.split("/")
        return wanted.has(path, parts) and not refused.has(path, parts)

    return in_scope


def vanished(project: Project, paths: Iterable[str]) -> tuple[str, ...]:
    """The entries that name one path, where nothing is."""
    return tuple(
        path
        for path in paths
        if not path.startswith("!")
        and not globs.is_glob(path)
        and not os.path.lexists(places.inside(project, path))
    )


class _Set:
    """Paths and patterns, of which one is asked for."""

    def __init__(self) -> None:
        self._literal: set[str] = set()
        self._globs: list[globs.Glob] = []

    @property
    def empty(self) -> bool:
        return not self._literal and not self._globs

    def add(self, path: str) -> None:
        self._literal.add(path)
        if globs.is_glob(path):
            self._globs += globs.compiled(path)

    def has(self, path: str, parts: list[str]) -> bool:
        if "." in self._literal:
            return True
        if self._literal:
            end = len(path)
            while end >= 0:  # the path, then each directory above it
                if path[:end] in self._literal:
                    return True
                end = path.rfind("/", 0, end)
        return any(globs.matches(glob, path, parts) for glob in self._globs)


def _path(project: Project, entry: str) -> str | None:
    """The entry as it is matched, None when it is prose."""
    sign, text = ("!", entry[1:].strip()) if entry.startswith("!") else ("", entry)
    quoted = len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]
    text = text[1:-1].strip() if quoted else text
    if any(map(str.isspace, text)) and not quoted and not text.startswith(("./", "../", "/")):
        first = text.partition("/")[0]
        try:
            known = os.path.lexists(project.root / first)
        except (OSError, ValueError):
            known = False
        if not known:
            return None
    path = places.relative(text, what="scope entry")
    places.inside(project, globs.fixed(path) or ".")
    globs.compiled(path)
    return sign + path
