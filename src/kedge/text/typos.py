"""Correction of single typing errors against a set of known words."""

from __future__ import annotations

from collections.abc import Iterable

_LONG = 5  # letters from which any error is corrected
_SHORTEST = 4
_ENDINGS = ("s", "es", "d", "ed", "r", "er", "ing")


class TypoTable:
    """Known words, found also if one letter is swapped, missing, additional or wrong.

    A word in `others`, and a known word with an ending, is not a typing error.
    """

    def __init__(self, known: Iterable[str], others: Iterable[str]) -> None:
        self._known = {word for word in known if len(word) >= _SHORTEST}
        self._others = frozenset(others)
        self._near: dict[str, list[str]] = {}
        for word in sorted(self._known):
            for key in {word, *_shorten(word)}:
                self._near.setdefault(key, []).append(word)

    def correct(self, word: str) -> str:
        """Return the known word that this is with one typing error, else the word itself."""
        if (
            word in self._known
            or word in self._others
            or len(word) > 30
            or not word.replace("'", "").isalpha()
        ):
            return word
        if any(word.endswith(end) and word.removesuffix(end) in self._known for end in _ENDINGS):
            return word
        near = {known for key in (word, *_shorten(word)) for known in self._near.get(key, ())}
        return min((known for known in near if _is_typo(word, known)), default=word)


def _shorten(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at in range(len(word))]


def _is_typo(word: str, known: str) -> bool:
    if len(word) < len(known):
        ends = word[:1] == known[:1] and word[-1:] == known[-1:]
        return word in _shorten(known) and (len(known) >= _LONG or ends)
    if len(word) > len(known):
        doubled = any(word[at] == word[at + 1] for at in range(len(known)))
        return known in _shorten(word) and (len(known) >= _LONG or doubled)
    wrong = [at for at in range(len(word)) if word[at] != known[at]]
    if len(wrong) == 1:
        return len(known) >= _LONG
    swapped = word[wrong[0]] == known[wrong[-1]] and word[wrong[-1]] == known[wrong[0]]
    return swapped and wrong[1:] == [wrong[0] + 1]
