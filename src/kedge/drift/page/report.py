"""The report itself: what all sessions came to, then each with its course and its story."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path

from kedge.drift.course import LEVELS
from kedge.drift.page.chart import RANGES, chart
from kedge.drift.page.markup import Html, join, tag
from kedge.drift.page.story import badge, story, time
from kedge.drift.page.timeline import Mark, Said, Stray, marks, worst
from kedge.host.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.account import Account

# what a page has room for, whatever the number of its sessions
STRAYS = 400
MESSAGES = 400
LINES = 4_000  # of steps that did not stray
_HERE = Path(__file__).parent
_GOAL = 160  # characters
_TITLE = 80
_NAME = 24
_MANY = 40  # files, decisions and constraints of a session


def render(accounts: Sequence[Account], project: str) -> bytes:
    """The page. The same sessions give the same bytes."""
    style = Html((_HERE / "page.css").read_text(encoding="utf-8"))
    script = Html((_HERE / "filter.js").read_text(encoding="utf-8"))
    policy = (
        f"default-src 'none'; style-src {_allowed(style)}; script-src {_allowed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    title = f"Drift in {project}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )
    share = max(len(accounts), 1)
    room = STRAYS // share or 1, MESSAGES // share or 1, LINES // share
    body = tag(
        "body",
        tag("header", tag("h1", title), _told(accounts), _legend()),
        _index(accounts),
        _filter(),
        tag("main", *(_article(each, f"s{n}", room) for n, each in enumerate(accounts, 1))),
        tag("script", script),
    )
    page = f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
    return page.replace("</tr>", "</tr>\n").encode()


def _allowed(text: str) -> str:
    """The one inline text that the page's own policy lets through."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _told(accounts: Sequence[Account]) -> Html:
    steps = sum(len(each.steps) for each in accounts)
    strayed = sum(len(each.events) for each in accounts)
    review = sum(each.session.needs_review for each in accounts)
    last = max((each.session.checked_at for each in accounts), default="")
    counts = f"{_count(len(accounts), 'session')}, {_count(steps, 'step')}, {strayed} strayed"
    ask = f"{_count(review, 'session')} to review" if review else "nothing to review"
    return tag("p", f"{counts}; ", tag("strong", ask), ". Up to ", time(last, day=True), " UTC.")


def _legend() -> Html:
    def ranged(level: str) -> str:
        low, high = RANGES[level]
        return str(low) if low == high else f"{low}–{high}"

    levels = (tag("li", badge(level), f" {ranged(level)}") for level in LEVELS)
    signs = (
        "! a correction",
        "? the user was asked",
        "× the call was denied",
        "numbers on top: messages of the user",
    )
    return tag("ul", *levels, *(tag("li", sign) for sign in signs), class_="legend")


def _index(accounts: Sequence[Account]) -> Html:
    titles = ("session", "asked", "agent", "steps", "strayed", "worst", "score", "review")
    rows = []
    for number, each in enumerate(accounts, 1):
        head = each.session
        gravest = worst(event.level for event in each.events)
        cells = (
            tag("a", shortened(head.short, _NAME), href=f"#s{number}"),
            shortened(head.goal, _TITLE) or "nothing yet",
            shortened(head.agent, _NAME),
            str(len(each.steps)),
            str(len(each.events)),
            badge(gravest),
            f"{head.score:g}",
            "yes" if head.needs_review else "",
        )
        rows.append(tag("tr", *(tag("td", cell) for cell in cells)))
    return tag(
        "nav",
        tag(
            "table",
            tag("caption", "Sessions, the latest first"),
            tag("thead", tag("tr", *(tag("th", title, scope="col") for title in titles))),
            tag("tbody", *rows),
        ),
        aria_label="Sessions",
    )


def _filter() -> Html:
    """Shown by the script, because it does nothing without it."""
    options = (("", "all sessions"), ("strayed", "that strayed"), ("review", "to review"))
    choice = tag(
        "select", *(tag("option", told, value=value) for value, told in options), name="which"
    )
    return tag(
        "form",
        tag("label", "Show ", choice),
        tag("label", "with the words ", tag("input", name="words", type="search")),
        tag("output", ""),
        id="filter",
        hidden=True,
    )


def _article(account: Account, name: str, room: tuple[int, int, int]) -> Html:
    strays, messages, lines = room
    head = account.session
    found = marks(account, strays, messages)
    label = f"Course of session {head.short}; the table below says the same"
    drawing = tag(
        "div",
        chart(found, name, label),
        class_="chart",
        tabindex="0",
        role="region",
        aria_label=f"Course of session {head.short}, to be scrolled sideways",
    )
    kinds = [*(["strayed"] if account.events else []), *(["review"] if head.needs_review else [])]
    forbidden = [f"“{shortened(each.quote, 2 * _GOAL)}”" for each in account.constraints]
    return tag(
        "article",
        tag("h2", shortened(head.goal, _GOAL) or f"Session {head.short}"),
        _facts(account),
        _list("why", "To review", head.why),
        _list("forbidden", "In force", forbidden),
        drawing,
        *_left_out(account, found),
        story(found, name, lines),
        *_closing(account),
        id=name,
        data_kinds=" ".join(kinds),
    )


def _left_out(account: Account, found: Sequence[Mark]) -> Iterator[Html]:
    """What a long session had no room for, and where it is."""
    strays = len(account.events) - sum(isinstance(mark, Stray) for mark in found)
    messages = len(account.revisions) - sum(isinstance(mark, Said) for mark in found)
    told = [
        *([f"{_count(strays, 'straying')} among others"] if strays > 0 else []),
        *([f"{_count(messages, 'message')} left out"] if messages else []),
    ]
    if told:
        command = tag("code", f"kedge drift explain {account.session.short} --json")
        yield tag("p", f"{', '.join(told)}: ", command, " has all.", class_="faint")


def _facts(account: Account) -> Html:
    head = account.session
    last = head.ended_at or head.checked_at
    facts: list[tuple[str, str]] = [
        ("session", tag("code", head.id)),
        ("agent", head.agent),
        ("task", head.task or ""),
        ("status", head.status),
        ("course", f"{head.course}, {head.score:g} of 10"),
        ("policy", head.policy),
        ("steps", str(len(account.steps))),
        ("from", join((time(head.started_at, day=True), " to ", time(last, day=True), " UTC"))),
    ]
    pairs = (tag("div", tag("dt", key), tag("dd", value)) for key, value in facts if value)
    return tag("dl", *pairs, class_="facts")


def _closing(account: Account) -> Iterator[Html]:
    files = account.files
    decisions = [
        f"step {step.position}: {shortened(step.what, _GOAL)}" for step in account.decisions
    ]
    for title, found in (("Changed files", files), ("Decisions", decisions)):
        if found:
            told = tag("summary", f"{title} ({len(found)})")
            yield tag("details", told, _items(found))


def _list(class_: str, title: str, found: Sequence[str]) -> Html:
    if not found:
        return Html()
    return tag("section", tag("h3", title), _items(found), class_=class_)


def _items(found: Sequence[str]) -> Html:
    """The latest of them; the command has them all."""
    left = len(found) - _MANY
    more = [tag("li", f"and {left} before: kedge drift explain")] if left > 0 else []
    return tag("ul", *more, *(tag("li", shortened(one, 2 * _GOAL)) for one in found[-_MANY:]))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
