"""`python -m kedge.testing.fake_agent --dialect NAME --script SCRIPT.json ARGUMENTS…`

Further arguments are the agent's: they are recorded and otherwise ignored. The prompt is read from
standard input; if that is empty, the last argument is the prompt. Without the options,
KEDGE_FAKE_DIALECT and KEDGE_FAKE_SCRIPT are used.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from itertools import pairwise
from pathlib import Path

from kedge.testing.fake_agent.agent import record_call, record_children
from kedge.testing.fake_agent.play import DIALECT_CLASSES, play
from kedge.testing.fake_agent.script import FAULTS, Part, parse_script

_USAGE = "usage: python -m kedge.testing.fake_agent --dialect NAME --script SCRIPT.json ARGUMENTS…"


def main(args: list[str]) -> int:
    options = {
        "--dialect": os.environ.get("KEDGE_FAKE_DIALECT", ""),
        "--script": os.environ.get("KEDGE_FAKE_SCRIPT", ""),
    }
    while len(args) > 1 and args[0] in options:
        options[args[0]] = args[1]
        args = args[2:]
    dialect, file = options.values()
    if dialect not in DIALECT_CLASSES or not file:
        print(_USAGE, file=sys.stderr)
        return 2
    if "--version" in args:
        print("0.0.0 (fake)")
        return 0
    try:
        parts = parse_script(json.loads(Path(file).read_text(encoding="utf-8")))
        prompt = _prompt(args)
        session = _session(args)
        number = record_call(Path(file), dialect, args, prompt, session)
        part = parts[number] if number < len(parts) else Part()
        if part.fault and dialect not in FAULTS[part.fault]:
            raise ValueError(f"{dialect} cannot report {part.fault!r}")
        speaker = DIALECT_CLASSES[dialect](part, session)
        return play(part, speaker, lambda started: record_children(Path(file), number, started))
    except (OSError, ValueError, TypeError) as error:
        print(f"fake agent: {error}", file=sys.stderr)
        return 70


def _prompt(args: list[str]) -> str:
    text = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
    if text or not args or args[-1].startswith("-"):
        return text
    return args[-1]


def _session(args: list[str]) -> str:
    """Return the session id that the caller asks for, or a new one."""
    flags = dict(pairwise(args))
    return flags.get("--session-id") or str(uuid.uuid4())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
