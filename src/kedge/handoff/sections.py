"""Sections of a Markdown document: found by their heading, named as GitHub links to them."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.handoff.normalise import normalised, sha256
from kedge.handoff.sentence import first_sentence, plain
from kedge.host.record import NamedTuple
from kedge.host.text import shortened
from kedge.tasks.feature_docs import markdown

MAX_HEADING = 500
MAX_SENTENCE = 140
_COMPARED = 2000  # headings, and
_COMPARED_TO = 100  # characters of each, when the nearest is looked for
_NEAR = 0.4


class Section(NamedTuple):
    """A heading with all that is under it. Lines count from 1, `body` is the first below it."""

    slug: str
    heading: str
    first: int
    last: int
    body: int

    @property
    def span(self) -> str:
        return f"L{self.first}-L{self.last}"


class Found(NamedTuple):
    """The section that was asked for, or why there is none."""

    section: Section | None
    why: str = ""


class Sections:
    """All sections of one document, each with a slug of its own."""

    def __init__(self, text: str) -> None:
        self._document = markdown.read(text)
        self.all = tuple(_slugged(self._document))
        self._headings = {
            line
            for heading in self._document.headings
            for line in range(heading.line, heading.end + 1)
        }
        self._by_slug: dict[str, Section] = {}
        self._by_text: dict[str, list[Section]] = {}
        self._by_fold: dict[str, list[Section]] = {}
        for section, heading in zip(self.all, self._document.headings, strict=True):
            if len(heading.text) > MAX_HEADING:
                continue  # no citation holds it
            self._by_slug[section.slug] = section
            for name in {heading.text, section.heading}:
                self._by_text.setdefault(name, []).append(section)
            self._by_fold.setdefault(section.heading.casefold(), []).append(section)
        self._by_content: dict[str, Section] | None = None
        self._near: list[tuple[str, frozenset[str]]] | None = None

    def whole(self) -> Section:
        """The document itself as one section, which has no slug."""
        last = self._document.trimmed(1, len(self._document.lines))
        return Section("", self.all[0].heading if self.all else "", 1, last, 1)

    def named(self, slug: str) -> Section | None:
        return self._by_slug.get(slug) if slug else self.whole()

    def find(self, wanted: str) -> Found:
        """By exact text, then by slug, then without regard to case; never one of several."""
        wanted = wanted.strip()
        slugged = self._by_slug.get(wanted)
        for found in (
            self._by_text.get(wanted, []),
            [slugged] if slugged else [],
            self._by_fold.get(wanted.casefold(), []),
        ):
            if len(found) > 1:
                some = ", ".join(f"#{section.slug}" for section in found[:3])
                more = ", …" if len(found) > 3 else ""
                return Found(None, f"{len(found)} headings have that text: {some}{more}")
            if found:
                return Found(found[0])
        near = self._nearest(wanted)
        return Found(
            None, f"no such heading; the nearest is {near!r}" if near else "no such heading"
        )

    def sha(self, section: Section) -> str:
        """The hash of the section's normalised lines: that of `sed -n` where nothing had to be."""
        lines = self._document.lines[section.first - 1 : section.last]
        return sha256(normalised("\n".join(lines)).encode())

    def holding(self, sha: str) -> Section | None:
        """The first section with this very content, wherever it stands and whatever its slug."""
        if self._by_content is None:
            self._by_content = {self.sha(section): section for section in reversed(self.all)}
        return self._by_content.get(sha)

    def sentence(self, section: Section) -> str:
        """The first sentence below the heading, without markup; the heading where there is none."""
        lines = range(section.body, section.last + 1)
        prose = self._document.prose
        found = first_sentence(
            None if line in self._headings else prose[line - 1] for line in lines
        )
        return shortened(found or section.heading, MAX_SENTENCE)

    def _nearest(self, wanted: str) -> str:
        if self._near is None:
            self._near = [(s.heading, _pairs(s.heading)) for s in self.all[:_COMPARED]]
        mine = _pairs(wanted)
        best, name = _NEAR, ""
        for heading, theirs in self._near:
            alike = 2 * len(mine & theirs) / ((len(mine) + len(theirs)) or 1)
            if alike > best:
                best, name = alike, heading
        return shortened(name, 80)


def _slugged(document: markdown.Document) -> Iterator[Section]:
    """A slug that is taken gets the next free number behind it, as GitHub does it."""
    taken: dict[str, int] = {}
    for heading in document.headings:
        text = plain(heading.text[:MAX_HEADING])
        slug = wanted = markdown.slug(text) or "section"
        while slug in taken:
            taken[wanted] += 1
            slug = f"{wanted}-{taken[wanted]}"
        taken[slug] = 0
        yield Section(slug, text, heading.line, heading.last, heading.end + 1)


def _pairs(text: str) -> frozenset[str]:
    slug = markdown.slug(text[:_COMPARED_TO])
    return frozenset(slug[place : place + 2] for place in range(max(len(slug) - 1, 1)))
