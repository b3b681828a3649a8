"""What reads foreign text takes time in proportion to its length, whatever it is made of.

The inputs are made of signs that patterns turn on, and of the literals of the patterns themselves,
which are collected from the code. Times are compared with each other, not with a limit.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kedge.drift.language
import kedge.drift.shell
from kedge.drift.charter import open_charter
from kedge.drift.shell.effects import EffectsBuilder
from kedge.drift.shell.interpreter import read_command
from kedge.host import secret_names, secret_places, secret_shapes, secret_tokens, secret_values
from kedge.host.redact import redact

SIGNS = (
    "-", "_", "[", "]", "(", ")", "{", "}", "<", ">", "\"", "'", "`", "\\", "/", ".", ",", ";",
    ":", "=", "|", "&", "$", "#", "@", "!", "?", "*", "~", "^", "%", "+", " ", "\t", "\n", "\r\n",
    "\\\n", "a", "A", "1", "a1", "é", "İ", "\u202e", "\U0001f511", "\ud800", "$(", "${", "<<",
    "<<'",     "((", "[[", "=~",
    "&&", "||", "- ", "a ", "a.", "a, ", "a=", "--a ", "don't ", "do not ",
    "only ",     "never touch a, ", "no ", "not ", "except ",
)  # fmt: skip
SMALL, FACTOR = 6_000, 8
FLOOR = 0.03  # seconds below which a time is mostly noise
# Some readers look at a part of a text twice as its size passes a threshold.
MOST = 3 * FACTOR


def collect_literals() -> Iterator[str]:
    """Yield the literals that the patterns of redaction and of shell and prompt reading begin with,
    and what they repeat."""
    modules: list[Any] = [secret_names, secret_places, secret_shapes, secret_tokens, secret_values]
    for package in (kedge.drift.shell, kedge.drift.language):
        found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        modules += [importlib.import_module(one.name) for one in found]
    for module in modules:
        for value in vars(module).values():
            yield from _find_literals(value)


def _find_literals(value: object) -> Iterator[str]:
    if isinstance(value, re.Pattern):
        value = value.pattern
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str) and ("\\" in value or "(?" in value):  # a pattern
        yield from re.findall(r"[A-Za-z][A-Za-z _=/:-]{3,20}", value)[:12]
    elif isinstance(value, (tuple, list)):
        for one in value:
            if isinstance(one, str) and 1 < len(one) < 24 and not one.isalnum():
                yield one
            else:
                yield from _find_literals(one)


UNITS = sorted({*SIGNS, *collect_literals()})


def read_shell(text: str) -> None:
    read_command(f"curl {text}; echo a > b", EffectsBuilder(), root="/r", cwd="/r")


READERS: dict[str, Callable[[str], object]] = {
    "redact": redact,
    "shell": read_shell,
    "prompt": open_charter,
}


def measure(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


def find_slow(read: Callable[[str], object], unit: str) -> str:
    """Return how the time grows if it grows faster than the text; "" if it does not."""
    short, long = (unit * (size // len(unit) + 1) for size in (SMALL, SMALL * FACTOR))
    for _ in range(3):  # a busy machine is forgiven twice
        after = measure(read, long)
        if after < FLOOR:
            return ""
        before = measure(read, short)
        if after < MOST * max(before, FLOOR / FACTOR):
            return ""
    return f"{unit!r}: {before:.3f} s for {len(short)}, {after:.3f} s for {len(long)} characters"


def test_the_units_come_from_the_patterns_too() -> None:
    assert len(UNITS) > 150
    assert {"identified by ", "machine "} <= set(UNITS)


@pytest.mark.parametrize("name", READERS)
def test_time_grows_no_faster_than_the_text(name: str) -> None:
    slow = [found for unit in UNITS if (found := find_slow(READERS[name], unit))]
    assert not slow, "\n".join(slow)


def test_a_pattern_that_backtracks_is_noticed() -> None:
    quadratic = re.compile(r"-+x")
    assert find_slow(quadratic.search, "-")
