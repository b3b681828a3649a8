"""Clauses of a sentence, and whether one tells the agent what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.drift.language.objects import low, read_exceptions
from kedge.drift.language.vocabulary import BASE, CHANGING, DOING, DONE, FILLER
from kedge.drift.limits.roles import word_set
from kedge.text.prose import Sentence, Word

_HARD = word_set("; : ( ) … — – - -- --- = . ! ?")
MARKS = _HARD | {","}
_SOFT = word_set(", and but or so because since as while whilst though although then yet plus nor")
# words before an order that leave it one
LEADS = FILLER | word_set("""be careful make sure that ensure to do go ahead let's for in this
    session task step whatever one thing under any circumstances possible try you happens i repeat
    want would like i'd you're are told asked feel free must should may can could prefer rather fact
    i.e. always both""")
_CONDITIONS = word_set("if when whenever once unless until")
_REPORTING = word_set("""says said say wrote prints printed error complains warns reported told
    tells e.g. like example""")
MODALS = word_set("should must will would can may shall could might")
AGENTS = word_set("you we i please let's i'd you're")
_SUBJECTS = word_set("""the a an it this there users we i if when while for our my its they don't
    never""")
_TAILS = FILLER | word_set("""yet anymore anywhere unless except other apart besides because since
    as or it manually myself yourself either although nor i i'll we you only ever too excluding more
    under locally this around over against directly""")
_AWAITED = word_set("""i i've i'm you ci green test tests check checks build suite review reviewed
    approved asking approval""")
_FRAMES = word_set("""this that now the moment it me all any point time once session task step pr
    change your own hand case here today us main master""")


def clause_starts(words: Sequence[Word]) -> Iterator[int]:
    """The places where a clause may begin."""
    ahead = read_exceptions(words, 0)[1]
    for at, word in enumerate(words):
        before = low(words, at - 1)
        if at in (0, ahead) or before in _HARD or before in _SOFT or word.low == "without":
            yield at


def is_lead(words: Sequence[Word], at: int) -> bool:
    """True if a word before an order leaves it one: "you must …", but not "and must …"."""
    word, before, after = (low(words, at + step) for step in (0, -1, 1))
    if word == "i":
        return after in ("want", "repeat", "would", "told", "asked", "prefer", "only")
    return word not in MODALS or before in AGENTS or after == "you"


def part_start(words: Sequence[Word], at: int) -> int:
    """Where the part of the sentence around a place begins, after the last dash or bracket."""
    while at > 0 and words[at - 1].low not in _HARD:
        at -= 1
    return at


def _is_question(sentence: Sentence, at: int) -> bool:
    """True if a place is in a question that does not ask the agent to act."""
    words = sentence.words
    if not sentence.asks or any(word.low in (":", ";", "—", ")") for word in words[at:]):
        return False
    lows = [word.low for word in words if word.low not in FILLER and word.low not in MARKS][:2]
    return lows[1:] != ["you"] or lows[0] not in ("could", "can", "would", "will")


def is_order(sentence: Sentence, start: int) -> bool:
    """True if what comes before a clause leaves it an order to the agent."""
    words, word = sentence.words, low(sentence.words, start)
    first, joint = part_start(words, start), low(words, start - 1)
    mark = low(words, first - 1)
    if _is_question(sentence, start) or (mark in (":", "=") and not _is_label(words, first - 1)):
        return False
    if mark == "(" and start == first and word != "don't" and not is_request(words[:start]):
        return False
    ahead = [word.low for word in words[first:start] if word.low not in FILLER]
    if not ahead or read_exceptions(words, first)[1] == start:
        return True
    if ahead[0] in _CONDITIONS:
        return False
    if word in ("nothing", "nowhere") and low(words, start + 1) in ("else", "more"):
        return True
    foreign = bool(MODALS & set(ahead[:8])) and not AGENTS & set(ahead[:3])
    verbs = (low(words, at + 1) for at in range(first, start) if words[at].low == "to")
    purpose = any(verb in CHANGING or verb in BASE for verb in verbs)  # "an option to save …"
    if word == "without":
        moved = word_set("that which can't possible is are was fails works") & set(ahead)
        told = is_request(words[first:start]) or ahead[0] not in _SUBJECTS
        return told and not moved and not foreign and (joint == "," or not purpose)
    if joint not in ("and", "or", "then", "nor") or low(words, start - 2) == ",":
        return True
    tied = {"that", "which", "so"} & set(ahead) or foreign
    return not tied and ("you" in ahead[:3] or not purpose)


def _is_label(words: Sequence[Word], end: int) -> bool:
    """True if the words before a colon only introduce what follows."""
    start = part_start(words, end)
    lows = [word.low for word in words[start:end] if word.low not in FILLER]
    introduces = not lows or lows[0] not in CHANGING or lows[0] in ("limit", "do")
    return len(lows) <= 5 and introduces and not _REPORTING & set(lows)


def is_request(words: Sequence[Word]) -> bool:
    """True if a part of a sentence begins by asking for a change."""
    for start in range(len(words)):
        before = low(words, start - 1)
        if start and before not in _HARD and before not in ("and", ",", "but", "then"):
            continue
        lows = [word.low for word in words[start : start + 9] if word.low not in FILLER][:5]
        asks = lows and lows[0] in word_set("can could would i we you let's need want")
        if lows and (lows[0] in CHANGING or (asks and CHANGING & set(lows))):
            return True
    return False


def ends_well(words: Sequence[Word], end: int, *, sure: bool) -> bool:
    """True if what follows an object leaves the order as it is; `sure` if it names paths."""
    word, after = low(words, end), low(words, end + 1)
    if not word or word in MARKS:
        return True
    if word in ("if", "when", "while"):
        return after in ("possible", "you", "you're", "we", "doing", "working") or after in DOING
    if word in ("before", "until", "till"):
        return bool(_AWAITED & {low(words, end + step) for step in range(1, 5)})
    if word in ("in", "for", "at", "to", "with", "from", "on", "into", "by"):
        return sure or after in _FRAMES or (word == "to" and after in ("make", "get", "fix"))
    return word in _TAILS or (sure and word not in (*BASE, *DONE, "without", "that", "which"))


def needs_asking(words: Sequence[Word], end: int) -> bool:
    """True for "without asking", "unless I say so": allowed once the user agreed."""
    agreed = {"without": "asking checking approval permission consent ok explicit", "unless": "i"}
    near = {low(words, end + step) for step in range(1, 4)}
    return bool(near & word_set(agreed.get(low(words, end), "")))
