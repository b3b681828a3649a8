"""Where agents keep the transcripts of a project, in the user's home."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from kedge.agents import program
from kedge.agents.transcripts.read import AGENTS, File, look

_CUT = 200  # characters after which Claude Code makes the rest of a directory's name a hash
_OTHER = re.compile(r"[^a-zA-Z0-9]")


def directories(root: Path, agents: Iterable[str] = AGENTS) -> list[Path]:
    """The directories that may hold transcripts of a project, and of others beside it."""
    found: list[Path] = []
    claude = program.settings_directory("CLAUDE_CONFIG_DIR", ".claude")
    if "claude" in agents and claude is not None and (claude / "projects").is_dir():
        names = tuple({_slug(str(root)), _slug(os.path.realpath(root))})
        below = sorted((claude / "projects").iterdir())
        found += [each for each in below if each.name.startswith(names) and each.is_dir()]
    codex = program.settings_directory("CODEX_HOME", ".codex")
    if "codex" in agents and codex is not None:
        places = (codex / "sessions", codex / "archived_sessions")
        found += [each for each in places if each.is_dir()]
    return found


def of_project(path: Path, root: Path) -> File | None:
    """The transcript in a file, when its session ran in the project."""
    file = look(path)
    if file is None:
        return None
    cwd = Path(file.facts.cwd)
    if not cwd.is_absolute() or "\0" in file.facts.cwd:
        return None
    place, real = Path(os.path.realpath(cwd)), Path(os.path.realpath(root))
    return file if place.is_relative_to(real) else None


def work_tree(cwd: str) -> str | None:
    """The root of the project that a session worked in: the work tree that holds its directory.

    Where that is gone, the directory itself; nothing where it is not known.
    """
    place = Path(cwd)
    if not place.is_absolute():
        return None
    for root in (place, *place.parents):
        if os.path.lexists(root / ".git"):
            return str(root)
    return cwd


def _slug(path: str) -> str:
    """How Claude Code names the directory of a project, or how the name of a long one begins."""
    return _OTHER.sub("-", path)[:_CUT]
