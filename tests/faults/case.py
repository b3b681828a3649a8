"""One thing that was tried, and what was wrong with the outcome."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Case:
    """A fault of a kind, tried with a command. `at` says which, and repeats it."""

    kind: str
    command: str
    at: str
    about: str = ""
    problems: list[str] = field(default_factory=list)

    @property
    def repeat(self) -> str:
        return f"tools/faults {self.kind} --command '{self.command}' --at '{self.at}'"
