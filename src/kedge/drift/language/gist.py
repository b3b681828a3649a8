"""What a sentence amounts to where no rule reads it whole.

It names files, and says of them that they stay as they are, or that the work stays with them.
Only what is named for sure counts here: paths, and roles such as "the tests".
"""

from __future__ import annotations

from kedge.drift.language import orders
from kedge.drift.language.addressing import low
from kedge.drift.language.opposites import made
from kedge.drift.language.orders import order
from kedge.drift.language.phrases import Things, excepted, named, things
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path, role
from kedge.drift.language.vocabulary import BASE, CHANGING, CONDITIONS, DOING, DONE, FILLER, LEADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.prose import Sentence, Word
    from kedge.drift.language.reading import PartialReading

_KEPT = word_set(
    """alone untouched unchanged unmodified intact as-is frozen off-limits forbidden prohibited
    taboo sacred verboten no-go unedited pristine"""
)
_KEPT_PAIRS = frozenset(
    (("off", "limits"), ("hands", "off"), ("stay", "away"), ("stay", "out"), ("keep", "away"),
     ("keep", "out"), ("steer", "clear"))
)  # fmt: skip
_OUT = word_set("scope bounds reach")
_CONFINING = word_set(
    """contained confined limited restricted one-file single-file solely exclusively only confine
    restrict limit strictly"""
)
_MORE = word_set("else more other further beyond elsewhere")
_BEYOND = word_set("beyond past outside stray wander venture depart deviate")
_NEGATIVE = word_set("don't not never no nothing nobody without cannot can't mustn't shouldn't")
_WORK = word_set(
    "change changes edit edits modification modifications work scope diff patch fix allowed"
)
_ADDRESSED = FILLER | LEADS | word_set(
    """don't not never no nothing you should must may go touch change edit anything anywhere stray
    wander venture step ever we work of from , the your change changes fix edits"""
)  # fmt: skip
_INTO = word_set("in to within inside under into file files folder directory at on : is")
_REPORTED = word_set(
    """says said say error message prints printed complains warns reports reported comment wrote
    told was were been had users user customer customers admins somebody someone"""
)
_CUES = _KEPT | _CONFINING | _BEYOND | word_set(
    "out not off hands stay keep steer nothing nowhere all everywhere don't"
)  # fmt: skip
_HARD = word_set("; . ! ? — – ( ) but because while whilst when if whenever although though")
_ENDS = (".", "!", ",", "")
_NEAR = 8  # words between what keeps and what is kept
_NEARER = 4


def gist(found: PartialReading, sentence: Sentence) -> None:
    """Keep what the sentence forbids, if it does so of named files."""
    words = sentence.words
    if sentence.asks or words[0].low in CONDITIONS or any(w.low in _REPORTED for w in words):
        return
    for at, word in enumerate(words):
        if word.low not in _CUES:
            continue
        start, end = _clause(words, at)
        if _keeps(words, at) and not _has(words, start, at, _NEGATIVE):
            kind, subjects = "no_touch", _kept(words, at, start, end)
        elif word.low == "everywhere" and low(words, at + 1) == "except":
            kind, subjects = "no_touch", _spared(words, at)
        elif word.low == "don't":
            if _declined(found, sentence, at):
                return
            continue
        elif _confines(words, at, start, end):
            kind, subjects = "only_under", _places(words, at, start, end)
        else:
            continue
        if subjects:
            _put(found, sentence, at, kind, subjects)
            return


def _put(
    found: PartialReading, sentence: Sentence, at: int, kind: str, subjects: tuple[str, ...]
) -> None:
    words = sentence.words
    free = excepted(words, at) if kind == "no_touch" and words[at].low != "everywhere" else ()
    left = tuple(each for each in subjects if each not in free)
    if left:
        found.put(sentence, at, at + 1, ((kind, left),), Things(exceptions=free))


def _clause(words: Sequence[Word], at: int) -> tuple[int, int]:
    """Where the clause around a place begins and ends; a list after a colon belongs to it."""
    start = end = at
    while start > 0 and words[start - 1].low not in _HARD:
        start -= 1
    while end < len(words) and words[end].low not in _HARD:
        end += 1
    return start, end


def _has(words: Sequence[Word], start: int, end: int, wanted: frozenset[str]) -> bool:
    return any(word.low in wanted for word in words[start:end])


def _keeps(words: Sequence[Word], at: int) -> bool:
    """Whether words that keep something as it is begin here."""
    word, after = words[at].low, low(words, at + 1)
    if word in _KEPT:
        return after not in CONDITIONS
    if word in ("out", "not"):
        return after in ("of", "in") and low(words, at + 2) in _OUT
    return (word, after) in _KEPT_PAIRS


def _kept(words: Sequence[Word], at: int, start: int, end: int) -> tuple[str, ...]:
    """The paths of a clause, or the roles where it names none: near the words that keep them."""
    colon = any(word.low == ":" for word in words[start:end])
    near = words[max(start, at - _NEAR) : end if colon else min(end, at + _NEAR)]
    paths = tuple(dict.fromkeys(named(near)))
    if paths:
        return paths
    near = words[max(start, at - _NEARER) : end if colon else min(end, at + _NEARER)]
    return tuple(dict.fromkeys(each.low for each in near if each.kind == "word" and role(each.low)))


def _spared(words: Sequence[Word], at: int) -> tuple[str, ...]:
    """For "fix the warnings everywhere except in X"."""
    if next((word.low for word in words if word.low not in FILLER), "") not in CHANGING:
        return ()
    return things(words, at + 2 + (low(words, at + 2) in ("in", "for", "under"))).subjects


def _declined(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "you need not touch X, and please don't"."""
    words = sentence.words
    verbs = [spot for spot in range(at) if words[spot].low in BASE]
    if low(words, at + 1) not in _ENDS or not verbs:
        return 0
    told = order(words, verbs[-1], BASE)
    if told is None:
        return 0
    about = orders.about(words, told)
    return found.put(sentence, at, at + 1, made(told, about), about)


def _confines(words: Sequence[Word], at: int, start: int, end: int) -> bool:
    """Whether the clause says here that the work stays with the paths that it names."""
    word, after = words[at].low, low(words, at + 1)
    if word in _BEYOND:
        place = word in ("beyond", "outside", "past") or after == "from"
        said = all(each.low in _ADDRESSED for each in words[start:at])
        return place and said and _has(words, start, end, _NEGATIVE)
    if word in ("nothing", "nowhere"):
        return after in _MORE
    if word == "all":
        return after in _WORK and low(words, at + 2) in _INTO
    if word == "only" and at and is_path(words[at - 1].text):
        return after in _ENDS and _has(words, start, end, _WORK)
    if word not in _CONFINING or not (after in _INTO or word in ("one-file", "single-file")):
        return False
    works = any(each.low in _WORK or _edits(each.low) for each in words[start:end])
    return works and not _has(words, start, end, _NEGATIVE)


def _places(words: Sequence[Word], at: int, start: int, end: int) -> tuple[str, ...]:
    """The paths of a clause, or the folder that follows."""
    ahead = words[at].low in _CONFINING and not is_path(words[at - 1].text)
    paths = named(words[at if ahead else max(start, at - _NEAR) : min(end, at + _NEAR)])
    after = things(words, at + 1 + (low(words, at + 1) in ("of", "from"))).subjects
    return tuple(dict.fromkeys(paths)) or tuple(each for each in after if each.endswith("/"))


def _edits(word: str) -> bool:
    return any("edit" in forms.get(word, ()) for forms in (BASE, DOING, DONE))
