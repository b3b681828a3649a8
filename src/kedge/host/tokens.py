"""How many tokens a text costs, estimated offline with the standard library alone.

The yardstick is o200k_base, the widest public vocabulary. Text is cut into the pieces within
which that tokenizer merges, and each piece is priced. `tokens_vocab.bin`, a Bloom filter over the
138,419 pieces that are one token there (Latin letters, digits, symbols), knows the cheap ones;
what it misses is split greedily into pieces that it knows. The prices were fitted to public code
and documentation in some twenty languages, to lean high. On repositories that took no part in the
fit, 99 % of the files of code or Markdown over 2 KB come out between 1 % below and 6 % above the
real count. `benchmarks/tokens.py` measures that and rebuilds the filter.

Limits: one in fifty words of several tokens passes for one, so a file full of a single such name
can fall short; prose in other scripts is priced by the character, mostly within 15 %. The
tokenizer of current Claude models is not public; the last public one counts 1.16 to 1.29 times as
many tokens as o200k_base on code.
"""

from __future__ import annotations

import re
from bisect import bisect
from functools import cache
from zlib import crc32

VOCAB = __file__.rpartition(".")[0] + "_vocab.bin"
SIZE = 144 * 1024
FACTOR = 0x9E3779B1
SEED = 61  # of 400 start values, the one with the fewest false hits on the fitted corpora

_LOWER, _UPPER = r"a-z\xb5\xdf-\xf6\xf8-\xff", r"A-Z\xc0-\xd6\xd8-\xde"
_SYMBOL = r"\x00-\x08\x0e-\x1b!-/:-@\[-`{-\x84\x86-\x9f\xa1-\xb4\xb6-\xbf\xd7\xf7"
_ONE, _TWO = 100, 235  # every price is in hundredths of a token
_LONGEST = 21  # bytes of a word that is one token
_REMEMBERED = 1 << 16
# What one character costs above U+00FF, by the start of its block.
_BLOCKS = {
    "\0": 0, "\x80": 100, "\u0250": 150, "\u0370": 22, "\u0530": 40, "\u0900": 42, "\u2000": 90,
    "\u2500": 150, "\u25a0": 160, "\u3000": 85, "\u3040": 68, "\u3100": 72, "\uac00": 57,
    "\ud800": 300, "\uf900": 200, "\uff00": 65, "\U00010000": 230,
}  # fmt: skip


@cache
def pieces() -> re.Pattern[str]:
    """What o200k_base splits text into before it merges, near enough.

    The sets stay below U+0100 so that each compiles to one bitmap, runs are bounded so that no
    text is slow, and all that lies above U+00FF is taken together.
    """
    return re.compile(
        rf"[^\r\n0-9{_LOWER}{_UPPER}]?"
        rf"(?:[{_LOWER}]{{1,48}}+|[{_UPPER}]{{1,48}}+[{_LOWER}]{{0,48}}+)"
        r"|[0-9]{1,3}+"
        rf"| ?[{_SYMBOL}]{{1,64}}+[\r\n/]{{0,64}}+"
        r"| ?[^\x00-\xff]{1,64}+"
        r"|\s{0,64}[\r\n]{1,64}+"
        r"|\s{1,64}(?!\S)"
        r"|\s"
    )


class _Prices(dict[str, int]):
    """The price of each piece, worked out when it is first met."""

    def __init__(self) -> None:
        with open(VOCAB, "rb") as file:  # noqa: PTH123 - pathlib costs more than all else here
            self.table = file.read()
        self.starts, self.each = "".join(_BLOCKS), tuple(_BLOCKS.values())
        self.run = re.compile(rb"([\s!#%*+./:;=_~-])\1{3,}")
        self.frame = re.compile(r"([\u2500-\u259f])\1+")

    def __missing__(self, piece: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        last, code = piece[-1], piece.encode("utf-8", "surrogatepass")
        if last > "\xff":
            price = _ONE if len(piece) < 4 and self.known(code) else self.wide(piece)
        else:
            price = self.word(code) if last.isalpha() else self.symbols(code)
        self[piece] = price
        return price

    def known(self, piece: bytes) -> int:
        table, crc = self.table, crc32(piece, SEED)
        if not table[(crc >> 3) % SIZE] >> (crc & 7) & 1:
            return 0
        crc = crc * FACTOR >> 8
        if not table[(crc >> 3) % SIZE] >> (crc & 7) & 1:
            return 0
        crc >>= 14
        if not table[(crc >> 3) % SIZE] >> (crc & 7) & 1:
            return 0
        crc >>= 14
        return table[(crc >> 3) % SIZE] >> (crc & 7) & 1

    def word(self, piece: bytes) -> int:
        if len(piece) <= _LONGEST:
            if self.known(piece):
                return _ONE
            if self.known(piece[1:]):
                return _TWO
        return self.split(piece)

    def symbols(self, piece: bytes) -> int:
        if self.known(piece):
            return _ONE
        return self.split(self.run.sub(rb"\1\1\1", piece) if len(piece) > 6 else piece)

    def split(self, piece: bytes) -> int:
        """Take the longest known beginning until nothing is left; a third of a token on top."""
        price, known, size = _TWO - 2 * _ONE, self.known, len(piece) - 1
        while piece:
            size = min(size, 15)
            while size > 1 and not known(piece[:size]):
                size -= 1
            piece = piece[size or 1 :]
            price += _ONE
            size = len(piece)
        return max(_TWO, price)

    def wide(self, piece: str) -> int:
        drawn = self.frame.sub(r"\1", piece)
        price = 40 + 12 * (len(piece) - len(drawn))
        for char in drawn:
            price += self.each[bisect(self.starts, char) - 1]
        return max(_ONE, price)


@cache
def _prices() -> _Prices:
    return _Prices()


def count(text: str) -> int:
    """Tokens of the text, estimated: close to o200k_base, rather above than below."""
    return -(-price(text) // _ONE)


def price(text: str) -> int:
    """The same in hundredths of a token, so that parts can be added up."""
    return sum(map(_prices().__getitem__, pieces().findall(text)))


def price_of(tokens: int) -> int:
    """What that many tokens cost."""
    return tokens * _ONE


def fits(text: str, budget: int) -> bool:
    """Whether the text costs no more than the budget."""
    return count(text) <= budget


def cut(text: str, budget: int) -> str:
    """The longest beginning within the budget: of whole lines, else of words, else of pieces."""
    prices, left, end = _prices(), budget * _ONE, 0
    for match in pieces().finditer(text):
        left -= prices[match[0]]
        if left < 0:
            break
        end = match.end()
    else:
        return text
    # A piece that is cut in two may cost more or less than it did, so each place is tried.
    line = text.rfind("\n", 0, match.end()) + 1
    while line and not fits(text[:line], budget):
        line = text.rfind("\n", 0, line - 1) + 1
    if line:
        return text[:line]
    end = _word_end(text, end)
    while end and not fits(text[:end], budget):
        end = _word_end(text, end - 1)
    return text[:end]


def _word_end(text: str, end: int) -> int:
    """The end of the last whole word up to `end`, or `end` where there is but one."""
    if text[end : end + 1].isspace():
        return end
    words = text[:end].rsplit(maxsplit=1)
    return len(words[0]) if len(words) > 1 else end
