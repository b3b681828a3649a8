"""What a text is about: its telling words, and the pairs of words that stand together in it.

A pair says more than a word: `session list`, `session_list`, `sessionList` and `SessionList` are
the same pair, and two texts seldom share one by chance.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from kedge.host.record import NamedTuple
from kedge.repomap.terms import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # the parts at its ends and whether each tells, then its words and the pairs in it
    _Name: TypeAlias = tuple[str, bool, str, bool, tuple[str, ...], tuple[str, ...]]

MOST = 8_000  # characters of a text that are read
_MOST_NAMES = 16_384  # that are remembered
_LONGEST = 30  # a longer word is made by a program
# Names, and nothing for what parts them. A blank, a hyphen, a dot or a slash joins words to a pair
# and is passed over; the end of a clause does not, and takes along all up to the next name.
_NAMES = re.compile(r"([A-Za-z][A-Za-z0-9]*)|[^A-Za-z_ ./-][^A-Za-z]*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# Words that tell nothing of a topic: those of every conversation, and of every repository.
_COMMON = """
a about above across actually after again all alone already also although always am an and another
any anymore anything are around as ask at away back bad be because been before being below best
better between big bit both brief but by came can cannot careful case cause come concern consider
could currently day decide did didn different directly do does doesn doing don done dont down due
each easy either else especially etc even every everything exactly far feel few fine first follow
for forward found from full further general get give given go going good got great had happen hard
has have having he help her here high how however if important improve in inside instead into is it
its itself just keep kind know known large last later latest least left less let like likely little
ll long look lot low made make making many may maybe me mean might more most much multiple must my
necessary need never new next nice no nope not nothing now of off often ok okay old on once one only
onto or original other otherwise our out over own part per perhaps place please point possible
prefer present previous probably problem proper properly put question quick quite rather re real
really reason recent regard related relevant rest right said same say see seem several shall she
short should show side similar simple since single small so some someone something soon sorry sort
stay still straight stuff such suggest suggestion sure take tell than thank that the their them then
there these they thing think this those though three through thus to together too top toward try
turn two under understand unless until up upon us usual very via want was way we well went were what
when where whether which while who whole why wide will with within without word work would wrong
yeah yep yes yet you your

action add allow api app application arg args argument array assert async attribute author auto
await base block body bool boolean build byte call change char check class client code com command
component condition config configuration const contain content context copy core count create
current custom data def default define description detail dev dir directory div doc docs document
element empty end entry env environment equal err error event example exception exist expect export
expression extend fail false feature field file filter find fix form format func function git github
group handle handler header html http https id implement implementation import include index info
init input install instance int interface issue item join json key label language length line link
list load local log main map match max message method mock model module name nil node non none note
null number object open option org output override package page param parameter parse pass path
permission plugin post private process project prop public query range read ref reference remove
rename render replace request require response result return review root route run script self
server service set setup size source specific src start state static status std step str stream
string struct style support tag target task template test text throw time title token true type
update url use used user using util utils value var version view void web window write www
"""


class Terms(NamedTuple):
    """Telling words, and pairs as `first second`; both stemmed and in lower case."""

    words: frozenset[str]
    pairs: frozenset[str]


@lru_cache(1)
def _common() -> frozenset[str]:
    return frozenset(stem(word) for word in _COMMON.split())


class _Names(dict[str, "_Name | None"]):
    """Names that were met, which come again and again; too many are forgotten all at once."""

    def __missing__(self, text: str) -> _Name | None:
        if len(self) >= _MOST_NAMES:
            self.clear()
        found = self[text] = _name(text)
        return found


_names = _Names()


def _name(text: str) -> _Name | None:
    """The stemmed parts of one name, numbers and single letters left out; None if none is left."""
    if len(text) > _LONGEST:
        return None
    parts = (text,) if text.islower() and text.isalpha() else _PARTS.findall(text)
    found = [stem(part.lower()) for part in parts if len(part) > 1 and part[0] > "9"]
    if not found:
        return None
    common = _common()
    first, last = found[0], found[-1]
    opens, closes = first not in common, last not in common
    words = tuple([part for part in found if len(part) > 2 and part not in common])
    if len(found) == 1:
        return first, opens, last, closes, words, ()
    pairs = [
        f"{one} {other}"
        for one, other in pairwise(found)
        if one not in common or other not in common
    ]
    return first, opens, last, closes, words, tuple(pairs)


def terms(text: str) -> Terms:
    """What the text is about. Only its beginning is read when it is long."""
    words: list[str] = []
    pairs: list[str] = []
    before, told = "", False
    names = _names
    for piece in _NAMES.findall(text[:MOST]):
        name = names[piece]
        if name is None:
            before = ""
            continue
        first, opens, last, closes, own, inner = name
        if before and (told or opens):
            pairs.append(f"{before} {first}")
        words += own
        if inner:
            pairs += inner
        before, told = last, closes
    return Terms(frozenset(words), frozenset(pairs))
