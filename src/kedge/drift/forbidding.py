"""Rules for what is kept as it is: "leave … alone", "… is off limits", "… must not be changed"."""

from __future__ import annotations

from kedge.drift import orders
from kedge.drift.negating import CHANGES, changes
from kedge.drift.opposites import made
from kedge.drift.orders import Order, low, order, told
from kedge.drift.phrases import Things, excepted, things
from kedge.drift.requesting import requested
from kedge.drift.roles import word_set
from kedge.drift.subjects import is_path
from kedge.drift.vocabulary import BASE, DOING, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.opposites import Kinds
    from kedge.drift.prose import Sentence, Word
    from kedge.drift.wording import Finding

_STATES = word_set("alone untouched unchanged intact as same out frozen as-is uncommitted be")
_NEGATIVE = word_set("not never mustn't shouldn't can't cannot isn't aren't")
_AUXILIARY = _NEGATIVE | word_set(
    """must should may shall can will has have needs need is are be to left kept allowed being stays
    stay remains remain"""
)


def kept(found: Finding, sentence: Sentence, at: int) -> int:
    """For "leave X alone", "keep X as it is", "hands off X", "stay away from X"."""
    words = sentence.words
    word, after, third = words[at].low, low(words, at + 1), low(words, at + 2)
    beside = word in ("leaving", "keeping") and requested(words, at)
    if not beside and not told(words, at, asks=sentence.asks):
        return 0
    start = 0
    if word == "hands" and after == "off":
        start = at + 2
    elif after in ("away", "out", "clear") and third in ("from", "of"):
        start = at + 3
    elif word == "keep" and "hands" in (after, third):
        start = at + 3 + (third == "hands")
    if start:
        about = things(words, start)
        return found.put(sentence, at, about.end, made(Order(("edit",), start), about), about)
    if word not in ("leave", "keep", "leaving", "keeping"):
        return 0
    if after in ("pushing", "committing") and third == "to":
        kind = "no_push" if after == "pushing" else "no_commit"
        return found.put(sentence, at, at + 3, ((kind, ()),), Things())
    about = things(words, at + 1, exceptions=False)
    state = next(
        (place for place in range(about.end, min(about.end + 3, len(words)))
         if words[place].low in _STATES), 0,
    )  # fmt: skip
    if about.empty or not state or not _is_state(words, state):
        return 0
    about = about._replace(exceptions=excepted(words, about.end) or excepted(words, state + 1))
    if orders.described(words, state + 1, strict=False):
        return 0
    if low(words, state) == "uncommitted":
        kinds: Kinds = (("no_commit", ()),)
    else:
        kinds = made(Order(("edit",), at + 1), about)
    return found.put(sentence, at, state + 1, kinds, about)


def listed(found: Finding, sentence: Sentence, at: int) -> int:
    """For "X is off limits", "off limits: X, Y", "editing X is forbidden"."""
    words = sentence.words
    if sentence.asks or (words[at].low == "off" and low(words, at + 1) != "limits"):
        return 0
    if words[at].low == "read-only" and low(words, at + 1) not in (
        "",
        "for",
        "here",
        *orders.MARKS,
    ):
        return 0
    colon = next(
        (place for place in range(at, min(at + 4, len(words))) if words[place].low == ":"), 0
    )
    start = colon + 1 if colon else orders.clause_start(words, at)
    be = {word.low for word in words[max(0, at - 3) : at]} & word_set("is are be remain stay")
    if not (colon or be) or orders.described(words, at + 2, strict=True):
        return 0
    verb = order(words, start, DOING)
    if low(words, start) in ("it", "it's") and low(words, at + 1) == "to":
        verb = order(words, at + 2, BASE)
    if verb:
        about = orders.about(words, verb)
        return found.put(sentence, at, max(at + 1, about.end), made(verb, about), about)
    if words[at].low in ("forbidden", "prohibited"):
        return 0
    about = things(words, start)
    if words[at].low == "read-only" and not all(map(is_path, about.subjects)):
        return 0
    if about.everything and about.exceptions:
        kinds: Kinds = (("only_under", about.exceptions),)
        about = about._replace(exceptions=())
    else:
        kinds = (("no_touch", about.subjects),) if about.subjects else ()
    return found.put(sentence, at, max(at + 2, about.end), kinds, about)


def passive(found: Finding, sentence: Sentence, at: int) -> int:
    """For "X must not be changed", "nothing in X should be touched", "X stays as it is"."""
    words = sentence.words
    place = at
    while place < len(words) and words[place].low in _AUXILIARY:
        place += 1
    between = {word.low for word in words[at:place]}
    negative = bool(between & _NEGATIVE)
    start = orders.clause_start(words, at)
    while start < at and low(words, start) in ("please", "also", "the"):
        start += 1
    if sentence.asks or at in (place, start):
        return 0
    if low(words, start) in ("files", "file") and low(words, start + 1) == "you":
        return _files_you(found, sentence, at) if negative else 0
    verb = order(words, start, DOING)
    if negative and "allowed" in between and verb:  # "touching X is not allowed"
        about = orders.about(words, verb)
        return found.put(sentence, at, place, made(verb, about), about)
    if between & {"is", "are", "isn't", "aren't"} and not between & {"to", "allowed"}:
        return 0
    nothing = low(words, start) == "nothing"
    other = nothing and low(words, start + 1) == "other"
    about = things(words, start + 3 if other else start)
    if about.end > at:
        return 0
    if set(about.heads) & CHANGES and negative and "allowed" in between:
        about = changes(words, about)
        return found.put(sentence, at, place, made(Order(("edit",), start), about), about)
    done = DONE.get(low(words, place), ())
    family = next((each for each in ("edit", "delete", "rename", "move") if each in done), "")
    if not (family and (negative or nothing)):
        if negative or not _remains(words, place, between):
            return 0
        family = "edit"
    if orders.described(words, place + 1, strict=True) or low(words, place + 1) == "by":
        return 0
    if other:
        kinds: Kinds = (("only_under", about.subjects),)
    else:
        kinds = made(Order((family,), start), about)
    if not nothing:  # "it must not be changed" is said of a program
        kinds = tuple(each for each in kinds if each[1] and each[1] != ("it",))
    return found.put(sentence, at, place + 1, kinds, about)


def _is_state(words: Sequence[Word], at: int) -> bool:
    if low(words, at) != "as":
        return True
    return low(words, at + 1) in word_set("is it they in they're it's that before untouched")


def _remains(words: Sequence[Word], at: int, before: set[str]) -> bool:
    """For "… must stay untouched", "… stays as it is", "… has to remain the same"."""
    if not before & word_set("stay stays remain remains be left kept"):
        return False
    word, after = low(words, at), low(words, at + 1)
    if word == "the":
        return after == "same"
    if word == "as":
        return after in ("is", "it", "they", "it's", "they're")
    return word in ("untouched", "unchanged", "intact", "alone", "same", "frozen", "as-is")


def _files_you(found: Finding, sentence: Sentence, at: int) -> int:
    """For "files you must not change: a, b"."""
    words = sentence.words
    for place in range(at, min(at + 8, len(words))):
        if words[place].low == ":":
            about = things(words, place + 1)
            kinds: Kinds = (("no_touch", about.subjects),) if about.subjects else ()
            return found.put(sentence, at, about.end, kinds, about)
    return 0
