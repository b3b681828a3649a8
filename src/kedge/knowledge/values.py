"""What the values of an entry say: which features, which day, how often."""

from __future__ import annotations

import re
from datetime import date, timedelta

from kedge.host.record import NamedTuple
from kedge.model.ids import is_id

FEATURE, TASK, DATE, TEXT, MISSING = "feature", "task", "date", "text", "missing"

# A number that belongs to something else than a feature.
_OTHER = re.compile(
    r"\b(?:PRs?|MRs?|GH|pull requests?|merge requests?|issues?|tickets?|bugs?|commits?|builds?"
    r"|runs?|incidents?|ADRs?|RFCs?|lines?|phases?|steps?|sprints?|iterations?|cycles?|versions?"
    r"|retros?)[ \t]{0,3}[-#:]?[ \t]{0,3}#?[0-9]+(?:(?:[ \t]?(?:,|and|&)[ \t]?){1,2}#[0-9]+)*",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"\bfeat(?:ure)?s?[ \t]{0,3}[:/-]?[ \t]{0,3}#?(?P<said>[0-9]{1,6})(?![0-9])"
    r"|(?<![\w#/])#(?P<sharp>[0-9]{1,6})(?![\w-])"
    r"|\bF-?(?P<letter>[0-9]{2,6})(?![\w])"
    r"|(?<![\w./-])(?P<folder>[0-9]{2,6})-[a-z][a-z0-9]*",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"[ \t]{0,3}(?:(?P<to>[-–]|to\b|through\b)|,?[ \t]{0,3}(?:and\b|&)|[,/+;])[ \t]{0,3}"
    r"(?P<sharp>#?)(?P<number>[0-9]{1,6})(?![\w]|[-/.][0-9])",
    re.IGNORECASE,
)
_NAMED = re.compile(r"feature:?[ \t]{1,3}(?P<name>[A-Za-z0-9][\w.-]{0,79})\.?\Z", re.IGNORECASE)
_TASK = re.compile(
    r"\btasks?[ \t]{0,3}[#:]?[ \t]{0,3}(?P<id>[A-Za-z0-9][\w.-]{0,63})", re.IGNORECASE
)
_ISO = re.compile(r"(?<![\w.-])([12][0-9]{3})([-/.])([01]?[0-9])(?:\2([0-3]?[0-9]))?(?![0-9])")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_WORD = r"(?P<month>" + "|".join(_MONTHS) + r")[a-z]{0,6}\.?"
_DAY_MONTH = re.compile(
    rf"\b(?:(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?[ -])?{_WORD}[ -]"
    r"(?:(?P<late>[0-3]?[0-9])(?:st|nd|rd|th)?,? )?,?(?P<year>[12][0-9]{3})\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"(?<![\w.,-])[0-9]{1,9}(?!\w*[0-9]|[.,][0-9])")
_LONGEST = 2000  # letters of a value that are looked at


class Seen(NamedTuple):
    """Where and when something was observed, as far as the text tells."""

    kind: str
    refs: tuple[str, ...] = ()  # numbers or names of features, or ids of tasks
    day: str = ""  # as 2026-01-31


def seen(value: str | None) -> Seen:
    if value is None or not value.strip():
        return Seen(MISSING)
    value = " ".join(value[:_LONGEST].replace("`", "").replace("*", "").split())
    day = _day(value)
    if found := _features(value):
        return Seen(FEATURE, found, day)
    if tasks := _tasks(value):
        return Seen(TASK, tasks, day)
    if day:
        return Seen(DATE, (), day)
    if named := _NAMED.match(value):
        return Seen(FEATURE, (named["name"].rstrip("."),))
    return Seen(TEXT)


def count(value: str | None) -> int | None:
    """The first whole number in the value."""
    found = _COUNT.search((value or "")[:_LONGEST])
    return int(found[0]) if found else None


def counted(value: str, number: int) -> str:
    """The value with its first whole number replaced."""
    return _COUNT.sub(str(number), value, count=1)


def _features(value: str) -> tuple[str, ...]:
    if re.fullmatch(r"#?[0-9]{1,6}", value):
        return (value.lstrip("#"),)
    others = [found.span() for found in _OTHER.finditer(value)]
    found: dict[str, None] = {}
    place = 0
    while match := _FEATURE.search(value, place):
        place = match.end()
        if any(begin < match.end() and match.start() < end for begin, end in others):
            continue
        last = match[match.lastgroup or 0]
        found[last] = None
        while match["folder"] is None and (more := _MORE.match(value, place)):
            number = more["number"]
            if not more["sharp"] and re.fullmatch(r"(?:19|20)[0-9]{2}", number):
                break
            found.update(dict.fromkeys(_between(last, number) if more["to"] else (number,)))
            last, place = number, more.end()
    return tuple(found)


def _between(first: str, last: str) -> list[str]:
    begin, end = int(first), int(last)
    if not begin < end < begin + 50:
        return [last]
    return [str(number).zfill(len(first)) for number in range(begin + 1, end)] + [last]


def _tasks(value: str) -> tuple[str, ...]:
    ids = (found["id"].rstrip(".-_") for found in _TASK.finditer(value))
    return tuple(dict.fromkeys(one for one in ids if re.search("[0-9._-]", one) and is_id(one)))


def _day(value: str) -> str:
    """The latest day that is named; the last of a month that is named alone."""
    days = [_valid(y, m, d or "") for y, _, m, d in _ISO.findall(value)]
    for found in _DAY_MONTH.finditer(value):
        month = _MONTHS.index(found["month"].lower()) + 1
        days.append(_valid(found["year"], str(month), found["day"] or found["late"] or ""))
    return max(days, default="")


def _valid(year: str, month: str, day: str) -> str:
    try:
        if day:
            return date(int(year), int(month), int(day)).isoformat()
        first = date(int(year), int(month), 1)
        return ((first + timedelta(days=31)).replace(day=1) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return ""
