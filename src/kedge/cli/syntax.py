"""What a command line may say, as data: commands, groups, options, arguments and types.

Spelled as click spells it, but without click: `reading` reads plain command lines by it, and
`clicked` has click read all others, with help and errors.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

# Makes a value of a text, and raises ValueError where it might not be one.
Type: TypeAlias = "Callable[[str], Any]"
Function: TypeAlias = "Callable[..., Any]"


class Choice:
    """One of these words."""

    def __init__(self, words: Iterable[str], *, case_sensitive: bool = True) -> None:
        self.words = tuple(words)
        self.case_sensitive = case_sensitive

    def __call__(self, text: str) -> str:
        if self.case_sensitive:
            return self.words[self.words.index(text)]
        return self.words[[word.casefold() for word in self.words].index(text.casefold())]


class IntRange:
    """A whole number, from the least to the most."""

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least = least
        self.most = most

    def __call__(self, text: str) -> int:
        value = int(text)
        if value < self.least or (self.most is not None and value > self.most):
            raise ValueError(text)
        return value


class FloatAbove:
    """A number above this one."""

    def __init__(self, bound: float) -> None:
        self.bound = bound

    def __call__(self, text: str) -> float:
        value = float(text)
        if not value > self.bound:
            raise ValueError(text)
        return value


class Path:
    """A path; with `directory`, that of a directory which is there."""

    def __init__(self, *, directory: bool = False) -> None:
        self.directory = directory

    def __call__(self, text: str) -> pathlib.Path:
        if self.directory and not os.path.isdir(text):  # noqa: PTH112 - never an OSError
            raise ValueError(text)
        if os.path.lexists(text) and not os.access(text, os.R_OK):
            raise ValueError(text)
        return pathlib.Path(text)


class Option:
    """`--name VALUE`, or a flag: `--name`, or `--name/--no-name`.

    With `is_flag=False` and a `flag_value`, its value may be left out.
    """

    def __init__(
        self,
        *words: str,
        type: Type = str,  # noqa: A002 - click's word
        is_flag: bool | None = None,
        flag_value: str | None = None,
        default: Any = None,
        required: bool = False,
        multiple: bool = False,
        metavar: str | None = None,
        show_default: bool = False,
        help: str | None = None,  # noqa: A002 - click's word
    ) -> None:
        self.words = words
        self.type = type
        self.is_flag = is_flag
        self.flag_value = flag_value
        self.default = default
        self.required = required
        self.multiple = multiple
        self.metavar = metavar
        self.show_default = show_default
        self.help = help
        on, _, off = words[0].partition("/")
        named = [word for word in words if not word.startswith("-")]
        said = [on, *(word for word in words[1:] if word not in named)]
        self.name = (named or [max(said, key=len)])[0].lstrip("-").replace("-", "_")
        self.off = off  # how an on/off flag is said to be off
        self.spellings = [*said, off] if off else said
        self.takes_value = not (is_flag or off or flag_value is not None)

    def __call__(self, function: Function) -> Function:
        return _declare(function, self)


class Argument:
    """A word at its place, or with `nargs=-1` all that are left."""

    def __init__(
        self,
        name: str,
        *,
        type: Type = str,  # noqa: A002 - click's word
        required: bool = True,
        nargs: int = 1,
        metavar: str | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.required = required and nargs == 1
        self.nargs = nargs
        self.metavar = metavar

    def __call__(self, function: Function) -> Function:
        return _declare(function, self)


def _declare(function: Function, one: Option | Argument) -> Function:
    """Declarations stand above the function in their order, and are come to from below."""
    vars(function).setdefault("takes", []).insert(0, one)
    return function


def options(*group: Option) -> Callable[[Function], Function]:
    """Options that are declared together."""

    def declare(function: Function) -> Function:
        for one in reversed(group):
            function = one(function)
        return function

    return declare


class Command:
    """A function with what it takes; it is called after the function."""

    def __init__(self, function: Function, help: str) -> None:  # noqa: A002 - click's word
        self.name = function.__name__.strip("_").replace("_", "-")
        self.function = function
        self.help = help
        self.takes: Sequence[Option | Argument] = vars(function).get("takes", ())


class Group:
    """Commands of one kind, with the options that are said before theirs."""

    def __init__(self, help: str, *takes: Option) -> None:  # noqa: A002 - click's word
        self.help = help
        self.takes = takes
        self._commands: dict[str, Command] = {}

    def names(self) -> list[str]:
        return sorted(self._commands)

    def find(self, name: str) -> Command | Group | None:
        return self._commands.get(name)

    def add(self, command: Command) -> Command:
        self._commands[command.name] = command
        return command

    def command(self, help: str) -> Callable[[Function], Command]:  # noqa: A002 - click's word
        """Declare a command of the group."""
        return lambda function: self.add(Command(function, help))


def command(help: str) -> Callable[[Function], Command]:  # noqa: A002 - click's word
    """Declare a command. Its function is given the edge, and by name what it takes."""
    return lambda function: Command(function, help)


argument = Argument
option = Option
group = Group

# Taken by every command and by every group.
EVERYWHERE = (
    option("--json", is_flag=True, help="Print one JSON document."),
    option("-q", "--quiet", is_flag=True, help="Print no warnings."),
    option("-v", "--verbose", is_flag=True, help="Say more about what is done."),
)
