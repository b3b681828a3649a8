"""Expand words: braces, tildes, variables set in the same command, and the output of commands."""

from __future__ import annotations

import re
from itertools import pairwise

from kedge.drift.shell.syntax import WordPart
from kedge.drift.shell.values import MOST_VALUES, UNKNOWN, Output, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kedge.drift.shell.syntax import CommandBlock, Word
    from kedge.drift.shell.values import ShellState

    Capture = Callable[[CommandBlock, ShellState], Output]

_SPECIAL = re.compile(r"[*?\[{~]")
_GLOB = re.compile(r"[*?]|\[[^\[\]]*\]")
_RANGE = r"(-?\d{1,6})\.\.(-?\d{1,6})|([A-Za-z])\.\.([A-Za-z])"
_PARAMETER = r"(?s)([A-Za-z_]\w*|\d+|[@*#?$!-])(\[[^\]]*\])?(.*)"
_TEMPORARY = "/tmp"  # noqa: S108 - where temporary files are, not one that is made
_HELD = 0x100000  # from here on, code points stand for quoted parts while braces are expanded
_LONGEST = 4096
_MOST_TEXT = 200_000  # characters that one word may expand to


def expand_words(word: Word, state: ShellState, capture: Capture) -> list[Value]:
    """Return the words that one word expands to."""
    if isinstance(word, str):
        if not _SPECIAL.search(word[:_LONGEST]):
            return [Value(word)]
        if "{" not in word or len(word) > _LONGEST:
            return [Value(word, _has_glob(word))]
        return [Value(text, _has_glob(text)) for text in expand_braces(word)]
    found: list[Value] = []
    for parts in _alternatives(word):
        found += _join(parts, state, capture)
        if len(found) > MOST_VALUES:
            return [*found[:MOST_VALUES], Value(UNKNOWN)]
    return found


def expand_single(word: Word, state: ShellState, capture: Capture) -> Value:
    """Expand a word to one value, without splitting it or expanding its braces."""
    if isinstance(word, str):
        return Value(word, _has_glob(word))
    text, glob = "", False
    for part in word:
        if part.kind == "text":
            text += part.text
            glob = glob or (not part.quoted and _has_glob(part.text))
        else:
            values = _values(part, state, capture, whole=True)
            added = " ".join(value.text for value in values)
            text += added if len(text) + len(added) < _MOST_TEXT else UNKNOWN
            glob = glob or any(value.glob for value in values)
    return Value(text, glob)


def _has_glob(text: str) -> bool:
    return _GLOB.search(text[:_LONGEST]) is not None


def _join(parts: Sequence[WordPart], state: ShellState, capture: Capture) -> list[Value]:
    done: list[Value] = []
    text, glob, there = "", False, False
    for part in parts:
        if part.kind == "text":
            text += part.text
            there = there or part.quoted or bool(part.text)
            glob = glob or (not part.quoted and _has_glob(part.text))
            continue
        values = _values(part, state, capture, whole=part.quoted)
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


def _values(part: WordPart, state: ShellState, capture: Capture, whole: bool) -> list[Value]:
    """Return the values of a variable or substitution, split into words unless `whole`."""
    if part.kind == "var":
        if part.body:
            capture(part.body, state)
        found = _expand_variable(part.text, state)
        if found is None:
            return [Value(UNKNOWN)]
        if whole and part.text != "@" and not part.text.endswith("[@]"):
            return [_join_values(found)]
        return [word for value in found for word in _split(value, whole)]
    if part.kind == "arithmetic" or part.body is None:
        return [Value(UNKNOWN)]
    if part.kind == "process":
        capture(part.body, state)
        return [Value("/dev/fd/63")]
    printed = capture(part.body, state)
    if whole and printed.text is not None:
        return [Value(printed.text.rstrip("\n"))]
    if printed.values is None:
        return [Value(UNKNOWN)]
    return [_join_values(printed.values)] if whole else list(printed.values[:MOST_VALUES])


def _join_values(values: Sequence[Value]) -> Value:
    if len(values) == 1:
        return values[0]
    return Value(" ".join(value.text for value in values), any(value.glob for value in values))


def _split(value: Value, whole: bool) -> list[Value]:
    if whole or len(value.text) > _LONGEST or not any(sign in value.text for sign in " \t\n"):
        return [value]
    return [Value(text, _has_glob(text)) for text in value.text.split()[:MOST_VALUES]]


def _expand_variable(inner: str, state: ShellState) -> Sequence[Value] | None:
    """Return the values of `${inner}`, or None if they are not known."""
    if inner.startswith(("#", "!")) and len(inner) > 1:
        return None
    named = re.match(_PARAMETER, inner)
    if named is None:
        return None
    name, index, rest = named.groups()
    values = _look_up(name, state)
    if values is None or (values and rest and not all(value.known for value in values)):
        if rest.startswith((":-", "-", ":=", "=")) and "$" not in rest and "`" not in rest:
            return [Value(rest.lstrip(":")[1:].strip("'\""))]
        return None
    if index and index not in ("[@]", "[*]"):
        place = index[1:-1]
        values = values[int(place) :][:1] if place.isdecimal() and len(place) < 5 else values
    if not rest:
        return values
    changed = [_modify(value, rest) for value in values]
    return [value for value in changed if value is not None] or None


def _look_up(name: str, state: ShellState) -> Sequence[Value] | None:
    if name in ("@", "*"):
        return state.params
    if name.isdecimal() and len(name) < 4:
        place = int(name)
        return state.params[place - 1 : place] or None if place else None
    if name in state.variables:
        return state.variables[name]
    known = {"PWD": state.cwd, "OLDPWD": state.back, "HOME": "~",
             "TMPDIR": _TEMPORARY, "TMP": _TEMPORARY, "TEMP": _TEMPORARY}  # fmt: skip
    value = known.get(name)
    return None if value is None else [Value(value)]


def _modify(value: Value, rest: str) -> Value | None:
    """Apply a modifier such as `%.js` in `${f%.js}`; None unless pattern and value are plain."""
    text = value.text
    sign = rest[0]
    if rest[:2] in (":-", ":=", ":?") or sign in "-=?":
        return value
    if "$" in rest or "`" in rest:
        return None
    if sign in "%#":
        greedy = rest[1:2] == sign
        cut = _trim(text, rest[2 if greedy else 1 :].strip("'\""), sign, greedy)
        return None if cut is None else Value(cut, value.glob and _has_glob(cut))
    if sign == "/":
        all_of = rest[1:2] == "/"
        old, _, new = rest[2 if all_of else 1 :].partition("/")
        if not old or _has_glob(old):
            return None
        return Value(text.replace(old, new, -1 if all_of else 1), value.glob)
    return None


def _trim(text: str, pattern: str, side: str, greedy: bool) -> str | None:
    """Remove what the pattern matches at the end (`%`) or the start (`#`) of the text."""
    end = side == "%"
    if not _has_glob(pattern):
        return text.removesuffix(pattern) if end else text.removeprefix(pattern)
    plain = pattern.removesuffix("*") if end else pattern.removeprefix("*")
    if not plain or _has_glob(plain):
        return None
    at = text.find(plain) if greedy == end else text.rfind(plain)
    if at < 0:
        return text
    return text[:at] if end else text[at + len(plain) :]


def _alternatives(parts: Sequence[WordPart]) -> list[Sequence[WordPart]]:
    """Return the parts once for each choice of their unquoted braces."""
    if not any(p.kind == "text" and not p.quoted and "{" in p.text for p in parts):
        return [parts]
    if len(parts) > 200 or sum(len(part.text) for part in parts) > _LONGEST:
        return [parts]
    line = "".join(
        part.text if part.kind == "text" and not part.quoted else chr(_HELD + place)
        for place, part in enumerate(parts)
    )
    found = expand_braces(line)
    return [parts] if found == [line] else [_restore_parts(each, parts) for each in found]


def _restore_parts(line: str, parts: Sequence[WordPart]) -> list[WordPart]:
    found: list[WordPart] = []
    text = ""
    for sign in line:
        if _HELD <= ord(sign) < _HELD + len(parts):
            found += [WordPart("text", text)] if text else []
            found.append(parts[ord(sign) - _HELD])
            text = ""
        else:
            text += sign
    return [*found, WordPart("text", text)] if text else found


def expand_braces(text: str) -> list[str]:
    """Expand `{a,b}` and `{1..3}`, the outer ones first; too many choices become a pattern."""
    todo, found = [text], []
    while todo:
        each = todo.pop()
        span = _find_braces(each)
        if span is None:
            found.append(each)
        else:
            start, end, choices = span
            head, tail = each[:start], each[end:]
            todo += [head + choice + tail for choice in reversed(choices)]
        if len(todo) + len(found) > MOST_VALUES:
            return [re.sub(r"\{[^{}]*\}", "*", text)]
    return found


def _find_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Return the start and end of the first braces that hold choices, and the choices."""
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
        choices = _expand_range(text[start + 1 : end])
        if choices:
            return start, end + 1, choices
    return None


def _expand_range(inner: str) -> list[str]:
    span = re.fullmatch(_RANGE, inner)
    if span is None:
        return []
    if span[3]:
        return [chr(code) for code in _make_range(ord(span[3]), ord(span[4]))]
    steps = _make_range(int(span[1]), int(span[2]))
    return [str(number) for number in steps] if len(steps) <= MOST_VALUES else ["*"]


def _make_range(first: int, last: int) -> range:
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)
