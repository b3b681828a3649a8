"""Tell whether a value looks like a secret. Hook path: loaded with `redact`."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Parts of values that are not secrets: a variable, a mask, a placeholder, a date, a version.
_PLACEHOLDERS = """
    ${ $( {{ #{ %( %s <% *** ••• xxxx ... … :// -----begin placeholder redacted dummy undefined
    changeme change_me change-me replaceme replace_me replace-me
"""
_DUMMY = (
    r"\$[a-z_{(]|\[|#[\w-]+$|(.)\1*$|arn:|\d{4}-\d\d-\d\d|[~^]?\d+(?:\.\d+)+$"
    r"|.*?(?:\{[\w.]*\}|<[\w/]|\b(?:example|your))"
)
_WORD = r"(?:[A-Za-z]++(?:\d[a-z]*+)?|\d{1,4}+x?)"
_WORDY = rf"(?:{_WORD}?[-_./:$@#])*{_WORD}?$"
# Words with digits that are no passwords: types, algorithms, encodings, versions, ordinals, units.
_TERM = (
    r"(?i)(?:u?int|u?fixed|float|double|n?varchar|char|byte|bytes|vec|md|sha|hmac|aes|rsa|des|ripemd|"
    r"scrypt|pbkdf|bcrypt|argon|base|utf|utf-|ntlmv?|oauth|x|v|ipv|http|rfc|ed|latin|iso)-?\d+\w?$"
    r"|\d+(?:st|nd|rd|th|s|ms|px|em|x|k|m|mb|gb|bytes?|bits?|chars?|characters?|h|d|times)$"
)
_JOINED = r"(?:[A-Za-z]+\d{0,2}|\d+)(?:[-_./:][A-Za-z]*\d{0,4})+$"
_GENERIC = """
    a abc access admin api app auth bar basic bearer client code current db default demo empty env
    fake false field foo for hidden input invalid is key label login me my name new none not null of
    old optional pass passphrase passwd password private pwd required root sample secret some string
    super test text the to token true type user username value wrong
"""


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def match_at(text: str, literal: str, pattern: str, folded: str = "") -> Iterator[tuple[int, int]]:
    """Yield the span of `pattern` in `text` at each `literal` of `text`, or of `folded`."""
    find = (folded or text).find
    pos = find(literal)
    while pos >= 0:
        match = compile_pattern(pattern).match(text, pos)
        if match and match.start(group := min(match.re.groups, 1)) >= 0:
            yield match.span(group)
        pos = find(literal, match.end() if match else pos + len(literal))


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def is_real(value: str) -> bool:
    """True unless the value is a placeholder."""
    lower = value.lower()
    for sign in _words(_PLACEHOLDERS):
        if sign in lower:
            return False
    return not compile_pattern(_DUMMY).match(lower)


def is_random(value: str, least: int = 16) -> bool:
    """True for letters and digits that are mixed as in no identifier."""
    if len(value) < least or not compile_pattern(r"[A-Za-z]").search(value):
        return False
    runs = compile_pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(value)
    mixed = len(runs) * 7 >= len(value) * 2 and any(map(str.isdigit, runs))
    return mixed and not compile_pattern(_WORDY).match(value) and is_real(value)


def is_secret_literal(value: str, rule: str = "", least: int = 8) -> bool:
    """True if a literal that is assigned to a secret's name looks like the secret itself."""
    lower = value.lower()
    words = compile_pattern(r"[a-z]+").findall(lower)
    digits, generic = len(compile_pattern(r"\d").findall(value)), _words(_GENERIC)
    if len(value) < 4 or (digits < 3 and generic.issuperset(words)) or not is_real(value):
        return False
    if compile_pattern(r"\s").search(value):
        phrase = rule == "passphrase" and value.islower() and len(words) > 3
        return (phrase and generic.isdisjoint(words)) or _is_noise(value)
    wordy = compile_pattern(_WORDY).match(value)
    if rule.startswith("pass"):
        plain = value.isalpha() and value.islower() and len(value) > 5
        special = plain or compile_pattern(r"[^\w.:/-]").search(value)
        return not (wordy and "/" in value) if digits else bool(special) and "passw" not in lower
    return len(value) >= least and digits > 0 and bool(words) and not wordy


def _is_noise(value: str) -> bool:
    """True for a long value in which blanks are signs like any other."""
    signs = compile_pattern(r"[^\w\s]").findall(value)
    return len(value) >= 32 and len(signs) * 8 > len(value) > len(set(value)) > 24


def is_spoken(value: str) -> bool:
    """True for a password as people write it in a sentence: letters and digits, and no term."""
    mixed = compile_pattern(r"[A-Za-z][^\s]*\d|\d[^\s]*[A-Za-z]").search(value)
    term = compile_pattern(_TERM).match(value) or compile_pattern(_JOINED).match(value)
    return bool(mixed) and not term and is_secret_literal(value, "password", 6)


def is_wordy(value: str) -> bool:
    """True for words with a digit here and there, as names are made of."""
    return bool(compile_pattern(_WORDY).match(value))


def is_pair(value: str) -> bool:
    """True for `user:password` in base64."""
    from binascii import Error, a2b_base64

    try:
        pair = a2b_base64(value + "==")
    except Error:
        return False
    return b":" in pair and pair.isascii() and is_real(value)


def is_credentials(value: str) -> bool:
    """True for an opaque token, and for `user:password` in base64."""
    return is_pair(value) or is_secret_literal(value, least=6)


def is_cookie(value: str) -> bool:
    """True if one of the cookies of a header has a random value."""
    pairs = (part.partition("=") for part in value.split(";"))
    return any(is_random(part[2].strip(), 12) for part in pairs)
