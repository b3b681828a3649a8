"""Fenced code blocks, compared with a CommonMark parser."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support import in_time

from kedge.text.fences import (
    CLOSE,
    CODE,
    OPEN,
    TEXT,
    FenceReader,
    is_opening,
    mark_around,
    read_fences,
)

_PARSER = MarkdownIt("commonmark")
_MARKS = ["```", "````", "~~~", "~~~~", "```py", "``` x", "```  ", "~~~ a`b", "``` a`b", "``"]
_LINES = ["text", "", "# Heading", "---", "***", *_MARKS]
PLAIN = [*_LINES, *(f"{lead}{mark}" for lead in (" ", "   ", "    ", "\t") for mark in _MARKS[:4])]
QUOTED = [
    *_LINES,
    "> ```",
    ">```",
    ">   ```",
    ">     ```",
    "> ~~~",
    "> text",
    ">",
    ">> ```",
    ">\t```",
]
LISTED = [
    *("- a", "  - b", "    - c", "1. a", "2. a", "10) a", "- ```", "* ~~~py", "- # Heading"),
    *("  ```", "   ```", "    ```", "      ```", "  ~~~", "      ~~~", "\t```", "          ```"),
    *("  text", "    text", "      text", *_LINES),
]


def _find_fences(lines: list[str]) -> set[int]:
    """Return the numbers of the lines that a CommonMark parser finds in fenced code."""
    blocks = [token.map for token in _PARSER.parse("\n".join(lines)) if token.type == "fence"]
    return {number for first, last in filter(None, blocks) for number in range(first, last)}


def _is_left_at_margin(lines: list[str]) -> bool:
    """True if code in a list item is indented less than the item's text."""
    reader = FenceReader()
    for line in lines:
        wide = line.expandtabs(4)
        indent = len(wide) - len(wide.lstrip())
        if reader.fence and line.strip() and indent < reader.fence.column:
            return True
        reader.read(line)
    return False


@given(
    st.sampled_from([PLAIN, QUOTED, LISTED]).flatmap(
        lambda kind: st.lists(st.sampled_from(kind), min_size=1, max_size=9)
    )
)
@example(["~~~", "code", "# Heading"])
@example(["````", "```", "# Heading", "````", "# Heading"])
@example(["- a", "wrapped without indentation", "", "  - b", "", "      ```", "      code"])
@example(["> ```", "> code", "text after the quote"])
@example(["text", "2. ```", "text"])
def test_fences_are_those_of_commonmark(lines: list[str]) -> None:
    if _is_left_at_margin(lines):
        return
    have = {n for n, role in enumerate(read_fences(lines)) if role and lines[n].strip()}
    assert have == {n for n in _find_fences(lines) if n < len(lines) and lines[n].strip()}


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("```py\nx\n```\ny", [OPEN, CODE, CLOSE, TEXT]),
        ("~~~\nleft open\n", [OPEN, CODE, CODE]),
        ("````\n```\n````", [OPEN, CODE, CLOSE]),
        ("```\n~~~\n```", [OPEN, CODE, CLOSE]),
        ("```\n``` not the end\n`````  \t", [OPEN, CODE, CLOSE]),
        ("```\n    ```\n   ```", [OPEN, CODE, CLOSE]),
        ("    ```\ntext", [TEXT, TEXT]),
        ("``` a`b\ntext", [TEXT, TEXT]),
        ("```\n```\u00a0\n```", [OPEN, CODE, CLOSE]),
        ("```\r\ncode\r\n```\r\ntext\r", [OPEN, CODE, CLOSE, TEXT]),
        ("~~~ a`b\ncode", [OPEN, CODE]),
        ("- a\n\n    ```\n    code\n    ```\n- b", [TEXT, TEXT, OPEN, CODE, CLOSE, TEXT]),
        ("> ```\n> code\ntext", [OPEN, CODE, TEXT]),
    ],
)
def test_each_line_has_a_role(text: str, roles: list[str]) -> None:
    assert read_fences(text.split("\n")) == roles


def test_code_of_a_list_item_may_stand_at_the_margin() -> None:
    lines = ["- a", "  ```", "code", "# code", "```", "text"]
    assert read_fences(lines) == [TEXT, OPEN, CODE, CODE, CLOSE, TEXT]


def test_the_open_fence_tells_how_to_close_it() -> None:
    reader = FenceReader()
    assert reader.fence is None
    for line in ("text", "  ~~~~ py -x", "code", "~~~"):
        reader.read(line)
    assert reader.fence
    assert (reader.fence.mark, reader.fence.info) == ("~~~~", "py -x")
    assert reader.read("~~~~") == CLOSE
    assert reader.fence is None


def test_a_nested_reader_takes_an_info_string_as_an_inner_opening() -> None:
    lines = ["```md", "```json", "{}", "```", "inner text", "```", "text"]
    reader = FenceReader(nested=True)
    assert [reader.read(line) for line in lines] == [OPEN, CODE, CODE, CODE, CODE, CLOSE, TEXT]
    assert read_fences(lines) == [OPEN, CODE, CODE, CLOSE, TEXT, OPEN, CODE]


@pytest.mark.parametrize("line", ["```", "   ~~~~ sh", "- ```", "> ~~~"])
def test_opening_lines(line: str) -> None:
    assert is_opening(line)


@pytest.mark.parametrize("line", ["", "``", "    ```", "```a`", "x ```", "-```"])
def test_lines_that_open_nothing(line: str) -> None:
    assert not is_opening(line)


@given(st.text(alphabet="`~ab\n", max_size=60), st.sampled_from("`~"))
def test_a_mark_around_a_text_encloses_all_of_it(text: str, sign: str) -> None:
    mark = mark_around(text, sign)
    inner = text.split("\n")
    assert read_fences([mark, *inner, mark]) == [OPEN, *(CODE for _ in inner), CLOSE]


@pytest.mark.parametrize(
    "line",
    [
        "> " * 20_000,
        "- " * 20_000 + "x",
        "`" * 100_000 + "x`",
        " " * 100_000 + "x",
        "> ```\n" + "> " * 50_000,
        "1. " * 20_000,
    ],
)
def test_reading_takes_linear_time(line: str) -> None:
    with in_time(0.5):
        reader = FenceReader()
        for _ in range(20):
            reader.read(line)
