"""Find secrets in text and redact them before the text is written anywhere.

Every rule starts from a literal: `str.find` is many times faster than a regular expression over
source code, and a pattern is compiled only after its literal was found. A key with a provider's
shape (`secret_shapes`) is redacted everywhere; a value that is secret only by its name
(`password=…`) must also look like a literal, because most of this text is source code. Hook path:
`record.NamedTuple`, and types for type checkers only.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from kedge.host.record import NamedTuple
from kedge.host.secret_shapes import MARKS, SHAPES
from kedge.host.secret_values import (
    compile_pattern,
    is_credentials,
    is_random,
    is_real,
    is_secret_literal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import TypeVar

    T = TypeVar("T")

Span = tuple[int, int, str]
_SHORT = 80  # characters of a text whose secrets are kept in mind


class Secret(NamedTuple):
    """A secret at `text[start:end]`; `id` identifies it without revealing it."""

    rule: str
    start: int
    end: int
    id: str


_NETRC = r"(?i)machine\s+\S++(?:\s+(?:login|account)\s+\S++){1,2}\s+password\s+(\S+)"
_CURL = (  # one command, which a backslash continues on the next line
    r"""(?i)curl(?=\s)(?:(?!\s-u|\s--(?:proxy-)?user[ =])(?:[^\n\\]|\\[\s\S]))*\s--?[a-z-]+"""
    r"""[ =]{0,2}\\?["']?[^\s:"'$\[]*+["']?:["']?([^\s"'\\]+)|curl(?:[^\n\\]|\\[\s\S])*"""
)
_HEADER = (  # Authorization, with or without a scheme
    r"""(?i)(?<![a-z])authorization(?:\\{0,3}["']\]?)?(?:\s*[:=,]|[,\s]\s*["']?value["']?\s*[:=])"""
    r"""\s*(?:\\{0,3}["'])?(?:[a-z][\w-]{2,15}\s+)?([\w.~+/=:-]{6,}+)(?![(\[]|\s+\[redacted)"""
)
# Secrets that are recognised by their surroundings: rule, literal in the folded text, pattern that
# matches at the literal, and the test for its group 1.
_PLACES: tuple[tuple[str, str, str, Callable[[str], bool]], ...] = (
    ("url-password", "://", r"""://[\w.~%+!*-]*+:([^\s/?#"'<>`\\]+)@""", is_real),
    ("url-token", "://", r"""://([\w.~%+-]++)(?::[^\s/?#"'<>`\\]*)?@""", is_random),
    ("netrc-password", "machine ", _NETRC, is_real),
    ("curl-password", "curl", _CURL, is_real),
    ("bearer-token", "bearer", r"(?i)bearer(?:\s|%20){1,3}([\w.~+/=-]{6,})", is_credentials),
    ("authorization", "authorization", _HEADER, is_credentials),
)

# Words in the names of secrets, as they are in the folded text, and their rules.
_WORDS = ("password", "passwd", "pwd", "passphrase", "key", "secret", "token")
_RULES = {"passwd": "password", "pwd": "password", "key": "secret-key"}
_BEFORE_KEY = (
    *("api", "access", "private", "secret", "account", "signing", "encryption"),
    *("api_", "access_", "private_", "secret_", "account_", "signing_", "encryption_"),
)
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
# Names that contain such a word and are not secrets: `next_token`, `token_url`.
_HARMLESS_PREFIX = (
    r"(?i)(?:next|forward|backward|page|pagination|continuation|starting|idempotency|request|lock|"
    r"change|update|client|creation|input|output|public_?(?:key)?|cancel(?:lation)?|sync)[_-]?$"
)
_HARMLESS_SUFFIX = (
    r"(?i)(?:ids?|hash|ur[il]|path|file|name|ref|arn|type|endpoint|version|algorithm|count|"
    r"expir\w*|digest|format|regex|pattern|policy|at|date|used|signature)$"
)
_ASSIGN = r"""(?x)
    ([\w-]{0,40}+)                                           # the rest of the name
    (?:
        (?:\\{0,3}["'`]\]?)?                                 # the quote that closes it
        (
            [ \t]*+(?::[ \t]*+[A-Za-z][\w.\[\]|? ]{0,40}+=(?!=)|=>|[?|]{0,2}={1,3}|:[-=]?)[ \t]*+
          | [,\s]\s{0,40}["']?value["']?[ \t]*[:=][ \t]*     # name: x, value: y
          | ,[ \t]?
          | >
          | [ \t]{1,4}                                       # --name value
        )
        (?:
            [bBrRfFuU@]{0,2}(?:
                "([^"\\\n]*+(?:\\.[^"\\\n]*+)*)
              | '([^'\\\n]*+(?:\\.[^'\\\n]*+)*)
              | `([^`\\\n]*+)
              | \\+["']((?:[^"'\\\n]|\\\\)*)
            )
          | (\[redacted:[\w-]+\]|[^\s"'`<>&,;|(){}\[\]\\]{1,64}+)
        )
    )?"""
_BARE = 7  # the last group: a value without quotes, or the part of it that is tested
_BARE_REST = r"""[^\s"'`<>&,;|(){}\[\]\\]*"""
_CODE = r"^(?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))+[A-Za-z_]\w*$|^-?\d+$|^:|^/\*|\?"
_FOLDING = bytes(range(256)).lower().replace(b"-", b"_")


def _fold(text: str) -> str:
    """Return the text in lower case, with "-" as "_". Unlike `str.lower`, it keeps every offset."""
    return text.encode("ascii", "replace").translate(_FOLDING).decode("ascii")


def _match_at(text: str, literal: str, pattern: str, folded: str = "") -> Iterator[tuple[int, int]]:
    """Yield the span of `pattern` in `text` at each `literal` of `text`, or of `folded`."""
    find = (folded or text).find
    pos = find(literal)
    while pos >= 0:
        match = compile_pattern(pattern).match(text, pos)
        if match and match.start(group := min(match.re.groups, 1)) >= 0:
            yield match.span(group)
        pos = find(literal, match.end() if match else pos + len(literal))


@cache
def _family(mark: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return the literals that end in `mark`, with rule and pattern, by their last 3 characters."""
    family: dict[str, list[tuple[str, str, str]]] = {}
    for rule, literals, pattern in SHAPES:
        for literal in literals:
            if literal.endswith(mark):
                family.setdefault(literal[-3:], []).append((literal, rule, pattern))
    return family


def _find_by_shape(text: str) -> Iterator[Span]:
    """Yield secrets that are recognised by their own shape."""
    for rule, literals, pattern in SHAPES:
        for literal in literals:
            if literal[-1] not in MARKS and literal in text:
                for start, end in _match_at(text, literal, pattern):
                    yield start, end, rule
        if not literals:
            for match in compile_pattern(pattern).finditer(text):
                yield *match.span(), rule
    done: dict[str, int] = {}
    for mark, sign in MARKS.items():
        family = _family(mark)
        for hit in compile_pattern(sign).finditer(text):
            end = hit.end()
            for literal, rule, pattern in family.get(text[max(0, end - 3) : end], ()):
                start = end - len(literal)
                if start >= done.get(pattern, 0) and text.startswith(literal, start):
                    key = compile_pattern(pattern).match(text, start)
                    if key:
                        done[pattern] = key.end()
                        yield *key.span(), rule


def _find_by_place(text: str, folded: str) -> Iterator[Span]:
    """Yield secrets that are recognised by their surroundings."""
    for rule, literal, pattern, is_secret in _PLACES:
        for start, end in _match_at(text, literal, pattern, folded):
            if is_secret(text[start:end]):
                yield start, end, rule


def _find_by_name(text: str, folded: str) -> Iterator[Span]:
    """Yield values that are secret because of the name that they are assigned to."""
    assign, digit = compile_pattern(_ASSIGN), compile_pattern(r"\d")
    for word in _WORDS:
        rule = _RULES.get(word, word)
        pos = folded.find(word)
        while pos >= 0:
            stop = pos + len(word)
            named = _is_secret_name(text, folded, pos, stop, rule)
            match = assign.match(text, stop) if named else None
            if match and match[2]:
                start, end = match.span(match.lastindex or 0)
                letters = rule.startswith("pass") and folded.find("passw", start, end) < 0
                secret = letters or digit.search(text, start, end)
                stop = _secret_end(text, pos, match, rule) if secret else 0
                if stop:
                    yield start, stop, rule
                else:  # the value may contain a name; one with many names is tested only once
                    stop = end if folded.count(word, start, end) > 2 else match.end(2)
            elif match:
                stop = match.end()
            pos = folded.find(word, stop)


def _is_secret_name(text: str, folded: str, pos: int, end: int, rule: str) -> bool:
    """True if the word at `pos` is part of a secret's name: not `tokens`, not `primary_key`."""
    if text[end : end + 1].islower() and text[end - 1].islower():
        return False
    return rule != "secret-key" or folded.endswith(_BEFORE_KEY, max(0, pos - 12), pos)


def _grade(prefix: str, word: str, suffix: str, rule: str) -> int:
    """Return 2 if the name's value is a secret, 1 if only a random value is one, 0 if none is."""
    if suffix[:1].isupper() and word[-1].isupper():
        return 0  # another word: TOKENS, TOKENIZER
    if suffix and compile_pattern(_HARMLESS_SUFFIX).search(suffix):
        return 0
    if rule == "token" and compile_pattern(_HARMLESS_PREFIX).search(prefix):
        return 0
    return 1 if suffix.strip("_-0123456789") else 2


def _secret_end(text: str, pos: int, match: re.Match[str], rule: str) -> int:
    """Return where the value of the name at `pos` ends if it is a secret, else 0."""
    start, end = match.span(match.lastindex or 0)
    value, after, bare = text[start:end], text[end : end + 1], match.lastindex == _BARE
    head = text[max(0, pos - 40) : pos]
    before = head.rstrip(_NAME_CHARS)
    prefix, word, separator = head[len(before) :], text[pos : match.start()], match[2].strip()
    flag, tag, password = prefix.startswith("--"), separator == ">", rule.startswith("pass")
    if (
        before.endswith((":", "/") if separator == ":" else "::")
        or (not separator and not flag)
        or (tag and not (before.endswith("<") and after == "<"))
        or (bare and (separator == "," or after in ("(", "[", "{")))
        or (bare and compile_pattern(_CODE).search(value))
        or (bare and value.isidentifier() and word.lower() in value.lower())
    ):
        return 0
    grade = _grade(prefix, word, match[1], rule)
    env = match[2] == "=" and word.isupper()
    lead = before.endswith(("?", "&", ";") if password else ("?", "&"))
    sure = not bare or ("." not in prefix and (env or lead or tag or (flag and separator)))
    sure = sure or (password and len(value) > 6 and compile_pattern(r"\d").search(value))
    if grade == 2 and separator != "," and sure:
        secret = is_secret_literal(value, rule)
    else:
        secret = grade > 0 and is_random(value, 12 if bare else 16)
    if secret and bare:
        rest = compile_pattern(_BARE_REST).match(text, end)
        end = start + len(text[start : rest.end() if rest else end].rstrip("."))
    return end if secret else 0


def _id(rule: str, secret: str) -> str:
    from hashlib import sha256

    return f"{rule}-{sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _spans(text: str) -> list[Span]:
    """Return the spans of secrets in order. Overlapping ones are merged under the longer's rule."""
    if len(text) < 8:
        return []
    return _find_short_spans(text) if len(text) <= _SHORT else _find_spans(text)


def _find_spans(text: str) -> list[Span]:
    folded = _fold(text)
    spans = [*_find_by_shape(text), *_find_by_place(text, folded), *_find_by_name(text, folded)]
    spans.sort(key=lambda span: (span[0], -span[1]))
    merged: list[Span] = []
    for start, end, rule in spans:
        if not merged or start >= merged[-1][1]:
            merged.append((start, end, rule))
        elif end > merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = first, end, name if last - first >= end - start else rule
    return merged


_find_short_spans = lru_cache(1_024)(_find_spans)  # keys and paths recur in every call


def scan(text: str) -> list[Secret]:
    """Return the secrets in the text, in order and without overlaps."""
    return [
        Secret(rule, start, end, _id(rule, text[start:end])) for start, end, rule in _spans(text)
    ]


def _spans_to_redact(text: str, allow: Collection[str]) -> list[Span]:
    spans = _spans(text)
    return [s for s in spans if _id(s[2], text[s[0] : s[1]]) not in allow] if allow else spans


def redact(text: str, allow: Collection[str] = ()) -> str:
    """Return the text with every secret replaced, except those whose id is in `allow`."""
    spans = _spans_to_redact(text, allow)
    while spans:
        parts, done = [], 0
        for start, end, rule in spans:
            parts += [text[done:start], f"[redacted:{rule}]"]
            done = end
        text = "".join([*parts, text[done:]])
        # Without a secret, the text next to it can look like another one.
        again = _spans_to_redact(_lines_with_marks(text), allow)
        spans = _spans_to_redact(text, allow) if again else []
    return text


def _lines_with_marks(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if "[redacted:" in line)


def redact_value(value: T, allow: Collection[str] = ()) -> T:
    """Return a redacted copy of a JSON-like value. A string is also tested under its key's name."""
    root: dict[object, object] = {0: value}
    todo: list[tuple[dict[object, object], object, str]] = [(root, 0, "")]
    sequences: list[tuple[dict[object, object], object, dict[object, object], type]] = []
    while todo:
        holder, slot, name = todo.pop()
        item = holder[slot]
        if isinstance(item, str):
            holder[slot] = _redact_under(name, item, allow)
        elif isinstance(item, dict):
            holder[slot] = copy = dict[object, object]()
            for key, inner in item.items():
                known = redact(key, allow) if isinstance(key, str) else key
                while known in copy:  # two keys that are equal once redacted
                    known = f"{known}'"
                copy[known] = inner
                label = item.get("name") if key == "value" else key
                todo.append((copy, known, label if isinstance(label, str) else ""))
        elif isinstance(item, list | tuple):
            copy = dict(enumerate(item))
            todo += [(copy, index, name) for index in copy]
            sequences.append((holder, slot, copy, tuple if isinstance(item, tuple) else list))
    for holder, slot, copy, kind in reversed(sequences):  # the inner ones first
        holder[slot] = kind(copy.values())
    return root[0]  # type: ignore[return-value]


def _redact_under(name: str, text: str, allow: Collection[str]) -> str:
    folded = _fold(name)
    if folded.endswith("authorization"):
        return redact(f"authorization: {text}", allow)[len("authorization: ") :]
    for word in _WORDS:
        pos, rule = folded.rfind(word), _RULES.get(word, word)
        end = pos + len(word)
        if pos >= 0 and _is_secret_name(name, folded, pos, end, rule):
            grade = _grade(name[:pos], name[pos:end], name[end:], rule)
            secret = is_secret_literal(text, rule) if grade == 2 else grade == 1 and is_random(text)
            if secret and not any(end - start == len(text) for start, end, _ in _spans(text)):
                return text if _id(rule, text) in allow else f"[redacted:{rule}]"
    return redact(text, allow)
