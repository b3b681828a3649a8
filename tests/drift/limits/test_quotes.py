"""A quote of the user is found in the user's words, however it was typed."""

from __future__ import annotations

import pytest

from kedge.drift.limits.quotes import has_quote

SAID = "Fix the expiry of tokens. I'd rather the login code stayed as it is."


@pytest.mark.parametrize(
    ("words", "quote", "found"),
    [
        (SAID, "i’d RATHER the  login\tcode stayed", True),
        (SAID, "“the login code stayed as it is”", True),
        (SAID, "I'd rather the auth code stayed as it is", False),
        (SAID, "tokens", False),
        (SAID, "", False),
        ("No push!", "no push", True),
        ("ログインのコードには触らないで。期限だけ直して。", "触らないで", True),
    ],
)
def test_a_quote_is_in_the_words(words: str, quote: str, found: bool) -> None:
    assert has_quote(words, quote) is found
