"""The report page: a summary of all sessions, then each one with its course and its story."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.drift.course import LEVELS
from kedge.drift.report.chart import ANSWERS, RANGES, SIGNS, render_chart
from kedge.drift.report.markup import Html, join, tag
from kedge.drift.report.story import render_badge, render_story, render_time
from kedge.drift.report.timeline import Mark, MessageMark, StrayMark, build_marks, find_worst
from kedge.host.text import count_noun, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.report.account import Account


# what a page has room for, however many sessions it shows
STRAYS = 400
MESSAGES = 400
LINES = 4_000  # steps that did not stray
_HERE = Path(__file__).parent
_GOAL = 160  # characters
_TITLE = 80
_NAME = 24
_MANY = 40  # files, decisions and limits of a session


def render_page(accounts: Sequence[Account], project: str) -> bytes:
    """Render the page. The same sessions give the same bytes."""
    style = Html((_HERE / "page.css").read_text(encoding="utf-8"))
    script = Html((_HERE / "filter.js").read_text(encoding="utf-8"))
    policy = (
        f"default-src 'none'; style-src {_allow(style)}; script-src {_allow(script)}; "
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
        tag("header", tag("h1", title), _render_summary(accounts), _render_legend()),
        _render_index(accounts),
        _render_filter(),
        tag("main", *(_render_article(each, f"s{n}", room) for n, each in enumerate(accounts, 1))),
        tag("script", script),
    )
    page = f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
    return page.replace("</tr>", "</tr>\n").encode()


def _allow(text: str) -> str:
    """Return the source expression that allows this inline text in the page's security policy."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _render_summary(accounts: Sequence[Account]) -> Html:
    steps = sum(len(each.steps) for each in accounts)
    strayed = sum(len(each.events) for each in accounts)
    review = sum(each.session.needs_review for each in accounts)
    last = max((each.session.checked_at for each in accounts), default="")
    counts = f"{count_noun(len(accounts), 'session')}, {count_noun(steps, 'step')}"
    counts += f", {strayed} strayed"
    ask = f"{count_noun(review, 'session')} to review" if review else "nothing to review"
    return tag(
        "p", f"{counts}; ", tag("strong", ask), ". Up to ", render_time(last, day=True), " UTC."
    )


def _render_legend() -> Html:
    def show_range(level: str) -> str:
        low, high = RANGES[level]
        return str(low) if low == high else f"{low}–{high}"

    levels = (tag("li", render_badge(level), f" {show_range(level)}") for level in LEVELS)
    signs = [f"{SIGNS[answer]} {meaning}" for answer, meaning in ANSWERS.items()]
    signs.append("numbers on top: messages of the user")
    return tag("ul", *levels, *(tag("li", sign) for sign in signs), class_="legend")


def _render_index(accounts: Sequence[Account]) -> Html:
    titles = ("session", "asked", "agent", "steps", "strayed", "worst", "score", "review")
    rows = []
    for number, each in enumerate(accounts, 1):
        head = each.session
        gravest = find_worst(event.level for event in each.events)
        cells = (
            tag("a", shorten(head.short, _NAME), href=f"#s{number}"),
            shorten(head.goal, _TITLE) or "nothing yet",
            shorten(head.agent, _NAME),
            str(len(each.steps)),
            str(len(each.events)),
            render_badge(gravest),
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


def _render_filter() -> Html:
    """Render the filter; the script shows it, because it does nothing without the script."""
    options = (("", "all sessions"), ("strayed", "that strayed"), ("review", "to review"))
    choice = tag(
        "select", *(tag("option", label, value=value) for value, label in options), name="which"
    )
    return tag(
        "form",
        tag("label", "Show ", choice),
        tag("label", "with the words ", tag("input", name="words", type="search")),
        tag("output", ""),
        id="filter",
        hidden=True,
    )


def _render_article(account: Account, name: str, room: tuple[int, int, int]) -> Html:
    strays, messages, lines = room
    head = account.session
    found = build_marks(account, strays, messages)
    label = f"Course of session {head.short}; the table below says the same"
    drawing = tag(
        "div",
        render_chart(found, name, label),
        class_="chart",
        tabindex="0",
        role="region",
        aria_label=f"Course of session {head.short}, to be scrolled sideways",
    )
    kinds = [*(["strayed"] if account.events else []), *(["review"] if head.needs_review else [])]
    forbidden = [f"“{shorten(each.quote, 2 * _GOAL)}”" for each in account.limits]
    return tag(
        "article",
        tag("h2", shorten(head.goal, _GOAL) or f"Session {head.short}"),
        _render_facts(account),
        _render_list("why", "To review", head.why),
        _render_list("forbidden", "In force", forbidden),
        drawing,
        *_render_omissions(account, found),
        render_story(found, name, lines),
        *_render_results(account),
        id=name,
        data_kinds=" ".join(kinds),
    )


def _render_omissions(account: Account, found: Sequence[Mark]) -> Iterator[Html]:
    """Yield a note on what a long session had no room for, and where to find it."""
    strays = len(account.events) - sum(isinstance(mark, StrayMark) for mark in found)
    messages = len(account.revisions) - sum(isinstance(mark, MessageMark) for mark in found)
    notes = [
        *([f"{count_noun(strays, 'drifting step')} grouped with others"] if strays > 0 else []),
        *([f"{count_noun(messages, 'message')} left out"] if messages else []),
    ]
    if notes:
        command = tag("code", f"kedge drift explain {account.session.short} --json")
        yield tag("p", f"{', '.join(notes)}: ", command, " has all.", class_="faint")


def _render_facts(account: Account) -> Html:
    head = account.session
    ended = render_time(head.ended_at or head.checked_at, day=True)
    facts: list[tuple[str, str]] = [
        ("session", tag("code", head.id)),
        ("agent", head.agent),
        ("task", head.task or ""),
        ("status", head.status),
        ("course", f"{head.course}, {head.score:g} of 10"),
        ("policy", head.policy),
        ("steps", str(len(account.steps))),
        ("from", join((render_time(head.started_at, day=True), " to ", ended, " UTC"))),
    ]
    pairs = (tag("div", tag("dt", key), tag("dd", value)) for key, value in facts if value)
    return tag("dl", *pairs, class_="facts")


def _render_results(account: Account) -> Iterator[Html]:
    decisions = [f"step {step.position}: {shorten(step.what, _GOAL)}" for step in account.decisions]
    for title, found in (("Changed files", account.files), ("Decisions", decisions)):
        if found:
            heading = tag("summary", f"{title} ({len(found)})")
            yield tag("details", heading, _render_items(found))


def _render_list(class_: str, title: str, found: Sequence[str]) -> Html:
    if not found:
        return Html()
    return tag("section", tag("h3", title), _render_items(found), class_=class_)


def _render_items(found: Sequence[str]) -> Html:
    """Render the latest items; the command shows all."""
    left = len(found) - _MANY
    more = [tag("li", f"and {left} before: kedge drift explain")] if left > 0 else []
    return tag("ul", *more, *(tag("li", shorten(one, 2 * _GOAL)) for one in found[-_MANY:]))
