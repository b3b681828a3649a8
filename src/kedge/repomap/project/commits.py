"""The form that a project's commit messages have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence

FEWEST = 5
MOST_READ = 200
_IGNORED = re.compile(r"Merge |Revert \"|Bump |v?\d+\.\d+")
_TYPES = "feat|fix|docs|chore|refactor|tests?|ci|build|perf|style|revert|deps|release"
_CONVENTIONAL = re.compile(rf"(?:{_TYPES})(?:\([^)]{{1,40}}\))?!?: ")
_TICKET = re.compile(r"\[?([A-Z][A-Z0-9]{1,9}-\d{1,7}|GH-\d{1,7}|#\d{1,7})\]?[: ]")
_STYLES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:Fixed|Refs|Fix|Closes) #\d+"), "issue first, such as `Fixed #123`"),
    (
        re.compile("(?::\\w{2,30}:|[\U0001f300-\U0001faff\u2600-\u27bf\u2b00-\u2bff]\ufe0f?) ?"),
        "gitmoji (an emoji first)",
    ),
    (re.compile(r"\[[\w ./,-]{2,30}\] "), "area in brackets first (`[area] message`)"),
    (re.compile(r"[\w./{}*-]{2,40}(?:, [\w./-]{2,40}){0,4}: \S"), "`package: message`"),
)


def commit_style(subjects: Sequence[str]) -> str | None:
    """The form that most of these commit subjects have, or None where there is none."""
    cleaned = [subject.strip()[:200] for subject in subjects[:MOST_READ]]
    kept = [subject for subject in cleaned if subject and not _IGNORED.match(subject)]
    if len(kept) < FEWEST:
        return None

    def most(pattern: re.Pattern[str]) -> bool:
        return sum(pattern.match(subject) is not None for subject in kept) * 10 >= len(kept) * 6

    if most(_CONVENTIONAL):
        scoped = sum("(" in subject.partition(":")[0] for subject in kept) * 2 > len(kept)
        return f"Conventional Commits (`{'type(scope)' if scoped else 'type'}: message`)"
    if most(_TICKET):
        found = next(match for subject in kept if (match := _TICKET.match(subject)))
        return f"ticket first, such as `{found.group(1)}`"
    return next((style for pattern, style in _STYLES if most(pattern)), None)
