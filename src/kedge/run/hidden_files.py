"""Files that no commit will hold: a check that is green only thanks to them proves nothing.

They are files that git ignores and repositories inside the work tree. Those that were there when
the task started belong to the user's machine; directories of dependencies and of build results
can be made again. What else an agent made is taken away while the checks run once more.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.git import Repo, split_z

_MADE_AGAIN = frozenset(
    (".cache", ".coverage", ".eggs", ".gradle", ".mypy_cache", ".next", ".nox", ".nuxt")
).union(
    (".pytest_cache", ".ruff_cache", ".terraform", ".tox", ".venv", "__pycache__", "bin"),
    ("bower_components", "build", "coverage", "dist", "env", "htmlcov", "node_modules"),
    ("obj", "out", "target", "vendor", "venv"),
)
_ENDINGS = (".egg-info", ".pyc", ".o", ".class")
_KEDGE = ".kedge/"
_LIST = "list.json"


def read(repo: Repo) -> dict[str, str]:
    """Return the files that no commit will hold, each with a stamp that changes with it."""
    options = ("--others", "--exclude-standard", "-z")
    names = split_z(repo.git("ls-files", *options, "--ignored"))
    names += [one for one in split_z(repo.git("ls-files", *options)) if one.endswith("/")]
    found = {}
    for name in names:
        parts = name.rstrip("/").split("/")
        if name.startswith(_KEDGE) or not _MADE_AGAIN.isdisjoint(parts):
            continue
        if any(part.endswith(_ENDINGS) for part in parts):
            continue
        with contextlib.suppress(OSError):
            status = (repo.root / name.rstrip("/")).lstat()
            is_file = not name.endswith("/")
            stamp = f"{status.st_size}-{status.st_mtime_ns}" if is_file else ""
            found[name.rstrip("/")] = f"{status.st_ino}-{stamp}"
    return found


@contextlib.contextmanager
def taken_away(repo: Repo, paths: Sequence[str]) -> Iterator[None]:
    """Take these files out of the work tree while the block runs."""
    folder = _folder(repo)
    put_back(repo)
    moves = [(path, str(number)) for number, path in enumerate(paths)]
    files.write_atomic(folder / _LIST, json.dumps(moves).encode())
    try:
        for path, name in moves:
            with contextlib.suppress(FileNotFoundError):
                shutil.move(repo.root / path, folder / name)
        yield
    except OSError as error:
        raise files.file_error("take away", repo.root, error) from error
    finally:
        put_back(repo)


def put_back(repo: Repo) -> None:
    """Put back what was taken away, also by a run that was killed meanwhile."""
    folder = _folder(repo)
    data = files.read_bytes(folder / _LIST)
    if data is None:
        return
    with contextlib.suppress(ValueError, TypeError, KedgeError):
        for path, name in json.loads(data):
            kept, place = folder / os.path.basename(name), repo.root / path  # noqa: PTH119
            if not os.path.lexists(kept) or not _is_below(repo, place):
                continue
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(kept, place)
    (folder / _LIST).unlink()


def _is_below(repo: Repo, place: Path) -> bool:
    parent = Path(os.path.realpath(place.parent))
    return parent.is_relative_to(os.path.realpath(repo.root))


def _folder(repo: Repo) -> Path:
    return repo.git_dir / "kedge" / "taken-away"
