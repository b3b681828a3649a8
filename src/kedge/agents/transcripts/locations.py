"""Where agents keep the transcripts of a project, in the user's home."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from kedge.agents import installation
from kedge.agents.transcripts.sessions import AGENTS, TranscriptFile, inspect_file

_MOST_NAME = 200  # characters; Claude Code replaces the rest of a directory's name by a hash
_OTHER = re.compile(r"[^a-zA-Z0-9]")


def list_directories(root: Path, agents: Iterable[str] = AGENTS) -> list[Path]:
    """Return the directories that may hold transcripts of the project, among others."""
    directories: list[Path] = []
    claude = installation.settings_directory("CLAUDE_CONFIG_DIR", ".claude")
    if "claude" in agents and claude is not None and (claude / "projects").is_dir():
        names = tuple({_slug(str(root)), _slug(os.path.realpath(root))})
        below = sorted((claude / "projects").iterdir())
        directories += [each for each in below if each.name.startswith(names) and each.is_dir()]
    codex = installation.settings_directory("CODEX_HOME", ".codex")
    if "codex" in agents and codex is not None:
        places = (codex / "sessions", codex / "archived_sessions")
        directories += [each for each in places if each.is_dir()]
    return directories


def describe_places(root: Path, agents: Iterable[str] = AGENTS) -> list[str]:
    """Return the directories where the agents would keep transcripts of the project."""
    places = []
    claude = installation.settings_directory("CLAUDE_CONFIG_DIR", ".claude")
    if "claude" in agents and claude is not None:
        places.append(str(claude / "projects" / _slug(os.path.realpath(root))))
    codex = installation.settings_directory("CODEX_HOME", ".codex")
    if "codex" in agents and codex is not None:
        places.append(str(codex / "sessions"))
    return places


def inspect_project_file(path: Path, root: Path) -> TranscriptFile | None:
    """Return the transcript in a file if its session ran in the project, else None."""
    file = inspect_file(path)
    if file is None:
        return None
    cwd = Path(file.facts.cwd)
    if not cwd.is_absolute() or "\0" in file.facts.cwd:
        return None
    place, real = Path(os.path.realpath(cwd)), Path(os.path.realpath(root))
    return file if place.is_relative_to(real) else None


def find_work_tree(cwd: str) -> str | None:
    """Return the root of the work tree that holds a session's directory.

    Without a work tree it is the directory itself; None for a directory that is not absolute.
    """
    place = Path(cwd)
    if not place.is_absolute():
        return None
    for root in (place, *place.parents):
        if os.path.lexists(root / ".git"):
            return str(root)
    return cwd


def _slug(path: str) -> str:
    """Return the name, or the start of the name, of Claude Code's directory for a project."""
    return _OTHER.sub("-", path)[:_MOST_NAME]
