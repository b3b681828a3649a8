"""What the headings of a report mean: `Implementation Decisions` are decisions, and so on.

Implementers write the headings that they were asked for in their own words. A heading is cut into
the things that it names, and each belongs to the first kind below whose words are in it.
"""

from __future__ import annotations

import re
from functools import lru_cache

IMPLEMENTED = "implemented"
TESTED = "tested"
FILES = "files"
SELF_REVIEW = "self_review"
DECISIONS = "decisions"
DEVIATIONS = "deviations"
CONCERNS = "concerns"
FIELDS = (IMPLEMENTED, TESTED, FILES, SELF_REVIEW, DECISIONS, DEVIATIONS, CONCERNS)
OTHER = "other"  # a heading that ends what was before it, and is none of these

_PLAN = r"(?:the )?(?:original |agreed )?(?:plan|design|spec\w*|brief|task|requirements?|tickets?)"
_WORDS = (
    (SELF_REVIEW, r"self (?:review|check|assessment|critique|audit|evaluation)|own review"),
    (SELF_REVIEW, r"review (?:findings|notes)|reflections?"),
    (
        DEVIATIONS,
        rf"(?:changes?|differences?|differs|different|variations?) (?:from|to|vs) {_PLAN}",
    ),
    (DEVIATIONS, r"deviat\w*|diverg\w*|departures?|plan changes|off plan|scope changes"),
    (DECISIONS, r"decisions?|decided|choices?|rationale|trade ?offs?|reasoning|assumptions?"),
    (IMPLEMENTED, r"(?:issues?|bugs?|problems?) (?:fixed|resolved|addressed)"),
    (CONCERNS, r"not (?:done|tested|covered|implemented|verified|run)|untested"),
    (CONCERNS, r"did(?:n't| not) (?:test|do|run|cover|finish)|unverified"),
    (CONCERNS, r"open (?:questions?|items|points)|follow ?ups?|to ?dos?|tech(?:nical)? debt"),
    (CONCERNS, r"notes? (?:for|to) (?:the )?(?:next|future|reviewers?|maintainers?)|heads up"),
    (CONCERNS, r"concerns?|issues?|problems?|risks?|questions?|blockers?|caveats?|limitations?"),
    (CONCERNS, r"warnings?|gotchas?|unresolved|outstanding|uncertaint\w+|worries|gaps|remaining"),
    (FILES, r"files(?: changed)?|file\(s\)|file (?:list|changes|summary|changed|paths)"),
    (
        FILES,
        r"diff ?stat|change ?set|(?:changed|modified) paths|paths (?:changed|modified|touched)",
    ),
    (OTHER, r"how to \w+|next steps?|commit message"),
    (TESTED, r"tests?|tested|testing|verification|verified|validation|validated|qa|checks"),
    (OTHER, r"report"),
    (IMPLEMENTED, r"what (?:i|we|was|got) (?:did|done|built|changed|made|added)|work (?:done|log)"),
    (IMPLEMENTED, r"implement(?:ed|ation|ing)|summary|overview|changes?|changed|completed|built"),
    (IMPLEMENTED, r"deliver(?:ed|ables?)|accomplish(?:ed|ments?)|approach|done"),
    (OTHER, r"status|result|outcome|verdict|commits?|branch|task|confidence|time spent"),
)
_KINDS = tuple((kind, re.compile(rf"(?<!\w)(?:{words})(?!\w)")) for kind, words in _WORDS)
_ANY = re.compile("|".join(words for _, words in _WORDS))
# Words that may stand beside those without making the heading one of something else.
_FILLERS = """
    a about above actually added affected after all an and any architectural architecture are
    areas as at automated be been before being below brief build by change changed changes
    check checklist code coverage created deleted design details detected did during edited
    encountered engineering evidence explicit far file files final findings for found from
    further future given got had has have how i i've identified if implementation implemented
    implementer implementing important in initial integration is issues it items its key known
    lint list log made main manual manually maybe minor modified my new no notable note noted
    notes of on open optional or original other our output overview passed passing per
    performed plan possible potential problems project raised regarding relevant remaining
    removed report result results review run self should significant so spec specification
    status steps summary taken task technical test tested testing tests that the there these
    this to touched type types unit until updated used was we we've were what when where which
    while why with work written you your
"""
_FILLER = frozenset(_FILLERS.split())
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = re.compile(
    r"\A\W*(?:(?:step|part|section) )?(?:[0-9]{1,2}(?:\.[0-9]{1,2})*|[a-zA-Z])[.):] "
)
_ASIDE = re.compile(r"\((?!s\))[^()]{0,80}\)|\[[^\[\]]{0,80}\]")
_SIGNS = re.compile(r"[^\w\s/&+,;'()|-]")
_PARTS = re.compile(r"\s*(?:[/&+,;|]|\band\b|\bor\b|\bplus\b)\s*")
_LONGEST = 90
_UNKNOWN = 2  # words that nobody knows, in a heading that is one for certain


def fields_of(label: str, *, sure: bool = False) -> tuple[str, ...]:
    """The fields that a heading names, in its order; OTHER for one that names something else.

    `sure` is for what is a heading by its form: it may have a few words of its own.
    """
    return _fields(label, sure) if 0 < len(label) <= _LONGEST else ()


@lru_cache(maxsize=4096)
def _fields(label: str, sure: bool) -> tuple[str, ...]:
    text = _normal(label)
    if not _ANY.search(text):
        return ()
    kinds = []
    for part in _PARTS.split(text):
        kind = _kind(part, _UNKNOWN if sure else 0)
        if kind is not None:
            kinds.append(kind)
        elif not sure and any(map(_is_strange, part.split())):
            return ()
    return tuple(dict.fromkeys(kinds))


def _kind(part: str, unknown: int) -> str | None:
    for kind, words in _KINDS:
        found = words.search(part)
        if found:
            rest = f"{part[: found.start()]} {part[found.end() :]}".split()
            if sum(_is_strange(word) for word in rest) <= unknown:
                return kind
    return None


def _is_strange(word: str) -> bool:
    return word.strip("'-()") not in _FILLER and not word.strip(".'-()#").isdecimal()


def _normal(label: str) -> str:
    """Lower case words: without numbers before them, signs and asides; fooBar is two."""
    text = _NUMBER.sub("", label.strip() + " ")
    text = _CAMEL.sub(" ", text).replace("_", " ").replace("’", "'").lower()
    text = _SIGNS.sub(" ", _ASIDE.sub(" ", text))
    return " ".join(text.replace("selfreview", "self review").replace("-", " ").split())
