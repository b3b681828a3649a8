"""What the user approved in a repository: commands that it names, and settings that weaken theirs.

Each repository has one file in the user's state directory, never in the repository, shared by its
work trees. An approval is a hash; the text beside it, without secrets, is only for showing.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from kedge.errors import FileError, KedgeError
from kedge.host import clock, files
from kedge.host.project import HOME_VARIABLE, Project
from kedge.host.redact import redact

COMMAND, SETTING = "command", "setting"
_FOLDER = "trust"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that can be approved, and where the repository names it."""

    kind: str
    text: str
    source: str

    @property
    def key(self) -> str:
        text = f"{self.kind}\0{self.text.strip()}"
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Approvals:
    """The approvals of one user for one repository, read when this is made."""

    def __init__(self, project: Project) -> None:
        root = project.root if project.repo is None else project.repo.common_dir
        self.repository = os.path.realpath(root)
        self.path = _find_file(project, self.repository)
        self._held = _read(self.path, self.repository)

    def has(self, kind: str, text: str) -> bool:
        return Item(kind, text, "").key in self._held

    def list_others(self, source: str, items: Iterable[Item]) -> list[str]:
        """Return the texts that were approved at the source and are not among the items."""
        keys = {one.key for one in items}
        return [
            held["text"]
            for key, held in self._held.items()
            if held["source"] == source and key not in keys
        ]

    def approve(self, items: Iterable[Item]) -> None:
        """Approve the items, on disk too."""
        new = {one.key: one for one in items if one.key not in self._held}
        if not new:
            return
        with self._change() as held:
            for key, one in new.items():
                text = redact(one.text.strip().encode("utf-8", "replace").decode())
                held[key] = {"text": text, "source": one.source, "at": clock.now()}

    def revoke(self) -> int:
        """Forget all approvals of the repository, and return how many there were."""
        count = len(self._held)
        if count:
            with self._change() as held:
                held.clear()
        return count

    @contextlib.contextmanager
    def _change(self) -> Iterator[dict[str, dict[str, str]]]:
        if self.path is None:
            raise FileError(
                "cannot keep an approval: no home directory",
                hint="set $HOME, $XDG_STATE_HOME or $KEDGE_HOME",
            )
        with files.lock(self.path.parent / "locks" / f"{self.path.stem}.lock"):
            held = _read(self.path, self.repository)
            yield held
            data = {"repository": self.repository, "approved": held}
            files.write_atomic(self.path, json.dumps(data, indent=1).encode(), mode=0o600)
            self._held = held


def _find_file(project: Project, repository: str) -> Path | None:
    """Return the repository's file; None without a home directory."""
    name = sha256(os.fsencode(repository)).hexdigest()[:32] + ".json"
    variables = (HOME_VARIABLE, "XDG_STATE_HOME", "HOME")
    own, state, home = (Path(os.environ.get(one, "")) for one in variables)
    if own.is_absolute() and not _is_inside(own, project.root):
        return own / _FOLDER / name
    if state.is_absolute():  # the XDG specification says to ignore relative paths
        return state / "kedge" / _FOLDER / name
    if home.is_absolute():
        return home / ".local" / "state" / "kedge" / _FOLDER / name
    return None


def _is_inside(path: Path, root: Path) -> bool:
    """True for a directory that the repository could bring along."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _read(path: Path | None, repository: str) -> dict[str, dict[str, str]]:
    """Return what is approved. A file that cannot be read approves nothing."""
    if path is None:
        return {}
    try:
        data: Any = json.loads(files.read_bytes(path) or b"{}")
        if data.get("repository") != repository:
            return {}
        return {key: _parse(held) for key, held in data["approved"].items()}
    except (KedgeError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return {}


def _parse(held: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(held[name]) for name in ("text", "source", "at")}
