"""Standards that a task must follow: cited by file and heading, each with the hash of its text.

`.kedge/standards.toml` or `standards/citations.toml` maps sections to tasks:

    [[standards]]
    area = ["backend"]              # one or a list; without it, or "*": every area
    priority = ["P0", "P1"]         # likewise
    cite = [
        "standards/backend.md#Handler Constraints",
        { file = "standards/testing.md", section = "Commands", requirement = "All must pass." },
    ]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge import config
from kedge.errors import ConfigError
from kedge.handoff import repo_files
from kedge.handoff.repo_files import UnreadableFile, display_text
from kedge.handoff.standards.sections import MAX_SENTENCE, MarkdownSection, SectionIndex
from kedge.host.project import Project
from kedge.host.text import shorten

FILES = (".kedge/standards.toml", "standards/citations.toml")
MAX_CITATIONS = 200
_MAX_MAPPING = 1 << 20
_ENTRY = ("area", "priority", "cite")
_CITE = ("file", "section", "requirement")
_FORM = 'write "file#Heading", or a table with file and section'


@dataclass(frozen=True, slots=True)
class Citation:
    """One section, or a whole file if `section` is empty. Lines count from 1, inclusive."""

    file: str
    section: str
    heading: str
    requirement: str
    line_span: str
    content_sha: str


@dataclass(frozen=True, slots=True)
class Citations:
    """The citations of a task, those that could not be resolved, and the mapping files read."""

    items: tuple[Citation, ...] = ()
    missing: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StaleCitation:
    file: str
    section: str
    why: str


@dataclass(frozen=True, slots=True)
class _Request:
    file: str
    heading: str
    requirement: str = ""

    @property
    def name(self) -> str:
        return (
            f"{display_text(self.file)}#{display_text(self.heading)}"
            if self.heading
            else display_text(self.file)
        )


def find_citations(
    project: Project, area: str | None, priority: str, overrides: Iterable[object] = ()
) -> Citations:
    """Find the task's own citations, then those mapped to its area and priority.

    Each section appears once, in the order of the files. ConfigError for an unusable mapping,
    InvalidValue or FileError for a citation that leaves the repository.
    """
    requests = [_parse_request(entry, "the task's standards") for entry in overrides]
    sources = []
    for name in FILES:
        text = _read_mapping(project, name)
        if text is not None:
            sources.append(name)
            requests += _select_mapped(name, config.parse_toml(Path(name), text), area, priority)
    requests = list(dict.fromkeys(requests))
    if len(requests) > MAX_CITATIONS:
        raise ConfigError(
            f"{len(requests)} sections are cited for one task",
            hint=f"at most {MAX_CITATIONS}: cite only what the task must follow",
        )
    documents = _Documents(project)
    items: dict[tuple[str, str], Citation] = {}
    missing = []
    for request in requests:
        cited = documents.cite(request)
        if isinstance(cited, str):
            missing.append(f"{request.name}: {cited}")
        else:
            items.setdefault((cited.file, cited.section), cited)
    return Citations(tuple(items.values()), tuple(missing), tuple(sources))


def find_stale(project: Project, citations: Iterable[Citation]) -> list[StaleCitation]:
    """Return the citations whose text changed or is gone. One that only moved is not stale."""
    documents = _Documents(project)
    reasons = ((one, documents.explain_stale(one)) for one in citations)
    return [StaleCitation(one.file, one.section, why) for one, why in reasons if why]


class _Documents:
    """The cited files, each read once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._read: dict[str, SectionIndex | str] = {}

    def cite(self, request: _Request) -> Citation | str:
        name = repo_files.parse_relative(request.file, what="cited file")
        sections = self._sections(name)
        if isinstance(sections, str):
            return sections
        if not request.heading:
            return _make_citation(name, sections, sections.whole(), request.requirement)
        lookup = sections.find(request.heading)
        if lookup.section is None:
            return lookup.why
        return _make_citation(name, sections, lookup.section, request.requirement)

    def explain_stale(self, citation: Citation) -> str:
        """Return why the citation no longer holds; empty if it does."""
        sections = self._sections(repo_files.parse_relative(citation.file, what="cited file"))
        if isinstance(sections, str):
            return sections
        named = sections.find_by_slug(citation.section)
        if named and sections.sha(named) == citation.content_sha:
            return ""
        # a new heading with the same text above it takes the slug: the content decides
        if citation.section and sections.find_by_content(citation.content_sha):
            return ""
        return "its text has changed" if named else "the heading is gone"

    def _sections(self, name: str) -> SectionIndex | str:
        if name not in self._read:
            try:
                text = repo_files.read_text(self._project, name)
                self._read[name] = SectionIndex(text) if text is not None else "no such file"
            except UnreadableFile as error:
                self._read[name] = error.message
        return self._read[name]


def _make_citation(
    name: str, sections: SectionIndex, section: MarkdownSection, requirement: str
) -> Citation:
    return Citation(
        file=name,
        section=section.slug,
        heading=section.heading,
        requirement=shorten(requirement, MAX_SENTENCE) or sections.sentence(section),
        line_span=section.span,
        content_sha=sections.sha(section),
    )


def _read_mapping(project: Project, name: str) -> str | None:
    try:
        return repo_files.read_text(project, name, _MAX_MAPPING)
    except UnreadableFile as error:
        raise ConfigError(error.message, hint=error.hint) from error


def _select_mapped(
    name: str, data: Mapping[str, Any], area: str | None, priority: str
) -> Iterator[_Request]:
    tables = data.get("standards", [])
    if data.keys() - {"standards"} or not isinstance(tables, list):
        raise ConfigError(
            f"{name}: only [[standards]] tables are allowed", hint="begin each with [[standards]]"
        )
    for number, table in enumerate(tables, 1):
        place = f"{name}: [[standards]] number {number}"
        if not isinstance(table, dict) or table.keys() - set(_ENTRY) or "cite" not in table:
            raise ConfigError(f"{place} is not valid", hint="give it area, priority and cite")
        areas = _parse_strings(table.get("area", "*"), f"{place}: area")
        priorities = _parse_strings(table.get("priority", "*"), f"{place}: priority")
        cites = table["cite"]
        entries = [
            _parse_request(c, place) for c in (cites if isinstance(cites, list) else [cites])
        ]
        if _applies(areas, area) and _applies(priorities, priority):
            yield from entries


def _parse_strings(value: object, place: str) -> list[str]:
    values: list[object] = value if isinstance(value, list) else [value]
    strings = [item for item in values if isinstance(item, str)]
    if len(strings) < len(values):
        raise ConfigError(
            f"{place} must be a string or a list of strings", hint='write it such as "*"'
        )
    return strings


def _applies(known: Iterable[str], value: str | None) -> bool:
    folded = [item.strip().casefold() for item in known]
    return "*" in folded or (value is not None and value.strip().casefold() in folded)


def _parse_request(entry: object, place: str) -> _Request:
    if isinstance(entry, str):
        file, _, heading = entry.partition("#")
        entry = {"file": file.strip(), "section": heading.strip()}
    if not isinstance(entry, Mapping) or entry.keys() - set(_CITE):
        raise ConfigError(f"{place}: a citation is not valid", hint=_FORM)
    values = [entry.get(key, "") for key in _CITE]
    if not all(isinstance(value, str) for value in values) or not values[0]:
        raise ConfigError(f"{place}: a citation is not valid", hint=_FORM)
    return _Request(*values)
