"""Rules for where changes may be made: "only …", "stay in …", "and nothing else"."""

from __future__ import annotations

from kedge.drift.language import addressing, orders
from kedge.drift.language.addressing import MARKS, low, told
from kedge.drift.language.asking import answered
from kedge.drift.language.opposites import DEPENDENCIES
from kedge.drift.language.orders import order
from kedge.drift.language.phrases import Things, named, things
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path, stands_for_paths
from kedge.drift.language.vocabulary import ANSWERING, ANSWERS, BASE, CHANGING, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.prose import Sentence, Word
    from kedge.drift.language.reading import PartialReading


_ONLY = word_set("only just solely exclusively purely")
_INTO = word_set("in within inside under to on into")
_CHANGES = word_set("changes change edits edit modifications work fix diff")
_MODALS = word_set("may should must can shall")
_REPLIES = word_set("analysis planning explanation investigation questions question asking")
_SCOPING = word_set(
    "scope do make work change edit modify touch update apply fix keep restrict limit"
)


def only(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "only change X", "just edit X", "change only X", "only X may change", "just explain"."""
    words, asks = sentence.words, sentence.asks
    before, after = low(words, at - 1), low(words, at + 1)
    soft = words[at].low == "just"
    if before == "the":
        return _the_only(found, sentence, at)
    if before in ("i", "is", "be", "we") or after in ("want", "be"):
        return _wanted(found, sentence, at)
    if before in ("not", "if", "are", "it", "was", "has"):
        addressed = before == "are" and told(words, at - 1, asks=asks)
    else:
        addressed = told(words, at, asks=asks)
    ahead = {word.low for word in words[at + 1 : at + 5]}
    if (addressed or before in ("using", "use", "with")) and (
        ahead & {"stdlib", "built-ins", "builtins", "built-in", "builtin"}
        or {"standard", "library"} <= ahead
    ):
        return found.put(sentence, at, at + 3, (("no_new_dependencies", ()),), Things())
    if addressed and after == "use" and ahead & {"what", "what's", "existing"}:
        return found.put(sentence, at, at + 3, (("no_new_dependencies", ()),), Things())
    families = BASE.get(before, ())
    if "edit" in families and told(words, at - 1, asks=asks):
        return confine(found, sentence, at, things(words, at + 1), soft=soft)
    if after in _INTO and _changing(sentence, at):
        return confine(found, sentence, at, things(words, at + 2), soft=soft)
    if not addressed:
        return _scoped(found, sentence, at)
    start = at + 1
    if after == "allowed" and low(words, at + 2) == "to":
        start = at + 3
    verb, second = low(words, start), low(words, start + 1)
    if (
        verb in ANSWERING
        or (verb in ("tell", "show", "give", "let") and second in ("me", "us"))
        or (verb == "look" and second in ("at", "into"))
        or (verb in ("a", "an") and second in ANSWERS)
    ):
        return answered(found, sentence, at, start)
    if verb == "work" and second in _INTO:
        return confine(found, sentence, at, things(words, start + 2), soft=soft)
    asked = order(words, start, BASE)
    if asked and "edit" in asked.families:
        colon = next(
            (spot for spot in range(asked.end, asked.end + 5) if low(words, spot) == ":"), 0
        )
        about = orders.about(words, asked)
        if colon and not about.subjects:  # "only touch the files I mentioned: a.py, b.py"
            about = things(words, colon + 1)
        return confine(found, sentence, at, about, soft=soft)
    about = things(words, start)
    modal, next_, verb = (low(words, about.end + spot) for spot in range(3))
    changed = next_ == "change" or (next_ == "be" and "edit" in DONE.get(verb, ()))
    if about.subjects and modal in _MODALS and changed:
        return confine(found, sentence, at, about)
    alone = at == addressing.clause_start(words, at) and words[at].low == "only"
    short = at == 0 and all(map(stands_for_paths, about.subjects))  # "only docs."
    if alone and (short or all(map(is_path, about.subjects))) and _ends(words, about.end):
        return confine(found, sentence, at, about)  # "bump the timeout. only settings.py"
    return _scoped(found, sentence, at)


def nothing(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "change nothing but X", "edit nothing outside X", "… and nothing else"."""
    words = sentence.words
    before, after = low(words, at - 1), low(words, at + 1)
    if after == "else":
        paths = tuple(named(words[:at]))
        ends = low(words, at + 2) in MARKS or low(words, at + 2) in ("", "please")
        if (
            not paths
            or not ends
            or not (addressing.clause_start(words, at) == at or before == "and")
        ):
            return 0
        about = Things(subjects=paths, heads=paths, end=at + 2)
        return confine(found, sentence, at, about)
    about = things(words, at)
    left = about.outside or about.exceptions
    end = about.end if about.outside else _after(words, about.end)
    alone = addressing.clause_start(words, at) == at and left and _ends(words, end)
    if not (alone and told(words, at, asks=sentence.asks)) and (
        "edit" not in BASE.get(before, ()) or not told(words, at - 1, asks=sentence.asks)
    ):
        return 0
    inner = about.outside or about.exceptions
    kinds = (("only_under", inner),) if inner else ()
    return found.put(sentence, at, about.end, kinds, Things(end=about.end))


def _after(words: Sequence[Word], at: int) -> int:
    """The end of what "but X" or "except for X" leaves out."""
    return things(words, at + 1 + (low(words, at + 1) in ("for", "in")), exceptions=False).end


def _ends(words: Sequence[Word], at: int) -> bool:
    """Whether a clause ends here, or says of what was named that it changes."""
    if low(words, at) in MARKS or low(words, at) in ("", "please", "thanks"):
        return True
    after = low(words, at + 1)
    changed = after == "change" or (after == "be" and "edit" in DONE.get(low(words, at + 2), ()))
    return low(words, at) in _MODALS and changed


def keep(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "keep your changes in X", "keep it inside of X"."""
    words = sentence.words
    about = things(words, at + 1, exceptions=False)
    mine = about.pronoun or _CHANGES.intersection(about.heads)
    place = about.end
    if place < at + 2 or not mine or not told(words, at, asks=sentence.asks):
        return 0
    if about.subjects and all(map(stands_for_paths, about.subjects)):
        return confine(found, sentence, at, about)
    while low(words, place) in ("limited", "confined", "contained", "local", "of", *_INTO):
        place += 1
    if place == about.end:
        return 0
    return confine(found, sentence, at, things(words, place))


def stay(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "stay in X", "stick to X", "work only in X", "all changes should be within X"."""
    words = sentence.words
    word = words[at].low
    start = at + 1
    narrow = word not in ("work", "made")
    while low(words, start) in _ONLY:
        start, narrow = start + 1, True
    have = {each.low for each in words[start : start + 8]}
    if word in ("stick", "stay") and low(words, start) in ("with", "to") and have & DEPENDENCIES:
        return found.put(sentence, at, at + 4, (("no_new_dependencies", ()),), Things())
    if word == "work" and low(words, start) == "on" and {"branch", "only"} <= have:
        return found.put(sentence, at, at + 4, (("no_branch", ()),), Things())
    if word == "stay" and low(words, start) == "on":
        if "branch" in (low(words, start + 2), low(words, start + 3)) and told(words, at):
            return found.put(sentence, at, at + 4, (("no_branch", ()),), Things())
        return 0
    if not narrow or low(words, start) not in _INTO:
        return 0
    clause = {each.low for each in words[addressing.clause_start(words, at) : at]}
    meant = clause & (_CHANGES | {"everything"}) and clause & (_MODALS | {"your", "all"})
    if meant and word not in ("stick", "work", "made") and not clause & {"not", "never"}:
        return confine(found, sentence, at, things(words, start + 1))
    if word not in ("stay", "stick", "work", "remain") or not told(words, at, asks=sentence.asks):
        return 0
    return confine(found, sentence, at, things(words, start + 1))


def limit(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "limit yourself to X", "changes must be confined to X"."""
    words = sentence.words
    near = {each.low for each in words[max(0, at - 7) : at + 6]}
    if not near & (_CHANGES | {"yourself", "scope", "task", "job"}):
        return 0
    if not words[at].low.endswith("ed") and not told(words, at, asks=sentence.asks):
        return 0
    for place in range(at + 1, min(at + 6, len(words))):
        if words[place].low in ("to", "within", "inside"):
            about = things(words, place + 1)
            if low(words, about.end) == ":":  # "to one file: lib/date.ts"
                listed = things(words, about.end + 1)
                about = listed if all(map(is_path, listed.subjects or ("",))) else about
            return confine(found, sentence, at, about)
    return 0


def confine(
    found: PartialReading, sentence: Sentence, at: int, about: Things, *, soft: bool = False
) -> int:
    """Changes belong to what is named, where all of it names paths."""
    if not about.subjects or not all(map(stands_for_paths, about.subjects)):
        return 0
    if addressing.described(sentence.words, about.end, strict=False):
        return 0
    kinds = (("only_under", about.subjects),)
    return found.put(sentence, at, about.end, kinds, Things(end=about.end), soft=soft)


def _the_only(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "the only file you should change is X"."""
    lows = [word.low for word in sentence.words[at : at + 9]]
    be = next((spot for spot, word in enumerate(lows) if word in ("is", "are")), 0)
    if "you" in lows and be and any(word in BASE for word in lows[:be]):
        about = things(sentence.words, at + be + 1)
        return confine(found, sentence, at, about)
    return 0


def _wanted(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "I only want a plan", "I only want changes in X", "this is just a question"."""
    words = sentence.words
    lows = [word.low for word in words[at + 1 : at + 7]]
    before = low(words, at - 1)
    if before in ("i", "we") and lows[:3] == ["want", "you", "to"]:
        asked = order(words, at + 4, BASE)
        edits = asked is not None and "edit" in asked.families
        return confine(found, sentence, at, orders.about(words, asked)) if asked and edits else 0
    if (before in ("is", "i") and ANSWERS.intersection(lows[:4])) or "understand" in lows:
        return answered(found, sentence, at, at)
    changes = next((spot for spot, word in enumerate(lows) if word in _CHANGES), -1)
    begun = {word.low for word in words[addressing.clause_start(words, at) : at]} & _CHANGES
    if "made" in lows and begun:
        changes = lows.index("made")
    if changes >= 0 and low(words, at + 2 + changes) in _INTO:
        return confine(found, sentence, at, things(words, at + 3 + changes))
    return 0


def _changing(sentence: Sentence, at: int) -> bool:
    """Whether the clause before a place tells the agent to change or to work."""
    words = sentence.words
    start = addressing.clause_start(words, at)
    clause = [word.low for word in words[start:at]]
    verbs = {"focus", "work", *_SCOPING} | {verb for verb in BASE if "edit" in BASE[verb]}
    first = next((each for each in clause if each not in ("please", "just", "and")), "")
    return first in verbs and told(words, start, asks=sentence.asks)


def _scoped(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "src/checkout only", "in plugins/slack only", "review only", "stdlib only"."""
    words = sentence.words
    if at == 0 or words[at].low != "only":
        return 0
    if low(words, at + 1) not in MARKS and low(words, at + 1) not in ("", "please"):
        return 0
    before = words[at - 1]
    start = addressing.clause_start(words, at)
    if (before.low in ANSWERING and before.low != "report") or before.low in _REPLIES:
        return answered(found, sentence, at, at) if at - start <= 4 else 0
    if before.low in ("stdlib", "library"):
        return found.put(sentence, at, at + 1, (("no_new_dependencies", ()),), Things())
    first = {word.low for word in words[:2]} | {low(words, start), low(words, start + 1)}
    placed = low(words, at - 2) in _INTO and low(words, start) in CHANGING and told(words, start)
    if is_path(before.text) and (first & _SCOPING or at - start <= 2 or placed):
        paths = tuple(named(words[start:at])) or (before.text,)
        return confine(found, sentence, at, Things(paths, paths, end=at + 1))
    return 0
