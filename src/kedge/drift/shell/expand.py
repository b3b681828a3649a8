"""Expansion: braces, tildes, variables that were given a value here, and what commands print."""

from __future__ import annotations

import re
from itertools import pairwise

from kedge.drift.shell.syntax import Part
from kedge.drift.shell.values import MOST_VALUES, UNKNOWN, Output, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kedge.drift.shell.syntax import Block, Word
    from kedge.drift.shell.values import State

    Printed = Callable[[Block, State], Output]

_SPECIAL = re.compile(r"[*?\[{~]")
_GLOB = re.compile(r"[*?]|\[[^\[\]]*\]")
_RANGE = r"(-?\d{1,6})\.\.(-?\d{1,6})|([A-Za-z])\.\.([A-Za-z])"
_PARAMETER = r"(?s)([A-Za-z_]\w*|\d+|[@*#?$!-])(\[[^\]]*\])?(.*)"
_HELD = 0x100000  # where the signs begin that stand for quoted parts while braces are expanded
_LONGEST = 4096
_MOST_TEXT = 200_000  # characters that variables may make of one word


def fields(word: Word, state: State, output: Printed) -> list[Value]:
    """The words that one word becomes."""
    if isinstance(word, str):
        if not _SPECIAL.search(word[:_LONGEST]):
            return [Value(word)]
        if "{" not in word or len(word) > _LONGEST:
            return [Value(word, _globs(word))]
        return [Value(text, _globs(text)) for text in unbraced(word)]
    found: list[Value] = []
    for parts in _alternatives(word):
        found += _join(parts, state, output)
        if len(found) > MOST_VALUES:
            return [*found[:MOST_VALUES], Value(UNKNOWN)]
    return found


def single(word: Word, state: State, output: Printed) -> Value:
    """The word as one value: nothing is split, no braces are expanded."""
    if isinstance(word, str):
        return Value(word, _globs(word))
    text, glob = "", False
    for part in word:
        if part.kind == "text":
            text += part.text
            glob = glob or (not part.quoted and _globs(part.text))
        else:
            values = _values(part, state, output, whole=True)
            added = " ".join(value.text for value in values)
            text += added if len(text) + len(added) < _MOST_TEXT else UNKNOWN
            glob = glob or any(value.glob for value in values)
    return Value(text, glob)


def _globs(text: str) -> bool:
    return _GLOB.search(text[:_LONGEST]) is not None


def _join(parts: Sequence[Part], state: State, output: Printed) -> list[Value]:
    done: list[Value] = []
    text, glob, there = "", False, False
    for part in parts:
        if part.kind == "text":
            text += part.text
            there = there or part.quoted or bool(part.text)
            glob = glob or (not part.quoted and _globs(part.text))
            continue
        values = _values(part, state, output, whole=part.quoted)
        if len(text) + sum(len(value.text) for value in values) > _MOST_TEXT:
            values = [Value(UNKNOWN)]
        if len(done) > MOST_VALUES:
            return [*done[:MOST_VALUES], Value(UNKNOWN)]
        for place, value in enumerate(values):
            if place:
                done.append(Value(text, glob))
                text, glob = "", False
            text += value.text
            glob = glob or value.glob
        there = there or bool(values)
    return [*done, Value(text, glob)] if there else done


def _values(part: Part, state: State, output: Printed, whole: bool) -> list[Value]:
    """What a variable or a substitution stands for; split into words unless `whole`."""
    if part.kind == "var":
        if part.body:
            output(part.body, state)
        found = _variable(part.text, state)
        if found is None:
            return [Value(UNKNOWN)]
        if whole and part.text != "@" and not part.text.endswith("[@]"):
            return [_one(found)]
        return [word for value in found for word in _split(value, whole)]
    if part.kind == "arithmetic" or part.body is None:
        return [Value(UNKNOWN)]
    if part.kind == "process":
        output(part.body, state)
        return [Value("/dev/fd/63")]
    printed = output(part.body, state)
    if whole and printed.text is not None:
        return [Value(printed.text.rstrip("\n"))]
    if printed.values is None:
        return [Value(UNKNOWN)]
    return [_one(printed.values)] if whole else list(printed.values[:MOST_VALUES])


def _one(values: Sequence[Value]) -> Value:
    if len(values) == 1:
        return values[0]
    return Value(" ".join(value.text for value in values), any(value.glob for value in values))


def _split(value: Value, whole: bool) -> list[Value]:
    if whole or len(value.text) > _LONGEST or not any(sign in value.text for sign in " \t\n"):
        return [value]
    return [Value(text, _globs(text)) for text in value.text.split()[:MOST_VALUES]]


def _variable(inner: str, state: State) -> Sequence[Value] | None:
    """The values of `${inner}`, or None where they cannot be told."""
    if inner.startswith(("#", "!")) and len(inner) > 1:
        return None
    named = re.match(_PARAMETER, inner)
    if named is None:
        return None
    name, index, rest = named.groups()
    values = _named(name, state)
    if values is None or (values and rest and not all(value.known for value in values)):
        if rest.startswith((":-", "-", ":=", "=")) and "$" not in rest and "`" not in rest:
            return [Value(rest.lstrip(":")[1:].strip("'\""))]
        return None
    if index and index not in ("[@]", "[*]"):
        place = index[1:-1]
        values = values[int(place) :][:1] if place.isdecimal() and len(place) < 5 else values
    if not rest:
        return values
    changed = [_changed(value, rest) for value in values]
    return [value for value in changed if value is not None] or None


def _named(name: str, state: State) -> Sequence[Value] | None:
    if name in ("@", "*"):
        return state.params
    if name.isdecimal() and len(name) < 4:
        place = int(name)
        return state.params[place - 1 : place] or None if place else None
    if name in state.variables:
        return state.variables[name]
    if name == "PWD":
        return None if state.cwd is None else [Value(state.cwd)]
    if name == "OLDPWD":
        return None if state.back is None else [Value(state.back)]
    if name == "HOME":
        return [Value("~")]
    if name in ("TMPDIR", "TMP", "TEMP"):
        return [Value("/tmp")]  # noqa: S108 - where temporary files are, not one that is made
    return None


def _changed(value: Value, rest: str) -> Value | None:
    """`${f%.js}` and its like, where pattern and value are plain."""
    text = value.text
    sign = rest[0]
    if rest[:2] in (":-", ":=", ":?") or sign in "-=?":
        return value
    if "$" in rest or "`" in rest:
        return None
    if sign in "%#":
        greedy = rest[1:2] == sign
        cut = _cut(text, rest[2 if greedy else 1 :].strip("'\""), sign, greedy)
        return None if cut is None else Value(cut, value.glob and _globs(cut))
    if sign == "/":
        all_of = rest[1:2] == "/"
        old, _, new = rest[2 if all_of else 1 :].partition("/")
        if not old or _globs(old):
            return None
        return Value(text.replace(old, new, -1 if all_of else 1), value.glob)
    if sign in "^,":
        return Value(text.upper() if sign == "^" else text.lower(), value.glob)
    place = re.fullmatch(r":\s*(\d{1,6})(?::(\d{1,6}))?", rest)
    if place and not value.glob:
        end = int(place[1]) + int(place[2]) if place[2] else None
        return Value(text[int(place[1]) : end])
    return None


def _cut(text: str, pattern: str, side: str, greedy: bool) -> str | None:
    """The text without what the pattern matches at its end (`%`) or start (`#`)."""
    if side == "%":
        if not _globs(pattern):
            return text.removesuffix(pattern)
        plain = pattern.removesuffix("*")
        if not plain or _globs(plain):
            return None
        at = text.find(plain) if greedy else text.rfind(plain)
        return text if at < 0 else text[:at]
    if not _globs(pattern):
        return text.removeprefix(pattern)
    plain = pattern.removeprefix("*")
    if not plain or _globs(plain):
        return None
    at = text.rfind(plain) if greedy else text.find(plain)
    return text if at < 0 else text[at + len(plain) :]


def _alternatives(parts: Sequence[Part]) -> list[Sequence[Part]]:
    """The parts for each choice of their unquoted braces."""
    if not any(p.kind == "text" and not p.quoted and "{" in p.text for p in parts):
        return [parts]
    if len(parts) > 200 or sum(len(part.text) for part in parts) > _LONGEST:
        return [parts]
    line = "".join(
        part.text if part.kind == "text" and not part.quoted else chr(_HELD + place)
        for place, part in enumerate(parts)
    )
    found = unbraced(line)
    return [parts] if found == [line] else [_unheld(each, parts) for each in found]


def _unheld(line: str, parts: Sequence[Part]) -> list[Part]:
    found: list[Part] = []
    text = ""
    for sign in line:
        if _HELD <= ord(sign) < _HELD + len(parts):
            found += [Part("text", text)] if text else []
            found.append(parts[ord(sign) - _HELD])
            text = ""
        else:
            text += sign
    return [*found, Part("text", text)] if text else found


def unbraced(text: str) -> list[str]:
    """`{a,b}` and `{1..3}` expanded, the outer first; too many become a pattern."""
    todo, found = [text], []
    while todo:
        each = todo.pop()
        span = _outer(each)
        if span is None:
            found.append(each)
        else:
            start, end, choices = span
            head, tail = each[:start], each[end:]
            todo += [head + choice + tail for choice in reversed(choices)]
        if len(todo) + len(found) > MOST_VALUES:
            return [re.sub(r"\{[^{}]*\}", "*", text)]
    return found


def _outer(text: str) -> tuple[int, int, list[str]] | None:
    """Where the first braces that stand for choices begin and end, and the choices."""
    pairs: list[tuple[int, int]] = []
    commas: dict[int, list[int]] = {}
    stack: list[int] = []
    for place, sign in enumerate(text):
        if sign == "{":
            stack.append(place)
        elif sign == "," and stack:
            commas.setdefault(stack[-1], []).append(place)
        elif sign == "}" and stack:
            pairs.append((stack.pop(), place))
    for start, end in sorted(pairs):
        if start in commas:
            cuts = [start, *commas[start], end]
            return start, end + 1, [text[a + 1 : b] for a, b in pairwise(cuts)][:MOST_VALUES]
        choices = _range(text[start + 1 : end])
        if choices:
            return start, end + 1, choices
    return None


def _range(inner: str) -> list[str]:
    span = re.fullmatch(_RANGE, inner)
    if span is None:
        return []
    if span[3]:
        return [chr(code) for code in _steps(ord(span[3]), ord(span[4]))]
    steps = _steps(int(span[1]), int(span[2]))
    return [str(number) for number in steps] if len(steps) <= MOST_VALUES else ["*"]


def _steps(first: int, last: int) -> range:
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)
