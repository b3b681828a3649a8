"""The parts of a repository's structure, and the findings that they are chosen from."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

MAX_LINE = 200
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
Kind: TypeAlias = "Literal['install', 'build', 'test', 'lint', 'format', 'typecheck', 'run']"
KINDS: tuple[Kind, ...] = ("install", "build", "test", "lint", "format", "typecheck", "run")


class FileSource(Protocol):
    """The files of a repository.

    `paths` are relative and sorted, without ignored, vendored and generated files. `read` returns
    None for a file that is missing or cannot be read.
    """

    @property
    def paths(self) -> Sequence[str]: ...

    def read(self, path: str) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Command:
    """A command to be run in the root of the project, and where it was found."""

    kind: Kind
    command: str
    source: str


@dataclass(frozen=True, slots=True)
class DescribedPath:
    """A path with a description."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path} — {self.what}" if self.what else self.path


@dataclass(frozen=True, slots=True)
class Module:
    """A directory with code: its number of source files, and its description if it has one."""

    path: str
    files: int
    what: str | None


@dataclass(frozen=True, slots=True)
class Tech:
    """One line of the stack; `family` is the language family of its code, None for tools."""

    text: str
    family: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A command that may be shown; a higher score is more likely what a maintainer would name."""

    kind: Kind
    command: str
    source: str
    score: int
    family: str | None = None
    where: str = ""
    from_ci: bool = False


class Findings:
    """The findings of one ecosystem; `bare` if its code has no manifest."""

    def __init__(self, family: str | None = None) -> None:
        self.family = family
        self.techs: list[Tech] = []
        self.commands: list[Candidate] = []
        self.entries: list[DescribedPath] = []
        self.packages: list[str] = []
        self.bare = False

    def add_tech(self, text: str, where: str = "") -> None:
        suffix = f" in {where}/" if where else ""
        self.techs.append(Tech(clean_line(text) + suffix, self.family, where))

    def add_command(
        self, kind: Kind, command: str, source: str, score: int, where: str = ""
    ) -> None:
        self.add_candidate(
            Candidate(kind, run_in(where, command), source, score, self.family, where)
        )

    def add_candidate(self, candidate: Candidate) -> None:
        """Add a command, if it is printable and fits on one line."""
        if candidate.command.isprintable() and len(candidate.command) <= MAX_LINE:
            self.commands.append(replace(candidate, source=clean_line(candidate.source)))

    def add_entry(self, path: str, what: str) -> None:
        self.entries.append(DescribedPath(path, clean_line(what)))


def clean_line(text: str) -> str:
    """The text without unprintable characters, shortened to one line."""
    if text.isprintable():
        return text[:MAX_LINE]
    return "".join(letter for letter in text if letter.isprintable())[:MAX_LINE]


def run_in(directory: str, command: str) -> str:
    """The command that runs this command in a directory below the root."""
    return f"cd {shlex.quote(directory)} && {command}" if directory else command


def format_stack(
    language: str, version: str | None, tools: Iterable[str] = (), libraries: Iterable[str] = ()
) -> str:
    """A line of the stack: `Python ≥3.11 (uv; flask, click)`."""
    details = "; ".join(filter(None, (", ".join(tools), ", ".join(libraries))))
    line = f"{language} {version}" if version else language
    return f"{line} ({details})" if details else line


def join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def ancestors(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first, without the root."""
    while path := parent(path):
        yield path


def base(path: str) -> str:
    return path.rpartition("/")[2]
