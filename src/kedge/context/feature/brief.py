"""What a project-linked feature should know of its project, in at most 500 tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kedge.context.feature import artifact as artifacts
from kedge.context.feature import extract, folder
from kedge.context.feature.artifact import Artifact, Place
from kedge.host import tokens
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.model.task import Status
from kedge.tasks.feature_docs import ids, markdown
from kedge.tasks.feature_docs.references import PRD
from kedge.tasks.words import status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUDGET = 500
_PROJECTS = ("docs", "projects")
_WORDS = {
    Status.DONE: "completed",
    Status.IN_PROGRESS: "in progress",
    Status.BLOCKED: "blocked",
    Status.OPEN: "planned",
    Status.FAILED: "abandoned",
}
_ORDER = (*_WORDS.values(), "unknown", "ambiguous", "missing")
_LONGEST = 120


class Dependency(NamedTuple):
    ref: str
    name: str
    status: str


class Brief(NamedTuple):
    project_id: str
    project: str
    feature: str
    goals: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    milestone: str

    @property
    def text(self) -> str:
        """The block, with as much detail as the budget allows."""
        for goals, words, listed in ((3, 40, True), (3, 40, False), (3, 20, False), (2, 12, False)):
            text = self._block(goals, words, listed=listed)
            if tokens.fits(text, BUDGET):
                return text
        return tokens.cut(self._block(1, 8, listed=False), BUDGET)

    def _block(self, goals: int, words: int, *, listed: bool) -> str:
        lines = [
            "## Project Context",
            f"**Project:** {self.project} | **This feature:** {self.feature}",
        ]
        if self.goals:
            lines.append("**Project goals:**")
            lines += [f"- {_first_words(goal, words)}" for goal in self.goals[:goals]]
        if self.dependencies:
            lines.append("**Feature dependencies:** " + self._dependencies(listed=listed))
        lines.append(f"**Priority signal:** {self.milestone}")
        return "\n".join(lines)

    def _dependencies(self, *, listed: bool) -> str:
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
            "dependencies": [one._asdict() for one in self.dependencies],
            "milestone": self.milestone,
            "text": self.text,
            "tokens": tokens.count(self.text),
        }


def make(project: Project, feature: folder.Feature, warnings: list[str]) -> Brief | None:
    """The brief of a feature; None where its record names no project, or one that is not there."""
    named = feature.meta.get("project_id")
    if not isinstance(named, str | int) or not str(named).strip():
        return None
    project_id = str(named).strip()
    every = folder.below(project, *_PROJECTS)
    found = [path for path in every if path.name == project_id]
    found = found or folder.matching(every, project_id)
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        what = f"may be {names}" if found else "is not below docs/projects"
        warnings.append(f"{feature.name}: its project {project_id!r} {what}")
        return None
    path = found[0]
    text = folder.read(project.root, path / "prd.md")
    prd = artifacts.read(PRD, "prd.md", text) if text is not None else None
    roadmap = folder.read(project.root, path / "roadmap.md")
    return Brief(
        project_id,
        _clip(_title(text) or path.name),
        _clip(_name(feature)),
        tuple(_goals(prd)) if prd else (),
        tuple(_dependencies(project, feature, warnings)),
        _clip(_milestone(roadmap, feature)) if roadmap is not None else "not on roadmap",
    )


def _name(feature: folder.Feature) -> str:
    for key in ("title", "name"):
        value = feature.meta.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return feature.name


def _title(text: str | None) -> str | None:
    headings = markdown.read(text).headings if text else ()
    found = next((heading.text for heading in headings if heading.level == 1), "")
    title = ids.undressed(found)
    bare = re.sub(
        r"\A(?:prd|project|product requirements?)(?:[ \t]+prd)?[ \t]*[:—–-][ \t]*",
        "",
        title,
        flags=re.IGNORECASE,
    )
    return bare or None


def _goals(prd: Artifact) -> list[str]:
    """The items of the goals, or else the first sentences of goals and problem."""
    places = extract.problem_and_goals(prd)
    items = [item for place in reversed(places) for item in _items(prd, place)]
    return items[:3] or [text for place in reversed(places) if (text := _opening(prd, place))][:3]


def _items(prd: Artifact, place: Place) -> list[str]:
    found = []
    for line in prd.document.prose[place.line : place.last]:
        item = markdown.ITEM.match(line or "")
        if item and not item["lead"]:
            found.append(_plain(item["text"]))
    return found


def _opening(prd: Artifact, place: Place) -> str:
    lines = prd.document.prose[place.line : place.last]
    text = " ".join(line.strip() for line in lines if line and not line.startswith("#"))
    return _plain(re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0])


def _dependencies(
    project: Project, feature: folder.Feature, warnings: list[str]
) -> list[Dependency]:
    refs = feature.meta.get("depends_on_features")
    every = folder.folders(project)
    found = []
    for ref in refs if isinstance(refs, list) else []:
        if not isinstance(ref, str | int) or not str(ref).strip():
            warnings.append(f"{feature.name}: {ref!r} in depends_on_features is no feature")
            continue
        found.append(_dependency(project, every, str(ref).strip(), warnings))
    return found


def _dependency(
    project: Project, every: Sequence[Path], ref: str, warnings: list[str]
) -> Dependency:
    exact = [path for path in every if path.name == ref]
    paths = exact or folder.matching(list(every), ref)
    if len(paths) > 1:
        names = " or ".join(path.name for path in paths)
        return Dependency(ref, _clip(f"{ref} ({names})"), "ambiguous")
    if not paths:
        return Dependency(ref, _clip(ref), "missing")
    meta = folder.read_meta(project.root, paths[0], warnings)
    word = meta.get("status")
    status = status_of(word) if isinstance(word, str) else None
    return Dependency(ref, _clip(paths[0].name), _WORDS[status] if status else "unknown")


def _milestone(roadmap: str, feature: folder.Feature) -> str:
    """The heading above the first line of the roadmap that names the feature."""
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
            path = [h for h in document.path(document.place(index + 1)) if h.level > 1]
            if not path:
                continue
            mine = path[-1] if path[-1].line != index + 1 or len(path) == 1 else path[-2]
            peers = [h for h in tops if h.level == mine.level]
            name = ids.undressed(mine.text)
            return f"{name} ({peers.index(mine) + 1} of {len(peers)})" if len(peers) > 1 else name
    return "not on roadmap"


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*`]+", "", re.sub(r"\A\[.\]\s*", "", text)).split())


def _first_words(text: str, most: int) -> str:
    words = text.split()
    return text if len(words) <= most else " ".join(words[:most]) + " …"


def _clip(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
