"""Count the tokens of a text, offline and with the standard library alone.

The reference is o200k_base, the largest public vocabulary. Text is split into the same pieces as by
that tokenizer; a piece that is not a token is merged pair by pair, the earliest token of the
vocabulary first. `tokens_vocab.bin` replaces the vocabulary: for every pair of bytes, and for the
hash of every longer token, it has the token's rank, in 128 levels. Where two merges on one level
compete, both orders are tried and the higher count is used.

On public repositories 99 % of the files of code or Markdown over 2 KB come out exact or up to 1 %
above the real count, prose without spaces between its words up to 2 % above. Random text comes out
at most 3 % below. `benchmarks/tokens.py` measures that, searches for the texts with the largest
error, and rebuilds the table.

Limits: one string in 100,000 that is not a token counts as one, and a few words in 100,000 are
merged in another order, so a text that repeats such a piece can be undercounted. The tokenizer of
current Claude models is not public; the last public one counts 1.16 to 1.29 times as many tokens
as o200k_base on code. Hook path: no `typing`, no `pathlib`.
"""

from __future__ import annotations

import re
import sys
from array import array
from binascii import crc_hqx
from functools import cache
from itertools import pairwise
from zlib import crc32, decompress

VOCAB = __file__.rpartition(".")[0] + "_vocab.bin"
LEVELS = 128  # of rank in the vocabulary, from its first tokens to its last
STEP = 1 << 12  # cells of a segment; each token has one cell in each of three adjacent segments
SPAN = 53 * STEP  # the first of the three cells is below this
CELLS = SPAN + 2 * STEP
SEED = 5  # the first seed with which no two tokens share a hash

_LOWER, _UPPER = r"a-z\xb5\xdf-\xf6\xf8-\xff", r"A-Z\xc0-\xd6\xd8-\xde"
_DIGIT = r"0-9\xb2\xb3\xb9\xbc-\xbe"
_SYMBOL = (
    r"\x00-\x08\x0e-\x1f!-/:-@\[-`{-\x84\x86-\x9f\xa1-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7"
)
_WIDE = r"[^\x00-\xa9\xab-\xb9\xbb-\xff\s]"  # includes letters without case
_SPACE, _OTHER = r"[^\S\x1c-\x1f]", r"[\S\x1c-\x1f]"
_SUFFIX = r"(?:'(?:[sStTmMdD]|[rRvV][eE]|[lL][lL]))?"
_ONE = 100  # prices are in hundredths of a token
_LONG = 32  # bytes; a longer piece counts as a token only if its two halves do
_SIGNS = "←→—–…‘’“”•·×≤≥"
_REMEMBERED = 1 << 15  # cached pieces, and as many parts of pieces


@cache
def pieces() -> re.Pattern[str]:
    """The pieces that o200k_base splits text into; a run with wide characters is one piece here.

    Character sets stay below U+0100 so that each compiles to one bitmap, and runs are bounded so
    that matching is linear.
    """
    return re.compile(
        rf"[\t\x0b\x0c \x85\xa0{_SYMBOL}]?"
        rf"(?:[{_LOWER}]{{1,128}}+|[{_UPPER}]{{1,128}}+[{_LOWER}]{{0,128}}+){_SUFFIX}(?!{_WIDE})"
        rf"|[{_DIGIT}]{{1,3}}+(?!{_WIDE})"
        rf"|(?: [{_SYMBOL}]|[{_SYMBOL}](?![{_LOWER}{_UPPER}]))[{_SYMBOL}]{{0,127}}+(?!{_WIDE})"
        r"[\r\n/]{0,128}+"
        rf"|{_SPACE}{{0,128}}[\r\n]{{1,128}}+"
        rf"|{_SPACE}{{1,128}}(?!{_OTHER})"
        rf"|{_SPACE}?(?=[{_LOWER}{_UPPER}{_DIGIT}{_SYMBOL}]{{0,95}}+{_WIDE}){_OTHER}{{1,96}}+"
        rf"(?:{_SPACE}{{0,16}}[\r\n]{{1,16}}+(?:/{_OTHER}{{0,16}}+)?){{0,8}}"
        rf"|{_SPACE}"
    )


class _Kinds(dict[int, str]):
    """Maps each character to an ASCII one of its kind; ª for letters without case, º for marks."""

    def __init__(self) -> None:
        self.update(dict.fromkeys(map(ord, _SIGNS), "!"))  # common, and spare `unicodedata`

    def __missing__(self, code: int) -> str:
        from unicodedata import category

        if len(self) >= _REMEMBERED:
            self.clear()
        char = chr(code)
        if code < 0x80:
            kind = char
        elif char.isspace():
            kind = "\t"
        else:
            name = category(char)
            kind = {"Lu": "A", "Lt": "A", "Ll": "a"}.get(name) or (
                {"L": "\xaa", "M": "\xba", "N": "0"}.get(name[0], "!")
            )
        self[code] = kind
        return kind


@cache
def _parts() -> re.Pattern[str]:
    """The pieces of text translated by `_Kinds`; without bounds, so for short text only."""
    head = r"[^\r\n0-9A-Za-z\xaa]?"
    return re.compile(
        rf"{head}[A-Z\xaa\xba]*[a-z\xaa\xba]+{_SUFFIX}|{head}[A-Z\xaa\xba]+[a-z\xaa\xba]*{_SUFFIX}"
        r"|[0-9]{1,3}"
        r"| ?[^\t-\r 0-9A-Za-z\xaa]+[\r\n/]*"
        r"|[\t-\r ]*[\r\n]+"
        r"|[\t-\r ]+(?![^\t-\r ])"
        r"|[\t-\r ]+"
    )


class _Levels(dict[bytes, int]):
    """The level of each token of three bytes or more; LEVELS if it is not a token."""

    def __init__(self, cells: array[int], checks: bytes) -> None:
        self.cells, self.checks = cells, checks

    def __missing__(self, piece: bytes) -> int:
        self[piece] = level = self.read(piece)
        return level

    def read(self, piece: bytes) -> int:
        crc, cells = crc32(piece, SEED), self.cells
        one = crc % SPAN
        two, three = one + STEP ^ crc >> 20, one + 2 * STEP ^ crc >> 8 & STEP - 1
        level = cells[one] ^ cells[two] ^ cells[three]
        if level < LEVELS:
            checks = self.checks
            if checks[one] ^ checks[two] ^ checks[three] ^ crc_hqx(piece, 0) & 255:
                return LEVELS
        return level


class _Prices(dict[str, int]):
    """The price of each piece, computed on first use."""

    def __init__(self) -> None:
        with open(VOCAB, "rb") as file:  # noqa: PTH123 - pathlib costs more than all else here
            cells, checks = array("H", file.read(2 * CELLS)), file.read(CELLS)
            self.pairs = decompress(file.read())
        if sys.byteorder == "big":
            cells.byteswap()
        self.levels, self.kinds = _Levels(cells, checks), _Kinds()

    def __missing__(self, piece: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        if piece.isascii():
            tokens, most = self.tokens(piece.encode()), 128
        else:
            tokens = sum(
                self.tokens(piece[part.start() : part.end()].encode("utf-8", "surrogatepass"))
                for part in _parts().finditer(piece.translate(self.kinds))
            )
            most = 96
        # A run that was split for its length may cost one more than in one piece.
        if len(piece) >= most and piece[1:].strip(piece[-1]):
            tokens += 1
        self[piece] = price = tokens * _ONE
        return price

    def tokens(self, piece: bytes) -> int:
        if len(piece) < 3:
            return 1 if len(piece) < 2 or self.pairs[piece[0] << 8 | piece[1]] < LEVELS else 2
        known = self.levels.read(piece) < LEVELS
        if known and len(piece) <= _LONG:
            return 1
        if len(self.levels) >= _REMEMBERED:
            self.levels.clear()
        count, tied = self.merge(piece, last=False)
        if tied:
            count = max(count, self.merge(piece, last=True)[0])
        return 1 if known and count == 2 else count

    def merge(self, piece: bytes, *, last: bool) -> tuple[int, bool]:
        """Return the number of tokens after merging, for a piece that is not a token itself.

        Of several pairs on the lowest level the first, or the `last`, is merged; the second value
        is true if the choice made a difference.
        """
        pairs, known, tied = self.pairs, self.levels, False
        levels = [pairs[a << 8 | b] for a, b in pairwise(piece)]
        starts = list(range(len(piece) + 1))
        while (size := len(levels)) > 2:
            if (least := min(levels)) >= LEVELS:
                return size + 1, tied
            at = levels.index(least)
            if last:
                at = size - 1 - levels[::-1].index(least)
            del levels[at], starts[at + 1]
            if at < size - 1:
                tied = tied or levels[at] == least
                levels[at] = known[piece[starts[at] : starts[at + 2]]]
            if at:
                levels[at - 1] = known[piece[starts[at - 1] : starts[at + 1]]]
        return (2 if min(levels) < LEVELS else 3), tied


@cache
def _prices() -> _Prices:
    return _Prices()


def count(text: str) -> int:
    """Return the number of tokens: that of o200k_base, or slightly more."""
    return -(-price(text) // _ONE)


def price(text: str) -> int:
    """Return the count in hundredths of a token, so that parts can be summed."""
    return sum(map(_prices().__getitem__, pieces().findall(text)))


def price_of(tokens: int) -> int:
    """Return the price of a number of tokens."""
    return tokens * _ONE


def fits(text: str, budget: int) -> bool:
    """True if the text has no more tokens than the budget."""
    return count(text) <= budget


def cut(text: str, budget: int) -> str:
    """Return the longest prefix within the budget: whole lines, else words, else pieces."""
    prices, left, end = _prices(), budget * _ONE, 0
    for piece in pieces().findall(text):
        left -= prices[piece]
        if left < 0:
            break
        end += len(piece)
    else:
        return text
    # Half of a piece may cost more or less than the whole, so each place is tried.
    line = text.rfind("\n", 0, end + len(piece)) + 1
    while line and not fits(text[:line], budget):
        line = text.rfind("\n", 0, line - 1) + 1
    if line:
        return text[:line]
    end = _word_end(text, end)
    while end and not fits(text[:end], budget):
        end = _word_end(text, end - 1)
    return text[:end]


def _word_end(text: str, end: int) -> int:
    """Return the end of the last whole word up to `end`, or `end` if there is only one."""
    if text[end : end + 1].isspace():
        return end
    words = text[:end].rsplit(maxsplit=1)
    return len(words[0]) if len(words) > 1 else end
