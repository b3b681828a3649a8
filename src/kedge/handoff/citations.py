"""Standards that a task must keep to: cited by file and heading, each with the hash of its text.

`.kedge/standards.toml`, or `standards/citations.toml`, says which sections hold for which tasks:

    [[standards]]
    area = ["backend"]              # one or a list; left out, or "*": every area
    priority = ["P0", "P1"]         # likewise
    cite = [
        "standards/backend.md#Handler Constraints",
        { file = "standards/testing.md", section = "Commands", requirement = "All must pass." },
    ]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kedge import config
from kedge.errors import ConfigError
from kedge.handoff import places
from kedge.handoff.places import Unreadable, shown
from kedge.handoff.sections import MAX_SENTENCE, Section, Sections
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.host.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILES = (".kedge/standards.toml", "standards/citations.toml")
MOST = 200  # citations of one task
_MAX_MAPPING = 1 << 20
_ENTRY = ("area", "priority", "cite")
_CITE = ("file", "section", "requirement")
_FORM = 'an entry is "file#Heading", or has file and section'


class Citation(NamedTuple):
    """One section, or a whole file where `section` is empty. Lines count from 1, inclusive."""

    file: str
    section: str
    heading: str
    requirement: str
    line_span: str
    content_sha: str


class Citations(NamedTuple):
    """What a task must keep to, what could not be found, and the mapping files that said so."""

    items: tuple[Citation, ...] = ()
    missing: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Stale(NamedTuple):
    file: str
    section: str
    why: str


class _Wanted(NamedTuple):
    file: str
    heading: str
    requirement: str = ""

    @property
    def name(self) -> str:
        return f"{shown(self.file)}#{shown(self.heading)}" if self.heading else shown(self.file)


def cited(
    project: Project, area: str | None, priority: str, overrides: Iterable[object] = ()
) -> Citations:
    """The task's own citations first, then those that the mapping has for its area and priority.

    Each section once, in the order of the files. ConfigError for a mapping that cannot be used,
    InvalidValue or FileError for a citation that leads out of the repository.
    """
    wanted = [_wanted(entry, "the task's standards") for entry in overrides]
    sources = []
    for name in FILES:
        text = _mapping(project, name)
        if text is not None:
            sources.append(name)
            wanted += _mapped(name, config.parse(Path(name), text), area, priority)
    wanted = list(dict.fromkeys(wanted))
    if len(wanted) > MOST:
        raise ConfigError(
            f"{len(wanted)} sections are cited for one task",
            hint=f"at most {MOST}: cite what the task must keep to",
        )
    documents = _Documents(project)
    items: dict[tuple[str, str], Citation] = {}
    missing = []
    for want in wanted:
        found = documents.cite(want)
        if isinstance(found, str):
            missing.append(f"{want.name}: {found}")
        else:
            items.setdefault((found.file, found.section), found)
    return Citations(tuple(items.values()), tuple(missing), tuple(sources))


def current(project: Project, citation: Citation) -> Citation | Stale:
    """The citation as the file has it: with its present lines, or why it no longer holds."""
    return _Documents(project).current(citation)


def check(project: Project, citations: Iterable[Citation]) -> list[Stale]:
    """The citations whose text changed or is gone. One that only moved is fine."""
    documents = _Documents(project)
    found = (documents.current(citation) for citation in citations)
    return [stale for stale in found if isinstance(stale, Stale)]


class _Documents:
    """The files that are cited, each read once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._read: dict[str, Sections | str] = {}

    def cite(self, want: _Wanted) -> Citation | str:
        name = places.relative(want.file, what="cited file")
        sections = self._sections(name)
        if isinstance(sections, str):
            return sections
        found = sections.find(want.heading) if want.heading else None
        section = found.section if found else sections.whole()
        if section is None:
            return found.why if found else ""
        return _citation(name, sections, section, want.requirement)

    def current(self, old: Citation) -> Citation | Stale:
        sections = self._sections(places.relative(old.file, what="cited file"))
        if isinstance(sections, str):
            return Stale(old.file, old.section, sections)
        there = sections.named(old.section)
        if there and sections.sha(there) == old.content_sha:
            return _citation(old.file, sections, there, old.requirement)
        # a heading of the same text above it takes over the slug: the content decides
        moved = sections.holding(old.content_sha) if old.section else None
        if moved:
            return _citation(old.file, sections, moved, old.requirement)
        why = "its text has changed" if there else "there is no such heading any more"
        return Stale(old.file, old.section, why)

    def _sections(self, name: str) -> Sections | str:
        if name not in self._read:
            try:
                text = places.text(self._project, name)
                self._read[name] = Sections(text) if text is not None else "no such file"
            except Unreadable as error:
                self._read[name] = error.message
        return self._read[name]


def _citation(name: str, sections: Sections, section: Section, requirement: str) -> Citation:
    return Citation(
        file=name,
        section=section.slug,
        heading=section.heading,
        requirement=shortened(requirement, MAX_SENTENCE) or sections.sentence(section),
        line_span=section.span,
        content_sha=sections.sha(section),
    )


def _mapping(project: Project, name: str) -> str | None:
    try:
        return places.text(project, name, _MAX_MAPPING)
    except Unreadable as error:
        raise ConfigError(error.message, hint=error.hint) from error


def _mapped(
    name: str, data: Mapping[str, Any], area: str | None, priority: str
) -> Iterator[_Wanted]:
    tables = data.get("standards", [])
    if data.keys() - {"standards"} or not isinstance(tables, list):
        raise ConfigError(
            f"{name}: only [[standards]] tables are known", hint="begin each with [[standards]]"
        )
    for number, table in enumerate(tables, 1):
        place = f"{name}: [[standards]] number {number}"
        if not isinstance(table, dict) or table.keys() - set(_ENTRY) or "cite" not in table:
            raise ConfigError(f"{place} is not understood", hint="it has area, priority and cite")
        areas = _texts(table.get("area", "*"), f"{place}: area")
        priorities = _texts(table.get("priority", "*"), f"{place}: priority")
        cites = table["cite"]
        entries = [_wanted(c, place) for c in (cites if isinstance(cites, list) else [cites])]
        if _holds(areas, area) and _holds(priorities, priority):
            yield from entries


def _texts(value: object, place: str) -> list[str]:
    values: list[object] = value if isinstance(value, list) else [value]
    texts = [item for item in values if isinstance(item, str)]
    if len(texts) < len(values):
        raise ConfigError(f"{place} must be a text or a list of texts", hint='such as "*"')
    return texts


def _holds(known: Iterable[str], value: str | None) -> bool:
    folded = [item.strip().casefold() for item in known]
    return "*" in folded or (value is not None and value.strip().casefold() in folded)


def _wanted(entry: object, place: str) -> _Wanted:
    if isinstance(entry, str):
        file, _, heading = entry.partition("#")
        entry = {"file": file.strip(), "section": heading.strip()}
    if not isinstance(entry, Mapping) or entry.keys() - set(_CITE):
        raise ConfigError(f"{place}: a citation is not understood", hint=_FORM)
    values = [entry.get(key, "") for key in _CITE]
    if not all(isinstance(value, str) for value in values) or not values[0]:
        raise ConfigError(f"{place}: a citation is not understood", hint=_FORM)
    return _Wanted(*values)
