"""Path patterns with the rules of `.gitignore`: the only glob matcher in kedge.

- `*` and `?` match within one name, and `[a-z]`, `[!a-z]` or `[^a-z]` one character of it. A
  backslash makes the next character literal.
- `**` between slashes matches any number of directories, even none; at the end of a pattern it
  matches everything inside. Elsewhere it is the same as `*`.
- A pattern without a slash matches in every directory; one with a slash at its beginning or in the
  middle matches from the root. With a slash at its end it matches only directories.
- A pattern that matches a directory covers everything in it.

Unlike git, a name always matches itself, even if it looks like a pattern (`[id].tsx`), and there
are no named classes such as `[[:digit:]]`. Paths are relative and use `/`.

Each name of a path is compared with each part of the pattern at most once, and a part takes time
proportional to its length and the name's, so that no pattern can make matching slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kedge.errors import InvalidValue

NameTest = Callable[[str], bool]

MOST_CHOICES = 64  # patterns that one with braces may expand to


class Glob:
    """A compiled pattern without braces; see `expand_braces` for these."""

    __slots__ = ("_directories_only", "_head", "_tests")

    def __init__(self, pattern: str) -> None:
        bare = pattern.rstrip("/")
        self._directories_only = bare != pattern
        parts = bare.removeprefix("/").split("/")
        if "/" not in bare:
            parts = ["**", bare if bare.strip("*") else "*"]
        tests: list[NameTest | None] = []  # None for `**`
        for part in parts:
            if part.strip("*") or len(part) < 2:
                tests.append(_compile_part(part))
            elif not tests or tests[-1] is not None:
                tests.append(None)
        self._tests = tuple(tests)
        self._head = "/".join(_literal_parts(parts))

    def matches(self, path: str) -> bool:
        """True if the pattern matches the path or a directory that holds it."""
        if not path.startswith(self._head):
            return False
        parts = path.split("/")
        last = len(parts) - self._directories_only
        return any(number <= last for number in self._match_prefixes(parts))

    def matches_exactly(self, path: str) -> bool:
        """True if the pattern matches the path itself."""
        if self._directories_only or not path.startswith(self._head):
            return False
        parts = path.split("/")
        return len(parts) in self._match_prefixes(parts)

    def _match_prefixes(self, parts: list[str]) -> Iterator[int]:
        """Yield how many of the first parts make a path that the pattern matches."""
        tests = self._tests
        last = len(tests) - 1
        reached = self._pass_stars(1)  # one bit for each part of the pattern that may come next
        for number, part in enumerate(parts, 1):
            after = 0
            for place, test in enumerate(tests):
                if reached >> place & 1:
                    if test is None:
                        after |= 3 << place if place == last else 1 << place
                    elif test(part):
                        after |= 2 << place
            reached = self._pass_stars(after)
            if reached >> len(tests):
                yield number
            if not reached:
                return

    def _pass_stars(self, reached: int) -> int:
        """Let each `**` match nothing, except at the end of the pattern."""
        for place, test in enumerate(self._tests[:-1]):
            if test is None and reached >> place & 1:
                reached |= 2 << place
        return reached


def is_glob(pattern: str) -> bool:
    return any(sign in pattern for sign in "*?[{")


def literal_prefix(pattern: str) -> str:
    """Return the leading parts of a pattern that have no wildcard; empty for the root."""
    return "/".join(_literal_parts(pattern.split("/")))


def expand_braces(pattern: str) -> list[str]:
    """Return the patterns that one with braces expands to: `*.{js,ts}` to `*.js` and `*.ts`."""
    todo, patterns = [pattern], []
    while todo:
        each = todo.pop()
        braces = re.search(r"\{([^{},]*,[^{}]*)\}", each)
        if braces is None:
            patterns.append(each)
        else:
            head, tail = each[: braces.start()], each[braces.end() :]
            todo += [head + choice + tail for choice in braces[1].split(",")]
        if len(todo) + len(patterns) > MOST_CHOICES:
            raise InvalidValue(
                f"{pattern[:80]!r} expands to more than {MOST_CHOICES} patterns",
                hint="write fewer choices, or a wider pattern",
            )
    return list(dict.fromkeys(patterns))


def _literal_parts(parts: list[str]) -> list[str]:
    for place, part in enumerate(parts):
        if is_glob(part) or "\\" in part:
            return parts[:place]
    return parts


def _compile_part(part: str) -> NameTest:
    """Return a test for one name."""
    if part == "*":
        return bool
    if not is_glob(part) and "\\" not in part:
        return part.__eq__
    pattern = _translate(part)
    if pattern is None:
        return part.__eq__
    match = re.compile(pattern, re.DOTALL).match
    return lambda name: name == part or match(name) is not None


def _translate(part: str) -> str | None:
    """Return a regular expression for one name; None if git would not match anything."""
    pieces, place = [""], 0  # between stars
    while place < len(part):
        sign = part[place]
        place += 1
        if sign == "*":
            pieces += [""] if pieces[-1] or len(pieces) == 1 else []
        elif sign == "?":
            pieces[-1] += "."
        elif sign == "[":
            found = _translate_class(part, place)
            if found is None:
                return None
            place, text = found
            pieces[-1] += text
        elif sign == "\\":
            if place == len(part):
                return None
            pieces[-1] += re.escape(part[place])
            place += 1
        else:
            pieces[-1] += re.escape(sign)
    if len(pieces) == 1:
        return rf"{pieces[0]}\Z"
    # A middle piece can take the first place where it fits, so nothing needs backtracking.
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return rf"{pieces[0]}{middle}.*{pieces[-1]}\Z"


def _translate_class(part: str, place: int) -> tuple[int, str] | None:
    """Return where a class ends and its regular expression; None if it does not end."""
    negated = part[place : place + 1] in ("!", "^")
    place += negated
    start, items = place, []
    before = ""  # the character that a range may begin with
    while place == start or part[place : place + 1] != "]":
        is_range = part[place : place + 1] == "-" and before and part[place + 1 : place + 2] != "]"
        place += bool(is_range)
        place += part[place : place + 1] == "\\"
        if place >= len(part):
            return None
        sign = part[place]
        if is_range:
            items += [f"{re.escape(before)}-{re.escape(sign)}"] if before <= sign else []
        else:
            items.append(re.escape(sign))
        before = "" if is_range else sign
        place += 1
    return place + 1, f"[{'^' if negated else ''}{''.join(items)}]"
