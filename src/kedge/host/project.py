"""The project that a command works on, and where kedge keeps things for it."""

from __future__ import annotations

import os
from pathlib import Path

from kedge.errors import FileError, NoRepository
from kedge.host import git
from kedge.host.record import NamedTuple

HOME_VARIABLE = "KEDGE_HOME"


class Project(NamedTuple):
    """A directory with code: a git work tree, or one that has a `.kedge` directory."""

    root: Path
    repo: git.Repo | None

    def path(self, *parts: str) -> Path:
        """A path below the root. One that leads out of it, by a link or by `..`, is refused."""
        path = self.root.joinpath(*parts)
        if not _real(path).is_relative_to(_real(self.root)):
            raise FileError(
                f"{Path(*parts)} leads out of {self.root}",
                hint="kedge follows no link out of the project: put a real file there",
            )
        if self.repo is not None:
            for inside in {self.repo.git_dir, self.repo.common_dir}:
                if _real(path).is_relative_to(_real(inside)):
                    raise FileError(
                        f"{Path(*parts)} leads into git's own files",
                        hint="kedge follows no link there: put a real file in its place",
                    )
        return path

    def own(self, *parts: str) -> Path:
        """A path below `.kedge`, where only kedge writes and so no link at all is followed."""
        path = self.path(".kedge", *parts)
        if _real(path) != _real(self.root).joinpath(".kedge", *parts):
            raise FileError(
                f"{Path('.kedge', *parts)} is a link, or lies behind one",
                hint="kedge follows no links to its own files: put a real one there",
            )
        return path

    def home(self) -> Path:
        """Where what is not for git is kept, shared by all work trees of the repository."""
        named = os.environ.get(HOME_VARIABLE)
        if named:
            return Path(named)
        if self.repo is None:
            home = self.own("home")
            _refuse_links(home)
            return home
        home = self.repo.common_dir / "kedge"
        if home.is_symlink():
            raise FileError(
                f"{home} is a link", hint=f"set {HOME_VARIABLE} to keep things elsewhere"
            )
        return home


def find(start: Path) -> Project:
    """The project that holds `start`; NoRepository when there is none."""
    try:
        start = start.absolute()
    except FileNotFoundError as error:
        raise NoRepository(
            "the current directory was deleted", hint="go to one that is there"
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
    """Outside of git the home comes with the directory, and so may links in it."""
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            if os.path.islink(os.path.join(here, name)):  # noqa: PTH114, PTH118 - as os.walk gives
                raise FileError(
                    f"{os.path.join(here, name)} is a link",  # noqa: PTH118
                    hint=f"remove it, or set {HOME_VARIABLE} to keep things elsewhere",
                )


def _real(path: Path) -> Path:
    # Not Path.resolve, which raises RuntimeError for a link that points to itself.
    return Path(os.path.realpath(path))
