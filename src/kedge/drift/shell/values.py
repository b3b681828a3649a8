"""What words become: values, what commands print, and the state of a shell."""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.syntax import Block

UNKNOWN = "\0"  # stands in a value for what cannot be told
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
    """What a command prints, as words and as text; None where it cannot be told."""

    values: tuple[Value, ...] | None
    text: str | None = None

    def lines(self) -> tuple[Value, ...]:
        """One value for each line, or for each word where only those are known."""
        if self.text is not None and len(self.text) <= _LONGEST:
            return tuple(Value(line) for line in self.text.splitlines()[:MOST_VALUES])
        return self.values if self.values is not None else (Value(UNKNOWN),)


NOTHING = Output((), "")
ANYTHING = Output(None)


def printed(text: str) -> Output:
    """The output that is this text."""
    if UNKNOWN in text and not text.strip(UNKNOWN + " \n"):
        return ANYTHING
    if len(text) > _LONGEST:
        return Output(None, text)
    return Output(tuple(map(Value, text.split()[:MOST_VALUES])), text)


class State:
    """Where a shell is and what it knows; `cwd` is None where that cannot be told."""

    __slots__ = ("back", "cwd", "functions", "made", "params", "stack", "variables")

    def __init__(self, cwd: str | None) -> None:
        self.cwd = cwd
        self.back: str | None = None
        self.stack: list[str | None] = []
        self.variables: dict[str, tuple[Value, ...]] = {}
        self.functions: dict[str, Block] = {}
        self.params: tuple[Value, ...] = ()
        self.made: set[str] = set()  # directories that were made in this command

    def copy(self) -> State:
        other = State(self.cwd)
        other.back = self.back
        other.stack = self.stack[:]
        other.variables = self.variables.copy()
        other.functions = self.functions
        other.params = self.params
        other.made = self.made
        return other
