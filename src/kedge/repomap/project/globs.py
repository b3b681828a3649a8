"""Expansion of a workspace's patterns to directories."""

from __future__ import annotations

from collections.abc import Iterable

from kedge.errors import InvalidValue
from kedge.repomap.project.parts import join, parent
from kedge.repomap.project.project_files import ProjectFiles
from kedge.text.globs import Glob, expand_braces

MAX_PATTERNS = 60
MAX_MEMBERS = 400


def expand(project: ProjectFiles, home: str, patterns: Iterable[str], manifest: str) -> list[str]:
    """The directories below `home` that match a pattern, no exclusion, and have the manifest."""
    wanted: list[Glob] = []
    excluded: list[Glob] = []
    for pattern in list(patterns)[:MAX_PATTERNS]:
        (excluded if pattern.startswith("!") else wanted).extend(_compile(pattern, manifest))
    if not wanted:
        return []
    start = len(home) + 1 if home else 0
    found = []
    for path in project.find_named(manifest):
        directory = parent(path)
        if directory == home or not directory.startswith(join(home, "")):
            continue
        member = path[start:]
        if any(glob.matches_exactly(member) for glob in wanted) and not any(
            glob.matches_exactly(member) for glob in excluded
        ):
            found.append(directory)
    return found[:MAX_MEMBERS]


def _compile(pattern: str, manifest: str) -> list[Glob]:
    """Return globs for the manifests of the directories that a workspace's pattern names."""
    plain = pattern.removeprefix("!").removeprefix("./").rstrip("/")
    if not plain or len(plain) >= 200:
        return []
    try:
        return [Glob(f"/{choice}/{manifest}") for choice in expand_braces(plain)]
    except InvalidValue:
        return []
