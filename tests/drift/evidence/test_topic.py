"""What a text is about is the same however it is found, and what is remembered stays small."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.evidence import topic
from kedge.drift.evidence.topic import Terms, extract_request_terms, extract_terms, find_kinds
from kedge.text.words import stem

PIECE = re.compile(r"[A-Za-z][A-Za-z0-9]*|.", re.DOTALL)
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
TEXTS = st.lists(
    st.sampled_from(["sessionList", "session", "list", "X", "HTTPServer2", "the", "of", "id", "12"])
    | st.sampled_from([" ", "  ", "_", ".", "/", "-", "\n", "\n    ", ", ", "(", "9", "é", "\0"])
    | st.text(max_size=6)
    | st.sampled_from(["a" * 31, "berths", "berthing", "a1b2", "Éclair", "ſet"]),
    max_size=40,
).map("".join)


def one_by_one(text: str) -> Terms:
    """Piece by piece: signs that join are passed over, all others part."""
    common = topic._common()
    words: set[str] = set()
    pairs: set[str] = set()
    before = ""
    for piece in PIECE.findall(text):
        if piece in "_ ./-":
            continue
        named = piece[0].isascii() and piece[0].isalpha() and len(piece) <= 30
        parts = [part for part in PART.findall(piece) if named and len(part) > 1]
        stems = [stem(part.lower()) for part in parts if not part[0].isdigit()]
        if not stems:
            before = ""
        for part in stems:
            if part not in common and (len(part) > 2 or part == "ci"):
                words.add(part)
            if before and not {before, part} <= common:
                pairs.add(f"{before} {part}")
            before = part
    return Terms(frozenset(words), frozenset(pairs))


@given(TEXTS)
def test_terms_of_a_text_are_those_of_its_pieces(text: str) -> None:
    assert extract_terms(text) == one_by_one(text)


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert extract_terms("a " * topic.MOST + "berth").words == frozenset()


def test_a_request_is_not_about_what_any_request_says() -> None:
    text = "Clean up wording, and avoid unnecessary allocations when removing unused berths"
    terms = extract_request_terms(text)  # "removing" and "unused" are forms of such words
    assert terms.words == {"allocation", "berth"}
    assert "clean wording" not in terms.pairs
    assert "unus berth" in terms.pairs
    assert extract_terms(text).words >= {"clean", "avoid", "unnecessary"}


def test_files_are_meant_by_what_they_are() -> None:
    for path in (".github/workflows/check.yml", ".gitlab-ci.yml", "sub/.circleci/config.yml"):
        assert extract_terms("Fix CI on Windows").words & extract_terms(find_kinds(path)).words
    assert find_kinds("docs/intro.html") == find_kinds("README.md") == "documentation"
    assert find_kinds("src/circle.py\nsrc/docstring.py") == ""
