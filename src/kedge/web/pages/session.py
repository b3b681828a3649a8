"""One session: its course, its steps, what the user asked and ruled out, what helped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kedge.drift.course import ON_COURSE
from kedge.drift.report import account
from kedge.drift.report.chart import ANSWERS, render_chart
from kedge.drift.report.timeline import build_marks
from kedge.drift.watch import limit_records
from kedge.store import overview, sessions
from kedge.web.acts import list_acts
from kedge.web.pages.now import find_level
from kedge.web.pages.usage import find_usage
from kedge.web.routes import Refused, write_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.report.account import Account, CharterRevision, DriftEpisode, RecordedStep
    from kedge.web.routes import Target
    from kedge.web.source import Source

WINDOW = 120  # steps of one page
_MARKS = 60  # of steps and of messages in the chart
_STRAYS = 60  # links to steps that strayed


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry of the timeline: a message of the user, or a step with its event."""

    message: CharterRevision | None = None
    step: RecordedStep | None = None
    event: DriftEpisode | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The positions of the steps that are shown, of all."""

    first: int
    last: int
    total: int


def choose_window(total: int, wanted: int) -> Window:
    """Return the page of steps that holds the wanted one; without one, the latest."""
    at = min(wanted, total) if wanted else total
    first = max(0, at - 1) // WINDOW * WINDOW + 1
    if not wanted:  # the latest steps, however many are on the last page
        first = max(1, total - WINDOW + 1)
    return Window(first, min(first + WINDOW - 1, total), total)


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    row = _find(source, target.item)
    name = row["id"]
    window = choose_window(overview.count_steps(source.db, name), target.number("step"))
    details = _read_account(source, row, window)
    return "session.html", {
        "title": details.session.goal or f"Session {details.session.short}",
        "session": details.session,
        "level": find_level(details.session.score),
        "chart": _draw_course(details),
        "moments": list(list_moments(details)),
        "revisions": details.revisions,
        "limits": limit_records.list_limits(source.db, name),
        "lifted_by": {
            one.target.removeprefix(f"{name}:"): one.actor
            for one in list_acts(source, "lift")
            if one.target.startswith(f"{name}:")
        },
        "corrections": [one for one in details.events if one.correction],
        "strays": overview.list_strays(source.db, name, _STRAYS),
        "strayed": overview.count_strays(source.db, name),
        "window": window,
        "older": write_path("sessions", name, step=window.first - 1) if window.first > 1 else "",
        "newer": write_path("sessions", name, step=window.last + 1)
        if window.last < window.total
        else "",
        "answers": ANSWERS,
        "usage": find_usage(row),
        "has_transcript": bool(row["transcript"]),
        "chosen": target.number("step"),
    }


def _find(source: Source, given: str) -> dict[str, Any]:
    row = overview.get_session(source.db, given)
    if row is None:
        names = sessions.find_ids(source.db, given)
        row = overview.get_session(source.db, names[0]) if len(names) == 1 else None
    if row is None:
        raise Refused(404, "there is no such session")
    return row


def _read_account(source: Source, row: dict[str, Any], window: Window) -> Account:
    """Return the account of the window; how it went on is looked up behind its end."""
    name = row["id"]
    steps = overview.steps_between(source.db, name, window.first, window.last)
    after = overview.next_on_course(source.db, name, window.last, ON_COURSE)
    events = overview.events_of(source.db, name, [one["id"] for one in steps])
    charters = sessions.charters(source.db, name)
    head = source.describe_session(row)
    details = account.build_account(head, row, charters, [*steps, *after], events)
    return account.Account(
        details.session,
        details.revisions,
        details.limits,
        details.steps[: len(steps)],
        details.events,
    )


def _draw_course(details: Account) -> str:
    from markupsafe import Markup

    found = build_marks(details, _MARKS, _MARKS)
    label = "Course of the session: each mark leads to its step"
    return Markup(render_chart(found, "s", label)) if found else ""  # noqa: S704 - it escapes


def list_moments(details: Account) -> Iterator[Moment]:
    """Yield messages and steps in order of time, the latest first."""
    events = {event.position: event for event in details.events}
    start = details.steps[0].at if details.steps else ""
    said: Sequence[CharterRevision] = [
        one for one in details.revisions if one.at >= start or one.revision == 1
    ]
    moments = [
        *((one.at, 0, Moment(message=one)) for one in said),
        *(
            (one.at, one.position, Moment(step=one, event=events.get(one.position)))
            for one in details.steps
        ),
    ]
    moments.sort(key=lambda each: each[:2], reverse=True)
    yield from (moment for _, _, moment in moments)
