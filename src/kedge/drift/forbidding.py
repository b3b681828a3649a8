"""Rules for what is kept as it is: "leave … alone", "… is off limits", "… must not be changed"."""

from __future__ import annotations

from kedge.drift import orders
from kedge.drift.negating import CHANGES, changes
from kedge.drift.opposites import made
from kedge.drift.orders import Order, low, order, told
from kedge.drift.phrases import Things, excepted, named, things
from kedge.drift.requesting import requested
from kedge.drift.roles import word_set
from kedge.drift.subjects import is_path, stands_for_paths
from kedge.drift.vocabulary import BASE, DOING, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.opposites import Kinds
    from kedge.drift.prose import Sentence, Word
    from kedge.drift.wording import Finding

_STATES = word_set(
    "alone untouched unchanged intact same frozen as-is uncommitted be unmodified pristine stable"
)
_AS = word_set("is in they're it's that before untouched are now")
_DEGREES = word_set("exactly completely entirely strictly fully totally perfectly just very well")
_BEING = word_set("is are be remain remains stay stays were was as")
_ANYTHING = word_set("anything everything whatever all")
_WISHED = word_set("important sure ensure essential crucial vital")
_ALLOWED = word_set("allowed permitted ok okay acceptable")
_MODALS = word_set("must should may shall can mustn't shouldn't can't cannot")
_REMAINING = word_set("stay stays remain remains be left kept")
_NEGATIVE = word_set("not never mustn't shouldn't can't cannot isn't aren't")
_AUXILIARY = _NEGATIVE | word_set(
    """must should may shall can will has have needs need is are be to left kept allowed being stays
    stay remains remain permitted ok okay acceptable gets get"""
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
    place = about.end
    end = next((end for spot in range(place, place + 3) if (end := _state(words, spot))), 0)
    if about.empty or not end:
        return 0
    about = about._replace(exceptions=excepted(words, about.end) or excepted(words, end))
    if orders.described(words, end, strict=False):
        return 0
    if low(words, end - 1) == "uncommitted":
        kinds: Kinds = (("no_commit", ()),)
    else:
        kinds = made(Order(("edit",), at + 1), about)
    return found.put(sentence, at, end, kinds, about)


def listed(found: Finding, sentence: Sentence, at: int) -> int:
    """For "X is off limits", "off limits: X, Y", "out of scope: X", "editing X is forbidden"."""
    words = sentence.words
    end = _label(words, at)
    if sentence.asks or not end:
        return 0
    word = words[at].low
    if word == "read-only" and low(words, end) not in ("", "for", "here", "please", *orders.MARKS):
        return 0
    colon = next((spot + 1 for spot in range(end, end + 3) if low(words, spot) == ":"), 0)
    be = {each.low for each in words[max(0, at - 3) : at]} & _BEING
    if not (colon or be or low(words, end) == "to"):
        return 0
    if not colon and orders.described(words, end, strict=word not in ("off-limits", "off")):
        verb = order(words, end + 1, BASE) if low(words, end) == "to" else None
        if verb is None:  # "it is forbidden to edit X"
            return 0
        about = orders.about(words, verb)
        return found.put(sentence, at, about.end, made(verb, about), about)
    verb = order(words, colon or orders.clause_start(words, at), DOING)
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


def spared(found: Finding, sentence: Sentence, at: int) -> int:
    """For "do nothing to X"."""
    words = sentence.words
    to = low(words, at - 1) == "do" and low(words, at + 1) in ("to", "with")
    if not to or not told(words, at - 1, asks=sentence.asks):
        return 0
    about = things(words, at + 2)
    return found.put(sentence, at, about.end, made(Order(("edit",), at + 2), about), about)


def excluded(found: Finding, sentence: Sentence, at: int) -> int:
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
    return orders.subject(words, place)


def _label(words: Sequence[Word], at: int) -> int:
    """The end of words that put something out of reach; 0 where there are none."""
    word, after = words[at].low, low(words, at + 1)
    if word == "off":
        return at + 2 if after == "limits" else 0
    if word == "out":
        scope = after == "of" and low(words, at + 2) in ("scope", "bounds")
        return at + 3 if scope else 0
    return at + 1


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
    elided = at == start and low(words, at - 1) in ("and", "but")
    if sentence.asks or at == place or (at == start and low(words, at - 1) != ")" and not elided):
        return 0
    if low(words, start) in ("files", "file") and low(words, start + 1) == "you":
        return _files_you(found, sentence, at) if negative else 0
    verb = order(words, start, DOING)
    if negative and between & _ALLOWED and verb:  # "touching X is not allowed"
        about = orders.about(words, verb)
        return found.put(sentence, at, place, made(verb, about), about)
    wished = {word.low for word in words[max(0, at - 8) : at]} & _WISHED
    if between & {"is", "are", "isn't", "aren't"} and not (between & ({"to"} | _ALLOWED) or wished):
        return 0
    if low(words, start) in CHANGES and negative and between & _ALLOWED:
        about = changes(words, things(words, start))
        return found.put(sentence, at, place, made(Order(("edit",), start), about), about)
    nothing = low(words, start) == "nothing"
    other = nothing and low(words, start + 1) == "other"
    about = things(words, start + 3 if other else start) if nothing else _subject(words, at)
    if elided:  # "the styles are signed off and may not be changed"
        about = things(words, 0, exceptions=False)
    if about.end > at:
        return 0
    done = DONE.get(low(words, place), ())
    if low(words, place) == "change" and between & _MODALS:  # "file names must not change"
        done = ["edit"]
    families = done if nothing else ("edit", "delete", "rename", "move")
    family = next((each for each in families if each in done), "")
    end = place + 1
    if not (family and (negative or nothing)):
        end = _state(words, place) if between & _REMAINING else 0
        if negative or not end:
            return 0
        family = "edit"
    if low(words, end) == ":" and not about.subjects:  # "the following must not change: a, b"
        about = things(words, end + 1)
        end = about.end
    if orders.described(words, end, strict=True) or low(words, end) == "by":
        return 0
    if other:
        kinds: Kinds = (("only_under", about.subjects),)
    elif nothing and not (about.subjects or about.outside or about.exceptions):
        kinds = made(Order((family,), start), Things(heads=("anything",), everything=True))
    else:
        kinds = made(Order((family,), start), about)
    pointed = about.pronoun and low(words, at - 1) != "it"  # "that file"
    if not nothing and not pointed:  # "it must not be changed" is said of a program
        whole = ("no_touch", "read_only", "only_under")
        kinds = tuple(
            each for each in kinds if each[1] not in ((), ("it",)) or each[0] not in whole
        )
    return found.put(sentence, at, end, kinds, about)


def _subject(words: Sequence[Word], at: int) -> Things:
    """What stands before a verb; where a place follows it, that belongs to it."""
    about = orders.subject(words, at)
    listed_ = low(words, at - 1) == "following"
    return about if about.end == at else Things(end=at + (not listed_))


def _state(words: Sequence[Word], at: int) -> int:
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


def _files_you(found: Finding, sentence: Sentence, at: int) -> int:
    """For "files you must not change: a, b"."""
    words = sentence.words
    for place in range(at, min(at + 8, len(words))):
        if words[place].low == ":":
            about = things(words, place + 1)
            kinds: Kinds = (("no_touch", about.subjects),) if about.subjects else ()
            return found.put(sentence, at, about.end, kinds, about)
    return 0
