"""What a command works with: expanded words, the output of commands, the state of a shell."""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.syntax import CommandBlock

UNKNOWN = "\0"  # stands in a value for text that is not known
MOST_VALUES = 100
_LONGEST = 4096  # characters of a word that is split or expanded


class Value(NamedTuple):
    """A word after expansion; `glob` when a shell would still match it against files."""

    text: str
    glob: bool = False

    @property
    def known(self) -> bool:
        return UNKNOWN not in self.text

    @property
    def shown(self) -> str:
        return self.text[:80].replace(UNKNOWN, "…")


class Output(NamedTuple):
    """What a command prints, as words and as text; None where that is not known."""

    values: tuple[Value, ...] | None
    text: str | None = None

    def lines(self) -> tuple[Value, ...]:
        """Return one value per line, or per word if only the words are known."""
        if self.text is not None and len(self.text) <= _LONGEST:
            return tuple(Value(line) for line in self.text.splitlines()[:MOST_VALUES])
        return self.values if self.values is not None else (Value(UNKNOWN),)


def pattern_under(directory: str, pattern: str, glob: bool = True) -> Value:
    """Return a pattern below a directory, written as short as possible."""
    here = directory in (".", "./", "")
    return Value(pattern if here else f"{directory.rstrip('/')}/{pattern}", glob)


NOTHING = Output((), "")
ANYTHING = Output(None)


def make_output(text: str) -> Output:
    """Return the output of a command that prints this text."""
    if UNKNOWN in text and not text.strip(UNKNOWN + " \n"):
        return ANYTHING
    if len(text) > _LONGEST:
        return Output(None, text)
    return Output(tuple(map(Value, text.split()[:MOST_VALUES])), text)


class ShellState:
    """A shell's directory, variables and functions; `cwd` is None if it is not known."""

    __slots__ = ("back", "cwd", "functions", "made", "params", "stack", "variables")

    def __init__(self, cwd: str | None) -> None:
        self.cwd = cwd
        self.back: str | None = None
        self.stack: list[str | None] = []
        self.variables: dict[str, tuple[Value, ...]] = {}
        self.functions: dict[str, CommandBlock] = {}
        self.params: tuple[Value, ...] = ()
        self.made: set[str] = set()  # directories that this command made

    def copy(self) -> ShellState:
        other = ShellState(self.cwd)
        other.back = self.back
        other.stack = self.stack[:]
        other.variables = self.variables.copy()
        other.functions = self.functions
        other.params = self.params
        other.made = self.made
        return other
