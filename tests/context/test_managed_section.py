"""The managed section: bytes outside it never change."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedge.context import managed_section
from kedge.errors import BrokenSection, FileError

BODY = "## Working with kedge\n\n- `kedge task ready`\n\n@AGENTS.md"
OTHER = "## Working with kedge\n\nShorter."
BEGIN = "<!-- BEGIN KEDGE MANAGED SECTION v1 -->"
END = managed_section.END


def outside(data: bytes) -> bytes:
    section = managed_section.find(data)
    assert section is not None
    return data[: section.start] + data[section.stop :]


def test_a_new_file_holds_only_the_section_and_is_removed_with_it() -> None:
    made = managed_section.put(None, BODY)
    assert made.startswith(BEGIN.encode() + b"\n")
    assert made.endswith(END.encode() + b"\n")
    assert BODY.encode() in made
    assert managed_section.drop(made) is None


def test_an_empty_file_comes_back_empty() -> None:
    assert managed_section.drop(managed_section.put(b"", BODY)) == b""


def test_dropping_from_a_file_without_a_section_changes_nothing() -> None:
    assert managed_section.find(b"text\n") is None
    assert managed_section.drop(b"text\n") == b"text\n"


@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b"\r"])
def test_the_section_uses_the_line_breaks_of_the_file(eol: bytes) -> None:
    made = managed_section.put(b"one" + eol + b"two" + eol, BODY)
    assert made.replace(eol, b"").count(b"\n") + made.replace(eol, b"").count(b"\r") == 0


def test_other_text_gets_the_section_at_its_end() -> None:
    made = managed_section.put(b"# Mine\n\n```sh\nclosed\n```\n", BODY)
    assert made.startswith(b"# Mine\n\n```sh\nclosed\n```\n\n" + BEGIN.encode())
    assert made.endswith(END.encode() + b"\n")


def test_a_file_without_a_final_line_break_gets_none() -> None:
    made = managed_section.put(b"mine", BODY)
    assert made.startswith(b"mine\n\n" + BEGIN.encode())
    assert made.endswith(END.encode())


def test_a_section_that_was_moved_leaves_the_text_around_it() -> None:
    section = managed_section.put(None, BODY)
    assert managed_section.drop(b"mine\n" + section + b"yours\n") == b"mine\nyours\n"
    assert managed_section.drop(b"mine\n\n" + section + b"yours\n") == b"mine\nyours\n"
    assert managed_section.drop(section + b"\nyours\n") == b"\nyours\n"


@pytest.mark.parametrize(
    "before", [b"", b"\xef\xbb\xbf", b"---\ntitle: x\n---\n", b"\xef\xbb\xbf---\na: b\n...\n"]
)
def test_a_section_on_top_stands_below_byte_order_mark_and_front_matter(before: bytes) -> None:
    data = before + b"# Mine\n~~~\nnever closed\n"
    made = managed_section.put(data, BODY)
    assert made.startswith(before + BEGIN.encode())
    assert managed_section.put(made, BODY) == made
    assert managed_section.drop(made) == data


@pytest.mark.parametrize("data", [b"---\na: b\n```\n", b"---\n```\n---"])
def test_front_matter_without_an_end_of_its_own_line_is_text(data: bytes) -> None:
    made = managed_section.put(data, BODY)
    assert made.startswith(BEGIN.encode())
    assert managed_section.drop(made) == data


def test_text_that_ends_in_a_fence_gets_the_section_on_top() -> None:
    data = b"# Mine\n\n```sh\nnever closed\n"
    made = managed_section.put(data, BODY)
    assert made.startswith(BEGIN.encode())
    assert b"ends inside a code fence" in made
    assert made.endswith(b"-->\n\n" + data)
    assert managed_section.drop(made) == data


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{BEGIN}\nx\n{END}\n```\n",
        f"~~~~\n{BEGIN}\n~~~\n{END}\n~~~~\n",
        f"<!--\n{BEGIN[4:]}\n",
        f"    {BEGIN}\n    {END}\n",
        f"see `{BEGIN}` and `{END}`\n",
        f"<!-- a\nb\n{BEGIN}\nx\n",
        f"---\n{BEGIN}\n---\nx\n",
        f"---\n{END}\n...\nx\n",
    ],
)
def test_markers_in_code_are_text(text: str) -> None:
    assert managed_section.find(text.encode()) is None
    made = managed_section.put(text.encode(), BODY)
    assert managed_section.drop(made) == text.encode()


@pytest.mark.parametrize("before", ["\ufeff", "<!-- a\nb -->\n", "---\na: b\n---\n", "```\n```\n"])
def test_a_section_is_found_behind_what_is_not_text(before: str) -> None:
    data = before.encode() + managed_section.put(None, BODY)
    section = managed_section.find(data)
    assert section is not None
    assert section.start == len(before.encode())
    assert data[section.start : section.stop].startswith(BEGIN.encode())


def test_plain_lines_are_those_outside_fences_comments_and_front_matter() -> None:
    data = b"---\na: b\n---\none\n```\ncode\n```\n<!-- a\nb -->\ntwo"
    assert managed_section.list_plain_lines(data) == [(13, b"one"), (43, b"two")]


def test_an_error_lists_six_markers_at_most() -> None:
    with pytest.raises(BrokenSection) as caught:
        managed_section.find((BEGIN + "\n").encode() * 7)
    assert caught.value.message.endswith("line 5 begins a section, line 6 begins a section")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"a\n{BEGIN}\nb\n", "line 2 begins"),
        (f"a\n{END}\nb\n", "line 2 ends"),
        (f"{END}\n{BEGIN}\n", "line 1 ends a section, line 2 begins"),
        (f"{BEGIN}\n{BEGIN}\n{END}\n{END}\n", "line 2 begins"),
        (f"{BEGIN}\n{END}\nmine\n{BEGIN}\n{END}\n", "line 4 begins"),
    ],
)
def test_markers_that_do_not_make_one_section_are_refused(text: str, lines: str) -> None:
    for act in (
        managed_section.find,
        managed_section.drop,
        lambda data: managed_section.put(data, BODY),
    ):
        with pytest.raises(BrokenSection, match=lines):
            act(text.encode())


@given(st.lists(st.sampled_from([BEGIN, END, "mine", "", "yours", "- mine, too"]), max_size=12))
def test_repair_makes_one_section_and_keeps_every_line_of_the_user(rows: list[str]) -> None:
    data = "\n".join([*rows, ""]).encode()
    mended = managed_section.repair(data, BODY)
    section = managed_section.find(mended)
    assert section is not None
    assert not section.edited
    mine = [row for row in rows if row and row not in (BEGIN, END)]
    assert [row for row in outside(mended).decode().splitlines() if row] == mine


def test_repair_drops_what_kedge_wrote() -> None:
    whole = managed_section.put(b"mine\n", BODY)
    torn = whole.replace(END.encode() + b"\n", b"") + b"\nlater\n"
    mended = managed_section.repair(torn, BODY)
    assert mended.count(b"kedge task ready") == 1
    assert outside(mended).split() == [b"mine", b"later"]
    twice = managed_section.repair(whole + b"\n" + whole, BODY)
    assert twice.count(b"kedge task ready") == 1
    assert outside(twice).split() == [b"mine", b"mine"]


def test_repair_keeps_the_users_lines_that_read_like_those_of_kedge() -> None:
    heading = b"## Working with kedge\n"
    begin = BEGIN.encode() + b"\n"
    mended = managed_section.repair(heading + begin + heading + b"\nmine\n" + heading, BODY)
    assert outside(mended) == heading + b"\nmine\n" + heading + b"\n\n"


def test_repair_keeps_a_byte_order_mark_and_drops_a_torn_section_on_top() -> None:
    whole = managed_section.put(b"\xef\xbb\xbf```\nopen\n", BODY)
    torn = whole.replace(END.encode(), b"")
    mended = managed_section.repair(torn, BODY)
    assert mended.startswith(b"\xef\xbb\xbf" + BEGIN.encode())
    assert mended.count(b"It stands here") == 1
    assert mended.count(b"kedge task ready") == 1
    assert mended.endswith(b"```\nopen\n")


@pytest.mark.parametrize("data", [b"\xff\xfem\0", b"a\0b"])
def test_repair_refuses_what_is_not_text(data: bytes) -> None:
    with pytest.raises(FileError, match="UTF-8"):
        managed_section.repair(data, BODY)


def test_an_edited_section_is_recognised() -> None:
    made = managed_section.put(b"mine\n", BODY)
    changed = made.replace(b"task ready", b"task list")
    section = managed_section.find(changed)
    assert section is not None
    assert section.edited
    crlf = managed_section.find(made.replace(b"\n", b"\r\n"))
    assert crlf is not None
    assert not crlf.edited


def test_a_section_of_a_newer_kedge_is_left_alone() -> None:
    newer = managed_section.put(None, BODY).replace(b"SECTION v1", b"SECTION v2")
    with pytest.raises(BrokenSection, match="newer kedge"):
        managed_section.put(newer, BODY)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_utf_16_text_is_refused(encoding: str) -> None:
    with pytest.raises(FileError, match="UTF-8"):
        managed_section.put("mine\n".encode(encoding), BODY)


_parts = st.sampled_from(
    [
        *[b"\n", b"\r\n", b"\r", b"\n\n", b" ", b"\t", b"", b"\xef\xbb\xbf", b"\xff", b"\xe9"],
        *[b"# Title", b"text", b"    code", b"---", b"...", b"- item", b"@AGENTS.md"],
        *[b"```", b"````", b"~~~", b"```sh", b"  ```", b"<!--", b"-->", b"<!-- a -->", b"> "],
        *[
            b"<!-- BEGIN KEDGE",
            b"KEDGE MANAGED SECTION -->",
            BEGIN.encode()[:-1],
            b"\xf0\x9f\x9a\xa2",
        ],
    ]
)
_bytes = st.one_of(
    st.lists(_parts, max_size=30).map(b"".join),
    st.binary(max_size=60).filter(lambda data: b"\0" not in data),
    st.text(max_size=60).map(lambda text: text.replace("\0", "").encode("utf-8", "surrogatepass")),
)


@settings(max_examples=400)
@given(_bytes)
@example(b"")
@example(b"\n")
@example(b"a\nb\nc\r")
@example(b"a\r\nb\n")
@example(b"\xef\xbb\xbf")
@example(b"---\ntitle: x\n---\n```\nopen")
@example(b"```\n" + BEGIN.encode())
def test_the_users_bytes_stay(data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        with pytest.raises(FileError):
            managed_section.put(data, BODY)
        return
    try:
        assert managed_section.find(data) is None
    except BrokenSection:  # the bytes happen to hold a marker
        return
    first = managed_section.put(data, BODY)
    assert data in (first[: len(data)], first[-len(data) :] if data else b"") or _split(data, first)
    assert managed_section.put(first, BODY) == first
    second = managed_section.put(first, OTHER)
    assert outside(second) == outside(first)
    assert managed_section.put(second, BODY) == first
    assert managed_section.drop(first) == data
    assert managed_section.drop(second) == data
    section = managed_section.find(first)
    assert section is not None
    assert not section.edited


def _split(data: bytes, new: bytes) -> bool:
    """True if the section was inserted into the data."""
    start = new.index(BEGIN.encode())
    return data.startswith(new[:start]) and new.endswith(data[start:])
