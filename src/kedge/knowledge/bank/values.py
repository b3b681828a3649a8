"""Parse the values of metadata fields: where and when something was observed, and how often."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from kedge.model.ids import is_id

FEATURE, TASK, DATE, TEXT, MISSING = "feature", "task", "date", "text", "missing"

# A number of something other than a feature.
_OTHER_NUMBER = re.compile(
    r"\b(?:PRs?|MRs?|GH|pull requests?|merge requests?|issues?|tickets?|bugs?|commits?|builds?"
    r"|runs?|incidents?|ADRs?|RFCs?|lines?|phases?|steps?|sprints?|iterations?|cycles?|versions?"
    r"|retros?)[ \t]{0,3}[-#:]?[ \t]{0,3}#?[0-9]+(?:(?:[ \t]?(?:,|and|&)[ \t]?){1,2}#[0-9]+)*",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"\bfeat(?:ure)?s?[ \t]{0,3}[:/-]?[ \t]{0,3}#?(?P<word>[0-9]{1,6})(?![0-9])"
    r"|(?<![\w#/])#(?P<sharp>[0-9]{1,6})(?![\w-])"
    r"|\bF-?(?P<letter>[0-9]{2,6})(?![\w])"
    r"|(?<![\w./-])(?P<folder>[0-9]{2,6})-[a-z][a-z0-9]*",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"[ \t]{0,3}(?:[-–]|to\b|through\b|,?[ \t]{0,3}(?:and\b|&)|[,/+;])[ \t]{0,3}"
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
_LONGEST = 2000  # characters of a value that are parsed


@dataclass(frozen=True, slots=True)
class Occasion:
    """Where and when something was observed, as far as the value says."""

    kind: str
    refs: tuple[str, ...] = ()  # numbers or names of features, or ids of tasks
    day: str = ""  # like 2026-01-31


def parse_occasion(value: str | None) -> Occasion:
    """Parse values such as `Feature #031`, `Task k-12`, `2026-01-31` or `March 2026`."""
    if value is None or not value.strip():
        return Occasion(MISSING)
    value = " ".join(value[:_LONGEST].replace("`", "").replace("*", "").split())
    day = _parse_day(value)
    if features := _parse_features(value):
        return Occasion(FEATURE, features, day)
    if tasks := _parse_tasks(value):
        return Occasion(TASK, tasks, day)
    if day:
        return Occasion(DATE, (), day)
    if named := _NAMED.match(value):
        return Occasion(FEATURE, (named["name"].rstrip("."),))
    return Occasion(TEXT)


def parse_count(value: str | None) -> int | None:
    """Return the first integer in the value."""
    match = _COUNT.search((value or "")[:_LONGEST])
    return int(match[0]) if match else None


def replace_count(value: str, number: int) -> str:
    """Return the value with its first integer replaced."""
    return _COUNT.sub(str(number), value, count=1)


def _parse_features(value: str) -> tuple[str, ...]:
    if re.fullmatch(r"#?[0-9]{1,6}", value):
        return (value.lstrip("#"),)
    others = [match.span() for match in _OTHER_NUMBER.finditer(value)]
    refs: dict[str, None] = {}
    position = 0
    while match := _FEATURE.search(value, position):
        position = match.end()
        if any(begin < match.end() and match.start() < end for begin, end in others):
            continue
        refs[match[match.lastgroup or 0]] = None
        while match["folder"] is None and (more := _MORE.match(value, position)):
            number = more["number"]
            if not more["sharp"] and re.fullmatch(r"(?:19|20)[0-9]{2}", number):
                break
            refs[number] = None
            position = more.end()
    return tuple(refs)


def _parse_tasks(value: str) -> tuple[str, ...]:
    ids = (match["id"].rstrip(".-_") for match in _TASK.finditer(value))
    return tuple(dict.fromkeys(one for one in ids if re.search("[0-9._-]", one) and is_id(one)))


def _parse_day(value: str) -> str:
    """Return the latest day in the value; a month without a day counts as its last day."""
    days = [_iso_day(y, m, d or "") for y, _, m, d in _ISO.findall(value)]
    for match in _DAY_MONTH.finditer(value):
        month = _MONTHS.index(match["month"].lower()) + 1
        days.append(_iso_day(match["year"], str(month), match["day"] or match["late"] or ""))
    return max(days, default="")


def _iso_day(year: str, month: str, day: str) -> str:
    try:
        if day:
            return date(int(year), int(month), int(day)).isoformat()
        first = date(int(year), int(month), 1)
        return ((first + timedelta(days=31)).replace(day=1) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return ""
