"""What happened in a session, as a table: each message, each straying, what lies between them."""

from __future__ import annotations

from collections import Counter

from kedge.drift.page.chart import ANSWERS, shape
from kedge.drift.page.markup import Html, join, tag
from kedge.drift.page.timeline import Mark, Run, Said, Stray
from kedge.host.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.account import Event, Rule, Step

_SAID = 600  # characters of a message that are shown
_LONG = 400  # of a command, of an agent's reasons, of evidence
_LINE = 110
_RULES = 5
_FILES = 12
_KINDS = 4


def story(marks: Sequence[Mark], name: str, lines: int) -> Html:
    """The table. Runs of quiet steps are listed as long as there are `lines` left for them."""
    head = [tag("th", title, scope="col") for title in ("step", "time (UTC)", "what", "score")]
    rows = []
    day = _at(marks[0])[:10] if marks else ""
    for mark in marks:
        if _at(mark)[:10] != day:
            day = _at(mark)[:10]
            rows.append(tag("tr", tag("th", day, colspan=4, scope="rowgroup"), class_="day"))
        if isinstance(mark, Said):
            rows.append(_said(mark, name))
        elif isinstance(mark, Stray):
            rows.append(_stray(mark, name))
        else:
            rows.append(_run(mark, name, lines))
            lines -= len(mark.steps)
    return tag(
        "table",
        tag("caption", "Each message, each straying, and what lies between them"),
        tag("thead", tag("tr", *head)),
        tag("tbody", *rows),
    )


def _at(mark: Mark) -> str:
    if isinstance(mark, Said):
        return mark.revision.at
    return mark.step.at if isinstance(mark, Stray) else mark.steps[0].at


def time(at: str, *, day: bool = False) -> Html:
    """A stamp as people read it."""
    shown = f"{at[:10]} {at[11:16]}" if day else at[11:19]
    return tag("time", shown, datetime=at)


def badge(level: str) -> Html:
    """A level as its sign and its name."""
    sign = tag("svg", shape(level), viewBox="-9 -9 18 18", width=14, height=14, aria_hidden="true")
    return tag("span", sign, level, class_=f"badge {level}")


def _said(mark: Said, name: str) -> Html:
    revision = mark.revision
    said = tag("q", shortened(revision.said, _SAID))
    return _row(
        f"{name}-said-{revision.revision}",
        "said",
        f"message {revision.revision}",
        revision.at,
        said,
    )


def _stray(mark: Stray, name: str) -> Html:
    step = mark.step
    why = f"{step.rules[0].rule}: {step.rules[0].evidence}" if step.rules else ""
    line = join((tag("code", shortened(step.what, _LINE)), " ", shortened(why, _LINE * 2)))
    inside = tag("details", tag("summary", line), *_facts(step, mark.event))
    score = join((tag("b", str(step.score)), " ", badge(mark.level)))
    return _row(f"{name}-{step.position}", mark.level, str(step.position), step.at, inside, score)


def _run(mark: Run, name: str, lines: int) -> Html:
    steps = mark.steps
    first, last = steps[0], steps[-1]
    number = str(first.position) if len(steps) == 1 else f"{first.position}–{last.position}"
    low, high = min(step.score for step in steps), max(step.score for step in steps)
    score = join((str(low) if low == high else f"{low}–{high}", " ", _grave(mark)))
    what: Html
    if len(steps) == 1:
        what = tag("code", shortened(first.what, _LINE))
    else:
        summary = f"{len(steps)} steps: {_kinds(steps)}"
        what = tag("span", summary)
        if mark.quiet and len(steps) <= lines:
            what = tag("details", tag("summary", summary), tag("ul", *map(_listed, steps)))
    return _row(f"{name}-{first.position}", mark.level, number, first.at, what, score)


def _grave(mark: Run) -> Html:
    return tag("span", "on course", class_="faint") if mark.quiet else badge(mark.level)


def _row(id_: str, class_: str, number: str, at: str, what: Html, score: str = "") -> Html:
    cells = (
        tag("th", number, scope="row"),
        tag("td", time(at)),
        tag("td", what),
        tag("td", score),
    )
    return tag("tr", *cells, id=id_, class_=class_)


def _facts(step: Step, event: Event | None) -> Iterator[Html]:
    """What there is to say about a step that strayed."""
    yield tag("table", tag("tbody", *map(_rule, step.rules[:_RULES])), class_="rules")
    if step.correction:
        yield tag("blockquote", _lines(step.correction))
    facts: list[tuple[str, str]] = [
        ("result", step.result),
        ("answer", ANSWERS[step.decision] if step.decision in ("ask", "deny") else ""),
        ("course", f"{event.before} → {event.after}" if event else ""),
        ("recovered", (event.recovered or "no") if event else ""),
        ("command", shortened(step.command, _LONG)),
        ("files", _some(step.files)),
        ("reasons", shortened(step.reasoning, _LONG)),
        ("subagent", step.subagent),
        ("not known", ", ".join(step.lacks)),
    ]
    yield tag("dl", *(join((tag("dt", key), tag("dd", value))) for key, value in facts if value))
    if step.recalled:
        found = [
            tag("li", f"{one.session[:8]}:{one.position}  {shortened(one.what, _LINE)} ({one.why})")
            for one in step.recalled
        ]
        yield join((tag("p", "Earlier steps that bear on it:"), tag("ul", *found)))


def _rule(rule: Rule) -> Html:
    return tag(
        "tr",
        tag("th", rule.rule, scope="row"),
        tag("td", shortened(rule.evidence, _LONG)),
        tag("td", f"−{rule.weight}"),
    )


def _lines(text: str) -> str:
    """A correction as it was given, within reason."""
    return text if len(text) <= 3 * _LONG else text[: 3 * _LONG].rstrip() + "…"


def _listed(step: Step) -> Html:
    return tag("li", f"{step.position}  ", tag("code", shortened(step.what, _LINE)))


def _kinds(steps: Sequence[Step]) -> str:
    found = Counter(step.kind for step in steps).most_common()
    named = [f"{count} {kind}" for kind, count in found[:_KINDS]]
    rest = sum(count for _, count in found[_KINDS:])
    return ", ".join([*named, f"{rest} other"] if rest else named)


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(shortened(path, _LINE) for path in paths[:_FILES])
    return f"{shown} and {len(paths) - _FILES} more" if len(paths) > _FILES else shown
