"""JSON texts: parsed strictly, edited in one place, and restored byte by byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support import in_time

from kedge.host import json_edit
from kedge.host.json_edit import BadJson

_KEYS = st.sampled_from(["hooks", "Stop", "a", "b", "", 'q"', "é", "\U0001f600"])
_SPACES = st.sampled_from(["", "", " ", "\n", "\r\n", "\t", "\r", "\n  ", "\r\n\t\t", " \n\n   "])
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
) | st.text(max_size=6)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)
_GROUP = {"matcher": "x", "hooks": [{"type": "command", "timeout": 10}]}


@st.composite
def texts(draw: st.DrawFn, values: st.SearchStrategy[Any] = _VALUES) -> str:
    """A value as JSON text, in any layout."""
    value = draw(values)
    ascii_only = draw(st.booleans())
    style = draw(st.sampled_from(["pretty", "tabs", "line", "minified", "wild"]))
    if style == "wild":
        text = draw(_add_spaces(value))
    elif style == "minified":
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only)
    else:
        widths: dict[str, int | str] = {"pretty": draw(st.integers(1, 4)), "tabs": "\t"}
        text = json.dumps(value, indent=widths.get(style), ensure_ascii=ascii_only)
        if draw(st.booleans()):
            text = text.replace("\n", "\r\n")
    bom = draw(st.sampled_from(["", "\ufeff"]))
    return bom + draw(_SPACES) + text + draw(_SPACES)


@st.composite
def _add_spaces(draw: st.DrawFn, value: Any) -> str:
    def gap() -> str:
        return draw(_SPACES)

    def item(one: Any) -> str:
        return gap() + draw(_add_spaces(one)) + gap()

    if isinstance(value, dict):
        members = [f"{gap()}{json.dumps(key)}{gap()}:{item(one)}" for key, one in value.items()]
        return "{" + (",".join(members) or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(map(item, value)) or gap()) + "]"
    return json.dumps(value)


def _load(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


def _remove(text: str, *names: str | int) -> str:
    node = json_edit.parse(text)
    path: tuple[int, ...] = ()
    for name in names:
        keys = [child.key for child in node.children]
        index = range(len(keys))[name] if isinstance(name, int) else keys.index(name)
        path, node = (*path, index), node.children[index]
    return json_edit.remove(text, [path])


# Reading


@given(texts())
def test_valid_json_is_parsed_with_the_position_of_every_value(text: str) -> None:
    def check(node: json_edit.JsonNode, value: Any) -> None:
        assert _load(text[node.value : node.end]) == value
        if isinstance(value, dict):
            assert [child.key for child in node.children] == list(value)
            value = list(value.values())
        if isinstance(value, list):
            assert len(node.children) == len(value)
            for child, one in zip(node.children, value, strict=True):
                check(child, one)
        else:
            assert json_edit.decode(text, node) == value

    check(json_edit.parse(text), _load(text))


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


@given(st.text(alphabet='{}[]:," \n\\u0e1-+.tfnNaIrls"/#\x01é', max_size=14))
def test_text_that_the_standard_library_refuses_is_refused(text: str) -> None:
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        with pytest.raises(BadJson):
            json_edit.parse(text)
    else:
        json_edit.parse(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("\ufeff\n", 2),
        ('{\n  "a": 1, // why\n}', 2),
        ("{\n\n/* why */}", 3),
        ('{"a": 1}\n# why\n', 2),
        ('{"a"\n1}', 2),
        ("{'a': 1}", 1),
        ('["a\nb"]', 1),
        ('\n["a', 2),
        ('["\\x"]', 1),
        ("{}\r\r{}", 3),
        ("[1\xa0]", 1),
    ],
)
def test_an_error_names_the_line(text: str, line: int) -> None:
    with pytest.raises(BadJson, match="not JSON") as refused:
        json_edit.parse(text)
    assert refused.value.line == line
    assert "\n" not in refused.value.reason


def test_an_unpaired_surrogate_can_be_read_and_written() -> None:
    text = json_edit.insert('{"a": "\\ud800"}', (), "b", "\udc80")
    assert text.encode() == b'{"a": "\\ud800", "b": "\\udc80"}'
    assert json_edit.decode(text, json_edit.parse(text).children[0]) == "\ud800"


@pytest.mark.parametrize("mark", ["[]", '{"a":}'])
def test_text_that_is_nested_too_deeply_is_refused(mark: str) -> None:
    depth = 100_000
    with pytest.raises(BadJson, match="nested too deeply"):
        json_edit.parse(mark[:-1] * depth + "1" + mark[-1] * depth)


def test_megabytes_are_parsed_in_linear_time() -> None:
    with in_time(60):
        for filling in ("x" * 4_000_000, "\\n" * 2_000_000, "\\\\" * 1_000_000):
            text = f'{{"a": "{filling}",\n  "b": 1\n}}'
            after = json_edit.append(text, ("hooks", "Stop"), _GROUP)
            assert _remove(after, "hooks", "Stop", 0) == text
        spaces = "[" + " " * 4_000_000 + "]"
        assert _remove(json_edit.append(spaces, (), 1), 0) == spaces
        many = "[" + "1," * 100_000 + "1]"
        assert json_edit.remove(many, [(i,) for i in range(1, 100_001)]) == "[1]"
    with pytest.raises(BadJson, match="more than 4 MiB"):
        json_edit.parse("[" + "1," * 5_000_000 + "1]")


# Changing


_NAMES = st.lists(_KEYS, min_size=1, max_size=3)


@given(texts(), _NAMES, _VALUES)
@example("{}", ["hooks", "Stop"], _GROUP)
@example("{ }", ["hooks", "Stop"], _GROUP)
@example("{\n}", ["hooks", "Stop"], _GROUP)
@example('{"hooks":{}}', ["hooks", "Stop"], _GROUP)
@example('{"hooks":{"Stop":[ ]}}', ["hooks", "Stop"], _GROUP)
@example('{"hooks":{\r\n"Stop":[\r\n]}}', ["hooks", "Stop"], _GROUP)
def test_removing_what_was_added_restores_the_text(text: str, names: list[str], value: Any) -> None:
    for member in (True, False):
        added: list[str | int] = [*names] if member else [*names, -1]
        try:
            if member:
                after = json_edit.insert(text, names[:-1], names[-1], value)
            else:
                after = json_edit.append(text, names, value)
        except BadJson:
            assert not _fits(_load(text), names, member)
            continue
        assert _fits(_load(text), names, member)
        assert _load(after) == _with(_load(text), names, value, member)
        assert _remove(after, *added) == text


def _fits(value: Any, names: list[str], member: bool) -> bool:
    for name in names:
        if not isinstance(value, dict):
            return False
        if name not in value:
            return True
        value = value[name]
    return isinstance(value, list) and not member


def _with(value: Any, names: list[str], new: Any, member: bool) -> Any:
    top = value
    for name in names[:-1]:
        value = value.setdefault(name, {})
    if member:
        value[names[-1]] = new
    else:
        value.setdefault(names[-1], []).append(new)
    return top


@given(
    texts(st.dictionaries(_KEYS, _VALUES, max_size=3)), st.lists(_NAMES, max_size=5), st.randoms()
)
def test_several_items_can_be_removed_in_any_order_or_at_once(
    text: str, places: list[list[str]], random: Any
) -> None:
    after = text
    marks = []
    for number, names in enumerate(places):
        try:
            after = json_edit.append(after, names, f"mark {number}")
            marks.append(f"mark {number}")
        except BadJson:
            continue
    assume(marks)
    assert json_edit.remove(after, [_path(after, mark) for mark in marks]) == text
    random.shuffle(marks)
    for mark in marks:
        after = json_edit.remove(after, [_path(after, mark)])
    assert after == text


def _path(text: str, wanted: str) -> tuple[int, ...]:
    waiting: list[tuple[json_edit.Path, json_edit.JsonNode]] = [((), json_edit.parse(text))]
    while waiting:
        path, node = waiting.pop()
        if json_edit.decode(text, node) == wanted:
            return path
        waiting += [((*path, index), child) for index, child in enumerate(node.children)]
    raise AssertionError(wanted)


@given(texts(), st.data())
def test_removing_any_value_leaves_the_others(text: str, data: st.DataObject) -> None:
    root = json_edit.parse(text)
    value = _load(text)
    path: tuple[int, ...] = ()
    node, above = root, value
    while node.children and (not path or data.draw(st.booleans())):
        index = data.draw(st.integers(0, len(node.children) - 1))
        path += (index,)
        step: Any = list(above)[index] if isinstance(above, dict) else index
        node, holder, above = node.children[index], above, above[step]
    assume(path)
    del holder[step]
    assert _load(json_edit.remove(text, [path], depth=0)) == value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":1, "h": { "S": [ { "m": [ 1 ] } ] }}'),
        ('{"a":1,"b":2}\n', '{"a":1,"b":2,"h": { "S": [ { "m": [ 1 ] } ] }}\n'),
        ('{"a": 1, "h": {}}', '{"a": 1, "h": {"S": [ { "m": [ 1 ] } ]}}'),
        (
            '{\n\t"a": 1\n}\n',
            '{\n\t"a": 1,\n\t"h": {\n\t\t"S": [\n\t\t\t{\n\t\t\t\t"m": [\n\t\t\t\t\t1\n'
            "\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}\n",
        ),
        (
            '{\r\n "h": {\r\n  "S": [\r\n   0\r\n  ]\r\n }\r\n}',
            '{\r\n "h": {\r\n  "S": [\r\n   0,\r\n   {\r\n    "m": [\r\n     1\r\n    ]\r\n   }'
            "\r\n  ]\r\n }\r\n}",
        ),
        (
            '{\n  "a": 1,\n  "h": {"T": [0]}\n}',
            '{\n  "a": 1,\n  "h": {"T": [0], "S": [ { "m": [ 1 ] } ]}\n}',
        ),
        (
            "{}\n",
            '{"h": {\n  "S": [\n    {\n      "m": [\n        1\n      ]\n    }\n  ]\n}}\n',
        ),
    ],
)
def test_an_added_item_follows_the_layout_around_it(before: str, after: str) -> None:
    assert json_edit.append(before, ("h", "S"), {"m": [1]}) == after


def test_a_value_is_replaced_in_place() -> None:
    text = '{ "a" :\t"x" , "b": 2}'
    node = json_edit.parse(text).children[0]
    assert json_edit.replace(text, node, 'é"') == '{ "a" :\t"é\\"" , "b": 2}'


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('{"hooks": {},\n"hooks": {}}', 2, 'a second "hooks"'),
        ('{"hooks": {},\n"\\u0068ooks": {}}', 2, 'a second "hooks"'),
        ('{\n"hooks": null}', 2, "hooks must be an object"),
        ('{"hooks": {\n"Stop": {}}}', 2, "hooks.Stop must be an array"),
        ("\n[]", 2, "the document must be an object"),
    ],
)
def test_adding_to_a_value_of_the_wrong_kind_is_refused(text: str, line: int, says: str) -> None:
    with pytest.raises(BadJson) as refused:
        json_edit.append(text, ("hooks", "Stop"), 1)
    assert (refused.value.line, refused.value.reason) == (line, says)


def test_duplicate_keys_are_allowed_where_nothing_changes() -> None:
    text = '{"a": 1, "a": {"b": 1, "b": 2}}'
    assert _remove(json_edit.append(text, ("hooks",), 1), "hooks", 0) == text
