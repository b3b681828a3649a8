"""The values that the structure of a repository is made of."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["install", "build", "test", "lint", "format", "typecheck", "run"]
KINDS: tuple[Kind, ...] = ("install", "build", "test", "lint", "format", "typecheck", "run")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the project, to be run from its root, and the place that proves it."""

    kind: Kind
    command: str
    source: str


@dataclass(frozen=True, slots=True)
class Place:
    """A path and what is there."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path} — {self.what}" if self.what else self.path


@dataclass(frozen=True, slots=True)
class Module:
    """A directory with code: how many files of code, and what it is for where it says so."""

    path: str
    files: int
    about: str | None


@dataclass(frozen=True, slots=True)
class Tech:
    """One line of the stack. `family` names the code that it stands for, none for tooling."""

    text: str
    family: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A command that may be shown: the higher the score, the sooner a maintainer would name it.

    `step` is what it does in a word or two, to see that two spellings are the same step.
    """

    kind: Kind
    command: str
    source: str
    score: int
    family: str | None = None
    where: str = ""


@dataclass(slots=True)
class Findings:
    """What one ecosystem found."""

    family: str | None = None
    techs: list[Tech] = field(default_factory=list)
    commands: list[Candidate] = field(default_factory=list)
    entries: list[Place] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)

    def tech(self, text: str, where: str = "") -> None:
        suffix = f" in {where}/" if where else ""
        self.techs.append(Tech(text + suffix, self.family, where))

    def command(self, kind: Kind, command: str, source: str, score: int, where: str = "") -> None:
        self.commands.append(
            Candidate(kind, within(where, command), source, score, self.family, where)
        )

    def entry(self, path: str, what: str) -> None:
        self.entries.append(Place(path, what))


def within(directory: str, command: str) -> str:
    """The command as it is typed in the root of the repository."""
    return f"cd {shlex.quote(directory)} && {command}" if directory else command


def join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def base(path: str) -> str:
    return path.rpartition("/")[2]
