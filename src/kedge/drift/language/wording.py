"""What a message forbids and what it allows: its clauses against the rules."""

from __future__ import annotations

from kedge.drift.language import grants, rules
from kedge.drift.language.clauses import LEADS, clause_starts, is_lead, is_order
from kedge.drift.language.objects import low
from kedge.drift.language.prompts import users_words
from kedge.drift.language.reading import MOST, Collector, Reading
from kedge.drift.language.spelling import normalise
from kedge.drift.language.vocabulary import FILLER
from kedge.drift.limits.roles import word_set
from kedge.text.prose import Sentence, Word, sentences

_FORBIDDING = word_set(
    """don't don'ts not never avoid only off-limits limits non-goals non-goal forbidden out alone
    untouched unchanged mustn't mayn't shouldn't"""
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
            end = end or grants.read_grant(found, sentence, at, told=told)
            if words[at].low not in LEADS or not is_lead(words, at):
                break
            at += 1
        subject = start
        while low(words, subject) in FILLER or low(words, subject) == "that":
            subject += 1
        if not end and not sentence.asks:
            end = rules.match_state(found, sentence, subject) if told else 0
            end = end or grants.read_permission(found, sentence, subject)
        done = max(done, end)
