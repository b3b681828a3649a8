"""Whether a quote is in the user's words. Whoever reads limits from messages must quote them."""

from __future__ import annotations

SHORTEST = 8  # characters, unless the quote is the whole message
_WIDE = 0x2E80  # from here on, scripts in which a character is a syllable or a word
_MARKS = str.maketrans(dict.fromkeys("\"'`“”„‟‘’‚‛«»‹›「」『』＂＇", ""))


def has_quote(words: str, quote: str) -> bool:
    """True if the words contain the quote; case, white space and quotation marks do not count.

    A quote of a few letters is in many a message by chance.
    """
    wanted, text = _normalise(quote), _normalise(words)
    length = sum(2 if ord(sign) >= _WIDE else 1 for sign in wanted)
    return bool(wanted) and (wanted == text or (length >= SHORTEST and wanted in text))


def _normalise(text: str) -> str:
    return " ".join(text.translate(_MARKS).casefold().split()).strip(" .,;:!?…")
