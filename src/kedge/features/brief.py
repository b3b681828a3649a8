"""The project brief of a feature: what its project wants, in at most 500 tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kedge.features.artifact import Artifact, Passage, parse_artifact
from kedge.features.feature import Feature
from kedge.features.folders import (
    list_features,
    list_folders,
    match_folders,
    read_document,
    read_meta,
)
from kedge.features.prd import find_problem_and_goals
from kedge.features.references import PRD
from kedge.features.section_ids import strip_decoration
from kedge.features.tasks_file import find_title
from kedge.host import tokens
from kedge.host.project import Project
from kedge.host.text import shorten
from kedge.model.status_words import status_of
from kedge.model.task import Status
from kedge.text import markdown

BUDGET = 500
_PROJECTS = "docs/projects"
_WORDS = {
    Status.DONE: "completed",
    Status.IN_PROGRESS: "in progress",
    Status.BLOCKED: "blocked",
    Status.OPEN: "planned",
    Status.FAILED: "abandoned",
}
_ORDER = (*_WORDS.values(), "unknown", "ambiguous", "missing")
_LONGEST = 120  # characters of a name


@dataclass(frozen=True, slots=True)
class Dependency:
    """A feature that this one depends on; `ref` is what `.meta.json` calls it."""

    ref: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class Brief:
    """The facts of a brief; `milestone` is the feature's place in the roadmap."""

    project_id: str
    project: str
    feature: str
    goals: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    milestone: str

    @property
    def text(self) -> str:
        """The brief as Markdown, with as much detail as the budget allows."""
        for goals, words, listed in ((3, 40, True), (3, 40, False), (3, 20, False), (2, 12, False)):
            text = self._render(goals, words, listed=listed)
            if tokens.fits(text, BUDGET):
                return text
        return tokens.cut(self._render(1, 8, listed=False), BUDGET)

    def _render(self, goals: int, words: int, *, listed: bool) -> str:
        lines = [
            "## Project Context",
            f"**Project:** {self.project} | **This feature:** {self.feature}",
        ]
        if self.goals:
            lines.append("**Project goals:**")
            lines += [f"- {_first_words(goal, words)}" for goal in self.goals[:goals]]
        if self.dependencies:
            lines.append("**Feature dependencies:** " + self._render_dependencies(listed=listed))
        lines.append(f"**Priority signal:** {self.milestone}")
        return "\n".join(lines)

    def _render_dependencies(self, *, listed: bool) -> str:
        counts = Counter(one.status for one in self.dependencies)
        if not listed:
            return ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word])
        groups = (
            f"{word}: " + ", ".join(one.name for one in self.dependencies if one.status == word)
            for word in _ORDER
            if counts[word]
        )
        return " | ".join(groups)

    @property
    def data(self) -> dict[str, Any]:
        return {
            "project_id": self.project_id,
            "project": self.project,
            "feature": self.feature,
            "goals": list(self.goals),
            "dependencies": [asdict(one) for one in self.dependencies],
            "milestone": self.milestone,
            "text": self.text,
            "tokens": tokens.count(self.text),
        }


def make_brief(project: Project, feature: Feature, warnings: list[str]) -> Brief | None:
    """Return the brief of a feature; None if its `.meta.json` names no project that exists."""
    named = feature.meta.get("project_id")
    if not isinstance(named, str | int) or not str(named).strip():
        return None
    project_id = str(named).strip()
    matches = match_folders(list_folders(project, _PROJECTS), project_id)
    if len(matches) != 1:
        names = ", ".join(path.name for path in matches)
        what = f"may be {names}" if matches else f"is not below {_PROJECTS}"
        warnings.append(f"{feature.name}: its project {project_id!r} {what}")
        return None
    path = matches[0]
    text = read_document(project.root, path / "prd.md")
    prd = parse_artifact(PRD, "prd.md", text) if text is not None else None
    roadmap = read_document(project.root, path / "roadmap.md")
    return Brief(
        project_id,
        shorten(strip_decoration(find_title(text or "") or path.name), _LONGEST),
        shorten(_find_name(feature), _LONGEST),
        tuple(_find_goals(prd)) if prd else (),
        tuple(_find_dependencies(project, feature, warnings)),
        shorten(_find_milestone(roadmap or "", feature), _LONGEST),
    )


def _find_name(feature: Feature) -> str:
    for key in ("title", "name"):
        value = feature.meta.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return feature.name


def _find_goals(prd: Artifact) -> list[str]:
    """Return the list items under the goals, or else the first sentences of goals and problem."""
    passages = find_problem_and_goals(prd)
    items = [item for passage in reversed(passages) for item in _list_items(prd, passage)]
    return (
        items[:3]
        or [text for passage in reversed(passages) if (text := _first_sentence(prd, passage))][:3]
    )


def _list_items(prd: Artifact, passage: Passage) -> list[str]:
    found = []
    for line in prd.document.prose[passage.line : passage.last]:
        item = markdown.ITEM.match(line or "")
        if item and not item["lead"]:
            found.append(_strip_markup(item["text"]))
    return found


def _first_sentence(prd: Artifact, passage: Passage) -> str:
    lines = prd.document.prose[passage.line : passage.last]
    text = " ".join(line.strip() for line in lines if line and not line.startswith("#"))
    return _strip_markup(re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0])


def _find_dependencies(project: Project, feature: Feature, warnings: list[str]) -> list[Dependency]:
    refs = feature.meta.get("depends_on_features")
    every = list_features(project)
    found = []
    for ref in refs if isinstance(refs, list) else []:
        if not isinstance(ref, str | int) or not str(ref).strip():
            warnings.append(f"{feature.name}: {ref!r} in depends_on_features is not a feature")
            continue
        found.append(_find_dependency(project, every, str(ref).strip(), warnings))
    return found


def _find_dependency(
    project: Project, every: Sequence[Path], ref: str, warnings: list[str]
) -> Dependency:
    paths = match_folders(every, ref)
    if len(paths) > 1:
        names = " or ".join(path.name for path in paths)
        return Dependency(ref, shorten(f"{ref} ({names})", _LONGEST), "ambiguous")
    if not paths:
        return Dependency(ref, shorten(ref, _LONGEST), "missing")
    meta = read_meta(project.root, paths[0], warnings)
    word = meta.get("status")
    status = status_of(word) if isinstance(word, str) else None
    return Dependency(
        ref, shorten(paths[0].name, _LONGEST), _WORDS[status] if status else "unknown"
    )


def _find_milestone(roadmap: str, feature: Feature) -> str:
    """Return the heading above the first line of the roadmap that names the feature."""
    document = markdown.read(roadmap)
    number, _, slug = feature.name.partition("-")
    names = [re.escape(feature.name), re.escape(slug or feature.name)]
    if number.isdigit():
        names.append(rf"(?:#|feature[ -]?|f-?)0*{int(number)}|{re.escape(number)}")
    spoken = re.escape(slug.replace("-", " ")) if "-" in slug else ""
    pattern = re.compile(
        rf"(?<![\w-])(?:{'|'.join(filter(None, [*names, spoken]))})(?![\w-])", re.IGNORECASE
    )
    tops = [heading for heading in document.headings if heading.level > 1]
    for index, line in enumerate(document.prose):
        if line and pattern.search(line):
            path = [h for h in document.heading_path(document.heading_at(index + 1)) if h.level > 1]
            if not path:
                continue
            mine = path[-1] if path[-1].line != index + 1 or len(path) == 1 else path[-2]
            peers = [h for h in tops if h.level == mine.level]
            name = strip_decoration(mine.text)
            return f"{name} ({peers.index(mine) + 1} of {len(peers)})" if len(peers) > 1 else name
    return "not on roadmap"


def _strip_markup(text: str) -> str:
    return " ".join(re.sub(r"[*`]+", "", re.sub(r"\A\[.\]\s*", "", text)).split())


def _first_words(text: str, most: int) -> str:
    words = text.split()
    return text if len(words) <= most else " ".join(words[:most]) + " …"
