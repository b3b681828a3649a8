"""YAML is read as PyYAML reads it, with line numbers, and hostile input is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support import in_time

from kedge.repomap.project.formats import Broken, line_of
from kedge.repomap.project.yaml_values import MAX_DEPTH, parse_yaml

WORKFLOW = """\
# a comment
name: tides and berths
on: [push, "pull_request", 'a''b']
env: {KEY: value, other: [1, 2]}
x-common: &common
  runs-on: ubuntu-latest
jobs:
  tides:
    <<: *common
    steps:
    - uses: actions/checkout@v4 # pinned
    - name: "quoted \\"words\\"" # so
      run: |
        cd tides

        make test
    - run: >-
        make
        lint

          --deep
        all
    - description: words that
        go on below

        and on
      list:
        - - a
          - b
        -
          c: d
        -
      empty:
      flow: [one,
        two, # first
        {three: 3}]
      alias: *common
"""


def test_a_workflow() -> None:
    result = parse_yaml(WORKFLOW)
    assert result["on"] == ["push", "pull_request", "a'b"]
    assert result["env"] == {"KEY": "value", "other": ["1", "2"]}
    steps = result["jobs"]["tides"]["steps"]
    assert steps[1]["run"] == "cd tides\n\nmake test\n"
    assert line_of(steps[1]["run"]) == 14
    assert line_of(steps[0]["uses"]) == 11
    assert steps[2]["run"] == "make lint\n\n  --deep\nall"
    assert steps[3]["description"] == "words that go on below\nand on"
    assert steps[3]["alias"] == {"runs-on": "ubuntu-latest"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("just words", "just words"),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": "1", "b": "2", "c": "2"}),
        ("a: &x {b: 1}\nd: {<<: *x}\n", {"a": {"b": "1"}, "d": {"<<": {"b": "1"}}}),
        ("[a, b]: c\nd: e\n", {"d": "e"}),
        ("a: !!python/object:os.system b", {"a": "b"}),
        ("a: 1\n---\nb: [", {"a": "1"}),
    ],
)
def test_unusual_yaml(text: str, value: Any) -> None:
    assert parse_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: b: c", "invalid YAML in line 1"),
        ("a:\n\tb: c", "invalid YAML in line 2"),
        ("a: 1\nb: *unknown", "invalid YAML in line 2"),
        ("a: [b, c", "invalid YAML in line 2"),
        ("a: \x00", "invalid YAML"),
        ("- " * (MAX_DEPTH + 1) + "a", "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("{a: " * 50_000, "nested too deeply"),
    ],
    ids=lambda text: text[:20],
)
def test_invalid_or_too_deep_yaml_is_refused(text: str, reason: str) -> None:
    with in_time(5), pytest.raises(Broken, match=f"^{reason}$"):
        parse_yaml(text)


def test_the_greatest_depth() -> None:
    assert parse_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


def test_aliases_of_aliases_share_their_values() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    with in_time(5):
        result = parse_yaml("\n".join(lines))
    assert result["a29"][0] is result["a28"]


def test_an_alias_may_refer_to_its_own_parent() -> None:
    result = parse_yaml("a: &a\n  b: *a\n")
    assert result["a"]["b"] is result["a"]


PIECES = (
    "a¦b:¦c: ¦- ¦-¦ ¦  ¦\n¦\n  ¦\n    ¦\n- ¦\n  - ¦key: v¦'q'¦\"d\"¦'¦\"¦#¦# c¦ # c¦>¦> ¦>-¦|¦|-¦"
    "|+¦&x ¦*x¦<<: ¦[¦]¦{¦}¦,¦, ¦? ¦!t ¦%¦@¦`¦\\¦\t¦:¦::¦---¦...¦é¦\u00a0¦a: 1¦[a, b]¦{a: b}¦x y¦"
    "''¦"
    '"\\n"¦\n\n¦\n \n¦-a¦- - b¦a:b¦http://x¦~¦\n   ¦$'
)
pieces = st.sampled_from(PIECES.split("¦"))
mutations = st.lists(
    st.tuples(st.integers(0, len(WORKFLOW)), st.integers(0, 6), st.lists(pieces, max_size=2)),
    min_size=1,
    max_size=3,
)


def mutate(changes: list[tuple[int, int, list[str]]]) -> str:
    text = WORKFLOW
    for start, length, more in changes:
        text = text[:start] + "".join(more) + text[start + length :]
    return text


texts = st.one_of(st.lists(pieces, min_size=1, max_size=14).map("".join), mutations.map(mutate))


@settings(max_examples=400)
@given(texts)
def test_any_text_is_read_as_pyyaml_reads_it(text: str) -> None:
    try:
        loader = yaml.BaseLoader(text)
        expected = loader.get_data() if loader.check_data() else None  # type: ignore[no-untyped-call]
    except yaml.YAMLError:
        expected = None
    try:
        result = parse_yaml(text)
    except Broken:
        return
    if expected is not None and "<<" not in text:
        assert result == expected
