"""Match the headings of a report to its fields: `Implementation Decisions` are decisions.

Implementers word the headings they were asked for in their own way. A heading is split into the
things it names, and each belongs to the first field below whose words it contains.
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
OTHER = "other"  # a heading of something else, which ends the field before it

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
# Words that may accompany those without changing which field a heading names.
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
_MAX_CHARACTERS = 90  # of a heading
_UNKNOWN = 2  # unknown words allowed in a line that is certainly a heading


def match_fields(label: str, *, sure: bool = False) -> tuple[str, ...]:
    """Return the fields that a heading names, in order; OTHER if it names something else.

    `sure` says that the line is a heading by its form: it may contain a few unknown words.
    """
    return _fields(label, sure) if 0 < len(label) <= _MAX_CHARACTERS else ()


@lru_cache(maxsize=4096)
def _fields(label: str, sure: bool) -> tuple[str, ...]:
    text = _normalize(label)
    if not _ANY.search(text):
        return ()
    kinds = []
    for part in _PARTS.split(text):
        kind = _kind(part, _UNKNOWN if sure else 0)
        if kind is not None:
            kinds.append(kind)
        elif not sure and any(map(_is_unknown, part.split())):
            return ()
    return tuple(dict.fromkeys(kinds))


def _kind(part: str, unknown: int) -> str | None:
    for kind, words in _KINDS:
        match = words.search(part)
        if match:
            rest = f"{part[: match.start()]} {part[match.end() :]}".split()
            if sum(_is_unknown(word) for word in rest) <= unknown:
                return kind
    return None


def _is_unknown(word: str) -> bool:
    return word.strip("'-()") not in _FILLER and not word.strip(".'-()#").isdecimal()


def _normalize(label: str) -> str:
    """Return lower-case words without leading numbers, symbols and asides; fooBar is two words."""
    text = _NUMBER.sub("", label.strip() + " ")
    text = _CAMEL.sub(" ", text).replace("_", " ").replace("’", "'").lower()
    text = _SIGNS.sub(" ", _ASIDE.sub(" ", text))
    return " ".join(text.replace("selfreview", "self review").replace("-", " ").split())
