"""The rules by which a word may begin something that forbids or allows."""

from __future__ import annotations

from kedge.drift.language import allowing, asking, confining, forbidding, negating, passives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from kedge.drift.language.prose import Sentence
    from kedge.drift.language.reading import PartialReading

    Rule: TypeAlias = Callable[[PartialReading, Sentence, int], int]


def _by_word(*pairs: tuple[Rule, str]) -> dict[str, list[Rule]]:
    table: dict[str, list[Rule]] = {}
    for rule_, words in pairs:
        for word in words.split():
            table.setdefault(word, []).append(rule_)
    return table


_AUXILIARIES = """is are must should may can shall has have stays stay remains
remain gets get shouldn't mustn't can't cannot isn't aren't needs need"""
_RULES = _by_word(
    (negating.none, "no zero"),
    (forbidding.kept, "leave keep leaving keeping hands stay steer"),
    (forbidding.listed, "off off-limits out frozen locked forbidden prohibited"),
    (forbidding.listed, "read-only non-goals non-goal don'ts"),
    (forbidding.spared, "nothing"),
    (forbidding.excluded, "not"),
    (passives.passive, _AUXILIARIES),
    (confining.only, "only just solely exclusively purely"),
    (confining.keep, "keep"),
    (confining.nothing, "nothing nowhere"),
    (confining.stay, "stay stick work be made belong go happen remain"),
    (confining.limit, "limit restrict confine limited restricted confined"),
    (asking.ask, "ask check confirm get run"),
    (asking.instead, "use"),
    (asking.phrase, "read-only readonly offline minimal smallest answer skip i'll i wait keep"),
    (allowing.granted, "can may is are"),
)  # fmt: skip


def rule(found: PartialReading, sentence: Sentence, at: int) -> int:
    """Tries the rules of the word at a place; answers with the end of what one of them read."""
    end = negating.negated(found, sentence, at)
    if end:
        return end
    for each in _RULES.get(sentence.words[at].low, ()):
        end = each(found, sentence, at)
        if end:
            return end
    return allowing.allow(found, sentence, at)
