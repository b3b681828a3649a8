"""Parsing and editing pages: entries are recognized, and edits change nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import Kedge, in_time

from kedge.errors import FileError
from kedge.knowledge.bank import edits, entries, values
from kedge.knowledge.bank.entries import BankPage, Entry
from kedge.knowledge.bank.fields import CHALLENGED, COUNT, LAST, PROVENANCE
from kedge.knowledge.bank.titles import parse_title

DATA = Path(__file__).resolve().parents[2] / "data" / "knowledge"
FILES = sorted(path.name for path in DATA.glob("*.md"))
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((DATA / "expected.json").read_text())


def load(name: str) -> BankPage:
    return entries.decode_page((DATA / name).read_bytes(), bank_path(name))


def bank_path(name: str) -> str:
    return f"docs/knowledge-bank/{name.partition('.')[0]}.md"


def entry_values(entry: Entry) -> dict[str, Any]:
    last, count = entry.field(LAST), entry.field(COUNT)
    return {
        "type": entry.type,
        "name": entry.name,
        "provenance": entry.value(PROVENANCE),
        "last": values.parse_occasion(last.value if last else None).kind,
        "count": values.parse_count(count.value) if count else None,
    }


def test_corpus_covers_at_least_120_entries() -> None:
    assert sorted(EXPECTED) == FILES
    assert sum(map(len, EXPECTED.values())) >= 120


@pytest.mark.parametrize("name", FILES)
def test_entries_of_the_corpus_are_parsed(name: str) -> None:
    assert [entry_values(entry) for entry in load(name).entries] == EXPECTED[name]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("final", [True, False])
def test_encoding_and_line_endings_do_not_change_the_entries(
    name: str, ending: bytes, bom: bytes, final: bool
) -> None:
    data = (DATA / name).read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    data = data.rstrip(b"\n") + (b"\n" if final else b"")
    data = bom + data.replace(b"\n", ending)
    page = entries.decode_page(data, bank_path(name))
    assert page.data == data
    assert [entry_values(entry) for entry in page.entries] == EXPECTED[name]


@pytest.mark.parametrize("name", FILES)
def test_edit_changes_only_the_metadata_of_its_entry(name: str) -> None:
    page = load(name)
    for at, entry in enumerate(page.entries):
        for field, value in ((LAST, "Feature #777"), (COUNT, "42")):
            after = edits.set_field(page, at, field, value)
            assert after.entries[at].field(field) is not None
            assert [f.value for f in after.entries[at].all(field)][-1] == value
            before = entry.field(field)
            assert_only(page, after, entry, 1 if before is None else 0)
        after = edits.append_field(page, at, CHALLENGED, "Feature #778 — it is not so")
        assert after.entries[at].all(CHALLENGED)[-1].value == "Feature #778 — it is not so"
        assert_only(page, after, entry, 1)


def assert_only(page: BankPage, after: BankPage, entry: Entry, added: int) -> None:
    """Lines outside the entry, and its text, are unchanged."""
    old, new = page.lines, after.lines
    assert new[: entry.line + 1] == old[: entry.line + 1]
    tail = old[entry.last + 1 :]
    assert new[len(new) - len(tail) :] == tail
    at = page.entries.index(entry)
    assert after.entries[at].text == entry.text
    assert [entry_values(e) for e in after.entries[:at]] == [
        entry_values(e) for e in page.entries[:at]
    ]
    inside, changed = list(old[entry.line : entry.last + 1]), list(new[entry.line :])
    known = {n - entry.line for f in entry.fields for n in range(f.line, f.last + 1)}
    text = [line.rstrip("\r\n") for n, line in enumerate(inside) if n not in known]
    left = iter(line.rstrip("\r\n") for line in changed)
    assert all(line in left for line in text), "a line of the text is missing or moved"
    assert len(new) <= len(old) + added + 1  # plus a blank line that a block may need


@pytest.mark.parametrize("name", FILES)
def test_removing_an_entry_leaves_the_others_unchanged(name: str) -> None:
    page = load(name)
    for at, entry in enumerate(page.entries):
        try:
            after, lines = edits.remove_entry(page, at)
        except FileError:  # the others would be parsed differently
            assert name == "anti-patterns.levels.md"
            continue
        assert lines == "".join(page.lines[entry.line : entry.last + 1])
        assert [entry_values(e) for e in after.entries] == [
            entry_values(e) for n, e in enumerate(page.entries) if n != at
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
def test_any_bytes_survive_parsing(data: bytes) -> None:
    page = entries.decode_page(data, "heuristics.md")
    assert page.data == data
    for entry in page.entries:
        assert 0 <= entry.line <= entry.last < len(page.lines)
        for field in entry.fields:
            line = page.lines[field.line]
            assert entry.line < field.line <= field.last <= entry.last
            assert field.value.startswith(line[field.start : field.end])


@given(BYTES, st.integers(0, 5), st.sampled_from([LAST, COUNT, CHALLENGED]))
@settings(max_examples=400)
def test_edit_keeps_every_other_byte_or_is_refused(data: bytes, pick: int, name: str) -> None:
    page = entries.decode_page(data, "heuristics.md")
    if not page.entries:
        return
    at = pick % len(page.entries)
    entry = page.entries[at]
    try:
        after = edits.set_field(page, at, name, "Feature #123")
    except FileError:
        return
    assert after.entries[at].all(name)[-1].value == "Feature #123"
    tail = page.lines[entry.last + 1 :]
    assert after.lines[: entry.line] == page.lines[: entry.line]
    assert after.lines[len(after.lines) - len(tail) :] == tail
    again = edits.set_field(after, at, name, "Feature #123")
    assert again.data == after.data


@pytest.mark.parametrize(
    "line",
    [
        *("### Notes\n- Source: x\n", "# a\n", "  Source: x\n", "- - - - - x", "|", "<!-- "),
        *("### pattern  ", "*", "`", "- Last observed: PR #1 #2 ", "a.a-a/", "### ⚠ ", "[", "{"),
        *("- Source:\n  a\n", "1a", "### Anti-Pattern: x\n", "feature #1, ", " "),
    ],
)
def test_hostile_files_are_parsed_in_time(line: str) -> None:
    from kedge.knowledge.recall import relevance

    text = "### Pattern: x\n" + line * (200_000 // len(line)) + "\n- Source: y\n"
    with in_time(10):
        page = entries.parse_page(text, "patterns.md")
        for entry in page.entries[:3]:
            values.parse_occasion(entry.value(PROVENANCE))
        relevance.rank_entries(page.entries[:3], relevance.query_from_text(text))


def test_a_ratio_in_a_heading_is_no_code() -> None:
    titles_ = [parse_title(one) for one in ("4.5:1 Test-to-Code Ratio", "4. Tie up", "3:1 odds")]
    assert [(one.code, one.name) for one in titles_] == [
        ("", "4.5:1 Test-to-Code Ratio"),
        ("4", "Tie up"),
        ("", "3:1 odds"),
    ]


def test_principles_of_a_constitution_are_entries(repo: Path, kedge: Kedge) -> None:
    folder = repo / "docs" / "knowledge-bank"
    folder.mkdir(parents=True)
    names = ["Keep It Simple", "You Are Not Done Yet", "Say What Is Wrong", "Read First", "Own It"]
    entries = [f"### {one}\n\nText of it.\n\n- Observed in: Feature #00{n}\n" for n, one in
               enumerate(names, 1)]  # fmt: skip
    (folder / "constitution.md").write_text("\n".join(["# Constitution\n", *entries]))
    listed = kedge.json("knowledge", "list")
    assert sorted(one["name"] for one in listed) == sorted(names)
    assert {one["type"] for one in listed} == {"principle"}
    assert len(kedge.json("knowledge", "list", "--type", "principle")) == 5
    assert kedge.json("knowledge", "list", "--type", "pattern") == []
