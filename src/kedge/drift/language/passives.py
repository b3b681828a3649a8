"""Rules for what is said of things: "… must not be changed", "… stays as it is"."""

from __future__ import annotations

from kedge.drift.language import addressing, orders
from kedge.drift.language.addressing import low
from kedge.drift.language.forbidding import state_end
from kedge.drift.language.negating import CHANGES, changes
from kedge.drift.language.opposites import made
from kedge.drift.language.orders import Order, order
from kedge.drift.language.phrases import Things, things
from kedge.drift.language.roles import word_set
from kedge.drift.language.vocabulary import DOING, DONE
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.opposites import Kinds
    from kedge.drift.language.prose import Sentence, Word
    from kedge.drift.language.reading import PartialReading

_NEGATIVE = word_set("not never mustn't shouldn't can't cannot isn't aren't")
_AUXILIARY = _NEGATIVE | word_set(
    """must should may shall can will has have needs need is are be to left kept allowed being stays
    stay remains remain permitted ok okay acceptable gets get"""
)
_WISHED = word_set("important sure ensure essential crucial vital")
_ALLOWED = word_set("allowed permitted ok okay acceptable")
_MODALS = word_set("must should may shall can mustn't shouldn't can't cannot")
_REMAINING = word_set("stay stays remain remains be left kept")
_WHOLE = ("no_touch", "read_only", "only_under")  # kinds that need to be told of what


class _Said(NamedTuple):
    """A verb with its auxiliaries: these begin at `at`, the verb itself at `verb`, the clause at
    `start`."""

    at: int
    verb: int
    start: int
    between: frozenset[str]

    @property
    def negative(self) -> bool:
        return bool(self.between & _NEGATIVE)


def passive(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "X must not be changed", "nothing in X should be touched", "X stays as it is"."""
    words = sentence.words
    said = _said(words, at)
    if sentence.asks or said is None:
        return 0
    if low(words, said.start) in ("files", "file") and low(words, said.start + 1) == "you":
        return _files_you(found, sentence, said.at) if said.negative else 0
    if said.negative and said.between & _ALLOWED:
        end = _not_allowed(found, sentence, said)
        if end:
            return end
    wished = {word.low for word in words[max(0, said.at - 8) : said.at]} & _WISHED
    told = said.between & ({"to"} | _ALLOWED) or wished
    if said.between & {"is", "are", "isn't", "aren't"} and not told:
        return 0
    if low(words, said.start) == "nothing":
        return _nothing(found, sentence, said)
    about = _subject(words, said)
    family, end = _done(words, said)
    if about is None or not family:
        return 0
    if low(words, end) == ":" and not about.subjects:  # "the following must not change: a, b"
        about = things(words, end + 1)
        end = about.end
    if _of_a_program(words, end):
        return 0
    kinds = made(Order((family,), said.start), about)
    if not (about.pronoun and low(words, said.at - 1) != "it"):
        # "it must not be changed" is said of a program, "that file must not" is not
        kinds = tuple(
            each for each in kinds if each[1] not in ((), ("it",)) or each[0] not in _WHOLE
        )
    return found.put(sentence, said.at, end, kinds, about)


def _said(words: Sequence[Word], at: int) -> _Said | None:
    verb = at
    while verb < len(words) and words[verb].low in _AUXILIARY:
        verb += 1
    between = frozenset(word.low for word in words[at:verb])
    start = addressing.clause_start(words, at)
    while start < at and low(words, start) in ("please", "also", "the"):
        start += 1
    if low(words, at - 1) == "to" and low(words, start) in ("i", "we"):
        at -= 1  # "I want X to remain as it is"
    before = low(words, at - 1)
    alone = at == start and before not in (")", "and", "but")
    return None if at == verb or alone else _Said(at, verb, start, between)


def _not_allowed(found: PartialReading, sentence: Sentence, said: _Said) -> int:
    """For "touching X is not allowed", "changes to X are not allowed"."""
    words = sentence.words
    verb = order(words, said.start, DOING)
    if verb:
        about = orders.about(words, verb)
        return found.put(sentence, said.at, said.verb, made(verb, about), about)
    if low(words, said.start) in CHANGES:
        about = changes(words, things(words, said.start))
        kinds = made(Order(("edit",), said.start), about)
        return found.put(sentence, said.at, said.verb, kinds, about)
    return 0


def _nothing(found: PartialReading, sentence: Sentence, said: _Said) -> int:
    """For "nothing in X should be touched", "nothing other than X may change"."""
    words = sentence.words
    other = low(words, said.start + 1) == "other"
    about = things(words, said.start + 3 if other else said.start)
    families = _families(words, said)
    if about.end > said.at or not families or _of_a_program(words, said.verb + 1):
        return 0
    if other:
        kinds: Kinds = (("only_under", about.subjects),)
    else:
        if not (about.subjects or about.outside or about.exceptions):
            about = Things(heads=("anything",), everything=True)
        kinds = made(Order((families[0],), said.start), about)
    return found.put(sentence, said.at, said.verb + 1, kinds, about)


def _families(words: Sequence[Word], said: _Said) -> list[str]:
    if low(words, said.verb) == "change" and said.between & _MODALS:
        return ["edit"]  # "file names must not change"
    return DONE.get(low(words, said.verb), [])


def _done(words: Sequence[Word], said: _Said) -> tuple[str, int]:
    """The family of what is not to be done, and where that ends; none where nothing is said."""
    done = _families(words, said)
    family = next((each for each in ("edit", "delete", "rename", "move") if each in done), "")
    if family and said.negative:
        return family, said.verb + 1
    end = state_end(words, said.verb) if said.between & _REMAINING else 0
    return ("", 0) if said.negative or not end else ("edit", end)


def _of_a_program(words: Sequence[Word], at: int) -> bool:
    return addressing.described(words, at, strict=True) or low(words, at) == "by"


def _subject(words: Sequence[Word], said: _Said) -> Things | None:
    """What stands before a verb; where it is left out, what the sentence began with."""
    if said.at == said.start and low(words, said.at - 1) in ("and", "but"):
        about = things(words, 0, exceptions=False)
        return about if about.end <= said.at else None
    about = addressing.subject(words, said.at)
    if about.end == said.at:
        return about
    return Things(end=said.at) if low(words, said.at - 1) == "following" else None


def _files_you(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "files you must not change: a, b"."""
    words = sentence.words
    for place in range(at, min(at + 8, len(words))):
        if words[place].low == ":":
            about = things(words, place + 1)
            kinds: Kinds = (("no_touch", about.subjects),) if about.subjects else ()
            return found.put(sentence, at, about.end, kinds, about)
    return 0
