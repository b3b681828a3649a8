"""The common style of a project's commit messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

FEWEST = 5
MOST_READ = 200
_TYPE_NAMES = "feat fix docs chore refactor test tests ci build perf style revert deps release"
_TYPES = frozenset(_TYPE_NAMES.split())
_TICKET = r"\[?([A-Z][A-Z0-9]{1,9}-\d{1,7}|GH-\d{1,7}|#\d{1,7})\]?[: ]"
_STYLES: tuple[tuple[str, str], ...] = (
    (r"(?:Fixed|Refs|Fix|Closes) #\d+", "issue first, such as `Fixed #123`"),
    (
        "(?::\\w{2,30}:|[\U0001f300-\U0001faff\u2600-\u27bf\u2b00-\u2bff]\ufe0f?) ?",
        "gitmoji (an emoji first)",
    ),
    (r"\[[\w ./,-]{2,30}\] ", "area in brackets first (`[area] message`)"),
    (r"[\w./{}*-]{2,40}(?:, [\w./-]{2,40}){0,4}: \S", "`package: message`"),
)


def commit_style(subjects: Sequence[str]) -> str | None:
    """The style of most of these commit subjects, or None."""
    cleaned = [subject.strip()[:200] for subject in subjects[:MOST_READ]]
    kept = [subject for subject in cleaned if subject and not _is_automatic(subject)]
    if len(kept) < FEWEST:
        return None

    def most(matches: Callable[[str], object]) -> bool:
        return sum(bool(matches(subject)) for subject in kept) * 10 >= len(kept) * 6

    if most(_is_conventional):
        scoped = sum("(" in subject.partition(":")[0] for subject in kept) * 2 > len(kept)
        return f"Conventional Commits (`{'type(scope)' if scoped else 'type'}: message`)"
    ticket = re.compile(_TICKET)
    if most(ticket.match):
        found = next(match for subject in kept if (match := ticket.match(subject)))
        return f"ticket first, such as `{found.group(1)}`"
    return next((style for pattern, style in _STYLES if most(re.compile(pattern).match)), None)


def _is_automatic(subject: str) -> bool:
    """True for the subjects of merges, releases and bots."""
    word = subject.partition(" ")[0].removeprefix("v")
    is_version = word[:1].isdigit() and "." in word
    return is_version or subject.startswith(("Merge ", 'Revert "', "Bump "))


def _is_conventional(subject: str) -> bool:
    head, colon, _ = subject.partition(": ")
    return bool(colon) and head.rstrip("!").partition("(")[0] in _TYPES
