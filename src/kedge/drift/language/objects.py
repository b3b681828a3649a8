"""What a verb is about: the files, folders and kinds of files that follow it."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.drift.language.vocabulary import BASE, CHANGING, DONE, LOOKING
from kedge.drift.limits import roles
from kedge.drift.limits.paths import is_path, name_files, role
from kedge.drift.limits.roles import CONTAINERS, FILES, word_set
from kedge.host.record import NamedTuple
from kedge.text.prose import Word

_NEW = word_set("new additional extra another more external third-party 3rd-party further third")
_DETERMINERS = _NEW | word_set("""the a an any all my your our this that these those each every
    single of its their some existing other others current whole entire following both either one
    actual""")
_PRONOUNS = word_set("it them this that these those")
_ENDS = word_set("""in under inside within outside of from to into on at by with without for during
    when if whenever while once after before is are was were be been must should shall may might can
    could will would has have had does do did and or nor but except unless apart besides aside
    excluding because since as so that which who whose they we you i he she yet alone untouched
    unchanged unmodified intact please here now then until till not only just instead either anymore
    again than where there it them isn't aren't shouldn't mustn't can't mayn't won't didn't doesn't
    needs need stays stay remains remain don't never let's via about using too read-only frozen
    myself first as-is out off up today later even though although however anyway thanks ever across
    around over against being below above right other exactly completely entirely ending locally
    directly manually yourself""")
_PLACES = word_set("in under inside within below of from outside")
_NO_ENDINGS = word_set("nano micro small medium large xlarge com org io dev")  # sizes and hosts
_BEING = word_set("is are was were must should may can will has have does needs isn't aren't fails")
_JOINING = word_set(", and or nor & + /")
_EXCEPTING = word_set("except excluding besides barring excepting unless")
_EXCEPTING_PAIRS = (("apart", "from"), ("aside", "from"), ("other", "than"), ("save", "for"))
_LINKS = word_set("for in under inside it's it they're is are they the")
_FINE = word_set("fine ok okay allowed")


class Objects(NamedTuple):
    """`subjects` can be resolved to paths; `heads` are all nouns."""

    subjects: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()  # of wide, other, pronoun, new, vague
    end: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.subjects or self.heads or self.outside or self.flags)


def low(words: Sequence[Word], at: int) -> str:
    """The word at a place as it is compared; empty outside of the sentence."""
    return words[at].low if 0 <= at < len(words) else ""


def is_named_path(word: Word) -> bool:
    """True if a word of a sentence is a path."""
    if word.kind == "code":
        return " " not in word.text and (is_path(word.text) or word.text.endswith("/"))
    other = (
        word.low[0] != "." and word.low.rpartition(".")[2] in _NO_ENDINGS and "/" not in word.low
    )
    return word.kind == "word" and is_path(word.text) and not other


def find_paths(words: Sequence[Word]) -> tuple[str, ...]:
    """All paths that the words name."""
    return tuple(dict.fromkeys(word.text.rstrip(":") for word in words if is_named_path(word)))


def read_objects(words: Sequence[Word], at: int, *, exceptions: bool = True) -> Objects:
    """Read the list of noun phrases at a place, with what is excepted from them."""
    found = read_phrase(words, at)
    while found.end > at and low(words, found.end) in _JOINING:
        spot = found.end + 1
        while low(words, spot) in _JOINING:
            spot += 1
        more = read_phrase(words, spot)
        if more.end <= spot or not _continues(words, found, more, spot, at):
            break
        found = Objects(
            (*found.subjects, *more.subjects), (*found.heads, *more.heads), (),
            (*found.outside, *more.outside), found.flags | more.flags, more.end,
        )  # fmt: skip
    if exceptions:
        free, end = read_exceptions(words, found.end)
        found = found._replace(exceptions=free, end=end) if free else found
    return found


def _continues(words: Sequence[Word], before: Objects, more: Objects, at: int, start: int) -> bool:
    """True if what follows a comma or a conjunction is one more object, not a new clause."""
    first, comma = low(words, at), low(words, at - 1) == ","
    leads = low(words, start - 1) in ("", "but", "so", "that", ",", ";", ":", "-", "—", ".")
    if low(words, more.end) in _BEING and not (leads and not comma and more.subjects):
        return False
    if role(first) is None and (first in CHANGING or first in BASE or first in LOOKING):
        return False
    if more.subjects and all(map(is_path, more.subjects)):
        return True
    if more.outside or "wide" in more.flags:
        return bool(more.outside)
    if more.subjects:
        return not comma or role(more.heads[-1]) is not None
    return not comma and not before.subjects and "pronoun" not in more.flags


def read_exceptions(words: Sequence[Word], at: int) -> tuple[tuple[str, ...], int]:
    """Read what is excepted at a place, after a comma or a bracket too, and its end."""
    start = at
    while start < at + 2 and low(words, start) in (",", "(", "-", "—", "–"):
        start += 1
    first, second = low(words, start), low(words, start + 1)
    if first == "but":
        phrase = read_phrase(words, start + 1)
        after = low(words, phrase.end)
        ends = not after or words[phrase.end].kind == "mark" or after in _BEING
        paths = tuple(filter(is_path, phrase.subjects))
        return (paths, phrase.end) if paths and ends else ((), at)
    if first in _EXCEPTING:
        spot = start + 1
    elif (first, second) in _EXCEPTING_PAIRS:
        spot = start + 2
    elif first == "with" and "exception" in (second, low(words, start + 2)):
        spot = start + 4 - (second == "exception")
    else:  # "(README.md is fine)"
        free = read_objects(words, start, exceptions=False) if start > at else Objects()
        fine = low(words, free.end) in ("is", "are") and low(words, free.end + 1) in _FINE
        return (free.subjects, free.end + 2) if fine and low(words, start - 1) != "," else ((), at)
    while low(words, spot) in _LINKS:
        spot += 1
    free = read_objects(words, spot, exceptions=False)
    names = free.subjects or tuple(
        word.text for word in words[spot : free.end] if word.low in free.heads
    )
    return (names, free.end) if names else ((), at)


def read_phrase(words: Sequence[Word], at: int, *, places: bool = True) -> Objects:
    """Read one noun phrase, with the place it is in."""
    spot = at
    while low(words, spot) in _DETERMINERS and words[spot].kind == "word":
        spot += 1
    before = {word.low for word in words[at:spot]}
    flags = {
        name for name, some in (("new", _NEW), ("other", {"other", "others"})) if some & before
    }
    core: list[Word] = []
    while spot < len(words) and len(core) < 6 and _is_inner(words[spot], core):
        core.append(words[spot])
        spot += 1
    if not core and low(words, spot) != "outside":
        pronoun = low(words, spot) in _PRONOUNS
        if pronoun or before & _PRONOUNS:
            return Objects(flags=frozenset(("pronoun",)), end=spot + pronoun)
        return Objects(flags=frozenset(flags and flags | {"vague"}), end=spot if flags else at)
    lows = tuple(word.low for word in core if word.low != "else")
    flags |= {"other"} if len(lows) < len(core) else set()
    wide = set(lows) <= FILES
    definite = {"the", "this", "that", "these", "those"} & before and {"file", "files"} & set(lows)
    there = low(words, spot) == "in" and low(words, spot + 1) in ("there", "here", "it")
    if wide:
        flags.add("pronoun" if definite or there else "wide")
    texts = [word.text if is_named_path(word) else word.low for word in core]
    subject = name_files(texts, find_paths(core))
    subjects: tuple[str, ...] = (subject,) if subject else ()
    outside: tuple[str, ...] = ()
    place, end = _read_place(words, spot) if places else ((), spot)
    if place and low(words, spot) == "outside":
        outside, subjects, flags = place, (), flags - {"wide", "pronoun"}
    elif place and wide:
        subjects, flags = place, flags - {"wide", "pronoun"}
    elif place and subject and not is_path(subject):
        subjects = tuple(f"{subject} in {each}" for each in place)
    elif place and all(each.strip("/").endswith(lows[-1]) for each in place):
        subjects = place  # "the store in admin/store/"
    bracket = find_paths(words[end + 1 : end + 2]) if low(words, end) == "(" else ()
    if bracket and low(words, end + 2) == ")" and not outside and not is_path(subject):
        subjects, end = bracket, end + 3
    if not (subjects or outside or wide or "other" in flags) or (
        place and not subjects and not outside
    ):
        flags.add("vague")
    return Objects(subjects, lows, (), outside, frozenset(flags), end + 2 * (there and wide))


def _read_place(words: Sequence[Word], at: int) -> tuple[tuple[str, ...], int]:
    """Read "in src/a or src/b"; the end is the beginning where no such place follows."""
    if low(words, at) not in _PLACES:
        return (), at
    start = at + 1 + (low(words, at + 1) == "of")
    if low(words, start) in roles.FOLDERS and low(words, start + 1) not in roles.FOLDER_WORDS:
        return (f"{words[start].text}/",), start + 1
    inner = read_objects(words, start, exceptions=False)
    sure = inner.subjects and not inner.flags & {"vague", "pronoun", "wide"}
    if not sure or any(" in " in each for each in inner.subjects):
        return (), at
    return inner.subjects, inner.end


def _is_inner(word: Word, core: Sequence[Word]) -> bool:
    """True if a word goes on with a noun phrase."""
    path = is_named_path(word)
    if not (path or word.kind == "code" or (word.kind == "word" and word.low not in _ENDS)):
        return False
    if not core:
        return True
    if word.low in _DETERMINERS | roles.RESTRICTING or (word.low in DONE and word.low not in BASE):
        return False
    if is_named_path(core[-1]):
        return word.low in CONTAINERS or role(word.low) is not None
    return word.low == "else" or core[-1].low not in ("anything", "everything", "nothing")
