"""The files that kedge ships and the user owns: constitution, run loop, settings.

Each ends with a line that names the default it came from, so that a file nobody edited can be told
from one that somebody did, and a default that has changed since from one that has not.
"""

from __future__ import annotations

import re
from pathlib import Path

from kedge.host.digest import digest
from kedge.host.record import NamedTuple

TEXTS = Path(__file__).parent / "texts"
# Name in `.kedge`, and what it is to the user.
FILES = {
    "constitution.md": "what makes a change a good one",
    "runloop.md": "how an agent works alone",
    "config.toml": "settings of the project",
}
_STAMP = re.compile(rb"^(?:<!--|#) kedge's default ([0-9a-f]{8})(?: -->)?\s*\Z", re.MULTILINE)


class State(NamedTuple):
    """How a file stands to the default: `edited` by somebody, `behind` a default that changed."""

    edited: bool
    behind: bool


def default(name: str) -> bytes:
    """The file as kedge writes it."""
    text = text_of(name)
    seal = _seal(text.encode())
    stamp = f"# kedge's default {seal}" if name.endswith(".toml") else f"<!-- {_named(seal)} -->"
    return f"{text}\n{stamp}\n".encode()


def text_of(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8")


def state(name: str, data: bytes) -> State:
    found = _STAMP.search(_lf(data))
    if found is None:
        return State(edited=True, behind=False)  # the user's own from the first line on
    said = found[1].decode()
    own = _seal(_lf(data)[: found.start()])
    return State(edited=own != said, behind=said != _seal(text_of(name).encode()))


def restamped(name: str, data: bytes) -> bytes:
    """The user's text, with the default of today as the one that was seen."""
    seal = _seal(text_of(name).encode()).encode()
    stamps = list(re.finditer(rb"kedge's default ([0-9a-f]{8})", data))
    if not stamps:
        return data
    start, end = stamps[-1].span(1)
    return data[:start] + seal + data[end:]


def _named(seal: str) -> str:
    return f"kedge's default {seal}"


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _seal(text: bytes) -> str:
    return digest([text.strip()])[:8]
