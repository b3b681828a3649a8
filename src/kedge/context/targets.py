"""The files that agents read by themselves, and what kedge's section says in each."""

from __future__ import annotations

import os
import re

from kedge.context import managed
from kedge.context.defaults import text_of
from kedge.errors import BrokenSection, FileError
from kedge.host import files
from kedge.host.project import Project

AGENTS, CLAUDE = "AGENTS.md", "CLAUDE.md"
ON_REQUEST = {
    "copilot": ".github/copilot-instructions.md",
    "cursor": ".cursor/rules/kedge.mdc",
}
_CURSOR_HEAD = b"---\ndescription: How work is done here, with kedge\nalwaysApply: true\n---\n"
_IMPORT = re.compile(rb"(?:^|\s)@(?:\./)?AGENTS\.md(?![\w./-])")


def body(path: str, data: bytes | None, *, full: bool) -> str:
    """What the section of the file says; `full` when kedge's own files are there to refer to."""
    shared = text_of("agents.md") + (text_of("agents_full.md") if full else "")
    if path != CLAUDE:
        return shared
    imports = [] if _imports_agents(data) else ["@AGENTS.md"]
    imports += ["@.kedge/map.md", "@.kedge/constitution.md"] if full else []
    return "\n".join([*imports, *([""] if imports else []), text_of("claude.md")])


def read(project: Project, path: str) -> bytes | None:
    """The file's bytes, None when it is missing. What kedge cannot write into is refused."""
    where = project.path(*path.split("/"))
    if where.is_symlink() and not where.exists():
        raise FileError(
            f"{path} is a link that leads nowhere", hint="remove it, or put its target there"
        )
    data = files.read_bytes(where)
    if data is not None and where.stat().st_nlink > 1:
        raise FileError(
            f"{path} is one of several names of a file (hard links)",
            hint="make it a file of its own, or a symbolic link: replacing it would cut them apart",
        )
    if data is not None and not where.stat().st_mode & 0o222:
        raise FileError(f"{path} is read-only", hint=f"chmod u+w {path}, if kedge may write there")
    return data


def with_section(path: str, data: bytes | None, *, full: bool) -> bytes:
    try:
        start = _CURSOR_HEAD if data is None and path == ON_REQUEST["cursor"] else data
        return managed.put(start, body(path, data, full=full))
    except (BrokenSection, FileError) as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from error


def without_section(path: str, data: bytes) -> bytes | None:
    try:
        left = managed.drop(data)
    except BrokenSection as error:
        raise BrokenSection(f"{path}: {error.message}", hint=error.hint) from error
    return None if path == ON_REQUEST["cursor"] and left == _CURSOR_HEAD else left


def repaired(path: str, data: bytes, *, full: bool) -> bytes:
    return managed.repair(data, body(path, data, full=full))


def section(path: str, data: bytes | None) -> managed.Section | None:
    try:
        return managed.find(data) if data is not None else None
    except BrokenSection as error:
        raise BrokenSection(f"{path}: {error.message}", hint=error.hint) from error


def is_one_file(project: Project) -> bool:
    """Whether `CLAUDE.md` and `AGENTS.md` are two names of one file."""
    here, there = project.root / CLAUDE, project.root / AGENTS
    if here.is_symlink() or there.is_symlink():
        return os.path.realpath(here) == os.path.realpath(there)
    return here.exists() and there.exists() and here.samefile(there)


def _imports_agents(data: bytes | None) -> bool:
    """Whether the user's own text imports `AGENTS.md` already."""
    if data is None:
        return False
    try:
        found = managed.find(data)
    except BrokenSection:  # the section is about to be made anew
        return False
    own = data if found is None else data[: found.start] + data[found.stop :]
    return any(_IMPORT.search(line) for _, line in managed.lines(own))
