"""Correction of single typing errors."""

from __future__ import annotations

import pytest

from kedge.text.typos import TypoTable

TABLE = TypoTable(("touch", "edit", "don't", "changes"), ("torch", "won't"))


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("tuoch", "touch"),
        ("toch", "touch"),
        ("touuch", "touch"),
        ("tougch", "touch"),
        ("tauch", "touch"),
        ("edti", "edit"),
        ("eit", "edit"),
        ("eddit", "edit"),
        ("dno't", "don't"),
        ("chnages", "changes"),
    ],
)
def test_one_error_is_corrected(word: str, known: str) -> None:
    assert TABLE.correct(word) == known


@pytest.mark.parametrize(
    "word",
    [
        "touch",
        "torch",
        "won't",
        "tuohc",
        "exit",
        "emit",
        "dit",
        "touches",
        "touched",
        "to",
        "",
        "édit",
    ],
)
def test_other_words_stay(word: str) -> None:
    assert TABLE.correct(word) == word
