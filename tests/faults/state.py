"""What a repository holds: to compare two ways to the same end, and to look for damage."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from faults.world import World

# What differs from run to run: times, random ids, hashes of them, process ids.
_VARIES = (
    (re.compile(rb"\d{4}-\d\d-\d\dT?\s?\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), b"TIME"),
    (re.compile(rb"\d{8}T\d{6}[.\d]*Z?"), b"TIME"),
    (re.compile(rb"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), b"UUID"),
    (re.compile(rb"\bk-[0-9a-z]{4,8}\b"), b"ID"),
    (re.compile(rb"\br\d{12}-\d+\b"), b"RUN"),
    (re.compile(rb"\b\d+\.\d+\b"), b"NUMBER"),
    (re.compile(rb"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b"), b"HEX"),
    (re.compile(rb'("(?:pid|duration_ms|size|bytes)": ?)\d+'), rb"\1NUMBER"),
)
# Private to kedge or git, and compared by what they mean instead of their bytes.
_OPAQUE = re.compile(
    r"^\.git/(objects|index$|logs|ORIG_HEAD|refs|packed-refs|worktrees|COMMIT_EDITMSG|gc\.|info/)"
    r"|^\.git/kedge/(kedge\.db|snapshots/|refs/|logs/|backups/\..*\.kedge-new$|.*\.lock$)"
    r"|^(\.kedge|home/\.config/kedge|home/\.local/state/kedge/trust)/(locks/|context/\.gitignore|worktrees/\.gitignore)"
    r"|^\.kedge/runs/.*/(lock|pid)$|^\.beads/.*sqlite"
)
# A second run keeps another copy of the work that it replaces.
_REPEATED = re.compile(r"(?<=-HEX)-\d+\b")
_ENDS = {
    ".kedge/ledger/t.jsonl": re.compile(rb'"outcome": "done"'),
    ".kedge/tasks.jsonl": re.compile(rb'"status": ?"\w+"'),
}
_BEADS = ".beads/fake-bd.sqlite"
# Tables whose rows are a cache, or only say when something was applied.
_CACHES = ("map_", "migration", "sqlite_")


@dataclass(frozen=True)
class State:
    """The files as bytes, and everything without what varies."""

    raw: dict[str, bytes]
    files: dict[str, bytes]
    git: str
    database: str

    def same(self, other: State) -> bool:
        return (self.files, self.git, self.database) == (other.files, other.git, other.database)

    def outline(self) -> State:
        """Return what a run that was killed and resumed shares with one that was not: the user's
        files, git's, and what became of the tasks. Its records tell of the kill, and its snapshots
        stay until `kedge context sweep`."""
        shared = {k: v for k, v in self.files.items() if not k.startswith((".git/", ".kedge/"))}
        for name, pattern in _ENDS.items():
            shared[name] = b" ".join(pattern.findall(self.files.get(name, b"")))
        git = [line for line in self.git.splitlines() if not line.startswith("refs/kedge/")]
        return State({}, shared, "\n".join(git), "")

    def explain(self, other: State) -> str:
        """Return the first differences to another state."""
        found = []
        for path in sorted({*self.files, *other.files}):
            if self.files.get(path) != other.files.get(path):
                one, two = _cut(self.files.get(path)), _cut(other.files.get(path))
                found.append(f"{path}: {one} -> {two}")
        for mine, theirs in ((self.git, other.git), (self.database, other.database)):
            ours, others = mine.splitlines(), theirs.splitlines()
            found += [f"- {line}" for line in ours if line not in others]
            found += [f"+ {line}" for line in others if line not in ours]
            if mine != theirs and set(ours) == set(others):
                found.append("~ the same lines in another number or order")
        return "; ".join(one[:600] for one in found[:6])


def _cut(data: bytes | None) -> str:
    return "absent" if data is None else repr(data[-400:])


def read_state(world: World) -> State:
    raw = read_files(world)
    files = {_shorten(name): _blank(data) for name, data in raw.items()}
    return State(raw, files, _read_git(world), _read_databases(world))


def read_files(world: World) -> dict[str, bytes]:
    """Return the files of the repository, of the home and outside, as they are."""
    found = {}
    for path in sorted(world.top.rglob("*")):
        name = str(path.relative_to(world.top))
        if _OPAQUE.search(name.removeprefix("repo/")) or name.startswith("agent/"):
            continue
        if path.is_symlink():
            found[name] = b"-> " + os.fsencode(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def _shorten(name: str) -> str:
    return _blank(name.removeprefix("repo/").encode()).decode()


def _blank(data: bytes) -> bytes:
    for pattern, text in _VARIES:
        data = pattern.sub(text, data)
    return data


def _is_staged(name: str) -> bool:
    """True for the temporary files that the next writer overwrites or removes."""
    return name.endswith(".kedge-new") or ".kedge-restore-" in name


def is_own(name: str) -> bool:
    """True for files that kedge or git keep for themselves."""
    return name.startswith(
        ("repo/.git/", "repo/.kedge/", "home/.config/kedge/", "home/.local/state/kedge/")
    )


def _git(world: World, *args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["git", "-c", "core.fsmonitor=", *args],
        cwd=world.root,
        env=world.environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def _read_git(world: World) -> str:
    """Return branches and refs with their trees, the index, and the registered work trees."""
    form = "%(refname) %(objecttype) %(contents:subject)"
    refs = _git(world, "for-each-ref", f"--format={form}").stdout.decode().splitlines()
    own = {_REPEATED.sub("", _blank(one.encode()).decode()) for one in refs if "refs/kedge" in one}
    lines = [*sorted(own), *(line for line in refs if "refs/kedge" not in line)]
    # kedge's own records have times in them, and so no ids that can be compared
    for args in (("ls-files", "-s"), ("ls-tree", "-r", "HEAD")):
        listed = _git(world, *args).stdout.decode().splitlines()
        lines += [f"{args[0]} {line}" for line in listed if "\t.kedge/" not in line]
    if (world.root / ".git" / "worktrees").exists():
        lines.append(_blank(_git(world, "worktree", "list", "--porcelain").stdout).decode())
    return "\n".join(lines)


def _read_databases(world: World) -> str:
    """Return the rows of kedge's database, and of that of beads, without what varies."""
    return "\n".join(map(_read_database, (world.data / "kedge.db", world.root / _BEADS)))


def _read_database(original: Path) -> str:
    with copy_database(original) as path:
        if path is None:
            return ""
        lines = []
        with contextlib.closing(sqlite3.connect(path)) as db:
            names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
            for name in sorted(names):
                if name.startswith(_CACHES):
                    continue
                columns = [
                    column
                    for _, column, *_ in db.execute(f"PRAGMA table_info({name})")
                    if column not in ("number", "engine", "process", "turn", "step")
                ]
                rows = db.execute(f"SELECT {', '.join(columns)} FROM {name}").fetchall()
                lines += sorted(f"{name}: {_blank(repr(row).encode()).decode()}" for row in rows)
        return "\n".join(lines)


@contextlib.contextmanager
def copy_database(original: Path) -> Iterator[Path | None]:
    """Give a copy of a database to look at, since opening it would change it."""
    with tempfile.TemporaryDirectory() as scratch:
        for beside in ("", "-wal", "-journal"):
            if (source := original.with_name(original.name + beside)).exists():
                shutil.copy(source, scratch)
        path = Path(scratch, original.name)
        yield path if path.exists() else None


# Damage


def find_damage(world: World, before: State, now: dict[str, bytes], after: State) -> list[str]:
    """Return what is lost, torn or broken in the files between two good states."""
    found = []
    for name, data in before.raw.items():
        if is_own(name) or now.get(name) == data:
            continue
        if name in now and _blank(now[name]) != after.files.get(_shorten(name)):
            found.append(f"torn: {name}: {_cut(now[name])}")
        elif name not in now and name in after.raw:
            found.append(f"lost: {name}")
    for name, data in now.items():
        if name in before.raw or is_own(name) or _is_staged(name):
            continue
        if _shorten(name) not in after.files:
            found.append(f"stray: {name}")
        elif _blank(data) != after.files[_shorten(name)]:
            found.append(f"torn: {name}: {_cut(data)}")
    return found + find_broken(world, now)


def find_broken(world: World, now: dict[str, bytes]) -> list[str]:
    """Return what cannot be read: kedge's own files, the database, the repository."""
    found = []
    for name, data in now.items():
        if "/.kedge/worktrees/" in name or not name.startswith(("repo/.kedge/", "home/.config/")):
            continue
        try:
            if name.endswith(".json"):
                json.loads(data)
            elif name.endswith(".jsonl"):
                for line in data.splitlines():
                    json.loads(line)
            elif name.endswith(".toml"):
                tomllib.loads(data.decode())
        except ValueError as error:
            found.append(f"broken: {name}: {error}")
    with copy_database(world.data / "kedge.db") as path:
        if path is not None:
            with contextlib.closing(sqlite3.connect(path)) as db:
                answer = db.execute("PRAGMA integrity_check").fetchone()[0]
                if answer != "ok":
                    found.append(f"broken: kedge.db: {answer}")
    for args in (("fsck", "--no-progress", "--no-dangling"), ("status", "--porcelain")):
        done = _git(world, *args)
        if done.returncode or done.stderr:
            found.append(f"git {args[0]}: {done.returncode} {done.stderr.decode()[:200]}")
    return found


def find_locks(world: World) -> list[str]:
    """Return the locks of git that are left in the repository; kedge's own are never deleted."""
    found = [path.relative_to(world.root) for path in (world.root / ".git").rglob("*.lock")]
    return [str(one) for one in found if "kedge" not in one.parts or one.parts[1] == "refs"]


def find_half_made(world: World) -> list[str]:
    """Return the work trees that a killed git was making; `git fsck` complains about them."""
    locks = (world.root / ".git" / "worktrees").glob("*/locked")
    return [one.parent.name for one in locks if one.read_text().strip() in ("", "initializing")]
