"""The hook that allows Copilot the commands of a run: it reads a request, and answers it.

It runs as a program of its own, and only ever says yes. Whatever else happens, Copilot asks the
user, who is not there: the command is refused.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # started by path, without site-packages
    sys.path.insert(0, str(Path(__file__).parents[3]))

from kedge.agents.launch.invocation import split_command

# In arguments: what can run or write more than the words say, and `$'…'`, whose quotes
# `split_command` does not know. A variable is put in as words, and runs nothing.
_HIDDEN = re.compile(r"[`\n\r<>(){}]|\$(?![A-Za-z_])")


def make_command(rules: Path) -> str:
    """Return the command line of the hook; `rules` is a file with a JSON list of commands."""
    return shlex.join([sys.executable, "-I", "-S", __file__, str(rules)])


def is_allowed(command: str, rules: Sequence[str]) -> bool:
    """True if each simple command of the line is one of the rules, perhaps with more arguments."""
    parts = list(split_command(command))
    return command in rules or all(any(_fits(part, rule) for rule in rules) for part in parts)


def _fits(part: str, rule: str) -> bool:
    more = part.removeprefix(rule)
    return part == rule or (part.startswith(f"{rule} ") and not _HIDDEN.search(more))


def main(rules: str) -> None:
    asked = json.load(sys.stdin)
    given = asked.get("toolInput")
    command = given.get("command") if isinstance(given, dict) else None
    if isinstance(command, str) and is_allowed(
        command.strip(), json.loads(Path(rules).read_text())
    ):
        sys.stdout.write(json.dumps({"behavior": "allow"}))


if __name__ == "__main__":
    main(sys.argv[1])
