"""The command of kedge's hooks: how it is written, and how it is known again."""

from __future__ import annotations

import re
import shlex
from pathlib import Path, PurePosixPath

from kedge.errors import InvalidValue

_LONGEST = 20_000  # characters; no command of kedge comes near
_OPTION = re.compile(r"-[A-Za-z]+\Z")
_FLAG = re.compile(r"--[a-z][a-z-]*(?:=[\w./-]*)?\Z")
_AGENT = re.compile(r"[a-z][a-z0-9_-]*\Z")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z")


def command(interpreter: Path, hook_file: Path, agent: str) -> str:
    """What runs kedge's hook on this machine: no PATH, no settings of Python, no site of its
    packages play a part."""
    python, file = (_quoted(str(path)) for path in (interpreter, hook_file))
    line = f"{python} -I -S {file} {agent}"
    if not line.isprintable() or not is_ours(line):
        raise InvalidValue(
            f"{line!r} cannot be the command of a hook",
            hint=f"use the one that finds kedge on PATH: {portable(agent)}",
        )
    return line


def portable(agent: str) -> str:
    """What runs kedge's hook wherever `kedge` is on PATH: for settings that are shared."""
    return f"kedge hook {agent}"


def is_ours(line: str) -> bool:
    """Whether a command is kedge's hook and nothing more, whatever version or Python wrote it."""
    line = line.strip()
    if "kedge" not in line or "\n" in line or len(line) > _LONGEST:
        return False
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


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"
