"""Results and severities of reviews, and the words that reviewers use for them."""

from __future__ import annotations

import re

APPROVED, WITH_NOTES, FAILED = "approved", "approved-with-notes", "failed"
RESULTS = (APPROVED, WITH_NOTES, FAILED)
BLOCKER, MAJOR, MINOR, NOTE = "blocker", "major", "minor", "note"
SEVERITIES = (BLOCKER, MAJOR, MINOR, NOTE)

_SYNONYMS = {
    BLOCKER: "blocker blockers blocking critical crit fatal error errors severe showstopper p0 "
    "sev0 sev1 must must-fix mustfix s1",
    MAJOR: "major high warning warnings warn important serious p1 sev2 should should-fix moderate "
    "s2",
    MINOR: "minor medium med low p2 p3 sev3 sev4 could trivial s3",
    NOTE: "note notes info information informational nit nits nitpick nitpicks suggestion "
    "suggestions observation observations comment comments p4 optional consider question praise",
}
_SEVERITY = {word: kind for kind, words in _SYNONYMS.items() for word in words.split()}
_NO_ISSUES = re.compile(
    r"\b(?:no|without|zero|0|any|none of the)\b[ \t]+(?:\w+[ \t]+){0,2}"
    r"(?:issues?|blockers?|failures?|findings?|concerns?|problems?|changes?)(?:[ \t]+\w+){0,2}"
)
_NEGATIVE = re.compile(
    r"\bnot[ \t]+(?:yet[ \t]+)?(?:approved?|ready|accept\w*|pass\w*)|\b(?:can't|cannot|don't|won't)"
    r"[ \t]+(?:approve|accept)|\b(?:changes?|revisions?)[ \t]+(?:are[ \t]+)?(?:requested|required|"
    r"needed|necessary)|\brequest(?:ing|ed|s)?[ \t_-]changes|\bneeds?[ \t_-](?:\w+[ \t])?(?:"
    r"changes|work|revision|rework|fix\w*)|\breject(?:ed|s)?\b|\bfail(?:s|ed|ure|ing)?\b|\bblocked\b|"
    r"\bno[- ]go\b|\bden(?:ied|y)\b|\bdeclined?\b|\brevise\b|\bfalse\b|\bunapproved\b|❌|🔴|⛔"
)
_POSITIVE = re.compile(
    r"\bapprov(?:e|es|ed|al|ing)\b|\blgtm\b|\bpass(?:es|ed|ing)?\b|\baccept(?:s|ed|able)?\b|"
    r"\blooks good\b|\bship[ \t]it\b|\bready\b|\btrue\b|\byes\b|\bok(?:ay)?\b|✅|🟢|👍"
)
_QUALIFIED = re.compile(
    r"\bwith\b|\bbut\b|\bminor\b|\bnits?\b|\bcomments?\b|\bnotes?\b|\bsuggestions?\b|\bcaveats?\b|"
    r"\bconditional\w*|\bconditions?\b|\breservations?\b|\bwarnings?\b"
)
_WITHOUT = re.compile(r"\bwith(?:out| no)\b[^.;,]{0,40}")


def parse_severity(word: str) -> str | None:
    """Return the severity that a word stands for, on any common scale; None if it is none."""
    return _SEVERITY.get(word.strip().strip("[]()*_:`!.").lower())


def parse_verdict(words: str) -> str | None:
    """Return the result that the words of a verdict express; None if they express none."""
    text = words.lower().replace("’", "'").replace("_", " ")
    if text.strip().replace(" ", "-") in RESULTS:
        return text.strip().replace(" ", "-")
    if text.strip(" .!*`\"'") in ("no", "nope"):
        return FAILED
    without = _NO_ISSUES.sub(" clean ", _WITHOUT.sub(" ", text))
    if _NEGATIVE.search(without):
        return FAILED
    if _POSITIVE.search(without):
        return WITH_NOTES if _QUALIFIED.search(without) else APPROVED
    return APPROVED if without.strip() == "clean" else None
