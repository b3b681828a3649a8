"""TOML texts: any value can be set or removed, and no other byte changes."""

from __future__ import annotations

import copy
import tomllib
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kedge.host import toml_edit


@dataclass
class _Written:
    """A TOML text, and the position, head and comment of each of its keys."""

    text: str = ""
    keys: dict[tuple[str, ...], _Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class _Entry:
    start: int
    end: int
    head: str
    comment: str


_VALUES = [
    '"text"',
    '""',
    "'lit # \" = ['",
    r'"\" # \\"',
    '"""one line"""',
    '"""\nbackend = 1\n[tasks]\n"""',
    r'''"""esc \""" and \\"""''',
    '"""ends in quotes"""""',
    "'''\n[tasks]\nactor = '' # '''",
    "'''quote''''",
    "12",
    "-0.0",
    "nan",
    "+inf",
    "0xff",
    "true",
    "1979-05-27T07:32:00Z",
    "[]",
    "[ 1, 2 ]",
    '[ # [\n  "]", # "\n\n  \'#\',\n]',
    '[["a"], [ "[" ]]',
    "{}",
    '{ a = 1, "b.c" = { d = "}" } }',
    '{ tasks = { actor = "no" } }',
]
_COMMENTS = ["", "# c", " # \"quoted'", " # [tasks]", " # actor = 1", "\t#[{", " # \u2028x\x85"]
_FILLERS = ["\n", "  \n", "# comment\n", "#[tasks]\n", '# actor = "x"\n', "\t# \"\"\" '''\n"]


def _written_as(draw: st.DrawFn, name: str) -> str:
    forms = [f'"{name}"', f"'{name}'", '"' + "".join(f"\\u{ord(c):04x}" for c in name) + '"']
    if name.isascii() and name.isidentifier():
        forms.append(name)
    return draw(st.sampled_from(forms))


def _fill(draw: st.DrawFn, out: _Written) -> None:
    out.text += "".join(draw(st.lists(st.sampled_from(_FILLERS), max_size=2)))


def _entries(
    draw: st.DrawFn, out: _Written, table: tuple[str, ...], paths: list[tuple[str, ...]]
) -> None:
    for path in paths:
        _fill(draw, out)
        dot = draw(st.sampled_from([".", " . ", "\t."]))
        indent = draw(st.sampled_from(["", "  ", "\t"]))
        equals = draw(st.sampled_from([" = ", "=", "  =\t"]))
        head = indent + dot.join(_written_as(draw, name) for name in path) + equals
        comment = draw(st.sampled_from(_COMMENTS)) + "\n"
        start = len(out.text)
        out.text += head + draw(st.sampled_from(_VALUES)) + comment
        out.keys[(*table, *path)] = _Entry(start, len(out.text), head, comment)


@st.composite
def _toml(draw: st.DrawFn) -> tuple[_Written, bool]:
    """Draw a text, and whether it may have no place for a setting of `tasks`."""
    names = st.lists(st.sampled_from(["actor", "prefix", "x", "a b", "é"]), unique=True, max_size=4)
    style = draw(st.sampled_from(["header", "dotted", "inline", "sub", "array", "none"]))
    out = _Written()
    roots: list[tuple[str, ...]] = [(name,) for name in draw(names)]
    if style == "dotted":
        roots += [("tasks", name) for name in draw(names)]
    if style == "inline":
        roots.append(("tasks",))
    _entries(draw, out, (), draw(st.permutations(roots)))
    tables: list[tuple[str, ...]] = [("other",), ("other", "tasks"), ("odd.one", "two")]
    if style in ("header", "array"):
        tables.append(("tasks",))
    if style in ("header", "sub"):
        tables.append(("tasks", "sub"))
    for table in draw(st.permutations(tables)):
        is_array = style == "array" and table == ("tasks",)
        _fill(draw, out)
        gap = draw(st.sampled_from(["", " "]))
        inner = gap + ".".join(_written_as(draw, name) for name in table) + gap
        header = f"[[{inner}]]" if is_array else f"[{inner}]"
        out.text += header + draw(st.sampled_from(_COMMENTS)) + "\n"
        known = dict(out.keys)
        _entries(draw, out, table, [(name,) for name in draw(names)])
        if is_array:  # its keys are not those of a table
            out.keys = known
    _fill(draw, out)
    return out, style in ("inline", "array")


def _plain(value: Any) -> Any:
    """Return values that can be compared: 1 differs from true, nan equals nan."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return (type(value).__name__, repr(value))


_NEW = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.floats(allow_nan=False),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
)


def _only_adds(before: str, after: str) -> bool:
    lines, now = before.split("\n"), after.split("\n")
    more = len(now) - len(lines)
    return 1 <= more <= 3 and any(
        now[:at] + now[at + more :] == lines for at in range(len(lines) + 1)
    )


@given(
    made=_toml(),
    name=st.sampled_from(["actor", "prefix"]),
    value=_NEW,
    newline=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
    bom=st.sampled_from(["", "\ufeff"]),
)
def test_any_value_is_set_and_no_other_byte_changes(
    made: tuple[_Written, bool], name: str, value: Any, newline: str, closed: bool, bom: str
) -> None:
    written, may_refuse = made

    def real(text: str, *, end: bool = False) -> str:
        """Return the text with the line ends of this file; the last one may be missing."""
        return (text if closed or not end else text.removesuffix("\n")).replace("\n", newline)

    before = bom + real(written.text, end=True)
    data = tomllib.loads(before.removeprefix(bom))
    for path, entry in written.keys.items():
        assert toml_edit.line_of(before.removeprefix(bom), path) == (
            written.text.count("\n", 0, entry.start) + 1
        )
    try:
        after = toml_edit.set_value(before, "tasks", name, value)
        without = toml_edit.set_value(before, "tasks", name, None)
    except toml_edit.TomlEditError:
        assert may_refuse
        return

    wanted = copy.deepcopy(data)
    wanted.setdefault("tasks", {})[name] = value
    assert _plain(tomllib.loads(after.removeprefix(bom))) == _plain(wanted)
    del wanted["tasks"][name]
    assert _plain({"tasks": {}, **tomllib.loads(without.removeprefix(bom))}) == _plain(wanted)

    mine = written.keys.get(("tasks", name))
    if mine is None:
        assert without == before
        assert _only_adds(before, after) or _only_adds(before + newline, after)
    else:
        first, rest = written.text[: mine.start], written.text[mine.end :]
        assert without == bom + real(first) + real(rest, end=True)
        head, tail = bom + real(first + mine.head), real(mine.comment + rest, end=True)
        assert after.startswith(head)
        assert after.endswith(tail)
        middle = after[len(head) : len(after) - len(tail)]
        assert _plain(tomllib.loads(f"v = {middle}")) == _plain({"v": value})
