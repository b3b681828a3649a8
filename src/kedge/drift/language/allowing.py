"""Rules for what is asked for or allowed; a later message lifts limits by it."""

from __future__ import annotations

from kedge.drift.language import addressing, orders
from kedge.drift.language.addressing import low, told
from kedge.drift.language.opposites import made
from kedge.drift.language.orders import Order, order
from kedge.drift.language.phrases import Things, excepted, things
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path
from kedge.drift.language.vocabulary import BASE, CHANGING, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.prose import Sentence, Word
    from kedge.drift.language.reading import PartialReading

_FREE = word_set("can may free ahead fine ok okay allowed")


def allow(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "edit X", "feel free to add Y", "ignore what I said about Z"."""
    words = sentence.words
    word = words[at].low
    if word in ("ignore", "forget", "disregard"):
        return _forgotten(found, sentence, at)
    if word not in BASE and word not in CHANGING:
        return 0
    before = [each.low for each in words[max(0, at - 5) : at]]
    free = _FREE.intersection(before)
    if not told(words, at, asks=sentence.asks) and not (free and before[-1] in ("to", "and")):
        return 0
    verb = order(words, at, BASE) or Order(("edit",), at + 1)
    about = orders.about(words, verb)
    if about.pronoun and not about.subjects and "edit" in verb.families:
        about = about._replace(subjects=found.meant(words, at, "no_touch"), pronoun=False)
    kinds = made(verb, about)
    if word in CHANGING and "edit" not in verb.families and about.subjects:
        kinds = (*kinds, ("no_touch", about.subjects))
    if free and _is_package(words, verb):
        kinds = (*kinds, ("no_new_dependencies", ()), ("no_install", ()))
    found.grant(kinds or (("change", ()),), about, explicit=bool(free))
    # "you can edit anything but X", "update all docs except docs/a.md"
    spared = about.heads[:1] != ("nothing",) and bool(about.exceptions)
    spared = spared and all(map(is_path, about.exceptions))
    if "edit" in verb.families and ((free and about.exceptions) or spared):
        kinds = (("no_touch", about.exceptions),)
        return found.put(sentence, at, about.end, kinds, Things())
    return 0


def _is_package(words: Sequence[Word], verb: Order) -> bool:
    """Whether what may be added looks like the name of a package: "go ahead and add date-fns"."""
    if not {"add", "install", "use"}.intersection(verb.families) or verb.end >= len(words):
        return False
    name = words[verb.end]
    return not is_path(name.text) and (
        name.kind == "code" or "-" in name.low or "install" in verb.families
        or low(words, verb.end + 1) == "after"
    )  # fmt: skip


def granted(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "X can be edited now", "X is fine to edit", "only X may change"."""
    words = sentence.words
    after, third = low(words, at + 1), low(words, at + 2)
    if after == "be" and third in DONE:
        families, end = DONE[third], at + 3
    elif after in ("fine", "ok", "okay", "free") and third == "to":
        families, end = BASE.get(low(words, at + 3), []), at + 4
    elif (
        (words[at].low == "may" and after == "change")
        or (after, third) == ("fair", "game")
        or after in ("unlocked", "unfrozen")
    ):
        families, end = ["edit"], at + 2
    else:
        return 0
    start = addressing.clause_start(words, at)
    about = things(words, start)
    kinds = made(Order(tuple(families), start), about)
    if not kinds or about.empty or about.end > at or sentence.asks:
        return 0
    found.grant(kinds, about, explicit=True)
    left = excepted(words, end)
    if left:  # "everything … is fine to change with the exception of X"
        found.put(sentence, at, end, (("no_touch", left),), Things())
    return end


def _forgotten(found: PartialReading, sentence: Sentence, at: int) -> int:
    words = sentence.words
    for place in range(at + 1, min(at + 7, len(words))):
        if words[place].low == "about":
            about = things(words, place + 1, exceptions=False)
            kinds = (("no_touch", about.subjects), ("about", about.heads))
            found.grant(kinds, about, explicit=True)
            return about.end
    return 0
