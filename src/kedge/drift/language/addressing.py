"""Who is told something: whether words are an order to the agent, or say what a program does."""

from __future__ import annotations

from kedge.drift.language.phrases import Things, leading, named, things
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path
from kedge.drift.language.vocabulary import BASE, CONDITIONS, FILLER, LEADS, TAILS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.prose import Word

_LONG = 12  # words of one thing that is spoken of
_FARTHEST = 40  # words back that what is spoken of may begin
_PLACING = word_set(
    "in of under inside within from to for with on at by the a an our my your this these those any"
)
MARKS = word_set(", ; : ( ) — – - -- --- … . ! ? =")
_JOINS = word_set("and but however so then though or yet plus nor although instead")
# who may stand before a verb that is told to the agent
_ADDRESS = word_set(
    """you you're u should must may can could would are allowed to want like i i'd need permitted
    supposed we shall have rather prefer asked told please will expect nobody only it's its ok
    fine now never not agents sure dare ask wish if appreciate better it'd permission"""
)
_COURTESY = word_set(
    """prefer rather like appreciate better best grateful thankful lovely great nice kind good happy
    helpful glad love wish hope mind"""
)
_POLITE = _ADDRESS | _COURTESY | word_set("it that that'd be if you could would")
_MODALS = word_set(
    """should must may can could would shall will can't cannot mustn't shouldn't have need want
    allowed 'd rather"""
)
_MINE = word_set(
    """you your you're i i'd i'll i've we my me us our possible needed necessary can avoid
    absolutely really told further then tomorrow strictly unavoidable required fixing doing
    working editing making reviewing debugging refactoring approved asked it's otherwise that's
    not"""
)
_YOURS = word_set("you your you're yourself")
_IFS = word_set("if when whenever")
_RELATIVE = word_set("where which who whose")
_OTHERS = word_set("it they he she users we i there")
_PROGRAM = word_set(
    """hook rule function command check option flag mode test policy guard validator lint linter
    handler middleware script method setting switch"""
)
_PURPOSE = word_set("make get fix solve achieve keep save reach pass work implement do")
_SAYING = word_set(
    """like says said wrote e.g. eg example examples message prints text called named comment saying
    reads titled string error log output e.g i.e such"""
)
_MAKING = word_set("write implement add create build define introduce make provide")
_BREAKS = MARKS | _JOINS


def low(words: Sequence[Word], at: int) -> str:
    return words[at].low if 0 <= at < len(words) else ""


def clause_start(words: Sequence[Word], at: int) -> int:
    """Where the clause begins that a word is in."""
    place = at
    least = max(0, at - _FARTHEST)
    while place > least and words[place - 1].low not in _BREAKS:
        if words[place - 1].low in ("as", "provided") and low(words, place - 2) in ("long", ","):
            break  # "as long as you …"
        place -= 1
    return place


def subject(words: Sequence[Word], at: int) -> Things:
    """What is spoken of right before a place: "a.py and b.py" of "… must not change".

    What stands in brackets there is another name for it.
    """
    if low(words, at - 1) == ")":
        start = max((spot for spot in range(at - 1) if words[spot].low == "("), default=0)
        paths = tuple(named(words[start:at]))
        if paths or not start:
            return Things(paths, paths, end=at)
        return subject(words, start)._replace(end=at)
    fewest = max(0, at - _FARTHEST)
    begins = [
        spot for spot in range(fewest, at)
        if spot == 0 or words[spot - 1].low in MARKS or words[spot - 1].low in _JOINS
        or words[spot - 1].low in ("that", "but")
    ]  # fmt: skip
    inner = range(max(clause_start(words, at), at - _LONG), at)
    for spot in dict.fromkeys((*begins, *inner)):
        before = low(words, spot - 1) if spot else ""
        if before in BASE or before in _PLACING:
            continue  # an object, or the place of what is spoken of
        about = things(words, spot, exceptions=False, spoken=True)
        if about.end == at and not about.empty:
            return about
    return Things()


def told(words: Sequence[Word], at: int, *, asks: bool = False) -> bool:
    """Whether what begins at a place is said to the agent, rather than of something else."""
    start = clause_start(words, at)
    if start == 0:
        ahead = leading(words[:at]).end
        start = ahead if ahead <= at else 0
    before = [
        word.low for word in words[start:at] if word.low not in FILLER and word.low not in LEADS
    ]
    if any(word.kind in ("code", "quote") for word in words[start:at]):
        return False
    if kindly(before):
        return True
    if "if" in before and not _COURTESY.intersection(before):
        return False
    if before:
        if any(word not in _ADDRESS for word in before) or before[-1] in ("i", "we"):
            return False
        if "you" not in before and "you're" not in before and "nobody" not in before:
            modal = any(word in _MODALS for word in before)
            if not ("we" in before and modal):
                return False
    polite = low(words, 0) in ("can", "could", "would", "will", "please", "ok", "okay")
    if asks and not polite and not any(word.low in (":", ",", ";") for word in words[at:]):
        return False
    return not described_before(words, start)


def kindly(before: Sequence[str]) -> bool:
    """For "I'd be grateful if you could …", "if you could …", "would you mind …"."""
    if not _YOURS.intersection(before) or not set(before) <= _POLITE:
        return False
    if "mind" in before:
        return True
    modal = {"could", "would", "can", "i'd", "it'd"}.intersection(before)
    return bool(modal) and (before[0] == "if" or bool(_COURTESY.intersection(before)))


def described_before(words: Sequence[Word], start: int) -> bool:
    """A condition, a program's name or a quotation's introduction before a clause."""
    if start == 0:
        return False
    head = [word.low for word in words[:start]]
    first = next((word for word in head if word not in FILLER), "")
    conditional = first in CONDITIONS or first == "until" or bool(_IFS.intersection(head))
    doing = first in ("after", "before", "while", "when") and any(
        word.endswith("ing") for word in head[1:3]
    )  # "after fixing it, …"
    if conditional and not doing and not _YOURS.intersection(head):
        return True
    if head[-1] in _JOINS and head[-1] != "so":  # "where we use X but don't change Y"
        begin = clause_start(words, start - 1)
        left = [word for word in head[begin:] if word not in FILLER]
        if _RELATIVE.intersection(left) or (left[:1] and left[0] in _OTHERS):
            return True
    if ":" in head:
        left = head[: len(head) - head[::-1].index(":") - 1]
        if left and left[-1] in _SAYING:
            return True
        if _SAYING.intersection(left[-4:]) and "rule" not in left:
            return True
        if first in _MAKING and _PROGRAM.intersection(left):
            return True
    return False


def described(words: Sequence[Word], at: int, *, strict: bool) -> bool:
    """Whether what follows an order makes it a description of what a program does."""
    word = low(words, at)
    if word in (",", ";", "(", "—", "–", "-"):
        word = low(words, at + 1)
        if word not in ("if", "when", "whenever"):
            return False
        at += 1
    after = {low(words, place) for place in range(at + 1, at + 7)}
    if word in CONDITIONS or word in ("until", "till", "unless"):
        if word == "unless":
            return False
        if word == "as":
            return "soon" in after or "long" in after
        if word == "on":
            return strict and not after & word_set("own this my our your the")
        if word == "because":
            return False
        return not (after & _MINE or low(words, at + 1).endswith("ing"))
    if word == "without":
        return not asking(words, at)
    if not word or word in MARKS:
        return False
    if not strict:
        return False
    first = low(words, at + 1)
    if word == "for":
        return first not in word_set("it this that now me these those any the a today there here")
    if word in ("in", "to", "into", "by", "with", "from", "at"):
        if is_path(first) or (word == "to" and first in _PURPOSE):
            return False
        return not after & word_set(
            """this that project repo repository here now hand yourself codebase remote origin main
            master github upstream branch package.json moment all point stage time session task
            manifest there git"""
        )
    return word not in TAILS


def asking(words: Sequence[Word], at: int) -> bool:
    """Whether "without …" asks to be asked: "without my permission", "without asking"."""
    if low(words, at) != "without":
        return False
    return bool(
        {low(words, place) for place in range(at + 1, at + 4)}
        & word_set(
            """asking my permission approval confirmation explicit checking telling consulting
            consent me ok okay"""
        )
    )
