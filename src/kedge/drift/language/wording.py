"""What a message forbids, and what it asks for or allows, which lifts limits."""

from __future__ import annotations

import re

from kedge.drift.language import rules
from kedge.drift.language.acts import DEPENDENCIES, Order, name_kinds, read_order
from kedge.drift.language.clauses import LEADS, clause_starts, is_lead, is_order
from kedge.drift.language.objects import low, read_exceptions, read_objects
from kedge.drift.language.prompts import users_words
from kedge.drift.language.reading import MOST, Collector
from kedge.drift.language.spelling import normalise
from kedge.drift.language.vocabulary import BASE, CHANGING, DONE, FILLER
from kedge.drift.limits.lifting import Reading
from kedge.drift.limits.paths import is_path
from kedge.drift.limits.roles import word_set
from kedge.text.prose import Sentence, Word, sentences

_FORBIDDING = word_set("""don't don'ts not never avoid only off-limits limits non-goals non-goal
    forbidden out alone untouched unchanged mustn't mayn't shouldn't""")
_FREE = re.compile(r"(?:you (?:can|may)(?: also| now)?|free to|go ahead and|(?:fine|okay|ok) ,?) $")
_PERMITTED = re.compile(
    r"(?:can|may) (?:also )?(?:be (?P<done>\w+)|EDIT) |(?:is|are) (?:now )?(?:fair game|unlocked"
    r"|(?:fine|ok|okay|allowed|free) to (?P<base>\w+)|(?P<bare>fine|ok|okay|allowed)) "
)
_HEAD, _TAIL = 9_000, 5_000  # characters of a long message that are read: the rest is pasted


def read(text: str) -> Reading:
    """All that the user's words forbid, ask for and name."""
    words = users_words(text)
    if len(words) > _HEAD + _TAIL:
        words = f"{words[:_HEAD]}\n\n{words[-_TAIL:]}"
    found = Collector(words)
    for plain in sentences(words):
        sentence = plain._replace(words=normalise((*_rule_label(plain), *plain.words)))
        count = len(found.forbidden)
        _read_sentence(found, sentence)
        if len(found.forbidden) == count and "only" in {word.low for word in sentence.words}:
            rules.match_inside(found, sentence)
        found.note(sentence)
        if len(found.forbidden) >= MOST:
            break
    return found.finish()


def _rule_label(sentence: Sentence) -> tuple[Word, ...]:
    """The introduction of a list, if its items are to be read with it: "Do not touch:"."""
    lows = {word.low for word in normalise(sentence.label)}
    return sentence.label if lows & _FORBIDDING else ()


def _read_sentence(found: Collector, sentence: Sentence) -> None:
    words, done = sentence.words, 0
    for start in clause_starts(words):
        if start < done:
            continue
        told, end, at = is_order(sentence, start), 0, start
        while not end and at < len(words) and words[at].kind == "word":
            end = rules.match_rules(found, sentence, at) if told else 0
            end = end or _read_grant(found, sentence, at, told=told)
            if words[at].low not in LEADS or not is_lead(words, at):
                break
            at += 1
        subject = start
        while low(words, subject) in FILLER or (low(words, subject) == "that" and subject > start):
            subject += 1
        if not end and not sentence.asks:
            end = rules.Clause(found, sentence, subject, subject).state() if told else 0
            end = end or _read_permission(found, sentence, subject)
        done = max(done, end)


def _read_grant(found: Collector, sentence: Sentence, at: int, *, told: bool) -> int:
    """For "edit X", "feel free to add Y", "update all but X", "forget what I said about X"."""
    words = sentence.words
    if words[at].low in ("ignore", "forget", "disregard"):
        near = range(at + 1, min(at + 9, len(words)))
        spot = next((s for s in reversed(near) if words[s].low in ("about", "on")), 0)
        about = read_objects(words, spot + 1, exceptions=False)
        found.grant((("no_touch", about.subjects), ("about", about.heads)), about, explicit=True)
        return about.end
    free = _FREE.search(rules.spell(words[max(0, at - 5) : at])) is not None
    if not (told or free) or (words[at].low not in CHANGING and words[at].low not in BASE):
        return 0
    order = read_order(words, at, BASE) or Order(("edit",), read_objects(words, at + 1))
    about = order.about
    if not about.subjects and "pronoun" in about.flags:
        about = about._replace(subjects=found.refer(words, at))
    kinds = name_kinds(order._replace(about=about))
    kinds += (("no_touch", about.subjects),) if about.subjects else ()
    name = words[min(about.end, len(words)) - 1]
    package = free and (name.kind == "code" or "-" in name.low or "install" in order.families)
    package = package or bool(DEPENDENCIES & set(about.heads))
    if package and {"add", "install", "use"} & set(order.families):
        kinds += (("no_new_dependencies", ()), ("no_install", ()))
    found.grant(kinds or (("change", ()),), about, explicit=free)
    spared = about.exceptions and all(map(is_path, about.exceptions))
    if "edit" in order.families and spared and ("wide" in about.flags or about.subjects):
        kept = (("no_touch", about.exceptions),)
        return found.forbid(sentence, at, kept, about._replace(exceptions=()))
    return 0


def _read_permission(found: Collector, sentence: Sentence, at: int) -> int:
    """For "X can be edited now", "X is fine to edit", "(X is fine)", "X is fair game"."""
    words = sentence.words
    at += low(words, at) in ("only", "although", "though")
    about = read_objects(words, at, exceptions=False)
    match = _PERMITTED.match(rules.spell(words[about.end : about.end + 6]))
    aside = {"(", "but", "although", "though"} & {word.low for word in words[:at]}
    if not match or about.is_empty or "nothing" in about.heads or (match["bare"] and not aside):
        return 0
    verbs = DONE.get(match["done"] or "") or BASE.get(match["base"] or "") or ("edit",)
    kinds = name_kinds(Order(tuple(verbs), about)) or (("change", ()),)
    found.grant(kinds, about, explicit=True)
    end = about.end + match[0].count(" ")
    spared, last = read_exceptions(words, end)
    if spared:  # "everything in src is fine to change except src/legal"
        found.forbid(sentence, at, (("no_touch", spared),), about._replace(end=last))
    return end
