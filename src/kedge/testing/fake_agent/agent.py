"""A fake agent from outside: its program, its script, and the calls of it."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kedge.testing.fake_agent.script import DIALECTS, Part, parse_part

_KEPT = ("KEDGE_", "TASK_")  # variables that are recorded; none of them is a key


@dataclass(frozen=True)
class Call:
    """One call of the program: its prompt, its arguments, and the processes it started."""

    number: int
    dialect: str
    argv: tuple[str, ...]
    prompt: str
    directory: str
    pid: int
    session: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    started: tuple[int, ...] = ()  # children and daemons

    def flag(self, name: str) -> str | None:
        """Return the value of an option, as in `--model NAME` or `--model=NAME`."""
        for at, word in enumerate(self.argv):
            if word == name and at + 1 < len(self.argv):
                return self.argv[at + 1]
            if word.startswith(f"{name}="):
                return word.partition("=")[2]
        return None


class FakeAgent:
    """An agent that plays a script. Its files are in `directory`, outside the repository."""

    def __init__(
        self, directory: Path, dialect: str = "claude", parts: Sequence[Any] = (), *, name: str = ""
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"no dialect {dialect!r}: one of {', '.join(DIALECTS)}")
        self.directory = directory
        self.dialect = dialect
        self._script = directory / "script.json"
        self._program = directory / "bin" / (name or ("agent" if dialect == "plain" else dialect))
        self._program.parent.mkdir(parents=True, exist_ok=True)
        self.plays(*parts)
        call = [sys.executable, "-I", "-m", "kedge.testing.fake_agent", "--dialect", dialect]
        words = shlex.join([*call, "--script", str(self._script)])
        self._program.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        self._program.chmod(0o755)

    @property
    def program(self) -> tuple[str, ...]:
        """The program, with its full path."""
        return (str(self._program),)

    @property
    def path(self) -> str:
        """A PATH on which the program is found under the agent's name."""
        return os.pathsep.join([str(self._program.parent), os.environ.get("PATH", os.defpath)])

    def plays(self, *parts: Any) -> None:
        """Play these parts from the next call on."""
        skip = len(self.calls)
        script = [Part()] * skip + [parse_part(one) for one in parts]
        self._script.write_text(json.dumps([asdict(one) for one in script]), encoding="utf-8")

    @property
    def calls(self) -> list[Call]:
        """The calls so far, in order."""
        return read_calls(self._script)

    @property
    def prompts(self) -> list[str]:
        return [call.prompt for call in self.calls]


def read_calls(script: Path) -> list[Call]:
    try:
        text = _calls_file(script).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    calls: dict[int, dict[str, Any]] = {}
    for line in text[: text.rfind("\n") + 1].splitlines():  # the last one may be half written
        data = json.loads(line)
        calls.setdefault(data["number"], {}).update(data)
    result = []
    for data in calls.values():
        data |= {"argv": tuple(data["argv"]), "started": tuple(data.get("started", ()))}
        result.append(Call(**data))
    return result


def record_call(script: Path, dialect: str, argv: Sequence[str], prompt: str, session: str) -> int:
    """Record a call and return its number, from 0. Calls at the same time get different ones."""
    with _calls_file(script).open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        number = len({json.loads(line)["number"] for line in file})
        data = {
            "number": number,
            "dialect": dialect,
            "argv": list(argv),
            "prompt": prompt,
            "directory": str(Path.cwd()),
            "pid": os.getpid(),
            "session": session,
            "env": {key: one for key, one in os.environ.items() if key.startswith(_KEPT)},
        }
        file.write(json.dumps(data) + "\n")
    return number


def record_children(script: Path, number: int, started: Sequence[int]) -> None:
    """Record the processes that a call has started."""
    with _calls_file(script).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps({"number": number, "started": list(started)}) + "\n")


def _calls_file(script: Path) -> Path:
    return script.with_name(script.stem + ".calls.jsonl")
