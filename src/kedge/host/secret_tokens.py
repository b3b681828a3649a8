"""Find keys and tokens by their own shape. Hook path: loaded with `redact`."""

from __future__ import annotations

from functools import cache

from kedge.host.secret_shapes import MARKS, RANDOM_SHAPES, SHAPES
from kedge.host.secret_values import compile_pattern, is_random, match_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_PREFIX = 16
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_KIND = r"(?i)(?:^|[_-])(?:live|test|prod|sandbox|pat|pt|sk|key|token|secret)[_-]$"
_DIGESTS = ("sha1", "sha256", "sha384", "sha512", "md5")
_IDS = ("ses", "msg", "prt")  # of opencode's sessions, messages and parts


def find_by_shape(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield secrets that are recognised by their own shape."""
    for rule, literals, pattern in SHAPES:
        for literal in literals:
            if literal[-1] not in MARKS and literal in text:
                for start, end in match_at(text, literal, pattern):
                    yield start, end, rule
        if not literals:
            for match in compile_pattern(pattern).finditer(text):
                yield *match.span(), rule
    for rule, literals, pattern in RANDOM_SHAPES:
        for literal in literals:
            if literal[-1] not in MARKS and literal in text:
                for start, end in match_at(text, literal, pattern):
                    if _is_random_key(text, start, end, literal):
                        yield start, end, rule
    for mark in MARKS:
        yield from _find_marked(text, mark)


def _find_marked(text: str, mark: str) -> Iterator[tuple[int, int, str]]:
    """Yield keys whose prefix ends in the mark, of known providers and of others."""
    done: dict[str, int] = {}
    family = _family(mark)
    for hit in compile_pattern(MARKS[mark]).finditer(text):
        end = hit.end()
        found = False
        for literal, rule, pattern, random in family.get(text[max(0, end - 3) : end], ()):
            start = end - len(literal)
            if start >= done.get(pattern, 0) and text.startswith(literal, start):
                key = compile_pattern(pattern).match(text, start)
                if key:
                    done[pattern] = key.end()
                    if not random or _is_random_key(text, start, key.end(), literal):
                        found = True
                        yield *key.span(), rule
        if not found and end >= done.get("", 0):
            start, stop = _measure_unknown(text, end)
            done[""] = stop
            if start < end:
                yield start, stop, "api-token"


def _measure_unknown(text: str, at: int) -> tuple[int, int]:
    """Return the span of a token whose prefix ends at `at`: `abc_` and many random characters."""
    body = compile_pattern(r"[\w-]{24,}+").match(text, at)
    if body is None:
        return at, at
    head = text[max(0, at - _LONGEST_PREFIX - 2) : at]
    prefix = head[len(head.rstrip(_NAME)) :]
    key = body[0]
    known = 3 < len(prefix) <= _LONGEST_PREFIX and prefix[0].isalpha()
    mixed = any(map(str.isupper, key)) and any(map(str.islower, key))
    digits = sum(map(str.isdigit, key))
    if not known or prefix[:-1].lower() in (*_DIGESTS, *_IDS) or digits < 3:
        return at, body.end()
    if not mixed:  # it may be a digest, unless its prefix says what it is
        named = compile_pattern(_KIND).search(prefix) and len(key) >= 32
        mixed = named or (len(key) >= 32 and compile_pattern(r"[g-z]").search(key) is not None)
    if mixed and is_random(key[:24], 24) and is_random(key):  # no long tail of words
        return at - len(prefix), body.end()
    return at, body.end()


def _is_random_key(text: str, start: int, end: int, prefix: str) -> bool:
    """True if the prefix is the start of a word, and what follows looks random."""
    before = text[start - 1 : start]
    return not (before.isalnum() or before in ("_", "-")) and is_random(
        text[start + len(prefix) : end], 14
    )


@cache
def _family(mark: str) -> dict[str, list[tuple[str, str, str, bool]]]:
    """Return the literals that end in `mark`, with rule and pattern, by their last 3 characters."""
    family: dict[str, list[tuple[str, str, str, bool]]] = {}
    for table in (SHAPES, RANDOM_SHAPES):
        for rule, literals, pattern in table:
            for literal in literals:
                if literal.endswith(mark):
                    row = literal, rule, pattern, table is RANDOM_SHAPES
                    family.setdefault(literal[-3:], []).append(row)
    return family
