"""The folders of features: list them, find one, and read its files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedge.errors import BrokenTasks, FileError, InvalidValue
from kedge.features.layouts import FEATURE_DOCS, LAYOUTS, Layout
from kedge.host import documents
from kedge.host.digest import digest
from kedge.host.project import Project

FEATURES = FEATURE_DOCS.directory
TASKS, META = "tasks.md", ".meta.json"
_LONGEST = 48  # characters of an id


def find_feature(
    project: Project, here: Path, name: str, layouts: Sequence[Layout] = LAYOUTS
) -> Path:
    """Return a feature's folder by its path, its name, or its number."""
    given, root = Path(os.path.realpath(here / name)), Path(os.path.realpath(project.root))
    if name and given != root and given.is_dir():
        if not given.is_relative_to(root):
            raise FileError(
                f"{name} is outside {project.root}", hint="name a folder of this project"
            )
        return project.path(given.relative_to(root).as_posix())
    every = list_features(project, layouts)
    matches = match_folders(every, name)
    with_tasks = [path for path in matches if os.path.lexists(path / TASKS)]
    if len(with_tasks) == 1:  # as the backend of feature documents counts the others for nothing
        return with_tasks[0]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(path.name for path in matches)
        raise InvalidValue(f"{name!r} may be {names}", hint="give the whole name")
    if not every:
        raise FileError(
            f"no feature {name!r}: there is no folder below {_join(layouts)}",
            hint="give the path of a folder with a tasks.md",
        )
    from difflib import get_close_matches

    near = get_close_matches(name, [path.name for path in every], n=1, cutoff=0.4)
    example = near[0] if near else every[0].name
    raise FileError(f"no feature {name!r} below {_join(layouts)}", hint=f"for example {example}")


def _join(layouts: Sequence[Layout]) -> str:
    *most, last = (layout.directory for layout in layouts)
    return f"{', '.join(most)} or {last}" if most else last


def list_features(project: Project, layouts: Sequence[Layout] = LAYOUTS) -> list[Path]:
    """Return the folders of all features, sorted by name within each layout.

    In directories that are not kedge's own, only folders with tasks are features.
    """
    return [
        path
        for layout in layouts
        for path in list_folders(project, layout.directory)
        if layout is FEATURE_DOCS or os.path.lexists(path / TASKS)
    ]


def list_folders(project: Project, top: str) -> list[Path]:
    """Return the folders in a folder of the project; none if it is missing or a link out of it."""
    try:
        paths = project.path(*top.split("/")).iterdir()
        return sorted(path for path in paths if path.is_dir() and not path.name.startswith("."))
    except (OSError, FileError):
        return []


def match_folders(folders: Sequence[Path], name: str) -> list[Path]:
    """Return the folder with this name or id, else those whose name starts with it.

    Zeros before a number do not matter: 14, #14 and 014 all match `014-mooring`.
    """
    exact = [path for path in folders if name in (path.name, shorten_name(path.name))]
    bare = name.strip().lower().lstrip("#")
    if exact or not bare:
        return exact
    if not re.fullmatch(r"[a-z]{0,4}[0-9]+[a-z]?", bare):
        return [path for path in folders if path.name.lower().startswith(bare + "-")]
    leads = [(path, path.name.lower().partition("-")[0]) for path in folders]
    same = [path for path, lead in leads if lead == bare]
    return same or [path for path, lead in leads if _drop_zeros(lead) == _drop_zeros(bare)]


def shorten_name(name: str) -> str:
    """Return a folder's name as an id that leaves room for the number of a task."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
    if plain == name and len(name) <= _LONGEST:
        return name
    return f"{plain[: _LONGEST - 7].strip('-._') or 'feature'}-{digest([name.encode()])[:6]}"


def read_document(root: Path, path: Path) -> str | None:
    """Return the text of a document, or None if it does not exist; BrokenTasks if it is broken."""
    if not os.path.lexists(path):
        return None
    return documents.decode(root, path, documents.read(root, path))


def try_document(root: Path, path: Path, warnings: list[str]) -> str | None:
    """Return the text of a document; None, and a warning, if it cannot be read."""
    try:
        return read_document(root, path)
    except BrokenTasks as error:
        warnings.append(error.message)
        return None


def read_meta(root: Path, folder: Path, warnings: list[str]) -> dict[str, Any]:
    """Return the contents of a folder's `.meta.json`; add a warning if it cannot be read."""
    path = folder / META
    text = try_document(root, path, warnings)
    if text is None:
        return {}
    try:
        meta = json.loads(text.removeprefix(documents.BOM))
    except (ValueError, RecursionError):
        warnings.append(f"{documents.display_path(root, path)}: it is not JSON")
        return {}
    return meta if isinstance(meta, dict) else {}


def _drop_zeros(number: str) -> str:
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", number)
