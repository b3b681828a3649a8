"""Drawings: scores as a line, a share as a ring. SVG without style, so that the policy holds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDE, _HIGH, _EDGE = 340, 36, 4
_RING = 15.915  # radius of a circle whose circumference is 100


def draw_scores(scores: Sequence[tuple[int, int, str]], label: str) -> Markup:
    """Draw the scores of steps from left to right, with a dot on those that strayed."""
    from markupsafe import Markup

    last = max(len(scores) - 1, 1)
    points = [
        (_EDGE + (_WIDE - 2 * _EDGE) * place / last, _EDGE + (_HIGH - 2 * _EDGE) * (10 - score) / 9)
        for place, (_, score, _) in enumerate(scores)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" class="dot {level}"/>'
        for (x, y), (_, _, level) in zip(points, scores, strict=True)
        if level != "none"
    )
    end = ""
    if points and not dots:
        end = (
            f'<circle cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="2.2" class="dot none"/>'
        )
    return Markup(  # noqa: S704 - numbers, level names of the database's own check, an escaped label
        f'<svg class="scores" viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" height="{_HIGH}"'
        f' role="img" aria-label="{escape(label)}"><line x1="{_EDGE}" x2="{_WIDE - _EDGE}"'
        f' y1="{_EDGE}" y2="{_EDGE}" class="rule"/><polyline points="{line}"/>{dots}{end}</svg>'
    )


def draw_ring(share: float, level: str) -> Markup:
    """Draw a share of the whole as a ring."""
    from markupsafe import Markup

    part = max(0.0, min(1.0, share)) * 100
    ring = f'<circle cx="18" cy="18" r="{_RING}" class="{{}}" {{}}/>'
    return Markup(  # noqa: S704 - numbers, and the name of a level
        '<svg class="ring" viewBox="0 0 36 36" width="44" height="44" aria-hidden="true">'
        + ring.format("rest", "")
        + ring.format(
            f"part {escape(level)}",
            f'stroke-dasharray="{part:.1f} {100 - part:.1f}" transform="rotate(-90 18 18)"',
        )
        + "</svg>"
    )
