"""Text for display."""

from __future__ import annotations

from kedge.host.text import clean, shorten


def test_control_characters_are_escaped_and_line_breaks_stay() -> None:
    assert clean("a\tb\nc\x1b[31m\x7f\x9b\r") == "a\tb\nc\\x1b[31m\\x7f\\x9b\\x0d"
    assert clean("äöü 漢字 🚢") == "äöü 漢字 🚢"


def test_a_short_text_is_put_on_one_line() -> None:
    assert shorten("  two \n\t words ", 9) == "two words"


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    assert shorten("two words", 8) == "two wor…"
    assert shorten("two words", 5) == "two…"
    assert len(shorten("x" * 100, 10)) == 10
