"""Errors between an agent and its model provider, classified by HTTP status or by message.

Some agents report fields, others only a sentence. The patterns match what Codex, Gemini CLI,
Copilot and opencode print; anything else is `Reason.FAILED`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kedge.agents.launch.events import Reason
from kedge.host.text import shorten

_STATUS = re.compile(r"(?:\bstatus:? |\"code\": ?|\bAPI Error: )([45]\d\d)\b")
_STATUSES = {
    401: Reason.AUTH,
    402: Reason.AUTH,
    403: Reason.AUTH,
    413: Reason.TOO_LONG,
    429: Reason.RATE_LIMITED,
}
_KINDS = (
    (Reason.RATE_LIMITED, r"rate.?limit|usage limit|too many requests|resource.?exhausted"),
    (Reason.TOO_LONG, r"context window|context.?length|prompt (?:is|as) too long"),
    (
        Reason.AUTH,
        r"quota exceeded|credit balance|not logged in|unauthorized|api key|log ?in again",
    ),
    (
        Reason.UNAVAILABLE,
        r"overloaded|high demand|stream disconnected|timed out|connection|network",
    ),
)
_IN = re.compile(
    r"(?:try again|retry|resets?) in ((?:[\d.]{1,9} ?(?:ms|[smhd])[a-z]{0,11}[, ]{0,3}(?:and )?)+)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"([\d.]{1,9}) ?(ms|[smhd])", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_AT = re.compile(
    r"try again at (?:(\w{3}) (\d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}):(\d\d) ?([AP]M)",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


@dataclass(frozen=True, slots=True)
class ProviderFault:
    """What went wrong, in the agent's words, and the reason for its end."""

    message: str
    reason: Reason

    def resets_at(self, now: float) -> float | None:
        """Return when to try again, in seconds since 1970, if the message says so."""
        if found := _IN.search(self.message):
            try:
                spans = [(float(n), unit.lower()) for n, unit in _SPAN.findall(found[1])]
            except ValueError:
                return None
            return now + sum(n * _UNITS[unit] for n, unit in spans)
        return _clock(self.message, now)


def classify_fault(message: str, status: object = None) -> ProviderFault:
    """Return the fault that the HTTP status names or, without one, the message."""
    message = shorten(message[:20_000], 1000)
    if not isinstance(status, int):
        found = _STATUS.search(message)
        status = int(found[1]) if found else 0
    reason = Reason.UNAVAILABLE if status >= 500 else _STATUSES.get(status)
    return ProviderFault(message, reason or _classify_words(message))


def _classify_words(message: str) -> Reason:
    kinds = (reason for reason, words in _KINDS if re.search(words, message, re.IGNORECASE))
    return next(kinds, Reason.FAILED)


def _clock(message: str, now: float) -> float | None:
    """Return the time of day in the message, in local time; without a date, the next such time."""
    found = _AT.search(message)
    if not found:
        return None
    month, day, year, hour, minute, half = found.groups()
    here = datetime.fromtimestamp(now, UTC).astimezone()
    try:
        if month:
            here = here.replace(
                year=int(year), month=_MONTHS.index(month.lower()) + 1, day=int(day)
            )
        hours = int(hour) % 12 + (12 if half.upper() == "PM" else 0)
        then = here.replace(hour=hours, minute=int(minute), second=0, microsecond=0)
    except ValueError:
        return None
    if not month and then < here:
        then += timedelta(days=1)
    return then.timestamp()
