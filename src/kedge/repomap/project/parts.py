"""The values that the structure of a repository is made of."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, Protocol, TypeAlias
else:
    Protocol = object

MAX_LINE = 200
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
Kind: TypeAlias = "Literal['install', 'build', 'test', 'lint', 'format', 'typecheck', 'run']"
KINDS: tuple[Kind, ...] = ("install", "build", "test", "lint", "format", "typecheck", "run")


class Source(Protocol):
    """A repository: what is in it, and the bytes of one file.

    `paths` are relative, separated by `/`, sorted, without what is ignored, vendored or
    generated. `read` gives None for what is missing or cannot be read.
    """

    @property
    def paths(self) -> Sequence[str]: ...

    def read(self, path: str) -> bytes | None: ...


class Command(NamedTuple):
    """A command of the project, to be run from its root, and the place that proves it."""

    kind: Kind
    command: str
    source: str


class Place(NamedTuple):
    """A path and what is there."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path} — {self.what}" if self.what else self.path


class Module(NamedTuple):
    """A directory with code: how many files of code, and what it is for where it says so."""

    path: str
    files: int
    what: str | None


class Tech(NamedTuple):
    """One line of the stack. `family` names the code that it stands for, none for tooling."""

    text: str
    family: str | None = None
    where: str = ""


class Candidate(NamedTuple):
    """A command that may be shown: the higher the score, the sooner a maintainer would name it."""

    kind: Kind
    command: str
    source: str
    score: int
    family: str | None = None
    where: str = ""
    from_ci: bool = False


class Findings:
    """What one ecosystem found. It is `bare` when no manifest speaks for its code."""

    def __init__(self, family: str | None = None) -> None:
        self.family = family
        self.techs: list[Tech] = []
        self.commands: list[Candidate] = []
        self.entries: list[Place] = []
        self.packages: list[str] = []
        self.bare = False

    def tech(self, text: str, where: str = "") -> None:
        suffix = f" in {where}/" if where else ""
        self.techs.append(Tech(shown(text) + suffix, self.family, where))

    def command(self, kind: Kind, command: str, source: str, score: int, where: str = "") -> None:
        self.add(Candidate(kind, within(where, command), source, score, self.family, where))

    def add(self, candidate: Candidate) -> None:
        """What cannot be typed on one line is not a command."""
        if candidate.command.isprintable() and len(candidate.command) <= MAX_LINE:
            self.commands.append(candidate._replace(source=shown(candidate.source)))

    def entry(self, path: str, what: str) -> None:
        self.entries.append(Place(path, shown(what)))


def shown(text: str) -> str:
    """The text as it may stand on one line, whatever file it comes from."""
    if text.isprintable():
        return text[:MAX_LINE]
    return "".join(letter for letter in text if letter.isprintable())[:MAX_LINE]


def quoted(word: str) -> str:
    """A name from a file as one word of a command."""
    from shlex import quote

    return quote(word)


def within(directory: str, command: str) -> str:
    """The command as it is typed in the root of the repository."""
    return f"cd {quoted(directory)} && {command}" if directory else command


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def base(path: str) -> str:
    return path.rpartition("/")[2]
