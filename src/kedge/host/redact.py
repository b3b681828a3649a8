"""Find secrets in text and redact them before the text is written anywhere.

Every rule starts from a literal: `str.find` is many times faster than a regular expression over
source code, and a pattern is compiled only after its literal was found. A key with a provider's
shape (`secret_shapes`) is redacted everywhere; a value that is secret only by its name
(`password=…`) must also look like a literal, because most of this text is source code. Hook path:
`record.NamedTuple`, and types for type checkers only.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

from kedge.host.record import NamedTuple
from kedge.host.secret_names import RULES, WORDS, find_by_name, grade_name, is_secret_name
from kedge.host.secret_places import find_by_place
from kedge.host.secret_tokens import find_by_shape
from kedge.host.secret_values import is_random, is_secret_literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeVar

    T = TypeVar("T")

Span = tuple[int, int, str]
_WEAK = ("api-token", "webhook")  # rules that know a family, not the provider
_ROUNDS = 8  # in which what stood next to a secret is read again
_SHORT = 80  # characters of a text whose secrets are kept in mind


class Secret(NamedTuple):
    """A secret at `text[start:end]`; `id` identifies it without revealing it."""

    rule: str
    start: int
    end: int
    id: str


_FOLDING = bytes(range(256)).lower().replace(b"-", b"_")


def _fold(text: str) -> str:
    """Return the text in lower case, with "-" as "_". Unlike `str.lower`, it keeps every offset."""
    return text.encode("ascii", "replace").translate(_FOLDING).decode("ascii")


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
    spans = [*find_by_shape(text), *find_by_place(text, folded), *find_by_name(text, folded)]
    if any(span[2] in _WEAK for span in spans):
        spans = _prefer_known(spans)
    spans.sort(key=lambda span: (span[0], -span[1]))
    merged: list[Span] = []
    for start, end, rule in spans:
        if not merged or start >= merged[-1][1]:
            merged.append((start, end, rule))
        elif end > merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = first, end, name if last - first >= end - start else rule
    return merged


def _prefer_known(spans: list[Span]) -> list[Span]:
    """Drop what overlaps a span of a more exact rule."""
    exact = sorted(span[:2] for span in spans if span[2] not in _WEAK)
    starts = [start for start, _ in exact]
    kept = []
    for start, end, rule in spans:
        if rule in _WEAK:
            at = bisect_left(starts, end)  # those before it start before this one ends
            if at and exact[at - 1][1] > start:
                continue
        kept.append((start, end, rule))
    return kept


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
    for _ in range(_ROUNDS):
        if not spans:
            break
        parts, done = [], 0
        for start, end, rule in spans:
            parts += [text[done:start], f"[redacted:{rule}]"]
            done = end
        text = "".join([*parts, text[done:]])
        # Without a secret, the text next to it can look like another one.
        again = _spans_to_redact(_lines_with_marks(text), allow)
        spans = _spans_to_redact(text, allow) if again else []
    return text


def name_secrets(text: str) -> str:
    """Return the text with the id in place of each secret, so that different texts stay so."""
    for secret in reversed(scan(text)):
        text = f"{text[: secret.start]}{secret.id}{text[secret.end :]}"
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
    for word in WORDS:
        pos, rule = folded.rfind(word), RULES.get(word, word)
        end = pos + len(word)
        if pos >= 0 and is_secret_name(name, folded, pos, end, rule):
            grade = grade_name(name[:pos], name[pos:end], name[end:], rule)
            secret = is_secret_literal(text, rule) if grade == 2 else grade == 1 and is_random(text)
            if secret and not any(end - start == len(text) for start, end, _ in _spans(text)):
                return text if _id(rule, text) in allow else f"[redacted:{rule}]"
    return redact(text, allow)
