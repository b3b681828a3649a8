"""The command line of kedge's hooks: how it is written, and how it is recognised."""

from __future__ import annotations

import re
import shlex
from pathlib import Path, PurePosixPath

from kedge.errors import InvalidValue

_LONGEST = 20_000  # characters; kedge's own commands are far shorter
_OPTION = re.compile(r"-[A-Za-z]+\Z")
_FLAG = re.compile(r"--[a-z][a-z-]*(?:=[\w./-]*)?\Z")
_AGENT = re.compile(r"[a-z][a-z0-9_-]*\Z")
# True in a shell while the process named by a file runs; built in, so it starts no program
_GUARD = "{{ read p <{file} && kill -0 $p; }} 2>/dev/null || "
_IS_GUARDED = re.compile(
    re.escape(_GUARD.format(file="@")).replace("@", r"('(?:[^'\n]|'\"'\"')*')") + r"(.*)\Z"
)
# Copilot CLI and Gemini CLI refuse a call when a hook's command fails, and Copilot CLI runs Claude
# Code's hooks as well. With this, the commands succeed also without kedge or its Python.
_STRICT = ("claude", "copilot", "gemini")
_ANYWAY = " || :"
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z")


def make_command(interpreter: Path, hook_file: Path, agent: str) -> str:
    """Return the command of kedge's hook on this machine.

    It does not depend on PATH, on Python's environment variables or on site-packages.
    """
    python, file = (_quote(str(path)) for path in (interpreter, hook_file))
    line = f"{python} -I -S {file} {agent}{_ANYWAY if agent in _STRICT else ''}"
    if not line.isprintable() or not is_kedge_hook(line):
        raise InvalidValue(
            f"{line!r} cannot be used as the command of a hook",
            hint=f"use the command that finds kedge on PATH: {make_portable_command(agent)}",
        )
    return line


def guard_command(line: str, file: Path) -> str:
    """Return a hook's command that does nothing while the process that a file names runs."""
    guarded = _GUARD.format(file=_quote(str(file))) + line
    if not guarded.isprintable() or not is_kedge_hook(guarded):
        raise InvalidValue(
            f"{str(file)!r} cannot be used in the command of a hook",
            hint="run kedge init without --daemon",
        )
    return guarded


def make_portable_command(agent: str) -> str:
    """Return the command of kedge's hook for shared settings, where `kedge` is on PATH."""
    return f"kedge hook {agent}{_ANYWAY if agent in _STRICT else ''}"


def is_portable(line: str, agent: str) -> bool:
    """True for the command of shared settings, from any version of kedge."""
    return line.removesuffix(_ANYWAY) == make_portable_command(agent).removesuffix(_ANYWAY)


def is_kedge_hook(line: str) -> bool:
    """True if a command is kedge's hook and nothing else, from any version of kedge or Python."""
    line = line.strip()
    if "kedge" not in line or "\n" in line or len(line) > _LONGEST:
        return False
    guarded = _IS_GUARDED.match(line)
    if guarded is not None:
        line = guarded[2]
    line = line.removesuffix(_ANYWAY)
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    while len(words) > 3 and _FLAG.match(words[-1]):
        words.pop()
    if len(words) < 3 or not _AGENT.match(words[-1]):
        return False
    program = PurePosixPath(words[0])
    if words[0] == "kedge" or (program.is_absolute() and program.name == "kedge"):
        return words[1:-1] == ["hook"]
    file, options = PurePosixPath(words[-2]), words[1:-2]
    return (
        (program.is_absolute() or bool(_PYTHON.match(words[0])))
        and all(map(_OPTION.match, options))
        and any("I" in option for option in options)
        and file.is_absolute()
        and file.parts[-2:] == ("kedge", "hook.py")
    )


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"
