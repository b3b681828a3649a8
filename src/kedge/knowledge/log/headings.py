"""Match the headings of a report to its fields: `Implementation Decisions` are decisions.

Implementers word the headings they were asked for in their own way. A heading is split into the
things it names, and each belongs to the first field below whose words it contains.
"""

from __future__ import annotations

import re

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
    (SELF_REVIEW, r"self (?:review|check|assessment)|own review|review (?:findings|notes)"),
    (DEVIATIONS, rf"(?:changes?|differences?|differs) (?:from|to|vs) {_PLAN}"),
    (DEVIATIONS, r"deviat\w*|diverg\w*|departures?|plan changes|off plan|scope changes"),
    (DECISIONS, r"decisions?|decided|choices?|rationale|trade ?offs?|reasoning|assumptions?"),
    (IMPLEMENTED, r"(?:issues?|bugs?|problems?) (?:fixed|resolved|addressed)"),
    (CONCERNS, r"not (?:done|tested|covered|implemented|verified|run)|untested"),
    (CONCERNS, r"did(?:n't| not) (?:test|do|run|cover|finish)|unverified"),
    (CONCERNS, r"open (?:questions?|items|points)|follow ?ups?|to ?dos?|tech(?:nical)? debt"),
    (CONCERNS, r"concerns?|issues?|problems?|risks?|questions?|blockers?|caveats?|limitations?"),
    (CONCERNS, r"warnings?|gotchas?|unresolved|outstanding|uncertaint\w+|worries|gaps|remaining"),
    (FILES, r"files(?: changed)?|file\(s\)|file (?:list|changes|summary|changed|paths)"),
    (OTHER, r"how to \w+|next steps?|commit message"),
    (TESTED, r"tests?|tested|testing|verification|verified|validation|validated|qa|checks"),
    (OTHER, r"report"),
    (IMPLEMENTED, r"what (?:i|we|was|got) (?:did|done|built|changed|made|added)|work (?:done|log)"),
    (IMPLEMENTED, r"implement(?:ed|ation|ing)|summary|overview|changes?|changed|completed|built"),
    (IMPLEMENTED, r"deliver(?:ed|ables?)|accomplish(?:ed|ments?)|approach|done"),
    (OTHER, r"status|result|outcome|verdict|commits?|branch|task|confidence|time spent"),
)
_KINDS = tuple((kind, re.compile(rf"(?<!\w)(?:{words})(?!\w)")) for kind, words in _WORDS)
# Words that may accompany those without changing which field a heading names.
_FILLERS = frozenset(
    """
    a about after all an and any are as at before changed changes code created design details did
    during edited files final findings for found from further i identified implementation
    implemented in integration is issues it key known list made main manual modified my new no
    notable of on open or other our passed performed plan possible potential raised results review
    run self spec summary taken task technical test tests that the to touched unit updated was we
    were what which with work you your
    """.split()  # noqa: SIM905 - easier on the eye
)
_PREFIX = re.compile(
    r"\A\W*(?:(?:step|part|section) )?(?:[0-9]{1,2}(?:\.[0-9]{1,2})*|[a-zA-Z])[.):] "
)
_ASIDE = re.compile(r"\((?!s\))[^()]{0,80}\)|\[[^\[\]]{0,80}\]")
_PARTS = re.compile(r"\s*(?:[/&+,;|]|\band\b|\bor\b|\bplus\b)\s*")
_MAX_CHARACTERS = 90  # of a heading
_MAX_UNKNOWN = 2  # unknown words allowed in a line that is certainly a heading


def match_fields(label: str, *, sure: bool = False) -> tuple[str, ...]:
    """Return the fields that a heading names, in order; OTHER if it names something else.

    `sure` says that the line is a heading by its form: it may contain a few unknown words.
    """
    if len(label) > _MAX_CHARACTERS:
        return ()
    found: dict[str, None] = {}
    for part in _PARTS.split(_normalize(label)):
        kind, unknown = _match_kind(part)
        if not sure and unknown:
            return ()
        if kind and unknown <= _MAX_UNKNOWN:
            found[kind] = None
    return tuple(found)


def _match_kind(part: str) -> tuple[str, int]:
    """Return the field that the part names, if any, and the number of unknown words beside it."""
    for kind, words in _KINDS:
        if match := words.search(part):
            return kind, _count_unknown(part[: match.start()] + part[match.end() :])
    return "", _count_unknown(part)


def _count_unknown(text: str) -> int:
    return sum(word not in _FILLERS and not word.isdecimal() for word in text.split())


def _normalize(label: str) -> str:
    """Return lower-case words without leading numbers, symbols and asides; fooBar is two words."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", _PREFIX.sub("", label.strip() + " ")).lower()
    text = re.sub(r"[^\w\s/&+,;'()|]|_", " ", _ASIDE.sub(" ", text.replace("’", "'")))
    return " ".join(text.replace("selfreview", "self review").split())
