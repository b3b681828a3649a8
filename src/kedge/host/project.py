"""The project that a command works on, and the places of kedge's own files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import FileError, NoRepository
from kedge.host import git

HOME_VARIABLE = "KEDGE_HOME"


@dataclass(frozen=True, slots=True)
class Project:
    """A git work tree, or a directory outside git that has a `.kedge` directory."""

    root: Path
    repo: git.Repo | None

    def path(self, *parts: str) -> Path:
        """Return a path below the root. Refuses one that leaves it through a link or `..`."""
        path = self.root.joinpath(*parts)
        if not _real(path).is_relative_to(_real(self.root)):
            raise FileError(
                f"{Path(*parts)} leads out of {self.root}",
                hint="kedge follows no link out of the project: replace it with a regular file",
            )
        if self.repo is not None:
            for inside in {self.repo.git_dir, self.repo.common_dir}:
                if _real(path).is_relative_to(_real(inside)):
                    raise FileError(
                        f"{Path(*parts)} leads into git's own files",
                        hint="kedge follows no link there: replace it with a regular file",
                    )
        return path

    def own(self, *parts: str) -> Path:
        """Return a path below `.kedge`. Only kedge writes there, so no link is followed at all."""
        path = self.path(".kedge", *parts)
        if _real(path) != _real(self.root).joinpath(".kedge", *parts):
            raise FileError(
                f"{Path('.kedge', *parts)} is a link, or lies behind one",
                hint="kedge follows no link to its own files: replace it with a regular file",
            )
        return path

    def home(self) -> Path:
        """Return the directory for files outside git, shared by all work trees of a repository."""
        override = os.environ.get(HOME_VARIABLE)
        if override:
            return Path(override)
        if self.repo is None:
            home = self.own("home")
            _refuse_links(home)
            return home
        home = self.repo.common_dir / "kedge"
        if home.is_symlink():
            raise FileError(
                f"{home} is a link", hint=f"remove it, or set {HOME_VARIABLE} to another directory"
            )
        return home


def find(start: Path) -> Project:
    """Return the project that contains `start`. Raises NoRepository if there is none."""
    try:
        start = start.absolute()
    except FileNotFoundError as error:
        raise NoRepository(
            "the current directory was deleted", hint="go to an existing directory"
        ) from error
    try:
        repo = git.find(start)
    except NoRepository:
        if not git.is_directory(start):
            raise
        here = _real(start)
        for root in (here, *here.parents):
            if git.is_directory(root / ".kedge"):
                return Project(root, None)
        raise
    return Project(repo.root, repo)


def _refuse_links(folder: Path) -> None:
    """Refuse links in kedge's home: outside git it comes with the project, links included."""
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            if os.path.islink(os.path.join(here, name)):  # noqa: PTH114, PTH118 - as os.walk gives
                raise FileError(
                    f"{os.path.join(here, name)} is a link",  # noqa: PTH118
                    hint=f"remove it, or set {HOME_VARIABLE} to another directory",
                )


def _real(path: Path) -> Path:
    # Not Path.resolve, which raises RuntimeError for a link that points to itself.
    return Path(os.path.realpath(path))
