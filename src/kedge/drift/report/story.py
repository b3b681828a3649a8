"""The story of a session as a table: messages, steps that strayed, and the steps in between."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kedge.drift.report.chart import ANSWERS, render_shape
from kedge.drift.report.markup import Html, join, tag
from kedge.drift.report.timeline import Mark, MessageMark, StepGroup, StrayMark
from kedge.host.text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.report.account import DriftEpisode, RecordedStep
    from kedge.drift.scoring import Penalty


_MESSAGE = 600  # characters of a message that are shown
_LONG = 400  # characters of a command, of reasoning, of evidence
_LINE = 110
_RULES = 5
_FILES = 12
_KINDS = 4


def render_story(marks: Sequence[Mark], name: str, lines: int) -> Html:
    """Return the table; steps on course are listed as long as there are `lines` left."""
    head = [tag("th", title, scope="col") for title in ("step", "time (UTC)", "what", "score")]
    rows = []
    day = _time_of(marks[0])[:10] if marks else ""
    for mark in marks:
        if _time_of(mark)[:10] != day:
            day = _time_of(mark)[:10]
            rows.append(tag("tr", tag("th", day, colspan=4, scope="rowgroup"), class_="day"))
        if isinstance(mark, MessageMark):
            rows.append(_render_message(mark, name))
        elif isinstance(mark, StrayMark):
            rows.append(_render_stray(mark, name))
        else:
            rows.append(_render_group(mark, name, lines))
            lines -= len(mark.steps)
    return tag(
        "table",
        tag("caption", "Messages, steps that strayed, and the steps in between"),
        tag("thead", tag("tr", *head)),
        tag("tbody", *rows),
    )


def _time_of(mark: Mark) -> str:
    if isinstance(mark, MessageMark):
        return mark.revision.at
    return mark.step.at if isinstance(mark, StrayMark) else mark.steps[0].at


def render_time(at: str, *, day: bool = False) -> Html:
    """Render a timestamp for people."""
    shown = f"{at[:10]} {at[11:16]}" if day else at[11:19]
    return tag("time", shown, datetime=at)


def render_badge(level: str) -> Html:
    """Render a level as its sign and its name."""
    sign = tag(
        "svg", render_shape(level), viewBox="-9 -9 18 18", width=14, height=14, aria_hidden="true"
    )
    return tag("span", sign, level, class_=f"badge {level}")


def _render_message(mark: MessageMark, name: str) -> Html:
    revision = mark.revision
    quote = tag("q", shorten(revision.said, _MESSAGE))
    number = revision.revision
    return _render_row(f"{name}-said-{number}", "said", f"message {number}", revision.at, quote)


def _render_stray(mark: StrayMark, name: str) -> Html:
    step = mark.step
    why = f"{step.rules[0].rule}: {step.rules[0].evidence}" if step.rules else ""
    line = join((tag("code", shorten(step.what, _LINE)), " ", shorten(why, _LINE * 2)))
    inside = tag("details", tag("summary", line), *_render_facts(step, mark.event))
    score = join((tag("b", str(step.score)), " ", render_badge(mark.level)))
    return _render_row(
        f"{name}-{step.position}", mark.level, str(step.position), step.at, inside, score
    )


def _render_group(mark: StepGroup, name: str, lines: int) -> Html:
    steps = mark.steps
    first, last = steps[0], steps[-1]
    number = str(first.position) if len(steps) == 1 else f"{first.position}–{last.position}"
    low, high = min(step.score for step in steps), max(step.score for step in steps)
    on_course = tag("span", "on course", class_="faint")
    level = on_course if mark.quiet else render_badge(mark.level)
    score = join((str(low) if low == high else f"{low}–{high}", " ", level))
    if len(steps) == 1:
        what = tag("code", shorten(first.what, _LINE))
    else:
        summary = f"{len(steps)} steps: {_count_kinds(steps)}"
        what = tag("span", summary)
        if mark.quiet and len(steps) <= lines:
            items = (
                tag("li", f"{step.position}  ", tag("code", shorten(step.what, _LINE)))
                for step in steps
            )
            what = tag("details", tag("summary", summary), tag("ul", *items))
    return _render_row(f"{name}-{first.position}", mark.level, number, first.at, what, score)


def _render_row(id_: str, class_: str, number: str, at: str, what: Html, score: str = "") -> Html:
    cells = (
        tag("th", number, scope="row"),
        tag("td", render_time(at)),
        tag("td", what),
        tag("td", score),
    )
    return tag("tr", *cells, id=id_, class_=class_)


def _render_facts(step: RecordedStep, event: DriftEpisode | None) -> Iterator[Html]:
    """Yield the details of a step that strayed."""
    yield tag("table", tag("tbody", *map(_render_rule, step.rules[:_RULES])), class_="rules")
    if step.correction:
        most = 3 * _LONG
        long = len(step.correction) > most
        yield tag("blockquote", step.correction[:most].rstrip() + "…" if long else step.correction)
    facts: list[tuple[str, str]] = [
        ("result", step.result),
        ("answer", ANSWERS[step.decision] if step.decision != "none" else ""),
        ("course", f"{event.before} → {event.after}" if event else ""),
        ("recovered", (event.recovered or "no") if event else ""),
        ("command", shorten(step.command, _LONG)),
        ("files", _list_files(step.files)),
        ("reasons", shorten(step.reasoning, _LONG)),
        ("subagent", step.subagent),
        ("not known", ", ".join(step.lacks)),
    ]
    yield tag("dl", *(join((tag("dt", key), tag("dd", value))) for key, value in facts if value))
    if step.recalled:
        found = [
            tag("li", f"{one.session[:8]}:{one.position}  {shorten(one.what, _LINE)} ({one.why})")
            for one in step.recalled
        ]
        yield join((tag("p", "Related earlier steps:"), tag("ul", *found)))


def _render_rule(rule: Penalty) -> Html:
    return tag(
        "tr",
        tag("th", rule.rule, scope="row"),
        tag("td", shorten(rule.evidence, _LONG)),
        tag("td", f"−{rule.weight}"),
    )


def _count_kinds(steps: Sequence[RecordedStep]) -> str:
    found = Counter(step.kind for step in steps).most_common()
    named = [f"{count} {kind}" for kind, count in found[:_KINDS]]
    rest = sum(count for _, count in found[_KINDS:])
    return ", ".join([*named, f"{rest} other"] if rest else named)


def _list_files(paths: Sequence[str]) -> str:
    shown = ", ".join(shorten(path, _LINE) for path in paths[:_FILES])
    return f"{shown} and {len(paths) - _FILES} more" if len(paths) > _FILES else shown
