"""The files of the knowledge bank: what is read in them, and that no byte changes unasked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import in_time

from kedge.errors import FileError
from kedge.knowledge import edit, entries, values
from kedge.knowledge.entries import Entry, Page
from kedge.knowledge.fields import CHALLENGED, COUNT, LAST, PROVENANCE

DATA = Path(__file__).resolve().parents[1] / "data" / "knowledge"
FILES = sorted(path.name for path in DATA.glob("*.md"))
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((DATA / "expected.json").read_text())


def load(name: str) -> Page:
    return entries.read((DATA / name).read_bytes(), file_of(name))


def file_of(name: str) -> str:
    return f"docs/knowledge-bank/{name.partition('.')[0]}.md"


def told(entry: Entry) -> dict[str, Any]:
    last, count = entry.field(LAST), entry.field(COUNT)
    return {
        "type": entry.type,
        "name": entry.name,
        "provenance": entry.value(PROVENANCE),
        "last": values.seen(last.value if last else None).kind,
        "count": values.count(count.value) if count else None,
    }


def test_the_corpus_is_large() -> None:
    assert sorted(EXPECTED) == FILES
    assert sum(map(len, EXPECTED.values())) >= 120


@pytest.mark.parametrize("name", FILES)
def test_entries_are_what_a_reader_sees(name: str) -> None:
    assert [told(entry) for entry in load(name).entries] == EXPECTED[name]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("final", [True, False])
def test_however_a_file_is_saved_it_says_the_same(
    name: str, ending: bytes, bom: bytes, final: bool
) -> None:
    data = (DATA / name).read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    data = data.rstrip(b"\n") + (b"\n" if final else b"")
    data = bom + data.replace(b"\n", ending)
    page = entries.read(data, file_of(name))
    assert page.data == data
    assert [told(entry) for entry in page.entries] == EXPECTED[name]


@pytest.mark.parametrize("name", FILES)
def test_an_edit_changes_the_metadata_of_its_entry_alone(name: str) -> None:
    page = load(name)
    for at, entry in enumerate(page.entries):
        for field, value in ((LAST, "Feature #777"), (COUNT, "42")):
            after = edit.with_value(page, at, field, value)
            assert after.entries[at].field(field) is not None
            assert [f.value for f in after.entries[at].all(field)][-1] == value
            before = entry.field(field)
            assert_only(page, after, entry, 1 if before is None else 0)
        after = edit.with_more(page, at, CHALLENGED, "Feature #778 — it is not so")
        assert after.entries[at].all(CHALLENGED)[-1].value == "Feature #778 — it is not so"
        assert_only(page, after, entry, 1)


def assert_only(page: Page, after: Page, entry: Entry, added: int) -> None:
    """Lines outside of the entry are as they were, byte for byte; inside, its text is."""
    old, new = page.lines, after.lines
    assert new[: entry.line + 1] == old[: entry.line + 1]
    tail = old[entry.last + 1 :]
    assert new[len(new) - len(tail) :] == tail
    at = page.entries.index(entry)
    assert after.entries[at].text == entry.text
    assert [told(e) for e in after.entries[:at]] == [told(e) for e in page.entries[:at]]
    inside, changed = list(old[entry.line : entry.last + 1]), list(new[entry.line :])
    known = {n - entry.line for f in entry.fields if f.known for n in range(f.line, f.last + 1)}
    text = [line.rstrip("\r\n") for n, line in enumerate(inside) if n not in known]
    left = iter(line.rstrip("\r\n") for line in changed)
    assert all(line in left for line in text), "a line of the text is gone or out of its place"
    assert len(new) <= len(old) + added + 1  # and a blank line, where a block needs one


@pytest.mark.parametrize("name", FILES)
def test_taking_an_entry_out_leaves_the_others(name: str) -> None:
    page = load(name)
    for at, entry in enumerate(page.entries):
        try:
            after, lines = edit.without_entry(page, at)
        except FileError:  # the others would be read otherwise
            assert name == "anti-patterns.levels.md"
            continue
        assert lines == "".join(page.lines[entry.line : entry.last + 1])
        assert [told(e) for e in after.entries] == [
            told(e) for n, e in enumerate(page.entries) if n != at
        ]
        whole, rest, taken = page.data, after.data, lines.encode("utf-8", "surrogateescape")
        cut = next(n for n in range(len(whole)) if rest[n:] == whole[n + len(whole) - len(rest) :])
        gone = whole[cut : cut + len(whole) - len(rest)]
        assert rest[:cut] == whole[:cut]
        assert len(gone) >= len(taken.strip())


PIECES = st.sampled_from(
    [
        *("### Anti-Pattern: ", "## ", "### ", "# ", "#### Pattern: ", "Heuristic: ", "AP-1: "),
        *("- ", "* ", "  - ", "    ", "**", "__", "`", "```\n", "~~~\n", "<!--", "-->", "|"),
        *("Observed in: ", "Last observed: ", "Observation count: ", "Source:", "**Source:** "),
        *("Feature #", "012", "3", "2025-01-02", "Task k-1", "---\n", "\n", "\r\n", "\r", "\n\n"),
        *("word", "Naïve 日本", "\ufeff", "\t", "\x00", "{Name}", "⚠️ STALE", "\u2028", "\\"),
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)
AMONG = TEXTS.map(lambda text: f"### Pattern: One\n{text}\n### Pattern: Two\n- Source: x\n")
BYTES = (TEXTS | AMONG).map(str.encode) | st.binary(max_size=300)


@given(BYTES)
@example(b"")
@example(b"\n")
@example(b"\xef\xbb\xbf")
@settings(max_examples=400)
def test_any_bytes_come_back_as_they_were(data: bytes) -> None:
    page = entries.read(data, "heuristics.md")
    assert page.data == data
    for entry in page.entries:
        assert 0 <= entry.line <= entry.last < len(page.lines)
        for field in entry.fields:
            line = page.lines[field.line]
            assert entry.line < field.line <= field.last <= entry.last
            assert field.value.startswith(line[field.start : field.end])


@given(BYTES, st.integers(0, 5), st.sampled_from([LAST, COUNT, CHALLENGED]))
@settings(max_examples=400)
def test_an_edit_keeps_every_other_byte_or_is_refused(data: bytes, pick: int, name: str) -> None:
    page = entries.read(data, "heuristics.md")
    if not page.entries:
        return
    at = pick % len(page.entries)
    entry = page.entries[at]
    try:
        after = edit.with_value(page, at, name, "Feature #123")
    except FileError:
        return
    assert after.entries[at].all(name)[-1].value == "Feature #123"
    tail = page.lines[entry.last + 1 :]
    assert after.lines[: entry.line] == page.lines[: entry.line]
    assert after.lines[len(after.lines) - len(tail) :] == tail
    again = edit.with_value(after, at, name, "Feature #123")
    assert again.data == after.data


@pytest.mark.parametrize(
    "line",
    [
        *("### Notes\n- Source: x\n", "# a\n", "  Source: x\n", "- - - - - x", "|", "<!-- "),
        *("### pattern  ", "*", "`", "- Last observed: PR #1 #2 ", "a.a-a/", "### ⚠ ", "[", "{"),
        *("- Source:\n  a\n", "1a", "### Anti-Pattern: x\n", "feature #1, ", " "),
    ],
)
def test_hostile_files_are_read_in_time(line: str) -> None:
    from kedge.knowledge import relevance

    text = "### Pattern: x\n" + line * (200_000 // len(line)) + "\n- Source: y\n"
    with in_time(10):
        page = entries.parse(text, "patterns.md")
        for entry in page.entries[:3]:
            values.seen(entry.value(PROVENANCE))
        relevance.relevant(page.entries[:3], **relevance.of_text(text)._asdict(), budget=None)
