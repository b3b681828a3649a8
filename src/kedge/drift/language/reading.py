"""What a message forbids and allows: the result, and the part of it that was read so far."""

from __future__ import annotations

from kedge.drift.language.phrases import Things, leading, named, things
from kedge.drift.language.prompts import requests
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import covers, is_path, role
from kedge.drift.limits.limit import FIRM, PASSING, SOFT, Limit
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kedge.drift.language.opposites import Kinds
    from kedge.drift.language.prose import Sentence, Word

MOST = 100  # limits of one message
MOST_QUOTED = 240

_HEDGES = word_set("try ideally prefer preferably rather possible avoid bother")
_FOR_GOOD = word_set("never always ever session throughout anymore generally")
_WRITTEN = word_set(
    "plan outline propose proposal planning document report design designs spec rfc"
)
_BE = word_set("is are was were look looks seem seems must should have has need needs")


class Grant(NamedTuple):
    """What is asked for or allowed, as the limits that it is the opposite of."""

    kinds: Kinds
    about: Things
    explicit: bool  # "you may", "feel free to": more than a request


class Reading(NamedTuple):
    """`named` has the paths, in their order."""

    forbidden: tuple[Limit, ...] = ()
    allowed: tuple[Grant, ...] = ()
    named: tuple[str, ...] = ()


class PartialReading:
    """What was read so far; knows the paths that were named, for "it" and "anything else"."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.forbidden: list[Limit] = []
        self.allowed: list[Grant] = []
        self.named: list[str] = []
        self.taken: set[str] = set()  # paths that are named only to forbid them
        self._changing: bool | None = None

    @property
    def changing(self) -> bool:
        """Whether the message asks for a change at all."""
        if self._changing is None:
            self._changing = requests(self.text)
        return self._changing

    def put(
        self, sentence: Sentence, at: int, end: int, kinds: Iterable[tuple[str, tuple[str, ...]]],
        about: Things, *, ask: bool = False, soft: bool = False, until: str = "",
    ) -> int:  # fmt: skip
        """Keep what a rule found between two places; answers with the end, 0 for nothing found."""
        words = sentence.words
        lows = {word.low for word in words[max(0, at - 4) : end + 3]}
        count = len(self.forbidden)
        ahead = leading(words).subjects if at else ()
        if ahead:
            about = about._replace(exceptions=(*about.exceptions, *ahead))
        for told, things_ in kinds:
            kind, subjects = told, things_
            if ahead and kind == "read_only":  # "apart from a.py don't change anything"
                kind = "only_under"
            if subjects == ("it",):
                subjects = self.meant(words, at, kind)
                bare = kind == "no_touch" and about.empty and words[-1].low != ":"
                if not subjects and bare and not self.changing:
                    kind = "read_only"  # "look, but don't touch"
                elif not subjects:
                    continue
            strength = SOFT if soft or (lows & _HEDGES and kind != "read_only") else FIRM
            standing = kind not in PASSING or bool(lows & _FOR_GOOD)
            exceptions = about.exceptions
            if kind == "only_under":
                exceptions, subjects = (), tuple(dict.fromkeys((*subjects, *exceptions)))
            else:
                self.taken.update(path for path in subjects if is_path(path))
            if ask:
                kind, subjects, standing = "ask_first", (kind, *subjects), True
            quote = self._quote(words, at, sentence)
            self.forbidden.append(
                Limit(kind, subjects, quote, exceptions, strength, standing, until)
            )
        return max(end, at + 1) if len(self.forbidden) > count else 0

    def grant(self, kinds: Kinds, about: Things, *, explicit: bool) -> None:
        if len(self.allowed) < MOST:
            self.allowed.append(Grant(kinds, about, explicit))

    def reading(self) -> Reading:
        """With what "anything else" is other than, and what a later clause allows after all."""
        free = tuple(path for path in dict.fromkeys(self.named) if path not in self.taken)
        out: list[Limit] = []
        words = self.text[:4000].lower().replace(",", " ").replace(".", " ").split()
        planned = not _WRITTEN.isdisjoint(words)
        for each in dict.fromkeys(self.forbidden):
            if each.kind == "only_under" and not each.subject:
                if free:
                    out.append(each._replace(subject=free))
            elif each.kind == "read_only" and planned and not each.exceptions:
                out.append(each._replace(exceptions=("docs",)))  # a plan may be written down
            elif each.kind == "no_touch":
                out.append(self._excepted(each))
            else:
                out.append(each)
        return Reading(tuple(dict.fromkeys(out)), tuple(self.allowed), tuple(self.named))

    def _excepted(self, each: Limit) -> Limit:
        free = [path for grant in self.allowed if grant.explicit for path in grant.about.subjects]
        free += [path for one in self.forbidden if one.kind == "only_under" for path in one.subject]
        more = tuple(
            path
            for path in free
            if is_path(path) and path not in each.subject
            and any(covers(subject, path) for subject in each.subject)
        )  # fmt: skip
        return each._replace(exceptions=(*each.exceptions, *more)) if more else each

    def meant(self, words: Sequence[Word], at: int, kind: str) -> tuple[str, ...]:
        """What "it" or "them" stands for: the last path, or what the sentence began with."""
        before = named(words[:at])
        if before:
            return (before[-1],)
        first = things(words[:at], 0, exceptions=False)
        following = words[first.end].low if first.end < at else ""
        spoken = following in _BE or following in (":", "=", "-", "—", "–")
        if first.subjects and spoken and role(first.subjects[0].split()[-1]):
            return first.subjects
        if self.named:
            return (self.named[-1],)
        scripts = "script" in {word.low for word in words}
        return ("script",) if kind == "no_run" and scripts else ()

    def _quote(self, words: Sequence[Word], at: int, sentence: Sentence) -> str:
        """The user's own words: the sentence, or what is around a place of a long one."""
        start, end = sentence.start, sentence.end
        if end - start > MOST_QUOTED and words[at].start >= start:
            start = max(start, words[max(0, at - 6)].start)
        return " ".join(self.text[start : min(end, start + MOST_QUOTED)].split())
