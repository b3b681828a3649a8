"""One invocation of an agent, and the process that carries it out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kedge.agents.settings.hooks import Hook

# bytes; Linux takes no argument above 128 KiB, so longer text goes to standard input
MOST_ARGUMENT = 100_000
# Agents treat a rule as a pattern; one that starts with a wildcard would allow anything.
_COMMAND = re.compile(r"[^\s*?]+(?:\s|\Z)")


# Programs that run other programs: allowing them with more arguments would allow anything.
_SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "exec", "env", "xargs", "sudo")
_ANYTHING = frozenset((*_SHELLS, "python", "python3", "node", "ruby", "perl", "php"))


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the agent may do without asking: edit files in its directory, and run `commands`.

    Each command may be given further arguments. `full` lifts every limit.
    """

    commands: tuple[str, ...] = ()
    full: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The commands and their parts: agents check each side of `&&`, `|` and `;` by itself."""
        prefixes: dict[str, None] = {}
        for command in self.commands:
            whole = command.strip()
            for part in (whole, *split_command(whole)):
                bare = part.rpartition("/")[2]
                if _COMMAND.match(part) and "\n" not in part and bare not in _ANYTHING:
                    prefixes[part] = None
        return tuple(prefixes)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of an agent.

    `program` is the agent's program with its first arguments. `system` is added to the system
    prompt, where the agent has an option for that. `hooks` are for this call alone. `session` is
    a UUID for the new session. `scratch` is a directory for files of this call, outside the
    repository. Adapters leave out what their agent does not support.
    """

    program: tuple[str, ...]
    prompt: str
    directory: Path
    system: str = ""
    model: str | None = None
    permissions: Permissions = Permissions()
    hooks: tuple[Hook, ...] = ()
    session: str | None = None
    max_turns: int | None = None
    max_cost: float | None = None  # dollars
    environment: Mapping[str, str] = field(default_factory=dict)
    scratch: Path = Path()


class LogFile(NamedTuple):
    """A file below the agent's directory, which a variable names or which is in the home."""

    variable: str
    directory: str
    path: str

    def locate(self, environ: Mapping[str, str]) -> Path | None:
        home = environ.get("HOME")
        named = environ.get(self.variable) or (home and str(Path(home, self.directory)))
        return Path(named, self.path) if named else None


@dataclass(frozen=True, slots=True)
class Launch:
    """The process to start, without a shell. `env` is added to the environment.

    `files` are written to the invocation's scratch directory first. `log` is a file in which the
    agent reports what it does not print.
    """

    argv: tuple[str, ...]
    stdin: bytes
    env: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    log: LogFile | None = None


def encode_stdin(*texts: str) -> bytes:
    """Join texts to one standard input. Characters that cannot be encoded are replaced."""
    return "\n\n".join(text for text in texts if text).encode("utf-8", "replace")


def fits_argument(text: str) -> bool:
    """True if the text can be an argument of a program."""
    return len(text.encode("utf-8", "replace")) <= MOST_ARGUMENT and "\0" not in text


def split_command(command: str) -> Iterator[str]:
    """Yield the simple commands of a line, split at operators outside quotes."""
    quote, start, at = "", 0, 0
    while at < len(command):
        sign = command[at]
        if sign == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in ";|" or (sign == "&" and ">" not in command[max(0, at - 1) : at + 2]):
            yield command[start:at].strip()
            while at < len(command) and command[at] in ";|&":
                at += 1
            start = at
            continue
        at += 1
    yield command[start:].strip()
