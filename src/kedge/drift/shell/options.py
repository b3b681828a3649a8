"""The options and operands of a program, separated as getopt does."""

from __future__ import annotations

from kedge.drift.shell.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Options:
    """`flags` as written, `values` by flag, and the operands as `rest`."""

    __slots__ = ("flags", "rest", "values")

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, list[Value]] = {}
        self.rest: list[Value] = []

    def any(self, *names: str) -> bool:
        return not self.flags.isdisjoint(names)

    def get(self, *names: str) -> list[Value]:
        return [value for name in names for value in self.values.get(name, ())]

    @property
    def verb(self) -> str:
        """The first operand, such as `push` in `git push`."""
        return self.rest[0].text if self.rest else ""

    @property
    def words(self) -> list[str]:
        return [value.text for value in self.rest]


def parse_options(
    args: Sequence[Value], takes: str = "", *, stop: bool = False, whole: bool = False
) -> Options:
    """Split the words of a call into options and operands.

    `takes` names the options with a value. With `stop`, the first operand ends the options; with
    `whole`, `-json` is one option and not four.
    """
    taking = set(takes.split())
    options = Options()
    at, count = 0, len(args)
    while at < count:
        value = args[at]
        text = value.text
        at += 1
        if text == "--":
            options.rest += args[at:]
            break
        if not text.startswith("-") or text == "-":
            options.rest.append(value)
            if stop:
                options.rest += args[at:]
                break
            continue
        name, sign, given = text.partition("=")
        if whole or text.startswith("--") or name in taking or text in taking:
            options.flags.add(name)
            if sign:
                _add_value(options, name, Value(given, value.glob))
            elif name in taking and at < count:
                _add_value(options, name, args[at])
                at += 1
            continue
        at += _read_cluster(options, value, taking, args[at : at + 1])
    return options


def _read_cluster(
    options: Options, value: Value, taking: Iterable[str], follows: Sequence[Value]
) -> int:
    """Read `-rf` or `-n5`; return how many of the following words it took as a value."""
    text = value.text
    for place in range(1, min(len(text), 200)):
        flag = "-" + text[place]
        options.flags.add(flag)
        if flag in taking:
            if text[place + 1 :]:
                _add_value(options, flag, Value(text[place + 1 :].removeprefix("="), value.glob))
                return 0
            if follows:
                _add_value(options, flag, follows[0])
            return len(follows)
    options.flags.add(text)
    return 0


def _add_value(options: Options, name: str, value: Value) -> None:
    options.values.setdefault(name, []).append(value)
