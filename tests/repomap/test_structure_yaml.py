"""The fast reader of YAML gives what PyYAML gives, or leaves the text to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedge.repomap.project import blocks
from kedge.repomap.project.any_yaml import parse_any_yaml
from kedge.repomap.project.formats import Broken, line_of, parse_yaml

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


def with_lines(value: Any) -> Any:
    """The value with the line of every text in it."""
    if isinstance(value, dict):
        return [(str(name), line_of(name), with_lines(item)) for name, item in value.items()]
    if isinstance(value, list):
        return [with_lines(item) for item in value]
    return value if value is None else (str(value), line_of(value))


def test_a_workflow_is_read_as_pyyaml_reads_it() -> None:
    found = blocks.parse(WORKFLOW)
    assert with_lines(found) == with_lines(parse_any_yaml(WORKFLOW))
    steps = found["jobs"]["tides"]["steps"]
    assert steps[1]["run"] == "cd tides\n\nmake test\n"
    assert line_of(steps[1]["run"]) == 14
    assert steps[2]["run"] == "make lint\n\n  --deep\nall"
    assert steps[3]["description"] == "words that go on below\nand on"
    assert steps[3]["alias"] == {"runs-on": "ubuntu-latest"}
    assert found["jobs"]["tides"]["runs-on"] == "ubuntu-latest"


@pytest.mark.parametrize(
    "text",
    [
        "a: b: c",
        "a:\n\tb: c",
        "a: 'b\n  c'",
        "a: !tag b",
        "? a\n: b",
        "a: *unknown",
        "a: |2\n   b",
        "a: [b, c",
        "a: [b: c]",
        "a: b\n  c: d",
        "- a\nb: c",
        "a: b\n---\nc: d",
        "%YAML 1.2\n---\na: b",
        "just words",
        "a: \x00",
        "a: b\x85c: d",
        "a: @b",
        "- " * 100 + "a",
        "a: " + "[" * 100 + "]" * 100,
    ],
)
def test_what_is_unusual_is_left_to_pyyaml(text: str) -> None:
    with pytest.raises(blocks.Unusual):
        blocks.parse(text)
    try:
        expected = parse_any_yaml(text)
    except Broken as broken:
        with pytest.raises(Broken, match=str(broken)):
            parse_yaml(text)
    else:
        assert parse_yaml(text) == expected


def test_an_anchor_may_be_used_again_for_something_else() -> None:
    assert parse_yaml("a: &x 1\nb: &x 2\nc: *x\n") == {"a": "1", "b": "2", "c": "2"}


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


def mutated(changes: list[tuple[int, int, list[str]]]) -> str:
    text = WORKFLOW
    for start, length, more in changes:
        text = text[:start] + "".join(more) + text[start + length :]
    return text


texts = st.one_of(st.lists(pieces, min_size=1, max_size=14).map("".join), mutations.map(mutated))


@settings(max_examples=1000, deadline=None)
@given(texts)
@example("- &x \n  x y, ")
@example("a: [-x,\n :- b]")
@example("c: |\n   \t  ")
@example("a: {b\n   : c}")
def test_it_gives_what_pyyaml_gives_or_nothing(text: str) -> None:
    try:
        found = blocks.parse(text)
    except blocks.Unusual:
        return
    assert with_lines(found) == with_lines(parse_any_yaml(text))
