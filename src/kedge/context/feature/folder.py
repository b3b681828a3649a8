"""Where a feature is, and what is in its folder."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from kedge.context.feature import artifact as artifacts
from kedge.context.feature.artifact import Artifact
from kedge.errors import BrokenTasks, FileError, InvalidValue
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.tasks import documents
from kedge.tasks.feature_docs import reading
from kedge.tasks.feature_docs.reading import FeatureTask
from kedge.tasks.feature_docs.references import DESIGN, PLAN, PRD, SPEC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FEATURES = ("docs", "features")
TASKS = "tasks.md"
_NAMES = {
    DESIGN: ("design.md",),
    PLAN: ("plan.md",),
    SPEC: ("spec.md", "requirements.md"),
    PRD: ("prd.md",),
}


class Feature(NamedTuple):
    """A feature's folder as it was read; documents that are missing are missing here."""

    path: Path
    name: str
    tasks_text: str | None
    tasks: tuple[FeatureTask, ...]
    artifacts: Mapping[str, Artifact]
    meta: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def find(project: Project, here: Path, named: str) -> Path:
    """The folder that is meant by a path, a folder's name below docs/features, or its number."""
    given, root = Path(os.path.realpath(here / named)), Path(os.path.realpath(project.root))
    if named and given != root and given.is_dir():
        if not given.is_relative_to(root):
            raise FileError(
                f"{named} is outside of {project.root}", hint="name a folder of this project"
            )
        return project.path(given.relative_to(root).as_posix())
    every = folders(project)
    found = [path for path in every if path.name == named] or matching(every, named)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise InvalidValue(f"{named!r} may be {names}", hint="give the whole name")
    if not every:
        raise FileError(
            f"no feature {named!r}: there is no folder below docs/features",
            hint="give the path of a folder with a tasks.md",
        )
    from difflib import get_close_matches

    near = get_close_matches(named, [path.name for path in every], n=1, cutoff=0.4)
    shown = near[0] if near else every[0].name
    raise FileError(f"no feature {named!r} below docs/features", hint=f"for example {shown}")


def folders(project: Project) -> list[Path]:
    """All features, in the order of their names."""
    return below(project, *FEATURES)


def below(project: Project, *parts: str) -> list[Path]:
    """The folders in a folder of the project; none where it leads out or is missing."""
    try:
        top = project.path(*parts)
        return sorted(p for p in top.iterdir() if p.is_dir() and not p.name.startswith("."))
    except (OSError, FileError):
        return []


def matching(every: list[Path], ref: str) -> list[Path]:
    """Folders whose name starts with a number or an id, whatever zeros it is written with."""
    bare = ref.strip().lower().lstrip("#")
    if not re.fullmatch(r"[a-z]{0,4}[0-9]+[a-z]?", bare):
        return [path for path in every if path.name.lower().startswith(bare + "-")] if bare else []
    exact = [path for path in every if path.name.lower().partition("-")[0] == bare]
    return exact or [p for p in every if _bare(p.name.lower().partition("-")[0]) == _bare(bare)]


def _bare(number: str) -> str:
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", number)


def load(project: Project, path: Path) -> Feature:
    root = project.root
    found: dict[str, Artifact] = {}
    for type_, names in _NAMES.items():
        for name in names:
            text = read(root, path / name)
            if text is not None and type_ not in found:
                found[type_] = artifacts.read(type_, name, text)
    text = read(root, path / TASKS)
    lexicon = artifacts.lexicon(list(found.values()))
    tasks = tuple(reading.read(text, lexicon)) if text is not None else ()
    warnings: list[str] = []
    meta = read_meta(root, path, warnings)
    return Feature(path, path.name, text, tasks, found, meta, tuple(warnings))


def read(root: Path, path: Path) -> str | None:
    """The text of a document, or None where there is none."""
    if not os.path.lexists(path):
        return None
    return documents.decode(root, path, documents.read(root, path))


def read_meta(root: Path, path: Path, warnings: list[str]) -> dict[str, Any]:
    """The feature's own record; what cannot be read is a warning."""
    record = path / ".meta.json"
    try:
        text = read(root, record)
    except BrokenTasks as error:
        warnings.append(error.message)
        return {}
    if text is None:
        return {}
    try:
        meta = json.loads(text.removeprefix(documents.BOM))
    except (ValueError, RecursionError):
        warnings.append(f"{documents.shown(root, record)}: it is not JSON")
        return {}
    return meta if isinstance(meta, dict) else {}
