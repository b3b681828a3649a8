"""The files that kedge ships and the user owns: constitution, run loop, settings.

Each ends with a stamp of the default it was written from. The stamp shows whether the user edited
the file, and whether the default has changed since.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kedge.host.digest import digest

TEXTS = Path(__file__).parent / "texts"
# Name in `.kedge`, and its purpose.
FILES = {
    "constitution.md": "what makes a change a good one",
    "runloop.md": "how an agent works alone",
    "config.toml": "settings of the project",
}
_STAMP = re.compile(rb"^(?:<!--|#) kedge's default ([0-9a-f]{8})(?: -->)?\s*\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DefaultStatus:
    """A file against its default: `edited` by the user, `behind` a default that changed."""

    edited: bool
    behind: bool


def render_default(name: str) -> bytes:
    """Return the file as kedge writes it."""
    text = read_text(name)
    seal = _seal(text.encode())
    stamp = (
        f"# kedge's default {seal}"
        if name.endswith(".toml")
        else f"<!-- kedge's default {seal} -->"
    )
    return f"{text}\n{stamp}\n".encode()


def read_text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8")


def compare_with_default(name: str, data: bytes) -> DefaultStatus:
    stamp = _STAMP.search(_lf(data))
    if stamp is None:
        return DefaultStatus(edited=True, behind=False)  # written by the user alone
    stamped = stamp[1].decode()
    own = _seal(_lf(data)[: stamp.start()])
    return DefaultStatus(edited=own != stamped, behind=stamped != _seal(read_text(name).encode()))


def restamp(name: str, data: bytes) -> bytes:
    """Stamp the user's text with the current default, so that it is no longer behind."""
    seal = _seal(read_text(name).encode()).encode()
    stamps = list(re.finditer(rb"kedge's default ([0-9a-f]{8})", data))
    if not stamps:
        return data
    start, end = stamps[-1].span(1)
    return data[:start] + seal + data[end:]


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _seal(text: bytes) -> str:
    return digest([text.strip()])[:8]
