"""The managed section: what is outside of it stays as it is, whatever it is."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedge.context import managed
from kedge.errors import BrokenSection, FileError

BODY = "## Working with kedge\n\n- `kedge task ready`\n\n@AGENTS.md"
OTHER = "## Working with kedge\n\nShorter."
BEGIN = "<!-- BEGIN KEDGE MANAGED SECTION v1 -->"
END = managed.END

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


def outside(data: bytes) -> bytes:
    section = managed.find(data)
    assert section is not None
    return data[: section.start] + data[section.stop :]


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
            managed.put(data, BODY)
        return
    try:
        assert managed.find(data) is None
    except BrokenSection:  # a marker came about by chance
        return
    first = managed.put(data, BODY)
    assert data in (first[: len(data)], first[-len(data) :] if data else b"") or _split(data, first)
    assert managed.put(first, BODY) == first
    second = managed.put(first, OTHER)
    assert outside(second) == outside(first)
    assert managed.put(second, BODY) == first
    assert managed.drop(first) == data
    assert managed.drop(second) == data
    section = managed.find(first)
    assert section is not None
    assert not section.edited


def _split(data: bytes, new: bytes) -> bool:
    """Whether the section went between two parts of the data."""
    start = new.index(BEGIN.encode())
    return data.startswith(new[:start]) and new.endswith(data[start:])


def test_a_new_file_is_the_section_and_goes_with_it() -> None:
    made = managed.put(None, BODY)
    assert made.startswith(BEGIN.encode() + b"\n")
    assert made.endswith(END.encode() + b"\n")
    assert BODY.encode() in made
    assert managed.drop(made) is None


def test_an_empty_file_comes_back_empty() -> None:
    assert managed.drop(managed.put(b"", BODY)) == b""


def test_a_file_without_a_section_is_dropped_from_unchanged() -> None:
    assert managed.find(b"text\n") is None
    assert managed.drop(b"text\n") == b"text\n"


@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b"\r"])
def test_the_section_takes_the_line_breaks_of_the_file(eol: bytes) -> None:
    made = managed.put(b"one" + eol + b"two" + eol, BODY)
    assert made.replace(eol, b"").count(b"\n") + made.replace(eol, b"").count(b"\r") == 0


def test_text_that_ends_in_a_fence_gets_the_section_on_top() -> None:
    data = b"# Mine\n\n```sh\nnever closed\n"
    made = managed.put(data, BODY)
    assert made.startswith(BEGIN.encode())
    assert b"ends inside a code fence" in made
    assert made.endswith(b"-->\n\n" + data)
    assert managed.drop(made) == data


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{BEGIN}\nx\n{END}\n```\n",
        f"~~~~\n{BEGIN}\n~~~\n{END}\n~~~~\n",
        f"<!--\n{BEGIN[4:]}\n",
        f"    {BEGIN}\n    {END}\n",
        f"see `{BEGIN}` and `{END}`\n",
    ],
)
def test_markers_in_code_are_text(text: str) -> None:
    assert managed.find(text.encode()) is None
    made = managed.put(text.encode(), BODY)
    assert managed.drop(made) == text.encode()


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
    for act in (managed.find, managed.drop, lambda data: managed.put(data, BODY)):
        with pytest.raises(BrokenSection, match=lines):
            act(text.encode())


@given(st.lists(st.sampled_from([BEGIN, END, "mine", "", "yours", "- mine, too"]), max_size=12))
def test_repair_makes_one_section_and_keeps_every_line_of_the_user(rows: list[str]) -> None:
    data = "\n".join([*rows, ""]).encode()
    mended = managed.repair(data, BODY)
    section = managed.find(mended)
    assert section is not None
    assert not section.edited
    mine = [row for row in rows if row and row not in (BEGIN, END)]
    assert [row for row in outside(mended).decode().splitlines() if row] == mine


def test_repair_takes_up_what_kedge_wrote() -> None:
    whole = managed.put(b"mine\n", BODY)
    torn = whole.replace(END.encode() + b"\n", b"") + b"\nlater\n"
    mended = managed.repair(torn, BODY)
    assert mended.count(b"kedge task ready") == 1
    assert outside(mended).split() == [b"mine", b"later"]
    twice = managed.repair(whole + b"\n" + whole, BODY)
    assert twice.count(b"kedge task ready") == 1
    assert outside(twice).split() == [b"mine", b"mine"]


def test_an_edited_section_is_known() -> None:
    made = managed.put(b"mine\n", BODY)
    changed = made.replace(b"task ready", b"task list")
    section = managed.find(changed)
    assert section is not None
    assert section.edited
    crlf = managed.find(made.replace(b"\n", b"\r\n"))
    assert crlf is not None
    assert not crlf.edited


def test_a_section_of_a_newer_kedge_is_left_alone() -> None:
    newer = managed.put(None, BODY).replace(b"SECTION v1", b"SECTION v2")
    with pytest.raises(BrokenSection, match="newer kedge"):
        managed.put(newer, BODY)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_text_of_two_bytes_a_letter_is_refused(encoding: str) -> None:
    with pytest.raises(FileError, match="UTF-8"):
        managed.put("mine\n".encode(encoding), BODY)
