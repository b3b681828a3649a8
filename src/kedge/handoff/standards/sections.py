"""The sections of a Markdown document, by heading and by the slug that GitHub links use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from kedge.handoff.canonical_form import normalise_text, sha256
from kedge.handoff.standards.first_sentence import find_first_sentence, strip_markup
from kedge.host.text import shorten
from kedge.text import markdown

MAX_HEADING = 500
MAX_SENTENCE = 140
_COMPARED = 200  # headings in the search for a similar one
_COMPARED_TO = 80  # characters of each


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A heading with everything under it. Lines count from 1; `body` is the first below it."""

    slug: str
    heading: str
    first: int
    last: int
    body: int

    @property
    def span(self) -> str:
        return f"L{self.first}-L{self.last}"


@dataclass(frozen=True, slots=True)
class SectionLookup:
    """The requested section, or why there is none."""

    section: MarkdownSection | None
    why: str = ""


class SectionIndex:
    """All sections of one document, each with a slug of its own."""

    def __init__(self, text: str) -> None:
        self._document = markdown.read(text)
        self.all = tuple(_split_sections(self._document))
        self._headings = {
            line
            for heading in self._document.headings
            for line in range(heading.line, heading.end + 1)
        }
        self._by_slug: dict[str, MarkdownSection] = {}
        self._by_text: dict[str, list[MarkdownSection]] = {}
        self._by_fold: dict[str, list[MarkdownSection]] = {}
        for section, heading in zip(self.all, self._document.headings, strict=True):
            if len(heading.text) > MAX_HEADING:
                continue  # too long to be cited
            self._by_slug[section.slug] = section
            for name in {heading.text, section.heading}:
                self._by_text.setdefault(name, []).append(section)
            self._by_fold.setdefault(section.heading.casefold(), []).append(section)
        self._by_content: dict[str, MarkdownSection] | None = None

    def whole(self) -> MarkdownSection:
        """Return the whole document as one section without a slug."""
        last = self._document.last_text_line(1, len(self._document.lines))
        return MarkdownSection("", self.all[0].heading if self.all else "", 1, last, 1)

    def find_by_slug(self, slug: str) -> MarkdownSection | None:
        return self._by_slug.get(slug) if slug else self.whole()

    def find(self, wanted: str) -> SectionLookup:
        """Find by exact text, then by slug, then ignoring case; never one of several matches."""
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
                return SectionLookup(None, f"{len(found)} headings have that text: {some}{more}")
            if found:
                return SectionLookup(found[0])
        headings = [section.heading[:_COMPARED_TO] for section in self.all[:_COMPARED]]
        near = get_close_matches(wanted[:_COMPARED_TO], headings, n=1, cutoff=0.4)
        most = f"; the most similar is {near[0]!r}" if near else ""
        return SectionLookup(None, f"no such heading{most}")

    def sha(self, section: MarkdownSection) -> str:
        """Return the hash of the section's normalised lines.

        It equals the hash of `sed -n` output where normalisation changes nothing.
        """
        lines = self._document.lines[section.first - 1 : section.last]
        return sha256(normalise_text("\n".join(lines)).encode())

    def find_by_content(self, sha: str) -> MarkdownSection | None:
        """Return the first section with exactly this content, whatever its slug."""
        if self._by_content is None:
            self._by_content = {self.sha(section): section for section in reversed(self.all)}
        return self._by_content.get(sha)

    def sentence(self, section: MarkdownSection) -> str:
        """Return the first sentence below the heading without markup, or else the heading."""
        lines = range(section.body, section.last + 1)
        prose = self._document.prose
        found = find_first_sentence(
            None if line in self._headings else prose[line - 1] for line in lines
        )
        return shorten(found or section.heading, MAX_SENTENCE)


def _split_sections(document: markdown.Document) -> Iterator[MarkdownSection]:
    """Yield the sections; a repeated slug gets the next free number, as on GitHub."""
    taken: dict[str, int] = {}
    for heading in document.headings:
        text = strip_markup(heading.text[:MAX_HEADING])
        slug = wanted = markdown.make_slug(text) or "section"
        while slug in taken:
            taken[wanted] += 1
            slug = f"{wanted}-{taken[wanted]}"
        taken[slug] = 0
        yield MarkdownSection(slug, text, heading.line, heading.last, heading.end + 1)
