"""What an agent is asked to do, and the program call that asks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kedge.agents.hooks import Hook
from kedge.host.record import NamedTuple

# Linux takes no argument of more than 128 KiB; what comes near goes the way of the prompt.
ARGUMENT = 100_000
# To agents a rule is a pattern: one that begins with a wildcard would allow anything.
_COMMAND = re.compile(r"[^\s*?]+(?:\s|\Z)")


# What runs whatever it is given: with more arguments it would be any command at all.
_SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "exec", "env", "xargs", "sudo")
_ANYTHING = frozenset((*_SHELLS, "python", "python3", "node", "ruby", "perl", "php"))


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the agent may do without being asked: edit files in its directory, and run `commands`.

    Each command may have more arguments than are written here. `full` lifts every limit.
    """

    commands: tuple[str, ...] = ()
    full: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The commands and their parts: agents judge each side of `&&`, `|`, `;` and so on."""
        found: dict[str, None] = {}
        for command in self.commands:
            whole = command.strip()
            for part in (whole, *parts(whole)):
                bare = part.rpartition("/")[2]
                if _COMMAND.match(part) and "\n" not in part and bare not in _ANYTHING:
                    found[part] = None
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Order:
    """One call of an agent.

    `program` is the agent's program and what of its arguments comes first. `system` is text for
    the system prompt, where the agent has a way to add to it. `hooks` are for this call alone.
    `session` is an id for a new session, a UUID. What an agent has no notion of is left out.
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


class Launch(NamedTuple):
    """A program call: nothing in it is read by a shell. `env` is added to what there is."""

    argv: tuple[str, ...]
    stdin: bytes
    env: Mapping[str, str]


def spoken(*texts: str) -> bytes:
    """Texts as one standard input, in this order. Half a character is no reason to fail."""
    return "\n\n".join(text for text in texts if text).encode("utf-8", "replace")


def fits(text: str) -> bool:
    """Whether the text can be an argument of a program."""
    return len(text.encode("utf-8", "replace")) <= ARGUMENT and "\0" not in text


def parts(command: str) -> Iterator[str]:
    """The simple commands of a line, at the operators outside of quotes."""
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
