"""The course of a session as a chart: time to the right, scores upwards, the state below."""

from __future__ import annotations

from itertools import groupby
from math import log2
from typing import TYPE_CHECKING

from kedge.drift.course import NORMAL
from kedge.drift.report.markup import Html, join, tag
from kedge.drift.report.timeline import Mark, MessageMark, StepGroup, StrayMark
from kedge.host.text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.report.account import RecordedStep


ANSWERS = {
    "none": "a correction",
    "ask": "the user was asked",
    "allowed": "the user was asked and allowed it",
    "deny": "the call was denied",
}
RANGES = {"none": (8, 10), "nudge": (7, 7), "correct": (5, 6), "intervene": (3, 4), "halt": (1, 2)}
_LEFT = 78  # where the first mark begins, right of the row labels
_TOP = 22
_ROW = 13  # height of one point of a score
_COLUMN = 18
_DOT = 10  # width of a step in a group
_DOTS = 12  # steps of a group that are drawn one by one; a longer one shows their number
_WIDE = 1_050  # the width that a short session is stretched to
_MOST_STRETCH = 2.5
_ANSWER_Y = _TOP + 10 * _ROW + 14
_STATE_Y = _ANSWER_Y + 16
_HEIGHT = _STATE_Y + 22
SIGNS = {"none": "!", "ask": "?", "allowed": "✓", "deny": "×"}
_TALL = {"NORMAL": 3, "DRIFTED": 9, "FORCED": 14}
_SHAPES = {
    "none": "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "nudge": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "correct": "M0-7L7 5H-7z",
    "intervene": "M0-8L8 0L0 8L-8 0z",
    "halt": "M-4-8H4L8-4V4L4 8H-4L-8 4V-4z",
}


def render_shape(level: str, x: float = 0, y: float = 0, *inside: str) -> Html:
    """Render the sign of a level; each level has a shape of its own."""
    return tag("path", *inside, d=_SHAPES[level], class_=level, transform=f"translate({x:g} {y:g})")


def render_chart(marks: Sequence[Mark], name: str, label: str) -> Html:
    """Render the chart; its marks link to the rows of the table with the same content."""
    places = list(_place_marks(marks))
    width = max([_LEFT + _WIDE, *(left + wide + 12 for _, left, wide in places[-1:])])
    inside = (
        *_draw_bands(width),
        *(tag("polyline", points=" ".join(each)) for each in _find_lines(places)),
        *_draw_states(places),
        *(_draw_mark(mark, left, wide, name) for mark, left, wide in places),
    )
    box = f"0 0 {width:g} {_HEIGHT}"
    return tag(
        "svg", *inside, role="group", aria_label=label, width=width, height=_HEIGHT, viewBox=box
    )


def _place_marks(marks: Sequence[Mark]) -> Iterator[tuple[Mark, float, float]]:
    """Yield each mark with its left edge and its width."""
    widths = [_width(mark) for mark in marks]
    times = min(_MOST_STRETCH, max(1, _WIDE / (sum(widths) or 1)))
    left: float = _LEFT
    for mark, width in zip(marks, widths, strict=True):
        wide = round(width * times)
        yield mark, left, wide
        left += wide


def _width(mark: Mark) -> float:
    if not isinstance(mark, StepGroup):
        return _COLUMN
    count = len(mark.steps)
    return max(_COLUMN, _DOT * count) if count <= _DOTS else _COLUMN + 10 * log2(count)


def _draw_bands(width: float) -> Iterator[Html]:
    for level, (low, high) in RANGES.items():
        top = _y(high) - _ROW / 2
        tall = (high - low + 1) * _ROW
        yield tag("rect", class_=f"band {level}", x=0, y=top, width=width, height=tall)
        yield tag("text", level, x=6, y=top + tall / 2 + 4)
    yield tag("text", "answer", x=6, y=_ANSWER_Y)
    yield tag("text", "course", x=6, y=_STATE_Y + 12)


def _find_lines(places: Sequence[tuple[Mark, float, float]]) -> Iterator[list[str]]:
    """Yield the points of each line from step to step; a message of the user starts a new one."""
    for said, group in groupby(places, key=lambda each: isinstance(each[0], MessageMark)):
        if not said:
            yield [f"{x:g},{_y(score):g}" for place in group for x, score in _find_points(*place)]


def _find_points(mark: Mark, left: float, wide: float) -> Iterator[tuple[float, int]]:
    """Yield the position and the score of each step of a mark."""
    if isinstance(mark, StrayMark):
        yield left + wide / 2, mark.step.score
    elif isinstance(mark, StepGroup) and len(mark.steps) > _DOTS:
        yield left + wide / 2, _lowest(mark)
    elif isinstance(mark, StepGroup):
        each = wide / len(mark.steps)
        for place, step in enumerate(mark.steps):
            yield left + each * (place + 0.5), step.score


def _draw_states(places: Sequence[tuple[Mark, float, float]]) -> Iterator[Html]:
    """Yield the states below their steps: the graver, the taller; labelled where there is room."""
    for state, group in groupby(places, key=lambda each: each[0].state):
        parts = list(group)
        left = parts[0][1]
        wide = parts[-1][1] + parts[-1][2] - left
        tall = _TALL.get(state, 3)
        place = {"x": left, "y": _STATE_Y + 16 - tall, "width": wide, "height": tall}
        yield tag("rect", tag("title", state), class_=f"state {state.lower()}", **place)
        if state != NORMAL:
            named = state if wide >= 52 else state[:1]
            yield tag("text", named, class_="named", x=left + wide / 2, y=_STATE_Y - 1)


def _draw_mark(mark: Mark, left: float, wide: float, name: str) -> Html:
    middle = left + wide / 2
    if isinstance(mark, MessageMark):
        inside = (
            tag("title", f"the user: {shorten(mark.revision.said, 120)}"),
            tag("line", x1=middle, x2=middle, y1=_TOP - 6, y2=_STATE_Y + 16),
            tag("text", str(mark.revision.revision), x=middle, y=_TOP - 9),
        )
        return _make_link(f"{name}-said-{mark.revision.revision}", "said", *inside)
    if isinstance(mark, StepGroup):
        return _draw_group(mark, left, wide, name)
    sign = render_shape(
        mark.level, middle, _y(mark.step.score), tag("title", _describe_stray(mark))
    )
    return _make_link(
        f"{name}-{mark.step.position}", "mark", sign, *_draw_answer(mark.step, middle)
    )


def _draw_answer(step: RecordedStep, middle: float) -> Iterator[Html]:
    """Yield the sign of the answer: a correction, a question to the user, or a denial."""
    if step.correction or step.decision != "none":
        title = tag("title", ANSWERS.get(step.decision, ""))
        yield tag(
            "text", title, SIGNS.get(step.decision, "!"), class_="answer", x=middle, y=_ANSWER_Y
        )


def _draw_group(mark: StepGroup, left: float, wide: float, name: str) -> Html:
    first, last, count = mark.steps[0].position, mark.steps[-1].position, len(mark.steps)
    target = f"{name}-{first}"
    if count <= _DOTS:
        points = zip(mark.steps, _find_points(mark, left, wide), strict=True)
        dots = [
            render_shape(step.level, x, _y(score), tag("title", _describe_step(step)))
            for step, (x, score) in points
        ]
        return _make_link(target, "mark", *dots)
    said = "on course" if mark.quiet else f"{mark.level} at worst"
    y = _y(_lowest(mark))
    title = tag("title", f"steps {first} to {last}: {count} steps, {said}")
    pill = tag(
        "rect", title, class_=mark.level, x=left + 3, y=y - 8, width=wide - 6, height=16, rx=8
    )
    return _make_link(target, "run", pill, tag("text", str(count), x=left + wide / 2, y=y + 4))


def _make_link(target: str, class_: str, *inside: Html) -> Html:
    return tag("a", join(inside), href=f"#{target}", class_=class_, tabindex="-1")


def _describe_stray(mark: StrayMark) -> str:
    why = f": {mark.step.rules[0].evidence}" if mark.step.rules else ""
    return f"{_describe_step(mark.step)}, {mark.step.score} of 10, {mark.level}{shorten(why, 200)}"


def _describe_step(step: RecordedStep) -> str:
    return f"step {step.position}: {shorten(step.what, 100)}"


def _lowest(run: StepGroup) -> int:
    return min(step.score for step in run.steps)


def _y(score: float) -> float:
    return _TOP + (10 - score) * _ROW + _ROW / 2
