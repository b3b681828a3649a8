"""Noun phrases: what an order is about, as subjects that can be set against paths."""

from __future__ import annotations

from kedge.drift.language.roles import ABSTRACT, FOLDERS, MODULES, TYPES, word_set
from kedge.drift.language.subjects import is_file, is_path, role
from kedge.drift.language.vocabulary import (
    BASE,
    CHANGING,
    DETERMINERS,
    EXCEPTING,
    FILLER,
    FOLDER_WORDS,
    LOOKING,
    NEWNESS,
    PHRASE_ENDS,
    RESTRICTING,
    VERBS_OF_BEING,
)
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.prose import Word

MOST_THINGS = 40  # in one list


FILES = word_set(
    """file files code source sources codebase repo repository project changes anything everything
    nothing something things thing stuff it change edit edits modification modifications"""
)
ALL = word_set("anything everything nothing something stuff things thing")
_ARTICLES = word_set("the a an this these those our my your any every each")
_POINTING = word_set("that this those these")
_ANY_FILE = word_set("file files folder directory module package one ones")
PRONOUNS = word_set("it them this that those these there")
_INSIDE = word_set("in under inside within from below beneath of underneath")


class Things(NamedTuple):
    """What is spoken of: `subjects` that name paths or roles, `heads` the nouns themselves.

    `everything` is said of "anything" or "the code" without a place, `other` of "anything else";
    `outside` has the places outside of which it is meant.
    """

    subjects: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    everything: bool = False
    other: bool = False
    new: bool = False
    existing: bool = False
    pronoun: bool = False
    outside: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    end: int = 0

    @property
    def empty(self) -> bool:
        return not (self.heads or self.pronoun or self.outside)


class _Thing(NamedTuple):
    subject: str
    heads: tuple[str, ...]
    flags: frozenset[str]
    outside: tuple[str, ...]
    end: int


def things(
    words: Sequence[Word],
    at: int,
    *,
    exceptions: bool = True,
    nested: bool = False,
    spoken: bool = False,
) -> Things:
    """The list of things that begins at a place; as far as it goes on naming things.

    They are `spoken` of where a verb follows that says something of all of them.
    """
    subjects: list[str] = []
    heads: list[str] = []
    flags: set[str] = set()
    outside: list[str] = []
    place = at
    thing = _thing(words, at, nested)
    while thing is not None:
        if thing.subject:
            subjects.append(thing.subject)
        heads.extend(thing.heads)
        flags |= thing.flags
        outside.extend(thing.outside)
        place = thing.end
        start = _next(words, place)
        thing = _thing(words, start, nested) if start and len(heads) < MOST_THINGS else None
        if thing is not None and not _goes_on(words, thing, start, spoken=spoken):
            break
    return Things(
        tuple(dict.fromkeys(subjects)),
        tuple(heads),
        "everything" in flags and not outside and not subjects,
        "other" in flags,
        "new" in flags,
        "existing" in flags,
        "pronoun" in flags,
        tuple(outside),
        excepted(words, place) if exceptions else (),
        place,
    )


def _next(words: Sequence[Word], at: int) -> int:
    """Where the next thing of a list would begin; 0 when the list ends here."""
    following, after = _low(words, at), _low(words, at + 1)
    if following == "," and after in ("or", "and", "nor"):
        return at + 2
    if following == "as" and after == "well":
        return at + 3
    return at + 1 if following in (",", "or", "and", "nor", "/", "&", "+") else 0


def excepted(words: Sequence[Word], at: int) -> tuple[str, ...]:
    """What "except for …", "other than …", "unless … under …" leaves out, soon after a place."""
    for place in range(at, min(at + 8, len(words))):
        low = words[place].low
        after = _low(words, place + 1)
        if (low == "other" and after == "than") or (low in ("apart", "aside") and after == "from"):
            start = place + 2
        elif low == "with" and _low(words, place + 2) == "exception":
            start = place + 4
        elif low in ("except", "besides", "excluding", "barring", "save", "excepting"):
            start = place + 1 + (after in ("for", "in", "of", "those", "from", "maybe"))
        elif low == "unless":
            start = next(
                (
                    spot + 1
                    for spot in range(place + 1, min(place + 6, len(words)))
                    if words[spot].low in _INSIDE
                ),
                0,
            )
            if not start:
                return ()
        elif low in ("being", "is") and "exception" in {
            _low(words, spot) for spot in range(place + 1, place + 4)
        }:  # "a.py being the one exception"
            return tuple(named(words[at:place]))
        elif low == "but" and after not in ("don't", "do", "never", "you", "please", "not", "i"):
            start = place + 1
        else:
            continue
        return things(words, start, exceptions=False).subjects
    return ()


def leading(words: Sequence[Word]) -> Things:
    """What a sentence that begins with "apart from …" or "except for …" leaves out."""
    first = next((spot for spot, word in enumerate(words) if word.low not in FILLER), 0)
    low, after = _low(words, first), _low(words, first + 1)
    pair = (low in ("apart", "aside") and after == "from") or (low == "other" and after == "than")
    exception = low == "with" and _low(words, first + 2) == "exception"
    if not (pair or exception or low in ("except", "besides", "excepting", "excluding")):
        return Things()
    start = first + (4 if exception else 2 if pair or after in ("for", "in") else 1)
    return things(words, start, exceptions=False)


def named(words: Sequence[Word]) -> list[str]:
    """The paths among the words."""
    return [word.text.rstrip(":") for word in _paths(words)]


def _thing(words: Sequence[Word], at: int, nested: bool) -> _Thing | None:
    """One noun phrase: "any other files", "the `scripts` directory", "the tests in src/a"."""
    flags: set[str] = set()
    place = _begin(words, at, flags)
    if place < 0:
        return None
    core: list[Word] = []
    while place < len(words) and len(core) < 6:
        word = words[place]
        if word.kind in ("mark", "quote"):
            break
        if word.kind == "word" and (word.low in PHRASE_ENDS or word.low in EXCEPTING):
            break
        if core and word.low in _ARTICLES:
            break
        if word.low == "else":
            flags.add("other")
        else:
            core.append(word)
        place += 1
    heads = tuple(word.low for word in core)
    following = _low(words, place)
    if heads == ("rest",):  # "the rest" may be that of one file
        if following != "of" or _low(words, place + 2) not in FILES:
            return None
        return _Thing("", ("others",), frozenset((*flags, "other")), (), place + 3)
    if len(core) == 1 and heads[0] in _ANY_FILE and _low(words, place - 2) in _POINTING:
        return _Thing("", (), frozenset((*flags, "pronoun")), (), place)  # "that file"
    if following == "outside" and not nested:
        return _beyond(words, place, heads, flags)
    if not core:
        if following in PRONOUNS:
            return _Thing("", (), frozenset((*flags, "pronoun")), (), place + 1)
        if place > at and _low(words, place - 1) in PRONOUNS:  # they may stand before a noun, too
            return _Thing("", (), frozenset((*flags, "pronoun")), (), place)
        return _Thing("", ("others",), frozenset(flags), (), place) if "other" in flags else None
    if following in ("that", "which") and not nested:  # "any file that is not in src/auth"
        lows = [_low(words, spot) for spot in range(place + 1, place + 5)]
        inner = next((spot for spot, low in enumerate(lows) if low in _INSIDE), -1)
        if inner > 0 and {"not", "isn't", "aren't"} & set(lows[:inner]):
            return _beyond(words, place + 1 + inner, heads, flags)
    return _placed(words, core, place, flags)


def _begin(words: Sequence[Word], at: int, flags: set[str]) -> int:
    """After the articles and adjectives that begin a phrase, with what they say; -1 for none."""
    place = at
    while place < len(words) and words[place].low in DETERMINERS and words[place].kind == "word":
        low, after = words[place].low, _low(words, place + 1)
        if low == "outside" or (low in ("third-party", "3rd-party") and after in ("code", "files")):
            break
        if low in ("other", "others"):
            if after == "than":
                return -1
            flags.add("other")
        elif low in NEWNESS:
            flags.add("new")
        elif low in ("existing", "old", "current", "original"):
            flags.add("existing")
        elif low in RESTRICTING:
            flags.add("restricted")
        place += 1
    return place


def _placed(words: Sequence[Word], core: list[Word], at: int, flags: set[str]) -> _Thing:
    """A noun phrase with the place that follows it: "the tests", "in src/a"."""
    heads = tuple(word.low for word in core)
    every = set(heads) <= FILES
    if every and _low(words, at) in _INSIDE and _low(words, at + 1) in ("there", "it", "them"):
        return _Thing("", (), frozenset((*flags, "pronoun")), (), at + 2)
    where, end = _where(words, at)
    if "ending" in heads and where:  # "files ending in .snap"
        return _Thing(where, heads, frozenset(flags), (), end)
    subject = _subject(core, place=bool(where))
    meant, after = _meant(words, end)
    if meant and not (_paths(core) or where):  # "the parser (src/parser.rs)"
        return _Thing(meant, heads, frozenset(flags), (), after)
    if where and subject and not every:
        subject = f"{subject} in {where}"
    elif where:
        plain = set(heads) - ABSTRACT
        sure = not set(heads) & ABSTRACT or set(heads) & FILES or (plain and not is_file(where))
        subject = where if sure else ""
    if not subject and _low(words, end) in ("that", "which"):  # "anything that is generated"
        told = _low(words, end + 2)
        if _low(words, end + 1) in ("is", "are", "was") and role(told):
            return _Thing(told, heads, frozenset(flags), (), end + 3)
        flags.add("restricted")
    if not subject and (every or heads[-1] in ALL) and "restricted" not in flags:
        flags.add("everything")
    return _Thing(subject, heads, frozenset(flags), (), end)


def _meant(words: Sequence[Word], at: int) -> tuple[str, int]:
    """The one path that stands in brackets at a place, and where they end."""
    if _low(words, at) != "(" or _low(words, at + 2) != ")":
        return "", at
    inner = words[at + 1]
    return (inner.text, at + 3) if _path(inner) else ("", at)


def _beyond(
    words: Sequence[Word], at: int, heads: tuple[str, ...], flags: set[str]
) -> _Thing | None:
    """For "anything outside of src/auth": the places, and what follows them."""
    start = at + 1 + (_low(words, at + 1) in ("of", "from"))
    inner = things(words, start, exceptions=False, nested=True)
    if not inner.subjects:
        return None
    return _Thing("", heads or ("files",), frozenset(flags), inner.subjects, inner.end)


def _where(words: Sequence[Word], at: int) -> tuple[str, int]:
    """The place that "in …" or "under …" names, and where it ends; none when it is no place."""
    if _low(words, at) not in _INSIDE:
        return "", at
    start = at + 1
    if _low(words, start) == "of":
        start += 1
    while start < len(words) and words[start].low in DETERMINERS and words[start].kind == "word":
        start += 1
    if start >= len(words):
        return "", at
    word = words[start]
    after = _low(words, start + 1)
    if word.kind not in ("word", "code"):
        return "", at
    if after in ("class", "component", "service", "model", "controller", "struct"):
        return f"{word.text} {after}", start + 2
    if after in FOLDER_WORDS:
        return f"{word.text.strip('/')}/", start + 2
    if word.low in FOLDER_WORDS and _low(words, start + 1):
        inner = words[start + 1]
        if inner.kind == "code" or _path(inner):
            return f"{inner.text.strip('/')}/", start + 2
    if word.low in ("file", "files") and start + 1 < len(words) and _path(words[start + 1]):
        return words[start + 1].text, start + 2
    if _path(word) or word.low in FOLDERS:
        text = word.text
        return (text if _path(word) else f"{text}/"), start + 1
    return "", at


def _subject(core: Sequence[Word], *, place: bool) -> str:
    """The subject that a noun phrase names, empty when it names none that can be resolved."""
    paths = _paths(core)
    if paths:
        text = paths[0].text.rstrip(":")
        folder = core[-1].low in FOLDER_WORDS and "." not in text.rpartition("/")[2]
        return f"{text.strip('/')}/" if folder and text[0] != "/" else text
    lows = [word.low.removesuffix("'s") for word in core]
    last = lows[-1]
    if last in FOLDER_WORDS and len(lows) > 1:
        if role(lows[-2]) == "tests" or last in ("folder", "directory", "dir", "subfolder"):
            return f"{core[-2].text.strip('/')}/"
        return " ".join(lows[:-1])
    if last in ("files", "file", "code", "sources", "suite", "suites", "definitions"):
        if len(lows) == 1:
            return ""
        kind = lows[-2]
        if kind in TYPES or role(kind) or kind.startswith("."):
            if kind in TYPES and last != "code":
                return f"{kind} files"
            return " ".join(lows[:-1]) if role(kind) else f"{kind} files"
        return " ".join(lows[:-1]) if last == "code" else ""
    if last in ABSTRACT or set(lows) <= FILES or (place and last in FILES):
        return ""
    if last in TYPES and len(lows) == 1 and last not in ("go", "c", "text", "shell", "image"):
        return f"{last} files"
    vague = len(lows) > 1 and last not in MODULES and role(last) is None
    if vague and any(low in ABSTRACT for low in lows):
        return ""
    return " ".join(lows)


def _paths(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if _path(word)]


def _goes_on(words: Sequence[Word], thing: _Thing, at: int, *, spoken: bool) -> bool:
    """Whether what follows a comma is one more thing, rather than a clause of its own."""
    if not (thing.subject or thing.outside or thing.flags & {"new"} or set(thing.heads) & FILES):
        return False
    if not spoken and _low(words, thing.end) in VERBS_OF_BEING:
        return False
    if len(thing.heads) == 1 and _low(words, thing.end) in _ARTICLES:
        return False  # a verb: "… and tag every bucket"
    concrete = is_path(thing.subject) or bool(thing.outside) or " in " in thing.subject
    if concrete or not thing.heads:
        return True
    verb = thing.heads[0] in CHANGING or thing.heads[0] in BASE or thing.heads[0] in LOOKING
    if verb and (len(thing.heads) > 1 or _low(words, thing.end) in PRONOUNS):
        return False
    joined = _low(words, at - 1) in ("or", "and", "nor", "&", "+", "/", "well", "as")
    return joined or role(thing.heads[-1]) is not None or thing.subject.endswith(("files", "/"))


def _path(word: Word) -> bool:
    if word.kind == "code":
        text = word.text
        return " " not in text and (is_path(text) or text.endswith("/"))
    return word.kind == "word" and is_path(word.text)


def _low(words: Sequence[Word], at: int) -> str:
    return words[at].low if 0 <= at < len(words) else ""
