"""Patterns on paths, as `.gitignore` has them: `*` within a name, `**` across directories.

What matches a directory covers all that is below it. Matching looks at every name once for each
part of the pattern, so that no pattern can make it slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate

from kedge.errors import InvalidValue
from kedge.handoff.places import shown
from kedge.host.record import NamedTuple

MOST_BRACES = 64  # patterns that the braces of one may stand for
_SIGNS = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")

Test = Callable[[str], bool]


class Glob(NamedTuple):
    """`tests` has one for each part of the path, None for `**`; `head` is all before a sign."""

    head: str
    tests: tuple[Test | None, ...]


def is_glob(pattern: str) -> bool:
    return bool(_SIGNS.search(pattern))


def fixed(pattern: str) -> str:
    """The directory or file that a pattern begins with, empty for the root."""
    parts = []
    for part in pattern.split("/"):
        if is_glob(part):
            break
        parts.append(part)
    return "/".join(parts)


def compiled(pattern: str) -> list[Glob]:
    """A pattern without signs counts from the root; one without a slash, for any directory."""
    return [_glob(each) for each in _unbraced(pattern)]


def matches(glob: Glob, path: str, parts: Sequence[str]) -> bool:
    """Whether the pattern matches the path, or a directory that it is in."""
    if not path.startswith(glob.head):
        return False
    tests = glob.tests
    last = len(tests) - 1
    reached = _past_stars(1, tests)  # one bit for each part of the pattern that may come next
    for part in parts:
        after = 0
        for place, test in enumerate(tests):
            if reached >> place & 1:
                if test is None:
                    after |= 3 << place if place == last else 1 << place
                elif test(part):
                    after |= 2 << place
        reached = _past_stars(after, tests)
        if reached >> len(tests):
            return True
        if not reached:
            return False
    return False


def _past_stars(reached: int, tests: Sequence[Test | None]) -> int:
    """`**` may stand for nothing, but at the end of a pattern it stands for something."""
    for place, test in enumerate(tests[:-1]):
        if test is None and reached >> place & 1:
            reached |= 2 << place
    return reached


def _glob(pattern: str) -> Glob:
    parts = pattern.split("/")
    if len(parts) == 1 and is_glob(pattern):
        parts = ["**", *parts]
    tests: list[Test | None] = []
    for part in parts:
        if part != "**":
            tests.append(_test(part))
        elif not tests or tests[-1] is not None:
            tests.append(None)
    return Glob(fixed(pattern), tuple(tests))


def _test(part: str) -> Test:
    if part == "*":
        return lambda _: True
    if not is_glob(part):
        return part.__eq__
    found = re.compile(translate(part.replace("[^", "[!"))).match
    # a name such as `[id].tsx` is written as it is
    return lambda name: name == part or found(name) is not None


def _unbraced(pattern: str) -> list[str]:
    todo, found = [pattern], []
    while todo:
        each = todo.pop()
        braces = _BRACES.search(each)
        if braces is None:
            found.append(each)
        else:
            head, tail = each[: braces.start()], each[braces.end() :]
            todo += [head + choice + tail for choice in braces[1].split(",")]
        if len(todo) + len(found) > MOST_BRACES:
            raise InvalidValue(
                f"the braces of {shown(pattern)!r} stand for more than {MOST_BRACES} patterns",
                hint="write fewer, or a wider pattern",
            )
    return found
