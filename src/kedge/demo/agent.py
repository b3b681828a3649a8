"""The agent of the demo, as `kedge run --command` starts it: `AGENT.py CLIENT PROGRAM HOME ARGS…`.

CLIENT is `script`, `claude` or `codex`; PROGRAM is the installed client, or empty; HOME is for it
alone. The other arguments and standard input are those of the client.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kedge.agents import installation
from kedge.demo import real_client, scripted_client
from kedge.demo.script import Performance

SCRIPT = "script"
CLIENTS = (SCRIPT, *real_client.CLIENTS)


def main(args: list[str]) -> int:
    client, program, home, *rest = args
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    performance = Performance(os.environ.get("KEDGE_TASK", ""), prompt)
    if client == SCRIPT:
        return scripted_client.play(performance, rest, prompt)
    return real_client.play(client, program, Path(home), performance, rest, prompt)


def find_client(name: str) -> Path | None:
    """Return the installed client on PATH."""
    return installation.find_program(name)
