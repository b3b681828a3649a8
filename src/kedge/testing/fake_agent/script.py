"""The script of a fake agent: what it does in each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

# Errors between an agent and its provider, and the dialects that can report them.
FAULTS = {
    "rate-limit": ("claude", "codex", "gemini", "copilot", "opencode"),
    "auth": ("claude", "codex", "gemini", "copilot", "opencode"),
    "overloaded": ("claude", "codex", "gemini", "copilot", "opencode"),
    "too-long": ("claude", "codex", "copilot", "opencode"),
    "max-turns": ("claude", "gemini"),
    "budget": ("claude",),
    "refused": ("claude", "opencode"),
    "hook": ("claude",),
}
DIALECTS = ("claude", "codex", "gemini", "copilot", "opencode", "plain")
DONE = "Done."


class Replacement(NamedTuple):
    """Replace a text in a file; it must be there."""

    path: str
    old: str
    new: str


class Denial(NamedTuple):
    """A tool call that was not allowed."""

    tool: str
    reason: str = "not allowed"


@dataclass(frozen=True)
class Part:
    """What the agent does in one call, in the order of the fields.

    `deaf` ignores SIGTERM. `children` outlive it in its process group, `daemons` in sessions of
    their own. `flood` is a number of meaningless lines, `blob` the length of one long line.
    `write`, `replace` and `delete` edit files in its directory; `run` runs shell commands.
    `hang` waits that many seconds before the end, and with `noise` prints a line every so many
    seconds meanwhile. `crash` ends it without a result, by the signal of that number or, if it is
    0, with `code`. `fault` is one of `FAULTS`, reported as the dialect does. `code` replaces the
    exit code.
    """

    deaf: bool = False
    children: int = 0
    daemons: int = 0
    errors: str = ""  # on standard error
    flood: int = 0
    blob: int = 0
    binary: bool = False
    write: Mapping[str, str] = field(default_factory=dict)
    replace: tuple[Replacement, ...] = ()
    delete: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    deny: tuple[Denial, ...] = ()
    wait: float | None = None  # seconds that it reports to wait for its provider
    say: tuple[str, ...] = (DONE,)
    tokens_in: int = 1000
    tokens_out: int = 50
    cached: int = 0
    cost: float | None = 0.01  # reported if the dialect can
    hang: float = 0.0
    noise: float = 0.0
    crash: int | None = None
    fault: str = ""
    resets_in: float | None = None  # seconds, for a rate limit
    code: int | None = None


def parse_script(value: Any) -> list[Part]:
    """Return a script from JSON: a list of parts, each an object or a string to say."""
    if not isinstance(value, list | tuple):
        raise ValueError("a script must be a list of parts")
    return [parse_part(one) for one in value]


def parse_part(value: Any) -> Part:
    """Return a part from its short forms: single values for lists, objects for tuples."""
    if isinstance(value, Part):
        return value
    if isinstance(value, str):
        return Part(say=(value,))
    if not isinstance(value, Mapping):
        raise ValueError(f"a part must be a string or an object, not {value!r}")
    rest = dict(value)
    unknown = sorted(rest.keys() - {one.name for one in fields(Part)})
    if unknown:
        raise ValueError(f"a part has no field {', '.join(unknown)}")
    for name in ("say", "run", "delete"):
        if name in rest:
            rest[name] = _texts(rest[name])
    for name, make in (("replace", Replacement), ("deny", Denial)):
        if name in rest:
            rest[name] = tuple(_make(make, one) for one in rest[name])
    if rest.get("fault") and rest["fault"] not in FAULTS:
        raise ValueError(f"no fault {rest['fault']!r}: one of {', '.join(FAULTS)}")
    return Part(**rest)


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def _make(make: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return make(**value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return make(*value)
    raise ValueError(f"not a {make.__name__.lower()}: {value!r}")
