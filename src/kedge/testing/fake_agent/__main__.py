"""`python -m kedge.testing.fake_agent --dialect NAME --script SCRIPT.json ARGUMENTS…`

What comes after the first two options is the agent's: it is kept and otherwise passed over. The
prompt is read from standard input; where that is empty, the last argument is the prompt.
Without the options, KEDGE_FAKE_DIALECT and KEDGE_FAKE_SCRIPT say them.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from itertools import pairwise
from pathlib import Path

from kedge.testing.fake_agent.agent import add, record
from kedge.testing.fake_agent.play import VOICES, play
from kedge.testing.fake_agent.script import FAULTS, Part, script

_USAGE = "usage: python -m kedge.testing.fake_agent --dialect NAME --script SCRIPT.json ARGUMENTS…"


def main(args: list[str]) -> int:
    given = {
        "--dialect": os.environ.get("KEDGE_FAKE_DIALECT", ""),
        "--script": os.environ.get("KEDGE_FAKE_SCRIPT", ""),
    }
    while len(args) > 1 and args[0] in given:
        given[args[0]] = args[1]
        args = args[2:]
    dialect, file = given.values()
    if dialect not in VOICES or not file:
        print(_USAGE, file=sys.stderr)
        return 2
    if "--version" in args:
        print("0.0.0 (fake)")
        return 0
    try:
        parts = script(json.loads(Path(file).read_text(encoding="utf-8")))
        prompt = _prompt(args)
        session = _session(args)
        number = record(Path(file), dialect, args, prompt, session)
        part = parts[number] if number < len(parts) else Part()
        if part.fault and dialect not in FAULTS[part.fault]:
            raise ValueError(f"{dialect} has no way to say {part.fault!r}")
        voice = VOICES[dialect](part, session)
        return play(part, voice, lambda started: add(Path(file), number, started))
    except (OSError, ValueError, TypeError) as error:
        print(f"fake agent: {error}", file=sys.stderr)
        return 70


def _prompt(args: list[str]) -> str:
    said = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
    if said or not args or args[-1].startswith("-"):
        return said
    return args[-1]


def _session(args: list[str]) -> str:
    """The id that the caller wants the session to have, or one of its own."""
    flags = dict(pairwise(args))
    return flags.get("--session-id") or str(uuid.uuid4())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
