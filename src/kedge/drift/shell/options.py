"""The options and operands of a program, told apart as getopt would."""

from __future__ import annotations

from functools import lru_cache

from kedge.drift.shell.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Options:
    """`flags` as they were written, `values` by flag, `rest` the operands."""

    __slots__ = ("flags", "rest", "values")

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, list[Value]] = {}
        self.rest: list[Value] = []

    def any(self, *names: str) -> bool:
        return any(name in self.flags for name in names)

    def get(self, *names: str) -> list[Value]:
        return [value for name in names for value in self.values.get(name, ())]

    @property
    def words(self) -> list[str]:
        return [value.text for value in self.rest]


def options(
    args: Sequence[Value], takes: str = "", *, stop: bool = False, whole: bool = False
) -> Options:
    """`takes` names the options with a value; with `stop`, the first operand ends the options.

    With `whole`, `-json` is one option and not four.
    """
    taking = _words(takes)
    found = Options()
    at, count = 0, len(args)
    while at < count:
        value = args[at]
        text = value.text
        at += 1
        if text == "--":
            found.rest += args[at:]
            break
        if not text.startswith("-") or text == "-":
            found.rest.append(value)
            if stop:
                found.rest += args[at:]
                break
            continue
        name, sign, given = text.partition("=")
        if whole or text.startswith("--") or name in taking or text in taking:
            found.flags.add(name)
            if sign:
                _give(found, name, Value(given, value.glob))
            elif name in taking and at < count:
                _give(found, name, args[at])
                at += 1
            continue
        at += _cluster(found, value, taking, args[at : at + 1])
    return found


@lru_cache(256)  # what a program takes is asked at each of its calls
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _cluster(found: Options, value: Value, taking: Iterable[str], follows: Sequence[Value]) -> int:
    """`-rf`, `-n5`; how many words behind it were taken."""
    text = value.text
    for place in range(1, min(len(text), 200)):
        flag = "-" + text[place]
        found.flags.add(flag)
        if flag in taking:
            if text[place + 1 :]:
                _give(found, flag, Value(text[place + 1 :].removeprefix("="), value.glob))
                return 0
            if follows:
                _give(found, flag, follows[0])
            return len(follows)
    found.flags.add(text)
    return 0


def _give(found: Options, name: str, value: Value) -> None:
    found.values.setdefault(name, []).append(value)
