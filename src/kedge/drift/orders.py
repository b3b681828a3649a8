"""Orders: who is told, which verbs they are told, and what kind of constraint that makes."""

from __future__ import annotations

from kedge.drift.phrases import Things, leading, named, things
from kedge.drift.roles import word_set
from kedge.drift.subjects import is_path, stands_for_paths
from kedge.drift.vocabulary import ADVERBS, BASE, CONDITIONS, DOING, FILLER, LEADS, TAILS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from kedge.drift.prose import Word
else:
    from kedge.drift.record import NamedTuple

_LONG = 12  # words of one thing that is spoken of
_FARTHEST = 40  # words back that what is spoken of may begin
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
    helpful glad love wish hope mind it'd it it's would i'd that that'd be could if you"""
)
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
_CHANGES = word_set("changes change edits edit modifications modification adjustments")

PROGRAMS = word_set(
    """npm npx yarn pnpm bun node deno pip pip3 pipx uv poetry conda python python3 cargo go gem
    bundle composer sed awk perl grep find curl wget git gh docker kubectl helm terraform make
    cmake sudo apt apt-get brew ssh rsync rm mv cp mvn gradle ruby rails rake php psql mysql
    sqlite3 redis aws gcloud az vim nano tee cat echo bash sh zsh powershell jq xargs chmod chown
    kill pkill killall ansible vagrant heroku vercel netlify prettier eslint black ruff mypy
    pytest jest"""
)
# of these, the ones that are verbs or nouns of the language, too
_WORDS = word_set("go find make kill node echo cat black task gem composer bundle redis")


_BREAKS = MARKS | _JOINS


class Order(NamedTuple):
    """Verbs by family, and where what they are about begins."""

    families: tuple[str, ...]
    end: int
    command: str = ""  # a program's name as a verb: "npm install"
    whole: bool = False  # "make changes": all that may follow is where


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
        if spot and low(words, spot - 1) in BASE:
            continue
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
    if not _YOURS.intersection(before) or not set(before) <= _ADDRESS | _COURTESY:
        return False
    if "mind" in before:
        return True
    modal = {"could", "would", "can"}.intersection(before)
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


def order(words: Sequence[Word], at: int, forms: dict[str, list[str]]) -> Order | None:
    """The verbs that begin at a place, in the given form."""
    families: list[str] = []
    place = at + (low(words, at) == ":")
    count = len(words)
    wanted = forms
    while place < count:
        word = words[place].low
        after = low(words, place + 1)
        found, end = _phrase(words, place)
        if not found and (
            words[place].kind == "code" or (word in PROGRAMS - _WORDS and word not in wanted)
        ):
            return _command(words, place) if not families else None
        if found:
            families.append(found)
        elif word in wanted and not (
            word in ("start", "starting", "begin") and (after in DOING or after == "to")
        ):
            families.extend(wanted[word])
            end = place + 1
        elif word in ("do", "doing", "perform") and after in ("a", "any"):
            place += 2
            continue
        elif word in ADVERBS or (word == "you" and after == "dare"):
            place += 2 if word == "you" else 1
            if wanted is BASE and word in ("bother", "start", "go", "begin"):
                wanted = {**BASE, **DOING}
            if place - at > 8:
                return None
            continue
        elif word in ("under", ",") and "circumstances" in {
            low(words, place + 2),
            low(words, place + 3),
        }:
            place += 3 + (word == ",")
            place += low(words, place) == ","
            continue
        else:
            break
        place = end
        joint = low(words, place)
        if joint in (",", "or", "and", "nor", "/"):
            ahead = place + 1 + (low(words, place + 1) in ("or", "and", "nor", "even", "to"))
            more = low(words, ahead) in wanted or bool(_phrase(words, ahead)[0])
            if more and (ahead > place + 1 or joint != "," or _listed(words, ahead, wanted)):
                place = ahead
                continue
        break
    if not families:
        return None
    whole = families == ["edit"] and words[place - 1].low in (
        *_CHANGES,
        "to",
        "on",
        "with",
        "anything",
        "something",
    )
    return Order(tuple(dict.fromkeys(families)), place, whole=whole)


def _listed(words: Sequence[Word], at: int, forms: dict[str, list[str]]) -> bool:
    """Whether a verb after a comma is one of a list: "don't move, rename or delete X"; in "don't
    rebase, merge main" it is an order of its own."""
    if low(words, at + 1) in (*MARKS, "") and low(words, at + 1) != ",":
        return True
    near = words[at + 1 : at + 6]
    for spot, word in enumerate(near):
        if word.low in ("or", "nor", "and"):
            return spot + 1 < len(near) and near[spot + 1].low in forms
        if word.low not in forms and word.low != ",":
            return False
    return False


def _phrase(words: Sequence[Word], at: int) -> tuple[str, int]:
    """Verbs of more than one word: their family, and where they end."""
    verb, after = low(words, at), low(words, at + 1)
    if verb in ("make", "making", "do", "doing", "apply", "perform", "made", "making"):
        for place in range(at + 1, min(at + 6, len(words))):
            if words[place].low in _CHANGES:
                return "edit", place + 1 + (low(words, place + 1) in ("to", "on"))
            if words[place].low in ("it", "this", "them") and low(words, place + 1) == "to":
                return "edit", place + 2
            if words[place].low in ("to", "in", "it", "sure", "the") or words[place].kind != "word":
                break
        if after in ("anything", "nothing", "something"):
            return "edit", at + 2 + (low(words, at + 2) in ("to", "with"))
    pair = f"{verb} {after}"
    if pair in _PAIRS:
        return _PAIRS[pair], at + 2
    if verb in ("mark", "marking"):
        marks = [low(words, spot) for spot in range(at + 1, at + 6)]
        if {"skipped", "skip", "xfail", "ignored", "pending"} & set(marks):
            return "weaken", at + 1
    undone = verb in ("do", "doing") and after in ("it", "that", "this", "so")
    if undone and low(words, at + 2) in (*MARKS, "", "yet"):
        return "implement", at + 2
    if verb in ("leave", "leaving", "exit") and is_path(after):
        return "outside", at + 1
    if verb in ("search", "searching", "access", "accessing", "surf", "use", "using", "go", "going",
                "query", "hit", "hitting", "call", "calling", "fetch", "fetching"):  # fmt: skip
        nouns = {low(words, place) for place in range(at + 1, at + 5)}
        if nouns & {"web", "internet", "online", "network"} or {"external", "apis"} <= nouns:
            return "network", at + 1
    return "", at


_PAIRS = {
    "mess with": "edit", "messing with": "edit", "tamper with": "edit", "tampering with": "edit",
    "fiddle with": "edit", "mess around": "edit", "write to": "edit", "writing to": "edit",
    "kick off": "run", "kicking off": "run", "spin up": "run", "spinning up": "run",
    "fire up": "run", "start up": "run", "starting up": "run", "pull in": "add",
    "pulling in": "add", "bring in": "add", "bringing in": "add", "comment out": "weaken",
    "commenting out": "weaken", "check out": "switch", "checking out": "switch",
    "take on": "add", "taking on": "add", "depend on": "add",
    "go near": "edit", "step outside": "outside", "go outside": "outside",
    "force push": "force-push", "force pushing": "force-push", "clean up": "refactor",
}  # fmt: skip


def _command(words: Sequence[Word], at: int) -> Order | None:
    """For "don't npm install", "do not `git push`": a program as a verb."""
    if words[at].kind == "code":
        text = words[at].text
        return Order(("command",), at + 1, text) if text.split()[0] in PROGRAMS else None
    end = at
    while end < len(words) and end < at + 4 and words[end].kind == "word":
        if words[end].low in ("or", "and", "on", "in", "for", "yet", "anything", "please"):
            break
        end += 1
    return Order(("command",), end, " ".join(word.low for word in words[at:end]))


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


def about(words: Sequence[Word], found: Order) -> Things:
    """What the verbs are about; a place alone stands for all that is in it."""
    if low(words, found.end) in ("in", "under", "inside", "within", "outside"):
        beyond = things(words, found.end)
        if beyond.outside:
            return beyond
        inner = things(words, found.end + 1)
        return (
            inner
            if any(is_path(each) or each.endswith("/") for each in inner.subjects)
            else (Things(end=found.end))
        )
    named = things(words, found.end)
    if low(words, found.end) == ":":
        listed = things(words, found.end + 1)
        named = listed if any(map(stands_for_paths, listed.subjects)) else named
    if found.whole and named.empty:
        return Things(heads=("anything",), everything=True, end=found.end)
    return named
