"""The first page: sessions at work, and those before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kedge.drift.report import account
from kedge.drift.report.chart import RANGES
from kedge.model.ids import is_id
from kedge.store import overview, sessions
from kedge.web import shapes
from kedge.web.acts import list_acts
from kedge.web.pages.usage import find_usage
from kedge.web.routes import write_path

if TYPE_CHECKING:
    from markupsafe import Markup

    from kedge.drift.report.account import RecordedStep, SessionStatus
    from kedge.store.acts import ActRecord
    from kedge.web.pages.usage import UsedTokens
    from kedge.web.routes import Target
    from kedge.web.source import Source

SHOWN = ("strayed", "review")
_ACTIVE = 40  # sessions at work that are shown
_PAGE = 20  # sessions before them
_SCORES = 40  # of a session's line
_ACTS = 5


class Stray(NamedTuple):
    """Where a session strayed last, and why."""

    position: int
    level: str
    why: str


@dataclass(frozen=True, slots=True)
class SessionCard:
    """A session at work."""

    status: SessionStatus
    limits: int
    line: Markup
    ring: Markup
    last: RecordedStep | None
    stray: Stray | None
    usage: UsedTokens | None
    money: float | None  # that runs have spent on its task
    work_tree: str

    @property
    def level(self) -> str:
        return find_level(self.status.score)


def find_level(score: float) -> str:
    """Return the level of correction that a score stands for."""
    return next((name for name, (low, _) in RANGES.items() if score >= low), "halt")


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    words, show = target.text("q"), target.choice("show", SHOWN)
    skip = target.number("skip")
    active, silent = _split_active(source)
    since = source.since
    past = overview.list_past(source.db, since, words=words, show=show, skip=skip, most=_PAGE + 1)
    if not skip and not words and not show:
        past = [*silent, *past]
    count, steps = overview.count_sessions(source.db)
    errors = overview.last_errors(source.db, 1)
    more = len(past) > _PAGE
    return "now.html", {
        "title": "Now",
        "cards": [_build_card(source, row, status) for row, status in active],
        "past": [source.describe_session(row) for row in past[:_PAGE] if row],
        "words": words,
        "show": show,
        "count": count,
        "steps": steps,
        "newer": write_path("", q=words, show=show, skip=max(0, skip - _PAGE)) if skip else "",
        "older": write_path("", q=words, show=show, skip=skip + _PAGE) if more else "",
        "acts": [(one, _link_act(one)) for one in list_acts(source)[:_ACTS]],
        "error": errors[0] if errors else None,
    }


def _split_active(
    source: Source,
) -> tuple[list[tuple[dict[str, Any], SessionStatus]], list[dict[str, Any]]]:
    """Return the sessions at work with their status, and those whose agent is gone."""
    rows = overview.list_active(source.db, source.since, _ACTIVE)
    pairs = [(row, source.describe_session(row)) for row in rows]
    active = [(row, status) for row, status in pairs if status.status == account.ACTIVE]
    return active, [row for row, status in pairs if status.status != account.ACTIVE]


def _build_card(source: Source, row: dict[str, Any], status: SessionStatus) -> SessionCard:
    last = sessions.steps(source.db, row["id"], last=1)
    scores = overview.last_scores(source.db, row["id"], _SCORES)
    root = str(source.project.root)
    return SessionCard(
        status,
        len(row["limits"]),
        shapes.draw_scores(scores, f"Scores of the last {len(scores)} steps"),
        shapes.draw_ring(status.score / 10, find_level(status.score)),
        account.build_step(last[0]) if last else None,
        _find_stray(source, row["id"]),
        find_usage(row),
        _sum_money(source, status.task),
        "" if row["project"] == root else row["project"].rpartition("/")[2],
    )


def _link_act(act: ActRecord) -> str:
    """Return the page of what an act was done to."""
    if act.kind == "lift":
        return write_path("sessions", act.target.rpartition(":")[0])
    pages = {"resolve": "handoffs", "stop": "runs"}
    return write_path(pages[act.kind], act.target) if act.kind in pages else "/kedge/knowledge"


def _find_stray(source: Source, session: str) -> Stray | None:
    for position, level, _ in overview.list_strays(source.db, session, 1):
        rows = overview.steps_between(source.db, session, position, position)
        step = account.build_step(rows[0])
        why = f"{step.rules[0].rule}: {step.rules[0].evidence}" if step.rules else step.what
        return Stray(position, level, why)
    return None


def _sum_money(source: Source, task: str | None) -> float | None:
    """Return what the attempts at a task have cost, as far as their agents said so."""
    attempts = source.ledger.read(task)[0] if task and is_id(task) else []
    costs = [one.cost_usd for one in attempts if one.cost_usd is not None]
    return sum(costs) if costs else None
