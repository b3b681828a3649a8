"""Fit what a task needs of its documents into a number of tokens: by section, never inside one.

What the task needs most comes first. A whole document gives its sections, those that the task
refers to before those that share words with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kedge.features import relevance, resolve
from kedge.features.artifact import HEADING, Artifact, Passage
from kedge.features.feature_tasks import FeatureTask
from kedge.features.scope import Excerpt, Need, Selection, find_near, is_title, weigh_words
from kedge.host import tokens

_FRAME = 40  # tokens of the lines above an excerpt: its place, its reason, its headings


class _Room:
    """The tokens that are left, and the passages that were taken."""

    def __init__(self, left: int) -> None:
        self._left = left
        self._taken: list[Excerpt] = []

    def take(self, excerpt: Excerpt, passage: Passage) -> bool:
        """Take a passage if there is room for it; True if it is taken, or was before."""
        mine = [one.passage for one in self._taken if one.artifact is excerpt.artifact]
        if not any(one is not None and one.holds(passage) for one in mine):
            cost = tokens.count(excerpt.artifact.lines(passage.line, passage.last)) + _FRAME
            if cost > self._left:
                return False
            self._left -= cost
        self._taken.append(replace(excerpt, passage=passage))
        return True

    def list_taken(self) -> tuple[Excerpt, ...]:
        return tuple(dict.fromkeys(self._taken))


def fit_selection(task: FeatureTask, selection: Selection, room: int) -> Selection:
    """Return the selection with as many of its excerpts as there is room for."""
    place, dropped = _Room(room), []
    wanted = _refer_to_sections(task, selection)
    for excerpt in sorted(wanted, key=lambda one: (one.need, one.passage is None)):
        if excerpt.passage is None:
            _take_sections(place, excerpt, task)
        elif not place.take(excerpt, excerpt.passage) and excerpt.need is Need.NAMED:
            dropped.append(excerpt)
    return replace(selection, excerpts=place.list_taken(), dropped=tuple(dropped))


def _refer_to_sections(task: FeatureTask, selection: Selection) -> Iterator[Excerpt]:
    """Yield the excerpts, and the sections of whole documents that the task refers to."""
    for excerpt in selection.excerpts:
        yield excerpt
        if excerpt.passage is None:
            mine = [one for one in task.references if one.type == excerpt.artifact.type]
            for one in mine:
                found = resolve.resolve_reference(one, excerpt.artifact, find_near(task, mine))
                for passage in found.passages:
                    yield replace(excerpt, passage=passage, reason=one.raw, need=Need.NAMED)


def _take_sections(place: _Room, excerpt: Excerpt, task: FeatureTask) -> None:
    """Take the sections of a whole document, the most relevant first."""
    artifact = excerpt.artifact
    excerpt = replace(excerpt, reason="in part, since all of it is too long")
    scored = relevance.rank_units(artifact, weigh_words(task))

    def rank(passage: Passage) -> tuple[float, int]:
        near = (one for one in scored if passage.holds(one.passage) or one.passage.holds(passage))
        return -max((one.score for one in near), default=0.0), passage.line

    def take(passage: Passage) -> None:
        inner = _list_inside(artifact, passage)
        if not is_title(artifact, passage) and place.take(excerpt, passage):
            return
        if inner and place.take(excerpt, _without_subsections(passage, inner)):
            for one in sorted(inner, key=rank):
                take(one)

    first = artifact.headings[0].line if artifact.headings else len(artifact.document.lines) + 1
    above = artifact.document.last_text_line(1, first - 1)
    if first > 1 and artifact.lines(1, above).strip():
        place.take(excerpt, Passage("", 1, above, artifact.name, "", (), (), -1))
    for passage in sorted(_list_inside(artifact, None), key=rank):
        take(passage)


def _list_inside(artifact: Artifact, outer: Passage | None) -> list[Passage]:
    """Return the sections right below a heading, or the outermost ones."""
    parent = -1 if outer is None else outer.at
    headings = artifact.document.headings
    return [one for one in artifact.headings if headings[one.at].parent == parent]


def _without_subsections(passage: Passage, inner: list[Passage]) -> Passage:
    """Return the heading with the text above its first subsection."""
    return replace(passage, kind=HEADING, last=max(passage.line, inner[0].line - 1))
