"""Markdown documents as lines: prose, headings and sections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.text import markdown
from kedge.text.tables import find_title, put_number_first, read_rows


def headings(text: str) -> list[tuple[int, int, str]]:
    return [(one.line, one.level, one.text) for one in markdown.read(text).headings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B ##\n###### C #", [(1, 1, "A"), (2, 2, "B"), (3, 6, "C")]),
        ("   # A\n    # code\n#B\n####### seven", [(1, 1, "A")]),
        ("## A # b\n# C#", [(1, 2, "A # b"), (2, 1, "C#")]),
        ("A\n===\n\nB\n---", [(1, 1, "A"), (4, 2, "B")]),
        ("- item\n---\n| cell |\n---", []),
        ("```\n# code\n```\n# A", [(4, 1, "A")]),
        ("<!-- # no -->\n<!--\n# no\n-->\n<pre>\n# no\n</pre>\n# A", [(8, 1, "A")]),
        ("<!-- open\n# no\n\n# nor this", []),
        ("in a paragraph <!-- open\n\n# A\n-->", [(3, 1, "A")]),
        ("in a paragraph <!-- open\n# no\n-->\n# A", [(4, 1, "A")]),
        ("---\ntitle: x\n# comment\n---\n# A", [(5, 1, "A")]),
        ("---\nno front matter\n# A", [(3, 1, "A")]),
        ("\ufeff# A\r\n## B\r\n", [(1, 1, "A"), (2, 2, "B")]),
    ],
)
def test_headings(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert headings(text) == expected


def test_a_section_ends_before_the_next_heading_of_its_level() -> None:
    document = markdown.read("# A\ntext\n## B\n\n### C\ntext\n\n## D\n")
    assert [(one.text, one.last, one.parent) for one in document.headings] == [
        ("A", 8, -1),
        ("B", 6, 0),
        ("C", 6, 1),
        ("D", 8, 0),
    ]
    assert document.heading_at(1) == 0
    assert document.heading_at(7) == 2
    assert markdown.read("text\n# A").heading_at(1) == -1
    assert [one.text for one in document.heading_path(2)] == ["A", "B", "C"]
    assert document.last_text_line(3, 4) == 3


def test_prose_has_no_code_and_no_comments() -> None:
    document = markdown.read("a <!-- x --> b\n```\ncode\n```\n`<!--` c\nd <!-- no comment\n\ne")
    assert document.prose == ("a  b", None, None, None, "`<!--` c", "d <!-- no comment", "", "e")


def test_nested_fences_count_only_if_all_are_closed_then() -> None:
    assert headings("```md\n```sh\n```\n# no\n```\n# A") == [(6, 1, "A")]
    assert headings("```md\n```sh\n```\n# A\n") == [(4, 1, "A")]


def test_an_excerpt_has_no_front_matter() -> None:
    assert markdown.read("---\nid: 1\n---", part=True).prose == ("---", "id: 1", "---")
    assert markdown.read("---\nid: 1\n---").prose == (None, None, None)


@pytest.mark.parametrize(
    ("text", "slug"),
    [("Token bucket", "token-bucket"), ("C1: Käse & Co.", "c1-käse--co"), (" a_b ", "a_b")],
)
def test_slugs_are_those_of_github(text: str, slug: str) -> None:
    assert markdown.make_slug(text) == slug


@given(st.lists(st.sampled_from(["# A", "## B", "text", "", "```", "<!--", "-->", "---", "- x"])))
def test_every_line_is_kept_and_sections_nest(lines: list[str]) -> None:
    document = markdown.read("\n".join(lines))
    assert list(document.lines) == (lines or [""])
    assert len(document.prose) == len(document.lines)
    for one in document.headings:
        assert one.line <= one.end <= one.last <= len(document.lines)
        if one.parent >= 0:
            parent = document.headings[one.parent]
            assert parent.level < one.level
            assert parent.line < one.line
            assert one.last <= parent.last


@pytest.mark.parametrize("line", ["<!-- ", "# ", "<pre>", "```a\n", "- ", "> ", "`<!--"])
def test_hostile_documents_are_read_in_linear_time(line: str) -> None:
    with in_time(2):
        markdown.read(line * 20_000)
        markdown.read(f"{line}\n" * 20_000)


TABLE = """\
| What | Id | Notes |
|---|:-:|---|
| a \\| b | 1 | x |
| | | |
| c | 2 |

| no | table |
"""


def test_rows_have_the_titles_of_their_columns() -> None:
    rows = list(read_rows(markdown.read(TABLE)))
    assert [(row.line, row.head) for row in rows] == [(3, 1), (5, 1)]
    assert rows[0].cells == (("What", "a | b"), ("Id", "1"), ("Notes", "x"))
    assert rows[1].cells == (("What", "c"), ("Id", "2"))


def test_the_number_of_a_row_comes_first_and_its_title_is_found() -> None:
    cells = next(read_rows(markdown.read(TABLE))).cells
    assert put_number_first(cells)[0] == ("Id", "1")
    assert find_title(put_number_first(cells)) == "a | b"
    assert find_title((("Id", "1"), ("Size", "M"), ("Title", "Tie"))) == "Tie"
    assert find_title((("Id", "1"), ("Size", ""), ("Cost", "M"))) == "M"
    assert find_title((("Id", "1"),)) == ""
