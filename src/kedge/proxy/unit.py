"""A unit of the user's service manager that keeps `kedge serve` running for a repository.

Its last line has a hash of the text, by which kedge recognises what it wrote and the user did not
change. The file, and the directories that were made for it, can be removed without a trace.
"""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.host import files
from kedge.host.digest import digest
from kedge.host.project import HOME_VARIABLE, Project

_MARK = re.compile(
    r"(?:# |<!-- )written by kedge, (\d) new directories, ([0-9a-f]{16})(?: -->)?\n\Z"
)
_RESTART_SECONDS = 2
_MAC = "darwin"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit's file, and the commands with which the user enables it, and ends it once removed."""

    path: Path
    name: str
    enable: str
    forget: str


def find_unit(project: Project, platform: str = sys.platform) -> Unit:
    """Return the unit of a repository, which its work trees share; it may not exist."""
    home = project.home()
    folder = home.parent.parent.name if home.parent.name == ".git" else project.root.name
    plain = re.sub(r"[^A-Za-z0-9]+", "-", folder).strip("-")[:30]
    name = "-".join(filter(None, ("kedge", plain, digest([str(home).encode()])[:8])))
    if platform == _MAC:
        path = Path.home() / "Library" / "LaunchAgents" / f"{name}.plist"
        domain = f"gui/{os.getuid()}"
        enable = f"launchctl bootstrap {domain} {shlex.quote(str(path))}"
        return Unit(path, name, enable, f"launchctl bootout {domain}/{name}")
    given = os.environ.get("XDG_CONFIG_HOME", "")
    config = Path(given) if given.startswith("/") else Path.home() / ".config"
    path = config / "systemd" / "user" / f"{name}.service"
    enable = f"systemctl --user enable --now {path.name}"
    return Unit(path, path.name, enable, "systemctl --user daemon-reload")


def install(project: Project, words: Sequence[str], platform: str = sys.platform) -> bool:
    """Write the unit, which runs `kedge serve` with these words; False if it is there already."""
    unit = find_unit(project, platform)
    before = _read(unit.path)
    argv = [sys.executable, "-m", "kedge", "-C", str(project.root), "serve", *words]
    named = os.environ.get(HOME_VARIABLE)
    environment = {HOME_VARIABLE: named} if named else {}
    bad = next((word for word in (*argv, *environment.values()) if not word.isprintable()), None)
    if bad is not None:
        raise InvalidValue(f"{bad!r} cannot be in a unit", hint="rename that directory")
    if before is None:
        made = sum(not parent.exists() for parent in unit.path.parents)
    else:
        made = _check(unit.path, before)
    if platform == _MAC:
        text, mark = _write_launchd(unit.name, argv, environment), "<!-- {} -->\n"
    else:
        text, mark = _write_systemd(project, argv, environment), "# {}\n"
    content = f"written by kedge, {made} new directories, {digest([text.encode()])[:16]}"
    data = (text + mark.format(content)).encode()
    if data == before:
        return False
    files.write_atomic(unit.path, data, mode=0o644)
    return True


def is_installed(project: Project, platform: str = sys.platform) -> bool:
    return find_unit(project, platform).path.is_file()


def uninstall(project: Project, platform: str = sys.platform) -> Unit | None:
    """Remove the unit, the link that enables it, and the directories that were made for it."""
    unit = find_unit(project, platform)
    data = _read(unit.path)
    if data is None:
        return None
    made = _check(unit.path, data)
    link = unit.path.parent / "default.target.wants" / unit.path.name
    if link.is_symlink():
        link.unlink()
        _remove_empty(link.parent)
    unit.path.unlink()
    for parent in [*unit.path.parents][:made]:
        _remove_empty(parent)
    return unit


def _read(path: Path) -> bytes | None:
    return files.read_bytes(path)


def _check(path: Path, data: bytes) -> int:
    """Return how many directories were made for a unit; refuse one that is not kedge's text."""
    text = data.decode("utf-8", "replace")
    found = _MARK.search(text)
    if found is None or digest([text[: found.start()].encode()])[:16] != found[2]:
        raise FileError(f"{path} was changed after kedge wrote it", hint=f"remove it: rm {path}")
    return int(found[1])


def _remove_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()


def _write_systemd(project: Project, argv: Sequence[str], environment: Mapping[str, str]) -> str:
    lines = [
        "[Unit]",
        f"Description=kedge serve for {str(project.root).replace('%', '%%')}",
        "",
        "[Service]",
        f"ExecStart={' '.join(map(_quote, argv))}",
        *(f"Environment={_quote(f'{key}={value}')}" for key, value in environment.items()),
        "Restart=on-failure",
        f"RestartSec={_RESTART_SECONDS}",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join([*lines, ""])


def _quote(word: str) -> str:
    """Return a word as systemd reads it: no variables, no specifiers."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"'


def _write_launchd(name: str, argv: Sequence[str], environment: Mapping[str, str]) -> str:
    content = {
        "Label": name,
        "ProgramArguments": [*argv],
        "EnvironmentVariables": {**environment},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
    }
    return plistlib.dumps(content, sort_keys=False).decode()
