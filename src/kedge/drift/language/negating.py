"""Rules for what is negated: "don't …", "without …", "no …"."""

from __future__ import annotations

from kedge.drift.language import addressing, orders
from kedge.drift.language.addressing import low, told
from kedge.drift.language.opposites import AGENT_TOOLS, DEPENDENCIES, made
from kedge.drift.language.orders import Order, order
from kedge.drift.language.phrases import FILES, Things, things
from kedge.drift.language.requesting import requested
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path, role, stands_for_paths
from kedge.drift.language.vocabulary import BASE, DOING, DONE, FILLER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from kedge.drift.language.opposites import Kinds
    from kedge.drift.language.prose import Sentence, Word
    from kedge.drift.language.reading import PartialReading

    Forms: TypeAlias = dict[str, list[str]]

CHANGES = word_set("changes change edits modifications edit modification")
_ACTS = word_set("no_commit no_push no_pr no_vcs no_branch no_run no_install")
_BEGINS = word_set(
    """don't do never must should shall may can mustn't shouldn't can't cannot not didn't under
    nobody without neither avoid stop refrain hold skip"""
)
_CHECKS = word_set("test tests ci check checks build builds green suite lint linter typecheck")
_AWAITED = _CHECKS | word_set(
    "review reviewed approved approval i i've i'm we you you've everything"
)
_NO_CASE = word_set("circumstances circumstance condition conditions account")
_MADE = word_set("branch branches pr test tests file files commit commits dependency packages")
_NEGATIONS = word_set("never don't not can't cannot no nothing won't shouldn't isn't")
_TOUCH = word_set("touch modify alter")
_NO_OBJECTS = word_set("need longer matter idea one problem way worries more")
_NEW = word_set("new additional extra external")
_USING = word_set(
    """use using add adding install create introduce write with please be make want but without
    avoid i.e. have having need"""
)


def negated(found: PartialReading, sentence: Sentence, at: int) -> int:
    """For "don't touch X", "without changing X", "avoid adding X" and what else negates a verb."""
    if sentence.words[at].low not in _BEGINS:
        return 0
    begun = _begun(sentence.words, at, sentence.asks)
    return forbid(found, sentence, at, *begun) if begun else 0


def forbid(found: PartialReading, sentence: Sentence, at: int, start: int, forms: Forms) -> int:
    """What verbs from `start` on are about is forbidden, unless it is what a program does."""
    words = sentence.words
    told_ = order(words, start, forms)
    if told_ is None:
        nouns = words[at].low in ("avoid", "without") or low(words, start - 1) == "want"
        return none(found, sentence, start - 1, sure=True) if nouns else 0
    about = _completed(words, at, orders.about(words, told_))
    kinds = made(told_, about)
    if kinds == (("read_only", ()),) and low(words, told_.end - 2) == "do" and found.changing:
        return 0  # "don't do it" is said of something else then
    if "push" in told_.families and about.empty and low(words, told_.end) in ("to", "on", "onto"):
        branch = things(words, told_.end + 1)
        about, kinds = branch, made(told_, branch)
    if "add" in told_.families and low(words, about.end) == "to" and not about.subjects:
        target = things(words, about.end + 1)  # "don't add anything to go.mod"
        if target.subjects and all(map(stands_for_paths, target.subjects)):
            about, kinds = target, (("no_touch", target.subjects),)
    if not kinds:
        return 0
    end = max(about.end, told_.end)
    strict = not all(
        kind in ("no_touch", "only_under") and all(map(is_path, subjects or about.outside))
        for kind, subjects in kinds
    )
    named = kinds[0][0] == "no_new_dependencies" and low(words, end) == "on"  # "on lodash"
    waits = _for_now(words, end, kinds)
    if not (named or waits) and addressing.described(words, end, strict=strict):
        return 0
    ask = any(addressing.asking(words, place) for place in range(end, min(end + 4, len(words))))
    if kinds[0][0] == "no_new_dependencies":
        about = about._replace(exceptions=_names_excepted(words, end))
    until = "checks" if waits and {word.low for word in words[end:]} & _CHECKS else ""
    ended = found.put(sentence, at, end, kinds, about, ask=ask, until=until)
    if low(words, end) in ("or", "nor") and low(words, end + 1) in forms:
        return forbid(found, sentence, at, end + 1, forms) or ended
    return ended


def _completed(words: Sequence[Word], at: int, about: Things) -> Things:
    """What "one" and "any" stand for: what the sentence spoke of before."""
    if about.heads not in (("one",), ("ones",), ()) or about.pronoun:
        return about
    if not about.heads and low(words, about.end) != "any":
        return about
    before = [word.low for word in words[:at]]
    noun = next((word for word in reversed(before) if word in _MADE), "")
    return about._replace(heads=(noun,)) if noun else about


def _for_now(words: Sequence[Word], at: int, kinds: Kinds) -> bool:
    """For "don't push until the tests pass": an act of the agent that is to wait."""
    if low(words, at) not in ("until", "till", "before", "unless"):
        return False
    after = {word.low for word in words[at + 1 : at + 9]}
    return bool(after & _AWAITED) and all(kind in _ACTS for kind, _ in kinds)


def none(found: PartialReading, sentence: Sentence, at: int, *, sure: bool = False) -> int:
    """For "no new dependencies", "no changes to X", "no commits", "no pushing"."""
    words = sentence.words
    kinds: Kinds
    if sure and low(words, at + 1) in word_set("this that these those the"):
        return 0  # "without this change" is said of one that is there
    if not sure and low(words, at + 1) in _NO_OBJECTS and low(words, at + 2) != "changes":
        return 0
    if not sure and not _said(sentence, at):
        return 0
    verb = order(words, at + 1, DOING)
    if verb and not verb.command:
        return forbid(found, sentence, at, at + 1, DOING)
    if low(words, at + 1) in _TOUCH:  # "no touch to a.css"
        about = things(words, at + 2 + (low(words, at + 2) == "to"))
        kinds = made(Order(("edit",), at + 2), about) if about.subjects else ()
        return found.put(sentence, at, about.end, kinds, about)
    about = things(words, at + 1)
    if not about.heads:
        return 0
    end = about.end
    kinds = ()
    changed = _to_change(words, end) or "edit" in DONE.get(about.heads[-1], ())
    if low(words, at) == "want" and about.subjects and changed:
        return found.put(sentence, at, end + 2, (("no_touch", about.subjects),), about)
    if about.outside:
        kinds = (("only_under", about.outside),)
    elif about.heads[-1] in CHANGES:
        about = changes(words, about)
        kinds, end = made(Order(("edit",), at + 1), about), max(end, about.end)
        if about.heads[:1] == ("formatting",):
            kinds = (("no_format", ()),)
    elif about.other and set(about.heads) <= FILES:
        kinds = (("only_under", ()),)
    elif about.exceptions and set(about.heads) <= FILES:  # "no file but a.py may be modified"
        kinds, about = (("only_under", about.exceptions),), Things(end=end)
    else:
        kinds = _of_nouns(about)
    family = _done_to(words, about.end)
    if family and not kinds:  # "no files should be deleted"
        kinds, end = made(Order((family,), at + 1), about), end + 3
    if low(words, at - 1) == "with" and not about.new and not about.subjects:
        return 0
    if addressing.described(words, end, strict=True) and not _said_of_change(words, end):
        return 0
    if kinds and kinds[0][0] == "no_new_dependencies":
        about = about._replace(exceptions=_names_excepted(words, end))
    return found.put(sentence, at, end, kinds, about)


def changes(words: Sequence[Word], about: Things) -> Things:
    """What "changes to …" are to; all, where nothing is said of it."""
    end = about.end
    if about.outside:
        return about
    if any(map(stands_for_paths, about.subjects)):
        return about
    after = low(words, end)
    if after == "there":
        listed = things(words, end + 2) if low(words, end + 1) == ":" else Things()
        return listed if listed.subjects else Things(pronoun=True, end=end + 1)
    if after == "outside":
        return things(words, end)
    if after in ("to", "in", "on", "of"):
        inner = things(words, end + 1)
        if (after == "to" and not inner.empty) or any(map(stands_for_paths, inner.subjects)):
            return inner
    what = [head for head in about.heads if head not in FILES]
    if not what:
        return Things(heads=("anything",), everything=True, end=end)
    if role(what[-1]):  # "no schema changes"
        return about._replace(subjects=(" ".join(what),))
    return about._replace(everything=False, subjects=())


def _begun(words: Sequence[Word], at: int, asks: bool) -> tuple[int, Forms] | None:
    """Where the verb begins that a negation at this place is of, and in which form."""
    word, after, before = words[at].low, low(words, at + 1), low(words, at - 1)
    start, forms = at + 1 + (after == ":"), BASE
    if word == "don't" or (word == "do" and after == "not") or word == "never":
        start += word == "do"
        if low(words, start) == "want" and before in ("i", "we"):
            return None if asks else _unwanted(words, start)
        return (start, forms) if told(words, at, asks=asks) else None
    if word in ("must", "should", "shall", "may", "can") and after == "not":
        return (at + 2, forms) if _to_you(words, at) else None
    if word in ("mustn't", "shouldn't", "can't", "cannot"):
        return (start, forms) if _to_you(words, at) and not asks else None
    if word == "not":
        return _after_not(words, at, asks)
    if word == "didn't" and before == "you":
        before_ = [each.low for each in words[addressing.clause_start(words, at) : at]]
        wished = "rather" in before_ or addressing.kindly(before_)
        return (start, forms) if wished else None
    if word == "under" and after == "no" and low(words, at + 2) in _NO_CASE:
        inverted = low(words, at + 3) in ("may", "should", "must", "can", "are")
        return at + 3 + (2 if inverted else 0), forms
    if word == "nobody" and after in ("should", "must", "may", "shall") and not asks:
        return at + 2, forms
    if word == "nobody" and after.removesuffix("es").removesuffix("s") in BASE and not asks:
        return at + 1, {after: BASE[after.removesuffix("es").removesuffix("s")]}
    if word == "without":
        clause = {each.low for each in words[addressing.clause_start(words, at) : at]}
        if addressing.asking(words, at) or clause & _NEGATIONS or not requested(words, at):
            return None
        return start, DOING
    if word not in ("neither", "avoid", "stop", "refrain", "hold", "skip"):
        return None
    forms = BASE if word == "neither" else DOING
    if word in ("refrain", "hold"):
        if after not in ("from", "off"):
            return None
        start += 1 + (low(words, at + 2) in ("on", "with"))
    if word == "skip" and after not in DOING:
        return None
    return (start, forms) if told(words, at, asks=asks) else None


def _unwanted(words: Sequence[Word], at: int) -> tuple[int, Forms]:
    """For "I don't want you to …", "we don't want to …", "I don't want any …"."""
    if low(words, at + 1) == "you" and low(words, at + 2) == "to":
        return at + 3, BASE
    if low(words, at + 1) == "to":
        return at + 2, BASE
    return at + 1, DOING


def _after_not(words: Sequence[Word], at: int, asks: bool) -> tuple[int, Forms] | None:
    after, before = low(words, at + 1), low(words, at - 1)
    if after in ("allowed", "permitted", "supposed") and low(words, at + 2) == "to":
        return (at + 3, BASE) if {"you", "you're"} & {before, low(words, at - 2)} else None
    if after == "to" and before in ("sure", "careful", "try", "you", "rather", "you're", "are"):
        return (at + 2, BASE) if told(words, at, asks=asks) else None
    if after == "by" and low(words, at + 2) in DOING:
        return (at + 2, DOING) if requested(words, at) else None
    if before == "mind" and after in DOING:
        return (at + 1, DOING) if told(words, at) else None
    if after in BASE and addressing.clause_start(words, at) == at:  # "not change the file a.py"
        return (at + 1, BASE) if told(words, at, asks=asks) else None
    if after in DOING and (before in addressing.MARKS or before in ("but", "and")):
        return (at + 1, DOING) if requested(words, at) else None
    if before in ("please", "to") and after in BASE:
        return (at + 1, BASE) if told(words, at, asks=asks) else None
    return None


def _to_you(words: Sequence[Word], at: int) -> bool:
    """Whether a modal verb is said of the agent: "you must not", "we can't"."""
    start = addressing.clause_start(words, at)
    before = [word.low for word in words[start:at] if word.low not in FILLER]
    if not before:
        return start == at and at > 0 and words[at].low in ("must", "mustn't", "should", "may")
    return before in (["you"], ["we"], ["agents"]) and not addressing.described_before(words, start)


def _said(sentence: Sentence, at: int) -> bool:
    """Whether "no …" is said to the agent."""
    words = sentence.words
    before = low(words, at - 1)
    near = {word.low for word in words[at + 2 : at + 5]}
    ends = low(words, at + 2) in (".", "!", "")
    start = addressing.clause_start(words, at)
    if start == at and (near & {"yet", "please"} or ends) and before != "(" and not sentence.asks:
        return True
    if start > 3 and not requested(words, at):
        return False
    if before == "with" and low(words, at + 1) not in (*_NEW, *CHANGES):
        return False
    return (
        told(words, at, asks=sentence.asks)
        or before in _USING
        or low(words, at - 2) in ("i.e.", "with")
    )


def _of_nouns(about: Things) -> Kinds:
    heads, last = set(about.heads), about.heads[-1]
    tools = tuple(head for head in about.heads if head in orders.PROGRAMS)
    if heads & DEPENDENCIES and (about.new or heads <= DEPENDENCIES or "third" in heads):
        return (("no_new_dependencies", ()),)
    if last in ("files", "file", "modules") and about.new:
        return (("no_new_files", ()),)
    if last in ("commits", "commit") and heads <= word_set("commits commit git"):
        return (("no_commit", ()),)
    if last in ("pushes", "push") and len(heads) == 1:
        return (("no_push", ()),)
    if last in ("deletions", "deletes", "removals") and len(heads) == 1:
        return (("no_delete", ()),)
    if last in ("renames", "moves") and len(heads) == 1:
        return (("no_rename", ()),)
    if last in ("installs", "installations") and len(heads) == 1:
        return (("no_install", ()),)
    if last in ("deploys", "deployments", "releases") and len(heads) == 1:
        return (("no_run", ("deploy",)),)
    if last in ("branches", "branch") and about.new:
        return (("no_branch", ()),)
    if last in ("pr", "prs") or heads == {"pull", "request"}:
        return (("no_pr", ()),)
    if role(last) == "tests" and heads <= word_set("tests test unit integration e2e automated"):
        return (("no_tests", ()),)
    if last in ("implementation", "code", "coding") and len(heads) == 1:
        return (("read_only", ()),)
    if last in ("amend", "rebase", "merge", "stash", "squash", "rebasing", "amending"):
        return (("no_vcs", (last.removesuffix("ing"),)),)
    if heads & {"prettier", "formatter", "gofmt", "black"}:
        return (("no_format", ()),)
    if last in ("refactoring", "refactors", "refactorings"):
        return (("no_refactor", ()),)
    if heads & {"network", "internet", "web"} and len(heads) < 4:
        return (("no_network", ()),)
    if tools and heads <= {*tools, "commands", "command", "calls"}:
        return (("no_tool", tools),)
    if heads <= AGENT_TOOLS:
        return (("no_tool", about.heads),)
    return (("no_tool", tools),) if tools and len(tools) == len(heads) else ()


def _to_change(words: Sequence[Word], at: int) -> bool:
    """For "… to change", "… changed", "… to be touched", after what is spoken of."""
    place = at + (low(words, at) == "to")
    place += low(words, place) == "be"
    word = low(words, place)
    return "edit" in DONE.get(word, ()) or (place > at and "edit" in BASE.get(word, ()))


def _done_to(words: Sequence[Word], at: int) -> str:
    """The family of "… should be deleted", after what is spoken of."""
    if low(words, at) not in word_set("may should must can shall") or low(words, at + 1) != "be":
        return ""
    return next(iter(DONE.get(low(words, at + 2), ())), "")


def _said_of_change(words: Sequence[Word], at: int) -> bool:
    """For "no file … may be touched", "no other file may change": said of changing it."""
    lows = {word.low for word in words[at : at + 5]}
    return bool(lows & word_set("may should must can")) and bool(
        lows & word_set("change changed touched edited modified be needed")
    )


def _names_excepted(words: Sequence[Word], at: int) -> tuple[str, ...]:
    """Packages after "except for"."""
    for place in range(at, min(at + 3, len(words))):
        if words[place].low == "except":
            start = place + 1 + (low(words, place + 1) == "for")
            near = words[start : start + 6]
            end = next((spot for spot, word in enumerate(near) if word.low in ".;:("), len(near))
            return tuple(
                word.text for word in near[:end] if word.low not in ("and", "or", ",", "the")
            )
    return ()
