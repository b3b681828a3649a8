"""Whether a message may set a limit, asked of messages that the rules read none in."""

from __future__ import annotations

import re

from kedge.drift.language.prompts import users_words

_LONGEST = 800  # characters; longer messages are mostly pasted
_SENTENCE = re.compile(r"[^.!?\n;]+[.!?;]?")
_CUE = re.compile(
    r"\b(?:do(?:n['’]?t| not)|(?:must|should|may)(?:n['’]t| not)|never|avoid|refrain|leave|without"
    r"|nobody|untouched|unchanged|off.limits|forbidden|keep\b(?!.{0,12}(?:going|mind))|hands off"
    r"|except|wait with|before (?:you|touching|deleting|adding)|stay|stick|remain|only|nothing"
    r"|rather|not (?:allowed|by|to|be|ok|the)|no (?:new|need|more|touch|other|changes?|edits?)"
    r"|nicht|keine?n?|nur|ohne|lass|sans|seulement|uniquement|laisse|sin|solo|dejes?|não|apenas|sem"
    r"|senza|lascia)\b",
    re.IGNORECASE,
)
_DESCRIBING = re.compile(
    r"\b(?:i|it|they|there|that|which|this|does|did|was|were|when|why|how|has|would)\b.{0,60}$",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"(?:don['’]?t|do not) (?:worry|forget|think|know|see|be|have|need|like|understand|we)\b",
    re.IGNORECASE,
)


def has_limit_cue(text: str) -> bool:
    """True if a sentence that is no question tells the agent something with a word for limits."""
    words = users_words(text)
    if len(words) > _LONGEST:
        return False
    for sentence in _SENTENCE.findall(words):
        cue = None if sentence.endswith("?") else _CUE.search(_HARMLESS.sub("", sentence))
        if cue and not _DESCRIBING.search(sentence[: cue.start()]):
            return True
    return False
