"""Rules for what is kept as it is: "leave … alone", "… is off limits", "do nothing to …"."""

from __future__ import annotations

from kedge.drift.language import addressing, orders
from kedge.drift.language.addressing import low, told
from kedge.drift.language.opposites import made
from kedge.drift.language.orders import Order, order
from kedge.drift.language.phrases import Things, excepted, named, things
from kedge.drift.language.requesting import requested
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path, stands_for_paths
from kedge.drift.language.vocabulary import BASE, DOING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.opposites import Kinds
    from kedge.drift.language.prose import Sentence, Word
    from kedge.drift.language.reading import PartialReading

_STATES = word_set(
    "alone untouched unchanged intact same frozen as-is uncommitted be unmodified pristine stable"
)
_AS = word_set("is in they're it's that before untouched are now")
_DEGREES = word_set("exactly completely entirely strictly fully totally perfectly just very well")
_BEING = word_set("is are be remain remains stay stays were was as")
_ANYTHING = word_set("anything everything whatever all")


def kept(found: PartialReading, sentence: Sentence, at: int) -> int:
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
    place = about.end
    end = next((end for spot in range(place, place + 3) if (end := state_end(words, spot))), 0)
    if about.empty or not end:
        return 0
    about = about._replace(exceptions=excepted(words, about.end) or excepted(words, end))
    if addressing.described(words, end, strict=False):
        return 0
    if low(words, end - 1) == "uncommitted":
        kinds: Kinds = (("no_commit", ()),)
    else:
        kinds = made(Order(("edit",), at + 1), about)
    return found.put(sentence, at, end, kinds, about)


def listed(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "X is off limits", "off limits: X, Y", "out of scope: X", "editing X is forbidden"."""
    words = sentence.words
    end = _label(words, at)
    if sentence.asks or not end:
        return 0
    word = words[at].low
    if word == "read-only" and low(words, end) not in (
        "",
        "for",
        "here",
        "please",
        *addressing.MARKS,
    ):
        return 0
    colon = next((spot + 1 for spot in range(end, end + 3) if low(words, spot) == ":"), 0)
    be = {each.low for each in words[max(0, at - 3) : at]} & _BEING
    if not (colon or be or low(words, end) == "to"):
        return 0
    if not colon and addressing.described(words, end, strict=word not in ("off-limits", "off")):
        verb = order(words, end + 1, BASE) if low(words, end) == "to" else None
        if verb is None:  # "it is forbidden to edit X"
            return 0
        about = orders.about(words, verb)
        return found.put(sentence, at, about.end, made(verb, about), about)
    verb = order(words, colon or addressing.clause_start(words, at), DOING)
    if verb:
        about = orders.about(words, verb)
        return found.put(sentence, at, max(at + 1, about.end), made(verb, about), about)
    if word in ("forbidden", "prohibited"):
        return 0
    about = things(words, colon) if colon else _spoken_of(words, at)
    if not colon:
        about = about._replace(exceptions=excepted(words, end))
    if colon and not about.subjects:  # "anything to do with mails (mailer/)"
        paths = tuple(named(words[colon:]))
        if paths:
            about = about._replace(subjects=paths, everything=False, end=len(words))
    if word == "read-only" and not all(map(is_path, about.subjects)):
        return 0
    if about.everything and about.exceptions:
        kinds: Kinds = (("only_under", about.exceptions),)
        about = about._replace(exceptions=())
    else:
        kinds = made(Order(("edit",), at), about) if about.subjects or about.other else ()
    return found.put(sentence, at, max(end, about.end), kinds, about)


def spared(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "do nothing to X"."""
    words = sentence.words
    to = low(words, at - 1) == "do" and low(words, at + 1) in ("to", "with")
    if not to or not told(words, at - 1, asks=sentence.asks):
        return 0
    about = things(words, at + 2)
    return found.put(sentence, at, about.end, made(Order(("edit",), at + 2), about), about)


def excluded(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "change anything, just not X"."""
    words = sentence.words
    if low(words, at - 1) not in ("just", "only", "but") or not any(
        word.low in _ANYTHING for word in words[:at]
    ):
        return 0
    paths = tuple(named(words[at + 1 : at + 9]))
    about = things(words, at + 1)
    subjects = about.subjects if all(map(stands_for_paths, about.subjects or ("",))) else paths
    kinds: Kinds = (("no_touch", subjects),) if subjects else ()
    return found.put(sentence, at, max(about.end, at + 1), kinds, about)


def _spoken_of(words: Sequence[Word], at: int) -> Things:
    """What "… is off limits" is said of."""
    place = at
    while place > 0 and (words[place - 1].low in _BEING or words[place - 1].low in _DEGREES):
        place -= 1
    return addressing.subject(words, place)


def _label(words: Sequence[Word], at: int) -> int:
    """The end of words that put something out of reach; 0 where there are none."""
    word, after = words[at].low, low(words, at + 1)
    if word == "off":
        return at + 2 if after == "limits" else 0
    if word == "out":
        scope = after == "of" and low(words, at + 2) in ("scope", "bounds")
        return at + 3 if scope else 0
    return at + 1


def state_end(words: Sequence[Word], at: int) -> int:
    """The end of "alone", "as it is", "exactly the same" and what else says that nothing changes;
    0 where nothing does."""
    while low(words, at) in _DEGREES:
        at += 1
    word, after = low(words, at), low(words, at + 1)
    if word == "the":
        if after == "way" and low(words, at + 2) in ("it", "they"):
            return at + 4
        return at + 2 if after == "same" else 0
    if word == "as":
        if after in ("it", "they"):
            return at + 2 + (low(words, at + 2) in ("is", "are", "was", "were", "stands"))
        return at + 2 if after in _AS else 0
    if word == "out":
        return at + 2 if after == "of" else at + 1
    return at + 1 if word in _STATES else 0
