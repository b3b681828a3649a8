"""Rules for what is to be asked first, answered only, or done with another tool."""

from __future__ import annotations

from kedge.drift.language import addressing, orders
from kedge.drift.language.addressing import MARKS, low, told
from kedge.drift.language.opposites import made
from kedge.drift.language.orders import Order, order
from kedge.drift.language.phrases import Things, things
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import role
from kedge.drift.language.vocabulary import BASE, DOING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.language.prose import Sentence
    from kedge.drift.language.reading import PartialReading

_HERE = word_set("this stay keep treat consider repo repository codebase everything")
_FIRST = frozenset(("if", "before", "when"))
_NEEDING = word_set("need want require")
_READING = word_set("investigation task session review analysis question please exercise")


def ask(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "ask before deleting", "check with me before …", "if you need …, ask me first"."""
    words = sentence.words
    after, third = low(words, at + 1), low(words, at + 2)
    by = words[at].low == "run" and {"by", "past"} & {third, low(words, at + 3)}
    if by and {"me", "us"} & {low(words, at + 3), low(words, at + 4)}:
        after = "me"
    me = after in ("me", "us") or (after == "with" and third in ("me", "us"))
    leave = {low(words, at + 1), third, low(words, at + 3)}
    me = me or (after in ("my", "for") and bool(leave & {"approval", "permission", "confirmation"}))
    if sentence.asks or not (me or (words[at].low == "ask" and after in ("before", "first", ""))
                             or (words[at].low == "ask" and after in MARKS)):  # fmt: skip
        return 0
    start = addressing.clause_start(words, at)
    head = words[0].low
    forms = {**DOING, **BASE}
    spots = range(at, min(at + 6, len(words)))
    place = next((spot + 1 for spot in spots if words[spot].low == "before"), 0)
    if place:
        place += low(words, place) == "you"
        if not told(words, at):
            return 0
    elif head in _FIRST and (start > 1 or at > 2):
        # "if you need to change X, ask me first", "before touching X, check with me"
        place = next(
            (spot for spot in range(1, min(7, start or at)) if words[spot].low in forms), 0
        )
    verb = order(words, place, forms) if place else None
    needs = next((spot for spot in range(min(start, 8)) if words[spot].low in _NEEDING), 0)
    if verb is None and head in _FIRST and needs:  # "if you need a new dependency, ask first"
        verb = Order(("add",), needs + 1)
    if verb is None:
        return 0
    about = orders.about(words, verb)
    return found.put(sentence, at, max(about.end, at + 1), made(verb, about), about, ask=True)


def answered(found: PartialReading, sentence: Sentence, at: int, verb: int) -> int:
    """For "just explain …": nothing is to be changed, where nothing else is asked for."""
    if found.changing and low(sentence.words, verb) != "plan":
        return 0
    return found.put(sentence, at, verb + 1, (("read_only", ()),), Things())


def instead(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "use yarn, not npm", "use pnpm instead of npm", "use uv rather than pip"."""
    words = sentence.words
    if not told(words, at, asks=sentence.asks) and low(words, at - 1) != "we":
        return 0
    for place in range(at + 1, min(at + 10, len(words))):
        word, after = words[place].low, low(words, place + 1)
        pair = (word, after) in (("instead", "of"), ("rather", "than"))
        if word in ("not", "never") or pair:
            about = things(words, place + 1 + pair, exceptions=False)
            tools = tuple(head for head in about.heads if head in orders.PROGRAMS)
            if tools and len(tools) == len(about.heads):
                return found.put(sentence, at, about.end, (("no_tool", tools),), Things())
    return 0


def phrase(found: PartialReading, sentence: Sentence, at: int) -> int:
    """Phrases of their own: "work offline", "minimal diff", "I'll commit myself"."""
    words = sentence.words
    word, after = words[at].low, low(words, at + 1)
    lows = [each.low for each in words[at : at + 8]]
    kind = ""
    if word in ("read-only", "readonly") and (not sentence.asks or at == 0):
        before = {each.low for each in words[:at]}
        ends = after in MARKS or after in ("", "please", "for")
        here = before & _HERE and ends and low(words, at - 1) != "not"
        if after in _READING or here or (at == 0 and ends):
            kind = "read_only"
    elif word == "offline" and low(words, at - 1) in ("work", "stay") and told(words, at - 1):
        kind = "no_network"
    elif (
        word in ("minimal", "smallest") and {"diff", "change", "changes", "fix"} & set(lows[1:3])
    ) or (
        word == "keep"
        and {"minimal", "small", "focused"} & set(lows)
        and ({"diff", "changes", "change", "patch"} & set(lows) and told(words, at))
    ):
        kind = "no_refactor"
    elif word == "skip" and told(words, at, asks=sentence.asks):
        end = at + 1 + (after == "the")
        stops = low(words, end + 1) in MARKS or low(words, end + 1) in ("", "for", "please")
        kind = "no_tests" if role(low(words, end)) == "tests" and stops else ""
    elif word == "i'll" or (word == "i" and after == "will"):
        kind = _mine(lows)
    elif word == "wait" and "commit" in lows[:5] and after in ("with", "before"):
        kind = "no_commit"
    elif word == "answer" and after == "only" and told(words, at):
        kind = "" if found.changing else "read_only"
    soft = kind == "no_refactor"
    return found.put(sentence, at, at + 2, ((kind, ()),), Things(), soft=soft) if kind else 0


def _mine(lows: list[str]) -> str:
    """For "I'll commit myself", "I will do the push", "I'll handle git"."""
    if {"handle", "do"} & set(lows[1:3]) and "git" in lows[2:6]:
        return "no_commit"
    own = "myself" in lows or {"do", "handle"} & set(lows[1:3]) or lows[1:2] == ["commit"]
    if not own or {"not", "if", "when", "tell", "ask"} & set(lows):
        return ""
    if {"commit", "commits", "committing"} & set(lows[1:6]):
        return "no_commit"
    return "no_push" if {"push", "pushing", "pushes"} & set(lows[1:6]) else ""
