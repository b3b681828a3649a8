"""Definitions found line by line, for languages without a grammar here and for what errors hide.

Each rule is one regular expression for the beginning of a line; its groups `kind`, `name` and `in`
say what they catch. Comments are blanked first, so that lines and columns stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from kedge.repomap.languages import BY_NAME, Language
from kedge.repomap.signatures import cut
from kedge.repomap.symbols import Extract, Symbol, extract

_LINE = 400  # characters of a line that are looked at


class Rule(NamedTuple):
    kind: str
    pattern: str


def _rules(*rows: tuple[str, str]) -> tuple[Rule, ...]:
    return tuple(Rule(kind, pattern) for kind, pattern in rows)


_RULES = {
    "css": _rules(
        ("variable", r"\s*(?P<name>--[\w-]+)\s*:"),
        ("type", r"(?:@(?P<at>keyframes|layer|property|font-face|container)\s+)(?P<name>[-\w]+)"),
        ("type", r"(?P<name>[.#:\w\[*][^{};@]*?)\s*[{,]\s*$"),
    ),
    "scss": _rules(
        ("variable", r"(?P<name>[$@][\w-]+)\s*:(?!:)"),
        ("variable", r"\s*(?P<name>--[\w-]+)\s*:"),
        ("function", r"@(?:mixin|function)\s+(?P<name>[\w-]+)"),
        ("type", r"(?:@keyframes\s+)(?P<name>[-\w]+)"),
        ("type", r"(?P<name>[.#:%\w\[*&][^{};@]*?)\s*[{,]\s*$"),
    ),
}
