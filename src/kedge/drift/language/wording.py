"""What a message forbids and what it allows: its sentences, word by word, against the rules."""

from __future__ import annotations

from functools import cache

from kedge.drift.language.gist import gist
from kedge.drift.language.phrases import named
from kedge.drift.language.prompts import users_words
from kedge.drift.language.prose import Sentence, sentences
from kedge.drift.language.reading import MOST, PartialReading, Reading
from kedge.drift.language.rules import rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_HEAD, _TAIL = 9_000, 5_000  # characters of a long message that are read: the rest is pasted


@cache
def _elided() -> tuple[re.Pattern[str], re.Pattern[str]]:
    import re

    flags = re.IGNORECASE | re.MULTILINE
    path = r"[\w.-]*/[\w./*-]*|[\w-]+\.[a-z]{1,5}"
    return (
        re.compile(
            r"^(ok|okay|yes|sure|fine|alright)\s+(?=you\b|please\b)", re.IGNORECASE | re.MULTILINE
        ),
        re.compile(
            r"(^|[.!?;]\s+)(?:only|just)\s+(under|in|within|inside)\s+"
            rf"(?=(?:{path})[.!]?\s*(?:$|\n))",
            flags,
        ),
    )


def _spelt_out(words: str) -> str:
    """With what is left out in speech: a pause after "OK", and what to do "only under src"."""
    pause, only = _elided()
    return only.sub(r"\1only change files \2 ", pause.sub(r"\1, ", words))


def read(text: str) -> Reading:
    """All that the user's words forbid, ask for and name."""
    words = users_words(text)
    if not words:
        return Reading()
    if len(words) > _HEAD + _TAIL:
        words = f"{words[:_HEAD]}\n\n{words[-_TAIL:]}"
    words = _spelt_out(words)
    found = PartialReading(words)
    for sentence in sentences(words):
        _read_sentence(found, sentence)
        if len(found.forbidden) >= MOST:
            break
    return found.reading()


def _read_sentence(found: PartialReading, sentence: Sentence) -> None:
    done, count = 0, len(found.forbidden)
    for place, word in enumerate(sentence.words):
        if place >= done and word.kind in ("word", "mark"):
            done = max(done, rule(found, sentence, place))
    if len(found.forbidden) == count:
        gist(found, sentence)
    found.named.extend(named(sentence.words))
