"""The instruction files that agents read at their start, and kedge's section in each."""

from __future__ import annotations

import os
import re

from kedge.context import managed_section
from kedge.context.default_files import read_text
from kedge.errors import BrokenSection, FileError
from kedge.host import files
from kedge.host.project import Project

AGENTS, CLAUDE, GEMINI = "AGENTS.md", "CLAUDE.md", "GEMINI.md"
ON_REQUEST = {
    "copilot": ".github/copilot-instructions.md",
    "cursor": ".cursor/rules/kedge.mdc",
    "gemini": GEMINI,
}
_CURSOR_HEAD = b"---\ndescription: How work is done here, with kedge\nalwaysApply: true\n---\n"
_IMPORT = re.compile(rb"(?:^|\s)@(?:\./)?AGENTS\.md(?![\w./-])")


def render_body(path: str, data: bytes | None, *, full: bool, limits: bool) -> str:
    """Return the text of the file's section; with `full` it refers to kedge's own files.

    With `limits`, it tells agents to record the limits that the user sets.
    """
    shared = read_text("agents.md") + (read_text("limits.md") if limits else "")
    shared += read_text("agents_full.md") if full else ""
    if path not in (CLAUDE, GEMINI):
        return shared
    imports = [] if _imports_agents(data) else ["@AGENTS.md"]
    imports += ["@.kedge/map.md", "@.kedge/constitution.md"] if full else []
    if path == GEMINI:
        return "".join(f"{line}\n" for line in imports)
    return "\n".join([*imports, *([""] if imports else []), read_text("claude.md")])


def write_limit_rule() -> str:
    """Return the standing rule to record the user's limits, as one line."""
    return " ".join(read_text("limits.md").removeprefix("- ").split())


def read(project: Project, path: str) -> bytes | None:
    """Return the file's bytes, None if it is missing; refuse one that kedge may not write."""
    where = project.path(*path.split("/"))
    if where.is_symlink() and not where.exists():
        raise FileError(f"{path} is a broken symbolic link", hint="remove it, or create its target")
    data = files.read_bytes(where)
    if data is not None and where.stat().st_nlink > 1:
        raise FileError(
            f"{path} is one of several hard links to a file",
            hint="make it a separate file or a symbolic link: replacing it would break the link",
        )
    if data is not None and not where.stat().st_mode & 0o222:
        raise FileError(f"{path} is read-only", hint=f"chmod u+w {path}, if kedge may write it")
    return data


def put_section(path: str, data: bytes | None, *, full: bool, limits: bool) -> bytes:
    try:
        start = _CURSOR_HEAD if data is None and path == ON_REQUEST["cursor"] else data
        return managed_section.put(start, render_body(path, data, full=full, limits=limits))
    except (BrokenSection, FileError) as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from error


def drop_section(path: str, data: bytes) -> bytes | None:
    try:
        left = managed_section.drop(data)
    except BrokenSection as error:
        raise BrokenSection(f"{path}: {error.message}", hint=error.hint) from error
    if path == ON_REQUEST["cursor"] and left is not None and left.rstrip() == _CURSOR_HEAD.rstrip():
        return None
    return left


def repair_section(path: str, data: bytes, *, full: bool, limits: bool) -> bytes:
    return managed_section.repair(data, render_body(path, data, full=full, limits=limits))


def find_section(path: str, data: bytes | None) -> managed_section.ManagedSection | None:
    try:
        return managed_section.find(data) if data is not None else None
    except BrokenSection as error:
        raise BrokenSection(f"{path}: {error.message}", hint=error.hint) from error


def is_one_file(project: Project) -> bool:
    """True if `CLAUDE.md` and `AGENTS.md` are two names of one file."""
    here, there = project.root / CLAUDE, project.root / AGENTS
    if here.is_symlink() or there.is_symlink():
        return os.path.realpath(here) == os.path.realpath(there)
    return here.exists() and there.exists() and here.samefile(there)


def _imports_agents(data: bytes | None) -> bool:
    """True if the user's own text already imports `AGENTS.md`."""
    if data is None:
        return False
    try:
        section = managed_section.find(data)
    except BrokenSection:  # it is about to be rewritten
        return False
    own = data if section is None else data[: section.start] + data[section.stop :]
    return any(_IMPORT.search(line) for _, line in managed_section.list_plain_lines(own))
