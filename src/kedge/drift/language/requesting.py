"""Whether words ask the agent for something, or describe what is and what shall be."""

from __future__ import annotations

from kedge.drift.language.addressing import MARKS
from kedge.drift.language.roles import word_set
from kedge.drift.language.vocabulary import CHANGING, FILLER, LOOKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.prose import Word

_SPOKEN_OF = word_set(
    """the a an this that these those it they he she we i our my your their users user there why
    what how when if where who can could would you let's i'd which is are does do did it's that's
    some all every no in on at"""
)
_FINITE = word_set(
    """should must is are was were can can't cannot will would does doesn't did didn't has have may
    might could won't isn't aren't"""
)
# verbs that say something of a subject when an s is put to them
_DOES = word_set(
    """close cover return fire show happen work pass fail run start need contain exist update create
    delete remove add call make use write read send take get set do go come keep load save render
    throw raise handle receive break crash behave support allow let want complain say report"""
)
# with one of these in it, a request describes something that people will use
_SETTING = word_set(
    """option flag command mode button setting parameter user users that which so should when if
    possible able ability lets customer customers people feature page dialog"""
)


def requested(words: Sequence[Word], at: int) -> bool:
    """Whether the words before a place ask the agent for something."""
    lows = [word.low for word in words[:at]]
    first = next((low for low in lows if low not in FILLER), "")
    if lows[-1:] == [","] and first in CHANGING:  # "add a column, without changing the schema"
        return True
    start = 0
    for place in range(at - 1, -1, -1):  # the clause may stand after another
        if lows[place] in (";", ":", "—", "–") or (
            lows[place] in ("but", "and") and place + 1 < at
        ):
            start = place + 1
            break
    for begin in dict.fromkeys((start, 0)):
        part = [each for each in lows[begin:at] if each not in FILLER and each not in MARKS]
        if not part or part in (["do", "it"], ["do", "this"], ["do", "that"]):
            return True
        if _SETTING.intersection(part):
            continue
        polite = part[0] in ("can", "could", "would", "you", "let's", "i'd", "we") or (
            part[:3] == ["i", "want", "you"]
        )
        if polite and any(each in CHANGING or each in LOOKING for each in part[1:6]):
            return True
        if part[0] not in _SPOKEN_OF and not any(map(_finite, part[:8])):
            return True
    return False


def _finite(word: str) -> bool:
    """Whether a word is a verb that some subject stands before: "is", "closes", "covers"."""
    if word in _FINITE:
        return True
    stem = word.removesuffix("s")
    return stem != word and (stem in _DOES or stem.removesuffix("e") in _DOES)
