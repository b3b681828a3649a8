"""Where agents keep the transcripts of a project, in the user's home."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from kedge.agents import installation
from kedge.agents.transcripts.sessions import AGENTS, TranscriptFile, inspect_files

_MOST_NAME = 200  # characters; Claude Code replaces the rest of a directory's name by a hash
_OTHER = re.compile(r"[^a-zA-Z0-9]")


def list_places(root: Path, agents: Iterable[str] = AGENTS) -> list[Path]:
    """Return the files and directories that may hold transcripts of the project, among others."""
    places: list[Path] = []
    wanted = {agent: home for agent, home in _list_homes().items() if agent in agents}
    if (claude := wanted.get("claude")) is not None and (claude / "projects").is_dir():
        names = tuple({_slug(str(root)), _slug(os.path.realpath(root))})
        below = sorted((claude / "projects").iterdir())
        places += [each for each in below if each.name.startswith(names) and each.is_dir()]
    if (codex := wanted.get("codex")) is not None:
        places += [codex / "sessions", codex / "archived_sessions"]
    if (gemini := wanted.get("gemini")) is not None:
        places += sorted((gemini / "tmp").glob("*/chats"))
    if (copilot := wanted.get("copilot")) is not None:
        places.append(copilot / "session-state")
    if (opencode := wanted.get("opencode")) is not None:
        places += sorted(opencode.glob("opencode*.db"))
    return [each for each in places if each.exists()]


def describe_places(root: Path, agents: Iterable[str] = AGENTS) -> list[str]:
    """Return the places where the agents would keep transcripts of the project."""
    below = {
        "claude": Path("projects", _slug(os.path.realpath(root))),
        "codex": Path("sessions"),
        "gemini": Path("tmp"),
        "copilot": Path("session-state"),
        "opencode": Path("opencode.db"),
    }
    homes = _list_homes()
    return [str(home / below[agent]) for agent, home in homes.items() if home and agent in agents]


def _list_homes() -> dict[str, Path | None]:
    """Return the directory of each agent in the user's home."""
    data = installation.settings_directory("XDG_DATA_HOME", ".local/share")
    gemini = installation.settings_directory("GEMINI_CLI_HOME", "")
    return {
        "claude": installation.settings_directory("CLAUDE_CONFIG_DIR", ".claude"),
        "codex": installation.settings_directory("CODEX_HOME", ".codex"),
        "gemini": gemini and gemini / ".gemini",
        "copilot": installation.settings_directory("COPILOT_HOME", ".copilot"),
        "opencode": data and data / "opencode",
    }


def inspect_project_files(path: Path, root: Path) -> list[TranscriptFile]:
    """Return the transcripts in a file whose sessions ran in the project."""
    return [file for file in inspect_files(path) if _is_in_project(file.facts.cwd, root)]


def _is_in_project(directory: str, root: Path) -> bool:
    cwd = Path(directory)
    if not cwd.is_absolute() or "\0" in directory:
        return False
    place, real = Path(os.path.realpath(cwd)), Path(os.path.realpath(root))
    return place.is_relative_to(real)


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
