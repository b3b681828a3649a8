"""Whether two commands check the same: `uv run pytest -q tests/auth` and `pytest`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_WRAPPERS = (
    *(("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run")),
    *(("bundle", "exec"), ("pnpm", "exec"), ("yarn", "exec"), ("npm", "exec"), ("npx",)),
    *(("python", "-m"), ("python3", "-m")),
)
# Programs that do what their first argument names.
_RUNNERS = frozenset(
    (
        *("make", "just", "npm", "pnpm", "yarn", "bun", "cargo", "go", "rake", "gradle", "gradlew"),
        *("mvn", "mvnw", "dotnet", "task", "invoke", "composer", "mix", "tox", "nox", "ruff"),
    )
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def overlaps(command: str, others: Sequence[str]) -> bool:
    """True if one of the others runs the same program, for a runner with the same target."""
    mine = _identify(command)
    return any(
        command == one or mine in (_identify(part) for part in _split(one)) for one in others
    )


def _split(command: str) -> list[str]:
    return [part for part in re.split(r"&&|\|\||;", command) if part.strip()]


def _identify(command: str) -> tuple[str, ...]:
    """Return the program of a command, with its target if it is a runner."""
    try:
        words = shlex.split(command)
    except ValueError:
        return (command,)
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    names = [words[0].rpartition("/")[2], *words[1:]] if words else []
    wrapper = next((one for one in _WRAPPERS if tuple(names[: len(one)]) == one), ())
    names = names[len(wrapper) :]
    if not names:
        return (command,)
    program = names[0].rpartition("/")[2]
    targets = [one for one in names[1:] if not one.startswith("-") and one != "run"]
    return (program, *targets[:1]) if program in _RUNNERS else (program,)
