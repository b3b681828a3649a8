"""Plain command lines, read without click: to load it takes longer than many a command.

A line is plain when every word of it is known and every value is right. All others are left to
click, which also has the words for what is wrong. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kedge.cli.syntax import EVERYWHERE, Argument, Command, Group, Option
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Call(NamedTuple):
    """A command with what it is given, what the groups above it are, and which of the options
    that are taken everywhere."""

    command: Command
    given: dict[str, Any]
    above: dict[str, Any]
    everywhere: frozenset[str]


class _NotPlain(Exception):
    """A line that click has to read."""


def read(root: Group, argv: Sequence[str]) -> Call | None:
    """The call that a plain command line asks for; None for a line that is not plain."""
    left = iter(argv)
    found: Command | Group | None = root
    above: dict[str, Any] = {}
    everywhere: set[str] = set()
    try:
        while isinstance(found, Group):
            said, words = _said(found.takes, left, whole=False)
            everywhere.update(_flags(said))
            above.update(_options(found.takes, said))
            found = found.find(words[0]) if words else None
        if found is None:
            return None
        said, words = _said(found.takes, left, whole=True)
        everywhere.update(_flags(said))
        given = {**_options(found.takes, said), **_arguments(found.takes, words)}
    except _NotPlain:
        return None
    return Call(found, given, above, frozenset(everywhere))


def _said(
    takes: Iterable[Option | Argument], left: Iterator[str], *, whole: bool
) -> tuple[dict[str, list[Any]], list[str]]:
    """The options that are said, and the other words; not `whole` is up to the first of these."""
    known = {
        word: one
        for one in (*takes, *EVERYWHERE)
        if isinstance(one, Option)
        for word in one.spellings
    }
    said: dict[str, list[Any]] = {}
    words: list[str] = []
    for word in left:
        if word == "--" and whole:
            return said, [*words, *left]
        if not word.startswith("-") or word == "-":
            words.append(word)
            if not whole:
                break
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        one = known.get(name)
        if one is None or one.is_flag is False:
            raise _NotPlain
        if one.takes_value:
            text = value if equals else next(left, None)
            if text is None:
                raise _NotPlain
            said.setdefault(one.name, []).append(text)
        elif equals:
            raise _NotPlain
        else:
            said.setdefault(one.name, []).append(one.flag_value or name != one.off)
    return said, words


def _flags(said: dict[str, list[Any]]) -> list[str]:
    return [one.name for one in EVERYWHERE if one.name in said]


def _options(takes: Iterable[Option | Argument], said: dict[str, list[Any]]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for one in takes:
        if not isinstance(one, Option):
            continue
        values = said.get(one.name, ())
        if one.takes_value:
            values = [_value(one, text) for text in values]
        if one.multiple:
            given[one.name] = tuple(values)
        elif values:
            given[one.name] = values[-1]
        elif one.required:
            raise _NotPlain
        else:
            given[one.name] = False if one.is_flag else one.default
    return given


def _arguments(takes: Iterable[Option | Argument], words: list[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for one in takes:
        if not isinstance(one, Argument):
            continue
        if one.nargs == -1:
            given[one.name] = tuple(_value(one, text) for text in words)
            words = []
        elif words:
            given[one.name] = _value(one, words[0])
            words = words[1:]
        elif one.required:
            raise _NotPlain
        else:
            given[one.name] = None
    if words:
        raise _NotPlain
    return given


def _value(one: Option | Argument, text: str) -> Any:
    try:
        return one.type(text)
    except ValueError:
        raise _NotPlain from None
