"""What a message forbids and allows, collected while its sentences are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.drift.language.acts import Kinds
from kedge.drift.language.clauses import is_request
from kedge.drift.language.objects import Objects, find_paths, low, read_exceptions, read_objects
from kedge.drift.language.prompts import requests
from kedge.drift.limits.lifting import Grant, Reading, free_requested
from kedge.drift.limits.limit import FIRM, PASSING, SOFT, Limit
from kedge.drift.limits.paths import is_path, role, stands_for_paths
from kedge.drift.limits.roles import word_set
from kedge.text.prose import Sentence, Word

MOST = 100  # limits of one message
_MOST_QUOTED = 240
_HEDGES = word_set("try ideally prefer preferably rather possible bother")
_FOR_GOOD = word_set("never always ever session throughout anymore generally")
_CHECKS = word_set("test tests ci check checks build builds green suite lint")
_WRITTEN = word_set("plan outline propose proposal planning document report design spec rfc")
_EXCEPTED = word_set("exception exceptions excepted")
_BE = word_set("is are must should stays = - — – : , has")
_ADDING = word_set("add write update extend cover adjust create")
_NEGATED = word_set("don't never not or to mustn't shouldn't")


class Collector:
    """Collects limits and grants, and the paths that "it" and "nothing else" refer to."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_changing = requests(text)
        self.forbidden: list[Limit] = []
        self.allowed: list[Grant] = []
        self._named: list[str] = []
        self._requested: list[str] = []  # paths and roles that are to be changed
        self._last: tuple[str, ...] = ()  # the paths of the sentence before

    def note(self, sentence: Sentence) -> None:
        """Remember what a sentence names; call this after its limits were read."""
        words, paths = sentence.words, find_paths(sentence.words)
        self._named += paths
        self._last = () if is_request(words) else paths
        if not is_request(words):
            return
        forbidden = {path for each in self.forbidden for path in each.subject}
        self._requested += [path for path in paths if path not in forbidden]
        for at, word in enumerate(words):
            if word.low in _ADDING and low(words, at - 1) not in _NEGATED:
                heads = read_objects(words, at + 1).heads
                name = role(heads[-1]) if heads else None
                self._requested += [name] if name else []

    def forbid(
        self, sentence: Sentence, at: int, kinds: Iterable[tuple[str, tuple[str, ...]]],
        about: Objects, *, ask: bool = False,
    ) -> int:  # fmt: skip
        """Add limits; return the end of the object, or 0 if there was nothing to add."""
        words, end, count = sentence.words, max(about.end, at + 1), len(self.forbidden)
        near = {word.low for word in words[max(0, at - 4) : end + 3]}
        waits = {"until", "before"} & near and _CHECKS & {word.low for word in words[end:]}
        free, ahead = read_exceptions(words, 0)
        exceptions = (*about.exceptions, *(free if 0 < ahead <= at else ()))
        for said, about_ in kinds:
            kind, subject, left = said, about_, exceptions
            paths = kind not in ("no_touch", "only_under") or all(map(stands_for_paths, exceptions))
            if not paths or (not exceptions and _EXCEPTED & {word.low for word in words[end:]}):
                continue  # "except the version field" leaves unclear what may change
            if subject == ("it",):
                subject = self.refer(words, at)
                if not subject:
                    continue
            rest = "other" in about.flags and not (subject or any(map(is_path, exceptions)))
            only = kind == "only_under" or (kind == "read_only" and exceptions and ahead)
            if only and not rest:
                kind, subject, left = "only_under", (*subject, *exceptions), ()
            strength = SOFT if near & _HEDGES and kind != "read_only" else FIRM
            standing = ask or kind not in PASSING or bool(near & _FOR_GOOD)
            kind, subject = ("ask_first", (kind, *subject)) if ask else (kind, subject)
            quote, until = self._quote(sentence, at), "checks" if waits else ""
            subject = tuple(dict.fromkeys(subject))
            self.forbidden.append(Limit(kind, subject, quote, left, strength, standing, until))
        return end if len(self.forbidden) > count else 0

    def grant(self, kinds: Kinds, about: Objects, *, explicit: bool) -> None:
        self.allowed += [Grant(kinds, about, explicit)] if len(self.allowed) < MOST else []

    def finish(self) -> Reading:
        """The reading of the whole message: requested and granted work is free."""
        reading = Reading(tuple(self.forbidden), tuple(self.allowed), tuple(self._named))
        limits = free_requested(reading, self._requested)
        words = self.text[:4000].lower().replace(",", " ").replace(".", " ").split()
        noted = ("docs",) if _WRITTEN & set(words) else ()  # a plan may be written down
        found = (
            each._replace(exceptions=each.exceptions or noted) if each.kind == "read_only" else each
            for each in limits
        )
        return reading._replace(forbidden=tuple(found))

    def refer(self, words: Sequence[Word], at: int) -> tuple[str, ...]:
        """What "it" or "them" stands for: what the sentence or the one before it is about."""
        before = find_paths(words[:at])
        if before:
            return before[-1:]
        for start in (0, *(spot + 1 for spot in range(at) if words[spot].low == ",")):
            first = read_objects(words[:at], start, exceptions=False)
            if first.subjects and low(words, first.end) in _BE and role(first.heads[-1]):
                return first.subjects
        return self._last[:1] if len(set(self._last)) == 1 else ()

    def _quote(self, sentence: Sentence, at: int) -> str:
        start, end = sentence.start, sentence.end
        if end - start > _MOST_QUOTED and sentence.words[at].start >= start:
            start = max(start, sentence.words[max(0, at - 6)].start)
        return " ".join(self.text[start : min(end, start + _MOST_QUOTED)].split())
